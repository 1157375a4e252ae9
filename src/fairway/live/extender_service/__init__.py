"""Fairway as an extender of a stock kube-scheduler: its plugins answer what that scheduler asks over HTTP."""

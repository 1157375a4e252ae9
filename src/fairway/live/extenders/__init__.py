"""Extenders: services that our cycle asks about nodes, over HTTP, as kube-scheduler asks them."""

"""Runs of a server beside each other: in numbers, decision by decision, pod by pod."""

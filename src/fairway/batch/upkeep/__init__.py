"""Nodes that are closed for a time: maintenance windows, reservations, and what queues keep for themselves.

`Upkeep` (`upkeep`) is the duty that looks after them, and answers what of it is closed to whom.
"""

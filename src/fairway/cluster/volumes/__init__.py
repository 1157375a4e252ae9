"""Volumes in the cluster: claims, volumes and classes by name and as columns, and which pods use which of them."""

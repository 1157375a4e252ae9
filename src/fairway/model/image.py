"""The name under which a node lists a container image.

Asked by the plugin ImageLocality, which looks a pod's images up among those of each node.
"""

from __future__ import annotations

__all__ = ["normalized_image_name"]


def normalized_image_name(name: str) -> str:
    """Add `:latest` to a name without tag or digest, and nothing else: as kube-scheduler's ImageLocality does."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"

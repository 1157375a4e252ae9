"""A pod without one of its volumes.

In: a pod that was refused for its volumes. Out: `Relaxation`s. Called by all four plugins that judge volumes.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.model import Pod
from fairway.plugin import Relaxation, with_spec

__all__ = ["fewer_volumes"]


def fewer_volumes(pod: Pod) -> Iterator[Relaxation]:
    """Each volume left out in turn."""
    volumes = pod.spec.volumes
    for place, volume in enumerate(volumes):
        rest = (*volumes[:place], *volumes[place + 1 :])
        yield Relaxation(f"without volume {volume.name}", with_spec(pod, volumes=rest))

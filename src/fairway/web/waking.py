"""What lets a waiting pod be tried again: the events that plugins which refused it have asked to hear of.

In: a pod's place in the queue, and who refused it. Out: words of kube-scheduler, those that `queue_moves.event` has
too. Plugins of users are not imported here, so of theirs only the names are told. Called by `waiting_queue`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from fairway.cluster import Cluster
from fairway.plugin import Action, ClusterEvent, Resource
from fairway.plugins.registry import REGISTRY
from fairway.queue.labels import BACKOFF_COMPLETE, TIMED_OUT, label

__all__ = ["what_wakes"]


def what_wakes(place: str, plugins: Sequence[str]) -> str | None:
    """For a pod in that place which these plugins refused; None: nothing has to."""
    if place == "backoff":
        return BACKOFF_COMPLETE
    if place not in ("unschedulable", "gated"):
        return None
    words = [word for plugin in plugins for word in _events(plugin)]
    return ", ".join(dict.fromkeys([*words, *([TIMED_OUT] if place == "unschedulable" else [])])) or None


@cache
def _events(plugin: str) -> tuple[str, ...]:
    if plugin not in REGISTRY:
        return (f"what {plugin} waits for",)
    found: dict[str, None] = {}
    for hint in REGISTRY[plugin].factory(Cluster(), None).events():
        resource, action = hint.event
        if resource is Resource.ANY:
            found["anything"] = None
            continue
        parts = [Action.UPDATE] if action & Action.UPDATE == Action.UPDATE else []
        parts += [part for part in action if part not in Action.UPDATE or not parts]
        found |= dict.fromkeys(label(ClusterEvent(resource, part)) for part in parts)
    return tuple(found)

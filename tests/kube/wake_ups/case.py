"""A case: a cluster, a pod that one plugin refuses, and an event; does the event wake the pod?

In: objects as JSON and what happens to them. Out: `Case`s, which `stage` plays to a scheduler. A `Happening` knows what
a scheduler calls the events that it makes of it, so that one can wait until they were taken in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.kube.api import Api, Json

__all__ = [
    "NAMESPACE",
    "NOBODY",
    "PROMISED",
    "SENTINEL",
    "SUBJECT",
    "URGENT",
    "Case",
    "Happening",
    "added",
    "cases",
    "changed",
    "deleted",
    "event_label",
]

NAMESPACE: Final = "default"
SUBJECT: Final = "subject"
"""The name of every pod that waits, and of its profile: whatever is counted for that is the case's."""

SENTINEL: Final = "sentinel"
"""The profile of the pods that nobody can place; when one was refused, what came before it was taken in."""
NOBODY: Final = "nobody"
"""The scheduler of pods that are none of our business."""
PROMISED: Final = "promised"
"""The name of a pod that waits as well, behind a gate, though it was promised a node."""
URGENT: Final = "urgent"
"""The priority class of pods that are more important than others."""
WAITING: Final = (SUBJECT, PROMISED)

STORAGE: Final = frozenset({"StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"})
HANDLED: Final[Mapping[str, str]] = {
    "Node": "Add Update Delete",
    "Pod": "Add Update Delete",
    "PersistentVolume": "Add Update",
    "PersistentVolumeClaim": "Add Update",
    "StorageClass": "Add Update",
    "CSINode": "Add Update",
    "CSIDriver": "Update",
    "CSIStorageCapacity": "Add Update",
    "VolumeAttachment": "Delete",
}
"""What kube-scheduler listens to, and counts. Of other kinds and verbs no default plugin wants to hear."""


class Happening(NamedTuple):
    """Something that is done to the cluster: a kind and a verb, as events are called, and how to do it."""

    kind: str
    verb: str
    do: Callable[[Api], object]
    is_assigned: bool = True  # for a pod: it has a node
    is_silent: bool = False  # nothing that a scheduler looks at
    makes: Json | None = None  # an object that is there afterwards

    @property
    def label(self) -> str:
        """How the names of the events begin that a scheduler makes of it; "": it does not listen."""
        return "" if self.is_silent else event_label(self.kind, self.verb, is_assigned=self.is_assigned)


def event_label(kind: str, verb: str, *, is_assigned: bool = True) -> str:
    """How kube-scheduler calls an event, without what it says about the parts of an update."""
    if verb not in HANDLED.get(kind, "").split():
        return ""
    if kind == "Pod":
        return ("AssignedPod" if is_assigned else "UnschedulablePod") + verb
    return f"{'storage.k8s.io/' if kind in STORAGE else ''}{kind}{verb}"


def added(thing: Json) -> Happening:
    """An object comes."""
    is_assigned = "nodeName" in thing.get("spec", ())
    is_strange = thing["spec"].get("schedulerName") == NOBODY if thing["kind"] == "Pod" else False
    return Happening(thing["kind"], "Add", lambda api: api.create(thing), is_assigned, is_strange, thing)


def changed(kind: str, name: str, patch: Json, subresource: str = "", *, verb: str = "Update") -> Happening:
    """An object changes; `verb` Delete: so that a scheduler takes it for gone. A patch of nothing new is silent."""

    def do(api: Api) -> object:
        return api.patch(kind, name, NAMESPACE, patch, subresource=subresource)

    return Happening(kind, verb, do, is_assigned=name not in WAITING)


def deleted(kind: str, name: str, grace_seconds: int = 0) -> Happening:
    """An object goes; a pod with a grace period stays until somebody says that it has ended."""

    def do(api: Api) -> None:
        if grace_seconds:
            path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}"
            api.request("DELETE", path, query={"gracePeriodSeconds": str(grace_seconds)})
        else:
            api.delete(kind, name, NAMESPACE)

    return Happening(kind, "Update" if grace_seconds else "Delete", do, is_assigned=name not in WAITING)


@dataclass(frozen=True)
class Case:
    """A pod that waits, refused by one plugin, and an event; does it wake the pod, and where does that go then?"""

    name: str
    plugin: str
    pod: Json
    before: Sequence[Json]
    event: Happening
    wakes: bool
    node: str = ""  # where it goes; "": it has to wait on
    prelude: Sequence[Happening] = ()  # what happens to `before` before the pod comes

    def __str__(self) -> str:
        return f"{self.plugin}: {self.name}"


def cases(plugin: str, pod: Json, before: Sequence[Json], *rows: tuple[str, Happening, str | None]) -> list[Case]:
    """Cases with the same beginning; where the pod goes, "" if it is tried in vain, None if it is not woken."""
    return [
        Case(name, plugin, pod, before, event, wakes=node is not None, node=node or "") for name, event, node in rows
    ]

"""The truth of a simulated cluster: objects, versions, and watches.

In: creations, updates, deletions and bindings by schedulers, kubelets and controllers. Out: `Event`s to everybody who
watches, all in the same order; a watcher may lag behind, and then learns everything that much later, so that two
schedulers really can want the same place. Conflicts are resolved here, as a kube-apiserver would.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.model import Pod, PodCondition, kind_title
from fairway.model.disruption import with_condition
from fairway.model.meta import EPOCH
from fairway.sim.job_store import JobStore
from fairway.sim.timeline import Timeline

Watcher = Callable[[Event], None]
ADDED, MODIFIED, DELETED = Verb  # looking up a member of an enum is slow, and these are in the hot path


class ApiError(Exception):
    """A request was refused."""


class NotFoundError(ApiError):
    """There is no such object (any more)."""


class ConflictError(ApiError):
    """The object is not as the request assumes: bound already, there already, being deleted."""


class ApiServer:
    """Objects by kind (`kind_title`), namespace and name; pods by uid as well."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self._objects: defaultdict[str, dict[tuple[str, str], Any]] = defaultdict(dict)
        self._pods: dict[str, Pod] = {}
        self.job_stores: dict[str, JobStore] = {}  # by scheduler: what its desk wrote down
        self._watchers: list[Watcher] = []
        self._outbox: deque[Event] = deque()
        self._version = 0
        self._made = 0

    def calendar(self) -> dt.datetime:
        """The time now, as objects carry it."""
        return EPOCH + dt.timedelta(seconds=self.timeline.now())

    # -- watching --------------------------------------------------------------------------------------------------

    def watch(self, callback: Watcher, lag: float = 0.0) -> None:
        """Hear of everything from now on, `lag` seconds late."""

        def later(event: Event) -> None:
            self.timeline.after(lag, lambda: callback(event))

        self._watchers.append(later if lag > 0 else callback)

    def _tell(self, verb: Verb, item: Any) -> None:
        """Events caused by watchers wait their turn, so that everybody sees one order."""
        outbox = self._outbox
        outbox.append(Event(verb, item))
        if len(outbox) > 1:
            return
        while outbox:
            event = outbox[0]
            for watcher in self._watchers:
                watcher(event)
            outbox.popleft()

    # -- reading ---------------------------------------------------------------------------------------------------

    def find(self, kind: str, namespace: str, name: str) -> Any | None:
        """The object, if there is one. Cluster-wide kinds have namespace ""."""
        return self._objects.get(kind, {}).get((namespace, name))

    def objects(self, kind: str, namespace: str | None = None) -> list[Any]:
        """All objects of a kind, in the order they were made."""
        found: Iterable[Any] = self._objects.get(kind, {}).values()
        return [item for item in found if namespace is None or item.metadata.namespace == namespace]

    def everything(self) -> list[Any]:
        """All objects, as somebody reads them who comes later: pods last, else in the order in which they were made."""
        others = [item for shelf in self._objects.values() for item in shelf.values() if not isinstance(item, Pod)]
        return [*others, *self._pods.values()]

    def pod(self, uid: str) -> Pod | None:
        """The pod with that uid."""
        return self._pods.get(uid)

    # -- writing ---------------------------------------------------------------------------------------------------

    def create(self, item: Any) -> Any:
        """A new object; it gets a uid, a version and a date of birth if it has none."""
        meta = item.metadata
        key = (meta.namespace, meta.name)
        if key in self._objects[_shelf(item)]:
            raise ConflictError(f"{item.kind} {'/'.join(part for part in key if part)} exists already")
        self._made += 1
        meta = msgspec.structs.replace(
            meta,
            uid=meta.uid or f"u{self._made}",
            creation_timestamp=meta.creation_timestamp or self.calendar(),
            resource_version=self._next_version(),
        )
        item = msgspec.structs.replace(item, metadata=meta)
        self._put(item, key)
        self._tell(ADDED, item)
        return item

    def update(self, item: Any) -> Any:
        """Replace an object by a newer version of itself."""
        meta = item.metadata
        key = (meta.namespace, meta.name)
        if key not in self._objects[_shelf(item)]:
            raise NotFoundError(f"{item.kind} {meta.namespace}/{meta.name} is gone")
        meta = msgspec.structs.replace(meta, resource_version=self._next_version())
        item = msgspec.structs.replace(item, metadata=meta)
        self._put(item, key)
        self._tell(MODIFIED, item)
        return item

    def remove(self, item: Any, condition: PodCondition | None = None) -> None:
        """The object is gone at once. For pods on nodes, ask with `delete` first, or say in a condition why not."""
        found = self._objects[_shelf(item)].pop((item.metadata.namespace, item.metadata.name), None)
        if found is None:
            return
        if isinstance(found, Pod):
            self._pods.pop(found.metadata.uid, None)
            found = found if condition is None else with_condition(found, condition)
        self._tell(DELETED, found)

    def delete(self, pod: Pod, condition: PodCondition | None = None, grace: float | None = None) -> None:
        """Ask for a pod to end: at once if it is on no node or over, else its kubelet sees to it, within `grace`."""
        current = self._pods.get(pod.metadata.uid)
        if current is None or current.is_terminating:
            return
        if not current.spec.node_name or current.is_finished:
            self.remove(current)
            return
        seconds = None if grace is None else math.ceil(grace)
        meta = msgspec.structs.replace(
            current.metadata, deletion_timestamp=self.calendar(), deletion_grace_period_seconds=seconds
        )
        current = current if condition is None else with_condition(current, condition)
        self.update(msgspec.structs.replace(current, metadata=meta))

    def bind(self, uid: str, node: str, annotations: Mapping[str, str] | None = None) -> Pod:
        """Put a pod on a node, and the binding's annotations on it. Refused if it is gone, going, or has a node."""
        pod = self._pods.get(uid)
        if pod is None:
            raise NotFoundError("the pod does not exist any more")
        if pod.is_terminating:
            raise ConflictError(f"pod {pod.metadata.name} is being deleted, cannot be assigned to a host")
        if pod.spec.node_name:
            raise ConflictError(f'pod {pod.metadata.name} is already assigned to node "{pod.spec.node_name}"')
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        status = msgspec.structs.replace(pod.status, nominated_node_name="")
        if annotations:
            metadata = msgspec.structs.replace(pod.metadata, annotations={**pod.metadata.annotations, **annotations})
            pod = msgspec.structs.replace(pod, metadata=metadata)
        bound: Pod = self.update(msgspec.structs.replace(pod, spec=spec, status=status))
        return bound

    def _put(self, item: Any, key: tuple[str, str]) -> None:
        self._objects[_shelf(item)][key] = item
        if isinstance(item, Pod):
            self._pods[item.metadata.uid] = item

    def _next_version(self) -> str:
        self._version += 1
        return str(self._version)


def _shelf(item: Any) -> str:
    return "Pod" if type(item) is Pod else kind_title(item.api_version, item.kind)

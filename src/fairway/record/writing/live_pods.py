"""The pods of a run that have not ended, and the manifests they share.

`RunWriter` keeps here what a pod's row and its intervals are made of: the row is written when the pod ends. Memory is
bounded by the pods that are there at one time: of ended pods the latest are remembered, for schedulers that lag behind;
of manifests the digests of the latest, so that one may be written twice. A manifest may be a megabyte: those that wait
to be written, and pods that are kept to be compared with the next, are bounded by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple, Self

import msgspec

from fairway.model import ObjectMeta, Pod, PodSpec, PodStatus, Quantity, encode_json
from fairway.model.requests import pod_requests
from fairway.record.vocabulary import HoldEnd, HoldWhy, IntervalEnd, PodEnd
from fairway.record.writing.buffer import Resources
from fairway.record.writing.kept import GROUP_ANNOTATIONS, OWN_ANNOTATIONS, kept, kept_annotations, own_annotations
from fairway.record.writing.live_jobs import LiveJob

__all__ = ["LivePod", "LivePods", "OpenHold", "Templates"]

USER_ANNOTATION = "fairway.dev/user"
NUM_REMEMBERED = 65_536
NUM_RECENT = 4096
RECENT_BYTES = 4 * 1024 * 1024
"""What recent pods, kept to be compared with the next, say together; in memory they take ten times that."""
WAITING_BYTES = 16 * 1024 * 1024
"""From so many bytes on, manifests are written even if there are few of them."""
JSON = msgspec.json.Encoder()


class OpenHold(NamedTuple):
    """Room that is kept for a pod before it is bound."""

    node_id: int
    since: float
    why: HoldWhy


class LivePod(msgspec.Struct, eq=False, gc=False):
    """A pod that has not ended. It refers to nothing that refers back, so the garbage collector may ignore it."""

    number: int
    key: str
    namespace: str
    uid: str
    scheduler: str
    user: str
    owner: str | None
    priority: int
    annotations: str | None  # those of its own, as JSON
    created: float
    template: int = -1
    requests: tuple[int, ...] = ()
    attempts: int = 0
    bound: float | None = None
    started: float | None = None
    ended: float | None = None
    reason: str | None = None
    held_since: float | None = None  # since when the open interval of occupancy runs; None: there is none
    node_id: int | None = None
    node: str | None = None
    gpu_index: str | None = None
    acknowledged: float | None = None
    leaving: float | None = None
    job: LiveJob | None = None
    hold: OpenHold | None = None
    lone: LiveJob | None = None  # the job of a queue that it is all by itself

    def annotate(self, pod: Pod, prefixes: Sequence[str]) -> None:
        """The annotations that it has now."""
        own = own_annotations(pod.metadata.annotations, prefixes)
        self.annotations = JSON.encode(own).decode() if own else None

    @classmethod
    def of(cls, number: int, pod: Pod, scheduler: str, created: float, prefixes: Sequence[str] = ()) -> Self:
        """A pod that was just created; template and requests are still to be assigned."""
        meta = pod.metadata
        namespace = user = meta.namespace
        annotations = owner = None
        if meta.annotations:
            own = own_annotations(meta.annotations, prefixes)
            if own:
                user = own.get(USER_ANNOTATION, namespace)
                annotations = JSON.encode(own).decode()
        if meta.owner_references:
            controller = meta.controller
            if controller is not None:
                owner = f"{controller.kind}/{controller.name}"
        priority = pod.spec.priority or 0
        return cls(number, pod.key, namespace, meta.uid, scheduler, user, owner, priority, annotations, created)

    def row(self) -> tuple[Any, ...]:
        """The pod's row of the table `pods`."""
        return (
            self.number,
            self.key,
            self.namespace,
            self.uid,
            self.scheduler,
            self.user,
            self.owner,
            self.priority,
            self.template,
            self.annotations,
            self.attempts,
            self.created,
            self.bound,
            self.started,
            self.ended,
            self.reason,
            self.node_id,
            self.node,
            self.gpu_index,
            self.acknowledged,
            self.leaving,
            None if self.job is None else self.job.number,
            self.requests,
        )

    def interval(self, end: float | None, reason: PodEnd | IntervalEnd | None) -> tuple[Any, ...]:
        """The open interval's row of the table `occupancy`, closed there and then."""
        word = None if reason is None else reason._value_
        return (self.number, self.key, self.node_id, self.node, self.held_since, end, word, self.requests)

    def kept_room(self, end: float | None, ended: HoldEnd | None) -> tuple[Any, ...]:
        """The open hold's row of the table `holds`, ended there and then."""
        assert self.hold is not None
        node_id, since, why = self.hold
        word = None if ended is None else ended._value_
        job = None if self.job is None else self.job.number
        return (self.number, job, node_id, since, end, why._value_, word, self.requests)


class LivePods:
    """Live pods by uid, those that ended since rows were last taken, and the numbers of pods that ended lately."""

    def __init__(self) -> None:
        self.by_uid: dict[str, LivePod] = {}
        self.ended: dict[str, LivePod] = {}
        self._numbers: dict[str, int] = {}

    def end(self, live: LivePod, t: float, reason: PodEnd) -> None:
        """A pod ended; it can still be found until its row is taken, for a decision may be told after its outcome."""
        live.ended, live.reason = t, reason._value_
        del self.by_uid[live.uid]
        self.ended[live.uid] = live

    def find(self, uid: str) -> LivePod | None:
        """A pod whose row has not been taken."""
        return self.by_uid.get(uid) or self.ended.get(uid)

    def number_of(self, uid: str) -> int | None:
        """The number of a pod that is there or was lately."""
        live = self.find(uid)
        return self._numbers.get(uid) if live is None else live.number

    def take_rows(self) -> list[tuple[Any, ...]]:
        """The rows of the pods that ended, which are forgotten but for their numbers."""
        rows = [live.row() for live in self.ended.values()]
        self._numbers.update((uid, live.number) for uid, live in self.ended.items())
        for uid in list(islice(self._numbers, max(0, len(self._numbers) - NUM_REMEMBERED))):
            del self._numbers[uid]
        self.ended.clear()
        return rows


def _plain(value: Any) -> Any:
    if isinstance(value, Quantity):
        return value.text
    raise TypeError(f"a pod holds a {type(value).__name__}, which has no encoding")


ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)


class Templates:
    """The manifests pods share, with the requests that follow from them."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._known: dict[bytes, tuple[int, tuple[int, ...]]] = {}  # by digest: template number and request vector
        self._recent: dict[int, tuple[Pod, int, tuple[int, ...]]] = {}  # by the spec itself, which many pods may share
        self._recent_bytes = 0
        self._num_templates = 0
        self._waiting: list[tuple[int, str]] = []  # rows of the table `templates` not written yet
        self._waiting_bytes = 0

    @property
    def is_full(self) -> bool:
        """Is it time to write?"""
        return self._waiting_bytes >= WAITING_BYTES

    def assign(self, live: LivePod, pod: Pod) -> None:
        """Give a pod its template and its requests."""
        recent = self._recent.get(id(pod.spec))
        if recent is not None and _is_alike(recent[0], pod):
            _, live.template, live.requests = recent
            return
        said = _said(pod)
        live.template, live.requests = self._find(pod, said)
        self._recent_bytes += len(said)
        if len(self._recent) >= NUM_RECENT or self._recent_bytes > RECENT_BYTES:
            self._recent.clear()
            self._recent_bytes = len(said)
        self._recent[id(pod.spec)] = pod, live.template, live.requests

    def _find(self, pod: Pod, said: bytes) -> tuple[int, tuple[int, ...]]:
        digest = blake2b(said, digest_size=16).digest()
        known = self._known.get(digest)
        if known is None:
            if len(self._known) >= NUM_REMEMBERED:
                self._known.clear()
            manifest = encode_json(kept(_shared(pod))).decode()
            self._waiting.append((self._num_templates, manifest))
            self._waiting_bytes += len(manifest)
            known = self._known[digest] = self._num_templates, self._resources.vector(pod_requests(pod))
            self._num_templates += 1
        return known

    def take_rows(self) -> list[tuple[int, str]]:
        """The rows that were not taken before."""
        rows, self._waiting, self._waiting_bytes = self._waiting, [], 0
        return rows

    def forget(self, numbers: set[int]) -> None:
        """These templates will not be in the file: pods to come that are like them get new ones."""
        if numbers:
            self._known = {digest: known for digest, known in self._known.items() if known[0] not in numbers}
            self._recent.clear()
            self._recent_bytes = 0


def _shared(pod: Pod) -> Pod:
    """What a pod has in common with others of its template."""
    meta = pod.metadata
    shared = ObjectMeta(
        labels=meta.labels, annotations=_foreign(meta.annotations), owner_references=meta.owner_references
    )
    return Pod(metadata=shared, spec=_anywhere(pod.spec), status=PodStatus())


def _said(pod: Pod) -> bytes:
    """Everything that a template and its requests follow from."""
    meta, status = pod.metadata, pod.status if _is_resized(pod.status) else None
    return ENCODER.encode((_anywhere(pod.spec), meta.labels, _foreign(meta.annotations), meta.owner_references, status))


def _anywhere(spec: PodSpec) -> PodSpec:
    return msgspec.structs.replace(spec, node_name="") if spec.node_name else spec


def _is_alike(one: Pod, two: Pod) -> bool:
    """Is it easily seen that two pods share a template?"""
    return (
        one.spec is two.spec
        and one.metadata.labels is two.metadata.labels
        and one.metadata.owner_references == two.metadata.owner_references
        and not _is_resized(one.status)
        and not _is_resized(two.status)
        and _foreign(one.metadata.annotations) == _foreign(two.metadata.annotations)
    )


def _foreign(annotations: dict[str, str]) -> dict[str, str]:
    """Those that are not ours and decide something all the same."""
    own = kept_annotations(annotations)
    return {
        name: value
        for name, value in own.items()
        if not name.startswith(OWN_ANNOTATIONS) and name not in GROUP_ANNOTATIONS
    }


def _is_resized(status: PodStatus) -> bool:
    return bool(status.container_statuses or status.init_container_statuses or status.resources)

"""Followers of a live process: one that serves the stream, one that tells a sniffer.

In: what happens in a cluster, as a recorder is told, and what the process around offers (`Home`, which is any object
with these attributes: this room knows no cluster). Out: the stream, and calls to a sniffer. The command line makes
them for `fairway run` and `fairway record`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from fairway.cluster import Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import Pod
from fairway.record import NullRecorder, Scored
from fairway.record.translation import pod_end
from fairway.record.vocabulary import PodEnd
from fairway.stream.address import Address
from fairway.stream.noting import NoteTaker
from fairway.stream.serving.serving_process import ServingProcess
from fairway.stream.sniffer_client import SnifferProducer
from fairway.stream.surroundings import ReadingRefused, Surroundings, Tls

__all__ = ["SnifferFollower", "StreamFollower"]

PHASES: Final = (PodEnd.SUCCEEDED, PodEnd.FAILED)
DELETED: Final = Verb.DELETED
SCHEDULED: Final = Outcome.SCHEDULED
Tell: TypeAlias = Callable[[str, str, str, str], None]
"""Endpoint, event, pod and node."""


class StreamHome(Protocol):
    """What is asked of the process around."""

    @property
    def origin(self) -> int: ...
    @property
    def refusal(self) -> Callable[[str], Awaitable[Any]]: ...
    @property
    def certificate(self) -> Callable[[str], Tls]: ...
    @property
    def metrics(self) -> Any: ...
    @property
    def close(self) -> Callable[[], Awaitable[None]]: ...
    @property
    def is_leading(self) -> Callable[[], bool]: ...
    @property
    def explain(self) -> Callable[[str], Awaitable[bytes | None]]: ...


class StreamFollower:
    """Serves the stream of a process. Beyond this machine: with TLS, to those whom the API server lets."""

    def __init__(self, address: Address, stream_id: str, now: Callable[[], int]) -> None:
        self._address = address
        self._now = now
        self._process = ServingProcess(stream_id)
        self._is_started = False
        self.recorder = NoteTaker(self._process.notes.append)
        self.listener = None
        self.port = 0  # where it listens, once it does

    def start(self, home: StreamHome) -> None:
        """Listen; OSError if the address can not be had."""
        is_open = self._address.is_loopback

        async def refusal(token: str) -> ReadingRefused | None:
            refused = None if is_open else await home.refusal(token)
            return None if refused is None else ReadingRefused(refused.status, refused.message)

        around = Surroundings(
            now=self._now,
            origin=home.origin,
            is_leading=home.is_leading,
            refusal=refusal,
            explain=home.explain,
            close=home.close,
            count_lost=home.metrics.stream_lost,
            count=home.metrics.stream,
        )
        self.port = self._process.start(str(self._address), around, None if is_open else home.certificate("streaming"))
        self._is_started = True

    def bound(self, pod: Pod, node: str) -> None:
        """The watch will tell."""

    def stop(self) -> None:
        """End the stream; whoever reads asks the next leader."""
        if self._is_started:
            self._process.stop()


class SnifferFollower:
    """Tells a sniffer what scheduler-sniffer's own producers tell: nodes chosen, pods bound, and pods that left.

    A scheduler knows when it chose a node and when the API server agreed; somebody who only watches (`is_watcher`)
    knows that both have happened.
    """

    def __init__(self, address: Address, now: Callable[[], int], *, is_watcher: bool = False) -> None:
        self._address = address
        self._now = now
        self._producer: SnifferProducer | None = None
        self.recorder = _WatchedSteps(self._tell) if is_watcher else None
        self.listener = None if is_watcher else _SchedulersSteps(self._tell)

    def start(self, home: StreamHome) -> None:
        """Begin to send; nobody need be there."""
        self._producer = SnifferProducer(self._address, self._now, home.metrics.sniffer)

    def bound(self, pod: Pod, node: str) -> None:
        """The API server agreed."""
        self._tell("bindingCycle", "BindingSuccess", pod.metadata.name, node)

    def stop(self) -> None:
        """Send what waits, and end."""
        if self._producer is not None:
            self._producer.stop()

    def _tell(self, endpoint: str, event: str, pod: str, node: str) -> None:
        if self._producer is not None:
            self._producer.tell(endpoint, event, pod, node)


class _SchedulersSteps:
    """Of all that a scheduler hears and does, what a sniffer has words for. Looks at little: most of it has none."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._uids: set[str] = set()  # of pods that have not ended

    def saw(self, event: Event) -> None:
        """Has a pod left its node?"""
        pod = event.object
        if not isinstance(pod, Pod):
            return
        uid = pod.metadata.uid
        if event.verb is not DELETED and not pod.is_finished:
            self._uids.add(uid)
        elif uid in self._uids:
            self._uids.remove(uid)
            if pod.spec.node_name:
                self._tell(*_departure(pod_end(pod)), pod.metadata.name, pod.spec.node_name)

    def decided(self, decision: Decision, seconds: float, best: Sequence[Scored] = ()) -> None:
        """A node was chosen; of failures sniffers are not told."""
        if decision.outcome is SCHEDULED:
            self._tell("schedulePod", "ScheduleSuccess", decision.pod.metadata.name, decision.node)

    def group_decided(self, decision: GroupDecision, seconds: float) -> None:
        """Sniffers have no word for groups, nor for jobs that start together."""
        for one in (decision, *decision.companions):
            for member in one.members:
                self.decided(member, seconds)

    def queue_moved(self, *_: object) -> None:
        """Nobody asks."""


class _WatchedSteps(NullRecorder):
    """The same of a cluster that somebody else schedules."""

    is_recording = True

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell
        self._names: dict[str, str] = {}  # by uid: of pods that have not ended
        self._nodes: dict[str, str] = {}  # by uid: of those that are bound

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        """A pod is there."""
        self._names[pod.metadata.uid] = pod.metadata.name
        return super().pod_created(t, pod, scheduler)

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        """It has a node; that it was bound to it is how we know."""
        if decision.outcome is SCHEDULED:
            name = decision.pod.metadata.name
            self._tell("schedulePod", "ScheduleSuccess", name, decision.node)
            self._tell("bindingCycle", "BindingSuccess", name, decision.node)

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        """The watch shows it."""
        self._nodes[uid] = node

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        """A pod has left its node."""
        name, node = self._names.pop(uid, ""), self._nodes.pop(uid, "")
        if name and node:
            self._tell(*_departure(reason), name, node)


def _departure(reason: PodEnd) -> tuple[str, str]:
    """Endpoint and event, in the words of scheduler-sniffer's watcher."""
    return "podUpdate" if reason in PHASES else "podDelete", str(reason)

"""What another scheduler tried, as far as the API shows: somebody who only watches learns of it from pods and Events.

In: events of pods, and what Events with the reason FailedScheduling say. Out: `decided`, to a recorder, when a pod's
condition PodScheduled says in new words that it could not be placed, when an Event has counted one attempt more (the
same words found again change no condition), and when a pod appears on its node. Condition and Event tell of one attempt
twice, in either order: an attempt has the number that the Events have counted to, if they are ahead, and attempts that
nobody told of singly are left out. Called by `recording`, for followers of clusters that Fairway does not schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from fairway.cluster import Cluster, Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.live.watches.watched_kinds import WatchedKind
from fairway.model import ObjectMeta, Pod
from fairway.model.meta import Value
from fairway.plugin import Refusal
from fairway.queue import profile_name
from fairway.record import Recorder

__all__ = ["FAILED_ATTEMPTS", "FailedScheduling", "SeenAttempts"]

OUTCOMES: Final = {"SchedulingGated": Outcome.GATED, "SchedulerError": Outcome.ERROR}
CUT_OFF: Final = " ..."
"""How a message ends in an Event that has no room for it (client-go, tools/events)."""
MOST_EARLY: Final = 1024


class EventSubject(Value, frozen=True, kw_only=True):
    """What an Event is about."""

    kind: str = ""
    uid: str = ""


class EventSeries(Value, frozen=True, kw_only=True):
    """How often it happened."""

    count: int = 0


class FailedScheduling(Value, frozen=True, kw_only=True):
    """An Event with that reason, as far as it is read here."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["Event"] = msgspec.field(default_factory=lambda: "Event")
    metadata: ObjectMeta = ObjectMeta()
    involved_object: EventSubject = EventSubject()
    message: str = ""
    count: int = 0
    series: EventSeries | None = None

    @property
    def times(self) -> int:
        """How often it happened: older schedulers count here, newer ones there, and none counts the first."""
        return max(1, self.count, 0 if self.series is None else self.series.count)


FAILED_ATTEMPTS: Final = WatchedKind(FailedScheduling, "/api/v1/events", "reason=FailedScheduling")  # type: ignore[arg-type]  # no object of a cluster's state


class _Failures(msgspec.Struct):
    """What is known of a waiting pod's attempts."""

    pod: Pod | None = None  # None: only an Event has come yet
    number: int = 0  # of the last one that was told
    reason: str = ""
    words: str = ""
    counted: dict[str, int] = {}  # by Event

    def are_words(self, message: str) -> bool:
        """Are these the words of the last attempt? One of both may have been cut off."""
        return any(
            whole.startswith(part.removesuffix(CUT_OFF)) if part.endswith(CUT_OFF) else whole == part
            for whole, part in ((message, self.words), (self.words, message))
        )


class SeenAttempts:
    """Tells a recorder of attempts that the API shows."""

    def __init__(self, recorder: Recorder, now: Callable[[], float]) -> None:
        self._recorder = recorder
        self._now = now
        self._classes = Cluster()
        self._waiting: dict[str, _Failures] = {}  # by uid
        self._early: dict[str, _Failures] = {}  # of pods that we have not seen waiting
        self._placed: set[str] = set()

    def saw(self, event: Event) -> None:
        """Something happened to a pod; the recorder knows the pod, and not yet what came of it."""
        pod = event.object
        if not isinstance(pod, Pod):
            return
        uid = pod.metadata.uid
        if event.verb is Verb.DELETED or pod.is_finished:
            self._waiting.pop(uid, None)
            self._placed.discard(uid)
        elif pod.spec.node_name:
            failures = self._waiting.pop(uid, None) or _Failures()
            if uid not in self._placed:
                self._placed.add(uid)
                if event.verb is not Verb.ADDED:  # else it was there before
                    self._tell(pod, Outcome.SCHEDULED, failures.number + 1, "")
        else:
            self._saw_waiting(pod)

    def _saw_waiting(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        early = self._early.pop(uid, None)
        failures = self._waiting.setdefault(uid, early or _Failures())
        failures.pod = pod
        condition = next((one for one in pod.status.conditions if one.type == "PodScheduled"), None)
        if condition is None or condition.status != "False":
            if early is not None and early.words:
                self._fail(failures, early.number, early.words)
            return
        if failures.reason in ("", condition.reason) and failures.are_words(condition.message) and early is None:
            failures.reason, failures.words = condition.reason, condition.message
            return
        failures.reason = condition.reason
        self._fail(failures, early.number if early is not None else failures.number + 1, condition.message)

    def saw_event(self, event: FailedScheduling, *, was_before: bool = False) -> None:
        """An Event was written, or counts further; `was_before` we began to look."""
        subject = event.involved_object
        if subject.kind != "Pod" or subject.uid in self._placed:
            return
        failures = self._waiting.get(subject.uid) or self._early.setdefault(subject.uid, _Failures())
        failures.counted[event.metadata.name] = event.times
        number = sum(failures.counted.values())
        if number <= failures.number:
            return  # its condition was faster
        words = event.message if event.times == 1 or not failures.words else failures.words
        if failures.pod is None or was_before:
            failures.number, failures.words = number, words if failures.pod is None else failures.words
            if len(self._early) > MOST_EARLY:
                del self._early[next(iter(self._early))]
            return
        self._fail(failures, number, words)

    def _fail(self, failures: _Failures, number: int, words: str) -> None:
        assert failures.pod is not None
        failures.number, failures.words = number, words
        self._tell(failures.pod, OUTCOMES.get(failures.reason, Outcome.UNSCHEDULABLE), number, words)

    def _tell(self, pod: Pod, outcome: Outcome, number: int, words: str) -> None:
        decision = Decision(pod, self._classes.classify(pod), outcome, node=pod.spec.node_name, via=None)
        if outcome is Outcome.GATED:
            decision.gate = ("", Refusal((words,)))
        elif outcome is not Outcome.SCHEDULED:
            decision.error = words
        self._recorder.decided(self._now(), profile_name(pod), number, decision, 0.0)

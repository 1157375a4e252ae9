"""What another scheduler tried, as far as pods tell: somebody who only watches learns of attempts from conditions.

In: events of pods. Out: `decided`, to a recorder, when a pod's condition PodScheduled says that it could not be placed
(a new reason or new words are a new attempt) and when a pod appears on its node. How often the same words were found
again nobody sees. Called by `recording`, for followers of clusters that Fairway does not schedule.
"""

from __future__ import annotations

from collections.abc import Callable

from fairway.cluster import Cluster, Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.model import Pod
from fairway.plugin import Refusal
from fairway.queue import profile_name
from fairway.record import Recorder

__all__ = ["SeenAttempts"]


class SeenAttempts:
    """Tells a recorder of attempts that pods show."""

    def __init__(self, recorder: Recorder, now: Callable[[], float]) -> None:
        self._recorder = recorder
        self._now = now
        self._classes = Cluster()
        self._known: dict[str, tuple[int, str, str]] = {}  # by uid of a waiting pod: attempts, reason and words
        self._placed: set[str] = set()

    def saw(self, event: Event) -> None:
        """Something happened to a pod; the recorder knows the pod, and not yet what came of it."""
        pod = event.object
        if not isinstance(pod, Pod):
            return
        uid = pod.metadata.uid
        if event.verb is Verb.DELETED or pod.is_finished:
            self._known.pop(uid, None)
            self._placed.discard(uid)
        elif pod.spec.node_name:
            if uid not in self._placed:
                self._placed.add(uid)
                if event.verb is not Verb.ADDED:  # else it was there before
                    self._tell(pod, Outcome.SCHEDULED, "", "")
                self._known.pop(uid, None)
        else:
            self._saw_waiting(pod)

    def _saw_waiting(self, pod: Pod) -> None:
        condition = next((one for one in pod.status.conditions if one.type == "PodScheduled"), None)
        if condition is None or condition.status != "False":
            return
        known = self._known.get(pod.metadata.uid)
        if known is not None and known[1:] == (condition.reason, condition.message):
            return
        outcomes = {"SchedulingGated": Outcome.GATED, "SchedulerError": Outcome.ERROR}
        self._tell(pod, outcomes.get(condition.reason, Outcome.UNSCHEDULABLE), condition.reason, condition.message)

    def _tell(self, pod: Pod, outcome: Outcome, reason: str, message: str) -> None:
        number = self._known.get(pod.metadata.uid, (0, "", ""))[0] + 1
        self._known[pod.metadata.uid] = (number, reason, message)
        decision = Decision(pod, self._classes.classify(pod), outcome, node=pod.spec.node_name, via=None)
        if outcome is Outcome.GATED:
            decision.gate = ("", Refusal((message,)))
        elif outcome is not Outcome.SCHEDULED:
            decision.error = message
        self._recorder.decided(self._now(), profile_name(pod), number, decision, 0.0)

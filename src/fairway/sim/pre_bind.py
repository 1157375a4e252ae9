"""Before a pod is bound: what plugins want written is written, and what they wait for is waited for.

In: a pod, its node, and the `PreBind`s that its scheduler collected, which are carried out one after another. Out: one
of two calls: the pod may be bound, or why it will not be. Whether a plugin's wait is over is asked when the scheduler
hears of a change, with its delay; kube-scheduler looks every second. Called by `SimScheduler`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairway.cluster import Event, Verb
from fairway.cycle.pre_bind import PreBind, names_of
from fairway.model import Pod
from fairway.sim.api_server import ApiError, ApiServer
from fairway.sim.timeline import Handle
from fairway.sim.writing import carry_out

__all__ = ["PodPreparations"]

ANYTHING = ""  # stands for the name of every object


class PreparedPod:
    """A pod that is being prepared."""

    __slots__ = ("left", "node", "pod", "timer", "versions")

    def __init__(self, pod: Pod, node: str, steps: Sequence[PreBind]) -> None:
        self.pod = pod
        self.node = node
        self.left = list(steps)  # the first is under way
        self.versions: list[int] = []  # that its writes led to
        self.timer: Handle | None = None

    @property
    def names(self) -> frozenset[str]:
        """The objects that the step under way is about."""
        return self.left[0].preparation.about or frozenset((ANYTHING,))


class PodPreparations:
    """The pods of one scheduler that are being prepared."""

    def __init__(self, api: ApiServer, bind: Callable[[Pod, str], None], fail: Callable[[Pod, str], None]) -> None:
        """`bind` or `fail` is called once for each pod, unless it is deleted meanwhile."""
        self._api = api
        self._bind = bind
        self._fail = fail
        self.waiting: dict[str, PreparedPod] = {}  # by the pod's uid
        self._by_name: dict[str, dict[str, PreparedPod]] = {}  # the same, by the objects they wait for

    def begin(self, pod: Pod, node: str, steps: Sequence[PreBind]) -> None:
        """Carry out the steps; the pod is bound after the last."""
        self._take(PreparedPod(pod, node, steps))

    def observe(self, event: Event) -> None:
        """Something changed in the scheduler's view: a wait may be over, a pod may be gone."""
        item = event.object
        if isinstance(item, Pod) and event.verb is Verb.DELETED and item.metadata.uid in self.waiting:
            self._drop(self.waiting[item.metadata.uid])
        for name in (*names_of(item), ANYTHING):
            for prepared in list(self._by_name.get(name, {}).values()):
                if self.waiting.get(prepared.pod.metadata.uid) is prepared:
                    self._check(prepared)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _next(self, prepared: PreparedPod) -> None:
        """A step is over: begin the next, or bind."""
        if not prepared.left:
            self._bind(prepared.pod, prepared.node)
            return
        step = prepared.left[0].at_its_turn()
        if isinstance(step, str):
            self._fail(prepared.pod, step)
            return
        prepared.left[0] = step
        self._take(prepared)

    def _take(self, prepared: PreparedPod) -> None:
        """Write what this step wants written, and look whether that was all."""
        step = prepared.left[0]
        try:
            prepared.versions = [carry_out(self._api, write) for write in step.preparation.writes]
        except ApiError as refusal:
            self._fail(prepared.pod, step.error(str(refusal)))
            return
        uid = prepared.pod.metadata.uid
        self.waiting[uid] = prepared
        for name in prepared.names:
            self._by_name.setdefault(name, {})[uid] = prepared
        seconds = step.preparation.timeout_seconds
        prepared.timer = self._api.timeline.after(seconds, lambda: self._end(prepared, step.too_late))
        self._check(prepared)

    def _check(self, prepared: PreparedPod) -> None:
        """Is this step over, or never going to be?"""
        progress = prepared.left[0].progress(prepared.versions)
        if isinstance(progress, str):
            self._end(prepared, progress)
        elif progress:
            self._drop(prepared)
            del prepared.left[0]
            self._next(prepared)

    def _end(self, prepared: PreparedPod, problem: str) -> None:
        self._drop(prepared)
        self._fail(prepared.pod, problem)

    def _drop(self, prepared: PreparedPod) -> None:
        uid = prepared.pod.metadata.uid
        del self.waiting[uid]
        for name in prepared.names:
            del self._by_name[name][uid]
            if not self._by_name[name]:
                del self._by_name[name]
        if prepared.timer is not None:
            prepared.timer.cancel()

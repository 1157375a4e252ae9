"""How a scheduler answers an event: is the pod that waits tried again, because of what, and where does it go?

In: cases and a scheduler at work. Out: an `Answer` for each. One case at a time, each in a cluster of its own, so that
whatever moves in the scheduler's queue is the case's own pod. What happened is read from the scheduler's metrics: which
events it has taken in, what brought a pod back into its queue, which plugins refuse it, how often it was tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, Self

from tests.kube.api import ApiError
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program
from tests.kube.wake_ups.case import NAMESPACE, SENTINEL, SUBJECT, URGENT, Case, added, event_label
from tests.kube.wake_ups.metrics import MetricsPage, Reading

__all__ = ["Answer", "Stage"]

WITH_STATUS: Final = ("PersistentVolume", "PersistentVolumeClaim")
"""Kinds of which a scheduler hears twice when they are created with a status: `Api.create` writes it separately."""


class Answer(NamedTuple):
    """What a scheduler made of a case."""

    refused_by: frozenset[str]  # plugins, before the event
    message: str  # of the pod's condition, before the event
    woken_by: frozenset[str]  # events
    was_tried: bool
    node: str


class Stage:
    """One scheduler, to which cases are played."""

    def __init__(self, control_plane: ControlPlane, scheduler: Program) -> None:
        self._scheduler = scheduler
        self._page = MetricsPage(scheduler.url, control_plane.token())
        self._api = control_plane.api()
        self._num_sentinels = 0

    def __enter__(self) -> Self:
        """Set the stage: one priority class."""
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": URGENT}}
        self._api.create({**kind, "value": 1000})
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""
        self._api.delete("PriorityClass", URGENT)
        self._page.close()

    def play(self, case: Case) -> Answer:
        """Make the cluster, let the pod be refused, let the event happen, and see; then remove everything."""
        try:
            self._build(case)
            message = self._let_wait(case)
            return self._look(case, message)
        finally:
            self._remove(case)

    def _build(self, case: Case) -> None:
        expected: Counter[str] = Counter()
        for thing in case.before:
            expected[added(thing).label] += 1
            if thing["kind"] in WITH_STATUS and thing.get("status"):
                expected[event_label(thing["kind"], "Update")] += 1  # written by `create`
        with self._hearing(expected):
            for thing in case.before:
                self._api.create(thing)
        for step in case.prelude:
            with self._hearing([step.label]):
                step.do(self._api)

    def _let_wait(self, case: Case) -> str:
        """Create the pod, and wait until the scheduler has put it aside and heard of what it wrote itself."""
        is_gated = bool(case.pod["spec"].get("schedulingGates"))
        with self._hearing(["UnschedulablePodAdd" if is_gated else "UnschedulablePodUpdate"]):
            self._api.create(case.pod)
            return self._refusal(SUBJECT)

    def _look(self, case: Case, message: str) -> Answer:
        with self._hearing([case.event.label]) as before:
            case.event.do(self._api)
            if not case.wakes:
                self._send_sentinel()
        with suppress(TimeoutError):  # the answer tells
            if case.node:
                self._until(lambda: bool(self._node()), f"{case} places the pod")
            if case.wakes:
                self._until(lambda: self._page.read().attempts() > before.attempts(), f"{case} has the pod tried")
        after = self._page.read()
        return Answer(
            before.refused_by(),
            message,
            after.woken_since(before),
            after.attempts() > before.attempts(),
            self._node(),
        )

    def _remove(self, case: Case) -> None:
        """The pods that wait first, so that nothing of the rest wakes them."""
        pods = self._api.items("Pod")
        for pod in sorted(pods, key=lambda pod: bool(pod["spec"].get("nodeName"))):
            meta = pod["metadata"]
            self._api.delete("Pod", meta["name"], meta["namespace"])
        nodes = self._api.items("Node")
        if nodes:
            with self._hearing(["NodeDelete"] * len(nodes)):
                self._api.delete_all("Node")
        for thing in (*case.before, case.event.makes):
            if thing is not None and thing["kind"] not in ("Node", "Pod"):
                with suppress(ApiError):  # the event was that it went
                    self._api.delete(thing["kind"], thing["metadata"]["name"], NAMESPACE)

    def _send_sentinel(self) -> None:
        """A pod that comes after the event and is refused: by then the event has had its effect."""
        self._num_sentinels += 1
        name = f"{SENTINEL}-{self._num_sentinels}"
        spec = {
            "schedulerName": SENTINEL,
            "nodeSelector": {SENTINEL: "nowhere"},
            "containers": [{"name": "main", "image": "example/image:1"}],
        }
        self._api.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
        )
        self._refusal(name)

    def _refusal(self, name: str) -> str:
        """What is said about a pod that waits, once it is."""
        said: list[str] = []

        def is_said() -> bool:
            conditions = self._api.get("Pod", name, NAMESPACE)["status"].get("conditions", [])
            said[:] = [each.get("message", "") for each in conditions if each["type"] == "PodScheduled"]
            return bool(said)

        self._until(is_said, f"pod {name} is refused")
        return said[0]

    @contextmanager
    def _hearing(self, labels: Iterable[str]) -> Iterator[Reading]:
        """Do something, and then wait until the scheduler has taken in what it hears of that; "" is never heard."""
        expected = Counter(labels)
        del expected[""]
        before = self._page.read()
        yield before

        def have_all_come() -> bool:
            now = self._page.read()
            return all(now.handled(label) >= before.handled(label) + n for label, n in expected.items())

        if expected:
            self._until(have_all_come, f"it has heard of {', '.join(expected)}")

    def _node(self) -> str:
        return str(self._api.get("Pod", SUBJECT, NAMESPACE)["spec"].get("nodeName", ""))

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        self._scheduler.wait_until(condition, what, seconds=30)

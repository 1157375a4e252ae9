"""One simulation: a scenario's parts put together, and run.

In: a `Plan`: nodes and objects that are there, arrivals in order of time, schedulers, faults. Out: a `Result`, and,
through the recorder, a recorded run. Arrivals are taken from their iterator one by one, so a million pods need no
memory but their own. Without an end, the simulation stops when nothing more can happen: all that is left are pods
nobody can place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from fairway.batch.settings import BatchSettings
from fairway.cluster import Event, TypicalPods, Verb
from fairway.config import Configuration
from fairway.model import Namespace, Node, ObjectMeta, Pod
from fairway.model.meta import EPOCH
from fairway.record import NullRecorder, Recorder, RecordOptions
from fairway.record.translation import EventTranslator
from fairway.sim.api_server import ApiServer, ConflictError
from fairway.sim.batch_orders import BatchOrder, OrderBearer
from fairway.sim.controllers import ControllerSettings, start_controllers
from fairway.sim.data_changes import DataChange, DataPlacements
from fairway.sim.data_reads import LADDER, DataReads, Distance
from fairway.sim.kubelets import Kubelets, KubeletSettings
from fairway.sim.luck import Luck
from fairway.sim.node_lifecycle import FaultAction, NodeLifecycle
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.sim_scheduler import SimScheduler
from fairway.sim.timed_defragmentation import DefragmentationStep, Defragmenter
from fairway.sim.timeline import Timeline
from fairway.trace.workload import Arrival

PATIENCE = 360.0
"""Seconds after the last thing that happened: by then every waiting pod was tried once more, in vain."""

A_DAY = 86_400.0
"""Where a simulation ends that would go on for ever and names no end."""

TOLD_EVERY = 10_000
"""Objects, while those are made that a simulation begins with."""

Progress = Callable[[float, int], None]
"""Told now and then: the virtual time, and how many pods have arrived."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A scheduler stops at a time, for so long."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class SchedulerPlan:
    """A scheduler that takes part."""

    name: str
    configuration: Configuration
    settings: SchedulerSettings = field(default_factory=SchedulerSettings)
    pauses: tuple[Pause, ...] = ()
    batch: BatchSettings | None = None  # the queues that its pods wait in


@dataclass(frozen=True, slots=True)
class Fault:
    """Something happens to a node; with `seconds`, until then."""

    at: float
    node: str
    action: FaultAction
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a simulation needs to know."""

    nodes: Sequence[Node]
    objects: Sequence[object]  # what else is there at the start; pods among them are on nodes, or arrive at once
    arrivals: Iterable[Arrival]
    schedulers: Sequence[SchedulerPlan]
    faults: Sequence[Fault] = ()
    defragmentations: Sequence[DefragmentationStep] = ()
    data_changes: Sequence[DataChange] = ()
    orders: Sequence[BatchOrder] = ()  # of operators and owners, about jobs, queues and accounts
    read_ladder: Sequence[Distance] = LADDER
    kubelet: KubeletSettings = field(default_factory=KubeletSettings)
    controllers: ControllerSettings = field(default_factory=ControllerSettings)
    seed: int = 0
    end: float | None = None  # seconds; None: when nothing more can happen
    typical_pods: TypicalPods | None = None  # what fragmentation is measured by; None: what runs when it is needed


@dataclass(slots=True)
class Result:
    """What it came to, in numbers; the run has the details."""

    end: float = 0.0  # virtual seconds
    arrived: int = 0
    succeeded: int = 0
    failed: int = 0
    conflicts: int = 0  # bindings that the API server refused
    waiting: int = 0  # pods without a node at the end
    attempts: int = 0
    num_errors: int = 0  # attempts that ended in an error: a plugin raised, say
    num_events: int = 0
    problems: list[str] = field(default_factory=list)


class Simulation:
    """Everything that lives in one simulated cluster."""

    def __init__(
        self,
        plan: Plan,
        recorder: Recorder,
        options: RecordOptions | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """`options` are what the recorder wants to be told, as far as it takes work to find out.

        `progress` hears now and then how many of the objects are there that a simulation begins with.
        """
        self.plan = plan
        self.recorder = recorder
        self.timeline = Timeline()
        self.api = ApiServer(self.timeline)
        self.result = Result()
        self._is_told = type(recorder) is not NullRecorder  # which wants to know nothing
        self._translator = EventTranslator(recorder, self.timeline.now, EPOCH)
        self.api.watch(self._observe)  # first of all: a pod is there before anybody tells of it
        reads = DataReads(self.api, recorder, plan.read_ladder)
        self.kubelets = Kubelets(self.api, plan.kubelet, Luck(plan.seed, "kubelets"), recorder, reads)
        self.placements = DataPlacements(self.api, recorder, plan.seed)
        self.lifecycle = NodeLifecycle(self.api, self.kubelets, recorder)
        self.lifecycle.tells_times = any(each.batch is not None for each in plan.schedulers)
        start_controllers(self.api, self.timeline, plan.controllers, self._controller_reports)
        self.schedulers = [
            SimScheduler(
                each.name, each.configuration, self.api, each.settings, recorder, options or RecordOptions(), each.batch
            )
            for each in plan.schedulers
        ]
        if plan.typical_pods is not None:
            for scheduler in self.schedulers:
                scheduler.scheduler.cluster.typical_pods = plan.typical_pods
        desks = [each.queues for each in self.schedulers if each.queues is not None]
        self._orders = OrderBearer(self.api, recorder, desks, self.result.problems.append)
        self._defragmenter: Defragmenter | None = None
        if plan.defragmentations:
            told = self.result.problems.append
            self._defragmenter = Defragmenter(self.api, self.kubelets, self.schedulers, recorder, told)
        self._namespaces: set[str] = set()
        self._last_news = 0.0  # when something other than a vain attempt last happened
        self._arrivals: Iterator[Arrival] = iter(plan.arrivals)
        self._arrivals_first = any(each.batch is not None and each.batch.ties == "each" for each in plan.schedulers)
        self._set_up(progress)

    # -- before it begins --------------------------------------------------------------------------------------------

    def _set_up(self, progress: Callable[[int], None] | None) -> None:
        for number, node in enumerate(self.plan.nodes):
            if progress is not None and number % TOLD_EVERY == 0:
                progress(number)
            self.api.create(node)
        for number, thing in enumerate(self.plan.objects, len(self.plan.nodes)):
            if progress is not None and number % TOLD_EVERY == 0:
                progress(number)
            self._create(thing)
        for fault in self.plan.faults:
            self.timeline.at(
                fault.at,
                lambda fault=fault: self.lifecycle.apply(fault.action, fault.node, fault.seconds),  # type: ignore[misc]
            )
        for order in self.plan.orders:
            self.timeline.at(order.at, partial(self._orders.carry_out, order))
        for change in self.plan.data_changes:
            self.timeline.at(change.at, partial(self.placements.apply, change))
        for scheduler, each in zip(self.schedulers, self.plan.schedulers, strict=True):
            for pause in each.pauses:
                self.timeline.at(
                    pause.at,
                    lambda which=scheduler, pause=pause: which.pause(pause.seconds),  # type: ignore[misc]
                )
        if self._defragmenter is not None:
            for step in self.plan.defragmentations:
                self.timeline.at(step.at, lambda step=step: self._defragmenter.begin(step))  # type: ignore[misc]
        self._await_next_arrival()

    def _create(self, thing: object) -> None:
        """Make an object, and the namespace it needs; one that is there already is a problem, not the end."""
        namespace = thing.metadata.namespace  # type: ignore[attr-defined]
        if isinstance(thing, Namespace):
            self._namespaces.add(thing.metadata.name)
        elif namespace and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            if self.api.find("Namespace", "", namespace) is None:
                self.api.create(Namespace(metadata=ObjectMeta(name=namespace)))
        try:
            self.api.create(thing)
        except ConflictError as error:
            self.result.problems.append(str(error))

    def _await_next_arrival(self) -> None:
        arrival = next(self._arrivals, None)
        if arrival is not None:
            self.timeline.at(arrival.time, lambda: self._arrive(arrival), is_early=self._arrivals_first)

    def _arrive(self, arrival: Arrival) -> None:
        self._await_next_arrival()
        self._create(arrival.object)

    # -- while it runs -----------------------------------------------------------------------------------------------

    def run(self, progress: Progress | None = None, every: int = 2000) -> Result:
        """Until the end, or until nothing more can happen."""
        end = self.plan.end
        if end is None and self.api.objects("CronJob"):
            end = A_DAY
            self.result.problems.append("CronJobs never come to an end: stopped after a day; set an end for another")
        timeline = self.timeline
        while timeline.step(end):
            if progress is not None and timeline.num_done % every == 0:
                progress(timeline.now(), self.result.arrived)
            quiet = timeline.now() - self._last_news
            if end is None and not timeline.num_busy and quiet > PATIENCE and self._is_over(quiet):
                break
        result = self.result
        result.end = timeline.now() if end is None else max(end, timeline.now())
        result.num_events = timeline.num_done
        result.conflicts = sum(each.num_conflicts for each in self.schedulers)
        result.attempts = sum(each.num_attempts for each in self.schedulers)
        result.num_errors = sum(each.num_errors for each in self.schedulers)
        result.waiting = sum(not pod.spec.node_name for pod in self.api.objects("Pod"))
        result.problems += self._unserved()
        result.problems += (
            f"attempts of {each.name} that ended in an error: {each.num_errors}, the first for {each.first_error}"
            for each in self.schedulers
            if each.num_errors
        )
        if self._defragmenter is not None:
            self._defragmenter.close()
        for scheduler in self.schedulers:
            scheduler.close()
        self.recorder.close(result.end)
        if progress is not None:
            progress(result.end, result.arrived)
        return result

    def _is_over(self, quiet: float) -> bool:
        """Nothing has happened for so long; if plugins go by the clock, the hours of a whole day have to pass."""
        if not any(each.scheduler.waits_for_time for each in self.schedulers):
            return True
        if quiet > A_DAY:
            told = "pods wait for a plugin that goes by the clock: stopped after a day in vain; set an end for another"
            self.result.problems.append(told)
        return quiet > A_DAY

    def _unserved(self) -> Iterator[str]:
        """Schedulers that pods still wait for and that are not there."""
        served = {name for each in self.schedulers for name in each.scheduler.profiles}
        waiting = Counter(pod.spec.scheduler_name for pod in self.api.objects("Pod") if not pod.spec.node_name)
        for name, count in sorted(waiting.items()):
            if name not in served:
                yield f"pods that wait for the scheduler {name}, which is not there: {count}"

    def _controller_reports(self, kind: str, name: str, reason: str, message: str) -> None:
        self.recorder.event(self.timeline.now(), kind, name, reason, message)

    def _observe(self, event: Event) -> None:
        """Keep the books of the run."""
        item, verb = event.object, event.verb
        self._last_news = self.timeline.now()
        if isinstance(item, Pod):
            if verb is Verb.ADDED:
                self.result.arrived += 1
            elif verb is Verb.MODIFIED and item.is_finished:
                self.result.succeeded += item.status.phase == "Succeeded"
                self.result.failed += item.status.phase == "Failed"
        if self._is_told:
            self._translator.saw(event)

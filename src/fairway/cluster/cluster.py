"""The cluster: all tables behind one door.

In: `apply(event)` with what the world reports, `assume`/`forget` with what was decided here, `nominations` with what is
reserved for later. Out: tables (`nodes`, `pods`, `counters`, ...) that plugins read, journals that caches follow, and
the `Change`s each event amounts to, for the queue. `what_if()` (in `occupancy`) tries something and takes it
back.
Single-threaded; nothing is ever copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fairway.cluster.aspects import Aspect, Versions
from fairway.cluster.changes import is_heartbeat, node_changes, pod_changes
from fairway.cluster.clock import ClusterClock
from fairway.cluster.datasets.known_datasets import DATASET_KINDS, Datasets
from fairway.cluster.events import Action, Change, ClusterEvent, Event, Resource, Verb
from fairway.cluster.gpus.fragmentation import Fragmentation
from fairway.cluster.gpus.typical_pods import Shape, TypicalPods
from fairway.cluster.groups import GROUP_KINDS, Groups
from fairway.cluster.intents.activations import Activations
from fairway.cluster.intents.held_pods import HeldPods
from fairway.cluster.intents.nominations import Nominations
from fairway.cluster.intents.preemptions import Preemptions
from fairway.cluster.intents.shared_wishes import SharedWishes
from fairway.cluster.journal import Journal
from fairway.cluster.known_classes import KnownClasses, LatestClass, keeps_class
from fairway.cluster.occupancy import Occupancy
from fairway.cluster.orphans import Orphan, Orphans
from fairway.cluster.pod_class import Extra, PodClass, class_key, without_place
from fairway.cluster.pods import Placed
from fairway.cluster.promises import Promises
from fairway.cluster.tallies.tally import Tally
from fairway.cluster.view import Nodes
from fairway.cluster.volumes.storage import STORAGE_KINDS, Storage
from fairway.cluster.workloads import WORKLOAD_KINDS, Workloads
from fairway.model import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    Node,
    Pod,
)
from fairway.model.device_need import pinned_devices
from fairway.model.group import GroupReading
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet

T = TypeVar("T", bound=Tally)

POD_CAME = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD)
POD_LEFT = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)


class Cluster(Occupancy):
    """Everything the scheduler knows about the world."""

    def __init__(self) -> None:
        super().__init__()
        self.versions = Versions()
        self.clock = ClusterClock(self.versions)
        self.workloads = Workloads(self.versions)
        self.storage = Storage(self)
        self.datasets = Datasets(self.versions)
        self._known_classes = KnownClasses(self._annotations)
        self._keeps_apart = False  # has any pod ever had a class of its own?
        self.nominations = Nominations()
        self.preemptions = Preemptions(self.pods)
        self.wishes = SharedWishes(self.pods)
        self.held = HeldPods()
        self.promises = Promises(self.versions)
        self.activations = Activations()
        self.groups = Groups(self.workloads)
        self.node_journal = Journal()  # rows whose node came, went or changed
        self._orphans = Orphans()
        self._typical_pods: TypicalPods | None = None
        self._fragmentations: dict[TypicalPods, Fragmentation] = {}

    # -- looking ---------------------------------------------------------------------------------------------------

    def view(self) -> Nodes:
        """All nodes."""
        return Nodes(self)

    def read_annotations(self, names: Sequence[str] | None) -> None:
        """Somebody is going to read these annotations of pods (None: any); from now on they tell classes apart."""
        if not self._annotations.widen(names):
            return
        self._known_classes = KnownClasses(self._annotations)
        for row in sorted({placed.row for placed in self.pods.by_uid.values()}):
            order = [placed.pod.metadata.uid for placed in self.pods.on_row(row)]
            for placed in [self.pods.by_uid[uid] for uid in order]:
                if (pod_class := self.classify(placed.pod, bound=True)) is not placed.pod_class:
                    self._place_again(placed, placed.pod, pod_class, placed.assumed)
            self.pods.reorder(row, order)

    def follow_groups(self, reading: GroupReading) -> None:
        """Somebody schedules pods that belong together: keep books of who does, beginning with those that run."""
        self.groups.follow(reading)
        for placed in self.pods.by_uid.values():
            self.groups.observe(placed.pod)

    def classify(self, pod: Pod, bound: bool = False, apart: bool = False, extra: Extra = ()) -> PodClass:
        """The class of a pod. `apart`: a class of its own, for plugins that look at names; `extra`: what they add."""
        if apart or extra:
            self._keeps_apart = True
        classes = self._known_classes
        is_plain = not (bound or apart) and (not extra or classes.may_keep(extra))
        known = classes.find(pod, extra) if is_plain else None
        if known is None and extra and not (bound or apart) and classes.latest is not None:
            known = classes.latest.find(pod, extra)
        if known is not None:
            return known
        key = class_key(pod, self._annotations, bound, apart, extra)
        found = self.classes.find(key)
        if found is None:
            found = self.classes.make(key, without_place(pod) if bound else pod, extra, apart)
            self.counters.adopt(found)
        if is_plain:
            classes.keep(pod, found, extra)
        if extra and not (bound or apart):
            classes.latest = LatestClass(pod, extra, found)
        return found

    def tally(self, kind: type[T]) -> T:
        """The tally of that kind, the same one for everybody who asks; from now on it is kept."""
        if kind not in self.tallies:
            made = self.tallies[kind] = kind(self.nodes)
            for placed in self.pods.by_uid.values():
                made.came(placed.pod, placed.pod_class, placed.row)
        tally = self.tallies[kind]
        assert isinstance(tally, kind)
        return tally

    @property
    def typical_pods(self) -> TypicalPods | None:
        """The workload that fragmentation is measured against; None if nobody said."""
        return self._typical_pods

    @typical_pods.setter
    def typical_pods(self, typical: TypicalPods) -> None:
        self._typical_pods = typical
        self.node_journal.forget()  # answers about every row may depend on it

    def learn_typical_pods(self) -> None:
        """Take what runs now for typical; where nothing runs, a pod with a whole device."""
        pods = [placed.pod for placed in self.pods.by_uid.values()]
        self.typical_pods = TypicalPods.of_pods(pods) if pods else TypicalPods((Shape(0, 1000, 1, ""),), (1.0,))

    def fragmentation(self, typical: TypicalPods) -> Fragmentation:
        """The measure for that workload, the same one for everybody who asks; `refresh` it before reading."""
        if typical not in self._fragmentations:
            self._fragmentations[typical] = Fragmentation(self, typical)
        return self._fragmentations[typical]

    # -- deciding --------------------------------------------------------------------------------------------------

    def assume(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """We decided to put the pod there; from now on it counts, until the world confirms it or we forget it."""
        if pod.metadata.uid in self.pods.by_uid:
            raise ValueError(f"pod {pod.key} has a node already")
        self._place(pod, pod_class, row, assumed=True)
        self.nominations.remove(pod.metadata.uid)
        if pod.metadata.uid in self.groups.by_uid:
            self.groups.assume(pod)

    def forget(self, uid: str) -> Pod:
        """The decision came to nothing."""
        placed = self.pods.by_uid.get(uid) or self._orphans[uid]
        if not placed.assumed:
            raise ValueError(f"pod {placed.pod.key} is bound, not assumed; only an event can remove it")
        if isinstance(placed, Placed):
            self._remove(uid)
        else:  # its node is gone
            self._orphans.release(uid)
        if uid in self.groups.by_uid:
            self.groups.forget(uid)
        return placed.pod

    # -- hearing ---------------------------------------------------------------------------------------------------

    def load(self, objects: Sequence[object]) -> None:
        """Take in many objects at once, as at start-up; their order does not matter."""
        for item in sorted(objects, key=lambda item: (isinstance(item, Pod), not isinstance(item, Namespace))):
            self.apply(Event(Verb.ADDED, item))

    def apply(self, event: Event) -> list[Change]:
        """Take in one event; returns what it may mean to waiting pods."""
        verb, item = event
        gone = verb is Verb.DELETED
        match item:
            case Pod():
                return self._apply_pod(item, gone)
            case Node():
                return self._apply_node(item, gone)
            case _ if isinstance(item, STORAGE_KINDS):
                self.versions.bump(Aspect.STORAGE)
                return self.storage.apply(verb, item)
            case _ if isinstance(item, WORKLOAD_KINDS):
                return self.workloads.apply(item, gone)
            case _ if isinstance(item, DATASET_KINDS):
                return self.datasets.apply(item, gone)
            case _ if isinstance(item, GROUP_KINDS):
                return self.groups.apply(item, gone)
            case Job() | JobSet() | LeaderWorkerSet():  # their pods matter, and how many there will be
                self.groups.apply_controller(item, gone)
                return []
            case Deployment() | DaemonSet() | CronJob():  # their pods matter, they themselves do not
                return []
        raise TypeError(f"a cluster has no use for a {type(item).__name__}")

    def _apply_node(self, node: Node, gone: bool) -> list[Change]:
        name = node.metadata.name
        row = self.nodes.row_of.get(name)
        if gone:
            return [] if row is None else self._delete_node(row, node)
        if row is None:
            capacity = self.nodes.capacity
            row = self.nodes.claim_row(name)
            if self.nodes.capacity != capacity:
                self.counters.grow(self.nodes.capacity)
                self.pod_journal.grow(self.nodes.capacity)
                self.devices.grow(self.nodes.capacity)
                for tally in self.tallies.values():
                    tally.grow(self.nodes.capacity)
            self._set_node(row, node)
            for orphan in self._orphans.of_node(name):
                self._orphans.release(orphan.pod.metadata.uid)
                self.devices.remember(orphan.pod, row, orphan.devices)
                self._place(orphan.pod, self.classify(orphan.pod, bound=True), row, orphan.assumed)
            return [Change(ClusterEvent(Resource.NODE, Action.ADD), None, node)]
        old = self.nodes.objects[row]
        assert old is not None
        if is_heartbeat(old, node):
            self.nodes.objects[row] = node
            return []
        self._set_node(row, node)
        return [Change(event, old, node) for event in node_changes(old, node)]

    def _set_node(self, row: int, node: Node | None) -> None:
        """Write a row's node, None when it is gone."""
        version = self.nodes.resources.version
        if node is None:
            self.nodes.clear(row)
            self.devices.clear_node(row)
        else:
            self.nodes.set(row, node)
            self.devices.set_node(row, node)
        self.node_journal.mark(row)
        if self.nodes.resources.version != version:  # columns that any pod may ask about came or went
            self.node_journal.forget()

    def _delete_node(self, row: int, node: Node) -> list[Change]:
        for placed in list(self.pods.on_row(row)):
            devices = self.devices.indices_of(placed.pod.metadata.uid)
            self._remove(placed.pod.metadata.uid)
            self._orphans.add(node.metadata.name, Orphan(placed.pod, placed.assumed, devices))
        self._set_node(row, None)
        return [Change(ClusterEvent(Resource.NODE, Action.DELETE), node, None)]

    def _apply_pod(self, pod: Pod, gone: bool) -> list[Change]:
        uid = pod.metadata.uid
        if self.groups.reading is not None:
            self.groups.observe(pod, gone)
        placed = self.pods.by_uid.get(uid)
        if gone or pod.is_finished:
            self.nominations.remove(uid)
            return self._delete_pod(pod, placed)
        if not pod.spec.node_name:
            if placed is None:
                self.nominations.update(pod)
            return []
        self.nominations.remove(uid)
        row = self.nodes.row_of.get(pod.spec.node_name)
        if placed is not None and placed.row == row:
            return self._update_pod(placed, pod)
        changes: list[Change] = []
        if placed is not None:  # bound elsewhere than we assumed
            self._remove(uid)
            changes.append(Change(POD_LEFT, placed.pod, None))
        orphan = self._orphans.release(uid)
        if row is None:
            self._orphans.add(pod.spec.node_name, Orphan(pod, assumed=False))
            if orphan is not None and not orphan.assumed:
                return [Change(event, orphan.pod, pod) for event in pod_changes(orphan.pod, pod)]
        else:
            self._place(pod, self.classify(pod, bound=True), row, assumed=False)
        return [*changes, Change(POD_CAME, None, pod)]

    def _update_pod(self, placed: Placed, pod: Pod) -> list[Change]:
        old, was_assumed = placed.pod, placed.assumed
        if not keeps_class(old, pod):
            pod_class = self.classify(pod, bound=True)
        elif was_assumed and self._keeps_apart:
            pod_class = self._bound_class(placed.pod_class, pod)
        else:
            pod_class = placed.pod_class
        if pod_class is placed.pod_class and pod.is_terminating == placed.terminating:
            placed.pod, placed.assumed = pod, False
            if pod_class.devices is not None and (told := pinned_devices(pod)[: pod_class.devices.count]):
                self.give_devices(pod.metadata.uid, told)
        else:
            self._place_again(placed, pod, pod_class, assumed=False)
        if was_assumed:
            return [Change(POD_CAME, None, pod)]
        return [Change(event, old, pod) for event in pod_changes(old, pod)]

    def _bound_class(self, pod_class: PodClass, pod: Pod) -> PodClass:
        """That of a pod which is bound as it was assumed: it depends on the class it had, and on nothing else of it."""
        if pod_class.bound is not None:
            return pod_class.bound
        found = self.classify(pod, bound=True)
        if found is not pod_class:
            pod_class.bound = found
        return found

    def _place_again(self, placed: Placed, pod: Pod, pod_class: PodClass, assumed: bool) -> None:
        """A pod that is there is of another class now; it keeps its devices."""
        uid, row = pod.metadata.uid, placed.row
        devices = self.devices.indices_of(uid)
        self._remove(uid)
        self.devices.remember(pod, row, devices)
        self._place(pod, pod_class, row, assumed)
        self.devices.remembered.pop((uid, row), None)  # if it needs none any more

    def _delete_pod(self, pod: Pod, placed: Placed | None) -> list[Change]:
        if placed is not None:
            self._remove(pod.metadata.uid)
            return [Change(POD_LEFT, placed.pod, None)]
        orphan = self._orphans.release(pod.metadata.uid)
        return [] if orphan is None else [Change(POD_LEFT, orphan.pod, None)]

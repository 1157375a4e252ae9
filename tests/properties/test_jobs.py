"""Jobs, pods, nodes and faults in any order: after every step nothing is held for a job that has not started.

The naive other side is the world itself: pods and nodes as a test that sees everything knows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairway.cluster import Event, Verb
from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.pre_bind import PreBind
from fairway.model import ApiObject, Job, ObjectMeta, Pod
from fairway.model.controllers import JobSpec
from fairway.model.group import GroupSpec
from fairway.queue import Place
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import coscheduling_group, member, pod_group, volcano_group
from fairway.testing.notation import near
from fairway.world import GroupBinding
from tests.test_group_scheduling import configuration
from tests.test_scheduler import SmallWorld

SPELLINGS = ("fairway", "kube", "coscheduling", "volcano", "koordinator", "pfnet", "controller")
PREFIX = "gang.example.com"
NAMES = ("a", "b", "c")
MINIMUM = {name: 2 + index for index, name in enumerate(NAMES)}


def spelled(spelling: str, job: str, name: str, **settings: Any) -> Pod:
    """A member in any spelling."""
    least = str(MINIMUM[job])
    match spelling:
        case "fairway":
            said = {"fairway.dev/gang": job, "fairway.dev/gang-min": least}
        case "koordinator":
            prefix = "gang.scheduling.koordinator.sh"
            said = {f"{prefix}/name": job, f"{prefix}/min-available": least}
        case "pfnet":
            said = {f"{PREFIX}-name": job, f"{PREFIX}-size": least}
        case "controller":
            said, settings = {"fairway.dev/start-together": "true"}, {**settings, "owner": f"Job/{job}"}
        case "volcano":
            said = {"scheduling.k8s.io/group-name": job}
        case "coscheduling":
            labels = {**settings.pop("labels", {}), "scheduling.x-k8s.io/pod-group": job}
            return pod(name, labels=labels, **settings)
        case _:
            return member(name, job, **settings)
    return pod(name, annotations=said, **settings)


def controller(job: str, number: int) -> Job:
    """A Job that makes so many pods at once."""
    meta = ObjectMeta(name=job, namespace="default", uid=f"job-{job}")
    return Job(metadata=meta, spec=JobSpec(parallelism=number, completions=number))


OBJECTS: dict[str, Callable[..., ApiObject]] = {
    "kube": pod_group,
    "coscheduling": coscheduling_group,
    "volcano": volcano_group,
    "controller": controller,
}


class FaultyWorld(SmallWorld):
    """Binds at once, and refuses the next few if told to."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = 0
        self.pods: dict[str, Pod] = {}
        self.shaken: set[str] = set()  # jobs of which a binding failed

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind] = ()) -> None:
        if self.refuses:
            self.refuses -= 1
            book = self.scheduler.cluster.groups.of(pod.metadata.uid)
            if book is not None:
                self.shaken.add(str(book.key))
            self.scheduler.binding_failed(pod, "webhook")
            return
        self.bindings.append((pod.metadata.name, node))
        bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
        self.pods[pod.metadata.uid] = bound
        self.scheduler.observe(Event(Verb.MODIFIED, bound))

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        self.pods.pop(victim.metadata.uid, None)
        super().evict(victim, preemptor)

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        for binding in bindings:
            self.bind(*binding)


shapes = st.fixed_dictionaries(
    {"cpu": st.integers(1, 3), "priority": st.integers(0, 2)},
    optional={
        "anti_affinity": st.just([near("app=x", "node")]),
        "labels": st.just({"app": "x"}),
        "spread": st.just(["zone"]),
        "gates": st.just("wait"),
    },
)


class JobMachine(RuleBasedStateMachine):
    """What may happen to a scheduler that starts jobs."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.world = FaultyWorld()
        surplus = data.draw(st.sampled_from(("bestEffort", "wait")))
        self.scheduler = Scheduler(configuration({"surplus": surplus, "prefix": PREFIX}), self.world, tie_break="first")
        self.world.scheduler = self.scheduler
        self.spelling = {job: data.draw(st.sampled_from(SPELLINGS)) for job in NAMES}
        self.nodes: dict[str, int] = {}
        self.number = 0

    def tell(self, verb: Verb, thing: Any) -> None:
        self.scheduler.observe(Event(verb, thing))

    @rule(name=st.sampled_from("nmo"), cpu=st.integers(1, 6))
    def set_node(self, name: str, cpu: int) -> None:
        is_used = any(placed.pod.spec.node_name == name for placed in self.scheduler.cluster.pods.by_uid.values())
        if is_used and cpu < self.nodes.get(name, 0):
            return  # it would be too small for what runs there, which is nobody's fault
        self.tell(Verb.MODIFIED if name in self.nodes else Verb.ADDED, node(name, cpu=cpu, zone=name))
        self.nodes[name] = cpu

    @rule(job=st.sampled_from(NAMES), shape=shapes)
    def add_member(self, job: str, shape: dict[str, Any]) -> None:
        made = spelled(self.spelling[job], job, f"{job}{self.number}", **shape)
        self.number += 1
        self.world.pods[made.metadata.uid] = made
        self.tell(Verb.ADDED, made)

    @rule(shape=shapes)
    def add_pod(self, shape: dict[str, Any]) -> None:
        made = pod(f"lone{self.number}", **shape)
        self.number += 1
        self.world.pods[made.metadata.uid] = made
        self.tell(Verb.ADDED, made)

    @rule(job=st.sampled_from(NAMES), exists=st.booleans())
    def set_object(self, job: str, exists: bool) -> None:
        if (kind := OBJECTS.get(self.spelling[job])) is not None:
            self.tell(Verb.ADDED if exists else Verb.DELETED, kind(job, MINIMUM[job]))

    @precondition(lambda self: bool(self.world.pods))
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.world.pods)))
        self.tell(Verb.DELETED, self.world.pods.pop(uid))

    @precondition(lambda self: bool(self.world.pods))
    @rule(data=st.data())
    def open_gate(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.world.pods)))
        gated = self.world.pods[uid]
        if gated.spec.scheduling_gates:
            opened = msgspec.structs.replace(gated, spec=msgspec.structs.replace(gated.spec, scheduling_gates=()))
            self.world.pods[uid] = opened
            self.tell(Verb.MODIFIED, opened)

    @rule(number=st.integers(1, 3))
    def refuse(self, number: int) -> None:
        self.world.refuses = number

    @rule(seconds=st.sampled_from((0.5, 3, 70, 400)))
    def wait(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule()
    def step(self) -> None:
        self.scheduler.step()

    # -- what has to hold ----------------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_held_for_jobs_that_have_not_started(self) -> None:
        for book in self.scheduler.cluster.groups:
            assert not book.assumed, "the world answers at once"
            spec = self.scheduler.cluster.groups.spec_of(book)
            if isinstance(spec, GroupSpec) and str(book.key) not in self.world.shaken:
                # Members may have gone since: then fewer than it takes are left, and none was added to them.
                assert not book.bound or self.started(book.key.name)

    def started(self, job: str) -> bool:
        """Were ever so many bound at one time as it takes?"""
        return sum(name[: len(job)] == job for name, _ in self.world.bindings) >= MINIMUM[job]

    @invariant()
    def no_row_is_over_committed(self) -> None:
        nodes = self.scheduler.cluster.nodes
        rows = np.flatnonzero(nodes.alive[: nodes.num_rows])
        assert (nodes.requested[rows] <= nodes.allocatable[rows]).all()

    @invariant()
    def every_pod_that_waits_is_in_one_entry(self) -> None:
        queue = self.scheduler.queue
        waiting = {uid for uid, each in self.world.pods.items() if not each.spec.node_name}
        assert {queued.uid for queued in queue} == waiting
        entries = list(queue.groups)
        of_jobs = Counter(uid for entry in entries for uid in entry.members)
        assert all(number == 1 for number in of_jobs.values())
        assert set(of_jobs) == {queued.uid for queued in queue if queued.group}
        for entry in entries:
            assert entry.members
            assert entry.num_gated == sum(each.is_gated for each in entry.members.values())
            assert all(each.place is entry.place_of(each) for each in entry.members.values())
        pending = queue.pending()
        assert Counter(queued.uid for place in pending for queued in place) == Counter(waiting)
        assert {place: len(part) for place, part in zip(Place, pending, strict=True)} == queue.counts()

    def teardown(self) -> None:
        """With room for all and time enough, everything starts that may."""
        if not hasattr(self, "world"):
            return
        self.world.refuses = 0
        for index in range(40):
            self.tell(Verb.ADDED, node(f"big{index}", cpu=50, zone=f"big{index}"))
        for _ in range(12):
            self.world.advance(70)
            self.scheduler.run_until_idle()
        for queued in self.scheduler.queue:
            assert queued.place is Place.GATED, (queued.pod.key, queued.place)
        for entry in self.scheduler.queue.groups:
            book = self.scheduler.cluster.groups.find(entry.key)
            assert book is not None
            spec = self.scheduler.cluster.groups.spec_of(book)
            is_enough = isinstance(spec, GroupSpec) and book.num_scheduled + entry.num_ready >= spec.min_count
            assert not is_enough or not entry.num_ready


JobMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestJobs = JobMachine.TestCase


@settings(max_examples=60, deadline=None)
@given(
    cpus=st.lists(st.integers(1, 3), min_size=2, max_size=5),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    data=st.data(),
)
def test_the_order_in_which_members_come_makes_no_difference(
    cpus: list[int], sizes: list[int], data: st.DataObject
) -> None:
    least = data.draw(st.integers(2, len(cpus)))
    said = {"fairway.dev/gang": "t", "fairway.dev/gang-min": str(least), "fairway.dev/gang-size": str(len(cpus))}
    made = [pod(f"t-{index}", cpu=cpu, annotations=said) for index, cpu in enumerate(cpus)]
    results = []
    for order in (made, data.draw(st.permutations(made))):
        world = SmallWorld()
        scheduler = Scheduler(configuration({}), world, tie_break="first")
        world.scheduler = scheduler
        for index, cpu in enumerate(sizes):
            scheduler.observe(Event(Verb.ADDED, node(f"n{index}", cpu=cpu)))
        for each in order:
            scheduler.observe(Event(Verb.ADDED, each))
        scheduler.run_until_idle()
        results.append(sorted(world.bindings))
    assert results[0] == results[1]
    assert len(results[0]) == 0 or len(results[0]) >= least


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_job_of_one_member_is_decided_about_like_a_pod_alone(data: st.DataObject) -> None:
    worlds = []
    actions: list[tuple[str, Any]] = data.draw(
        st.lists(
            st.one_of(
                st.tuples(st.just("pod"), shapes),
                st.tuples(st.just("node"), st.integers(1, 4)),
                st.tuples(st.just("wait"), st.sampled_from((0.5, 2, 12, 400))),
                st.tuples(st.just("step"), st.none()),
            ),
            max_size=25,
        )
    )
    for is_job in (False, True):
        world = SmallWorld()
        scheduler = Scheduler(configuration({} if is_job else None), world, tie_break="first")
        world.scheduler = scheduler
        decided: list[tuple[float, str, str, str]] = []
        for number, (what, value) in enumerate(actions):
            if what == "pod":
                said = {"fairway.dev/gang": f"t{number}", "fairway.dev/gang-size": "1"} if is_job else {}
                scheduler.observe(Event(Verb.ADDED, pod(f"p{number}", annotations=said, **value)))
            elif what == "node":
                scheduler.observe(Event(Verb.ADDED, node(f"n{number}", cpu=value, zone=f"n{number}")))
            elif what == "wait":
                world.advance(value)
            else:
                decision = scheduler.step()
                assert not isinstance(decision, GroupDecision)
                if decision is not None:
                    decided.append(_told(world, decision))
        decided += [_told(world, decision) for decision in scheduler.run_until_idle()]
        worlds.append((decided, world.bindings, world.reports))
    assert worlds[0] == worlds[1]


def _told(world: SmallWorld, decision: Decision) -> tuple[float, str, str, str]:
    return world.now(), decision.pod.metadata.name, decision.node, decision.message

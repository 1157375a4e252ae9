"""The loop against a small world that does what it is told, at once or when the test says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.cluster import Event, PodClass, Verb
from fairway.cluster.intents.held_pods import HeldPod, Settled
from fairway.config import decode_configuration, default_configuration
from fairway.config.plugin_entry import PluginEntry, implemented_points, plugin_entry
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.pre_bind import PreBind
from fairway.model import ContainerStatus, Node, Pod, PodCondition, ResourceRequirements, parse_quantity
from fairway.model.group import GroupKey
from fairway.plugin import Nodes, Notice, Plugin, Refusal, Wait, Write
from fairway.plugins.registry import REGISTRY
from fairway.queue import Place
from fairway.scheduler import Scheduler
from fairway.testing import FakeClock, node, pod
from fairway.world import GroupBinding


class SmallWorld(FakeClock):
    """Binds and evicts as told. `accepts` False: bindings stay under way until the test answers."""

    def __init__(self, accepts: bool = True) -> None:
        super().__init__()
        self.scheduler: Scheduler
        self.accepts = accepts
        self.bindings: list[tuple[str, str]] = []
        self.evictions: list[tuple[str, str]] = []
        self.waits: list[str] = []
        self.writes: list[tuple[str, str]] = []
        self.reports: list[str] = []
        self.notices: list[str] = []
        self.starts: list[tuple[str, int, float]] = []

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind] = ()) -> None:
        self.bindings.append((pod.metadata.name, node))
        if self.accepts:
            self.confirm(pod, node)

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        for binding in bindings:
            self.bind(*binding)

    def recall(self, pods: Sequence[Pod]) -> Sequence[str]:
        return ()

    def remove(self, pod: Pod, why: str) -> None:
        self.evictions.append((pod.metadata.name, why))

    def confirm(self, pod: Pod, node: str) -> None:
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        self.scheduler.observe(Event(Verb.MODIFIED, msgspec.structs.replace(pod, spec=spec)))

    def hold(self, held: HeldPod) -> None:
        self.waits.append(f"{held.pod.metadata.name} held by {', '.join(held.plugins)} until {held.deadline:g}")

    def settled(self, settled: Settled) -> None:
        self.waits.append(f"{settled.held.pod.metadata.name} {settled.reason or 'allowed'}")

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        self.evictions.append((victim.metadata.name, preemptor.metadata.name))
        self.scheduler.observe(Event(Verb.DELETED, victim))

    def write(self, writes: Sequence[Write], pod: Pod) -> None:
        self.writes += [(pod.metadata.name, write.title) for write in writes]

    def report(self, decision: Decision) -> None:
        self.reports.append(f"{decision.pod.metadata.name}: {decision.message}")

    def tell(self, pod: Pod, notice: Notice) -> None:
        self.notices.append(f"{pod.metadata.name}: {notice.reason}: {notice.note}")

    def report_job(self, decision: GroupDecision) -> None:
        self.reports.append(f"job {decision.job}: {decision.outcome.value}: {decision.message}")

    def job_started(self, job: GroupKey, num_members: int, seconds: float) -> None:
        self.starts.append((str(job), num_members, seconds))

    def tell_group(self, job: GroupKey, member: Pod, notice: Notice) -> None:
        self.notices.append(f"job {job}: {notice.reason}: {notice.note}")

    def report_group(self, decision: GroupDecision) -> None:
        self.reports.append(f"group {decision.job.name}: {decision.outcome.value}: {decision.message}")


def scheduler(*things: Node | Pod, accepts: bool = True, registry: Any = REGISTRY, config: Any = None) -> Scheduler:
    world = SmallWorld(accepts)
    configuration = (
        default_configuration(registry) if config is None else decode_configuration(config, "test", registry)
    )
    made = Scheduler(configuration, world, tie_break="first")
    world.scheduler = made
    for thing in things:
        made.observe(Event(Verb.ADDED, thing))
    return made


def step(made: Scheduler) -> Decision | None:
    """Try the next pod, which belongs to no group."""
    decision = made.step()
    assert not isinstance(decision, GroupDecision)
    return decision


def world_of(made: Scheduler) -> SmallWorld:
    assert isinstance(made.world, SmallWorld)
    return made.world


def test_pods_are_bound_by_priority_then_in_order_of_arrival() -> None:
    made = scheduler(node("a", cpu=8), pod("first"), pod("second"), pod("urgent", priority=10))
    made.run_until_idle()
    assert world_of(made).bindings == [("urgent", "a"), ("first", "a"), ("second", "a")]


def test_a_bound_pod_is_counted_once() -> None:
    made = scheduler(node("a", cpu=4), pod("one", cpu=3), accepts=False)
    made.run_until_idle()
    assert made.cluster.nodes.requested[0, 0] == 3000
    world_of(made).confirm(pod("one", cpu=3), "a")
    assert made.cluster.nodes.requested[0, 0] == 3000
    assert not made.cluster.pods.by_uid[pod("one").metadata.uid].assumed


def test_a_pod_without_room_is_retried_when_and_only_when_something_helps() -> None:
    made = scheduler(node("a", cpu=2), pod("big", cpu=2, node="a"), pod("late", cpu=1))
    assert made.step() is not None  # tried, refused
    world = world_of(made)
    world.advance(60)
    made.observe(Event(Verb.MODIFIED, node("a", cpu=2, labels={"color": "green"})))
    assert made.step() is None  # a label does not help
    made.observe(Event(Verb.DELETED, pod("big", cpu=2, node="a")))
    decision = step(made)
    assert decision is not None
    assert decision.node == "a"
    assert world.reports == [
        "late: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    ]


def test_preemption_evicts_nominates_and_places_on_the_retry() -> None:
    made = scheduler(node("a", cpu=2), pod("low", cpu=2, node="a", priority=1), pod("high", cpu=2, priority=100))
    first = step(made)
    assert first is not None
    assert first.outcome is Outcome.UNSCHEDULABLE
    assert first.preemption is not None
    assert first.preemption.nominated_node == "a"
    world = world_of(made)
    assert world.evictions == [("low", "high")]
    assert made.cluster.nominations.node_of(pod("high").metadata.uid) == "a"
    world.advance(20)
    made.run_until_idle()
    assert world.bindings == [("high", "a")]
    assert len(made.cluster.nominations) == 0


def test_a_less_important_pod_leaves_room_for_the_nominated_one() -> None:
    made = scheduler(node("a", cpu=2), pod("low", cpu=2, node="a", priority=1), pod("high", cpu=2, priority=100))
    made.step()
    made.observe(Event(Verb.ADDED, pod("sneaky", cpu=2, priority=50)))
    decision = step(made)
    while decision is not None and decision.pod.metadata.name != "sneaky":
        decision = step(made)
    assert ("sneaky", "a") not in world_of(made).bindings


def test_a_refused_binding_gives_the_room_back_and_is_tried_again() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), accepts=False)
    made.step()
    world = world_of(made)
    made.binding_failed(pod("one", cpu=1), "the server said no")
    assert made.cluster.nodes.requested[0, 0] == 0
    assert world.reports == ["one: the server said no"]
    world.accepts = True
    world.advance(20)
    made.run_until_idle()
    assert world.bindings == [("one", "a"), ("one", "a")]


def test_a_pod_deleted_while_its_binding_is_under_way_gives_the_room_back() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), accepts=False)
    made.step()
    made.observe(Event(Verb.DELETED, pod("one", cpu=1)))
    assert made.cluster.nodes.requested[0, 0] == 0
    made.binding_failed(pod("one", cpu=1), "not found")  # comes too late to matter
    assert len(made.queue) == 0


def test_a_pod_that_somebody_else_bound_leaves_the_queue() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1))
    made.observe(Event(Verb.MODIFIED, pod("one", cpu=1, node="a")))
    assert made.step() is None
    assert made.cluster.nodes.requested[0, 0] == 1000


def test_a_deleted_pod_is_skipped() -> None:
    going = pod("going", terminating=True)
    made = scheduler(node("a"), going)
    made.run_until_idle()
    assert world_of(made).bindings == []
    assert world_of(made).reports == ["going: skip schedule deleting pod: default/going"]
    assert len(made.queue) == 0


def test_pods_of_other_schedulers_are_left_alone() -> None:
    made = scheduler(node("a"), pod("foreign", scheduler_name="other"))
    assert made.step() is None
    assert len(made.queue) == 0


def test_a_gated_pod_waits_until_its_gate_is_lifted() -> None:
    made = scheduler(node("a"), pod("gated", gates=("hold",)))
    assert made.step() is None
    queued = made.queue.find(pod("gated").metadata.uid)
    assert queued is not None
    assert queued.place is Place.GATED
    made.observe(Event(Verb.MODIFIED, pod("gated")))
    made.run_until_idle()
    assert world_of(made).bindings == [("gated", "a")]


# -- permit ------------------------------------------------------------------------------------------------------------


class Hold(Plugin):
    """Holds every pod back for 30 s."""

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait:
        return Wait(30)


class Doubt(Plugin):
    """Refuses every pod after the choice."""

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal:
        return Refusal(("node(s) are doubtful",))


def with_plugin(kind: type[Plugin]) -> dict[str, Any]:
    return {
        "registry": {**REGISTRY, kind.name: PluginEntry(kind, implemented_points(kind))},
        "config": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": kind.name}]}}}],
        },
    }


def test_a_held_pod_keeps_its_room_and_is_bound_when_allowed() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), **with_plugin(Hold))
    made.run_until_idle()
    assert world_of(made).bindings == []
    assert made.cluster.nodes.requested[0, 0] == 1000
    assert made.next_wakeup() == 30
    assert made.cluster.held.allow(pod("one").metadata.uid, "Hold")
    made.step()
    assert world_of(made).bindings == [("one", "a")]
    assert world_of(made).waits == ["one held by Hold until 30", "one allowed"]


def test_a_held_pod_gives_up_after_its_time() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), **with_plugin(Hold))
    made.run_until_idle()
    world_of(made).advance(31)
    made.queue.tick()
    made.step()
    assert world_of(made).reports[0] == (
        "one: 0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin Hold."
    )


class Second(Plugin):
    """Holds every pod back for longer, and may not be the first to let it go."""

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait:
        return Wait(50)


class Whip(Plugin):
    """Lets every pod go, or gives it back, when the one called so has a node."""

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        for held in self.cluster.held:
            if pod.metadata.name == "go":
                self.cluster.held.allow(held.uid, "Hold")
            elif pod.metadata.name == "stop":
                self.cluster.held.reject(held.uid, self.name, "node(s) are wanted otherwise")


class HoldOrdinary(Hold):
    """Holds ordinary pods."""

    name = "Hold"

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait | None:  # type: ignore[override]
        return None if pod.metadata.name in ("go", "stop") else Wait(30)


def with_plugins(*kinds: type[Plugin]) -> dict[str, Any]:
    chosen = with_plugin(kinds[0])
    for kind in kinds:
        chosen["registry"] |= {kind.name: PluginEntry(kind, implemented_points(kind))}
    chosen["config"]["profiles"][0]["plugins"]["multiPoint"]["enabled"] = [{"name": kind.name} for kind in kinds]
    return chosen


def test_a_pod_waits_for_all_who_hold_it() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), **with_plugins(Hold, Second))
    made.run_until_idle()
    uid = pod("one").metadata.uid
    assert world_of(made).waits == ["one held by Hold, Second until 30"]
    assert not made.cluster.held.allow(uid, "Hold")
    assert not made.cluster.held.allow(uid, "Whip")  # which does not hold it
    made.step()
    assert world_of(made).bindings == []
    assert made.next_wakeup() == 50
    assert made.cluster.held.allow(uid, "Second")
    assert made.next_wakeup() is not None
    made.step()
    assert world_of(made).bindings == [("one", "a")]
    assert not made.cluster.held.allow(uid, "Second")


@pytest.mark.parametrize("name", ["go", "stop"])
def test_any_plugin_may_end_a_wait_while_another_pod_is_placed(name: str) -> None:
    made = scheduler(node("a", cpu=4), pod("one"), pod("two"), **with_plugins(HoldOrdinary, Whip))
    made.run_until_idle()
    assert world_of(made).bindings == []
    made.observe(Event(Verb.ADDED, pod(name)))
    made.step()
    if name == "go":
        assert world_of(made).bindings == [("go", "a"), ("one", "a"), ("two", "a")]
        return
    assert world_of(made).bindings == [("stop", "a")]
    words = "0/1 nodes are available: 1 node(s) are wanted otherwise."
    assert world_of(made).reports == [f"one: {words}", f"two: {words}"]
    assert made.queue.find(pod("one").metadata.uid).unschedulable_plugins == {"Whip"}  # type: ignore[union-attr]
    assert set(made.cluster.held.ended) == {pod("one").metadata.uid, pod("two").metadata.uid}


def test_a_held_pod_that_is_preempted_is_tried_again_and_not_evicted() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), **with_plugins(HoldOrdinary))
    made.run_until_idle()
    made.observe(Event(Verb.ADDED, pod("go", cpu=1, priority=10)))
    made.step()
    assert world_of(made).evictions == []
    assert world_of(made).reports[-1] == "one: waiting on permit for pod: preempted"
    made.run_until_idle()
    assert world_of(made).bindings == [("go", "a")]


@pytest.mark.parametrize("is_bound", [False, True], ids=["deleted", "bound by somebody else"])
def test_a_held_pod_that_goes_gives_its_room_back(is_bound: bool) -> None:
    made = scheduler(node("a", cpu=1), node("b", cpu=1), pod("one", cpu=1), **with_plugins(HoldOrdinary))
    made.run_until_idle()
    made.observe(Event(Verb.MODIFIED, pod("one", cpu=1, node="b")) if is_bound else Event(Verb.DELETED, pod("one")))
    assert len(made.cluster.held) == 0
    assert made.cluster.nodes.requested[:2, 0].tolist() == [0, 1000 if is_bound else 0]
    world_of(made).advance(60)
    assert made.step() is None
    assert world_of(made).reports == []


def test_a_refusal_at_reserve_undoes_the_choice() -> None:
    made = scheduler(node("a", cpu=1), pod("one", cpu=1), **with_plugin(Doubt))
    decision = step(made)
    assert decision is not None
    assert decision.unschedulable_plugins == {"Doubt"}
    assert made.cluster.nodes.requested[0, 0] == 0
    assert world_of(made).reports == ["one: 0/1 nodes are available: 1 node(s) are doubtful."]


# -- promises ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_forgotten", [False, True], ids=["standing", "already forgotten here"])
@pytest.mark.parametrize("other", ["", "b"], ids=["nothing", "another node"])
def test_a_promise_taken_back_makes_room_for_the_less_important(other: str, is_forgotten: bool) -> None:
    def promised(to: str) -> Pod:
        return pod("promised", cpu=3, gates="later", priority=10, nominated_node=to)

    made = scheduler(node("a", cpu=4), promised(""), pod("waiting", cpu=2), pod("urgent", cpu=5, priority=20))
    made.observe(Event(Verb.MODIFIED, promised("a")))
    made.run_until_idle()
    assert world_of(made).bindings == []
    if is_forgotten:
        made.queue.nominate(promised("a"), "")
    made.observe(Event(Verb.MODIFIED, promised(other)))
    attempts = [decision.pod.metadata.name for decision in made.run_until_idle()]
    assert attempts == ["waiting"]  # the more important pod never minded the promise
    assert world_of(made).bindings == [("waiting", "a")]


# -- resizes -----------------------------------------------------------------------------------------------------------


def test_a_resize_that_can_never_be_makes_room() -> None:
    """The pod asked for three where one was; its node will never give more, so the one counts again."""
    big = pod("big", cpu=3, node="a")
    (container,) = big.spec.containers
    given = ContainerStatus(name=container.name, resources=ResourceRequirements(requests={"cpu": parse_quantity("1")}))
    growing = msgspec.structs.replace(big, status=msgspec.structs.replace(big.status, container_statuses=(given,)))
    never = (PodCondition(type="PodResizePending", status="True", reason="Infeasible"),)
    refused = msgspec.structs.replace(growing, status=msgspec.structs.replace(growing.status, conditions=never))
    made = scheduler(node("a", cpu=4), growing, pod("waiting", cpu=2))
    made.run_until_idle()
    assert world_of(made).bindings == []
    made.observe(Event(Verb.MODIFIED, refused))
    made.run_until_idle()
    assert world_of(made).bindings == [("waiting", "a")]


# -- determinism -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_same_events_same_decisions(seed: int) -> None:
    def run() -> list[tuple[str, str]]:
        generator = np.random.default_rng(seed)
        made = scheduler(*(node(f"n{number}", cpu=4, zone=f"z{number % 3}") for number in range(9)))
        for number in range(40):
            made.observe(Event(Verb.ADDED, pod(f"p{number}", cpu=int(generator.integers(1, 4)))))
            if number % 5 == 0:
                made.run_until_idle()
                world_of(made).advance(1)
        made.run_until_idle()
        return world_of(made).bindings

    first = run()
    assert first == run()
    assert len(first) > 9


class Remarks(Plugin):
    """Says something at every attempt, and more where the pod goes somewhere."""

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        return np.ones(len(nodes), bool)

    def notices(self, pod: Pod, pod_class: PodClass, row: int | None) -> list[Notice]:
        always = [Notice("Odd", "this pod is odd"), Notice("Odd", "this pod is odd")]
        return always if row is None else [*always, Notice("Placed", f"on {self.cluster.nodes.names[row]}")]


class Broken(Remarks):
    def notices(self, pod: Pod, pod_class: PodClass, row: int | None) -> list[Notice]:
        raise RuntimeError("no words")


def with_remarks(kind: type[Plugin], *things: Node | Pod) -> Scheduler:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": kind.__name__}]}}}],
    }
    return scheduler(*things, registry={**REGISTRY, kind.__name__: plugin_entry(kind)}, config=config)


def test_what_plugins_have_to_say_is_told_once_for_each_pod() -> None:
    made = with_remarks(Remarks, node("a", cpu=1), pod("big", cpu=2))
    made.run_until_idle()
    assert world_of(made).notices == ["big: Odd: this pod is odd"]
    made.observe(Event(Verb.MODIFIED, node("a", cpu=4)))
    world_of(made).advance(60)
    made.run_until_idle()
    assert world_of(made).bindings == [("big", "a")]
    assert world_of(made).notices == ["big: Odd: this pod is odd", "big: Placed: on a"]


def test_a_plugin_that_breaks_while_it_talks_stops_no_pod() -> None:
    made = with_remarks(Broken, node("a"), pod("web"))
    made.run_until_idle()
    assert (world_of(made).bindings, world_of(made).notices) == ([("web", "a")], [])

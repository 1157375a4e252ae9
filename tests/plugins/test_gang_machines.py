"""Each permit, rejection and call of modes `coscheduling` and `pfnet` is one that their rules say; none is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.cluster.intents.held_pods import HeldPod, Settled
from fairway.config import decode_configuration
from fairway.cycle.pre_bind import PreBind
from fairway.model import Pod
from fairway.plugins.registry import REGISTRY
from fairway.queue import Place, QueuedPod
from fairway.queue.labels import ACTIVATED
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import members, pod_group
from tests.plugins.gang_machines import CoschedulingMachine, Gang, Machine, PfnetMachine
from tests.test_scheduler import SmallWorld

MOST_STEPS = 60  # at one instant: members call each other, so that some never rest


class ToldWorld(SmallWorld):
    """Tells a machine what is seen of the scheduler."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind] = ()) -> None:
        self.machine.was_bound(pod.metadata.name)
        super().bind(pod, node, before)

    def hold(self, held: HeldPod) -> None:
        self.machine.was_held(held.pod.metadata.name, held.deadline)

    def settled(self, settled: Settled) -> None:
        if not settled.is_allowed:
            self.machine.was_rejected(settled.held.pod.metadata.name)


class Story:
    """A scheduler with a machine beside it."""

    def __init__(self, machine: Machine, gangs: dict[str, Any]) -> None:
        self.machine = machine
        self.world = ToldWorld(machine)
        profile = {"schedulerName": "default-scheduler", "fairway": {"sampling": "all", "gangs": gangs}}
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
        configuration = decode_configuration(document, "test", REGISTRY)
        self.scheduler = Scheduler(configuration, self.world, tie_break="first", watch_queue=self._moved)
        self.world.scheduler = self.scheduler
        for number in range(machine.num_nodes):
            self.scheduler.observe(Event(Verb.ADDED, node(f"n{number}", cpu=1)))
        self.pods: dict[str, Pod] = {}
        for name, gang in machine.gangs.items():
            self.scheduler.observe(Event(Verb.ADDED, pod_group(name, gang.size)))
            self.pods |= {each.metadata.name: each for each in members(gang.size, name, cpu=1)}

    def _moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, _: float) -> None:
        self.machine.moved(queued.pod.metadata.name, before, place, event == ACTIVATED)

    def come(self, name: str) -> None:
        self.machine.came(name)
        self.scheduler.observe(Event(Verb.ADDED, self.pods.get(name) or pod(name, cpu=1)))
        self.machine.settled()

    def go(self, name: str) -> None:
        thing = self.pods.get(name) or pod(name, cpu=1)
        node_name = dict(self.world.bindings).get(name)
        gone = pod(name, cpu=1, node=node_name) if node_name is not None and name not in self.pods else thing
        if node_name is not None and name in self.pods:
            found = self.scheduler.cluster.pods.by_uid.get(thing.metadata.uid)
            gone = thing if found is None else found.pod
        self.machine.went(name)
        self.world.bindings = [one for one in self.world.bindings if one[0] != name]
        self.scheduler.observe(Event(Verb.DELETED, gone))
        self.machine.settled()

    def pass_time(self, seconds: float) -> None:
        self.world.advance(seconds)
        self.machine.time_is(self.world.now())

    def work(self, num_steps: int) -> None:
        for _ in range(num_steps):
            self.machine.looks()
            decision = self.scheduler.step()
            self._check_calls()
            self.machine.settled()
            if decision is None:
                return

    def _check_calls(self) -> None:
        """Who was called is up, wherever it was; unless a gate holds it."""
        for name in self.machine.called:
            queued = self.scheduler.queue.find(self.pods[name].metadata.uid)
            is_up = queued is None or queued.place in (Place.ACTIVE, Place.IN_FLIGHT)
            assert is_up or not self.machine.pre_enqueue(name), f"{name} was called and did not come"


A, B = "a-0 a-1 a-2", "b-0 b-1 b-2 b-3"
SOME = [
    *[("come", what) for what in (A, B, "a-0", "b-3", "x", "y", "z w")],
    *[("go", what) for what in (A, B, "a-0", "b-2", "x", "y z w")],
    *[("pass", what) for what in ("0.5", "5", "31", "61")],
    *[("step", ""), ("work", "")] * 4,
]
ACTS = st.lists(st.sampled_from(SOME), min_size=10, max_size=40).map(lambda acts: [("come", A), ("come", B), *acts])


def play(story: Story, acts: list[tuple[str, str]]) -> None:
    there: set[str] = set()
    for act, what in acts:
        if act == "come":
            for name in [name for name in what.split() if name not in there]:
                story.come(name)
            there.update(what.split())
        elif act == "go":
            for name in [name for name in what.split() if name in there]:
                story.go(name)
            there.difference_update(what.split())
        elif act == "pass":
            story.pass_time(float(what))
        story.work({"work": MOST_STEPS, "step": 1}.get(act, 0))


def gangs() -> dict[str, Gang]:
    return {"a": Gang(size=3), "b": Gang(size=4)}


@settings(max_examples=150, deadline=None)
@example([("come", B), ("work", "")], 3, 25, 0.0)  # exactly so many are missing
@given(ACTS, st.integers(1, 8), st.sampled_from([0, 10, 25, 34]), st.sampled_from([0.0, 7.0]))
def test_coscheduling_does_what_its_rules_say(
    acts: list[tuple[str, str]], num_nodes: int, percentage: int, backoff: float
) -> None:
    machine = CoschedulingMachine(num_nodes, gangs=gangs(), reject_percentage=percentage, group_backoff=backoff)
    keys = {"mode": "coscheduling", "rejectPercentage": percentage, "groupBackoff": f"{backoff:g}s"}
    play(Story(machine, keys), acts)


@settings(max_examples=150, deadline=None)
@example([("come", A), ("come", "x"), ("work", ""), ("go", "a-0"), ("come", "a-0"), ("come", "y"), ("work", "")], 5)
@given(ACTS, st.integers(1, 8))
def test_pfnet_does_what_its_rules_say(acts: list[tuple[str, str]], num_nodes: int) -> None:
    machine = PfnetMachine(num_nodes, gangs=gangs())
    play(Story(machine, {"mode": "pfnet", "prefix": "gang.example.com"}), acts)

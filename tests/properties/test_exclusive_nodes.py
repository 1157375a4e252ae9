"""Exclusive nodes against a loop over the pods of each node, while pods and nodes come, change and go."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Verb
from fairway.cluster.tallies.tenants import ANNOTATIONS, Tenants
from fairway.cycle import Outcome, Profile
from fairway.model import Pod
from fairway.testing import node, pod
from fairway.testing.population import random_pod
from fairway.testing.situations import Dice
from fairway.testing.world import World
from tests.cycle.profiles import profile
from tests.plugins.naive_exclusive import changed_tenant, naive_refusal, random_tenant
from tests.properties.test_caches import decided

NODES = ("n1", "n2", "n3", "n4")
seeds = st.integers(0, 2**32 - 1)


class Scene:
    """A cluster that is told what happens, and plain objects beside it."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(np.random.default_rng(seed))
        self.cluster = Cluster()
        self.nodes: set[str] = set()
        self.pods: dict[str, Pod] = {}  # those that are on a node or assumed there, by uid
        self._serial = 0
        for name in NODES[:2]:
            self.add_node(name)

    def add_node(self, name: str) -> None:
        self.nodes.add(name)
        self.cluster.apply(Event(Verb.ADDED, node(name, cpu=100)))

    def tell(self, verb: Verb, one: Pod) -> None:
        if verb is Verb.DELETED:
            self.pods.pop(one.metadata.uid, None)
        else:
            self.pods[one.metadata.uid] = one
        self.cluster.apply(Event(verb, one))

    def residents(self, name: str) -> list[Pod]:
        return [one for one in self.pods.values() if one.spec.node_name == name]

    def happen(self) -> None:
        dice = self.dice
        self._serial += 1
        name = dice.pick(NODES)
        if name not in self.nodes:
            self.add_node(name)
        elif dice.flip(10):
            self.nodes.remove(name)
            self.cluster.apply(Event(Verb.DELETED, node(name, cpu=100)))
        elif dice.flip(50):
            self.tell(Verb.ADDED, random_tenant(dice, f"placed-{self._serial}", name))
        elif self.pods:
            one = dice.pick(sorted(self.pods.values(), key=lambda each: each.metadata.uid))
            if dice.flip(60):
                self.tell(Verb.DELETED, one)
            else:
                self.tell(Verb.MODIFIED, changed_tenant(dice, one))


def compare(scene: Scene, made: Profile, wanted: Pod) -> None:
    found = made.inspect(wanted)
    expected = {name: naive_refusal(wanted, scene.residents(name)) for name in scene.nodes}
    told: dict[str, str | None] = dict.fromkeys(found.feasible)
    told |= {name: ", ".join(refusal.reasons) for _, refusal, names in found.rejected for name in names}
    assert told == expected


@settings(max_examples=60)
@given(seeds, st.integers(3, 25))
def test_remembered_or_not_it_is_as_the_pods_on_the_node_say(seed: int, steps: int) -> None:
    scene = Scene(seed)
    remembering = profile(scene.cluster, "ExclusiveNode")
    forgetful = profile(scene.cluster, "ExclusiveNode", caching=False)
    judged = [random_tenant(scene.dice, f"judged-{number}") for number in range(5)]
    for step in range(steps):
        scene.happen()
        for wanted in judged:
            if scene.dice.flip(60):
                compare(scene, remembering, wanted)
                compare(scene, forgetful, wanted)
        wanted = random_tenant(scene.dice, f"new-{step}")
        decision = remembering.decide(wanted)
        if decision.outcome is Outcome.SCHEDULED and scene.dice.flip(60):
            remembering.assume(decision)
            bound = msgspec.structs.replace(wanted, spec=msgspec.structs.replace(wanted.spec, node_name=decision.node))
            if scene.dice.flip(30):
                scene.pods[wanted.metadata.uid] = bound  # not confirmed yet
            elif scene.dice.flip(30):
                remembering.release(wanted, decision.pod_class, decision.row)
            else:
                scene.tell(Verb.MODIFIED, bound)


@settings(max_examples=40)
@given(seeds, st.integers(3, 25))
def test_victims_are_all_others_or_the_node_is_no_candidate(seed: int, steps: int) -> None:
    scene = Scene(seed)
    made = profile(scene.cluster, "ExclusiveNode", "DefaultPreemption")
    for _ in range(steps):
        scene.happen()
    wanted = random_tenant(scene.dice, "judged")
    decision = made.decide(wanted)
    if decision.preemption is None or not decision.preemption.candidates:
        return
    for candidate in decision.preemption.candidates:
        there = scene.residents(scene.cluster.nodes.names[candidate.row])
        victims = {victim.metadata.uid for victim in candidate.victims}
        stay = [one for one in there if one.metadata.uid not in victims]
        assert naive_refusal(wanted, stay) is None
        assert all(victim.priority < wanted.priority for victim in candidate.victims)
        for victim in candidate.victims:  # nobody goes for nothing
            assert naive_refusal(wanted, [*stay, victim]) is not None


@settings(max_examples=40)
@given(seeds, st.integers(3, 25))
def test_counts_are_those_of_somebody_who_just_arrived(seed: int, steps: int) -> None:
    scene = Scene(seed)
    scene.cluster.read_annotations(ANNOTATIONS)
    followed = scene.cluster.tally(Tenants)
    for _ in range(steps):
        scene.happen()
    with scene.cluster.what_if(rows_only=True):
        for placed in list(scene.cluster.pods.by_uid.values())[:3]:
            scene.cluster.remove(placed.pod.metadata.uid)
        if scene.nodes:
            extra = pod("imagined", annotations={"fairway.dev/exclusive": "user"})
            row = scene.cluster.nodes.row_of[min(scene.nodes)]
            scene.cluster.place(extra, scene.cluster.classify(extra), row)
    fresh = Tenants(scene.cluster.nodes)
    for placed in scene.cluster.pods.by_uid.values():
        fresh.came(placed.pod, placed.pod_class, placed.row)
    for name in ("_aside", "_exclusive"):
        assert getattr(followed, name).tolist() == getattr(fresh, name).tolist()
    assert followed.num_exclusive == fresh.num_exclusive
    for name in ("jobs", "exclusive_jobs", "sharing_users", "_sharing_jobs"):
        assert getattr(followed, name)._rows == getattr(fresh, name)._rows  # noqa: SLF001 - all of it


@settings(max_examples=40)
@given(seeds, st.integers(1, 8))
def test_where_nobody_is_exclusive_all_is_decided_as_without(seed: int, steps: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = World(dice)
    world.populate(num_nodes=dice.pick((1, 3, 5)), num_pods=dice.pick((0, 4, 8)))
    plain, aware = (profile(world.load(), *more, defaults=True) for more in ((), ("ExclusiveNode", "NearJob")))
    for step in range(steps):
        wanted = random_pod(dice, f"judged-{step}")
        assert decided(aware.decide(wanted)) == decided(plain.decide(wanted))
        event = world.event()
        for made in (plain, aware):
            made.cluster.apply(event)

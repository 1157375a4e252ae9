"""Remembering never changes a decision: whatever happened, the answers are those of somebody who just arrived.

A profile that has followed a cluster through many events is compared, step by step, with a profile that remembers
nothing, on a cluster that was loaded a moment ago.
"""

import datetime as dt
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Verb
from fairway.cycle import Decision, Outcome, Profile
from fairway.model import Pod
from fairway.testing.population import NODE_NAMES, random_pod
from fairway.testing.situations import Dice
from fairway.testing.world import World
from tests.cycle.profiles import profile

seeds = st.integers(0, 2**32 - 1)
NODE_LOCAL = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "DefaultPreemption",
)
"""With no plugin that looks beyond a node, decisions take the shortest way through the caches, row by row."""


def default_profile(cluster: Cluster, caching: bool) -> Profile:
    return profile(cluster, defaults=True, caching=caching)


def local_profile(cluster: Cluster, caching: bool) -> Profile:
    return profile(cluster, *NODE_LOCAL, caching=caching)


def decided(decision: Decision) -> dict[str, Any]:
    """A decision, in words that do not depend on row numbers."""
    found: dict[str, Any] = {
        "outcome": decision.outcome,
        "node": decision.node,
        "via": decision.via,
        "feasible": decision.num_feasible,
        "score": decision.score,
        "best": decision.num_best,
        "plugins": decision.unschedulable_plugins,
        "message": decision.message,
    }
    preemption = decision.preemption
    if preemption is not None:
        found |= {
            "preemption": (preemption.attempted, preemption.code, preemption.reasons, preemption.nominated_node),
            "victims": preemption.chosen and [victim.key for victim in preemption.chosen.victims],
            "candidates": sorted(
                ([victim.key for victim in one.victims], one.pdb_violations) for one in preemption.candidates
            ),
        }
    return found


def inspected(made: Profile, pod: Pod) -> dict[str, Any]:
    """Everything that can be said about an attempt."""
    found = made.inspect(pod)
    return {
        "feasible": found.feasible,
        "rejected": sorted(
            (plugin, sorted(refusal.reasons), refusal.code.value, names) for plugin, refusal, names in found.rejected
        ),
        "scores": found.scores,
        "totals": found.totals,
        "best": found.best,
    }


def follow(seed: int, steps: int, make: Any) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = World(dice)
    world.populate(num_nodes=dice.pick((1, 3, 5)), num_pods=dice.pick((0, 4, 8)))
    for number in range(dice.pick((0, 0, 2))):
        world.apply(Event(Verb.ADDED, nominated(random_pod(dice, f"rival-{number}"), dice.pick(NODE_NAMES))))
    live = world.load()
    remembering = make(live, caching=True)
    pods = [random_pod(dice, f"judged-{number}") for number in range(4)]
    for step in range(steps):
        for number, pod in enumerate(pods):
            if dice.flip(70):  # the others have more to catch up with the next time
                forgetful = make(world.load(), caching=False)
                details = inspected(remembering, pod)
                assert details == inspected(forgetful, pod)
                decision = remembering.decide(pod)
                if decision.via == "scores" and decision.outcome is Outcome.SCHEDULED:
                    assert decision.node in details["best"]
                    assert (decision.num_best, decision.score) == (
                        len(details["best"]),
                        details["totals"][decision.node],
                    )
                assert decided(decision) == decided(forgetful.decide(pod))
                if decision.outcome is Outcome.SCHEDULED and dice.flip(30):
                    copy = renamed(pod, f"copy-{step}-{pod.metadata.name}")
                    live.assume(copy, live.classify(copy), decision.row)
                    bound = Event(Verb.MODIFIED, started(placed_on(copy, decision.node), 10 * step + number))
                    live.apply(bound)
                    world.apply(bound)
        for _ in range(dice.pick((1, 1, 3))):
            event = world.event()
            live.apply(event)
            if dice.flip(20):
                live.apply(event)  # told twice


def renamed(pod: Pod, name: str) -> Pod:
    meta = msgspec.structs.replace(pod.metadata, name=name, uid=name)
    return msgspec.structs.replace(pod, metadata=meta)


def started(pod: Pod, day: int) -> Pod:
    """Running since that day: no two pods are equally important victims."""
    since = dt.datetime(2027, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=day)
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, start_time=since))


def nominated(pod: Pod, node: str) -> Pod:
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    return msgspec.structs.replace(placed_on(pod, ""), status=status)


def placed_on(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


@settings(max_examples=60)
@given(seeds, st.integers(2, 10))
def test_default_plugins_decide_as_if_they_remembered_nothing(seed: int, steps: int) -> None:
    follow(seed, steps, default_profile)


@settings(max_examples=60)
@given(seeds, st.integers(2, 10))
def test_node_local_plugins_decide_as_if_they_remembered_nothing(seed: int, steps: int) -> None:
    follow(seed, steps, local_profile)


@settings(max_examples=25)
@given(seeds)
def test_pods_of_one_class_get_one_answer(seed: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = World(dice)
    world.populate(num_nodes=5, num_pods=6)
    made = default_profile(world.load(), caching=True)
    pod = random_pod(dice, "first")
    twin = renamed(pod, "second")
    assert made.classify(pod) is made.classify(twin)
    assert inspected(made, pod) == inspected(made, twin)


@settings(max_examples=25)
@given(seeds)
def test_deciding_and_inspecting_change_nothing(seed: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = World(dice)
    world.populate(num_nodes=5, num_pods=8)
    made = default_profile(world.load(), caching=True)
    pods = [random_pod(dice, f"judged-{number}") for number in range(3)]
    first = [(decided(made.decide(pod)), inspected(made, pod)) for pod in pods]
    assert [(decided(made.decide(pod)), inspected(made, pod)) for pod in pods] == first

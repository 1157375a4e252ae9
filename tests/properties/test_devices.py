"""Devices: never more than there is of them, whole ones only where nobody is, and everything is given back."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Verb
from fairway.cycle import Outcome, Profile
from fairway.model import Pod
from fairway.model.device_need import device_need
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.situations import Dice
from tests.cycle.profiles import profile
from tests.plugins.gpu_world import random_gpu_node, random_gpu_pod

seeds = st.integers(0, 2**32 - 1)
POLICIES = {
    "FGD": ("FGD",),
    "best fit": ("BestFit",),
    "dot product": ("DotProduct",),
    "packing": ("GpuPacking",),
    "clustering": ("GpuClustering",),
    "random": ("Random",),
    "power and fragmentation": ("PWR", "FGD"),
}


def gpu_profile(cluster: Cluster, policies: tuple[str, ...], choice: str = "best", caching: bool = True) -> Profile:
    return profile(
        cluster,
        "NodeResourcesFit",
        "GpuShare",
        *policies,
        args={"GpuShare": {"deviceChoice": choice}},
        weights={"NodeResourcesFit": 1, "PWR": 500, "FGD": 500},
        caching=caching,
    )


def gpu_cluster(dice: Dice) -> Cluster:
    cluster = Cluster()
    cluster.load([random_gpu_node(dice, f"n{number}") for number in range(dice.pick((1, 3, 5)))])
    return cluster


def audit(cluster: Cluster) -> None:
    """Add up what pods hold, device by device."""
    devices = cluster.devices
    held: dict[tuple[int, int], list[int]] = defaultdict(list)
    for uid, placed in cluster.pods.by_uid.items():
        need = device_need(placed.pod)
        indices = devices.indices_of(uid)
        assert len(indices) == (0 if need is None else need.count)
        for index in indices:
            assert need is not None
            held[placed.row, index].append(need.milli)
    for row in range(cluster.nodes.num_rows):
        for index in range(int(devices.count[row])):
            amounts = held.pop((row, index), [])
            assert 0 <= devices.free[row, index] == 1000 - sum(amounts)
            assert amounts == [1000] or 1000 not in amounts  # a whole device is nobody else's
    assert not held
    assert devices.left_milli == int(devices.left.sum())
    assert devices.used_milli == devices.total_milli - devices.left_milli


@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=15, deadline=None)
@given(seed=seeds, choice=st.sampled_from(("best", "worst", "random")))
def test_decisions_keep_the_books_of_devices(policies: tuple[str, ...], seed: int, choice: str) -> None:
    dice = Dice(np.random.default_rng(seed))
    cluster = gpu_cluster(dice)
    profile = gpu_profile(cluster, policies, choice)
    empty = fingerprint(cluster)
    running: list[Pod] = []
    for number in range(40):
        if running and dice.flip(25):
            cluster.forget(running.pop(dice.pick(range(len(running)))).metadata.uid)
        else:
            wanted = random_gpu_pod(dice, f"p{number}")
            decision = profile.decide(wanted)
            if decision.outcome is Outcome.SCHEDULED:
                assert profile.assume(decision) is None
                running.append(wanted)
                if (need := device_need(wanted)) is not None and need.pinned:
                    assert cluster.devices.indices_of(wanted.metadata.uid) == need.pinned
        audit(cluster)
    for one in running:
        cluster.forget(one.metadata.uid)
    assert differences(empty, fingerprint(cluster)) == []


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_what_is_only_imagined_leaves_no_trace(seed: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    cluster = gpu_cluster(dice)
    profile = gpu_profile(cluster, ("FGD",), "random")
    for number in range(15):
        decision = profile.decide(random_gpu_pod(dice, f"p{number}"))
        if decision.outcome is Outcome.SCHEDULED:
            profile.assume(decision)
    before = fingerprint(cluster)
    with cluster.what_if(rows_only=dice.flip(50)):
        for number in range(10):
            uids = list(cluster.pods.by_uid)
            if uids and dice.flip(50):
                gone = cluster.remove(dice.pick(uids))
                if dice.flip(50):  # back again, where it was or elsewhere
                    row = gone.row if dice.flip(50) else dice.pick(range(cluster.nodes.num_rows))
                    cluster.place(gone.pod, gone.pod_class, row)
            else:
                other = random_gpu_pod(dice, f"imagined-{number}")
                cluster.place(other, cluster.classify(other), dice.pick(range(cluster.nodes.num_rows)))
            assert int(cluster.devices.free.min()) >= 0
            assert int(cluster.devices.free.max()) <= 1000
    assert differences(before, fingerprint(cluster)) == []


@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_remembering_never_changes_a_decision(policies: tuple[str, ...], seed: int) -> None:
    """Two clusters go through the same events; only one profile remembers anything."""
    dice = Dice(np.random.default_rng(seed))
    nodes = [random_gpu_node(dice, f"n{number}") for number in range(4)]
    pods = [random_gpu_pod(dice, f"p{number}") for number in range(25)]
    late = random_gpu_node(dice, "late")
    told = []
    for caching in (True, False):
        cluster = Cluster()
        cluster.load(nodes)
        profile = gpu_profile(cluster, policies, caching=caching)
        decisions = []
        for number, wanted in enumerate(pods):
            if number == 10:
                cluster.apply(Event(Verb.ADDED, late))
            if number == 15:
                cluster.apply(Event(Verb.DELETED, nodes[0]))
            decision = profile.decide(wanted)
            if decision.outcome is Outcome.SCHEDULED:
                profile.assume(decision)
            indices = cluster.devices.indices_of(wanted.metadata.uid)
            decisions.append((decision.node, indices, decision.score, decision.message))
        told.append(decisions)
    assert told[0] == told[1]

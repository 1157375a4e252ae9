"""Pods that ask for nearly as much as 64 bits hold: sums with what is taken wrap around, and nobody falls over it."""

from __future__ import annotations

import pytest

from fairway.cluster import Event, Verb
from fairway.config import default_configuration
from fairway.cycle import Outcome, Profile
from fairway.cycle.groups.job_slots import eligible_rows
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, node, pod

HUGE = {
    "cpu": {"cpu": "9223372036854775"},
    "memory": {"memory": "9223372036854775806"},
    "both": {"cpu": "9e15", "memory": "9e18"},
}


@pytest.mark.parametrize("asked", HUGE.values(), ids=HUGE.keys())
@pytest.mark.parametrize("num_nodes", [1, 3])
def test_they_wait_like_others(asked: dict[str, str], num_nodes: int) -> None:
    nodes = [node(f"n{number}", cpu=4, memory="8Gi") for number in range(num_nodes)]
    there = [pod("there", cpu=1, memory="1Gi", node="n0")]
    config = default_configuration(REGISTRY).profiles[0]
    profile = Profile(config, cluster(nodes, there), tie_break="first", now=lambda: 0.0)
    huge = pod("huge", **asked)  # type: ignore[arg-type]
    assert eligible_rows(profile, profile.classify(huge)).all()
    assert profile.decide(huge).outcome is Outcome.UNSCHEDULABLE
    profile.cluster.apply(Event(Verb.DELETED, there[0]))  # one row is looked at again
    assert profile.decide(huge).outcome is Outcome.UNSCHEDULABLE
    assert profile.decide(pod("small", cpu=1)).outcome is Outcome.SCHEDULED

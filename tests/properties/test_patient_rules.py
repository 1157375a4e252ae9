"""Failure rules that apply after a time: they count from what happened, however often the desk died since."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.batch.settings import BatchSettings
from fairway.model.batch import FailureRule, FailureRules, QueueLimits, QueueSpec, WeightSpec
from fairway.model.duration import Duration
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan
from fairway.testing import node
from fairway.trace.workload import Arrival
from tests.batch.room import job
from tests.sim.mortal import Mortal

PLAIN = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)
RULES = {
    "failed": FailureRule(on="PodFailed", after=Duration(30), do="FailJob"),
    "exit code": FailureRule(on="exitCodes", codes=(1,), after=Duration(30), do="CompleteJob"),
    "again": FailureRule(on="PodFailed", after=Duration(30), do="RestartJob"),
    "task done": FailureRule(on="TaskDone", task="main", after=Duration(30), do="CompleteJob"),
}


def lived(rule: FailureRule, fuses: list[int]) -> Mortal:
    """A gang to which something happens at 8 s, and another that comes and goes meanwhile, so that more is written."""
    failure = FailureRules(rules=(rule,), broken_after=Duration(1e5))
    limits = QueueLimits(max=Duration(1000), kill_grace=Duration(0))
    queue = QueueSpec(weights=PLAIN, limits=limits, failure=failure).completed()
    said = {"gang": "g", "gang_size": "2", "requeue": "recreate"}
    first = said | {"fail_after": "8"} if rule.on in ("PodFailed", "exitCodes") else said
    members = [
        job("g-0", 2, 8.0 if rule.on == "TaskDone" else 200.0, 300.0, task="main", **first),
        job("g-1", 2, 200.0, 300.0, **said),
    ]
    arrivals = [Arrival(0.0, each) for each in members]
    arrivals.append(Arrival(20.0, job("other", 1, 5.0, 9.0)))
    latency = KubeletSettings(start_latency=0.0, termination_latency=0.0)
    nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate((2, 2, 1))]
    mortal = Mortal(Plan(nodes, (), arrivals, [], kubelet=latency), BatchSettings({"q": queue}), fuses)
    mortal.simulation.timeline.run(60.0)
    return mortal


def gang(mortal: Mortal) -> list[tuple[Any, ...]]:
    """What became of it: how and when it ended, and when it ran."""
    found = [each for each in mortal.store.records() if each.key == "default/g"]
    return [
        (each.standing.reason, each.ledger.ended, [(run.start, run.end) for run in each.ledger.intervals])
        for each in found
    ]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_time_after_which_a_rule_applies_is_the_same_whoever_looks(rule: FailureRule) -> None:
    immortal = lived(rule, [])
    ((_, ended, runs),) = gang(immortal)
    assert (runs[1][0] if rule.do == "RestartJob" else ended) == pytest.approx(38.0)
    for fuse in range(immortal.num_writes):
        mortal = lived(rule, [fuse])
        assert mortal.num_deaths == 1
        assert gang(mortal) == gang(immortal), fuse

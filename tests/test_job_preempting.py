"""A job that makes room for itself through the scheduler: who is evicted, what is kept for it, and when it starts."""

from __future__ import annotations

from fairway.cluster import Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupOutcome
from fairway.testing import node, pod
from fairway.testing.group_builders import members, pod_group
from tests.test_job_scheduling import attempt, scheduler
from tests.test_scheduler import world_of


def test_a_job_evicts_keeps_the_room_and_starts_when_it_is_free() -> None:
    running = [pod(f"p{number}", node=f"n{number}", cpu=4, priority=number) for number in range(3)]
    nodes = [node(f"n{number}", cpu=4) for number in range(3)]
    made = scheduler(*nodes, *running, pod_group("train", 2), *members(2, cpu=3, priority=10))
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.PREEMPTING
    assert sorted(name for name, *_ in world_of(made).evictions) == ["p0", "p1"]
    for number in range(2):  # they are gone
        rival = pod(f"p{number}-again", cpu=4, priority=number)  # whoever made it makes it again at once
        made.observe(Event(Verb.ADDED, rival))
    world_of(made).advance(60)
    decisions = []
    while (step := made.step()) is not None:
        decisions.append(step)
    starts = [each for each in decisions if not isinstance(each, Decision)]
    assert [each.outcome for each in starts if each.outcome is not GroupOutcome.UNSCHEDULABLE] == [
        GroupOutcome.SCHEDULED
    ]
    assert {name for name, _ in world_of(made).bindings} == {"train-0", "train-1"}
    assert all(each.outcome is Outcome.UNSCHEDULABLE for each in decisions if isinstance(each, Decision))
    assert not len(made.cluster.nominations)

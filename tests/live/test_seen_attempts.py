"""Attempts of another scheduler, as pods show them."""

from collections.abc import Sequence

from msgspec.structs import replace

from fairway.cluster import Event, Verb
from fairway.cycle import Decision
from fairway.live.seen_attempts import SeenAttempts
from fairway.model import Pod, PodCondition
from fairway.record import NullRecorder, Scored
from fairway.testing import pod


class Attempts(NullRecorder):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, int, str, str]] = []

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        words = decision.node or (decision.gate[1].reasons[0] if decision.gate else decision.message)
        self.told.append((decision.pod.metadata.name, attempt, decision.outcome.value, words))


def waiting(reason: str, message: str, name: str = "a") -> Pod:
    made = pod(name, uid=name)
    condition = PodCondition(type="PodScheduled", status="False", reason=reason, message=message)
    return replace(made, status=replace(made.status, conditions=(condition,)))


def told_of(*events: Event) -> list[tuple[str, int, str, str]]:
    attempts = Attempts()
    seen = SeenAttempts(attempts, lambda: 0.0)
    for event in events:
        seen.saw(event)
    return attempts.told


def test_each_new_word_is_an_attempt_and_so_is_the_one_that_placed_it() -> None:
    bound = pod("a", uid="a", node="n1")
    found = told_of(
        Event(Verb.ADDED, pod("a", uid="a")),
        Event(Verb.MODIFIED, waiting("Unschedulable", "0/1 nodes")),
        Event(Verb.MODIFIED, waiting("Unschedulable", "0/1 nodes")),  # a heartbeat of something else
        Event(Verb.MODIFIED, waiting("Unschedulable", "0/2 nodes")),
        Event(Verb.MODIFIED, waiting("SchedulerError", "broken")),
        Event(Verb.MODIFIED, bound),
        Event(Verb.MODIFIED, bound),
    )
    assert found == [
        ("a", 1, "unschedulable", "0/1 nodes"),
        ("a", 2, "unschedulable", "0/2 nodes"),
        ("a", 3, "error", "broken"),
        ("a", 4, "scheduled", "n1"),
    ]


def test_what_was_there_before_was_nobodys_attempt_that_we_saw() -> None:
    bound = pod("a", uid="a", node="n1")
    assert told_of(Event(Verb.ADDED, bound), Event(Verb.MODIFIED, bound), Event(Verb.DELETED, bound)) == []


def test_gates_are_told_as_such() -> None:
    assert told_of(Event(Verb.ADDED, waiting("SchedulingGated", "gated"))) == [("a", 1, "gated", "gated")]

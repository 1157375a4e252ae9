"""Attempts of another scheduler, as pods show them."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fairway.cluster import Event, Verb
from fairway.cycle import Decision
from fairway.live.seen_attempts import EventSeries, EventSubject, FailedScheduling, SeenAttempts
from fairway.model import ObjectMeta, Pod, PodCondition
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


def counted(message: str, times: int = 1, event: str = "e1", uid: str = "a") -> FailedScheduling:
    series = EventSeries(count=times) if times > 1 else None
    subject = EventSubject(kind="Pod", uid=uid)
    return FailedScheduling(metadata=ObjectMeta(name=event), involved_object=subject, message=message, series=series)


def told_of(
    *events: Event | FailedScheduling, before: Sequence[FailedScheduling] = ()
) -> list[tuple[str, int, str, str]]:
    attempts = Attempts()
    seen = SeenAttempts(attempts, lambda: 0.0)
    for event in before:
        seen.saw_event(event, was_before=True)
    for one in events:
        if isinstance(one, FailedScheduling):
            seen.saw_event(one)
        else:
            seen.saw(one)
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


ADDED = Event(Verb.ADDED, pod("a", uid="a"))
FAILED = Event(Verb.MODIFIED, waiting("Unschedulable", "no room"))
OTHER = Event(Verb.MODIFIED, waiting("Unschedulable", "no room at all"))
LONG = "x" * 1020


@pytest.mark.parametrize(
    ("story", "told"),
    [
        pytest.param((ADDED, FAILED, counted("no room")), [(1, "no room")], id="condition and Event are one attempt"),
        pytest.param((ADDED, counted("no room"), FAILED), [(1, "no room")], id="in either order"),
        pytest.param((counted("no room"), ADDED, FAILED), [(1, "no room")], id="also if the pod is told of last"),
        pytest.param((counted("no room"), ADDED), [(1, "no room")], id="an Event alone is enough"),
        pytest.param(
            (ADDED, counted(LONG + " ..."), Event(Verb.MODIFIED, waiting("Unschedulable", LONG + "and so on"))),
            [(1, LONG + " ...")],
            id="Events have little room",
        ),
        pytest.param(
            (ADDED, FAILED, counted("no room"), counted("no room", 2), FAILED),
            [(1, "no room"), (2, "no room")],
            id="the same words again are counted by the Event",
        ),
        pytest.param(
            (ADDED, FAILED, counted("no room"), OTHER, counted("no room", 2)),
            [(1, "no room"), (2, "no room at all")],
            id="an Event counts on with its first words, whatever was said later",
        ),
        pytest.param(
            (ADDED, FAILED, counted("no room"), counted("no room", 57)),
            [(1, "no room"), (57, "no room")],
            id="a count that comes late",
        ),
        pytest.param(
            (ADDED, FAILED, counted("no room"), counted("no room", 2, "e2")),
            [(1, "no room"), (3, "no room")],
            id="an Event of a second series",
        ),
        pytest.param((ADDED, counted("no room", uid="b")), [], id="an Event of another pod"),
    ],
)
def test_events_tell_what_conditions_do_not(
    story: tuple[Event | FailedScheduling, ...], told: list[tuple[int, str]]
) -> None:
    assert [(number, words) for _, number, _, words in told_of(*story)] == told


def test_events_that_were_there_before_tell_how_many_attempts_there_were() -> None:
    placed = Event(Verb.MODIFIED, pod("a", uid="a", node="n1"))
    found = told_of(Event(Verb.ADDED, FAILED.object), placed, before=[counted("no room", 5)])
    assert found == [("a", 5, "unschedulable", "no room"), ("a", 6, "scheduled", "n1")]


def test_an_event_after_a_pod_was_placed_is_late() -> None:
    placed = Event(Verb.MODIFIED, pod("a", uid="a", node="n1"))
    assert told_of(ADDED, placed, counted("no room")) == [("a", 1, "scheduled", "n1")]

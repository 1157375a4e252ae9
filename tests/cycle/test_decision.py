"""What an attempt came to, in words: the pod's condition and the event, which has a limit."""

from __future__ import annotations

import pytest

from fairway.cluster import Cluster
from fairway.cycle import Decision, Diagnosis, Outcome, Preemption, cut_message
from fairway.plugin import Code, Refusal
from fairway.testing import pod


def decision(outcome: Outcome, reason: str = "", **fields: object) -> Decision:
    waiting = pod()
    diagnosis = None
    if reason:
        diagnosis = Diagnosis(1, 1)
        diagnosis.pre_filter = ("X", Refusal((reason,)))
    return Decision(waiting, Cluster().classify(waiting), outcome, diagnosis=diagnosis, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(decision(Outcome.SCHEDULED), "", id="placed"),
        pytest.param(decision(Outcome.GATED, gate=("SchedulingGates", Refusal(("no",)))), "", id="gated"),
        pytest.param(decision(Outcome.UNSCHEDULABLE), "no nodes available to schedule pods", id="no nodes"),
        pytest.param(decision(Outcome.UNSCHEDULABLE, "no"), "0/1 nodes are available: no.", id="refused"),
        pytest.param(decision(Outcome.ERROR, "no", error="broken"), "broken", id="broken"),
        pytest.param(
            decision(
                Outcome.UNSCHEDULABLE,
                "no",
                preemption=Preemption(True, Code.UNSCHEDULABLE, ("nothing", "preemption: x")),
            ),
            "0/1 nodes are available: no. nothing, preemption: x",
            id="refused, with what was tried",
        ),
        pytest.param(
            decision(Outcome.UNSCHEDULABLE, "no", preemption=Preemption(True, None, ())),
            "0/1 nodes are available: no.",
            id="refused, and room is being made",
        ),
    ],
)
def test_message(made: Decision, expected: str) -> None:
    assert made.message == expected
    assert made.event == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("a" * 1024, "a" * 1024, id="as long as may be"),
        pytest.param("a" * 1025, "a" * 1020 + " ...", id="a byte longer"),
        pytest.param("é" * 512, "é" * 512, id="bytes count: as many as may be"),
        pytest.param("é" * 513, "é" * 510 + " ...", id="bytes count: too many"),
        pytest.param("a" + "é" * 512, "a" + "é" * 509 + " ...", id="no half of a character of two bytes"),
        pytest.param("ab" + "€" * 400, "ab" + "€" * 339 + " ...", id="no third of a character of three"),
    ],
)
def test_events_are_cut(message: str, expected: str) -> None:
    assert cut_message(message) == expected
    assert len(cut_message(message).encode()) <= 1024


def test_an_event_is_cut_where_the_condition_is_not() -> None:
    made = decision(Outcome.ERROR, error="x" * 2000)
    assert made.message == "x" * 2000
    assert made.event == "x" * 1020 + " ..."

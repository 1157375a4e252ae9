"""A filter that can not judge some node fails the attempt, though others fit: a user's plugin as a built-in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.cycle import Outcome
from fairway.plugin import Aspect, Code, Nodes, Plugin, PodClass, Refusal
from fairway.testing import check_plugin, cluster, node, pod
from tests.cycle.profiles import profile

METER = "example.com/meter"


class Metered(Plugin):
    """Wants a meter that reads at most 5; where the meter says no number, nothing can be said."""

    reads = Aspect.NODE
    annotations = ()

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        return np.array([text.isdecimal() and int(text) <= 5 for text in nodes.label(METER)], bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> list[Refusal]:
        return [
            Refusal(("node(s) were hot",)) if text.isdecimal() else Refusal((f"{name} has no meter",), Code.ERROR)
            for name, text in zip(nodes.names, nodes.label(METER), strict=True)
        ]

    def may_fail(self, state: Any) -> bool:
        return True


def meters(**readings: str) -> Any:
    return cluster([node(name, cpu=4, labels={METER: text}) for name, text in readings.items()])


def test_a_node_that_can_not_be_judged_fails_the_attempt_though_another_fits() -> None:
    made = profile(meters(a="1", b="broken"), "NodeResourcesFit", Metered)
    decision = made.decide(pod(cpu=1))
    assert decision.outcome is Outcome.ERROR
    assert decision.error == 'running "Metered" filter plugin: b has no meter'
    assert decision.preemption is None


def test_all_that_can_not_be_judged_is_told() -> None:
    decision = profile(meters(a="x", b="broken"), Metered).decide(pod())
    assert {decision.error, *decision.other_errors} == {
        'running "Metered" filter plugin: a has no meter',
        'running "Metered" filter plugin: b has no meter',
    }


def test_a_node_that_an_earlier_filter_refused_is_not_asked_about() -> None:
    what = meters(a="1", b="broken")
    made = profile(what, "NodeName", Metered)
    decision = made.decide(pod(node="a"))
    assert (decision.outcome, decision.node) == (Outcome.SCHEDULED, "a")


def test_refusals_alone_are_no_error() -> None:
    made = profile(meters(a="9", b="1"), Metered)
    assert made.decide(pod()).node == "b"
    refused = profile(meters(a="9"), Metered).decide(pod())
    assert (refused.outcome, refused.message) == (
        Outcome.UNSCHEDULABLE,
        "0/1 nodes are available: 1 node(s) were hot.",
    )


def test_whoever_errs_without_saying_that_he_may_is_found_out() -> None:
    class Silent(Metered):
        may_fail = Plugin.may_fail

    check_plugin(Metered, examples=3)
    advice = r"Silent\.may_fail says no, but explain gives an error .*Let may_fail\(state\) return True"
    with pytest.raises(AssertionError, match=advice):
        check_plugin(Silent, examples=3)

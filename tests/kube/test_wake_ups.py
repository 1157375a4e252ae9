"""On the same API server, kube-scheduler and Fairway wake the same pods upon the same events, and no others.

Every kind of event beside every default plugin that can refuse a pod. Not here: NodeName (a pod that names a node is
placed already), DynamicResources (Fairway does not support it), and plugins that only score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program
from tests.kube.wake_ups.case import SENTINEL, SUBJECT, Case
from tests.kube.wake_ups.node_cases import NODES
from tests.kube.wake_ups.pod_cases import PODS
from tests.kube.wake_ups.resource_cases import FIT
from tests.kube.wake_ups.stage import Answer, Stage
from tests.kube.wake_ups.volume_cases import VOLUMES

CASES: Final = [*FIT, *NODES, *PODS, *VOLUMES]
CONFIGURATION: Final = {"profiles": [{"schedulerName": SUBJECT}, {"schedulerName": SENTINEL}]}

Answers = dict[str, Answer | str]
"""By case; words where something did not come about that has to before there is an answer."""


def play_all(control_plane: ControlPlane, start: Callable[..., Program]) -> Answers:
    """What one scheduler makes of every case."""
    try:
        with Stage(control_plane, start(CONFIGURATION)) as stage:
            return {str(case): play(stage, case) for case in CASES}
    finally:
        control_plane.stop_others()


def play(stage: Stage, case: Case) -> Answer | str:
    try:
        return stage.play(case)
    except TimeoutError as error:
        return str(error)


def is_as_told(case: Case, answer: Answer | str) -> bool:
    """Does a scheduler do what the table says?"""
    if isinstance(answer, str) or answer.refused_by != {case.plugin}:
        return False
    return (bool(answer.woken_by), answer.was_tried, answer.node) == (case.wakes, case.wakes, case.node)


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.slow
def test_both_wake_the_same_pods(control_plane: ControlPlane) -> None:
    """One test, since the cases are played one after the other, by one worker; it tells all that differ."""
    control_plane.clear()
    theirs = play_all(control_plane, control_plane.start_kube_scheduler)
    assert {str(case): theirs[str(case)] for case in CASES if not is_as_told(case, theirs[str(case)])} == {}
    ours = play_all(control_plane, control_plane.start_fairway)
    assert {name: (theirs[name], answer) for name, answer in ours.items() if answer != theirs[name]} == {}

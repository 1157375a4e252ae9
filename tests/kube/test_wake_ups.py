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

Answers = dict[str, dict[str, Answer | str]]
"""By scheduler and case; words where something did not come about that has to before there is an answer."""


@pytest.fixture(scope="module")
def answers(shared_control_plane: ControlPlane) -> Answers:
    """What became of every case's pod, by scheduler: first one plays them all, then the other."""
    shared_control_plane.clear()
    start: dict[str, Callable[..., Program]] = {
        "kube-scheduler": shared_control_plane.start_kube_scheduler,
        "fairway": shared_control_plane.start_fairway,
    }
    found: Answers = {}
    try:
        for name, begin in start.items():
            with Stage(shared_control_plane, begin(CONFIGURATION)) as stage:
                found[name] = {str(case): played(stage, case) for case in CASES}
            shared_control_plane.stop_others()
    finally:
        shared_control_plane.stop_others()
        shared_control_plane.clear()
    return found


def played(stage: Stage, case: Case) -> Answer | str:
    try:
        return stage.play(case)
    except TimeoutError as error:
        return str(error)


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_wake_the_pod_or_let_it_sleep(case: Case, answers: Answers) -> None:
    theirs, ours = answers["kube-scheduler"][str(case)], answers["fairway"][str(case)]
    assert isinstance(theirs, Answer), theirs
    assert theirs.refused_by == {case.plugin}
    assert (bool(theirs.woken_by), theirs.was_tried, theirs.node) == (case.wakes, case.wakes, case.node)
    assert ours == theirs

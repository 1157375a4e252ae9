from __future__ import annotations

import logging

import pytest

from fairway.cluster import Action, Change, ClusterEvent, Resource
from fairway.model import Pod
from fairway.plugin import Hint
from fairway.queue import QueueRules
from fairway.queue.hints import Hints, Strategy
from tests.queue.builders import (
    EVERYTHING,
    NODE_ADDED,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETED,
    change,
    hinted,
    is_own_update,
    pod,
    waiting,
)

SKIP, AFTER_BACKOFF, IMMEDIATELY = Strategy


def never(waiting_pod: Pod, happened: Change) -> bool:
    return False


def broken(waiting_pod: Pod, happened: Change) -> bool:
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("registered", "happened", "wanted"),
    [
        pytest.param(NODE_ADDED, NODE_ADDED, True, id="the same"),
        pytest.param(NODE_ADDED, NODE_LABEL, False, id="another action"),
        pytest.param(NODE_ADDED, POD_DELETED, False, id="another resource"),
        pytest.param(ClusterEvent(Resource.NODE, Action.UPDATE), NODE_LABEL, True, id="more specific"),
        pytest.param(NODE_LABEL, ClusterEvent(Resource.NODE, Action.UPDATE), False, id="less specific"),
        pytest.param(
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), NODE_LABEL, True, id="one of several"
        ),
        pytest.param(ClusterEvent(Resource.POD, Action.DELETE), POD_DELETED, True, id="a pod that has a node is a pod"),
        pytest.param(
            ClusterEvent(Resource.POD, Action.UPDATE),
            ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE_POD_LABEL),
            True,
            id="so is one that has none",
        ),
        pytest.param(POD_DELETED, ClusterEvent(Resource.POD, Action.DELETE), False, id="not every pod has a node"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ADD), NODE_ADDED, True, id="any resource"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ADD), NODE_LABEL, False, id="any resource, another action"),
        pytest.param(EVERYTHING, NODE_LABEL, True, id="everything"),
        pytest.param(NODE_ADDED, EVERYTHING, False, id="everything is for those who asked for it"),
        pytest.param(EVERYTHING, EVERYTHING, True, id="everything for everything"),
    ],
)
def test_covers(registered: ClusterEvent, happened: ClusterEvent, wanted: bool) -> None:
    assert registered.covers(happened) is wanted


@pytest.mark.parametrize(
    ("refused", "pending", "happened", "strategy"),
    [
        pytest.param(["Fit"], [], NODE_ADDED, AFTER_BACKOFF, id="any such event helps"),
        pytest.param(["Fit"], [], POD_DELETED, SKIP, id="nobody registered for it"),
        pytest.param(["Sceptic"], [], NODE_ADDED, SKIP, id="the hint says no"),
        pytest.param(["Sceptic", "Fit"], [], NODE_ADDED, AFTER_BACKOFF, id="one yes is enough"),
        pytest.param([], ["Fit"], NODE_ADDED, IMMEDIATELY, id="the plugin it waits for says yes"),
        pytest.param(["Fit"], ["Sceptic"], NODE_ADDED, AFTER_BACKOFF, id="only the one that refused says yes"),
        pytest.param(["Fit"], ["Second"], NODE_ADDED, IMMEDIATELY, id="both say yes"),
        pytest.param(["Unknown"], [], NODE_ADDED, SKIP, id="the refusing plugin registered for nothing"),
        pytest.param([], [], POD_DELETED, AFTER_BACKOFF, id="nobody refused it"),
        pytest.param(["Broken"], [], NODE_ADDED, AFTER_BACKOFF, id="a broken hint counts as yes"),
    ],
)
def test_judge(refused: list[str], pending: list[str], happened: ClusterEvent, strategy: Strategy) -> None:
    hints = Hints(
        hinted(
            Fit=Hint(NODE_ADDED),
            Second=Hint(NODE_ADDED),
            Sceptic=Hint(NODE_ADDED, never),
            Broken=Hint(NODE_ADDED, broken),
        )
    )
    assert hints.judge(waiting(refused=refused, pending=pending), change(happened)) is strategy


def test_a_broken_hint_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    hints = Hints(hinted(Broken=Hint(NODE_ADDED, broken)))
    with caplog.at_level(logging.ERROR):
        hints.judge(waiting("web", refused=["Broken"]), change(NODE_ADDED))
    assert "Broken: hint on NodeAdd for pod default/web broke; trying the pod" in caplog.text
    assert "out of order" in caplog.text


@pytest.mark.parametrize(
    ("meant", "strategy"),
    [
        pytest.param(None, AFTER_BACKOFF, id="for all pods"),
        pytest.param(pod("a"), AFTER_BACKOFF, id="for this pod"),
        pytest.param(pod("b"), SKIP, id="for another pod"),
        pytest.param("no pod", SKIP, id="for something else"),
    ],
)
def test_the_event_that_moves_everything(meant: object, strategy: Strategy) -> None:
    hints = Hints(hinted(Fit=Hint(NODE_ADDED)))
    assert hints.judge(waiting("a", refused=["Fit"]), change(EVERYTHING, None, meant)) is strategy


def test_hints_see_the_pod_and_the_objects() -> None:
    event = ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE_POD_LABEL)
    hints = Hints(hinted(Own=Hint(ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL), is_own_update)))
    assert hints.judge(waiting("a", refused=["Own"]), change(event, pod("a"), pod("a"))) is AFTER_BACKOFF
    assert hints.judge(waiting("a", refused=["Own"]), change(event, pod("b"), pod("b"))) is SKIP


def test_each_profile_has_its_own_hints() -> None:
    hints = Hints(
        {
            "eager": QueueRules(hints={"Fit": (Hint(NODE_ADDED),)}),
            "picky": QueueRules(hints={"Fit": (Hint(NODE_ADDED, never),)}),
            "deaf": QueueRules(hints={"Fit": ()}),
        }
    )
    judged = {
        profile: hints.judge(waiting(refused=["Fit"], profile=profile), change(NODE_ADDED))
        for profile in ("eager", "picky", "deaf")
    }
    assert judged == {"eager": AFTER_BACKOFF, "picky": SKIP, "deaf": SKIP}
    assert sorted(hints.concerned(NODE_ADDED)) == ["eager", "picky"]


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        pytest.param([Hint(NODE_ADDED, never)], AFTER_BACKOFF, id="waits for nodes, so hears of taints"),
        pytest.param([Hint(NODE_ADDED), Hint(NODE_TAINT, never)], SKIP, id="has its own opinion on taints"),
        pytest.param([Hint(NODE_LABEL)], SKIP, id="does not wait for new nodes"),
    ],
)
def test_who_waits_for_new_nodes_hears_of_taints(given: list[Hint], strategy: Strategy) -> None:
    hints = Hints(hinted(Fit=given))
    assert hints.judge(waiting(refused=["Fit"]), change(NODE_TAINT)) is strategy


@pytest.mark.parametrize(
    ("refused", "pending", "events", "strategy"),
    [
        pytest.param(["Fit"], [], [], SKIP, id="nothing happened"),
        pytest.param(["Fit"], [], [NODE_LABEL, POD_DELETED], SKIP, id="nothing that helps"),
        pytest.param(["Fit"], [], [NODE_LABEL, NODE_ADDED], AFTER_BACKOFF, id="something that helps"),
        pytest.param(["Fit"], ["Labels"], [NODE_ADDED, NODE_LABEL], IMMEDIATELY, id="the best of them counts"),
        pytest.param(["Fit"], ["Labels"], [NODE_ADDED, POD_DELETED], AFTER_BACKOFF, id="the best there is"),
    ],
)
def test_judge_all(refused: list[str], pending: list[str], events: list[ClusterEvent], strategy: Strategy) -> None:
    hints = Hints(hinted(Fit=Hint(NODE_ADDED), Labels=Hint(NODE_LABEL)))
    assert hints.judge_all(waiting(refused=refused, pending=pending), map(change, events)) is strategy

"""Maintenance: phases, who leaves when, and cordons that are given back."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairway.batch.actions import Action, CordonNode, DeletePod, EvictPod, UncordonNode
from fairway.batch.affected_jobs import AffectedJob, affected_jobs, still_there
from fairway.batch.windows import (
    NodeSight,
    Phase,
    PodSight,
    Window,
    WindowView,
    requeued_jobs,
    unlimited_entrances,
    view_window,
    window_actions,
    window_closings,
)
from fairway.model.batch import NodeChoice, WindowSpec, window_problems
from fairway.model.duration import Duration
from fairway.plan import dates
from tests.batch.extension_cases import closed
from tests.plan.situations import job, machine, occupied

NODES = [NodeSight(f"n{row}", row, {"rack": f"r{row % 2}"}) for row in range(4)]
PODS = [
    PodSight("limited", "n1", "ml/a", end=5000.0),
    PodSight("unlimited", "n1", "ml/b"),
    PodSight("outside", "n3"),
    PodSight("daemon", "n1", is_daemon=True),
    PodSight("told", "n1", is_terminating=True),
    PodSight("elsewhere", "n0", "ml/c"),
]


def window(
    start: float = 1000.0,
    duration: float = 500.0,
    mode: str = "avoid",
    name: str = "w",
    created: float = 0.0,
    **more: Any,
) -> Window:
    spec = WindowSpec(
        start=str(start),
        duration=Duration(duration),
        mode=mode,  # type: ignore[arg-type]
        nodes=NodeChoice(selector=more.pop("selector", {"rack": "r1"})),
        drain_lead=Duration(more.pop("lead", 300)),
        announce=Duration(600),
    )
    return Window(name, f"uid-{name}", spec, created, **more)


def view(each: Window, now: float, nodes: list[NodeSight] = NODES) -> WindowView:
    return view_window(each, nodes, now, may_be_span=True)


@pytest.mark.parametrize(
    ("now", "phase", "is_told"),
    [
        (0.0, "Announced", False),
        (400.0, "Announced", True),
        (699.0, "Announced", True),
        (700.0, "Draining", True),
        (1000.0, "Active", True),
        (1499.0, "Active", True),
        (1500.0, "Done", False),
    ],
)
def test_phases(now: float, phase: str, is_told: bool) -> None:
    seen = view(window(), now)
    assert (seen.phase.value, seen.is_told(now), sorted(seen.nodes)) == (phase, is_told, ["n1", "n3"])
    assert view(window(is_cancelled=True), now).phase is Phase.CANCELLED


def test_one_that_comes_again_is_announced_again() -> None:
    spec = WindowSpec(schedule="0 6 * * *", duration=Duration(3600))
    again = Window("w", "u", spec, 0.0)
    phases = {hour: view_window(again, NODES, hour * 3600.0).phase.value for hour in (5, 6, 7)}
    assert phases == {5: "Draining", 6: "Active", 7: "Draining"}


@pytest.mark.parametrize(
    ("each", "now", "phase", "reason"),
    [
        pytest.param(window(created=2000.0), 2000.0, "Done", "MaintenanceInThePast", id="over before it was made"),
        pytest.param(window(), 2000.0, "Done", None, id="over"),
        pytest.param(window(created=1200.0), 1200.0, "Active", None, id="made while it is"),
        pytest.param(window(selector={"rack": "r9"}), 1200.0, "Active", "MaintenanceWithoutNodes", id="no such node"),
        pytest.param(
            Window("w", "u", WindowSpec(schedule="0 0 30 2 *", duration=Duration(60)), 0.0),
            0.0,
            "Done",
            "MaintenanceNever",
            id="never",
        ),
    ],
)
def test_what_is_told(each: Window, now: float, phase: str, reason: str | None) -> None:
    seen = view(each, now)
    assert seen.phase == phase
    assert [(note.reason, note.is_warning) for note in seen.notes] == ([(reason, True)] if reason else [])


@pytest.mark.parametrize(
    ("mode", "now", "actions", "jobs"),
    [
        pytest.param("avoid", 1000.0, [], {}, id="avoid leaves all"),
        pytest.param("drain", 699.0, [], {}, id="drain: not yet"),
        pytest.param("drain", 700.0, [EvictPod("unlimited"), EvictPod("outside")], {}, id="drain: who has no limit"),
        pytest.param(
            "drain", 1000.0, [EvictPod("limited"), EvictPod("unlimited"), EvictPod("outside")], {}, id="drain: the rest"
        ),
        pytest.param("kill", 999.0, [], {}, id="kill: not yet"),
        pytest.param("kill", 1000.0, [DeletePod("outside")], {"ml/a": "w", "ml/b": "w"}, id="kill: whole jobs"),
        pytest.param("kill", 1500.0, [], {}, id="over"),
    ],
)
def test_who_leaves_when(mode: str, now: float, actions: list[Action], jobs: dict[str, str]) -> None:
    views = [view(window(mode=mode), now)]
    leaving = [each for each in window_actions(views, [], PODS) if isinstance(each, EvictPod | DeletePod)]
    assert [(type(each), each.pod) for each in leaving] == [
        (type(each), each.pod) for each in actions if isinstance(each, EvictPod | DeletePod)
    ]
    assert requeued_jobs(views, PODS) == jobs


def test_two_windows_over_one_pod_ask_it_once_and_the_harder_one_counts() -> None:
    views = [view(window(mode="drain", name="a"), 1000.0), view(window(mode="kill", name="b"), 1000.0)]
    pods = [PodSight("outside", "n1")]
    assert window_actions(views, [], pods) == [DeletePod("outside", None, "maintenance b", cause="Maintenance")]


def test_what_the_calendar_has_closed_and_for_whom() -> None:
    views = [view(window(), 0.0)]
    (closing,) = window_closings(views, {node.name: node.row for node in NODES})
    assert (closing.rows.tolist(), closing.start, closing.end) == ([1, 3], 1000.0, 1500.0)
    assert unlimited_entrances(views) == [(closing.key, 700.0)]
    assert closing.key == window_closings([view(window(), 1200.0)], {})[0].key, "the same one, whenever one looks"


def test_plan_and_windows_together() -> None:
    """A short job passes before the window, a longer one waits for its end, one without a limit sees it late."""
    calendar = machine(1, 4)
    views = [view(window(), 0.0)]
    (closing,) = window_closings(views, {"n1": 0})
    calendar.close(closing.key, closing.rows, closing.start, closing.end)
    found = {limit: calendar.search(job("j", 1, limit)) for limit in (1000.0, 1001.0, math.inf)}
    assert {limit: slot.start for limit, slot in found.items() if slot} == {
        1000.0: 0.0,
        1001.0: 1500.0,
        math.inf: 1500.0,
    }
    for start, expected in ((0.0, 0.0), (699.0, 699.0), (700.0, 1500.0)):
        endless = replace(job("j", 1, math.inf), entrances=tuple(unlimited_entrances(views)))
        slot = calendar.search(endless, start)
        assert slot is not None
        assert slot.start == expected


@pytest.mark.parametrize(
    ("node", "now", "done"),
    [
        pytest.param(("", False), 999.0, None, id="not yet"),
        pytest.param(("", False), 1000.0, CordonNode("n1", "uid-w"), id="cordon"),
        pytest.param(("uid-w", True), 1200.0, None, id="it is"),
        pytest.param(("uid-w", False), 1200.0, CordonNode("n1", "uid-w"), id="somebody opened it"),
        pytest.param(("uid-old", True), 1200.0, CordonNode("n1", "uid-w"), id="taken over from one that is over"),
        pytest.param(("", True), 1200.0, None, id="a person's stays as it is"),
        pytest.param(("uid-w", True), 1500.0, UncordonNode("n1", "uid-w"), id="given back"),
        pytest.param(("uid-gone", True), 1500.0, UncordonNode("n1", "uid-gone"), id="of a window that was deleted"),
        pytest.param(("", True), 1500.0, None, id="a person's stays"),
    ],
)
def test_cordons(node: tuple[str, bool], now: float, done: Action | None) -> None:
    seen = NodeSight("n1", 1, {"rack": "r1"}, is_cordoned=node[1], cordoned_by=node[0])
    assert window_actions([view(window(), now)], [seen], []) == ([done] if done else [])


def test_one_that_ends_before_it_begins_is_refused() -> None:
    spec = WindowSpec(start="2026-12-01T06:00:00Z", duration=Duration(-3600))
    assert [problem.path for problem in window_problems(spec, "spec")] == ["spec.duration"]


def test_the_nodes_of_one_that_began_stay_the_same() -> None:
    began = window(nodes=("n0",))
    assert view(began, 1200.0).nodes == {"n0"}


def test_whom_it_is_in_the_way_of() -> None:
    calendar = machine(1, 4)
    occupied(calendar, "there", 4, 800.0)
    waiting = [job("short", 4, 100.0), job("long", 4, 400.0), job("endless", 4, math.inf)]
    before = dates(calendar, waiting)
    closed(calendar, "w", 1000.0, 1500.0)
    after = dates(calendar, waiting)
    seen = view(window(mode="drain"), 0.0)
    assert affected_jobs(seen, PODS, before, after) == [
        AffectedJob("ml/a", "evicted"),
        AffectedJob("ml/b", "evicted"),
        AffectedJob("long", "starts later", 900.0, 1500.0),
        AffectedJob("endless", "starts later", 1300.0, 1900.0),
    ]
    assert affected_jobs(seen, [], before, {})[0] == AffectedJob("short", "has no date", 800.0)
    assert affected_jobs(view(window(), 2000.0), PODS, before, after) == []


def test_what_still_runs_is_told_where_it_is_left() -> None:
    told = still_there(view(window(), 1000.0), PODS)
    assert told is not None
    assert told.words == "4 pods still run on 2 nodes, and are left there"
    assert still_there(view(window(), 999.0), PODS) is None
    assert still_there(view(window(), 1000.0), []) is None
    assert still_there(view(window(mode="kill"), 1000.0), PODS) is None


@settings(max_examples=80, deadline=None)
@given(
    spans=st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.sampled_from([{"rack": "r0"}, {"rack": "r1"}, {}])),
        max_size=4,
    ),
    persons=st.sets(st.integers(0, 3)),
    looks=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=10),
    deleted=st.booleans(),
)
def test_cut_off_anywhere_all_cordons_are_given_back(
    spans: list[tuple[int, int, dict[str, str]]], persons: set[int], looks: list[tuple[int, int]], deleted: bool
) -> None:
    """At each look the first so many actions are carried out; a node that a person cordoned before stays cordoned."""
    windows = [window(at, span, name=f"w{at}-{span}-{len(rack)}", selector=rack) for at, span, rack in spans]
    nodes = [node._replace(is_cordoned=node.row in persons) for node in NODES]
    for now, carried in [*sorted(looks), (31, 99)]:
        known = [] if deleted and now == 31 else windows
        views = [view(each, now, nodes) for each in known]
        actions = window_actions(views, nodes, [])
        for action in actions[:carried]:
            for row, node in enumerate(nodes):
                if isinstance(action, CordonNode) and action.node == node.name:
                    nodes[row] = node._replace(is_cordoned=True, cordoned_by=action.window)
                elif isinstance(action, UncordonNode) and action.node == node.name:
                    assert node.cordoned_by == action.window
                    nodes[row] = node._replace(is_cordoned=False, cordoned_by="")
        if carried >= len(actions):
            assert window_actions(views, nodes, []) == []
            for node in nodes:
                covered = any(at <= now < at + span and rack.items() <= node.labels.items() for at, span, rack in spans)
                assert node.is_cordoned == (covered or node.row in persons)
                assert bool(node.cordoned_by) == (covered and node.row not in persons)
    assert np.array_equal([node.is_cordoned for node in nodes], [row in persons for row in range(4)])

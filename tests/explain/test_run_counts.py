"""Status, stories and plugin times of random runs, against counts over what was told to the writer."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cycle import Spent
from fairway.explain.plugin_times import plugin_lines, plugin_rows, read_plugin_times
from fairway.explain.run_status import NOT_TRIED, NodeLoad, Status, load_sums, read_status
from fairway.explain.run_story import SHOWN, Story, story_document, story_lines
from fairway.model import UserError
from fairway.queue import Place
from fairway.record import RecordOptions, Run
from fairway.testing import node, pod
from fairway.words import length_text, time_text
from tests.record.lifetimes import HISTORIES, History, Life, tell
from tests.record.runs import SCHEDULER, placed, profile, writer

# -- status ------------------------------------------------------------------------------------------------------------


def failures(life: Life) -> int:
    """Attempts that came to nothing; all of them are made when the pod is created."""
    return life.attempts - (life.node is not None and life.attempts > 0)


def is_waiting(life: Life, at: float) -> bool:
    return life.created <= at and all(time is None or at < time for time in (life.bound, life.ended))


def check_status(history: History, status: Status) -> None:
    at = status.at
    there = {
        machine.name: machine
        for machine in history.machines
        if machine.joined <= at and (machine.gone is None or at < machine.gone)
    }
    assert {one.node.name for one in status.nodes} == there.keys()
    for one in status.nodes:
        machine = there[one.node.name]
        assert one.is_ready == machine.is_ready(at, history.end + 1)
        assert one.state == ("Ready" if one.is_ready else "NotReady")
        here = [life for life in history.lives if life.node == machine.name and life.holds(at, history.end + 1)]
        assert one.used == {
            "pods": len(here),
            **{resource: sum(life.amount(resource) for life in here) for resource in history.resources},
        }
        assert one.allocatable["cpu"] == machine.amount("cpu")
    assert status.num_running == sum(life.holds(at, history.end + 1) for life in history.lives)
    groups: dict[str, list[Life]] = defaultdict(list)
    for life in sorted(history.lives, key=lambda life: (life.created, int(life.name[1:]))):
        if is_waiting(life, at):
            groups["unschedulable" if failures(life) else NOT_TRIED].append(life)
    assert {one.reason: one.num_pods for one in status.waiting} == {name: len(some) for name, some in groups.items()}
    assert status.num_waiting == sum(is_waiting(life, at) for life in history.lives)
    for waiting in status.waiting:
        first = min(groups[waiting.reason], key=lambda life: life.created)
        assert waiting.longest == at - first.created
        assert waiting.pod in {f"default/{one.name}" for one in groups[waiting.reason] if one.created == first.created}
    order = [(-one.num_pods, one.reason) for one in status.waiting]
    assert order == sorted(order)


def check_story(history: History, life: Life, story: Story) -> None:
    over = next((time for time in (life.bound, life.ended) if time is not None), history.end)
    assert story.waited == over - life.created
    if life.reason is not None:
        assert story.state == life.reason.value
    elif life.bound is None:
        assert story.state == "Waiting"
    else:
        assert story.state == ("Starting" if life.started is None else "Running")
    outcomes = ["unschedulable"] * failures(life) + ["scheduled"] * (life.attempts - failures(life))
    assert [one.row["outcome"] for one in story.attempts] == outcomes
    assert story.is_kept
    check_lines(history, life, story)
    document = story_document(story)
    assert [one["attempt"] for one in document["attempts"]] == list(range(1, life.attempts + 1))
    expected = (life.created, life.bound, life.started, life.ended, life.node, life.attempts)
    names = ("createdSeconds", "boundSeconds", "startedSeconds", "endedSeconds", "node", "numAttempts")
    assert tuple(document[name] for name in names) == expected


def check_lines(history: History, life: Life, story: Story) -> None:
    """What happened, once each, in the order of time."""
    headline, blank, *lines = story_lines(story)
    assert blank == ""
    assert headline.startswith(f"default/{life.name} ")
    attempts = f"{life.attempts} attempt{'' if life.attempts == 1 else 's'}"
    assert f" · {attempts}" in headline
    waited = length_text(story.waited)
    if life.bound is None:
        why = f"is waiting, {waited}" if life.reason is None else f"waited {waited} in vain, {life.reason.value}"
        assert headline == f"default/{life.name} {why} · {attempts}"
    else:
        assert (f"waited {waited}, then went to" in headline) == (story.waited > 0)
        assert life.reason is None or headline.endswith(f" · {life.reason.value}")
    expected = [(life.created, "created")]
    for time, words in (
        (life.bound, f"bound to {life.node}"),
        (life.started, "started"),
        (life.ended, "" if life.reason is None else life.reason.value),
    ):
        if time is not None:
            expected.append((time, words))
    count = failures(life)
    if count:
        until = f"attempts 1–{count}, until {time_text(life.created)}" if count > 1 else "attempt 1"
        expected.insert(1, (life.created, f"{until}: unschedulable"))
    if life.attempts > count and life.bound is not None:
        place = next(number for number, (_, words) in enumerate(expected) if words.startswith("bound to"))
        expected.insert(place, (life.bound, f"attempt {life.attempts}: → {life.node}, best of 1 node"))
    assert [line.split(maxsplit=1)[1] for line in lines] == [words for _, words in expected]
    assert [line.split()[0] for line in lines] == [time_text(time) for time, _ in expected]


@given(HISTORIES, st.lists(st.integers(0, 96), min_size=3, max_size=3))
@settings(max_examples=12)
def test_any_moment_and_every_story_of_a_run(history: History, quarters: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, tell(history, Path(folder) / "run") as run:
        for number in quarters:
            status = read_status(run, number / 4)
            check_status(history, status)
            check_sums(status)
        for life in history.lives:
            check_story(history, life, Story.of(run, run.pod(f"default/{life.name}")))


def check_sums(status: Status) -> None:
    ready = [one for one in status.nodes if one.is_ready]
    for resource in status.resources:
        name = resource.resource
        assert resource.used == sum(one.used[name] for one in ready)
        assert resource.free == sum(one.allocatable[name] - one.used[name] for one in ready)
        assert resource.most_free == max((one.allocatable[name] - one.used[name] for one in ready), default=0)
    assert {resource.resource for resource in status.resources} <= {"pods", "cpu", "memory"}


LOADS = st.lists(
    st.builds(
        lambda number, ready, cordoned, used, there, zone: NodeLoad(
            node(f"n{number}", labels={} if zone is None else {"zone": zone}),
            ready,
            cordoned,
            {"cpu": used},
            {"cpu": there},
        ),
        st.integers(0, 99),
        st.booleans(),
        st.booleans(),
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from([None, "a", "b"]),
    ),
    max_size=6,
)


@given(LOADS)
def test_sums_count_ready_nodes_and_what_is_free_for_pods_those_that_take_them(loads: list[NodeLoad]) -> None:
    used = sum(one.used["cpu"] for one in loads if one.is_ready)
    there = sum(one.allocatable["cpu"] for one in loads if one.is_ready)
    open_ = [one for one in loads if one.is_ready and not one.is_unschedulable]
    found = load_sums(loads, ("cpu",))
    if not used and not there:
        assert found == ()
        return
    (cpu,) = found
    assert (cpu.used, cpu.allocatable, cpu.free) == (used, there, there - used)
    assert cpu.most_free == max((one.allocatable["cpu"] - one.used["cpu"] for one in open_), default=0)
    assert cpu.utilisation == (used / there if there else None)


@given(LOADS)
def test_groups_have_every_node_once_and_those_without_the_label_last(loads: list[NodeLoad]) -> None:
    groups = Status(0.0, tuple(loads), (), (), 0).groups("zone")
    assert sorted(map(id, loads)) == sorted(id(one) for some in groups.values() for one in some)
    for value, some in groups.items():
        assert all(one.node.metadata.labels.get("zone") == value for one in some)
    assert list(groups) == [value for value in ("a", "b", None) if value in groups]


# -- stories with refusals, moves and events ---------------------------------------------------------------------------

TRIES = st.one_of(
    st.lists(st.booleans(), min_size=1, max_size=SHOWN),
    st.integers(SHOWN + 1, SHOWN + 8).map(lambda number: [place % 2 == 0 for place in range(number)]),
)
"""Attempts: was the pod picky when each was made?"""
MOVES = st.lists(
    st.tuples(
        st.sampled_from([None, *Place]), st.sampled_from([None, *Place]), st.sampled_from(["NodeAdd", "PodDelete"])
    ),
    max_size=10,
)


@given(TRIES, MOVES)
@settings(max_examples=12)
def test_attempts_that_are_alike_share_a_line_and_wakeups_are_counted(
    tries: list[bool], moves: list[tuple[Any, Any, str]]
) -> None:
    nodes = [node("a", cpu=2, labels={"disk": "ssd"}), node("b", cpu=4), node("c", cpu=4, unschedulable=True)]
    engine = profile(nodes)
    with tempfile.TemporaryDirectory() as name:
        with writer(Path(name) / "run") as made:
            for one in nodes:
                made.node_added(0.0, one)
            made.pod_created(0.0, pod("p", cpu=1), SCHEDULER)
            for number, is_picky in enumerate(tries, 1):
                asked = pod("p", cpu=5, node_selector={"disk": "ssd"} if is_picky else {})
                made.decided(float(number), SCHEDULER, number, engine.decide(asked), 0.0)
            for origin, place, event in moves:
                made.queue_moved(1.0, SCHEDULER, "default/p", origin, place, event)
            made.close(100.0)
        with Run.open(Path(name) / "run") as run:
            story = Story.of(run, run.pod("default/p"))
    for attempt in story.attempts:
        left = 3
        for step in attempt.funnel:
            assert step.num_refused == sum(group.num_nodes for group in step.groups)
            left -= step.num_refused
            assert step.num_left == left
        assert left == 0
        assert attempt.words.startswith("unschedulable · none of 3 nodes: ")
    alike = [(len(list(some)), words) for words, some in groupby(one.words for one in story.attempts)]
    lines = [line for line in story_lines(story)[1:] if " attempt" in line]
    in_story = [line for line in lines if "more lines about attempts" not in line]
    if len(alike) <= SHOWN:
        assert [line.partition(": ")[2] for line in in_story] == [words for _, words in alike]
    else:
        assert len(in_story) == SHOWN
        assert any(f"{len(alike) - SHOWN} more lines about attempts" in line for line in lines)
    woken = Counter(
        event for origin, place, event in moves if origin in (Place.UNSCHEDULABLE, Place.GATED) and place is not None
    )
    assert story.wakeups == dict(woken)
    said = [line for line in story_lines(story) if line.startswith("  woken ")]
    assert len(said) == bool(woken)
    if woken:
        assert said[0].startswith(f"  woken {woken.total()}×: ")
    assert sum(one["number"] for one in story_document(story)["queueMoves"]) == len(moves)


def test_only_what_was_said_in_its_life_is_told_and_what_was_not_kept_is_counted(tmp_path: Path) -> None:
    one = pod("p")
    with writer(tmp_path / "run", RecordOptions(decisions="failed")) as made:
        made.node_added(0.0, node("a"))
        made.event(0.0, "Pod", "default/p", "Earlier", "another pod of that name")
        made.pod_created(1.0, one, SCHEDULER)
        made.decided(2.0, SCHEDULER, 1, placed(one, "a"), 0.0)
        made.bound(2.0, one.metadata.uid, "a")
        made.event(2.0, "Pod", "default/p", "Scheduled", "assigned")
        made.event(3.0, "Node", "default/p", "Other", "not about a pod")
        made.close(5.0)
    with Run.open(tmp_path / "run") as run:
        story = Story.of(run, run.pod("p"))
    assert [one["reason"] for one in story.events] == ["Scheduled"]
    assert not story.is_kept
    assert story_lines(story)[-1] == "  1 attempts were not kept (record.decisions)"


# -- plugin times ------------------------------------------------------------------------------------------------------

SPENT = st.lists(
    st.tuples(
        st.integers(0, 9),  # when
        st.sampled_from(["Fit", "Ports"]),
        st.sampled_from(["Filter", "Score"]),
        st.integers(1, 5),
        st.integers(0, 64).map(lambda number: number / 64),
    ),
    max_size=8,
)


@given(SPENT, st.integers(0, 9))
@settings(max_examples=10)
def test_plugin_times_are_sums_up_to_a_time(spent: list[tuple[int, str, str, int, float]], at: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        with writer(Path(name) / "run", RecordOptions(plugin_times=True)) as made:
            made.node_added(0.0, node("a"))
            for time, plugin, point, calls, seconds in sorted(spent):
                made.decided(float(time), SCHEDULER, 1, placed(pod("p"), "a"), 1.0)
                made.plugin_times(float(time), SCHEDULER, [Spent(plugin, point, calls, seconds)])
            made.close(10.0)
        with Run.open(Path(name) / "run") as run:
            report = read_plugin_times(run, float(at))
    counted = [one for one in spent if one[0] <= at]
    calls_of: Counter[tuple[str, str]] = Counter()
    seconds_of: dict[tuple[str, str], float] = defaultdict(float)
    for _, plugin, point, calls, seconds in counted:
        calls_of[plugin, point] += calls
        seconds_of[plugin, point] += seconds
    assert {(one.plugin, one.point): (one.num_calls, one.cpu_seconds) for one in report.shares} == {
        key: (calls_of[key], seconds_of[key]) for key in calls_of
    }
    assert all(one.cpu_seconds >= two.cpu_seconds for one, two in pairwise(report.shares))
    assert (report.num_attempts, report.cpu_seconds) == (len(counted), float(len(counted)))
    total = sum(seconds_of.values())
    assert report.in_plugins == total
    rows = plugin_rows(report)
    for row in rows:
        assert row["share"] == (pytest.approx(seconds_of[row["plugin"], row["point"]] / total) if total else None)
        assert row["perAttempt"] == pytest.approx(seconds_of[row["plugin"], row["point"]] * 1e6 / len(counted))
    sentence, shown = plugin_lines(report)
    assert sentence.startswith(f"{len(counted)} attempts took {len(counted):.3g} s of CPU")
    assert ("µs each" in sentence) == bool(counted)
    assert [one["plugin"] for one in shown] == [row["plugin"] for row in rows]


def test_a_run_in_which_nobody_measured_says_how_to(tmp_path: Path) -> None:
    writer(tmp_path / "run").close(1.0)
    with Run.open(tmp_path / "run") as run, pytest.raises(UserError, match="nobody measured it") as caught:
        read_plugin_times(run, 1.0)
    assert caught.value.hint == "fairway sim SCENARIO --plugin-times --save RUN"

"""The trace of a random run, against what the history says: slices on nodes, waiting pods, attempts end to end."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cycle import Spent
from fairway.record import RecordError, Run, export_trace
from fairway.record.perfetto import BEGINNING, MICROSECONDS, NODES, QUEUE, Lanes
from fairway.testing import node, pod
from tests.record.lifetimes import CYCLE_SECONDS, HISTORIES, History, tell
from tests.record.runs import placed, small_run, writer

Event = dict[str, Any]

SLICES = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=20
).map(sorted)


@given(SLICES)
def test_slices_in_a_lane_do_not_overlap_and_no_lane_is_wasted(slices: list[tuple[int, int]]) -> None:
    lanes = Lanes()
    taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for begin, end in slices:
        busy = {lane for lane, those in taken.items() if any(until > begin for _, until in those)}
        lane = lanes.take(begin, end)
        assert lane == next(number for number in range(len(slices) + 1) if number not in busy)
        taken[lane].append((begin, end))
    for those in taken.values():
        assert all(first[1] <= second[0] for first, second in pairwise(those))


def events_of(run: Run, path: Path) -> list[Event]:
    count = export_trace(run, path)
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    assert document["otherData"] == {"made by": "Fairway"}
    events: list[Event] = document["traceEvents"]
    assert len(events) == count
    return events


def names_of(events: list[Event]) -> dict[int, str]:
    """Processes by number; each says its name once, and is sorted by its number."""
    names = [(event["pid"], event["args"]["name"]) for event in events if event["name"] == "process_name"]
    places = [(event["pid"], event["args"]["sort_index"]) for event in events if event["name"] == "process_sort_index"]
    assert len(dict(names)) == len(names)
    assert places == [(number, number) for number, _ in names]
    return dict(names)


def check_nodes(history: History, events: list[Event]) -> None:
    """Each pod that was bound is one slice on its node; a lane has one at a time."""
    names = names_of(events)
    found = {}
    lanes: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if event.get("cat") != "pod":
            continue
        assert event["pid"] >= NODES
        begin, until = event["ts"] / MICROSECONDS, (event["ts"] + event["dur"]) / MICROSECONDS
        lanes[event["pid"], event["tid"]].append((begin, until))
        args = event["args"]
        found[event["name"]] = (
            names[event["pid"]],
            begin,
            until,
            args["reason"],
            args["cpu_milli"],
            args["memory_bytes"],
        )
    assert found == {
        f"default/{life.name}": (
            f"node {life.node}",
            *stretch,
            "running" if life.reason is None else life.reason.value,
            life.amount("cpu"),
            life.amount("memory"),
        )
        for life in history.lives
        if (stretch := life.held(history.end)) is not None
    }
    for slices in lanes.values():
        assert all(first[1] <= second[0] for first, second in pairwise(slices))


def check_waiting(history: History, events: list[Event]) -> None:
    """The counter after each change is the number of pods without node and without end."""
    counted = {event["ts"] / MICROSECONDS: event["args"]["pods"] for event in events if event["ph"] == "C"}
    assert {event["pid"] for event in events if event["ph"] == "C"} <= {QUEUE}
    times: set[float] = set()
    for life in history.lives:
        over = life.ended if life.bound is None else life.bound
        times |= {life.created} | (set() if over is None else {over})
    assert counted.keys() == times
    for at, number in counted.items():
        waiting = 0
        for life in history.lives:
            over = life.ended if life.bound is None else life.bound
            waiting += life.created <= at and (over is None or at < over)
        assert number == waiting


def check_attempts(history: History, events: list[Event]) -> None:
    """On a clock of their own: one after the other, as long as each took."""
    attempts = [event for event in events if event.get("cat") in ("scheduled", "unschedulable")]
    assert [event["ts"] for event in attempts] == [
        number * CYCLE_SECONDS * MICROSECONDS for number in range(len(attempts))
    ]
    assert {event["dur"] for event in attempts} <= {CYCLE_SECONDS * MICROSECONDS}
    said = sorted((event["name"], event["args"]["attempt"]) for event in attempts)
    expected = []
    for life in history.lives:
        for number in range(1, life.attempts + 1):
            is_placed = number == life.attempts and life.node is not None
            name = f"default/{life.name}"
            expected.append((f"{name} → {life.node}" if is_placed else name, number))
    assert said == sorted(expected)


@given(HISTORIES)
@settings(max_examples=12)
def test_a_trace_tells_the_history(history: History) -> None:
    with tempfile.TemporaryDirectory() as folder, tell(history, Path(folder) / "run") as run:
        events = events_of(run, Path(folder) / "trace.json")
        packed = events_of(run, Path(folder) / "trace.json.gz")
    assert packed == events
    check_nodes(history, events)
    check_waiting(history, events)
    check_attempts(history, events)


USED = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),  # scheduler
        st.integers(1, 8).map(lambda number: number / 8),  # seconds of the attempt
        st.lists(st.tuples(st.sampled_from(["Fit", "Ports"]), st.integers(1, 16)), max_size=3),  # plugin, 1/32 seconds
    ),
    max_size=8,
)


@given(USED)
@settings(max_examples=12)
def test_plugins_lie_within_their_attempt_one_after_the_other(
    used: list[tuple[str, float, list[tuple[str, int]]]],
) -> None:
    """An attempt is as long as it took, and at least as long as its plugins; the clock goes on from there."""
    expected: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    clocks: dict[str, float] = defaultdict(float)
    is_timed = any(spent for _, _, spent in used)
    with tempfile.TemporaryDirectory() as name:
        with writer(Path(name) / "run") as made:
            made.node_added(0.0, node("a"))
            for number, (scheduler, seconds, spent) in enumerate(used):
                one = pod(f"p{number}")
                made.decided(float(number), scheduler, 1, placed(one, "a"), seconds)
                made.plugin_times(float(number), scheduler, [Spent(plugin, "Filter", 1, t / 32) for plugin, t in spent])
                begin = clocks[scheduler]
                expected[scheduler].append(
                    (f"default/p{number} → a", begin, max(seconds, sum(t / 32 for _, t in spent)))
                )
                clocks[scheduler] = begin + expected[scheduler][-1][2]
                for plugin, t in spent:
                    expected[scheduler].append((f"{plugin} Filter", begin, t / 32))
                    begin += t / 32
            made.close(10.0)
        with Run.open(Path(name) / "run") as run:
            events = events_of(run, Path(name) / "trace.json")
    names = names_of(events)
    clock = "CPU time" if is_timed else "real time"
    found: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event.get("cat") in ("scheduled", "plugin"):
            scheduler = names[event["pid"]].removeprefix("scheduler ").removesuffix(f" ({clock})")
            found[scheduler].append((event["name"], event["ts"] / MICROSECONDS, event["dur"] / MICROSECONDS))
    assert found == expected


# -- the file ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_of_ours_is_replaced_by_the_same_bytes(tmp_path: Path, name: str) -> None:
    with small_run(tmp_path / "run") as run:
        export_trace(run, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        export_trace(run, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        export_trace(run, tmp_path / f"other-{name}")
        assert (tmp_path / f"other-{name}").read_bytes() == first


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("trace.json", b'{"traceEvents": []}\n'),
        ("trace.json.gz", gzip.compress(b'{"traceEvents": []}\n')),
        ("trace.json.gz", b"not packed at all"),
        ("trace.json.gz", gzip.compress(BEGINNING.encode())[:-12]),
    ],
    ids=["another trace", "another packed", "not packed", "cut off"],
)
def test_a_file_of_somebody_else_is_not_replaced(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with small_run(tmp_path / "run") as run, pytest.raises(RecordError, match="there already"):
        export_trace(run, tmp_path / name)
    assert (tmp_path / name).read_bytes() == data

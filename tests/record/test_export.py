"""What other tools get is what is in the run."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cycle import Spent
from fairway.record import RecordError, Run, export_csv, export_parquet, export_trace
from fairway.record.perfetto import Lanes
from fairway.record.schema import TABLES
from fairway.testing import node, pod
from fairway.words import safe_cell, visible
from tests.record.runs import SCHEDULER, placed, small_run, writer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with small_run(tmp_path_factory.mktemp("runs") / "small") as opened:
        yield opened


def test_parquet_holds_every_table(run: Run, tmp_path: Path) -> None:
    files = export_parquet(run, tmp_path / "new" / "directory")
    assert [file.stem for file in files] == list(TABLES)
    for file in files:
        written = duckdb.execute(f"SELECT * FROM read_parquet('{file}')").fetchall()
        assert written == [tuple(row.values()) for row in run.tables[file.stem].rows()]


def test_csv_has_a_header_and_the_rows_in_order(run: Run, tmp_path: Path) -> None:
    (file,) = export_csv(run, tmp_path, ["pods"])
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert [row["pod"] for row in rows] == ["default/one", "default/two", "team/three", "default/four"]
    assert [row["ended_seconds"] for row in rows] == ["10.0", "20.0", "30.0", ""]


def test_a_quote_in_the_path_is_no_problem(run: Run, tmp_path: Path) -> None:
    (file,) = export_parquet(run, tmp_path / "it's", ["nodes"])
    assert file.stat().st_size > 0


def test_unknown_tables_and_places_are_errors(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no table pots; its tables are meta"):
        export_csv(run, tmp_path, ["pots"])
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot write"):
        export_csv(run, tmp_path / "file")
    with pytest.raises(RecordError, match="cannot write"):
        export_trace(run, tmp_path / "no" / "such" / "directory.json")


def events_of(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events: list[dict[str, Any]] = json.loads(data)["traceEvents"]
    return events


def test_pods_are_slices_on_their_nodes(run: Run, tmp_path: Path) -> None:
    assert export_trace(run, tmp_path / "trace.json") == len(events_of(tmp_path / "trace.json"))
    events = events_of(tmp_path / "trace.json")
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    slices = [
        (names[event["pid"]], event["name"], event["tid"], event["ts"], event["dur"], event["args"]["reason"])
        for event in events
        if event.get("cat") == "pod"
    ]
    second = 1e6
    assert slices == [
        ("node a", "default/one", 0, 0, 10 * second, "Succeeded"),
        ("node a", "default/two", 1, 5 * second, 15 * second, "Succeeded"),
        ("node b", "team/three", 0, 10 * second, 20 * second, "Succeeded"),
        ("node b", "default/four", 0, 35 * second, 5 * second, "running"),
    ]


def test_waiting_pods_are_counted(run: Run, tmp_path: Path) -> None:
    export_trace(run, tmp_path / "trace.json")
    counted = {
        event["ts"] / 1e6: event["args"]["pods"] for event in events_of(tmp_path / "trace.json") if event["ph"] == "C"
    }
    assert counted == {0: 1, 5: 0, 10: 0, 30: 1, 35: 0}


def test_attempts_lie_on_the_schedulers_own_clock_and_plugins_within_them(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        for number, seconds in enumerate((0.25, 0.5, 0.125)):
            one = pod(f"p{number}")
            scheduler = "slow" if number == 1 else SCHEDULER
            made.decided(100.0 * number, scheduler, 1, placed(one, "a"), seconds)
            if number != 1:
                used = [Spent("NodeResourcesFit", "Filter", 4, 0.0625), Spent("NodeResourcesFit", "Score", 1, 0.03125)]
                made.plugin_times(100.0 * number, scheduler, used)
        made.plugin_times(300.0, SCHEDULER, [Spent("SchedulingGates", "PreEnqueue", 2, 0.5)], is_of_attempt=False)
        made.close(300.0)
    with Run.open(tmp_path / "run") as run:
        export_trace(run, tmp_path / "trace.json.gz")
        export_trace(run, tmp_path / "again.json.gz")
    events = events_of(tmp_path / "trace.json.gz")
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    slices = defaultdict(list)
    for event in events:
        if event.get("cat") in ("scheduled", "plugin"):
            lane = names[event["pid"]], event["tid"], event["cat"]
            slices[lane].append((event["ts"] / 1e6, event["dur"] / 1e6))
    assert dict(slices) == {
        ("scheduler default-scheduler (CPU time)", 0, "scheduled"): [(0, 0.25), (0.25, 0.125)],
        ("scheduler slow (CPU time)", 0, "scheduled"): [(0, 0.5)],
        ("scheduler default-scheduler (CPU time)", 0, "plugin"): [
            (0, 0.0625),
            (0.0625, 0.03125),
            (0.25, 0.0625),
            (0.3125, 0.03125),
        ],
        ("scheduler default-scheduler (CPU time)", 1, "plugin"): [(0, 0.5)],
    }
    assert events_of(tmp_path / "again.json.gz") == events


def test_lanes_are_reused_and_never_overlap() -> None:
    lanes = Lanes()
    taken = [
        lanes.take(begin, end)
        for begin, end in [(0, 10), (0, 5), (5, 7), (6, 9), (10, 11), (10, 11), (10, 11), (10, 11)]
    ]
    assert taken == [0, 1, 1, 2, 0, 1, 2, 3]


ODD = st.sampled_from("=+-@\t\r\n\x00\x1b\x9b\u202e\ufeff\u2028\"', a1")
TEXTS = st.text(st.one_of(ODD, st.characters(codec="utf-8")), max_size=12)


@given(texts=st.lists(TEXTS, min_size=1, max_size=20))
@settings(max_examples=25, deadline=None)
def test_a_text_in_csv_is_as_a_spreadsheet_may_read_it_and_in_parquet_as_it_is(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with writer(folder / "run") as made:
            for text in texts:
                made.event(0.0, "Pod", "p", "Told", text)
            made.close(1.0)
        with Run.open(folder / "run") as run:
            (table,) = export_csv(run, folder, ["events"])
            (exact,) = export_parquet(run, folder, ["events"])
        with table.open(newline="", encoding="utf-8") as file:
            assert [row["message"] for row in csv.DictReader(file)] == [safe_cell(visible(text)) for text in texts]
        rows = duckdb.execute(f"SELECT message FROM read_parquet('{exact}')").fetchall()
        assert [row[0] for row in rows] == texts


def test_what_is_exported_is_its_owners_alone(run: Run, tmp_path: Path) -> None:
    for file in (*export_csv(run, tmp_path, ["pods"]), *export_parquet(run, tmp_path, ["pods"])):
        assert file.stat().st_mode & 0o777 == 0o600

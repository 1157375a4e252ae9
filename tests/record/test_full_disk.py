"""A file that takes no rows: nothing is half written, what memory holds is written later, the rest is a counted gap."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import CannotWriteError, Patience, RecordOptions, Run, RunWriter
from fairway.record.gaps import gaps_of
from fairway.record.vocabulary import PodEnd
from fairway.record.writing.run_file import partial_path
from fairway.testing import node, pod
from tests.record.full_disk import full_disk, written_bytes
from tests.record.runs import SCHEDULER, placed, writer

NOTHING_FITS = 0
PLENTY = 2**30


class Told:
    """What a patient writer says."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.dropped: Counter[str] = Counter()

    def failed(self, error: CannotWriteError) -> None:
        self.failures.append(str(error))

    def dropping(self, counts: Mapping[str, int]) -> None:
        self.dropped.update(counts)


def patient(path: Path, told: Told, max_bytes: int = PLENTY, **options: Any) -> RunWriter:
    kept = RecordOptions(**options)
    return writer(path, kept, patience=Patience(max_bytes, told.failed, told.dropping))


def live_a_day(made: RunWriter, first: int, last: int, message: str = "x" * 100, **amounts: Any) -> None:
    """Pods that come, are placed and end, one a second."""
    for number in range(first, last):
        one = pod(f"p{number}", cpu=1, **amounts)
        made.pod_created(number, one, SCHEDULER)
        made.decided(number, SCHEDULER, 1, placed(one, "a"), 0.001)
        made.bound(number, one.metadata.uid, "a")
        made.event(number, "Pod", one.key, "Scheduled", message)
        made.ended(number + 0.5, one.metadata.uid, PodEnd.SUCCEEDED)


def checkpoint_often(path: Path) -> None:
    """Another connection to the same database, which DuckDB keeps once a process, sets what holds for both."""
    with duckdb.connect(str(partial_path(path)), config={"threads": 1, "memory_limit": "512MB"}) as connection:
        connection.execute("SET GLOBAL wal_autocheckpoint = '1KB'")


def numbers(run: Run, table: str, column: str) -> list[float]:
    return [row[column] for row in run.tables[table].select(column)]


def test_what_waited_in_memory_is_written_when_there_is_room(tmp_path: Path) -> None:
    told = Told()
    with patient(tmp_path / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 50)
        with full_disk(written_bytes(tmp_path / "run") + 100):
            made.flush()
            live_a_day(made, 50, 100)
            made.flush(again=True)
        assert len(told.failures) == 2
        assert f"cannot write {tmp_path / 'run'}: the disk is full" in told.failures[0]
        live_a_day(made, 100, 150)
        made.flush(again=True)
        live_a_day(made, 150, 200)
        made.close(200.0)
    assert told.dropped == {}
    with Run.open(tmp_path / "run") as run:
        assert numbers(run, "decisions", "time_seconds") == list(range(200))
        assert numbers(run, "pods", "pod_id") == list(range(200))
        assert (run.is_complete, len(run.gaps), len(run.events), gaps_of(run)) == (True, 0, 200, [])


def test_a_resource_that_appears_while_the_disk_is_full_has_its_column_later(tmp_path: Path) -> None:
    """The columns of a transaction that failed are not there, and the next one must not think so."""
    told = Told()
    with patient(tmp_path / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 5)
        made.flush()
        with full_disk(written_bytes(tmp_path / "run") + 100):
            live_a_day(made, 5, 10, requests={"nvidia.com/gpu": 2})
            made.flush()
            made.flush(again=True)
        made.flush(again=True)
        made.close(10.0)
    assert len(told.failures) == 2
    with Run.open(tmp_path / "run") as run:
        column = run.resources["nvidia.com/gpu"]
        assert numbers(run, "pods", column) == [0] * 5 + [2] * 5


def test_beyond_the_bound_a_gap_is_counted(tmp_path: Path) -> None:
    told = Told()
    with patient(tmp_path / "run", told, max_bytes=60_000, chunk_rows=10) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 20)
        with full_disk(written_bytes(tmp_path / "run") + 100):
            live_a_day(made, 20, 300)
            made.flush(again=True)
        live_a_day(made, 300, 320)
        made.close(320.0)
    assert told.dropped["decisions"] > 100
    with Run.open(tmp_path / "run") as run:
        assert run.is_complete
        kept = numbers(run, "decisions", "time_seconds")
        (gap,) = run.gaps.where("table_name = 'decisions'")
        missing = sorted(set(range(320)) - set(kept))
        assert len(missing) == gap["num_rows"] == told.dropped["decisions"]
        assert missing == list(range(missing[0], missing[-1] + 1))
        assert (gap["from_seconds"], gap["to_seconds"]) == pytest.approx((missing[0], missing[-1]), abs=1)
        assert {row["table_name"]: row["num_rows"] for row in run.gaps} == dict(told.dropped) == made.num_dropped
        (whole,) = gaps_of(run)
        assert whole.num_rows == told.dropped
        assert "the disk is full" in whole.reason


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["live", "full", "room"]), st.integers(1, 30)), min_size=1, max_size=12),
    st.integers(0, 40_000),
)
def test_written_and_dropped_rows_are_all_there_were(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, int]], max_bytes: int
) -> None:
    """Whenever the disk is full and whatever fits: each row is in the file or counted as missing, and none twice."""
    path, told, lived, is_full = tmp_path_factory.mktemp("disk") / "run", Told(), 0, False
    with patient(path, told, max_bytes=max_bytes, chunk_rows=7) as made:
        made.node_added(0.0, node("a"))
        made.pod_created(0.0, pod("stays", cpu=1, labels={"only": "mine"}), SCHEDULER)
        for what, number in [*story, ("room", 1)]:
            is_full = what == "full" or (is_full and what == "live")
            with full_disk(written_bytes(path) + 60 if is_full else PLENTY):
                if what == "live":
                    live_a_day(made, lived, lived + number, labels={"of": str(number)})
                    lived += number
                else:
                    made.flush(again=True)
        made.close(float(lived))
    with Run.open(path) as run:
        assert run.is_complete
        for table, column in (("decisions", "decision_id"), ("events", "subject"), ("pods", "pod_id")):
            found = numbers(run, table, column)
            assert len(set(found)) == len(found)
            assert len(found) + told.dropped[table] == lived + (table == "pods")
        assert {row["pod_id"] for row in run.pods} >= {0}
        templates = set(numbers(run, "templates", "template_id"))
        assert set(numbers(run, "pods", "template_id")) <= templates
        counts: Counter[str] = Counter()
        for row in run.gaps:
            counts[row["table_name"]] += row["num_rows"]
            assert 0 <= row["from_seconds"] <= row["to_seconds"] <= lived
        assert counts == told.dropped


def test_a_disk_that_stays_full_leaves_what_it_took_and_says_so(tmp_path: Path) -> None:
    told = Told()
    with patient(tmp_path / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 50)
        made.flush()
        live_a_day(made, 50, 100)
        with full_disk(written_bytes(tmp_path / "run") + 100), pytest.raises(CannotWriteError, match="disk is full"):
            made.close(100.0)
    assert not (tmp_path / "run").exists()
    with Run.open(partial_path(tmp_path / "run")) as run:
        assert numbers(run, "decisions", "time_seconds") == list(range(50))
        assert not run.is_complete


def test_at_the_end_a_run_says_at_least_what_it_lacks(tmp_path: Path) -> None:
    """The last rows are too many for the disk; what names them is not."""
    told = Told()
    with patient(tmp_path / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 500)
        made.flush()
        live_a_day(made, 500, 2000, message="y" * 10_000)
        with full_disk(8 * 2**20):
            made.close(2000.0)
    with Run.open(tmp_path / "run") as run:
        assert numbers(run, "decisions", "time_seconds") == list(range(500))
        assert not run.is_complete
        assert "the disk is full" in run.meta["interruption"]
        assert {row["table_name"]: row["num_rows"] for row in run.gaps}["decisions"] == 1500


def test_without_patience_it_is_an_error_at_once_which_says_where_the_rest_is(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def record() -> None:
        with writer(path, RecordOptions(chunk_rows=50)) as made:
            made.node_added(0.0, node("a"))
            live_a_day(made, 0, 10_000, requests={"nvidia.com/gpu": 1})

    with full_disk(2**18), pytest.raises(CannotWriteError) as caught:
        record()
    assert str(caught.value).startswith(f"cannot write {path}: the disk is full")
    assert str(caught.value).endswith(f"what was written until then is in {caught.value.left}")
    assert caught.value.left is not None
    with Run.open(caught.value.left) as run:
        found = numbers(run, "decisions", "time_seconds")
        assert found == list(range(len(found)))
        assert len(found) > 100
        assert not run.is_complete


def test_a_file_that_takes_nothing_at_all_is_an_error_before_anything_happens(tmp_path: Path) -> None:
    with full_disk(NOTHING_FITS), pytest.raises(CannotWriteError, match="the disk is full"):
        patient(tmp_path / "run", Told())
    assert [file for file in tmp_path.iterdir() if file.stat().st_size] == []


def test_a_checkpoint_that_fails_costs_no_row(tmp_path: Path) -> None:
    """DuckDB gives a database up whose checkpoint failed; it has to be opened again."""
    told = Told()
    with patient(tmp_path / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 500)
        made.flush()
        checkpoint_often(tmp_path / "run")
        live_a_day(made, 500, 3000)
        with full_disk(written_bytes(tmp_path / "run") + 1000):
            made.flush()
        assert told.failures
        made.flush(again=True)
        live_a_day(made, 3000, 3100)
        made.close(3100.0)
    with Run.open(tmp_path / "run") as run:
        assert numbers(run, "decisions", "decision_id") == list(range(3100))
        assert numbers(run, "pods", "pod_id") == list(range(3100))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_removed_under_the_writer_is_written_anew(tmp_path: Path, what: str) -> None:
    told, folder = Told(), tmp_path / "runs"
    folder.mkdir()
    with patient(folder / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 100)
        made.flush()
        if what == "file":
            for file in folder.iterdir():
                file.unlink()
        else:
            shutil.rmtree(folder)
            made.flush()
            assert f"the directory {folder} was removed" in told.failures[0]
            folder.mkdir()
        live_a_day(made, 100, 200)
        made.flush(again=True)
        made.close(200.0)
    with Run.open(folder / "run") as run:
        assert run.is_complete
        assert numbers(run, "decisions", "time_seconds") == list(range(200))
    assert [file.name for file in folder.iterdir()] == ["run"]


def test_another_file_in_its_place_is_left_alone(tmp_path: Path) -> None:
    told = Told()
    with patient(tmp_path / "run", told) as made:
        made.node_added(0.0, node("a"))
        live_a_day(made, 0, 1)
        partial_path(tmp_path / "run").unlink()
        partial_path(tmp_path / "run").write_text("mine")
        made.flush()
        assert "was replaced while it was being written" in told.failures[0]
        with pytest.raises(CannotWriteError, match="was replaced"):
            made.close(1.0)
    assert partial_path(tmp_path / "run").read_text() == "mine"


def test_runs_of_versions_without_gaps_can_be_read(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        made.close(1.0)
    with duckdb.connect(str(tmp_path / "run")) as connection:
        connection.execute("DROP TABLE gaps")
    with Run.open(tmp_path / "run") as run:
        assert (len(run.gaps), list(run.gaps), gaps_of(run), run.end_seconds) == (0, [], [], 1.0)
        assert len(run.tables["gaps"]) == 0

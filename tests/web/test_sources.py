"""Run files that are served: their names, their states, and what is wrong with those that can not be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from fairway.model import UserError
from fairway.record import RecordError
from fairway.web.sources import open_sources, unique_stems
from tests.explain.run_files import busy_run

HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/day.duckdb"], ["day"]),
        (["a/day.duckdb", "b/day.duckdb", "day.duckdb"], ["day", "day-2", "day-3"]),
        (["day-2.duckdb", "day.duckdb", "x/day.duckdb"], ["day-2", "day", "day-3"]),
        (["day.duckdb.partial", "day.duckdb"], ["day", "day-2"]),
        (["run", ".duckdb"], ["run", ".duckdb"]),
    ],
)
def test_runs_are_named_after_their_files(paths: list[str], names: list[str]) -> None:
    assert unique_stems(paths) == names


def change(path: str, key: str, value: str) -> str:
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", [value, key])
    return path


def test_states_are_told(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    complete, other, partial = (busy_run(tmp_path / name) for name in ("a", "b", "c"))
    interrupted = change(other, "complete", "false")
    partial = str(Path(partial).rename(f"{partial}.partial"))
    sources = open_sources([complete, interrupted, partial])
    try:
        assert [(source.id, source.state) for source in sources.all] == [
            ("busy", "complete"),
            ("busy-2", "interrupted"),
            ("busy-3", "partial"),
        ]
        known = sources.find("busy-2").known
        assert any("is incomplete" in note for note in known.notes)
        assert sources.find("busy").known.notes == []
        assert known.version != sources.find("busy").known.version
        assert (known.nodes, known.pods, known.end) == (5, 69, 1800.0)
    finally:
        sources.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: str(folder / "none.duckdb"), "there is no run"),
        (str, "is a directory"),
        (lambda folder: change(busy_run(folder), "schema_version", "99"), "Update Fairway to read it"),
    ],
    ids=["missing", "directory", "newer"],
)
def test_what_is_no_run_is_told_and_nothing_stays_open(tmp_path: Path, make: object, words: str) -> None:
    assert callable(make)
    (tmp_path / "good").mkdir()
    good = busy_run(tmp_path / "good")
    bad = make(tmp_path)
    with pytest.raises(RecordError, match=words):
        open_sources([good, bad])
    duckdb.connect(good).close()  # it could not be written to if it were open for reading


def test_a_run_that_is_being_written_names_whom_to_ask(tmp_path: Path) -> None:
    path = busy_run(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "held\n"
        with pytest.raises(UserError) as caught:
            open_sources([path])
        writer.stdin.close()
    assert caught.value.what == f"{path} is still being written"
    assert "--scheduler URL" in caught.value.hint


@pytest.mark.parametrize("number", [0, 9])
def test_one_to_eight_runs_are_served(number: int) -> None:
    with pytest.raises(UserError, match="one to eight"):
        open_sources(["run.duckdb"] * number)

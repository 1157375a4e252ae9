"""Commands whose disk is full, and commands that read a run with a gap: in words, with an exit code, no traceback."""

from __future__ import annotations

import stat
import subprocess
import sys

import duckdb
import pytest

from fairway.record import Run
from tests.cli.scenario_files import small_scenario
from tests.cli.trial_files import Folder
from tests.explain.run_files import busy_run
from tests.record.full_disk import full_disk

TOO_SMALL = 300_000  # bytes: the tables fit, what happens does not


def test_sim_names_the_file_and_the_disk_and_leaves_what_was_written(folder: Folder) -> None:
    scenario, run = small_scenario(folder.path), folder.path / "run.duckdb"
    with full_disk(TOO_SMALL):
        printed = folder.run("sim", str(scenario), "--save", str(run))
    assert (printed.code, printed.out) == (1, "")
    error, hint = printed.err.splitlines()
    assert "the disk is full" in error
    assert str(run) in error
    assert "column" not in error
    assert error.endswith(f"what was written until then is in {run}.partial")
    assert hint == "→ make room there, or name another place to write to"
    with Run.open(f"{run}.partial") as left:
        assert len(left.pods) > 100
    assert not run.exists()


def test_sim_that_keeps_nothing_says_that_its_temporary_folder_is_full(folder: Folder) -> None:
    scenario = small_scenario(folder.path)
    with full_disk(TOO_SMALL):
        printed = folder.run("sim", str(scenario))
    assert printed.code == 1
    assert "there is no room for the run while it is simulated" in printed.err
    assert "the disk is full" in printed.err
    assert "until then" not in printed.err  # the folder is gone
    assert "TMPDIR" in printed.err


@pytest.mark.parametrize("jobs", ["1", "2"], ids=["one process", "several"])
def test_compare_says_the_same(folder: Folder, jobs: str) -> None:
    scenario, run = small_scenario(folder.path), folder.path / "run.duckdb"
    with full_disk(TOO_SMALL):
        printed = folder.run("compare", str(scenario), "--jobs", jobs, "--save", str(run))
    assert printed.code == 1
    assert printed.err.startswith(f"error: cannot finish {folder.path}/run-") or "cannot write" in printed.err
    assert "the disk is full" in printed.err
    assert ".partial" in printed.err


def test_export_says_it_of_the_file_it_writes(folder: Folder) -> None:
    run = busy_run(folder.path)
    with full_disk(100):
        printed = folder.run("export", run, str(folder.path / "tables"))
    assert printed.code == 1
    assert f"cannot write {folder.path / 'tables'}" in printed.err
    assert "the disk is full" in printed.err


@pytest.mark.parametrize("command", ["sim", "compare --jobs 1", "compare --jobs 2"])
def test_a_run_that_could_not_even_be_begun_leaves_nothing(folder: Folder, command: str) -> None:
    scenario, place = small_scenario(folder.path), folder.path / "runs"
    place.mkdir()
    with full_disk(100):
        printed = folder.run(*command.split(), str(scenario), "--save", str(place / "run.duckdb"))
    assert printed.code == 1
    assert f"cannot write {place}/run" in printed.err
    assert "until then" not in printed.err
    assert list(place.iterdir()) == []


def test_only_the_run_that_is_named_is_left_of_several(folder: Folder) -> None:
    scenario, place = small_scenario(folder.path), folder.path / "runs"
    place.mkdir()
    with full_disk(TOO_SMALL):
        printed = folder.run("compare", str(scenario), "--jobs", "2", "--save", str(place / "run.duckdb"))
    assert printed.code == 1
    left = [file for file in place.iterdir() if file.name.endswith(".partial")]
    assert [f"what was written until then is in {file}\n" in printed.err for file in left] == [True]


def test_tables_are_exported_all_or_none(folder: Folder) -> None:
    """Large enough for some of the tables: no half of them is left, nor the folder that was made for them."""
    run, target = busy_run(folder.path), folder.path / "new" / "tables"
    assert folder.run("export", run, str(folder.path / "all"), "--format", "csv").code == 0
    sizes = sorted(file.stat().st_size for file in (folder.path / "all").iterdir())
    assert sizes[0] < sizes[-1]
    with full_disk(sizes[-1] - 1):
        printed = folder.run("export", run, str(target), "--format", "csv")
    assert printed.code == 1
    assert "the disk is full" in printed.err
    assert not target.parent.exists()


@pytest.mark.parametrize("name", ["tables", "pods.csv --table pods", "pods.parquet --table pods", "trace.json"])
def test_what_is_exported_is_its_owners_alone(folder: Folder, name: str) -> None:
    target = folder.path / "out"
    target.mkdir()
    name, *options = name.split()
    assert folder.run("export", busy_run(folder.path), str(target / name), *options).code == 0
    files = [file for file in target.rglob("*") if file.is_file()]
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_copies_of_examples_are_blamed_not_the_examples(folder: Folder) -> None:
    target = folder.path / "copies"
    with full_disk(100):
        printed = folder.run("examples", "copy", str(target))
    assert printed.code == 1
    assert printed.err.startswith(f"error: cannot write {target}")
    assert "the disk is full" in printed.err
    assert not [file for file in target.rglob("*") if file.is_file()]


def test_a_small_disk_of_its_own_says_that_it_is_full(folder: Folder) -> None:
    """The real thing, where a process may mount something."""
    scenario, place = small_scenario(folder.path), folder.path / "disk"
    place.mkdir()
    namespace = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    mounting = f"mount -t tmpfs -o size=300k none {place}"
    try:
        subprocess.run([*namespace, mounting], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing may be mounted here: {error}")
    command = f"{sys.executable} -m fairway sim {scenario} --save {place}/run.duckdb"
    done = subprocess.run([*namespace, f"{mounting} && {command}"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{place}/run.duckdb: the disk is full (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def gap(folder: Folder) -> str:
    """A run that lacks ten seconds of decisions."""
    path = busy_run(folder.path)
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO gaps VALUES (60, 70, 'decisions', 12, 'the disk is full')")
        connection.execute("INSERT INTO gaps VALUES (61, 70, 'queue_moves', 30, 'the disk is full')")
        connection.execute("INSERT INTO gaps VALUES (300, 301, 'events', 2, 'the disk is full')")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("why", "never-huge-0", "--run", "RUN"),
        ("why", "never-huge-0", "--run", "RUN", "--attempt", "1"),
        ("status", "--run", "RUN"),
        ("compare", "RUN"),
        ("export", "RUN", "tables"),
        ("sim", "--replay", "RUN"),
    ],
    ids=lambda command: " ".join(command[:1] + command[3:5]),
)
def test_whoever_reads_a_run_with_a_gap_is_told(
    folder: Folder, gap: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    printed = folder.run(*(gap if word == "RUN" else word for word in command))
    assert f"this run has a gap: {gap} lacks what happened from 00:01:00 to 00:01:10" in printed.err
    assert "42 rows (decisions 12, queue_moves 30): the disk is full" in printed.err
    assert "from 00:05:00 to 00:05:01, 2 rows (events 2)" in printed.err
    assert printed.code in (0, 3)

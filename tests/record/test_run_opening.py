"""Files that are nearly runs: each kind of damage is told by table, column and value, in runs that are whole or not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fairway.record import RecordError, Run
from fairway.record.opening.run_catalog import LATER_COLUMNS, LATER_TABLES
from fairway.record.opening.run_contents import LATEST_SECONDS
from fairway.record.opening.run_opening import EXAMINED, META_TYPES, MOST_EXAMINED, is_locked, open_run_file
from fairway.record.schema import TABLES
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, placed, profile, writer

Damaged = Callable[..., Path]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every table that refers to nodes and pods does: a placed pod, and one that evicts another."""
    path = tmp_path_factory.mktemp("good") / "run"
    nodes = [node("a", cpu=2), node("b", cpu=1)]
    low, high = pod("low", cpu=2, node="a", priority=0), pod("high", cpu=2, priority=9)
    with writer(path) as made:
        for one in nodes:
            made.node_added(0.0, one)
        made.pod_created(0.0, low, SCHEDULER)
        made.decided(0.0, SCHEDULER, 1, placed(low, "a"), 0.0)
        made.bound(0.0, low.metadata.uid, "a")
        made.pod_created(1.0, high, SCHEDULER)
        decision = profile(nodes, [low]).decide(high)
        assert decision.preemption is not None
        made.decided(1.0, SCHEDULER, 1, decision, 0.0)
        made.event(1.0, "Pod", high.key, "Told", "words")
        made.close(2.0)
    with Run.open(path) as run:
        assert [row["victim"] for row in run.preemptions] == ["default/low"]
    return path


@pytest.fixture
def damaged(good: Path, tmp_path: Path) -> Damaged:
    """The run with these statements executed in it."""

    def change(*statements: str) -> Path:
        path = tmp_path / "changed"
        shutil.copyfile(good, path)
        with duckdb.connect(str(path)) as connection:
            for statement in statements:
                connection.execute(statement)
        return path

    return change


UNFINISHED = "UPDATE meta SET value = 'false' WHERE key = 'complete'"
GAP = "INSERT INTO gaps VALUES (0.0, 1.0, 'nodes', 1, 'the disk was full')"


def refusal(path: Path) -> str:
    with pytest.raises(RecordError) as caught:
        open_run_file(path)
    words = str(caught.value)
    assert words.startswith(str(path))
    return words.removeprefix(f"{path} ")


# -- who is who --------------------------------------------------------------------------------------------------------

CONTRADICTIONS = {
    "UPDATE pods SET node = 'b' WHERE node = 'a'":
        "its table pods has the node b as number 0, which its table nodes calls a",
    "UPDATE occupancy SET node = 'b'":
        "its table occupancy has the node b as number 0, which its table nodes calls a",
    "UPDATE occupancy SET pod = 'default/high'":
        "its table occupancy has the pod default/high as number 0, which its table pods calls default/low",
    "UPDATE nodes SET node = 'c' WHERE node = 'b'": "its table nodes has the node c with the manifest of another",
}  # fmt: skip
ABSENCES = {
    "UPDATE pods SET node_id = 7, node = 'x' WHERE node = 'a'":
        "its table pods has the node x as number 7, which its table nodes does not have",
    "UPDATE occupancy SET node_id = 7, node = 'x'":
        "its table occupancy has the node x as number 7, which its table nodes does not have",
    "UPDATE occupancy SET pod_id = 9, pod = 'default/x'":
        "its table occupancy has the pod default/x as number 9, which its table pods does not have",
    "UPDATE decisions SET node = 'x' WHERE node = 'a'":
        "its table decisions has the node x in the column node, which its table nodes does not have",
    "UPDATE decisions SET nominated_node = 'x' WHERE nominated_node = 'a'":
        "its table decisions has the node x in the column nominated_node, which its table nodes does not have",
    "UPDATE preemptions SET node = 'x'":
        "its table preemptions has the node x in the column node, which its table nodes does not have",
}  # fmt: skip


@pytest.mark.parametrize("state", ["whole", "interrupted", "with a gap"])
@pytest.mark.parametrize(("statement", "words"), CONTRADICTIONS.items(), ids=[*CONTRADICTIONS.values()])
def test_names_and_numbers_never_contradict_each_other(
    damaged: Damaged, statement: str, words: str, state: str
) -> None:
    also = {"whole": (), "interrupted": (UNFINISHED,), "with a gap": (GAP,)}[state]
    assert words in refusal(damaged(statement, *also)).replace("'", "")


@pytest.mark.parametrize(("statement", "words"), ABSENCES.items(), ids=[*ABSENCES.values()])
def test_what_is_referred_to_is_there_unless_rows_may_be_missing(damaged: Damaged, statement: str, words: str) -> None:
    assert words in refusal(damaged(statement)).replace("'", "")
    for also in (UNFINISHED, GAP):
        open_run_file(damaged(statement, also)).connection.close()


# -- tables and columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [name for name in TABLES if name != "meta"])
def test_a_run_without_one_of_its_tables_is_damaged(damaged: Damaged, table: str) -> None:
    path = damaged(f"DROP TABLE {table}")
    if table in LATER_TABLES:
        with Run.open(path) as run:
            assert list(run.tables[table]) == []
            assert run.metrics().data is None
    else:
        assert refusal(path) == f"is damaged: it has no table {table}"


def test_columns_are_those_of_the_schema_but_for_later_ones(damaged: Damaged) -> None:
    """All of them in one file each would take long: one of every table, and all that came later."""
    for table in TABLES.values():
        if table.name == "meta":
            continue
        column = table.columns[-1].name
        later = LATER_COLUMNS.get(table.name, frozenset())
        path = damaged(f"ALTER TABLE {table.name} DROP COLUMN {column}")
        if column in later:
            open_run_file(path).connection.close()
        else:
            assert refusal(path) == f"is damaged: its table {table.name} has no column {column}"
    every = [f"ALTER TABLE {table} DROP COLUMN {column}" for table, some in LATER_COLUMNS.items() for column in some]
    with Run.open(damaged(*every)) as run:
        assert [row["pod"] for row in run.pods] == ["default/low", "default/high"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "UPDATE pods SET created_seconds = 'inf'::DOUBLE",
            "table pods has a time that is none in the column created_",
        ),
        (f"UPDATE events SET time_seconds = {LATEST_SECONDS * 2}", "a time that is none in the column time_seconds"),
        ("UPDATE decisions SET decision_id = -4", "table decisions has a number out of bounds (-4)"),
        ("UPDATE preemptions SET victim_id = 1 << 26", f"a number out of bounds ({1 << 26}) in the column victim_id"),
        ("UPDATE nodes SET cpu_milli = NULL", "table nodes has no amount in some rows in the column cpu_milli"),
        ("UPDATE pods SET gpu_index = '0-'", "has what names no devices in the column gpu_index"),
        ("UPDATE pods SET gpu_index = '12345'", "has what names no devices in the column gpu_index"),
        ("UPDATE pods SET template_id = 99", "2 of its pods have no row in its table templates"),
        ("UPDATE events SET message = repeat('x', 17000000)", "has a text of 17,000,000 bytes in the column message"),
    ],
    ids=["infinite", "far future", "negative", "beyond arrays", "null", "half a list", "long", "templates", "text"],
)
def test_what_rows_may_not_say_is_told_by_table_and_column(damaged: Damaged, statement: str, words: str) -> None:
    assert words in refusal(damaged(statement))


@pytest.mark.parametrize("text", ["", "3", "0-1-2", "0-1023"])
def test_devices_that_are_some_are_read(damaged: Damaged, text: str) -> None:
    with Run.open(damaged(f"UPDATE pods SET gpu_index = '{text}'")) as run:
        assert {row["gpu_index"] for row in run.pods} == {text}


# -- what it says about itself -----------------------------------------------------------------------------------------

OTHERS: dict[type, Any] = {dict: [1], list: {"a": 1}, str: 3, bool: "true", int: "seven"}


@pytest.mark.parametrize("key", META_TYPES)
def test_every_value_of_another_kind_is_refused(damaged: Damaged, key: str) -> None:
    kind = META_TYPES[key]
    value = json.dumps(OTHERS[kind[0] if isinstance(kind, tuple) else kind])
    path = damaged(f"DELETE FROM meta WHERE key = '{key}'", f"INSERT INTO meta VALUES ('{key}', '{value}')")
    assert refusal(path) == f"is no run that Fairway wrote: {key} in its table meta is of another kind"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("3", "in version 3 of the tables; this one reads version 2 at most. Update Fairway to read it."),
        ("0", "in version 0 of the tables; this one reads version 1 at least. Read it with the Fairway that wrote it."),
        ('"x"', "its table meta has no schema_version"),
        ("[2]", "its table meta has no schema_version"),
        ("1e999", "its table meta has no schema_version"),
        ("[" * 500 + "]" * 500, "is no run that Fairway wrote: its table meta is"),
    ],
    ids=["newer", "older", "text", "list", "infinite", "nested"],
)
def test_versions_that_are_not_read(damaged: Damaged, value: str, words: str) -> None:
    assert words in refusal(damaged(f"UPDATE meta SET value = '{value}' WHERE key = 'schema_version'"))


def test_the_end_of_an_interrupted_run_is_the_last_time_it_knows(damaged: Damaged) -> None:
    with Run.open(damaged(UNFINISHED, "DELETE FROM meta WHERE key = 'end_seconds'")) as run:
        assert (run.is_complete, run.end_seconds) == (False, 1.0)
        assert repr(run) == f"<Run {run.path}, incomplete>"


def spoil(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE pods SET node = 'renamed'")


def spoil_under_the_old_date(path: Path) -> None:
    before = path.stat()
    spoil(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_a_spoiled_one(path: Path) -> None:
    other = path.with_name("other")
    shutil.copy2(path, other)
    spoil_under_the_old_date(other)
    other.replace(path)


def leave_a_log_beside(path: Path) -> None:
    with duckdb.connect(str(path), config={"wal_autocheckpoint": "1GB"}) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("UPDATE pods SET node = 'renamed'")
    assert path.with_name(path.name + ".wal").exists()


@pytest.mark.parametrize(
    "change", [spoil, spoil_under_the_old_date, replace_by_a_spoiled_one, leave_a_log_beside], ids=lambda f: f.__name__
)
def test_a_run_that_was_found_good_is_looked_through_again_once_it_changed(
    damaged: Damaged, change: Callable[[Path], None]
) -> None:
    path = damaged()
    for _ in range(3):
        with Run.open(path) as run:
            assert run.is_complete
    change(path)
    for _ in range(2):
        with pytest.raises(RecordError, match="renamed"):
            Run.open(path)


def test_not_every_run_is_remembered_for_ever(damaged: Damaged, tmp_path: Path) -> None:
    path = damaged()
    Run.open(path).close()
    for number in range(MOST_EXAMINED + 5):
        EXAMINED[(str(number), 0, 0, 0, 0, 0)] = "no file"
    path.rename(tmp_path / "later")
    Run.open(tmp_path / "later").close()
    assert len(EXAMINED) == MOST_EXAMINED
    assert any(name == str(tmp_path / "later") for name, *_ in EXAMINED)


def test_a_run_reaches_nothing_outside_of_itself(good: Path, tmp_path: Path) -> None:
    """Whoever puts a question to it, and whatever is in it."""
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with Run.open(good) as run:
        for question in (
            f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
            f"SELECT * FROM '{tmp_path / 'secret.csv'}'",
            "SELECT * FROM glob('/*')",
        ):
            with pytest.raises(RecordError):
                list(run.sql(question).rows())
        connection = open_run_file(good).connection
        for statement in (
            "SET enable_external_access = true",
            f"COPY pods TO '{tmp_path / 'canary'}'",
            "INSTALL httpfs",
            "UPDATE pods SET priority = 7",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        connection.close()
    assert not (tmp_path / "canary").exists()


def test_a_file_that_another_process_writes_is_told_from_a_broken_one() -> None:
    assert is_locked('IO Error: Could not set lock on file "x": Conflicting lock is held in python')
    assert not is_locked("IO Error: The file is not a valid DuckDB database file")

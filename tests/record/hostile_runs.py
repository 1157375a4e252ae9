"""Runs that somebody made to do harm: a good one with something else in it, each by name.

In: a folder, a run that is whole, and the paths of a canary (a file that must never appear) and of a secret (one that
must never be read). Out: the path of the hostile run. The tests of the room and of the command line share them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb

__all__ = ["HOSTILE_FILES", "HOSTILE_STATEMENTS", "hostile_file", "hostile_run"]

HOSTILE_STATEMENTS: dict[str, tuple[str, ...]] = {
    "a column's name that ends a statement": (
        """UPDATE resources SET amount_column = 'cpu_milli") FROM nodes; COPY (SELECT 1) TO ''{canary}''; --'""",
    ),
    "a real column of such a name": (
        """ALTER TABLE nodes ADD COLUMN "a""; COPY (SELECT 1) TO '{canary}'; --" BIGINT DEFAULT 0""",
    ),
    "an amount in a column of the schema": ("UPDATE resources SET amount_column = 'uid' WHERE resource = 'cpu'",),
    "an amount in no column": ("INSERT INTO resources VALUES (9, 'x', 'x', 'count')",),
    "two amounts in one column": ("INSERT INTO resources VALUES (9, 'x', 'cpu_milli', 'count')",),
    "a view instead of a table": (
        "DROP TABLE events",
        "CREATE VIEW events AS SELECT 0.0::DOUBLE AS time_seconds, 'k' AS kind, 's' AS subject, 'r' AS reason,"
        " content AS message FROM read_text('{secret}')",
    ),
    "a view beside the tables": ("CREATE VIEW extra AS SELECT * FROM glob('/*')",),
    "a view over a csv": ("DROP TABLE gaps", "CREATE VIEW gaps AS SELECT * FROM read_csv('{secret}', header = false)"),
    "a macro for a function": ("CREATE MACRO coalesce_(a, b) AS a", "CREATE MACRO sum(a) AS 42"),
    "a macro for count": ("CREATE MACRO count(a) AS 0",),
    "a macro for an operator": ('CREATE MACRO main."+"(a, b) AS 7',),
    "a macro for what lists macros": ("CREATE MACRO duckdb_functions() AS TABLE SELECT 'x' AS function_name",),
    "a macro that is a table": ("CREATE MACRO evil() AS TABLE SELECT * FROM read_text('{secret}')",),
    "a generated column": (
        "CREATE TABLE other (time_seconds DOUBLE NOT NULL, kind VARCHAR NOT NULL, subject VARCHAR NOT NULL,"
        " reason VARCHAR NOT NULL, message VARCHAR GENERATED ALWAYS AS (upper(reason)))",
        "DROP TABLE events",
        "ALTER TABLE other RENAME TO events",
    ),
    "a default that is calculated": ("ALTER TABLE events ALTER COLUMN message SET DEFAULT random()::VARCHAR",),
    "a check": ("CREATE TABLE c (a INTEGER CHECK (a > 0))",),
    "another type": ("ALTER TABLE pods ALTER COLUMN created_seconds TYPE VARCHAR",),
    "a type of the file's own": ("CREATE TYPE mood AS ENUM ('a', 'b')",),
    "a struct": ("ALTER TABLE events ALTER COLUMN message TYPE STRUCT(a VARCHAR) USING {{'a': message}}",),
    "nulls allowed": ("ALTER TABLE pods ALTER COLUMN pod DROP NOT NULL",),
    "a column too many": ("ALTER TABLE events ADD COLUMN more VARCHAR",),
    "a column too few": ("ALTER TABLE events DROP COLUMN message",),
    "a table too many": ("CREATE TABLE notes (a INTEGER)",),
    "another schema": ("CREATE SCHEMA other", "CREATE TABLE other.pods AS SELECT * FROM main.pods"),
    "a sequence": ("CREATE SEQUENCE s",),
    "an index": ("CREATE INDEX i ON events (reason)",),
    "meta as a view": (
        "ALTER TABLE meta RENAME TO gone",
        "CREATE VIEW meta AS SELECT 'schema_version' AS key, content AS value FROM read_text('{secret}')",
    ),
    "meta nested without end": (
        "UPDATE meta SET value = repeat('[', 100000) || repeat(']', 100000) WHERE key = 'scenario'",
    ),
    "meta of another kind": ("UPDATE meta SET value = '[1]' WHERE key = 'scenario'",),
    "a node's number beyond memory": ("UPDATE nodes SET node_id = 2147483647",),
    "a number below zero": ("UPDATE occupancy SET pod_id = -1",),
    "a time that is no number": ("UPDATE pods SET created_seconds = 'nan'::DOUBLE",),
    "a time beyond all dates": ("UPDATE pods SET bound_seconds = 1e300",),
    "an amount that is null": ("UPDATE occupancy SET cpu_milli = NULL",),
    "devices that are none": ("UPDATE pods SET gpu_index = 'x; y'",),
    "a node renamed": ("UPDATE nodes SET node = 'renamed' WHERE node_id = (SELECT min(node_id) FROM nodes)",),
    "a node renamed in all tables": (
        "UPDATE nodes SET node = node || 'x'",
        "UPDATE pods SET node = node || 'x'",
        "UPDATE occupancy SET node = node || 'x'",
        "UPDATE decisions SET node = node || 'x', nominated_node = nominated_node || 'x'",
        "UPDATE preemptions SET node = node || 'x'",
    ),
    "pods on a node renamed": ("UPDATE pods SET node = 'renamed'",),
    "pods on a node that is not there": ("UPDATE pods SET node_id = node_id + 1000",),
    "intervals on a node renamed": ("UPDATE occupancy SET node = 'renamed'",),
    "intervals on a node that is not there": ("UPDATE occupancy SET node_id = node_id + 1000",),
    "intervals of another pod": ("UPDATE occupancy SET pod = 'default/renamed'",),
    "intervals of a pod that is not there": ("UPDATE occupancy SET pod_id = 99999",),
    "decisions for a node that is not there": ("UPDATE decisions SET node = 'renamed' WHERE node IS NOT NULL",),
    "room made on a node that is not there": (
        "UPDATE decisions SET nominated_node = 'renamed' WHERE nominated_node IS NOT NULL",
    ),
    "victims on a node that is not there": ("UPDATE preemptions SET node = 'renamed'",),
    "nodes gone": ("DELETE FROM nodes",),
    "pods without templates": ("DELETE FROM templates",),
    "a text without end": ("UPDATE events SET message = repeat('x', 20000000)", "INSERT INTO events"
                           " VALUES (0.0, 'k', 's', 'r', repeat('x', 20000000))"),
    "rows without end": (
        "INSERT INTO gaps SELECT 0.0, 0.0, 'pods', 1, 'x' FROM range(20000000)",
    ),
}  # fmt: skip


def hostile_run(folder: Path, good: Path, name: str, *, canary: Path, secret: Path) -> Path:
    """A copy of the good run with these statements executed in it."""
    path = folder / "evil.duckdb"
    shutil.copyfile(good, path)
    with duckdb.connect(str(path)) as connection:
        for statement in HOSTILE_STATEMENTS[name]:
            connection.execute(statement.format(canary=canary, secret=secret))
    return path


def _fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path, _: Path) -> None:
    path.symlink_to(path.name)


def _text(path: Path, _: Path) -> None:
    path.write_text("top secret\n" * 100)


def _cut(path: Path, good: Path) -> None:
    path.write_bytes(good.read_bytes()[:5000])


def _log_pipe(path: Path, good: Path) -> None:
    shutil.copyfile(good, path)
    os.mkfifo(path.with_name(path.name + ".wal"))


def _log_link(path: Path, good: Path) -> None:
    shutil.copyfile(good, path)
    path.with_name(path.name + ".wal").symlink_to("/dev/zero")


def _log_huge(path: Path, good: Path) -> None:
    shutil.copyfile(good, path)
    with path.with_name(path.name + ".wal").open("wb") as log:
        log.truncate(1 << 41)  # a hole: it takes no room


HOSTILE_FILES: dict[str, Callable[[Path, Path], None]] = {
    "a pipe": _fifo,
    "a device": _device,
    "a link to itself": _loop,
    "a text": _text,
    "a run that is cut off": _cut,
    "a pipe for a log": _log_pipe,
    "a device for a log": _log_link,
    "a log without end": _log_huge,
}


def hostile_file(folder: Path, good: Path, name: str) -> Path:
    """Something that is no run at all."""
    path = folder / "evil.duckdb"
    HOSTILE_FILES[name](path, good)
    return path

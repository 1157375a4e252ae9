"""Run files changed at random, to see that reading one ends in an answer or in a `RecordError`, whatever is in it.

By hand: `python -m tests.record.run_fuzz --rounds 100 [--seed N]`, 20 files a round; a file that breaks something is
left beside, and its name printed. `test_run_fuzz` does a few rounds. Half of the files have bytes changed, half values,
columns or tables. They are read in a process that may die, so that a crash of DuckDB is seen too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np

from fairway.record import RecordError, Run, export_csv, export_trace, measure
from fairway.record.schema import TABLES
from fairway.record.snapshot import nodes_at, objects_at, pods_at
from tests.record.runs import small_run

VALUES = ("NULL", "''", "'x'", "'[]'", "'{}'", "'=1+1'", "-1", "0", "1", "2147483647", "1e300", "'nan'", "'inf'",
          "repeat('[', 5000)", "chr(27)", "'null'", "'{\"kind\":\"Pod\"}'", "random()")  # fmt: skip
Thing = TypeVar("Thing")
TYPES = ("VARCHAR", "DOUBLE", "BIGINT", "INTEGER", "BOOLEAN", "BLOB", "DATE", "VARCHAR[]", "DECIMAL(18, 3)")


class Chance:
    """Choices, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def below(self, number: int) -> int:
        """A number from 0."""
        return int(self._generator.integers(number))

    def pick(self, things: Sequence[Thing]) -> Thing:
        """One of them."""
        return things[self.below(len(things))]

    def bytes(self, length: int) -> bytes:
        """So many."""
        return self._generator.bytes(length)


def change_bytes(chance: Chance, path: Path) -> None:
    """Change, cut out or double some bytes; many of them in the headers, where they are no mere damage."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.pick((1, 1, 3, 30))):
        place = chance.below(chance.pick((len(data), 12_288)))
        length = chance.pick((1, 4, 64))
        match chance.below(4):
            case 0:
                data[place : place + length] = chance.bytes(length)
            case 1:
                data[place] ^= 1 << chance.below(8)
            case 2:
                del data[place : place + length]
            case _:
                data[place:place] = data[place : place + length]
    path.write_bytes(data)


def change_tables(chance: Chance, path: Path) -> None:
    """Change values, or what tables and columns there are; DuckDB itself refuses some."""
    with duckdb.connect(str(path)) as connection:
        for _ in range(chance.pick((1, 1, 2, 5))):
            table = TABLES[chance.pick(list(TABLES))]
            column = chance.pick(table.columns).name
            name, value = table.name, chance.pick(VALUES)
            statement = chance.pick(
                (
                    *(f"UPDATE {name} SET {column} = {value}",) * 8,
                    f"DELETE FROM {name} WHERE random() < 0.5",
                    f"INSERT INTO {name} SELECT * FROM {name}",
                    f"ALTER TABLE {name} ALTER COLUMN {column} TYPE {chance.pick(TYPES)}",
                    f"ALTER TABLE {name} ALTER COLUMN {column} DROP NOT NULL",
                    f"ALTER TABLE {name} DROP COLUMN {column}",
                    f"ALTER TABLE {name} ADD COLUMN more {chance.pick(TYPES)} DEFAULT {value}",
                    f"CREATE VIEW v{chance.below(9)} AS SELECT * FROM {name}",
                    f"DROP TABLE {name}",
                )
            )
            with contextlib.suppress(duckdb.Error):
                connection.execute(statement)


def read(path: Path) -> str:
    """Ask a run everything; what came of it, in a word."""
    try:
        with Run.open(path) as run, tempfile.TemporaryDirectory() as folder:
            end = run.end_seconds
            for table in run.tables.values():
                list(table.rows())
            list(run.node_load(end))
            measure(run)
            for look in (nodes_at, pods_at, objects_at):
                look(run, end)
            export_csv(run, folder)
            export_trace(run, Path(folder) / "trace.json")
    except RecordError:
        return "refused"
    return "read"


def fuzz(num_rounds: int, seed: int, folder: Path) -> dict[str, int]:
    """Change and read; numbers of files by what came of them. What breaks raises."""
    good = folder / "good"
    small_run(good).close()
    chance, counts = Chance(seed), {"read": 0, "refused": 0}
    for _ in range(num_rounds):
        paths = []
        for number in range(20):
            path = folder / f"changed-{number}"
            shutil.copyfile(good, path)
            path.with_name(path.name + ".wal").unlink(missing_ok=True)
            (change_bytes if number % 2 else change_tables)(chance, path)
            paths.append(str(path))
        done = subprocess.run(
            [sys.executable, "-m", "tests.record.run_fuzz", "--read", *paths],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        for line in lines:
            counts[json.loads(line)] += 1
        if done.returncode:
            broken = shutil.copy(paths[len(lines)], folder / f"broken-{seed}")
            raise AssertionError(f"{broken}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    return counts


def main() -> None:
    """The command; see above."""
    options = argparse.ArgumentParser(description="change run files at random and read them")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--read", nargs="+", type=Path, metavar="FILE", help="only read these")
    given = options.parse_args()
    if given.read:
        for path in given.read:
            sys.stdout.write(f"{json.dumps(read(path))}\n")
            sys.stdout.flush()
        return
    counts = fuzz(given.rounds, given.seed, Path(tempfile.mkdtemp(prefix="fairway-fuzz-")))
    sys.stdout.write(f"{counts}\n")


if __name__ == "__main__":
    main()

"""Run files changed at random, to see that reading one ends in an answer or in a `RecordError`, whatever is in it.

By hand: `python -m tests.record.run_fuzz --seconds 60 [--seed N]`; a file that breaks something is left beside, and its
name printed. `test_run_fuzz` does it for some seconds. Half of the files have bytes changed, half values, columns or
tables. Each is read in a process of its own that is thrown away when it dies, so that a crash of DuckDB is seen too.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from fairway.record import RecordError, Run, export_csv, export_trace, measure
from fairway.record.schema import TABLES
from fairway.record.snapshot import nodes_at, objects_at, pods_at
from tests.record.runs import small_run

VALUES = ("NULL", "''", "'x'", "'[]'", "'{}'", "'=1+1'", "-1", "0", "1", "2147483647", "1e300", "'nan'", "'inf'",
          "repeat('[', 5000)", "chr(27)", "'null'", "'{\"kind\":\"Pod\"}'", "random()")  # fmt: skip
TYPES = ("VARCHAR", "DOUBLE", "BIGINT", "INTEGER", "BOOLEAN", "BLOB", "DATE", "VARCHAR[]", "DECIMAL(18, 3)")


def change_bytes(chance: random.Random, path: Path) -> None:
    """Change, cut out or double some bytes; many of them in the headers, where they are no mere damage."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 3, 30))):
        place = chance.randrange(len(data) if chance.random() < 0.6 else 12_288)
        length = chance.choice((1, 4, 64))
        match chance.randrange(4):
            case 0:
                data[place : place + length] = chance.randbytes(length)
            case 1:
                data[place] ^= 1 << chance.randrange(8)
            case 2:
                del data[place : place + length]
            case _:
                data[place:place] = data[place : place + length]
    path.write_bytes(data)


def change_tables(chance: random.Random, path: Path) -> None:
    """Change values, or what tables and columns there are; DuckDB itself refuses some."""
    with duckdb.connect(str(path)) as connection:
        for _ in range(chance.choice((1, 1, 2, 5))):
            table = TABLES[chance.choice(list(TABLES))]
            column = chance.choice(table.columns).name
            name, value = table.name, chance.choice(VALUES)
            statement = chance.choice(
                (
                    *(f"UPDATE {name} SET {column} = {value}",) * 8,
                    f"DELETE FROM {name} WHERE random() < 0.5",
                    f"INSERT INTO {name} SELECT * FROM {name}",
                    f"ALTER TABLE {name} ALTER COLUMN {column} TYPE {chance.choice(TYPES)}",
                    f"ALTER TABLE {name} ALTER COLUMN {column} DROP NOT NULL",
                    f"ALTER TABLE {name} DROP COLUMN {column}",
                    f"ALTER TABLE {name} ADD COLUMN more {chance.choice(TYPES)} DEFAULT {value}",
                    f"CREATE VIEW v{chance.randrange(9)} AS SELECT * FROM {name}",
                    f"DROP TABLE {name}",
                )
            )
            try:
                connection.execute(statement)
            except duckdb.Error:
                continue


def read(path: Path) -> str:
    """Ask a run everything; what came of it, in a word."""
    try:
        with Run.open(path) as run, tempfile.TemporaryDirectory() as folder:
            end = run.end_seconds
            for table in run.tables.values():
                list(table.rows())
            list(run.node_load(end))
            measure(run)
            nodes_at(run, end), pods_at(run, end), objects_at(run, end)
            export_csv(run, folder)
            export_trace(run, Path(folder) / "trace.json")
    except RecordError:
        return "refused"
    return "read"


def fuzz(seconds: float, seed: int, folder: Path) -> dict[str, int]:
    """Change and read; numbers of files by what came of them. What breaks raises."""
    good = folder / "good"
    small_run(good).close()
    chance, counts = random.Random(seed), {"read": 0, "refused": 0}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
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
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--read", nargs="+", type=Path, metavar="FILE", help="only read these")
    given = options.parse_args()
    if given.read:
        for path in given.read:
            print(json.dumps(read(path)), flush=True)
        return
    print(fuzz(given.seconds, given.seed, Path(tempfile.mkdtemp(prefix="fairway-fuzz-"))))


if __name__ == "__main__":
    main()

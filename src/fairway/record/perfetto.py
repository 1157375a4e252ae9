"""A run as a trace, to look at in Perfetto (ui.perfetto.dev) or chrome://tracing.

In: a `Run`. Out: a JSON file in the Trace Event Format, gzipped if its name ends so, written as it is read. Each node
is a process whose pods are slices, beside each other in lanes where they overlap; a counter shows the pods that wait.
Each scheduler is a process on a clock of its own, the time it used from the run's beginning: one slice an attempt, and
within it, where it was recorded (it is all CPU time then), one for each plugin and extension point.
"""

from __future__ import annotations

import contextlib
import gzip
import heapq
import io
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from fairway.own_file import PRIVATE_MODE, first_bytes, replacing
from fairway.record.errors import CannotWriteError
from fairway.record.run import Run

__all__ = ["export_trace"]

Event = dict[str, Any]

MICROSECONDS = 1_000_000
SCHEDULERS = 1  # process ids: the queue, then the schedulers, then the nodes
NODES = 1000
QUEUE = 0
BEGINNING = '{"otherData":{"made by":"Fairway"},"displayTimeUnit":"ms","traceEvents":['
"""By which a trace of ours is told from others."""


def export_trace(run: Run, path: str | os.PathLike[str]) -> int:
    """Write the trace; returns the number of events in it."""
    path = Path(path)
    count = 0
    is_packed = path.suffix == ".gz"
    with (
        replacing(path, "a trace", _is_trace, CannotWriteError, PRIVATE_MODE) as beside,
        _open(beside, is_packed=is_packed) as file,
    ):
        file.write(BEGINNING + "\n")
        for event in _events(run):
            file.write((",\n" if count else "") + json.dumps(event, separators=(",", ":")))
            count += 1
        file.write("\n]}\n")
    return count


@contextlib.contextmanager
def _open(path: Path, *, is_packed: bool) -> Iterator[IO[str]]:
    if not is_packed:
        with path.open("w", encoding="utf-8") as plain:
            yield plain
        return
    # The same bytes every time: no time in it, and not the name under which it is written.
    with (
        path.open("wb") as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as text,
    ):
        yield text


def _is_trace(path: Path) -> bool:
    mark = BEGINNING.encode()
    if path.suffix != ".gz":
        return first_bytes(path).startswith(mark)
    try:
        with gzip.open(path) as stream:
            return stream.read(len(mark)) == mark
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return False


def _events(run: Run) -> Iterator[Event]:
    yield from _waiting(run)
    yield from _attempts(run)
    yield from _between_attempts(run)
    yield from _pods_on_nodes(run)


def _pods_on_nodes(run: Run) -> Iterator[Event]:
    """Slices of pods, node by node."""
    end = run.end_seconds
    columns = list(run.resources.values())
    node, lanes = -1, Lanes()
    for row in run.sql("SELECT * FROM occupancy ORDER BY node_id, from_seconds, pod_id, rowid").rows():
        process = NODES + row["node_id"]
        if row["node_id"] != node:
            node, lanes = row["node_id"], Lanes()
            yield from _process(process, f"node {row['node']}")
        until = end if row["to_seconds"] is None else row["to_seconds"]
        yield {
            "name": row["pod"],
            "cat": "pod",
            "ph": "X",
            "pid": process,
            "tid": lanes.take(row["from_seconds"], until),
            "ts": row["from_seconds"] * MICROSECONDS,
            "dur": (until - row["from_seconds"]) * MICROSECONDS,
            "args": {"reason": row["reason"] or "running", **{column: row[column] for column in columns}},
        }


def _waiting(run: Run) -> Iterator[Event]:
    """A counter of the pods that are neither bound nor ended."""
    yield from _process(QUEUE, "waiting pods")
    changes = run.sql(
        """
        SELECT time, sum(sum(step)) OVER (ORDER BY time) AS waiting FROM (
          SELECT created_seconds AS time, 1 AS step FROM pods
          UNION ALL SELECT coalesce(bound_seconds, ended_seconds), -1 FROM pods
        ) WHERE time IS NOT NULL GROUP BY time ORDER BY time
        """
    )
    for row in changes.rows():
        yield {
            "name": "waiting",
            "ph": "C",
            "pid": QUEUE,
            "ts": row["time"] * MICROSECONDS,
            "args": {"pods": int(row["waiting"])},
        }


ATTEMPTS = """
SELECT coalesce(d.decision_id, p.decision_id) AS decision_id, coalesce(d.scheduler, p.scheduler) AS scheduler,
       d.pod, d.node, d.outcome, d.cycle_seconds, d.time_seconds, d.attempt, d.num_feasible, d.message, p.spent
FROM decisions d FULL JOIN (
  SELECT decision_id, any_value(scheduler) AS scheduler,
         list({plugin: plugin, point: point, num_calls: num_calls, cpu_seconds: cpu_seconds} ORDER BY rowid) AS spent
  FROM plugin_times WHERE decision_id IS NOT NULL GROUP BY decision_id
) p USING (decision_id) ORDER BY decision_id
"""


def _attempts(run: Run) -> Iterator[Event]:
    """Slices of attempts, each scheduler on a clock of the time it used; within them those of plugins."""
    processes: dict[str, int] = {}
    clocks: dict[str, float] = {}
    is_timed = len(run.plugin_times) > 0
    clock = "CPU time" if is_timed else "real time"
    for row in (run.sql(ATTEMPTS) if is_timed else run.decisions).rows():
        scheduler = row["scheduler"]
        if scheduler not in processes:
            processes[scheduler] = SCHEDULERS + len(processes)
            yield from _process(processes[scheduler], f"scheduler {scheduler} ({clock})")
            yield _thread(processes[scheduler], 0, "attempts")
        begin = clocks.get(scheduler, 0.0)
        spent = row.get("spent") or ()
        in_plugins = sum(one["cpu_seconds"] for one in spent)
        seconds = max(row["cycle_seconds"] or 0.0, in_plugins)  # an attempt that was not kept: what is known of it
        clocks[scheduler] = begin + seconds
        place = {"ph": "X", "pid": processes[scheduler], "tid": 0}
        if row["outcome"] is not None:
            yield {
                "name": f"{row['pod']} → {row['node']}" if row["node"] else row["pod"],
                "cat": row["outcome"],
                **place,
                "ts": begin * MICROSECONDS,
                "dur": seconds * MICROSECONDS,
                "args": {
                    "time_seconds": row["time_seconds"],
                    "attempt": row["attempt"],
                    "num_feasible": row["num_feasible"],
                    "message": row["message"],
                },
            }
        for one in spent:
            yield _plugin_slice(one, begin, place)
            begin += one["cpu_seconds"]


def _between_attempts(run: Run) -> Iterator[Event]:
    """What plugins used between attempts, a lane for each scheduler."""
    known = run.sql("SELECT scheduler FROM decisions GROUP BY scheduler ORDER BY min(decision_id)")
    schedulers = [row["scheduler"] for row in known.rows()]  # in the order `_attempts` numbered them
    clocks: dict[str, float] = {}
    for row in run.plugin_times.rows():
        if row.get("decision_id") is not None or row["scheduler"] not in schedulers:
            continue
        process = SCHEDULERS + schedulers.index(row["scheduler"])
        if row["scheduler"] not in clocks:
            yield _thread(process, 1, "between attempts")
        begin = clocks.get(row["scheduler"], 0.0)
        clocks[row["scheduler"]] = begin + row["cpu_seconds"]
        yield _plugin_slice(row, begin, {"ph": "X", "pid": process, "tid": 1})


def _plugin_slice(spent: Event, begin: float, place: Event) -> Event:
    return {
        "name": f"{spent['plugin']} {spent['point']}",
        "cat": "plugin",
        **place,
        "ts": begin * MICROSECONDS,
        "dur": spent["cpu_seconds"] * MICROSECONDS,
        "args": {"num_calls": spent["num_calls"]},
    }


class Lanes:
    """Lanes of one node: slices in a lane do not overlap. Slices have to come in order of their beginnings."""

    def __init__(self) -> None:
        self._busy: list[tuple[float, int]] = []  # a heap of (end, lane)
        self._free: list[int] = []  # a heap
        self._num_lanes = 0

    def take(self, begin: float, end: float) -> int:
        """The lowest lane that is free from `begin` on; it is taken until `end`."""
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane = self._num_lanes
            self._num_lanes += 1
        heapq.heappush(self._busy, (end, lane))
        return lane


def _process(number: int, name: str) -> Iterator[Event]:
    """A process with a name, in the order of numbers."""
    yield {"name": "process_name", "ph": "M", "pid": number, "args": {"name": name}}
    yield {"name": "process_sort_index", "ph": "M", "pid": number, "args": {"sort_index": number}}


def _thread(process: int, number: int, name: str) -> Event:
    return {"name": "thread_name", "ph": "M", "pid": process, "tid": number, "args": {"name": name}}

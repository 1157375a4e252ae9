"""The runs that every page is looked at with; what was measured is set to round numbers: all machines draw the same.

In: a folder. Out: a server of eight runs by name: `day` (a busy half hour with all that is kept), `other` (the same
under a slow scheduler), `queues`, `gpus`, `hostile` (`day` with names, labels, owners, users and messages that would
be markup, links, or turn what stands beside them), `nothing` (no nodes, no pods), `bare` (`day` without decisions,
moves of the queue and times of plugins) and `cut` (its writer was killed).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb

from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from tests.explain.queues.queue_runs import queue_run
from tests.explain.run_files import QUICK, SCENARIO, SLOW
from tests.record.runs import writer
from tests.web.conftest import gpu_run
from tests.web.served import Served, served

__all__ = ["HOSTILE_NAMES", "HOSTILE_SPACE", "page_server"]

HOSTILE_NAMES: Final = (
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE pods; --",
    'a\u202eb%2F..%2f"&?#',
    "javascript:alert(3)",
    "n" * 253,
)
"""Of the five nodes; pods have them before their own names."""
HOSTILE_SPACE: Final = '"><img src=x onerror=alert(2)>\u2067'
HOSTILE_WORDS: Final = "<script>alert(4)</script>\u202e\u0007 {{constructor}} ${alert(5)}"

EVERYTHING: Final = "{scores: 3, pluginTimes: true, queue: true}"
NOTHING: Final = "{decisions: none, queue: false}"
STEADY: Final = (
    "UPDATE decisions SET cycle_seconds = 0.0004 + 0.0001 * (decision_id % 7)",
    "UPDATE plugin_times SET cpu_seconds = 0.00002 * (1 + length(plugin) % 5)",
    "UPDATE plans SET cpu_seconds = 0.002",
)
NAMED: Final = {
    "nodes": ("node",),
    "pods": ("pod", "namespace", "user_name", "node"),
    "decisions": ("pod", "node", "nominated_node"),
    "scores": ("node",),
    "preemptions": ("node", "victim"),
    "occupancy": ("pod", "node"),
    "events": ("subject",),
    "objects": ("name",),
}
SAID: Final = {"decisions": ("message",), "filter_counts": ("reason",), "events": ("message",)}


@contextmanager
def page_server(folder: Path) -> Iterator[Served]:
    """Serve them for as long as the block lasts."""
    (folder / "made").mkdir()
    day = _simulated(folder / "day.duckdb", QUICK, EVERYTHING)
    runs = [
        day,
        _simulated(folder / "other.duckdb", SLOW, EVERYTHING),
        Path(queue_run(folder)),
        Path(gpu_run(folder / "made")).rename(folder / "gpus.duckdb"),
        hostile_copy(day, folder / "hostile.duckdb"),
        _nothing(folder / "nothing.duckdb"),
        _simulated(folder / "bare.duckdb", QUICK, NOTHING),
        Path(shutil.copyfile(day, folder / "cut.duckdb.partial")),
    ]
    for path in runs:
        _execute(path, *STEADY)
    _execute(runs[-1], "UPDATE meta SET value = 'false' WHERE key = 'complete'")
    with served([str(path) for path in runs]) as server:
        yield server


def _simulated(path: Path, scheduler: str, record: str) -> Path:
    text = SCENARIO.format(scheduler=scheduler, decisions="all").replace("{decisions: all}", record)
    simulate(decode_scenario(text.encode(), "busy.yaml"), record=path)
    return path


def _nothing(path: Path) -> Path:
    with writer(path) as made:
        made.close(600.0)
    return path


def _execute(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


# -- hostile -----------------------------------------------------------------------------------------------------------


def hostile_copy(good: Path, path: Path) -> Path:
    """The same run with other names, in every table that has them."""
    shutil.copyfile(good, path)
    with duckdb.connect(str(path)) as connection:
        functions: dict[str, Callable[[str], str]] = {"named": _named, "said": _said, "made": _manifest}
        for name, function in functions.items():
            connection.create_function(name, function, ["VARCHAR"], "VARCHAR")
        for table, columns in NAMED.items():
            connection.execute(f"UPDATE {table} SET {', '.join(f'{one} = named({one})' for one in columns)}")
        for table, columns in SAID.items():
            connection.execute(f"UPDATE {table} SET {', '.join(f'{one} = said({one})' for one in columns)}")
        for table in ("nodes", "objects"):
            connection.execute(f"UPDATE {table} SET manifest = made(manifest)")
        connection.execute("UPDATE pods SET owner = 'Job/' || pod, user_name = said(user_name)")
    return path


def _named(name: str) -> str:
    """Another name for the same: of a node, a pod with its namespace, or a namespace."""
    if name.startswith("n-"):
        return HOSTILE_NAMES[int(name[2:])]
    space, slash, own = name.partition("/")
    number = sum(own.encode())
    return (HOSTILE_SPACE if space == "default" else space) + slash + HOSTILE_NAMES[number % 4] * bool(slash) + own


def _said(words: str) -> str:
    return f"{words} {HOSTILE_WORDS}"


def _manifest(text: str) -> str:
    manifest: dict[str, Any] = json.loads(text)
    metadata = manifest["metadata"]
    metadata["name"] = _named(metadata["name"])
    if manifest["kind"] == "Node":
        metadata["labels"] = metadata.get("labels", {}) | {"team": HOSTILE_WORDS, HOSTILE_SPACE: metadata["name"]}
    return json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)

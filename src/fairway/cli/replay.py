"""`fairway sim --replay RUN`: does a recorded run come out the same once more?

In: a run. Out: if it holds the scenario it came from, that is run again and recorded elsewhere, and every row of every
table has to be the same, but for what was measured (CPU time). An anonymous run, one of a live cluster, of an older
schema or one with gaps does not: each of its attempts is made again on the cluster as it was then, and the decisions
have to be the same. Exit code 0 if it is so, 3 if not. Called by `sim`.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.exit_codes import NO
from fairway.words import count_text

if TYPE_CHECKING:
    from fairway.record import Run
    from fairway.record.difference import RowDifference

__all__ = ["replay"]

COLUMNS = (Column("run", "RUN"), Column("same", "SAME"), Column("table", "TABLE"), Column("row", "ROW", right=True))


def replay(path: str, output: str) -> int:
    """Run it again, or make its attempts again, and compare; returns the exit code."""
    from fairway.record import Run

    with Run.open(path) as recorded:
        return _run_again(recorded, path, output) if _can_run_again(recorded) else _decide_again(recorded, path, output)


def _can_run_again(run: Run) -> bool:
    """Does the run hold the scenario it came from, and everything that came of it?"""
    from fairway.explain.run_time import gap_sentences
    from fairway.record.schema import SCHEMA_VERSION

    is_whole = run.is_complete and not gap_sentences(run) and run.meta["schema_version"] == SCHEMA_VERSION
    return is_whole and run.origin == "simulated" and "cluster" in (run.scenario.get("spec") or {})


def _decide_again(run: Run, path: str, output: str) -> int:
    """Without a scenario: every attempt once more, on the cluster as it was."""
    from fairway.explain.run_replay import replay_run

    replayed = replay_run(run)
    if is_structured(output):
        unlike = replayed.unlike[0].recorded["decision_id"] if replayed.unlike else None
        row = {"run": path, "same": replayed.is_same, "table": "decisions", "row": unlike}
        emit([row], COLUMNS, output, document=replayed.document())
    else:
        say(str(replayed))
        for note in replayed.notes:
            narrate(f"note: {note}")
        if replayed.unlike:
            first = replayed.unlike[0].recorded
            which = f"--run {shlex.quote(path)} --attempt {first['attempt']}"
            narrate(f"→ fairway why {word(first['pod'])} {which}")
    return 0 if replayed.is_same else NO


def _run_again(recorded: Run, path: str, output: str) -> int:
    """From its scenario: every row of every table has to be the same."""
    from fairway import __version__
    from fairway.cli.simulation_bar import run_with_bar
    from fairway.compare.simulations import SimulationJob
    from fairway.record import Run
    from fairway.record.difference import first_unlike_row
    from fairway.scenario.scenario import decode_scenario

    with tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        # The policy that was used is the first scheduler's own by now; others, one of its name among them, are not.
        spec = {key: value for key, value in recorded.scenario["spec"].items() if key not in ("policies", "profiles")}
        scenario = decode_scenario({**recorded.scenario, "spec": spec}, f"{path}, scenario")
        again = str(Path(folder) / "again.duckdb")
        run_with_bar([SimulationJob(scenario, "default", recorded.seed, again)], 1, is_kept=False)
        with Run.open(again) as repeated:
            difference = first_unlike_row(recorded, repeated)
            num_decisions, num_pods = len(repeated.decisions), len(repeated.pods)
    if is_structured(output):
        row = {
            "run": path,
            "same": difference is None,
            "table": difference and difference.table,
            "row": difference and difference.number,
        }
        rows = {"recorded": difference.first, "replayed": difference.second} if difference is not None else {}
        emit([row], COLUMNS, output, document={**row, "decisions": num_decisions, "pods": num_pods, **rows})
    elif difference is None:
        say(f"the same: {count_text(num_decisions)} decisions and {count_text(num_pods)} pods, row by row")
    else:
        say("\n".join(_difference_lines(difference)))
        if recorded.meta.get("fairway_version") != __version__:
            narrate(f"note: it was recorded by Fairway {recorded.meta.get('fairway_version')}, this is {__version__}")
        if difference.table == "decisions" and difference.first is not None:
            which = f"--run {shlex.quote(path)} --attempt {difference.first['attempt']}"
            narrate(f"→ fairway why {word(difference.first['pod'])} {which}")
    return 0 if difference is None else NO


def _difference_lines(difference: RowDifference) -> list[str]:
    lines = [f"not the same: {difference.table}, row {count_text(difference.number + 1)}"]
    for name, row in (("recorded", difference.first), ("replayed", difference.second)):
        lines.append(f"  {name}  {_row_text(row, difference.columns)}")
    return lines


def _row_text(row: dict[str, Any] | None, columns: tuple[str, ...]) -> str:
    if row is None:
        return "has no such row"
    known = [name for name in ("time_seconds", "pod", "node", "attempt", "outcome") if row.get(name) is not None]
    shown = dict.fromkeys([*known, *columns])
    return ", ".join(f"{name} {row.get(name)}" for name in shown)

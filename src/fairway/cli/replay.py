"""`fairway sim --replay RUN`: does a recorded run come out the same once more?

In: a run that `sim` saved. Out: its scenario, which the run itself holds, is run again and recorded elsewhere; every
row of every table has to be the same, but for what was measured (CPU time). Exit code 0 if it is so, 3 if not. Called
by `sim`.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.cli.main import CommandError
from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.exit_codes import NO
from fairway.words import count_text

if TYPE_CHECKING:
    from fairway.record import Run
    from fairway.record.difference import RowDifference

__all__ = ["replay"]

COLUMNS = (Column("run", "RUN"), Column("same", "SAME"), Column("table", "TABLE"), Column("row", "ROW", right=True))


def replay(path: str, output: str) -> int:
    """Run it again and compare; returns the exit code."""
    from fairway import __version__
    from fairway.cli.simulation_bar import run_with_bar
    from fairway.compare.simulations import Job
    from fairway.record import Run
    from fairway.record.difference import first_unlike_row
    from fairway.scenario.scenario import decode_scenario

    with Run.open(path) as recorded, tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        _check(recorded, path)
        # The policy that was used is the first scheduler's own by now; others, one of its name among them, are not.
        spec = {**recorded.scenario["spec"], "profiles": {}}
        scenario = decode_scenario({**recorded.scenario, "spec": spec}, f"{path}, scenario")
        again = str(Path(folder) / "again.duckdb")
        run_with_bar([Job(scenario, "default", recorded.seed, again)], 1, is_kept=False)
        with Run.open(again) as repeated:
            found = first_unlike_row(recorded, repeated)
            num_decisions, num_pods = len(repeated.decisions), len(repeated.pods)
    if is_structured(output):
        row = {"run": path, "same": found is None, "table": found and found.table, "row": found and found.number}
        rows = {"recorded": found.first, "replayed": found.second} if found is not None else {}
        emit([row], COLUMNS, output, document={**row, "decisions": num_decisions, "pods": num_pods, **rows})
    elif found is None:
        say(f"the same: {count_text(num_decisions)} decisions and {count_text(num_pods)} pods, row by row")
    else:
        say("\n".join(_difference_lines(found)))
        if recorded.meta.get("fairway_version") != __version__:
            narrate(f"note: it was recorded by Fairway {recorded.meta.get('fairway_version')}, this is {__version__}")
        if found.table == "decisions" and found.first is not None:
            which = f"--run {shlex.quote(path)} --attempt {found.first['attempt']}"
            narrate(f"→ fairway why {word(found.first['pod'])} {which}")
    return 0 if found is None else NO


def _check(run: Run, path: str) -> None:
    from fairway.explain.run_time import gap_sentences

    if not run.is_complete:
        why = run.meta.get("interruption", "it was interrupted")
        raise CommandError(f"{path} is incomplete, so it can not come out the same: {why}", "replay a whole run")
    gaps = gap_sentences(run)
    if gaps:
        raise CommandError(f"it can not come out the same: {gaps[0]}", "replay a whole run")
    if run.scenario.get("kind") != "Scenario" or "cluster" not in run.scenario.get("spec", {}):
        raise CommandError(
            f"{path} was not simulated: it holds what a cluster did, and no scenario",
            "fairway compare shows where two recordings differ",
        )


def _difference_lines(found: RowDifference) -> list[str]:
    lines = [f"not the same: {found.table}, row {count_text(found.number + 1)}"]
    for name, row in (("recorded", found.first), ("replayed", found.second)):
        lines.append(f"  {name}  {_row_text(row, found.columns)}")
    return lines


def _row_text(row: dict[str, Any] | None, columns: tuple[str, ...]) -> str:
    if row is None:
        return "has no such row"
    known = [name for name in ("time_seconds", "pod", "node", "attempt", "outcome") if row.get(name) is not None]
    shown = dict.fromkeys([*known, *columns])
    return ", ".join(f"{name} {row.get(name)}" for name in shown)

"""`fairway conformance --slurm DIR`: the words around `conformance.slurm.report`.

In: the folder, as the command line gives it. Out: on stdout a row for each check of each file; on stderr what differs
where a check does not hold, or where it is asked for; the exit code: 0 everything holds, 3 not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fairway.cli.main import CommandError
from fairway.cli.output import Column, emit, is_structured, narrate, progress
from fairway.conformance.slurm.report import SlurmCheck, check_files, recorded_files
from fairway.exit_codes import NO
from fairway.pool import ProcessKilledError

__all__ = ["check_slurm"]

COLUMNS: Final = (
    Column("file", "FILE"),
    Column("what", "WHAT"),
    Column("outcome", "OUTCOME", right=True),
    Column("bound", "BOUND", right=True),
    Column("holds", "HOLDS"),
)
SHOWN: Final = 5


def check_slurm(folder: str, jobs: int, show: int, output: str) -> int:
    """Make everything again that was recorded, and tell how it compares."""
    files = recorded_files(Path(folder))
    with progress("comparing", len(files)) as advance:
        try:
            checks = list(check_files(files, jobs, advance))
        except ProcessKilledError as error:
            raise CommandError("a process was killed", "there may be too little memory; try --jobs 1") from error
    rows = [
        {"file": check.file, "what": check.what, "outcome": check.outcome, "bound": check.bound}
        | {"holds": "" if check.passes is None else "yes" if check.passes else "NO"}
        for check in checks
    ]
    holds = all(check.passes is not False for check in checks)
    details = [
        {"file": check.file, "what": check.what, "differences": list(check.differences)}
        for check in checks
        if check.differences
    ]
    emit(rows, COLUMNS, output, document={"holds": holds, "checks": rows, "differences": details})
    if not is_structured(output):
        _narrate(checks, show)
    return 0 if holds else NO


def _narrate(checks: Sequence[SlurmCheck], show: int) -> None:
    """Differences where they break a bound, and elsewhere if they were asked for."""
    for check in checks:
        shown = show or (SHOWN if check.passes is False else 0)
        if not check.differences or not shown:
            continue
        narrate(f"{check.file}, {check.what}:")
        for difference in check.differences[:shown]:
            narrate(f"  {difference}")
        if len(check.differences) > shown:
            narrate(f"  ... and {len(check.differences) - shown} more; --show {len(check.differences)} lists them")

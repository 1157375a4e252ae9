"""`fairway conformance --openb DATA --expected DIR`: the words around `openb_check`.

In: the two folders, as the command line gives them. Out: on stdout a row for each table and each placement file; on
stderr which runs are beyond tolerance or were not made; the exit code: 0 all as expected, 3 not.
"""

from __future__ import annotations

from typing import Any, Final

from fairway.cli.main import CommandError
from fairway.cli.output import Column, emit, is_structured, narrate, progress
from fairway.exit_codes import NO
from fairway.experiments.openb_check import OpenbReport, check, cost, plan
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.openb_expected import read_expected
from fairway.pool import ProcessKilledError

__all__ = ["check_openb"]

COLUMNS: Final = (
    Column("what", "WHAT"),
    Column("of", "OF"),
    Column("runs", "RUNS", right=True),
    Column("largest", "LARGEST DEVIATION", right=True),
    Column("tolerance", "TOLERANCE", right=True),
    Column("beyond", "BEYOND", right=True),
    Column("first_difference", "FIRST DIFFERENCE"),
)
SHOWN: Final = 10


def check_openb(data: str, expected: str, jobs: int, show: int, output: str) -> int:
    """Make every run that anything is expected of, and tell how it compares."""
    wanted = read_expected(expected)
    trace = OpenbData(data)
    if not trace.traces():
        trace.pods("default")  # says what is missing, and where it can be had
    pieces, not_run = plan(trace, wanted)
    with progress("running", sum(cost(piece.key.policy) for piece in pieces)) as advance:
        try:
            report = check(pieces, not_run, wanted, jobs, advance)
        except ProcessKilledError as error:
            raise CommandError("a process was killed", "there may be too little memory; try --jobs 1") from error
    emit(_rows(report), COLUMNS, output, document=report.document())
    if not is_structured(output):
        _narrate(report, show or SHOWN)
    return 0 if report.passes else NO


def _rows(report: OpenbReport) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "what": table.table,
            "of": table.of,
            "runs": table.num_runs,
            "largest": f"{table.largest:.4f}",
            "tolerance": f"{table.tolerance:g}",
            "beyond": len(table.beyond),
            "first_difference": "",
        }
        for table in report.tables
    ]
    for each in report.placements:
        there = each.difference
        words = f"arrival {there['arrival']}, {there['pod']}" if there else "none"
        rows.append(
            {"what": each.file, "of": f"{each.num_arrivals} arrivals", "runs": 1, "beyond": int(bool(there))}
            | {"first_difference": words}
        )
    return rows


def _narrate(report: OpenbReport, show: int) -> None:
    for table in report.tables:
        if table.num_runs:
            narrate(f"{table.table}, {table.of}: largest deviation {table.largest:.4f} points at {table.largest_at}")
        for row in table.beyond[:show]:
            narrate(
                f"  beyond {table.tolerance:g}: {row['run']}, load {row['load']} %: "
                f"expected {row['expected']:.4f}, got {row['got']:.4f}"
            )
        if table.by_chance:
            worst = max(table.by_chance, key=lambda row: float(row["deviation"]))
            narrate(
                f"  beyond {table.tolerance:g} at some loads, but within three standard errors of the published mean: "
                f"{len(table.by_chance)} of them; most at {worst['run']}, load {worst['load']} %: "
                f"expected {worst['expected']:.4f}, got {worst['got']:.4f}"
            )
        if len(table.beyond) > show:
            narrate(f"  ... and {len(table.beyond) - show} more; --show {len(table.beyond)} lists them")
    for each in report.placements:
        if each.difference is not None:
            narrate(f"{each.file}: arrival {each.difference['arrival']}")
            narrate(f"  expected  {each.difference['expected']}")
            narrate(f"  got       {each.difference['got']}")
    if report.not_run:
        narrate(f"not run: {len(report.not_run)}, which counts as a no")
    for run, why in report.not_run[:show]:
        narrate(f"  {run}: {why}" if why else f"  {run}")
    if len(report.not_run) > show:
        narrate(f"  ... and {len(report.not_run) - show} more; --show {len(report.not_run)} lists them")
    for note in report.notes:
        narrate(f"note: {note}")

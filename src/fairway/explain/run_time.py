"""Moments of a run: which one is meant, and what a run says about itself first.

In: an open run, and a time or none. Out: the moment in seconds of the run's clock, and notes for whoever asks: that the
run is incomplete, that it has gaps. Called by everything that answers from a run.
"""

from __future__ import annotations

from fairway.exit_codes import USAGE
from fairway.model import UserError
from fairway.record import Run
from fairway.record.gaps import gaps_of
from fairway.words import time_text

__all__ = ["check_time", "gap_sentences", "run_notes"]


def check_time(run: Run, at: float | None) -> float:
    """The moment meant: the end unless said otherwise; a time after the end is a mistake."""
    if at is None:
        return run.end_seconds
    if at > run.end_seconds:
        end = time_text(run.end_seconds)
        raise UserError(f"the run ended before {time_text(at)}", f"give --at a time up to {end}", USAGE)
    return at


def run_notes(run: Run) -> list[str]:
    """What whoever asks a run should know about it."""
    notes = []
    if not run.is_complete:
        why = run.meta.get("interruption", "it was interrupted")
        notes.append(f"{run.path} is incomplete, it ends at {time_text(run.end_seconds)}: {why}")
    return notes + gap_sentences(run)


def gap_sentences(run: Run) -> list[str]:
    """What a run lacks, a sentence for each gap."""
    sentences = []
    for gap in gaps_of(run):
        rows = ", ".join(f"{table} {number}" for table, number in gap.num_rows.items())
        sentences.append(
            f"this run has a gap: {run.path} lacks what happened from {time_text(gap.begin)} to {time_text(gap.end)}, "
            f"{sum(gap.num_rows.values())} rows ({rows}): {gap.reason}"
        )
    return sentences

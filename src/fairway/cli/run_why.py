"""`fairway why POD --run RUN`: prints a pod's story, and the moment that is asked about, explained.

In: a run's file, a pod of it, and a time or an attempt. Out: the answer of `run_answer`, printed, and the exit code.
Called by `why`.
"""

from __future__ import annotations

from fairway.cli.options.run import tell_notes
from fairway.cli.output import emit, is_structured, narrate, say, word
from fairway.exit_codes import FAILED, NO
from fairway.explain.explanation import COLUMNS
from fairway.explain.run_answer import answer
from fairway.record import Run

__all__ = ["explain_run"]


def explain_run(
    path: str,
    pod_name: str,
    *,
    at: float | None,
    attempt: int | None,
    node_name: str | None,
    all_nodes: bool,
    output: str,
) -> int:
    """Print the answer; returns the exit code."""
    every = all_nodes or output == "wide"
    with Run.open(path) as run:
        tell_notes(run)
        found = answer(run, pod_name, at=at, attempt=attempt, node=node_name, all_nodes=every)
    if is_structured(output):
        emit(found.rows(), COLUMNS, output, found.document())
    else:
        say("\n".join(found.lines()))
        if every and node_name is None:
            say()
            emit(found.rows(), COLUMNS, output)
        other = found.explanation.other_node()
        if other is not None and node_name is None and not every:
            narrate(f"→ fairway why {word(found.pod)} --node {word(other)} {found.options}")
    if found.explanation.verdict.result == "error":
        return FAILED
    return 0 if found.fits else NO

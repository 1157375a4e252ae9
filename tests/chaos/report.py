"""The table that `make chaos` prints: a line a kind, then every violation in words.

In: verdicts. Out: text. Called by `__main__` and `test_chaos`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.chaos.trial import INVARIANTS, Verdict

__all__ = ["table", "words"]

NUM_WORDS = 10
"""Violations of an invariant that are printed; they are often the same."""


def table(verdicts: Sequence[Verdict]) -> str:
    """Kind, the invariants, time, seed, and what was done."""
    header = ["kind", *INVARIANTS, "seconds", "seed", "what was done"]
    rows = [header, *(_row(verdict) for verdict in verdicts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def words(verdicts: Iterable[Verdict]) -> str:
    """The violations, some of each."""
    lines = []
    for verdict in verdicts:
        for invariant, found in verdict.violations.items():
            lines += [f"{verdict.kind}, {invariant}: {violation}" for violation in found[:NUM_WORDS]]
            if len(found) > NUM_WORDS:
                lines.append(f"{verdict.kind}, {invariant}: and {len(found) - NUM_WORDS} more")
    return "\n".join(lines)


def _row(verdict: Verdict) -> list[str]:
    deeds = ", ".join(f"{number:,} {what}" for what, number in verdict.deeds.items())
    marks = [_mark(verdict, invariant) for invariant in INVARIANTS]
    return [verdict.kind, *marks, f"{verdict.seconds:.0f}", str(verdict.seed), deeds]


def _mark(verdict: Verdict, invariant: str) -> str:
    if found := verdict.violations.get(invariant):
        return f"VIOLATED {len(found)}"
    return "-" if invariant in verdict.unjudged else "ok"

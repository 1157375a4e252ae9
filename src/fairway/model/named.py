"""Things that people name: whoever names one that is not there is told the nearest, and what there is.

In: a name and those that are known. Out: nothing, or a `UserError`. Used by commands about queues, of runs and of
clusters.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from fairway.exit_codes import USAGE
from fairway.model.errors import UserError

__all__ = ["check_name", "few", "unknown"]

NAMED = 10


def check_name(kind: str, name: str | None, known: Iterable[str], option: str) -> None:
    """`UserError` with the nearest names if there is no such thing; `option`: what is written before the name."""
    names = list(known)
    if name is not None and name not in names:
        raise unknown(kind, name, names, option)


def unknown(kind: str, name: str, known: Iterable[str], option: str) -> UserError:
    """That there is no such thing, with the nearest name that there is."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    hint = f"{option} {close[0]}" if close else f"{option} NAME, with one of these"
    there = f"there are {few(names)}" if names else "there is none"
    return UserError(f"no {kind} “{name}”; {there}", hint if names else "", USAGE)


def few(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")

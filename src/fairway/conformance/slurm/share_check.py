"""Recorded trees of shares, ranked again by `batch.fair_tree`; and how usage faded between two looks at the same tree.

In: lines of `fairshare*` files, each a whole tree of accounts and users, as Slurm's `sshare` showed it. Out:
`ShareFindings` for each tree, `DecayFindings` for trees that were looked at repeatedly. Usage is printed as a whole
number, so levels agree to a part in a thousand; factors are ranks, and agree to their last digit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec

from fairway.batch.fair_tree import ShareNode, ShareStanding, fair_tree
from fairway.batch.usage import decayed
from fairway.conformance.corpus import CaseLine
from fairway.conformance.slurm.cases import decode_line
from fairway.model import DecodeError

__all__ = ["DecayFindings", "ShareCase", "ShareFindings", "check_decay", "check_shares", "share_case"]

LEVEL: Final = 1e-3
FACTOR: Final = 1e-6
DECAY: Final = 1e-3
TICK: Final = 60.0
"""Slurm adds usage, and lets it fade, every so many seconds."""

MOST_TIES: Final = 6
"""So many pairs of accounts that only rounding tells apart are tried in both orders."""

Depth = Annotated[int, msgspec.Meta(ge=0, le=64)]
Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class ShareRow(msgspec.Struct, frozen=True):
    """An account, or a user in it."""

    depth: Depth
    account: str
    user: str | None
    shares: Number | Literal["parent"] | None
    raw_usage: Number
    level_fs: float | Literal["inf"] | None
    fairshare: float | None

    @property
    def name(self) -> str:
        """How it is told."""
        return self.account if self.user is None else f"{self.account}/{self.user}"


class ShareCase(msgspec.Struct, frozen=True):
    """A tree of shares at one moment, in the order of display."""

    id: str
    rows: list[ShareRow]
    half_life_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    time: float | None = None
    float_tie: Any = None  # accounts are equal in exact arithmetic, and Slurm's rounding keeps them apart: so or so


@dataclass(slots=True)
class ShareFindings:
    """What came out of one tree."""

    case: str
    levels: int = 0
    levels_other: list[str] = field(default_factory=list)
    factors: int = 0
    factors_other: list[str] = field(default_factory=list)


@dataclass(slots=True)
class DecayFindings:
    """What came out of two looks at one tree, between which nobody used anything."""

    case: str
    rows: int = 0
    other: list[str] = field(default_factory=list)


def share_case(line: CaseLine) -> ShareCase:
    """Decode a line of a `fairshare*` file."""
    case = decode_line(line, ShareCase, "a recorded tree of shares")
    for index, row in enumerate(case.rows):
        before = case.rows[index - 1] if index else None
        problem = ""
        if before is None:
            problem = "" if row.depth == 0 and row.user is None else "the first row is the root, an account of depth 0"
        elif row.depth == 0 or row.depth > before.depth + (before.user is None):
            problem = f"{row.depth} does not follow on {before.depth} of the row before"
        if problem:
            subject = f"case {case.id}"
            raise DecodeError(problem, source=line.source, subject=subject, field=f"rows[{index}].depth")
    if not case.rows:
        raise DecodeError("there are none", source=line.source, subject=f"case {case.id}", field="rows")
    return case


def check_shares(case: ShareCase) -> ShareFindings:
    """Rank everybody again."""
    results = [_compared(case, fair_tree(tree)) for tree in _trees(case)]
    return min(results, key=lambda findings: len(findings.factors_other) + len(findings.levels_other))


def check_decay(before: ShareCase, after: ShareCase) -> DecayFindings | None:
    """How usage faded from one look to the next; None if these are not two looks at one tree while nobody used it."""
    if [row.name for row in before.rows] != [row.name for row in after.rows]:
        return None
    if before.time is None or after.time is None or not before.half_life_s:
        return None
    pairs = [(old.raw_usage, new.raw_usage, old.name) for old, new in zip(before.rows, after.rows, strict=True)]
    pairs = [pair for pair in pairs if pair[0] > 0 or pair[1] > 0]
    # Usage that only fades does so alike for everybody, to the rounding of what is printed.
    total_before, total_after, _ = max(pairs, default=(0, 0, ""))
    if not total_before or any(abs(new - old * total_after / total_before) > 1 + old * DECAY for old, new, _ in pairs):
        return None
    ticks = (after.time - before.time) / TICK
    counts = {math.floor(ticks), math.ceil(ticks)}
    if counts == {0} or (0 in counts and total_after == total_before):
        return None  # nothing has ticked
    findings = DecayFindings(f"{before.id} → {after.id}")
    # Whether one tick or one more lies between two looks is the same for all rows: the largest one tells.
    expected = {decayed(total_before, count * TICK, before.half_life_s) / total_before for count in counts if count}
    ratio = min(expected, key=lambda ratio: abs(ratio - total_after / total_before))
    for old, new, name in pairs:
        findings.rows += 1
        if abs(new - old * ratio) > DECAY * old * ratio + 1:
            findings.other.append(f"{name}: {old} faded to {new}, here to {old * ratio:.0f}")
    return findings


def _trees(case: ShareCase) -> Iterator[ShareNode]:
    """The tree; where rounding may decide, also those in which it decided otherwise."""
    yield _node(case.rows, 0, {})
    if not case.float_tie:
        return
    pairs = list(_near_ties(case.rows))[:MOST_TIES]
    for signs in itertools.product((-1, 1), repeat=len(pairs)):
        nudges = {index: 1 + sign * 1e-12 for index, sign in zip(pairs, signs, strict=True)}
        yield _node(case.rows, 0, nudges)


def _near_ties(rows: Sequence[ShareRow]) -> Iterator[int]:
    """Accounts whose shares and usage are in the same relation as those of an account before them, beside it."""
    seen: dict[tuple[int | None, int, float], int] = {}
    parents: list[int] = []
    for index, row in enumerate(rows):
        del parents[row.depth :]
        if row.user is None and isinstance(row.shares, int) and row.raw_usage:
            key = (parents[-1] if parents else None, row.depth, round(row.shares / row.raw_usage, 15))
            if key in seen:
                yield index
            seen.setdefault(key, index)
        parents.append(index)


def _node(rows: Sequence[ShareRow], index: int, nudges: dict[int, float]) -> ShareNode:
    row = rows[index]
    children = []
    for below in range(index + 1, len(rows)):
        if rows[below].depth <= row.depth:
            break
        if rows[below].depth == row.depth + 1:
            children.append(_node(rows, below, nudges))
    shares = row.shares if isinstance(row.shares, int) else None
    usage = row.raw_usage * nudges.get(index, 1.0)
    return ShareNode(str(index), shares, usage, tuple(children), row.user is not None)


def _compared(case: ShareCase, standings: dict[str, ShareStanding]) -> ShareFindings:
    findings = ShareFindings(case.id)
    for index, row in enumerate(case.rows[1:], 1):
        standing = standings.get(str(index), ShareStanding(None))
        findings.levels += 1
        expected = math.inf if row.level_fs == "inf" else row.level_fs
        if not _is_same(standing.level, expected, LEVEL):
            findings.levels_other.append(f"{row.name}: level {row.level_fs}, here {standing.level}")
        if row.user is not None:
            findings.factors += 1
            if row.fairshare is None or standing.factor is None or abs(row.fairshare - standing.factor) > FACTOR:
                findings.factors_other.append(f"{row.name}: factor {row.fairshare}, here {standing.factor}")
    return findings


def _is_same(ours: float | None, theirs: float | None, tolerance: float) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    # Six digits are printed of a level, be it ever so small.
    return ours == theirs or abs(ours - theirs) <= tolerance * theirs + 5e-7

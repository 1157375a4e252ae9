"""What must hold of recorded files, file by file: findings added up and held against their bounds.

In: a folder of recorded files, or some of them. Out: `SlurmCheck`s, the rows of the table that `fairway conformance
--slurm` prints. What a file is about is told by its name (`plan-*`, `fairshare*`, `priority*`, logs in `swf/`), what is
expected of it by the setting and the mode that its cases were recorded with. A check without a bound is told and not
judged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from fairway.conformance.corpus import SUFFIXES, CaseLine, read_lines
from fairway.conformance.slurm.cases import plan_case
from fairway.conformance.slurm.log_check import EXPECTED, LOGS, LogFindings, check_log, find_logs
from fairway.conformance.slurm.plan_check import PlanFindings, check_plan
from fairway.conformance.slurm.priority_check import check_priorities
from fairway.conformance.slurm.share_check import check_decay, check_shares, share_case
from fairway.model import DecodeError
from fairway.pool import run_all

__all__ = ["SlurmCheck", "SlurmFile", "check_files", "recorded_files"]

STARTED_AT_ONCE: Final = {
    ("alone", "conservative"): 0.75,
    ("alone", "easy"): 0.92,
    ("many", "conservative"): 0.90,
    ("many", "easy"): 0.78,
}
"""In how many cases the same jobs start at once: what a plain planner reached, for it depends on the nodes one
chooses."""

MEAN_START: Final = {"alone": 0.01, "many": 0.05}
"""How far the mean start of a file may be from Slurm's, over all jobs that both gave a date."""
REASONS: Final = 0.95
EXACT: Final = ("fcfs", "easy")
"""Policies of logs under which every start is compared."""
MEAN_WAIT: Final = {"conservative": 0.03}
"""How far the mean wait of a log may be from what another program has; in logs whose limits are the run times it is
told, as in such a log no job ends early, and nobody has shown what others do with the rest."""


@dataclass(frozen=True, slots=True)
class SlurmCheck:
    """One row: what is compared, how it came out, and what it has to be."""

    file: str
    what: str
    outcome: str
    bound: str = ""
    passes: bool | None = None  # None: told, not judged
    differences: tuple[str, ...] = ()


class SlurmFile(NamedTuple):
    """A recorded file, and what is recorded in it."""

    path: Path
    kind: str


def recorded_files(path: Path) -> list[SlurmFile]:
    """The files to check: all of a folder whose names are known, and its logs; or this one."""
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    files = [SlurmFile(one, kind) for one in paths if one.name.endswith(SUFFIXES) for kind in KINDS if _is(one, kind)]
    files += [SlurmFile(log, LOGS) for log in find_logs(path)]
    if not files:
        names = ", ".join(f"{kind}*{SUFFIXES[0]}[.gz]" for kind in KINDS)
        problem = (
            f"holds nothing that was recorded from Slurm; there would be files named {names}, or {LOGS}/*.swf[.gz]"
        )
        raise DecodeError(problem, source=str(path))
    return files


def check_files(
    files: Sequence[SlurmFile], jobs: int, advance: Callable[[float], None] = lambda part: None
) -> Iterator[SlurmCheck]:
    """All rows, file by file, over so many processes; `advance` is told how many files are done."""
    is_empty = True
    for file in files:
        if file.kind != LOGS:
            lines = list(read_lines([file.path]))
            is_empty &= not lines
            yield from KINDS[file.kind](file.path.name, lines, jobs) if lines else _no_cases(file)
            advance(1)
    logs = [file.path for file in files if file.kind == LOGS]
    found = dict[int, list[LogFindings]]()
    for number, findings in run_all(check_log, logs, jobs):
        found[number] = findings
        advance(1)
    for number, log in enumerate(logs):
        yield from _log_checks(f"{LOGS}/{log.name}", found[number])
    if is_empty and not logs:
        raise DecodeError("has no cases", source=", ".join(str(file.path) for file in files))


def _no_cases(file: SlurmFile) -> Iterator[SlurmCheck]:
    yield SlurmCheck(file.path.name, "nothing is recorded in it", "no cases")


def _log_checks(file: str, found: Sequence[LogFindings]) -> Iterator[SlurmCheck]:
    if not found:
        yield SlurmCheck(file, f"no starts in {EXPECTED} to compare with", "no jobs")
    for one in found:
        what = f"{one.policy}, ties {one.ties}" if one.policy != "fcfs" else one.policy
        if one.policy in EXACT:
            yield _all_of(file, f"{what}: every start", one.jobs, tuple(one.other))
            continue
        bound = None if one.policy not in MEAN_WAIT or one.limits_are_runs else MEAN_WAIT[one.policy]
        yield _deviation(file, f"{what}: mean wait", one.own_wait, one.their_wait, bound)
        yield _share_of(file, f"{what}: same start", one.same, one.jobs, None, ())


def _is(path: Path, kind: str) -> bool:
    return path.is_file() and path.name.startswith(kind)


def _plan_line(line: CaseLine) -> tuple[tuple[str, str], PlanFindings]:
    case = plan_case(line)
    return (case.setting, case.mode), check_plan(case)


def _plan_checks(file: str, lines: Sequence[CaseLine], jobs: int) -> Iterator[SlurmCheck]:
    groups: dict[tuple[str, str], list[PlanFindings]] = {}
    for _, (group, findings) in run_all(_plan_line, lines, jobs):
        groups.setdefault(group, []).append(findings)
    for (setting, mode), found in sorted(groups.items()):
        found.sort(key=lambda findings: findings.case)
        yield from _conditional_rows(file, mode, found)
        yield from _whole_rows(file, setting, mode, found)
        yield from _own_rows(file, found)


def _conditional_rows(file: str, mode: str, found: Sequence[PlanFindings]) -> Iterator[SlurmCheck]:
    number = sum(findings.tight for findings in found)
    tolerance = "61 s" if mode == "stock" else "5 s"
    other = _by_case(found, lambda findings: findings.tight_other)
    later = _by_case(found, lambda findings: findings.amounts_later)
    yield _all_of(file, f"job by job, whole nodes: start ± {tolerance}", number, other)
    yield _all_of(file, "job by job, amounts: never later", number, later)


def _whole_rows(file: str, setting: str, mode: str, found: Sequence[PlanFindings]) -> Iterator[SlurmCheck]:
    same = sum(findings.starts_same for findings in found)
    differ = _by_case(found, lambda findings: [findings.starts_difference] if not findings.starts_same else [])
    yield _share_of(file, "same jobs start at once", same, len(found), STARTED_AT_ONCE.get((setting, mode)), differ)
    ours, theirs = sum(one.own_starts_all for one in found), sum(one.slurm_starts_all for one in found)
    bound = MEAN_START[setting] if mode != "stock" else None  # stock Slurm plans in whole minutes
    yield _deviation(file, "mean start, all jobs dated by both", ours, theirs, bound)
    ours, theirs = sum(one.own_starts for one in found), sum(one.slurm_starts for one in found)
    yield _deviation(file, "mean start, without slots in windows", ours, theirs, None)
    alike, dated = sum(one.dated_alike for one in found), sum(one.dated for one in found)
    yield _share_of(file, "same start in the whole plan ± 15 s", alike, dated, None, ())


def _own_rows(file: str, found: Sequence[PlanFindings]) -> Iterator[SlurmCheck]:
    number = len(found)
    invalid = _by_case(found, lambda findings: findings.invalid)
    valid = number - sum(bool(findings.invalid) for findings in found)
    yield SlurmCheck(file, "own plan is valid", f"{valid} of {number}", "all", valid == number, invalid)
    forgotten = _by_case(found, lambda findings: findings.undated)
    dated = number - sum(bool(findings.undated) for findings in found)
    yield SlurmCheck(
        file, "every job that can run has a date", f"{dated} of {number}", "all", dated == number, forgotten
    )
    same = sum(findings.refused_same for findings in found)
    differ = _by_case(found, lambda findings: [findings.refused_difference] if not findings.refused_same else [])
    yield SlurmCheck(file, "same jobs refused", f"{same} of {number}", "all", same == number, differ)
    reasons = sum(findings.reasons for findings in found)
    other = _by_case(found, lambda findings: findings.reasons_other)
    yield _share_of(file, "same reason to wait", reasons - len(other), reasons, REASONS, other)
    slots = sum(findings.in_window for findings in found)
    copied = _by_case(found, lambda findings: findings.in_window_copied)
    yield _all_of(file, "slots across windows not copied", slots, copied)


def _all_of(file: str, what: str, number: int, other: Sequence[str]) -> SlurmCheck:
    return SlurmCheck(file, what, f"{number - len(other)} of {number}", "all", not other, tuple(other))


def _share_of(file: str, what: str, same: int, number: int, bound: float | None, other: Sequence[str]) -> SlurmCheck:
    share = same / number if number else 1.0
    words = f"{same} of {number}, {share:.1%}".replace("%", " %")
    if bound is None:
        return SlurmCheck(file, what, words, differences=tuple(other))
    return SlurmCheck(file, what, words, f"≥ {100 * bound:g} %", share >= bound, tuple(other))


def _deviation(file: str, what: str, ours: float, theirs: float, bound: float | None) -> SlurmCheck:
    if not theirs:
        return SlurmCheck(file, what, "no dates to compare")
    deviation = ours / theirs - 1
    words = f"{100 * deviation:+.2f} %"
    if bound is None:
        return SlurmCheck(file, what, words)
    return SlurmCheck(file, what, words, f"± {100 * bound:g} %", abs(deviation) <= bound)


def _by_case(found: Iterable[PlanFindings], words: Callable[[PlanFindings], Sequence[str]]) -> tuple[str, ...]:
    return tuple(f"{findings.case}: {word}" for findings in found for word in words(findings))


def _share_checks(file: str, lines: Sequence[CaseLine], jobs: int) -> Iterator[SlurmCheck]:
    """`jobs` is of no use: a tree takes a millisecond, and decay needs two of them."""
    cases = [share_case(line) for line in lines]
    found = [check_shares(case) for case in cases]
    levels = tuple(f"{one.case}: {word}" for one in found for word in one.levels_other)
    factors = tuple(f"{one.case}: {word}" for one in found for word in one.factors_other)
    yield _all_of(file, "level ± 0.1 %", sum(one.levels for one in found), levels)
    yield _all_of(file, "factor ± 1e-6", sum(one.factors for one in found), factors)
    pairs = [pair for pair in itertools.starmap(check_decay, itertools.pairwise(cases)) if pair is not None]
    if pairs:
        other = tuple(f"{one.case}: {word}" for one in pairs for word in one.other)
        yield _all_of(file, "decay while nobody used anything ± 0.1 %", sum(one.rows for one in pairs), other)


def _priority_checks(file: str, lines: Sequence[CaseLine], jobs: int) -> Iterator[SlurmCheck]:
    """`jobs` is of no use here either."""
    found = [check_priorities(line) for line in lines]
    number = sum(one.jobs for one in found)
    factors = tuple(f"{one.case}: {word}" for one in found for word in one.factors_other)
    priorities = tuple(f"{one.case}: {word}" for one in found for word in one.priorities_other)
    yield _all_of(file, "factors of size, queue and class", number, factors)
    yield _all_of(file, "priority, exactly", number, priorities)


KINDS: Final[dict[str, Callable[[str, Sequence[CaseLine], int], Iterator[SlurmCheck]]]] = {
    "plan-": _plan_checks,
    "fairshare": _share_checks,
    "priority": _priority_checks,
}
"""What files hold, by the beginning of their names."""

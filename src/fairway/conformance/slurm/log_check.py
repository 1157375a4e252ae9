"""Logs that independent simulators have played, played again: every start, or the mean wait, beside theirs.

In: a folder with `swf/NAME.swf[.gz]` and `swf-expected/NAME.POLICY.starts[.gz]` (lines of a job and its start). Out: a
`LogFindings` for each log. `fcfs` and `easy` are the same to the second; for `easy` that depends on what comes first
within a second, which no file says, so both rules are tried and the one that was theirs is told. `conservative` is
compared by its mean wait, and `easy-other`, another program's reading of EASY, is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from fairway.conformance.slurm.log_run import PlayedLog, Ties, play_log
from fairway.model import DecodeError
from fairway.model.text_file import read_lines

__all__ = ["EXPECTED", "LOGS", "LogFindings", "check_log", "find_logs"]

LOGS, EXPECTED = "swf", "swf-expected"
ENDINGS: Final = (".swf", ".swf.gz")
POLICIES: Final = {"fcfs": "fifo", "easy": "easy", "conservative": "conservative", "easy-other": "easy"}
"""The disciplines of the policies that there are starts of."""
TIES: Final[tuple[Ties, ...]] = ("each", "ends-first")
NUM_FIELDS: Final = 18
SUBMITTED, RUN, LIMIT = 1, 3, 8  # fields of a line


class LoggedJob(NamedTuple):
    """What a line says."""

    submitted: float
    run: float
    limit: float


@dataclass(slots=True)
class LogFindings:
    """What came out of one policy on one log."""

    policy: str
    ties: Ties
    jobs: int = 0
    other: list[str] = field(default_factory=list)  # jobs that start at another time, in words
    own_wait: float = 0.0  # sums over jobs that both started
    their_wait: float = 0.0
    limits_are_runs: bool = False  # everybody knew how long its job takes, as in models of logs

    @property
    def same(self) -> int:
        """Jobs that start when they did."""
        return self.jobs - len(self.other)


def find_logs(folder: Path) -> list[Path]:
    """The logs in a folder; a log's name says nothing."""
    logs = folder / LOGS
    return sorted(path for path in logs.iterdir() if path.name.endswith(ENDINGS)) if logs.is_dir() else []


def check_log(path: Path) -> list[LogFindings]:
    """Play the log under each policy that there are starts of."""
    expected = {policy: _starts(file) for policy, file in _expected_files(path)}
    logged = _read_log(path)
    play = cache(partial(play_log, path))

    def compare(policy: str, ties: Ties) -> LogFindings:
        return _compare(policy, ties, play(POLICIES[policy], ties), logged, expected[policy])

    ties = _their_ties(partial(compare, "easy")) if "easy" in expected else TIES[0]
    return [compare(policy, ties) for policy in expected]


def _their_ties(compare: Callable[[Ties], LogFindings]) -> Ties:
    """The rule that gives every start, or most of them."""
    fewest: LogFindings | None = None
    for ties in TIES:
        findings = compare(ties)
        if not findings.other:
            return ties
        if fewest is None or len(findings.other) < len(fewest.other):
            fewest = findings
    assert fewest is not None, "there are rules"
    return fewest.ties


def _expected_files(path: Path) -> Iterator[tuple[str, Path]]:
    name = path.name.removesuffix(".gz").removesuffix(".swf")
    folder = path.parents[1] / EXPECTED
    for policy in POLICIES:
        for ending in (".starts.gz", ".starts"):
            file = folder / f"{name}.{policy}{ending}"
            if file.is_file():
                yield policy, file
                break


def _starts(file: Path) -> dict[str, float]:
    starts: dict[str, float] = {}
    for number, line in read_lines(file):
        fields = line.split()
        if not fields:
            continue
        source = f"{file}, line {number}"
        if len(fields) != 2:
            raise DecodeError(f"has {len(fields)} fields; it would be a job and its start", source=source)
        if fields[0] in starts:
            raise DecodeError(f"{fields[0]} is there twice", source=source, field="job")
        starts[fields[0]] = _number(fields[1], source, "start")
    return starts


def _read_log(path: Path) -> dict[str, LoggedJob]:
    """Submission, run time and limit of each job; lines that make no sense are the engine's affair."""
    jobs: dict[str, LoggedJob] = {}
    for number, line in read_lines(path):
        fields = line.split()
        if line.startswith(";") or len(fields) != NUM_FIELDS:
            continue
        source = f"{path}, line {number}"
        names = {"submitted": SUBMITTED, "run": RUN, "limit": LIMIT}
        jobs[fields[0]] = LoggedJob(**{name: _number(fields[at], source, name) for name, at in names.items()})
    return jobs


def _number(text: str, source: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DecodeError(f"{text!r} is not a number", source=source, field=name)
    return value


def _compare(
    policy: str, ties: Ties, played: PlayedLog, logged: Mapping[str, LoggedJob], starts: Mapping[str, float]
) -> LogFindings:
    findings = LogFindings(policy, ties)
    first = min((logged[job].submitted for job in played.submitted if job in logged), default=0.0)
    ours = {job: start + first for job, start in played.started.items()}
    for job in sorted(starts.keys() | ours.keys(), key=lambda job: (len(job), job)):
        findings.jobs += 1
        if starts.get(job) != ours.get(job):
            findings.other.append(f"job {job}: starts at {_told(starts.get(job))}, here at {_told(ours.get(job))}")
        if job in starts and job in ours and job in logged:
            findings.own_wait += ours[job] - logged[job].submitted
            findings.their_wait += starts[job] - logged[job].submitted
    findings.limits_are_runs = all(job.limit == job.run for job in logged.values())
    return findings


def _told(start: float | None) -> str:
    return "no time" if start is None else f"{start:g}"

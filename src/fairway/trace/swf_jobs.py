"""The jobs of an SWF log, as columns of numbers.

In: a log, plain or gzip, with its comments and its -1 for what is not known. Out: the jobs that count, in order of
submission. A line that makes no sense is noted as a problem by its number. A million jobs are some ninety megabytes as
columns, and `SwfJob`s only while one iterates. Called by `swf`.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.model import DecodeError
from fairway.model.text_file import Progress, read_lines
from fairway.trace.problems import Problems
from fairway.trace.swf_header import SwfHeader

__all__ = ["FAILED", "Jobs", "SwfJob", "read_jobs"]

NUM_FIELDS: Final = 18
MAX_PROCS: Final = 10_000_000  # more than any machine has; beyond it the line is damaged
MAX_SECONDS: Final = 10_000_000_000
MAX_KIBIBYTES: Final = 2**40
MAX_NUMBER: Final = 2.0**53
CHUNK: Final = 4096
FAILED, CANCELLED = 0, 5


class SwfJob(NamedTuple):
    """One job; -1 is not known."""

    number: int
    submit: float  # seconds from the first job's
    seconds: float
    limit: float  # how long it was to run at most, in seconds
    procs: int
    memory_kib: float  # a processor
    status: int
    user: int
    group: int
    queue: int
    partition: int


WHOLE: Final = {"number", "procs", "status", "user", "group", "queue", "partition"}


class Jobs:
    """Jobs in order of submission, a column for each field of `SwfJob`."""

    def __init__(self, table: NDArray[np.float64]) -> None:
        kinds = (np.int64 if name in WHOLE else np.float64 for name in SwfJob._fields)
        self._columns = [column.astype(kind) for column, kind in zip(table, kinds, strict=True)]  # (num_jobs,) each
        self.procs: NDArray[np.int64] = self._columns[SwfJob._fields.index("procs")]  # (num_jobs,)

    def __len__(self) -> int:
        return len(self.procs)

    def __iter__(self) -> Iterator[SwfJob]:
        for start in range(0, len(self), CHUNK):
            columns = (column[start : start + CHUNK].tolist() for column in self._columns)
            yield from map(SwfJob._make, zip(*columns, strict=True))


def read_jobs(
    path: str | os.PathLike[str],
    by_request: bool,
    statuses: Collection[int],
    header: SwfHeader,
    problems: Problems,
    progress: Progress | None,
) -> tuple[Jobs, list[str]]:
    """The jobs that ran and have one of the statuses, with notes about the others; comments go into the header.

    `by_request`: what they asked for counts, not what they got; where one is not known it is the other.
    """
    file = os.fspath(path)
    rows = array("d")  # job after job, each with its line at the end
    num_other = num_idle = 0
    for line_number, line in read_lines(path, progress):
        text = line.strip()
        if not text:
            continue
        if text.startswith(";"):
            header.add(text)
            continue
        try:
            job = _parse(text, by_request)
        except ValueError as error:
            problems.add(str(error), file, line_number)
            continue
        if int(job.status) not in statuses:
            num_other += 1
        elif job.seconds < 0 or (job.seconds == 0 and job.status == CANCELLED):
            num_idle += 1
        else:
            rows.extend((*job, line_number))
    table = np.array(rows).reshape(-1, len(SwfJob._fields) + 1).T
    table = table[:, np.argsort(table[1], kind="stable")]
    table = _unique(table, file, problems)
    if not table.shape[1]:
        why = f"; the first problem: {problems.first}" if problems.first else ""
        raise DecodeError(f"holds no job that ran{why}", source=file)
    table[1] -= table[1, 0]
    notes = [f"jobs left out for their status: {num_other}"] if num_other else []
    notes += [f"jobs left out that never ran: {num_idle}"] if num_idle else []
    return Jobs(table[:-1]), notes


def _parse(text: str, by_request: bool) -> SwfJob:
    """One job, in the order of `SwfJob`; `ValueError` says what is wrong with the line."""
    fields = text.split()
    if len(fields) != NUM_FIELDS:
        raise ValueError(f"has {len(fields)} fields, not {NUM_FIELDS}")
    try:
        values = list(map(float, fields))
    except ValueError:
        values = []
    if not values or "_" in text or not math.isfinite(sum(values)):
        guilty = next((index for index, field in enumerate(fields) if not _is_number(field)), 0)
        raise ValueError(f"field {guilty + 1} is not a number one can use: {fields[guilty][:40]!r}")
    number, submit, seconds = values[0], values[1], values[3]
    if not 0 <= number < MAX_NUMBER or number != int(number):
        raise ValueError(f"field 1 must be the number of a job, not {fields[0]}")
    if not 0 <= submit <= MAX_SECONDS:
        raise ValueError(f"field 2 must be the time of submission, from 0 to {MAX_SECONDS}, not {fields[1]}")
    if seconds > MAX_SECONDS:
        raise ValueError(f"field 4 must be the run time, up to {MAX_SECONDS} seconds, not {fields[3]}")
    known = [value if 0 <= value < MAX_NUMBER else -1.0 for value in values]
    asked, used = (7, 4) if by_request else (4, 7)
    procs = known[asked] if known[asked] > 0 else known[used]
    if not 0 < procs <= MAX_PROCS or procs != int(procs):
        raise ValueError(f"fields 5 and 8 say no possible number of processors: {fields[4]} and {fields[7]}")
    asked, used = (9, 6) if by_request else (6, 9)
    memory = known[asked] if known[asked] > 0 else known[used]
    if memory > MAX_KIBIBYTES:
        raise ValueError(f"fields 7 and 10 say no possible memory: {fields[6]} and {fields[9]}")
    return SwfJob(
        number=int(number),
        submit=submit,
        seconds=known[3],
        limit=known[8],
        procs=int(procs),
        memory_kib=memory,
        status=int(known[10]),
        user=int(known[11]),
        group=int(known[12]),
        queue=int(known[14]),
        partition=int(known[15]),
    )


def _is_number(field: str) -> bool:
    try:
        return "_" not in field and abs(float(field)) < MAX_NUMBER
    except ValueError:
        return False


def _unique(table: NDArray[np.float64], file: str, problems: Problems) -> NDArray[np.float64]:
    """Without the later ones of several jobs of one number, each of which is a problem."""
    _, first, inverse = np.unique(table[0], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(table.shape[1]))
    for index in again:
        line, number = int(table[-1, index]), int(table[0, index])
        problems.add(f"job {number} is there twice; first in line {int(table[-1, first[inverse[index]]])}", file, line)
    return np.delete(table, again, axis=1)

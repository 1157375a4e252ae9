"""SWF, the Standard Workload Format of logs of HPC clusters.

In: a log, plain or gzip: header comments behind ";", then one job a line, 18 numbers, -1 where nothing is known. Out: a
`Workload` in which each job is a pod, or a gang of pods of so many processors each. User and group are annotations,
queue and partition labels. Jobs are kept as columns of numbers, and pods made when they are asked for.
Called by scenarios and by users.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.model import DecodeError, Quantity, dns_label_problem, dns_subdomain_problem, parse_quantity
from fairway.trace.annotations import (
    DURATION,
    FAIL_AFTER,
    GANG,
    GANG_SIZE,
    GROUP,
    TIME_LIMIT,
    USER,
    seconds_text,
)
from fairway.trace.problems import Problems
from fairway.trace.swf_header import SwfHeader, header_nodes
from fairway.trace.template import Template, batch_pod, memory_quantity, milli_quantity
from fairway.trace.text_file import Progress, read_lines
from fairway.trace.workload import Arrival, Arrivals, Workload

__all__ = ["PARTITION", "QUEUE", "SwfOptions", "read_swf"]

QUEUE: Final = "fairway.dev/queue"
PARTITION: Final = "fairway.dev/partition"
NUM_FIELDS: Final = 18
MAX_PROCS: Final = 10_000_000  # more than any machine has; beyond it the line is damaged
MAX_SECONDS: Final = 10_000_000_000
MEBIBYTE: Final = 2**20
CHUNK: Final = 4096
FAILED, CANCELLED = 0, 5


class SwfOptions(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How jobs become pods."""

    procs_per_pod: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """A job becomes a gang of pods of so many processors, the last with what remains; without, it is one pod."""
    size: Literal["requested", "used"] = "requested"
    """Which processors and memory count; where the log does not know one it is the other."""
    cpu_per_proc: str | float = "1"
    """What a processor of the log is in CPUs."""
    memory_per_proc: str | float | None = None
    """What a processor asks for when the log does not know; without, nothing."""
    statuses: tuple[Literal[-1, 0, 1, 2, 3, 4, 5], ...] = (-1, 0, 1, 5)
    """Which jobs count, by status: 0 failed, 1 completed, 5 cancelled, 2 to 4 parts of jobs, -1 not known."""
    failures: bool = True
    """Jobs that failed then fail again, after the same time."""
    nodes: bool = False
    """Make the nodes that the header speaks of (MaxNodes, MaxProcs)."""
    node_memory: str | float = "256Gi"
    """What each of these nodes has, of which the header says nothing."""
    namespace: str = "default"
    prefix: str = "job"
    """Pods are called by it and the job's number."""


class _Jobs(NamedTuple):
    """The columns of the log that count, a value a job, in order of submission; -1 is not known."""

    number: NDArray[np.int64]  # (num_jobs,)
    submit: NDArray[np.float64]  # (num_jobs,)
    seconds: NDArray[np.float64]  # (num_jobs,)
    limit: NDArray[np.float64]  # (num_jobs,)
    procs: NDArray[np.int64]  # (num_jobs,)
    memory_kib: NDArray[np.float64]  # (num_jobs,) a processor
    status: NDArray[np.int64]  # (num_jobs,)
    user: NDArray[np.int64]  # (num_jobs,)
    group: NDArray[np.int64]  # (num_jobs,)
    queue: NDArray[np.int64]  # (num_jobs,)
    partition: NDArray[np.int64]  # (num_jobs,)


class _Job(NamedTuple):
    """One of them."""

    number: int
    submit: float
    seconds: float
    limit: float
    procs: int
    memory_kib: float
    status: int
    user: int
    group: int
    queue: int
    partition: int


def read_swf(
    path: str | os.PathLike[str],
    options: SwfOptions = SwfOptions(),  # noqa: B008 - immutable
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read a log; the first job arrives at 0. Lines that make no sense are problems, or errors when strict."""
    cpu, memory, node_memory = _check(options)
    problems = Problems(strict=strict)
    header = SwfHeader()
    jobs, notes = _read_jobs(path, options, header, problems, progress)
    num_pods = -(-jobs.procs // (options.procs_per_pod or jobs.procs))  # (num_jobs,)
    return Workload(
        name=Path(path).name.removesuffix(".gz").removesuffix(".swf").removesuffix(".txt"),
        nodes=header_nodes(header, os.fspath(path), cpu, node_memory) if options.nodes else [],
        arrivals=Arrivals(lambda: _arrivals(jobs, options, cpu, memory)),
        num_arrivals=int(num_pods.sum()),
        problems=problems.texts(),
        notes=notes,
    )


def _check(options: SwfOptions) -> tuple[int, int, int]:
    """What a processor is in milli-CPU and in bytes, and a node in bytes; `DecodeError` names the option at fault."""
    amounts = []
    for field, value in (
        ("cpuPerProc", options.cpu_per_proc),
        ("memoryPerProc", options.memory_per_proc),
        ("nodeMemory", options.node_memory),
    ):
        try:
            quantity: Quantity = parse_quantity(0 if value is None else value)
        except ValueError as error:
            raise DecodeError(str(error), field=field) from error
        if quantity.nanos < 0:
            raise DecodeError(f"must not be negative: {value}", field=field)
        amounts.append(quantity.milli if field == "cpuPerProc" else quantity.value)
    for field, problem in (
        ("namespace", dns_label_problem(options.namespace)),
        ("prefix", dns_subdomain_problem(options.prefix)),
    ):
        if problem:
            raise DecodeError(problem, field=field)
    return amounts[0], amounts[1], amounts[2]


def _read_jobs(
    path: str | os.PathLike[str],
    options: SwfOptions,
    header: SwfHeader,
    problems: Problems,
    progress: Progress | None,
) -> tuple[_Jobs, list[str]]:
    file = os.fspath(path)
    columns = [array("d") for _ in range(len(_Jobs._fields) + 1)]
    num_other = num_idle = 0
    for line_number, line in read_lines(path, progress):
        text = line.strip()
        if not text:
            continue
        if text.startswith(";"):
            header.add(text)
            continue
        try:
            job = _parse(text, options)
        except ValueError as error:
            problems.add(str(error), file, line_number)
            continue
        if int(job[6]) not in options.statuses:
            num_other += 1
        elif job[2] < 0 or (job[2] == 0 and job[6] == CANCELLED):
            num_idle += 1
        else:
            for column, value in zip(columns, (*job, line_number), strict=True):
                column.append(value)
    table = np.array([np.frombuffer(column) if len(column) else np.empty(0) for column in columns])
    table = table[:, np.argsort(table[1], kind="stable")]
    table = _unique(table, file, problems)
    if not table.shape[1]:
        why = f"; the first problem: {problems.first}" if problems.first else ""
        raise DecodeError(f"holds no job that ran{why}", source=file)
    table[1] -= table[1, 0]
    notes = [f"{num_other} jobs are left out for their status"] if num_other else []
    notes += [f"{num_idle} jobs that never ran are left out"] if num_idle else []
    whole = {"number", "procs", "status", "user", "group", "queue", "partition"}
    kinds = (np.int64 if name in whole else np.float64 for name in _Jobs._fields)
    return _Jobs(*(column.astype(kind) for column, kind in zip(table, kinds, strict=False))), notes


def _parse(text: str, options: SwfOptions) -> tuple[float, ...]:
    """One job, in the order of `_Jobs`; `ValueError` says what is wrong with the line."""
    fields = text.split()
    if len(fields) != NUM_FIELDS:
        raise ValueError(f"has {len(fields)} fields, not {NUM_FIELDS}")
    try:
        values = [float(field) for field in fields]
    except ValueError:
        values = []
    if not values or "_" in text or not math.isfinite(sum(values)):
        guilty = next(index for index, field in enumerate(fields) if not _is_number(field))
        raise ValueError(f"field {guilty + 1} is not a number: {fields[guilty][:40]!r}")
    number, submit, seconds = values[0], values[1], values[3]
    if not 0 <= number < 2**53 or number != int(number):
        raise ValueError(f"field 1 must be the number of a job, not {fields[0]}")
    if not 0 <= submit <= MAX_SECONDS:
        raise ValueError(f"field 2 must be the time of submission, from 0 to {MAX_SECONDS}, not {fields[1]}")
    if seconds > MAX_SECONDS:
        raise ValueError(f"field 4 must be the run time, up to {MAX_SECONDS} seconds, not {fields[3]}")
    known = [_known(value) for value in values]
    asked, used = (7, 4) if options.size == "requested" else (4, 7)
    procs = known[asked] if known[asked] > 0 else known[used]
    if not 0 < procs <= MAX_PROCS or procs != int(procs):
        raise ValueError(f"fields 5 and 8 say no possible number of processors: {fields[4]} and {fields[7]}")
    asked, used = (9, 6) if options.size == "requested" else (6, 9)
    memory = known[asked] if known[asked] > 0 else known[used]
    if memory > 2**40:
        raise ValueError(f"fields 7 and 10 say no possible memory: {fields[6]} and {fields[9]}")
    return (number, submit, known[3], known[8], procs, memory, known[10], *known[11:13], known[14], known[15])


def _is_number(field: str) -> bool:
    try:
        return "_" not in field and math.isfinite(float(field))
    except ValueError:
        return False


def _known(value: float) -> float:
    return value if 0 <= value < 2**53 else -1.0


def _unique(table: NDArray[np.float64], file: str, problems: Problems) -> NDArray[np.float64]:
    """Without the later ones of several jobs of one number, each of which is a problem."""
    _, first, inverse = np.unique(table[0], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(table.shape[1]))
    for index in again:
        line, number = int(table[-1, index]), int(table[0, index])
        problems.add(f"job {number} is there twice; first in line {int(table[-1, first[inverse[index]]])}", file, line)
    return np.delete(table, again, axis=1)


def _arrivals(jobs: _Jobs, options: SwfOptions, milli_cpu: int, memory: int) -> Iterator[Arrival]:
    @lru_cache(maxsize=4096)
    def template(procs: int, memory_kib: float, queue: int, partition: int) -> Template:
        size = math.ceil(memory_kib * 1024) if memory_kib > 0 else memory
        size = -(-size * procs // MEBIBYTE) * MEBIBYTE
        requests = {"cpu": milli_quantity(milli_cpu * procs), "memory": memory_quantity(size)}
        labels = {QUEUE: f"queue-{queue}"} if queue >= 0 else {}
        labels |= {PARTITION: f"partition-{partition}"} if partition >= 0 else {}
        return Template(batch_pod(options.namespace, requests, labels))

    for job in _each(jobs):
        each = options.procs_per_pod or job.procs
        num_pods = -(-job.procs // each)
        name = f"{options.prefix}-{job.number}"
        said = _annotations(job, options)
        if num_pods > 1:
            said |= {GANG: name, GANG_SIZE: str(num_pods)}
        for index in range(num_pods):
            made = template(min(each, job.procs - index * each), job.memory_kib, job.queue, job.partition)
            yield Arrival(job.submit, made.pod(name if num_pods == 1 else f"{name}-{index}", said))


def _each(jobs: _Jobs) -> Iterator[_Job]:
    for start in range(0, len(jobs.number), CHUNK):
        columns = (column[start : start + CHUNK].tolist() for column in jobs)
        yield from map(_Job._make, zip(*columns, strict=True))


def _annotations(job: _Job, options: SwfOptions) -> dict[str, str]:
    fails = options.failures and job.status == FAILED
    said = {FAIL_AFTER if fails else DURATION: seconds_text(job.seconds)}
    if job.limit > 0:
        said[TIME_LIMIT] = seconds_text(job.limit)
    if job.user >= 0:
        said[USER] = f"user-{job.user}"
    if job.group >= 0:
        said[GROUP] = f"group-{job.group}"
    return said

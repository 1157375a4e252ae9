"""SWF, the Standard Workload Format of logs of HPC clusters.

In: a log, plain or gzip: header comments behind ";", then one job a line, 18 numbers, -1 where nothing is known. Out: a
`Workload` in which each job is a pod, or a gang of pods of so many processors each. User and group are annotations,
queue and partition labels. Jobs are kept as columns of numbers, and pods made when they are asked for.
Called by scenarios and by users.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from fairway.model import DecodeError, Node, Quantity, dns_label_problem, dns_subdomain_problem, parse_quantity
from fairway.model.text_file import Progress
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
from fairway.trace.swf_header import SwfHeader, header_nodes, pool_node, procs_per_node
from fairway.trace.swf_jobs import FAILED, Jobs, SwfJob, read_jobs
from fairway.trace.template import Template, batch_pod, memory_quantity, milli_quantity
from fairway.trace.workload import Arrival, Arrivals, Workload

__all__ = ["PARTITION", "QUEUE", "SwfOptions", "read_swf"]

QUEUE: Final = "fairway.dev/queue"
PARTITION: Final = "fairway.dev/partition"
MEBIBYTE: Final = 2**20


class LimitFactor(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Limits that are so many times as long as jobs ran."""

    factor: Annotated[float, msgspec.Meta(gt=0)]


class SwfOptions(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How jobs become pods."""

    procs_per_pod: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(
            description="A job becomes a gang of pods of so many processors, the last with what remains; "
            "without, it is one pod."
        ),
    ] = None
    size: Annotated[
        Literal["requested", "used"],
        msgspec.Meta(description="Which processors and memory count; where the log does not know one it is the other."),
    ] = "requested"
    cpu_per_proc: Annotated[str | float, msgspec.Meta(description="What a processor of the log is in CPUs.")] = "1"
    memory_per_proc: Annotated[
        str | float | None,
        msgspec.Meta(description="What a processor asks for when the log does not know; without, nothing."),
    ] = None
    statuses: Annotated[
        tuple[Literal[-1, 0, 1, 2, 3, 4, 5], ...],
        msgspec.Meta(
            description="Which jobs count, by status: 0 failed, 1 completed, 5 cancelled, 2 to 4 parts of jobs, "
            "-1 not known."
        ),
    ] = (-1, 0, 1, 5)
    failures: Annotated[bool, msgspec.Meta(description="Jobs that failed then fail again, after the same time.")] = True
    nodes: Annotated[
        bool, msgspec.Meta(description="Make the nodes that the header speaks of (MaxNodes, MaxProcs).")
    ] = False
    node_memory: Annotated[
        str | float, msgspec.Meta(description="What each of these nodes has, of which the header says nothing.")
    ] = "256Gi"
    machine: Annotated[
        Literal["pool", "nodes"] | None,
        msgspec.Meta(
            description="pool: one node with all processors that the header speaks of; nodes: its nodes, and a job is "
            "one pod for each node's share; without, neither."
        ),
    ] = None
    queues: Annotated[
        dict[str, str],
        msgspec.Meta(description='Names of queues by their numbers in the log; "*" is for all others.'),
    ] = msgspec.field(default_factory=dict)
    limits: Annotated[
        Literal["log", "runtime"] | LimitFactor,
        msgspec.Meta(description="How long jobs may run: as the log says, as long as they ran, or so many times that."),
    ] = "log"
    namespace: str = "default"
    prefix: Annotated[str, msgspec.Meta(description="Pods are called by it and the job's number.")] = "job"


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
    jobs, notes = read_jobs(path, options.size == "requested", options.statuses, header, problems, progress)
    if options.machine == "nodes" and options.procs_per_pod is None:
        share = max(procs_per_node(header), 1)
        options = msgspec.structs.replace(options, procs_per_pod=share)
    num_pods = -(-jobs.procs // (options.procs_per_pod or jobs.procs))  # (num_jobs,)
    return Workload(
        name=Path(path).name.removesuffix(".gz").removesuffix(".swf").removesuffix(".txt"),
        nodes=_nodes(options, header, os.fspath(path), cpu, node_memory),
        arrivals=Arrivals(lambda: _arrivals(jobs, options, cpu, memory)),
        num_arrivals=int(num_pods.sum()),
        problems=problems.texts(),
        notes=notes,
    )


def _nodes(options: SwfOptions, header: SwfHeader, file: str, milli_cpu: int, memory_bytes: int) -> list[Node]:
    """The machine: all of it in one, node by node, or none."""
    if options.machine == "pool":
        return [pool_node(header, file, milli_cpu, memory_bytes)]
    return header_nodes(header, file, milli_cpu, memory_bytes) if options.nodes or options.machine == "nodes" else []


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


def _arrivals(jobs: Jobs, options: SwfOptions, milli_cpu: int, memory: int) -> Iterator[Arrival]:
    @lru_cache(maxsize=4096)
    def template(procs: int, memory_kib: float, queue: int, partition: int) -> Template:
        size = math.ceil(memory_kib * 1024) if memory_kib > 0 else memory
        size = -(-size * procs // MEBIBYTE) * MEBIBYTE
        requests = {"cpu": milli_quantity(milli_cpu * procs), "memory": memory_quantity(size)}
        named = options.queues.get(str(queue), options.queues.get("*", f"queue-{queue}" if queue >= 0 else ""))
        labels = {QUEUE: named} if named else {}
        labels |= {PARTITION: f"partition-{partition}"} if partition >= 0 else {}
        return Template(batch_pod(options.namespace, requests, labels))

    for job in jobs:
        each = options.procs_per_pod or job.procs
        num_pods = -(-job.procs // each)
        name = f"{options.prefix}-{job.number}"
        said = _annotations(job, options)
        if num_pods > 1:
            said |= {GANG: name, GANG_SIZE: str(num_pods)}
        for index in range(num_pods):
            made = template(min(each, job.procs - index * each), job.memory_kib, job.queue, job.partition)
            yield Arrival(job.submit, made.pod(name if num_pods == 1 else f"{name}-{index}", said))


def _annotations(job: SwfJob, options: SwfOptions) -> dict[str, str]:
    fails = options.failures and job.status == FAILED
    said = {FAIL_AFTER if fails else DURATION: seconds_text(job.seconds)}
    limit = job.limit
    if isinstance(options.limits, LimitFactor):
        limit = job.seconds * options.limits.factor
    elif options.limits == "runtime":
        limit = job.seconds
    if limit > 0:
        said[TIME_LIMIT] = seconds_text(limit)
    if job.user >= 0:
        said[USER] = f"user-{job.user}"
    if job.group >= 0:
        said[GROUP] = f"group-{job.group}"
    return said

"""The openb trace of a GPU cluster: a node list and pod lists in CSV.

In: the paths of a node list, a pod list, or both. Out: a `Workload`. Nodes have alibabacloud.com/gpu-count and
alibabacloud.com/gpu-milli (1000 a device) among their resources and the device model as a label. What a pod needs of
devices is in annotations (alibabacloud.com/gpu-milli, gpu-count, gpu-card-model), which plugins for shared devices
read; times of creation and deletion become arrival and duration. Called by scenarios and by users.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

import msgspec

from fairway.model import (
    Affinity,
    DecodeError,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    ObjectMeta,
    Pod,
    Quantity,
    dns_subdomain_problem,
    label_value_problem,
    parse_quantity,
)
from fairway.model.text_file import Progress
from fairway.trace.annotations import DURATION, FAIL_AFTER, QOS, seconds_text
from fairway.trace.csv_rows import Row, read_rows, whole_number
from fairway.trace.problems import Problems
from fairway.trace.template import Template, batch_pod, memory_quantity, milli_quantity
from fairway.trace.workload import Arrival, Arrivals, Workload

__all__ = ["GPU_COUNT", "GPU_MILLI", "GPU_MODEL", "OpenbOptions", "read_openb"]

GPU_COUNT: Final = "alibabacloud.com/gpu-count"
GPU_MILLI: Final = "alibabacloud.com/gpu-milli"
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIME_COLUMNS: Final = ("creation_time", "deletion_time", "scheduled_time")
PODS_A_NODE: Final = parse_quantity(1001)
DEVICE: Final = 1000  # milli

T = TypeVar("T")


class OpenbOptions(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How to read the pod list."""

    times: Annotated[
        Literal["recorded", "order"],
        msgspec.Meta(
            description="`recorded`: when they were created, for as long as they ran. "
            "`order`: one after the other, to stay."
        ),
    ] = "recorded"
    compression: Annotated[
        float,
        msgspec.Meta(
            gt=0, description="With recorded times: so many times faster do they arrive. They run as long as they did."
        ),
    ] = 1.0
    longest_gap: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None,
        msgspec.Meta(
            description="With recorded times: longer times without arrivals (seconds) are shortened to this, "
            "before compression."
        ),
    ] = None
    interval: Annotated[
        float, msgspec.Meta(ge=0, description="With `order`: seconds from one arrival to the next.")
    ] = 1.0
    pending: Annotated[
        bool,
        msgspec.Meta(
            description="Take the pods too that the trace never saw running; they run for as long as they waited."
        ),
    ] = True
    failures: Annotated[bool, msgspec.Meta(description="Pods that failed then fail again, after the same time.")] = True
    gpu_requests: Annotated[
        bool,
        msgspec.Meta(
            description="Ask for alibabacloud.com/gpu-milli as a resource and for the model by node affinity too, "
            "which the default plugins understand: devices are then shared as one pool a node."
        ),
    ] = False
    namespace: str = "paib-gpu"


class _PodRow(NamedTuple):
    name: str
    milli_cpu: int
    memory_mib: int
    num_gpu: int
    gpu_milli: int
    models: str
    qos: str
    phase: str
    created: int
    seconds: int | None


def read_openb(
    nodes: str | os.PathLike[str] | None = None,
    pods: str | os.PathLike[str] | None = None,
    options: OpenbOptions = OpenbOptions(),  # noqa: B008 - immutable
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read a node list, a pod list, or both; lines that make no sense are problems, or errors when strict."""
    files = [path for path in (nodes, pods) if path is not None]
    if not files:
        raise ValueError("give a node list, a pod list, or both")
    part = None if progress is None else lambda amount: progress(amount / len(files))
    problems = Problems(strict=strict)
    machines = [] if nodes is None else _read(nodes, NODE_COLUMNS, _node, problems, part)
    rows: list[_PodRow] = []
    notes = []
    if pods is not None:
        recorded = options.times == "recorded"
        columns = (*POD_COLUMNS, *TIME_COLUMNS) if recorded else POD_COLUMNS
        try:
            rows = _read(pods, columns, _pod_row, problems, part)
        except DecodeError as error:
            if recorded and "the header lacks creation_time" in error.problem:
                problem = f"{error.problem}. Without times, read it with times: order"
                raise DecodeError(problem, source=error.source) from error
            raise
        if not options.pending:
            num_all = len(rows)
            rows = [row for row in rows if row.phase != "Pending"]
            notes.append(f"{num_all - len(rows)} pods that never ran are left out")
        if recorded:
            rows.sort(key=lambda row: row.created)
    return Workload(
        name=Path(files[-1]).name.removesuffix(".gz").removesuffix(".csv"),
        nodes=machines,
        arrivals=Arrivals(lambda: _arrivals(rows, options)),
        num_arrivals=len(rows),
        problems=problems.texts(),
        notes=notes,
    )


def _read(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    make: Callable[[Row], T],
    problems: Problems,
    progress: Progress | None,
) -> list[T]:
    """Everything the rows stand for; a name that was there before, or a row that makes no sense, is a problem."""
    file = os.fspath(path)
    first: dict[str, int] = {}
    found: list[T] = []
    for row in read_rows(path, columns, problems, progress):
        name = row.cells[columns[0]]
        try:
            if problem := dns_subdomain_problem(name):
                raise ValueError(f"{columns[0]} {name[:80]!r} {problem}")
            if name in first:
                raise ValueError(f"{name} is there twice; first in line {first[name]}")
            found.append(make(row))
        except ValueError as error:
            problems.add(str(error), file, row.line)
        else:
            first[name] = row.line
    if not found:
        reason = f"; the first problem: {problems.first}" if problems.first else ", only a header"
        raise DecodeError(f"holds no row that can be used{reason}", source=file)
    return found


def _node(row: Row) -> Node:
    name, model, count = row.cells["sn"], row.cells["model"], whole_number(row, "gpu")
    labels = {"kubernetes.io/hostname": name}
    resources = {
        "cpu": milli_quantity(whole_number(row, "cpu_milli")),
        "memory": memory_quantity(whole_number(row, "memory_mib") * 2**20),
        "pods": PODS_A_NODE,
    }
    if count:
        if problem := label_value_problem(model):
            raise ValueError(f"model {model[:80]!r} {problem}")
        labels |= {GPU_MODEL: model} if model else {}
        resources |= {GPU_COUNT: parse_quantity(count), GPU_MILLI: parse_quantity(count * DEVICE)}
    return Node(
        metadata=ObjectMeta(name=name, labels=labels), status=NodeStatus(capacity=resources, allocatable=resources)
    )


def _pod_row(row: Row) -> _PodRow:
    cells = row.cells
    num_gpu, gpu_milli = whole_number(row, "num_gpu"), whole_number(row, "gpu_milli")
    if num_gpu and not 1 <= gpu_milli <= DEVICE:
        raise ValueError(f"gpu_milli must be from 1 to {DEVICE} for a pod with devices, not {gpu_milli}")
    if num_gpu > 1 and gpu_milli != DEVICE:
        raise ValueError(f"gpu_milli must be {DEVICE} for {num_gpu} devices, not {gpu_milli}: only one can be shared")
    phase = cells.get("pod_phase", "")
    created, seconds = _times(row, phase) if cells.get("creation_time") else (0, None)
    return _PodRow(
        name=cells["name"],
        milli_cpu=whole_number(row, "cpu_milli"),
        memory_mib=whole_number(row, "memory_mib"),
        num_gpu=num_gpu,
        gpu_milli=gpu_milli if num_gpu else 0,
        models=cells.get("gpu_spec", "") if num_gpu else "",
        qos=cells.get("qos", ""),
        phase=phase,
        created=created,
        seconds=seconds,
    )


def _times(row: Row, phase: str) -> tuple[int, int | None]:
    """When it was created, and how long it ran: for ever if it was never deleted."""
    created = whole_number(row, "creation_time")
    if not row.cells.get("deletion_time"):
        return created, None
    deleted = whole_number(row, "deletion_time")
    started = whole_number(row, "scheduled_time") if row.cells.get("scheduled_time") else created
    if not created <= started <= deleted:
        raise ValueError(f"created at {created}, scheduled at {started}, deleted at {deleted}: not in this order")
    return created, deleted - started


def _arrivals(rows: Sequence[_PodRow], options: OpenbOptions) -> Iterator[Arrival]:
    @lru_cache(maxsize=4096)
    def template(milli_cpu: int, memory_mib: int, num_gpu: int, gpu_milli: int, models: str) -> Template:
        return Template(_shape(options, milli_cpu, memory_mib, num_gpu, gpu_milli, models))

    recorded = options.times == "recorded"
    longest_gap = options.longest_gap or float("inf")
    time, before = 0.0, rows[0].created if rows else 0
    for number, row in enumerate(rows):
        if recorded:
            time += min(row.created - before, longest_gap) / options.compression
            before = row.created
        else:
            time = number * options.interval
        said = {QOS: row.qos} if row.qos else {}
        if recorded and row.seconds is not None:
            fails = options.failures and row.phase == "Failed"
            said[FAIL_AFTER if fails else DURATION] = seconds_text(row.seconds)
        made = template(row.milli_cpu, row.memory_mib, row.num_gpu, row.gpu_milli, row.models)
        yield Arrival(time, made.pod(row.name, said))


def _shape(options: OpenbOptions, milli_cpu: int, memory_mib: int, num_gpu: int, gpu_milli: int, models: str) -> Pod:
    """The pod all pods of this size are copies of."""
    requests: dict[str, Quantity] = {
        "cpu": milli_quantity(milli_cpu),
        "memory": memory_quantity(memory_mib * 2**20),
    }
    if options.gpu_requests:
        requests[GPU_MILLI] = parse_quantity(num_gpu * gpu_milli)
    pod = batch_pod(options.namespace, requests)
    if not num_gpu:
        return pod
    said = {GPU_MILLI: str(gpu_milli), GPU_COUNT: str(num_gpu)} | ({GPU_MODEL: models} if models else {})
    spec = pod.spec
    if options.gpu_requests and models:
        one_of = NodeSelectorRequirement(key=GPU_MODEL, operator="In", values=tuple(models.split("|")))
        selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(one_of,)),))
        affinity = Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector))
        spec = msgspec.structs.replace(spec, affinity=affinity)
    meta = msgspec.structs.replace(pod.metadata, annotations=said)
    return msgspec.structs.replace(pod, metadata=meta, spec=spec)

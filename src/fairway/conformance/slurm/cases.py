"""Recorded files of Slurm: lines in, typed values out.

In: `plan-*` files, one case a line: nodes, what ran, windows, what waited, and what Slurm made of it. Out:
`PlanCase`s. What is wrong is a `DecodeError` with file, line and field. Times are seconds from the moment at which the
queue was opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal, TypeVar

import msgspec

from fairway.conformance.corpus import CaseLine
from fairway.model import DecodeError
from fairway.model.nesting import check_nesting

__all__ = ["PlanCase", "SlurmJob", "SlurmPlanned", "SlurmWindow", "decode_line", "plan_case"]

Amount = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
Seconds = Annotated[int, msgspec.Meta(ge=-(1 << 40), le=1 << 40)]
Length = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]


class SlurmNode(msgspec.Struct, frozen=True):
    """A node; the lower its weight, the sooner it is taken."""

    name: str
    cpus: Amount
    mem_mb: Amount
    gpus: Amount
    weight: int = 1
    state: Literal["up", "drain", "down"] = "up"


class SlurmAfter(msgspec.Struct, frozen=True):
    """A job to wait for."""

    kind: Literal["after", "afterany", "afterok"]
    id: str


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    nodes: Count
    tasks_per_node: Amount
    cpus_per_task: Amount
    mem_mb_per_node: Amount
    gpus_per_node: Amount
    exclusive: bool
    limit_s: Length

    @property
    def amounts(self) -> tuple[int, int, int]:
        """Cores, memory and GPUs of each of its nodes."""
        return self.tasks_per_node * self.cpus_per_task, self.mem_mb_per_node, self.gpus_per_node


class SlurmJob(_Shape, frozen=True, kw_only=True):
    """A job that waited."""

    priority: int
    begin: Seconds | None = None
    after: SlurmAfter | None = None


class SlurmRunning(_Shape, frozen=True, kw_only=True):
    """A job that ran already."""

    on: list[str]
    start: Seconds
    end: Seconds


class SlurmWindow(msgspec.Struct, frozen=True):
    """A time in which no job may be on these nodes."""

    kind: Literal["maintenance", "reserved-for-others"]
    on: list[str]
    start: Seconds
    end: Seconds


class SlurmStarted(msgspec.Struct, frozen=True):
    """A job that Slurm started at once."""

    id: str
    at: Seconds
    nodes: list[str]


class SlurmPlanned(msgspec.Struct, frozen=True):
    """A job that Slurm let wait: until when, why."""

    id: str
    start: Seconds | None
    nodes: list[str]
    reason: str
    tight: bool = False  # no earlier start exists beside what Slurm started and booked for higher priorities
    in_window: bool = False  # Slurm's slot reaches into a window: a known weakness, never right


class SlurmRefused(msgspec.Struct, frozen=True):
    """A job that Slurm did not take."""

    id: str


class SlurmAnswer(msgspec.Struct, frozen=True):
    """What Slurm made of a case."""

    started: list[SlurmStarted]
    planned: list[SlurmPlanned]
    refused: list[SlurmRefused]


class PlanCase(msgspec.Struct, frozen=True):
    """A machine, what waits for it, and Slurm's plan."""

    id: str
    mode: Literal["conservative", "easy", "stock"]
    nodes: list[SlurmNode]
    running: list[SlurmRunning]
    windows: list[SlurmWindow]
    pending: list[SlurmJob]
    expected: SlurmAnswer
    setting: Literal["alone", "many"] = "alone"


T = TypeVar("T")


def decode_line(line: CaseLine, kind: type[T], what: str) -> T:
    """The line as a value of this type."""
    check_nesting(line.data, line.source)
    try:
        return msgspec.json.decode(line.data, type=kind)
    except msgspec.DecodeError as error:  # also of the wrong shape; it names the field
        raise DecodeError(f"is not {what}: {error}", source=line.source) from error
    except UnicodeDecodeError as error:
        raise DecodeError("is not UTF-8 text", source=line.source) from error


def plan_case(line: CaseLine) -> PlanCase:
    """Decode a line of a `plan-*` file."""
    case = decode_line(line, PlanCase, "a recorded plan")
    for field, problem in _problems(case):
        raise DecodeError(problem, source=line.source, subject=f"case {case.id}", field=field)
    return case


def _problems(case: PlanCase) -> Iterator[tuple[str, str]]:
    nodes = Counter(node.name for node in case.nodes)
    jobs = Counter(job.id for job in (*case.pending, *case.running))
    yield from _doubles("nodes", nodes)
    yield from _doubles("pending", jobs)
    for field, names in _node_lists(case):
        yield from ((field, f"no node is called {name}") for name in names if name not in nodes)
        yield from _doubles(field, Counter(names))
    for field, key in _job_names(case):
        if key not in jobs:
            yield field, f"no job is called {key}"
    wants = {job.id: job.nodes for job in case.pending}
    for field, key, number in _places(case):
        if key not in wants:
            yield field, f"{key} does not wait"
        elif number and number != wants[key]:
            yield field, f"has {max(number, 0)} nodes; job {key} wants {wants[key]}"
    for index, window in enumerate(case.windows):
        if window.end <= window.start:
            yield f"windows[{index}].end", f"{window.end} is not after start, {window.start}"


def _doubles(field: str, names: Counter[str]) -> Iterator[tuple[str, str]]:
    yield from ((field, f"{name} is there {number} times") for name, number in names.items() if number > 1)


def _node_lists(case: PlanCase) -> Iterator[tuple[str, list[str]]]:
    yield from ((f"running[{index}].on", running.on) for index, running in enumerate(case.running))
    yield from ((f"windows[{index}].on", window.on) for index, window in enumerate(case.windows))
    yield from ((f"expected.started[{index}].nodes", one.nodes) for index, one in enumerate(case.expected.started))
    yield from ((f"expected.planned[{index}].nodes", one.nodes) for index, one in enumerate(case.expected.planned))


def _job_names(case: PlanCase) -> Iterator[tuple[str, str]]:
    for index, job in enumerate(case.pending):
        if job.after is not None:
            yield f"pending[{index}].after.id", job.after.id
    yield from ((f"expected.refused[{index}].id", one.id) for index, one in enumerate(case.expected.refused))


def _places(case: PlanCase) -> Iterator[tuple[str, str, int]]:
    for index, started in enumerate(case.expected.started):
        yield f"expected.started[{index}]", started.id, len(started.nodes)
    for index, planned in enumerate(case.expected.planned):
        yield f"expected.planned[{index}]", planned.id, len(planned.nodes)
        if planned.start is not None and not planned.nodes:
            yield f"expected.planned[{index}].nodes", planned.id, -1

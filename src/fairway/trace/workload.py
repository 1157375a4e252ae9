"""A workload: what is there at the start, and what arrives when.

In: nodes, objects and arrivals as the readers of this room give them. Out: `Workload`s, and others made of them: scaled
in time, cut, copied, combined. Arrivals are made while they are asked for, in order of time, and can be asked for
again; a million pods are never in memory at once. The simulator creates what a workload says, when it says it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from fairway.model import DecodeError, Node, object_name
from fairway.trace.annotations import DURATION, FAIL_AFTER, GANG, TEMPLATES, parse_seconds, seconds_text

__all__ = ["Arrival", "Arrivals", "Workload", "combine"]


class Arrival(NamedTuple):
    """An object, complete with defaults, to be created so many seconds from the start."""

    time: float
    object: Any


class Arrivals:
    """Arrivals that are made anew whenever one iterates over them."""

    def __init__(self, start: Callable[[], Iterator[Arrival]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Arrival]:
        return self._start()


@dataclass(frozen=True)
class Workload:
    """What exists at the start, and what arrives later, in order of time."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)  # classes, namespaces, volumes, controllers, pods on nodes
    arrivals: Iterable[Arrival] = ()
    num_arrivals: int | None = None  # None: not known before they have come
    problems: list[str] = field(default_factory=list)  # what could not be used, and where it is
    notes: list[str] = field(default_factory=list)  # what was left out on purpose, and the like
    not_counted: list[str] = field(default_factory=list)  # what may make pods, and nobody knows which

    def scaled(self, time: float = 1.0, durations: float = 1.0) -> Workload:
        """With the times of arrival, and how long pods run, multiplied; 0.1 is ten times the load."""
        for what, factor in (("time", time), ("durations", durations)):
            if not math.isfinite(factor) or factor < 0:
                raise ValueError(f"{what} must be a finite factor, not negative: {factor}")
        if time == 1.0 == durations:
            return self

        def arrivals() -> Iterator[Arrival]:
            for one in self.arrivals:
                thing = one.object if durations == 1.0 else _scale_durations(one.object, durations)
                yield Arrival(one.time * time, thing)

        return replace(self, arrivals=Arrivals(arrivals))

    def limited(self, num_arrivals: int) -> Workload:
        """With the first so many arrivals only."""
        if num_arrivals < 0:
            raise ValueError(f"a workload cannot have {num_arrivals} arrivals")
        known = None if self.num_arrivals is None else min(self.num_arrivals, num_arrivals)
        return replace(self, arrivals=Arrivals(lambda: islice(self.arrivals, num_arrivals)), num_arrivals=known)

    def between(self, start: float = 0.0, end: float = math.inf) -> Workload:
        """With what arrives from `start` on and before `end`; `start` becomes the beginning of time."""

        def arrivals() -> Iterator[Arrival]:
            for one in self.arrivals:
                if one.time >= end:
                    return
                if one.time >= start:
                    yield Arrival(one.time - start, one.object)

        return replace(self, arrivals=Arrivals(arrivals), num_arrivals=None)

    def delayed(self, seconds: float) -> Workload:
        """With everything arriving so much later."""
        return replace(
            self, arrivals=Arrivals(lambda: (Arrival(one.time + seconds, one.object) for one in self.arrivals))
        )

    def replicated(self, copies: int) -> Workload:
        """With each arrival coming `copies` times, under the names `x`, `x-copy-1`, `x-copy-2`, ..."""
        if copies < 1:
            raise ValueError(f"there must be at least one copy, not {copies}")

        def arrivals() -> Iterator[Arrival]:
            for one in self.arrivals:
                yield one
                for number in range(1, copies):
                    yield Arrival(one.time, _renamed(one.object, f"-copy-{number}"))

        known = None if self.num_arrivals is None else self.num_arrivals * copies
        return replace(self, arrivals=Arrivals(arrivals), num_arrivals=known)


def combine(workloads: Sequence[Workload], name: str = "") -> Workload:
    """Several workloads as one; at the same instant the earlier in the list comes first.

    What is the same letter for letter in several of them is there once; another object of the same name is a
    `DecodeError`.
    """
    if len(workloads) == 1 and not name:
        return workloads[0]
    numbers = [one.num_arrivals for one in workloads]
    known = [number for number in numbers if number is not None]
    return Workload(
        name=name or "+".join(one.name for one in workloads),
        nodes=_once((one.name, node) for one in workloads for node in one.nodes),
        objects=_once((one.name, thing) for one in workloads for thing in one.objects),
        arrivals=Arrivals(lambda: heapq.merge(*(one.arrivals for one in workloads), key=lambda one: one.time)),
        num_arrivals=sum(known) if len(known) == len(numbers) else None,
        problems=[text for one in workloads for text in one.problems],
        notes=[text for one in workloads for text in one.notes],
        not_counted=[text for one in workloads for text in one.not_counted],
    )


def _once(named: Iterable[tuple[str, Any]]) -> list[Any]:
    seen: dict[str, tuple[str, Any]] = {}
    for origin, thing in named:
        title = object_name(thing)
        first, same = seen.setdefault(title, (origin, thing))
        if same is not thing and same != thing:
            problem = f"is another one than in {first}; give one of them another name"
            raise DecodeError(problem, source=origin, subject=title)
    return [thing for _, thing in seen.values()]


def _annotated(thing: Any, changes: Mapping[str, str], **others: Any) -> Any:
    meta = thing.metadata
    meta = msgspec.structs.replace(meta, annotations=meta.annotations | changes, **others)
    return msgspec.structs.replace(thing, metadata=meta)


def _scale_durations(thing: Any, factor: float) -> Any:
    """The object with its own annotations scaled, and those of the pods it makes."""
    said = thing.metadata.annotations
    changes = {key: seconds_text(parse_seconds(said[key]) * factor) for key in (DURATION, FAIL_AFTER) if key in said}
    thing = _annotated(thing, changes) if changes else thing
    for name in TEMPLATES:
        template = getattr(getattr(thing, "spec", None), name, None)
        if template is not None:
            spec = msgspec.structs.replace(thing.spec, **{name: _scale_durations(template, factor)})
            thing = msgspec.structs.replace(thing, spec=spec)
    return thing


def _renamed(thing: Any, suffix: str) -> Any:
    said = thing.metadata.annotations
    gang = {GANG: said[GANG] + suffix} if GANG in said else {}
    return _annotated(thing, gang, name=thing.metadata.name + suffix, uid="")

"""What operators say about jobs, from their objects to the desk's settings.

In: Queues, Accounts, MaintenanceWindows and Reservations as the watch has them. Out: `BatchSettings` of those that can
be used by these profiles, and what is wrong with the others: an object that makes no sense counts as not there, and is
told of (`problems`). All of it follows from the objects alone, so that every process reads the same. Called by
`batch_service` whenever one of them changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from fairway.batch.occurrences import occurrences, parse_moment
from fairway.batch.settings import BatchSettings
from fairway.config.fields import Problem, decode_fields
from fairway.config.spans import SPANS
from fairway.live.batch.objects import AccountObject, BatchObject, QueueObject, ReservationObject, WindowObject
from fairway.model.batch import (
    AccountSpec,
    QueueSpec,
    ReservationSpec,
    WindowSpec,
    account_problems,
    queue_problems,
    reservation_problems,
    window_problems,
)

__all__ = ["Catalogue", "ObjectProblem", "read_catalogue"]

SPECS: Final[dict[type[BatchObject], type[msgspec.Struct]]] = {
    QueueObject: QueueSpec,
    AccountObject: AccountSpec,
    WindowObject: WindowSpec,
    ReservationObject: ReservationSpec,
}
DEFAULT_SCHEDULER: Final = "fairway"
"""Who serves a queue that does not say it; the definition fills it in."""


class ObjectProblem(NamedTuple):
    """Why an object is as good as not there."""

    object: BatchObject
    words: str


class Catalogue(NamedTuple):
    """What can be used, and what can not."""

    settings: BatchSettings
    problems: tuple[ObjectProblem, ...] = ()


def read_catalogue(
    objects: Iterable[BatchObject], profiles: Collection[str], former: BatchSettings | None = None
) -> Catalogue:
    """The settings for a scheduler with these profiles; `former`: those before, for queues that were deleted since."""
    specs: dict[type[BatchObject], dict[str, Any]] = {kind: {} for kind in SPECS}
    problems: list[ObjectProblem] = []
    foreign = set()
    # In their order of age, so that of two queues with one alias the elder one has it, for every process.
    for each in sorted(objects, key=lambda each: (_age(each), each.metadata.name)):
        if type(each) not in SPECS:
            continue
        found: list[Problem] = []
        spec = decode_fields(each.spec, SPECS[type(each)], "spec", found, SPANS)
        if spec is not None:
            found += _objections(each.metadata.name, spec)
        if isinstance(spec, QueueSpec):
            if (spec.scheduler_name or DEFAULT_SCHEDULER) not in profiles:
                foreign.add(each.metadata.name)
                continue  # another process serves it
            if not found:
                found += _alias_problems(spec, specs[QueueObject].values())
            spec = spec.completed()
        if found:
            words = "; ".join(f"{problem.path}: {problem.text}" for problem in found)
            problems.append(ObjectProblem(each, words))
        else:
            specs[type(each)][each.metadata.name] = spec
    settings = BatchSettings(
        queues=specs[QueueObject],
        accounts=specs[AccountObject],
        windows=specs[WindowObject],
        reservations=specs[ReservationObject],
        foreign=frozenset(foreign),
    )
    if former is not None:
        known = {**former.departed, **former.queues}
        departed = {name: spec for name, spec in known.items() if name not in settings.queues}  # or given away
        settings = replace(settings, departed=departed)
    return Catalogue(settings, tuple(problems))


def _age(each: BatchObject) -> float:
    created = each.metadata.creation_timestamp
    return 0.0 if created is None else created.timestamp()


def _objections(name: str, spec: msgspec.Struct) -> Iterator[Problem]:
    """What can not be meant, though each field may be so by itself."""
    if isinstance(spec, QueueSpec):
        yield from queue_problems(spec, "spec")
        if spec.state_until:
            yield from _moment_problems("stateUntil", spec.state_until)
    elif isinstance(spec, AccountSpec):
        yield from account_problems(name, spec, "spec")
    elif isinstance(spec, WindowSpec):
        found = list(window_problems(spec, "spec"))
        yield from found or _time_problems(spec)
    elif isinstance(spec, ReservationSpec):
        yield from reservation_problems(spec, "spec")
        yield from _moment_problems("start", spec.start)


def _moment_problems(field: str, text: str) -> Iterator[Problem]:
    try:
        parse_moment(text, 0.0)
    except ValueError as error:
        yield Problem(f"spec.{field}", str(error))


def _time_problems(spec: WindowSpec) -> Iterator[Problem]:
    try:
        occurrences(spec, 0.0, 0.0)
    except ValueError as error:
        field, _, words = str(error).partition(": ")
        yield Problem(f"spec.{field}", words)


def _alias_problems(spec: QueueSpec, others: Iterable[QueueSpec]) -> Iterator[Problem]:
    """A name that another queue is known by already."""
    taken = list(others)
    for field in ("kueue", "volcano"):
        known = {alias for other in taken for alias in getattr(other.aliases, field)}
        for alias in getattr(spec.aliases, field):
            if alias in known:
                yield Problem(f"spec.aliases.{field}", f"{alias!r} is an alias of an older queue already")

"""`spec.batch` of a scenario: queues of jobs, and what else operators say of them.

In: the section as it is written, and what a policy changes of it. Out: a `BatchSettings`, or problems with their
fields. Times of windows and reservations are durations from the beginning of the simulation, or RFC 3339.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from fairway.batch.occurrences import occurrences, parse_moment
from fairway.batch.settings import BatchSettings, Ties
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
from fairway.model.duration import Duration
from fairway.model.meta import EPOCH
from fairway.scenario.batch_orders import NamedThings, Order, merged_values, order_problems
from fairway.scenario.fields import Problem, decode_struct
from fairway.scenario.moments import moment_problems
from fairway.scenario.named_closings import NamedReservation, NamedWindow, closing_names, name_problems, unnamed
from fairway.scenario.text import plain_values
from fairway.sim.simulation import SchedulerPlan

__all__ = ["BatchSection", "batch_problems", "batch_settings", "merged_batch", "served"]


Spec = TypeVar("Spec", WindowSpec, ReservationSpec)


class BatchSection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Queues of jobs; pods that name one wait there for their turn."""

    files: Annotated[
        tuple[str, ...], Meta(description="Objects of kind Queue, Account, MaintenanceWindow, Reservation.")
    ] = ()
    queues: Annotated[dict[str, QueueSpec], Meta(description="Queues by name; the spec of a Queue.")] = {}
    accounts: Annotated[dict[str, AccountSpec], Meta(description="Accounts by name; the spec of an Account.")] = {}
    windows: Annotated[tuple[NamedWindow, ...], Meta(description="Maintenance windows.")] = ()
    reservations: Annotated[tuple[NamedReservation, ...], Meta(description="Nodes kept for somebody.")] = ()
    orders: Annotated[tuple[Order, ...], Meta(description="What operators and owners say, and when.")] = ()
    interval: Annotated[Duration, Meta(description="How often is planned when nothing happens.")] = Duration(30)
    ties: Annotated[
        Ties,
        Meta(description="ends-first: all that happens at an instant, one plan; each: arrivals first, a plan each."),
    ] = "ends-first"
    half_life: Annotated[Duration, Meta(description="After which usage counts half.")] = Duration(7 * 86400)
    horizon: Annotated[Duration, Meta(description="Nothing is planned later than this from now.")] = Duration(
        14 * 86400
    )
    max_jobs: Annotated[int, Meta(ge=1, description="So many waiting jobs are planned; others come after them.")] = 1000

    @property
    def named(self) -> NamedThings:
        """All that orders may be about, but for jobs."""
        windows = closing_names(self.windows, "window")
        return NamedThings(self.queues, self.accounts, windows, closing_names(self.reservations, "reservation"))


def batch_problems(section: BatchSection, path: str) -> Iterator[Problem]:
    """What the types can not say."""
    if not section.queues and not section.files:
        yield Problem(f"{path}.queues", "empty; give one queue or more, or leave batch out")
    for name, queue in section.queues.items():
        yield from queue_problems(queue, f'{path}.queues["{name}"]')
    yield from _alias_problems(section.queues, path)
    for name, account in section.accounts.items():
        yield from account_problems(name, account, f'{path}.accounts["{name}"]')
    for number, window in enumerate(section.windows):
        yield from window_problems(window, f"{path}.windows[{number}]")
    for number, reservation in enumerate(section.reservations):
        yield from reservation_problems(reservation, f"{path}.reservations[{number}]")
    yield from name_problems(section.windows, "window", f"{path}.windows")
    yield from name_problems(section.reservations, "reservation", f"{path}.reservations")
    yield from _time_problems(section, path)
    if section.interval <= 0:
        yield Problem(f"{path}.interval", "has to be more than 0")
    if not section.files:  # else it is not known yet what there is
        yield from order_problems(section.orders, section.named, f"{path}.orders")


def _alias_problems(queues: Mapping[str, QueueSpec], path: str) -> Iterator[Problem]:
    """One name of others means one queue."""
    for kind in ("kueue", "volcano"):
        owners: dict[str, str] = {}
        for name, queue in queues.items():
            for alias in getattr(queue.aliases, kind):
                if (other := owners.setdefault(alias, name)) != name:
                    yield Problem(f'{path}.queues["{name}"].aliases.{kind}', f"{alias!r} is queue {other} already")


def _time_problems(section: BatchSection, path: str) -> Iterator[Problem]:
    """When windows and reservations are, and for whom."""
    for number, window in enumerate(section.windows):
        try:
            occurrences(window, 0.0, 0.0, EPOCH.timestamp(), may_be_span=True)
        except ValueError as error:
            field, _, words = str(error).partition(": ")
            if window.start or window.schedule:  # else it is told already
                yield Problem(f"{path}.windows[{number}].{field}", words)
    for name, queue in section.queues.items():
        if queue.state_until:
            yield from moment_problems(queue.state_until, f'{path}.queues["{name}"].stateUntil')
    for number, reservation in enumerate(section.reservations):
        yield from moment_problems(reservation.start, f"{path}.reservations[{number}].start")
        for kind, names, known in (
            ("queues", reservation.for_.queues, section.queues),
            ("accounts", reservation.for_.accounts, section.accounts),
        ):
            for name in names:
                if name not in known:
                    words = f"no {kind[:-1]} {name!r}" + (f"; there are {', '.join(known)}" if known else "")
                    yield Problem(f"{path}.reservations[{number}].for.{kind}", words)


def _dated(spec: Spec) -> Spec:
    """Its start as a time of day: of a duration, so long after the beginning."""
    if not spec.start:
        return spec
    moment = parse_moment(spec.start, EPOCH.timestamp(), may_be_span=True)
    start = (EPOCH + dt.timedelta(seconds=moment)).isoformat()
    return msgspec.structs.replace(spec, start=start)


def merged_batch(
    section: BatchSection | None, changes: Mapping[str, Any], path: str, problems: list[Problem]
) -> BatchSection | None:
    """The section with what a policy says otherwise; None after adding to `problems` what is wrong with that."""
    if not changes:
        return section
    plain: dict[str, Any] = {} if section is None else plain_values(section)
    merged = decode_struct(merged_values(plain, changes), BatchSection, path, problems)
    if merged is not None:
        found = list(batch_problems(merged, path))
        problems += found
        return None if found else merged
    return None


def batch_settings(section: BatchSection | None) -> BatchSettings | None:
    """What the desk is given."""
    if section is None:
        return None
    windows = [_dated(unnamed(each, WindowSpec)) for each in section.windows]
    reservations = [_dated(unnamed(each, ReservationSpec)) for each in section.reservations]
    return BatchSettings(
        queues={name: queue.completed() for name, queue in section.queues.items()},
        accounts=dict(section.accounts),
        windows=dict(zip(section.named.windows, windows, strict=True)),
        reservations=dict(zip(section.named.reservations, reservations, strict=True)),
        interval=float(section.interval),
        ties=section.ties,
        half_life=float(section.half_life),
        max_jobs=section.max_jobs,
        horizon=float(section.horizon),
    )


def served(settings: BatchSettings | None, scheduler: SchedulerPlan) -> BatchSettings | None:
    """The queues that a scheduler serves: those that name one of its profiles, or nobody's; None: it has none."""
    if settings is None:
        return None
    names = {profile.scheduler_name for profile in scheduler.configuration.profiles}
    queues = {
        name: queue
        for name, queue in settings.queues.items()
        if not queue.scheduler_name or queue.scheduler_name in names
    }
    return replace(settings, queues=queues) if queues else None

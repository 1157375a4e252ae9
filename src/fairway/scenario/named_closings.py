"""Windows and reservations of a scenario, with the names they go by.

In: the items of `spec.batch.windows` and `spec.batch.reservations`, or objects of files, which have a name already.
Out: the same under their names: what is written there, else `window-1`, `reservation-2` by their place in the list.
Names are how orders call them off, and what jobs that wait because of them are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, TypeVar

from msgspec import Meta

from fairway.model import dns_subdomain_problem
from fairway.model.batch import ReservationSpec, WindowSpec
from fairway.scenario.fields import Problem

__all__ = ["NamedReservation", "NamedWindow", "closing_names", "name_problems", "named", "unnamed"]

N = TypeVar("N", "NamedWindow", "NamedReservation")
S = TypeVar("S", WindowSpec, ReservationSpec)

NAME: Final = Meta(description="What it is called, by orders too; else window-1, reservation-1, and so on.")


class NamedWindow(WindowSpec, frozen=True, kw_only=True):
    """A maintenance window of a scenario."""

    name: Annotated[str, NAME] = ""


class NamedReservation(ReservationSpec, frozen=True, kw_only=True):
    """A reservation of a scenario."""

    name: Annotated[str, NAME] = ""


def named(spec: WindowSpec | ReservationSpec, kind: type[N], name: str) -> N:
    """The same with a name."""
    return kind(**{field: getattr(spec, field) for field in spec.__struct_fields__}, name=name)


def unnamed(spec: S, kind: type[S]) -> S:
    """The same as whoever keeps it under its name has it."""
    return kind(**{field: getattr(spec, field) for field in kind.__struct_fields__})


def closing_names(specs: Sequence[NamedWindow | NamedReservation], noun: str) -> list[str]:
    """What they are called, in their order."""
    return [spec.name or f"{noun}-{number}" for number, spec in enumerate(specs, 1)]


def name_problems(specs: Sequence[NamedWindow | NamedReservation], noun: str, path: str) -> Iterator[Problem]:
    """Names that are none, or of two."""
    seen: dict[str, int] = {}
    for number, name in enumerate(closing_names(specs, noun)):
        if problem := dns_subdomain_problem(name):
            yield Problem(f"{path}[{number}].name", problem)
        elif (other := seen.setdefault(name, number)) != number:
            yield Problem(f"{path}[{number}].name", f"{path}[{other}] is called {name} already")

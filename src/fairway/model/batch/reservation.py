"""A reservation: nodes that are kept for some users, accounts or queues for a while.

A `ReservationSpec` is what a Reservation's `spec` says. Times are as in windows.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fairway.model.batch.node_choice import NodeChoice
from fairway.model.duration import Duration
from fairway.model.field_problem import Problem
from fairway.model.meta import Value

__all__ = ["ReservationFor", "ReservationSpec", "reservation_problems"]


class ReservationFor(Value, frozen=True, kw_only=True):
    """Whose jobs may be there: those of any of these."""

    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()


class ReservationSpec(Value, frozen=True, kw_only=True):
    """A reservation, as it is written down."""

    start: str
    duration: Duration
    nodes: NodeChoice = NodeChoice()
    for_: ReservationFor = msgspec.field(name="for")
    if_unused: Duration | None = None  # given back when nobody has used it for so long; None: never


def reservation_problems(spec: ReservationSpec, path: str) -> Iterator[Problem]:
    """What can not be meant, though each field may be so by itself."""
    if spec.duration <= 0:
        yield Problem(f"{path}.duration", f"has to be more than 0, not {spec.duration.text}")
    if not (spec.for_.users or spec.for_.accounts or spec.for_.queues):
        yield Problem(f"{path}.for", "say for whom: users, accounts or queues")
    if spec.if_unused is not None and spec.if_unused <= 0:
        yield Problem(f"{path}.ifUnused", f"has to be more than 0, not {spec.if_unused.text}")

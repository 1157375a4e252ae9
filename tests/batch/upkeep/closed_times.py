"""Windows and reservations for tests, at seconds of a simulation."""

from __future__ import annotations

import datetime as dt
from typing import Any

from fairway.model.batch import NodeChoice, ReservationFor, ReservationSpec, WindowSpec
from fairway.model.duration import Duration
from fairway.model.meta import EPOCH


def at(seconds: float) -> str:
    """That moment, as objects carry it."""
    return (EPOCH + dt.timedelta(seconds=seconds)).isoformat()


def window(start: float, duration: float, mode: str = "avoid", **more: Any) -> WindowSpec:
    """A window over all nodes, or over a rack."""
    rack = more.pop("rack", "")
    return WindowSpec(
        start=at(start),
        duration=Duration(duration),
        mode=mode,  # type: ignore[arg-type]
        nodes=NodeChoice(selector={"rack": rack} if rack else {}),
        drain_lead=Duration(more.pop("lead", 20)),
        announce=Duration(more.pop("announce", 1000)),
    )


def reservation(start: float, duration: float, count: int | None = None, **more: Any) -> ReservationSpec:
    """So many nodes, for ada unless somebody else is said."""
    unused = more.pop("if_unused", None)
    return ReservationSpec(
        start=at(start),
        duration=Duration(duration),
        nodes=NodeChoice(count=count),
        for_=more.pop("whom", ReservationFor(users=("ada",))),
        if_unused=None if unused is None else Duration(unused),
    )

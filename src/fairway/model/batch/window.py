"""A maintenance window: when nodes are needed for something else, once or again and again, and how they are freed.

A `WindowSpec` is what a MaintenanceWindow's `spec` says. Times are RFC 3339, or durations from the beginning of a
simulation; `fairway.batch.windows` makes occurrences of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fairway.model.batch.node_choice import NodeChoice
from fairway.model.duration import Duration
from fairway.model.field_problem import Problem
from fairway.model.meta import Value

__all__ = ["WindowMode", "WindowSpec", "window_problems"]

WindowMode = Literal["avoid", "drain", "kill"]


class WindowSpec(Value, frozen=True, kw_only=True):
    """A window, as it is written down."""

    start: str = ""  # RFC 3339, or in scenarios a duration from the beginning
    schedule: str = ""  # or instead of it: when it comes again and again, as cron writes it
    time_zone: str = "UTC"
    duration: Duration
    nodes: NodeChoice = NodeChoice()
    mode: WindowMode = "avoid"
    announce: Duration = Duration(7 * 86400)
    drain_lead: Duration = Duration(86400)
    message: str = ""


def window_problems(spec: WindowSpec, path: str) -> Iterator[Problem]:
    """What can not be meant, though each field may be so by itself."""
    if bool(spec.start) == bool(spec.schedule):
        words = "say when: a start, or a schedule; not both" if spec.start else "say when: a start, or a schedule"
        yield Problem(f"{path}.start", words)
    if spec.duration <= 0:
        yield Problem(f"{path}.duration", f"has to be more than 0, not {spec.duration.text}")
    for name, seconds in (("announce", spec.announce), ("drainLead", spec.drain_lead)):
        if seconds < 0:
            yield Problem(f"{path}.{name}", f"must not be negative: {seconds.text}")
    if spec.nodes.count is not None:
        yield Problem(f"{path}.nodes.count", "is for reservations; a window has all nodes that its selector names")

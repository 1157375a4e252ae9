"""Which nodes an object of ours is about: by labels, so many of them, or all.

Part of queues, windows and reservations. A choice without labels means every node.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from fairway.model.meta import Value

__all__ = ["NodeChoice", "Protection"]

Protection = Literal["none", "fairway", "taint"]


class NodeChoice(Value, frozen=True, kw_only=True):
    """Nodes that have all of these labels."""

    selector: dict[str, str] = {}
    count: Annotated[int, msgspec.Meta(ge=1)] | None = None  # of a reservation: so many of them; None: all
    protect: Protection = "none"  # of a queue: whom its promises bind, besides its own jobs

    def matches(self, labels: dict[str, str]) -> bool:
        """Is a node with these labels meant?"""
        return all(labels.get(key) == value for key, value in self.selector.items())

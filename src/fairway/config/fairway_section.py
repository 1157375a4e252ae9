"""The section `fairway` of a profile: what kube-scheduler has no field for.

In: decoded by `fields` with the profile it stands in. Out: a `FairwayProfile`; `own_plugins` makes plugins and their
arguments of what it asks for, so that the rest of the program knows plugins alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from fairway.config.gangs import Gangs
from fairway.model.field_problem import Problem
from fairway.model.meta import Value

__all__ = ["FairwayProfile", "Sampling"]

Sampling = Literal["all", "kube", "two-choices"]
"""Which nodes are looked at: all of them; as many as kube-scheduler would; or the better of two random ones."""


class FairwayProfile(Value, frozen=True, kw_only=True):
    """Fairway's own settings of a profile."""

    sampling: Sampling = "kube"
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0
    gangs: Gangs | None = None  # how pods that belong together are treated; None: one by one
    exclusive: bool = False  # pods may have nodes to themselves
    exclusive_guard: Literal["none", "taint"] = "none"  # what keeps other schedulers off them

    def problems(self, path: str) -> Iterator[Problem]:
        """What does not go together."""
        if self.exclusive_guard != "none" and not self.exclusive:
            yield Problem(f"{path}.exclusiveGuard", "there are no exclusive nodes to guard; set exclusive: true too")

"""How quick a simulated scheduler is.

In: what a scenario says of a scheduler. Out: delays in virtual time, which `sim_scheduler` keeps. Part of a
`SchedulerPlan`, which tests and `scenario/` make.
"""

from __future__ import annotations

import msgspec

__all__ = ["SchedulerSettings"]


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of virtual time."""

    decision_latency: float = 0.0  # what one attempt takes
    view_delay: float = 0.0  # how late it hears of anything
    bind_latency: float = 0.0  # from decision to the API server

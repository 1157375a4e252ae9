"""How a profile treats pods that belong together: `profiles[].fairway.gangs`.

In: a mode and its keys, as written. Out: a `Gangs` with every key of its mode filled in, and none of another mode's;
what can not be meant is a `Problem` with its field. No `gangs` at all: pods are scheduled one by one, whatever they say
of groups, as kube-scheduler does with its default gates. Called by `configuration`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from fairway.model.duration import Duration
from fairway.model.field_problem import Problem
from fairway.model.meta import Value

__all__ = [
    "MODE_PLUGINS",
    "Gangs",
    "GangsMode",
    "complete_gangs",
    "gangs_problems",
    "mode_args",
    "needs_leave",
]

GangsMode = Literal["fairway", "kube", "coscheduling", "pfnet"]

MODE_PLUGINS: Final = {"coscheduling": "Coscheduling", "pfnet": "PfnetGang"}
"""Modes that are one plugin each, which tries members one by one and holds them back until all have a node."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Percentage = Annotated[int, msgspec.Meta(ge=0, le=100)]


class Gangs(Value, frozen=True, kw_only=True):
    """A mode and its keys; those of other modes are None."""

    mode: GangsMode = "fairway"

    backtracks: Count | None = None
    domains: Positive | None = None
    max_backoff: Duration | None = None
    incomplete_after: Duration | None = None
    partial_bind: Duration | None = None
    earmark: Duration | None = None
    max_members: Positive | None = None
    surplus: Literal["bestEffort", "wait"] | None = None
    on_broken: Literal["tell", "evict"] | None = None

    topology: bool | None = None  # kube: the gate TopologyAwareWorkloadScheduling
    workload_preemption: bool | None = None  # kube: the gate WorkloadAwarePreemption

    permit_waiting: Duration | None = None
    reject_percentage: Percentage | None = None
    group_backoff: Duration | None = None
    last_failure_order: bool | None = None

    prefix: str | None = None  # of pfnet's annotations; in any mode, to read that spelling
    timeout: Duration | None = None
    timeout_limit: Duration | None = None
    jitter: Duration | None = None
    delete_together: bool | None = None  # pfnet, live: may it delete all members because one is being deleted?


DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "fairway": {
        "backtracks": 32,
        "domains": 16,
        "max_backoff": Duration(60),
        "incomplete_after": Duration(300),
        "partial_bind": Duration(60),
        "earmark": Duration(300),
        "max_members": 2000,
        "surplus": "bestEffort",
        "on_broken": "tell",
    },
    "kube": {"topology": False, "workload_preemption": False},
    "coscheduling": {
        "permit_waiting": Duration(60),
        "reject_percentage": 10,
        "group_backoff": Duration(0),
        "last_failure_order": True,
    },
    "pfnet": {
        "timeout": Duration(30),
        "timeout_limit": Duration(100),
        "jitter": Duration(30),
        "delete_together": False,
    },
}
"""The keys of each mode."""

WRITTEN: Final = dict(zip(Gangs.__struct_fields__, Gangs.__struct_encode_fields__, strict=True))
"""The fields as files have them."""


def complete_gangs(gangs: Gangs) -> Gangs:
    """The same, with the defaults of its mode."""
    missing = {key: value for key, value in DEFAULTS[gangs.mode].items() if getattr(gangs, key) is None}
    return msgspec.structs.replace(gangs, **missing) if missing else gangs


def mode_args(gangs: Gangs, kind: type[msgspec.Struct], seed: int) -> msgspec.Struct:
    """What the plugin of the mode is told: the keys of the mode, and the profile's seed where it wants one."""
    told = {field: seed if field == "seed" else getattr(gangs, field) for field in kind.__struct_fields__}
    return kind(**{field: float(value) if isinstance(value, Duration) else value for field, value in told.items()})


def needs_leave(gangs: Gangs) -> bool:
    """Would it delete pods, which is fine in a simulation, but has to be allowed on a real cluster?"""
    return gangs.mode == "pfnet" and not gangs.delete_together


def gangs_problems(gangs: Gangs, path: str) -> Iterator[Problem]:
    """What can not be meant: keys of another mode, a prefix that is needed or empty, times below zero."""
    own = DEFAULTS[gangs.mode]
    for key, written in WRITTEN.items():
        value = getattr(gangs, key)
        if key in ("mode", "prefix") or value is None:
            continue
        if key not in own:
            of = next(mode for mode in get_args(GangsMode) if key in DEFAULTS[mode])
            keys = ", ".join([*(WRITTEN[name] for name in own), "prefix"])
            yield Problem(f"{path}.{written}", f"is a key of mode {of}; mode {gangs.mode} has {keys}")
        elif isinstance(value, Duration) and value < 0:
            yield Problem(f"{path}.{written}", "negative; allowed: 0s or more")
    if gangs.mode == "pfnet" and gangs.prefix is None:
        yield Problem(f"{path}.prefix", "missing; mode pfnet reads annotations that begin so, such as PREFIX-name")
    elif gangs.prefix is not None and not gangs.prefix.strip():
        yield Problem(f"{path}.prefix", "is empty; it is what the annotations begin with, such as PREFIX-name")

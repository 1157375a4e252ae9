"""What the API of the pages may be asked, as types.

A struct for each kind of question, with the fields of a route's path and of its query; anything else that is said is an
error, and so is a value out of its bounds. `routes` says which belongs where, `openapi` publishes them. Seconds are of
the run's clock.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

__all__ = [
    "ByRun", "CellQuestion", "CompareQuestion", "ComparedPodsQuestion", "CurveQuestion", "DecisionQuestion",
    "DecisionsQuestion", "DeviceCellQuestion", "DeviceQuestion", "DeviceRowsQuestion", "DeviceTileQuestion",
    "DevicesQuestion", "HeatQuestion", "JobQuestion", "JobsQuestion", "LanesQuestion", "MomentQuestion",
    "NoQuestion", "NodesQuestion", "PodQuestion", "PodsQuestion", "QueueQuestion", "RowsQuestion", "SearchQuestion",
    "SomePodsQuestion", "StreamQuestion", "StretchQuestion", "TileQuestion", "WhyQuestion",
]  # fmt: skip

Limit = Annotated[int, Meta(ge=1, le=1000)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Text = Annotated[str, Meta(max_length=1000)]
Count = Annotated[int, Meta(ge=0)]
Scale = Annotated[int, Meta(ge=-10, le=20)]
RowScale = Annotated[int, Meta(ge=0, le=20)]
RowCount = Annotated[int, Meta(ge=0, le=400)]
Place = Annotated[int, Meta(ge=0, lt=1 << 36)]


class NoQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing may be said."""


class ByRun(NoQuestion, kw_only=True):
    """About one run."""

    run: Name


class MomentQuestion(ByRun, kw_only=True):
    """At one time; the end of the run unless said otherwise."""

    at: float | None = None


class StretchQuestion(ByRun, kw_only=True):
    """From a time to a time; the whole run unless said otherwise."""

    begin: float | None = field(name="from", default=None)
    end: float | None = field(name="to", default=None)


class CurveQuestion(StretchQuestion, kw_only=True):
    """Means over so many equal stretches."""

    what: Literal[
        "utilisation", "waiting", "queue", "moves", "nodes-used", "decisions", "refusals", "plugin-time", "gpu-causes"
    ]
    points: Annotated[int, Meta(ge=1, le=2000)] = 480
    by: Name | None = None


class NodesQuestion(MomentQuestion, kw_only=True):
    """Rows in the order of the tiles."""

    resource: Name | None = None  # that `order=load` goes by, and `share` is of; the run's first
    order: Name = "came"
    filter: Text = ""
    limit: Limit = 200
    next: Name | None = None


class HeatQuestion(ByRun, kw_only=True):
    """Which picture."""

    resource: Name
    order: Name = "came"
    filter: Text = ""
    stat: Literal["mean", "max"] = "mean"


class TileQuestion(HeatQuestion, kw_only=True):
    """One tile of it."""

    z: Scale
    k: RowScale
    x: Place
    y: Place
    v: Name | None = None


class CellQuestion(HeatQuestion, kw_only=True):
    """One cell of it."""

    time: Annotated[float, Meta(ge=0, lt=1e12)]
    node: Place  # row of the order
    z: Scale
    k: RowScale


class RowsQuestion(ByRun, kw_only=True):
    """Some rows of a picture: whose they are; no more than have room for a name."""

    resource: Name
    order: Name = "came"
    filter: Text = ""
    first: Place = 0
    count: RowCount = 0


class LanesQuestion(StretchQuestion, kw_only=True):
    """Nodes by name."""

    node: Annotated[list[Name], Meta(min_length=1, max_length=60)]


class SomePodsQuestion(MomentQuestion, kw_only=True):
    """Which pods, as they were at a time. `refused_by`: a plugin, or a reason to wait as `fairway status` words it."""

    namespace: Text | None = None
    owner: Text | None = None
    node: Text | None = None
    user: Text | None = None
    state: Literal["waiting", "running", "ended"] | None = None
    refused_by: Text | None = field(name="refused-by", default=None)
    text: Text | None = None


class PodsQuestion(SomePodsQuestion, kw_only=True):
    """In which order: a column, `-` before it for the largest first."""

    sort: Name = "created"
    limit: Limit = 200
    next: Name | None = None


class PodQuestion(ByRun, kw_only=True):
    """One pod; of several with one name the uid says which."""

    namespace: Name
    name: Name
    uid: Text | None = None


class WhyQuestion(ByRun, kw_only=True):
    """Why, at an attempt or a time; as `fairway why`. Of several pods with one name the uid says which."""

    namespace: Name
    name: Name
    uid: Text | None = None
    attempt: Annotated[int, Meta(ge=1)] | None = None
    at: float | None = None
    node: Text | None = None
    all_nodes: bool = field(name="all_nodes", default=False)


class DecisionsQuestion(StretchQuestion, kw_only=True):
    """Which decisions; in order of time, or by what they took (`-cycle` has the slowest first)."""

    namespace: Text | None = None
    pod: Text | None = None  # namespace/name
    node: Text | None = None
    scheduler: Text | None = None
    outcome: Text | None = None
    refused_by: Text | None = field(name="refused-by", default=None)
    after: Annotated[int, Meta(ge=-1)] | None = None  # number of a decision
    sort: Literal["time", "-time", "cycle", "-cycle"] = "time"
    limit: Limit = 200
    next: Name | None = None


class DecisionQuestion(ByRun, kw_only=True):
    """One of them."""

    id: Count


class QueueQuestion(MomentQuestion, kw_only=True):
    """Who waits in the queue of a scheduler, or of all."""

    scheduler: Text | None = None
    limit: Limit = 200
    next: Name | None = None


class JobsQuestion(MomentQuestion, kw_only=True):
    """Jobs of queues."""

    queue: Text | None = None
    user: Text | None = None
    limit: Limit = 200
    next: Name | None = None


class JobQuestion(MomentQuestion, kw_only=True):
    """One of them."""

    namespace: Name
    name: Name


class SearchQuestion(ByRun, kw_only=True):
    """What people type."""

    text: Name
    limit: Annotated[int, Meta(ge=1, le=20)] = 20


class CompareQuestion(NoQuestion, kw_only=True):
    """Runs side by side; the first is what the others are compared with."""

    run: Annotated[list[Name], Meta(min_length=2, max_length=4)]


class ComparedPodsQuestion(NoQuestion, kw_only=True):
    """Pods of two runs that these treat otherwise: by delay in the second (`-delay`: the most first), time or name."""

    run: Annotated[list[Name], Meta(min_length=2, max_length=2)]
    sort: Literal["delay", "-delay", "created", "-created", "pod", "-pod"] = "-delay"
    limit: Limit = 200
    next: Name | None = None


class StreamQuestion(NoQuestion, kw_only=True):
    """What happens, as it does: from the word on that the last message had, and of these pods everything."""

    after: Name | None = None
    pod: Annotated[list[Name], Meta(max_length=20)] = []  # namespace/name


class DeviceQuestion(ByRun, kw_only=True):
    """Which picture of a run's GPU devices."""

    order: Name = "came"
    filter: Text = ""
    stat: Literal["mean", "max"] = "mean"


class DevicesQuestion(ByRun, kw_only=True):
    """Rows in the order of the tiles."""

    order: Name = "came"
    filter: Text = ""
    limit: Limit = 200
    next: Name | None = None


class DeviceTileQuestion(DeviceQuestion, kw_only=True):
    """One tile of it."""

    z: Scale
    k: RowScale
    x: Place
    y: Place
    v: Name | None = None


class DeviceCellQuestion(DeviceQuestion, kw_only=True):
    """One cell of it."""

    time: Annotated[float, Meta(ge=0, lt=1e12)]
    node: Place  # row of the order
    z: Scale
    k: RowScale


class DeviceRowsQuestion(ByRun, kw_only=True):
    """Some rows of it."""

    order: Name = "came"
    filter: Text = ""
    first: Place = 0
    count: RowCount = 0

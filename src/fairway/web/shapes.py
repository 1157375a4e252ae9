"""What the API of the pages answers, as types.

Structs with the fields of the JSON. `routes` says which question each answers, `openapi` publishes them, a test holds
every answer against that. Tables are columns, not rows. Seconds are of the run's clock;
amounts count what `KnownRun.resources` says.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "ComparedMetric", "ComparedNodes", "ComparedPodColumns", "ComparedPods", "ComparedRuns", "CurveAnswer",
    "DecisionAnswer", "DecisionColumns", "DeviceColumns", "Document", "FilterCount", "FoundNames", "JobColumns",
    "KnownRun", "MetricAnswer", "MetricShape", "NodeColumns", "PluginTree", "PodColumns", "QueueColumns",
    "QueuePage", "RunsAnswer", "ShareColumns", "SharesAnswer", "WaitingAnswer", "WaitingColumns", "WaitsAnswer",
]  # fmt: skip

Document = dict[str, Any]
"""A document of a command, as its `-o json` prints it; docs/runs.md and docs/batch.md describe them."""


class KnownRun(msgspec.Struct):
    """A run that is served."""

    id: str
    name: str
    state: Literal["complete", "interrupted", "partial", "live"]
    version: str  # of its content; `v` of a tile
    begin: float
    end: float
    nodes: int
    pods: int
    decisions: int
    resources: dict[str, str]  # with the units of amounts
    options: dict[str, Any]  # what was kept
    policies: list[str]
    seed: int
    origin: str
    began: float | None  # the date at 0 seconds, in seconds since 1970, of a cluster's run
    has_queues: bool  # of jobs
    notes: list[str]


class RunsAnswer(msgspec.Struct):
    """The first is the one that is shown."""

    runs: list[KnownRun]


class MetricShape(msgspec.Struct):
    """One number."""

    name: str
    value: float
    unit: str
    better: Literal["lower", "higher", ""]
    meaning: str


class MetricAnswer(msgspec.Struct):
    """A run in numbers."""

    metrics: list[MetricShape]


class CurveAnswer(msgspec.Struct):
    """Middles of stretches, and the mean of each series over each."""

    unit: str
    time: list[float]
    series: dict[str, list[float]]


class WaitsAnswer(msgspec.Struct):
    """Which share of the pods waited no longer than so many seconds; and how many waited how long."""

    seconds: list[float]
    share: list[float]
    waiting: int  # pods that were not placed
    up_to: list[float]  # seconds: classes of waits, each longer than the one before has it
    placed: list[int]  # pods in each class
    unplaced: list[int]  # those that waited so long and have no node


class WaitingColumns(msgspec.Struct):
    """Pods that wait for the same reason, as `fairway status` puts them together; the most first."""

    reason: list[str]
    pods: list[int]
    longest_seconds: list[float]
    longest_pod: list[str]
    job: list[str | None]


class WaitingAnswer(msgspec.Struct):
    """Who waits at a time and why; what has ended by then, by how."""

    at: float
    waiting: int
    columns: WaitingColumns
    ended: dict[str, int]


class NodeColumns(msgspec.Struct):
    """Nodes that were there at a time are `is_there`; the others have no state."""

    row: list[int]
    node: list[str]
    node_id: list[int]
    is_there: list[bool]
    is_ready: list[bool | None]
    is_unschedulable: list[bool | None]
    pods: list[int | None]
    share: list[float | None]  # of the resource asked for, held at that time
    held: list[dict[str, int] | None]
    allocatable: list[dict[str, int] | None]


class DeviceColumns(msgspec.Struct):
    """GPU devices."""

    row: list[int]
    device: list[str]  # node/index
    node: list[str]
    index: list[int]
    model: list[str]


class PodColumns(msgspec.Struct):
    """Pods as they were at a time."""

    pod_id: list[int]
    pod: list[str]
    uid: list[str]
    namespace: list[str]
    owner: list[str | None]
    user: list[str]
    scheduler: list[str]
    priority: list[int]
    state: list[Literal["waiting", "running", "ended"]]
    created_seconds: list[float]
    bound_seconds: list[float | None]
    started_seconds: list[float | None]
    ended_seconds: list[float | None]
    wait_seconds: list[float]
    attempts: list[int]
    node: list[str | None]
    reason: list[str | None]
    refused_by: list[str | None]
    refusal: list[str | None]


class DecisionColumns(msgspec.Struct):
    """Attempts."""

    decision_id: list[int]
    time_seconds: list[float]
    scheduler: list[str]
    pod: list[str]
    attempt: list[int]
    outcome: list[str]
    node: list[str | None]
    num_nodes: list[int | None]
    num_feasible: list[int]
    score: list[int | None]
    cycle_seconds: list[float]
    nominated_node: list[str | None]
    num_victims: list[int]
    message: list[str | None]


class FilterCount(msgspec.Struct):
    """How many nodes a plugin refused, and why."""

    plugin: str
    code: str
    reason: str
    num_nodes: int


class DecisionAnswer(msgspec.Struct):
    """One attempt with all that was kept of it."""

    decision: DecisionColumns
    filter_counts: list[FilterCount]
    scores: list[dict[str, Any]]
    preemptions: list[dict[str, Any]]
    plugin_times: list[dict[str, Any]]


class QueueColumns(msgspec.Struct):
    """Who waits."""

    pod_id: list[int]
    pod: list[str]
    scheduler: list[str]
    place: list[str]
    since_seconds: list[float]
    event: list[str]
    created_seconds: list[float]
    attempts: list[int]
    refused_by: list[str | None]
    refusal: list[str | None]
    wakes: list[str | None]  # what lets it be tried again, in the words of `event`; null: nothing has to


class QueuePage(msgspec.Struct):
    """A page of the queue, and how many are where."""

    places: dict[str, int]
    columns: QueueColumns
    num_rows: int
    total: int
    next: str | None


class JobColumns(msgspec.Struct):
    """Jobs of queues, those that run before those that wait, these in the order in which they will start."""

    position: list[int | None]  # in its queue, from 1; of those that wait
    job: list[str]
    queue: list[str]
    state: list[str]
    reason: list[str | None]
    user: list[str]
    account: list[str]
    size: list[str]
    submitted_seconds: list[float]
    started_seconds: list[float | None]
    limit_seconds: list[float | None]
    jobs_ahead: list[int | None]
    cpu_milli_ahead: list[int | None]
    gpu_ahead: list[int | None]
    likely_seconds: list[float | None]
    safe_seconds: list[float | None]
    by_limits_seconds: list[float | None]
    is_promised: list[bool | None]


class ShareColumns(msgspec.Struct):
    """Accounts and users, each below its account."""

    name: list[str]
    is_user: list[bool]
    shares: list[int | str]  # `parent`: those of its account
    used: list[float]
    norm: list[float]
    level: list[float | None]
    factor: list[float | None]


class SharesAnswer(msgspec.Struct):
    """Who is entitled to what, and used how much."""

    at: float
    columns: ShareColumns


class PluginTree(msgspec.Struct):
    """Processor time: of the whole, of a scheduler, of an extension point, of a plugin."""

    name: str
    cpu_seconds: float
    num_calls: int
    children: list[PluginTree]


class FoundNames(msgspec.Struct):
    """What begins so, then what has it anywhere."""

    kind: list[Literal["pod", "node", "owner"]]
    name: list[str]


class ComparedMetric(msgspec.Struct):
    """One number of several runs; differences to the first run."""

    name: str
    unit: str
    better: str
    meaning: str
    values: list[float | None]
    differences: list[float | None]
    relative: list[float | None]
    is_better: list[bool | None]


class ComparedNodes(msgspec.Struct):
    """Nodes of a run beside those of the first, by name; of those that only one has, the first few names."""

    run: str
    num_both: int
    num_only_first: int
    num_only_other: int
    only_first: list[str]
    only_other: list[str]


class ComparedRuns(msgspec.Struct):
    """Runs side by side; `first`: for each but the first, the first decision in which they part."""

    runs: list[str]
    notes: list[str]
    metrics: list[ComparedMetric]
    first: list[dict[str, Any]]
    nodes: list[ComparedNodes]  # of each but the first


class ComparedPodColumns(msgspec.Struct):
    """Pods that got another node in the other run, or theirs after another wait."""

    pod: list[str]
    created_seconds: list[float]
    node: list[str | None]
    other_node: list[str | None]
    wait_seconds: list[float]  # until it got its node, was gone, or the run ended
    other_wait_seconds: list[float]
    delay_seconds: list[float]  # in the other run; negative: it was earlier there


class ComparedPods(msgspec.Struct):
    """A page of them, and of how many pods; what only one run has is counted."""

    num_both: int
    num_elsewhere: int  # of the total, those with another node
    num_only_first: int
    num_only_other: int
    columns: ComparedPodColumns
    num_rows: int
    total: int
    next: str | None

"""A queue of jobs: who may use it, in which order and how its jobs start, what they may use, and how they end.

A `QueueSpec` is what a Queue's `spec` says. What is left out is filled in by the policy (`batch` or `interactive`):
`completed` gives a spec in which nothing is None that a policy presets. Durations are seconds.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec

from fairway.model.batch.node_choice import NodeChoice
from fairway.model.duration import Duration
from fairway.model.field_problem import Problem, alternatives, shown
from fairway.model.meta import Value
from fairway.model.quantity import Quantity

__all__ = [
    "ExtensionRules",
    "FailureRule",
    "FailureRules",
    "PreemptionRules",
    "QueueAccounts",
    "QueueLimits",
    "QueueSpec",
    "QueueState",
    "UserLimits",
    "WeightSpec",
    "queue_problems",
]

QueueState = Literal["Open", "Paused", "Draining", "Closed"]
"""Everything goes on; nothing starts; nothing new is taken; both. What runs goes on in each of them."""

TOGETHER_KINDS: Final = ("Job", "JobSet", "LeaderWorkerSet")
"""Controllers whose pods may be one job."""

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=1e12)]

FailureCause = Literal["PodFailed", "PodEvicted", "NodeLost", "NeverStarted", "exitCodes", "TaskDone"]
FailureAction = Literal["Ignore", "RestartPod", "RestartJob", "FailJob", "CompleteJob", "Requeue"]
NodeLoss = Literal["requeue", "fail", "wait", "shrink"]


class WeightSpec(Value, frozen=True, kw_only=True):
    """What each reason to come first counts."""

    age: Weight = 1000
    size: Weight = 0
    fair_share: Weight = 10000
    queue: Weight = 1000
    class_: Weight = msgspec.field(default=10000, name="class")
    max_age: Duration = Duration(7 * 86400)
    favor_small: bool = False


class QueueLimits(Value, frozen=True, kw_only=True):
    """How long jobs may run."""

    default: Duration | None = None  # of jobs that say nothing; None: as the policy has it
    max: Duration | None = None
    over_time: Duration = Duration(0)
    kill_grace: Duration = Duration(30)
    warn_before: Duration = Duration(300)


class ExtensionRules(Value, frozen=True, kw_only=True):
    """Who may run for longer than was said, at whose cost."""

    max: Duration = Duration(86400)
    delays: Literal["none", "lower", "any"] = "none"
    by_owner: bool = True


class UserLimits(Value, frozen=True, kw_only=True):
    """What one user may have in this queue; None: as much as there is."""

    running: Natural | None = None
    waiting: Natural | None = None
    resources: dict[str, Quantity] = {}


class PreemptionRules(Value, frozen=True, kw_only=True):
    """What may happen to jobs of this queue."""

    by: Literal["higherTier", "none"] = "higherTier"
    mode: Literal["requeue", "cancel"] = "requeue"
    min_runtime: Duration = Duration(600)
    borrowed: bool = True


class FailureRule(Value, frozen=True, kw_only=True):
    """What to do when something happens to a job's pods; of several rules the first that fits counts."""

    on: FailureCause
    do: FailureAction
    task: str = ""
    codes: tuple[int, ...] = ()
    after: Duration = Duration(0)
    max: Natural | None = None


class FailureRules(Value, frozen=True, kw_only=True):
    """How jobs fail, and come again."""

    rules: tuple[FailureRule, ...] = ()
    retries: Natural = 3
    broken_after: Duration = Duration(60)
    node_loss: NodeLoss = "requeue"
    lost_after: Duration = Duration(350)
    requeues: Natural = 5


class QueueAccounts(Value, frozen=True, kw_only=True):
    """Who pays for a job that does not say it."""

    default: str = ""
    from_: tuple[Literal["annotation", "namespace"], ...] = msgspec.field(
        default=("annotation", "namespace"), name="from"
    )


class QueueAliases(Value, frozen=True, kw_only=True):
    """Names under which others know the queue."""

    kueue: tuple[str, ...] = ()
    volcano: tuple[str, ...] = ()


class NamespaceChoice(Value, frozen=True, kw_only=True):
    """Namespaces that have all of these labels; none named: all."""

    match_labels: dict[str, str] = {}


class QueueSpec(Value, frozen=True, kw_only=True):
    """A queue, as it is written down; see `completed`."""

    policy: Literal["batch", "interactive"] = "batch"
    scheduler_name: str = ""
    state: QueueState = "Open"
    state_until: str = (
        ""  # when it is Open again, RFC 3339, or in scenarios a duration from the beginning; "": when told
    )
    nodes: NodeChoice = NodeChoice()
    namespaces: NamespaceChoice = NamespaceChoice()
    discipline: Literal["easy", "conservative", "walk", "fifo"] | None = None
    depth: Positive | None = None
    replan: Literal["compress", "anew"] = "compress"
    booking: Literal["amounts", "nodes"] = "amounts"
    tier: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] | None = None
    priority: Weight = 0
    weights: WeightSpec = WeightSpec()
    limits: QueueLimits = QueueLimits()
    extension: ExtensionRules = ExtensionRules()
    quota: dict[str, Quantity] = {}
    max: dict[str, Quantity] = {}
    per_user: UserLimits = UserLimits()
    preemption: PreemptionRules = PreemptionRules()
    failure: FailureRules = FailureRules()
    accounts: QueueAccounts = QueueAccounts()
    start_together: tuple[str, ...] = ()
    aliases: QueueAliases = QueueAliases()

    @property
    def is_interactive(self) -> bool:
        """Does the queue go by submission alone, with a promise for everybody?"""
        return self.policy == "interactive"

    @property
    def starts_jobs(self) -> bool:
        """Do jobs start in its state?"""
        return self.state in ("Open", "Draining")

    @property
    def takes_jobs(self) -> bool:
        """Are new jobs taken in its state?"""
        return self.state in ("Open", "Paused")

    def completed(self) -> QueueSpec:
        """With what its policy says where it says nothing itself."""
        preset = PRESETS[self.policy]
        changes: dict[str, Any] = {name: preset[name] for name in ("discipline", "depth", "tier")}
        changes = {name: value for name, value in changes.items() if getattr(self, name) is None}
        limits = {name: preset[f"{name}_limit"] for name in ("default", "max") if getattr(self.limits, name) is None}
        if limits:
            changes["limits"] = msgspec.structs.replace(self.limits, **limits)
        return msgspec.structs.replace(self, **changes)


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "batch": {
        "discipline": "easy",
        "depth": 1,
        "tier": 0,
        "default_limit": Duration(3600),
        "max_limit": Duration(48 * 3600),
    },
    "interactive": {
        "discipline": "conservative",
        "depth": 1,
        "tier": 10,
        "default_limit": Duration(3600),
        "max_limit": Duration(8 * 3600),
    },
}
"""What each policy says where a queue says nothing."""


def queue_problems(spec: QueueSpec, path: str) -> Iterator[Problem]:
    """What can not be meant, though each field may be so by itself."""
    if spec.state_until and spec.state == "Open":
        yield Problem(f"{path}.stateUntil", "is the end of another state than Open: leave it out, or say which state")
    yield from _limit_problems(spec.completed().limits, f"{path}.limits")
    yield from _amount_problems(spec, path)
    if spec.weights.max_age <= 0:
        yield Problem(f"{path}.weights.maxAge", f"has to be more than 0, not {spec.weights.max_age.text}")
    for kind in spec.start_together:
        if kind not in TOGETHER_KINDS:
            words = f"{shown(kind)} is unknown{alternatives(kind, TOGETHER_KINDS)}"
            yield Problem(f"{path}.startTogether", words)
    if spec.extension.max <= 0:
        yield Problem(f"{path}.extension.max", f"has to be more than 0, not {spec.extension.max.text}")
    if spec.preemption.min_runtime < 0:
        yield Problem(f"{path}.preemption.minRuntime", f"must not be negative: {spec.preemption.min_runtime.text}")
    if spec.nodes.count is not None:
        yield Problem(f"{path}.nodes.count", "is for reservations; a queue has all nodes that its selector names")
    if spec.is_interactive and spec.discipline not in (None, "conservative"):
        yield Problem(
            f"{path}.discipline", "an interactive queue promises everybody a date: leave it out, or write conservative"
        )


def _limit_problems(limits: QueueLimits, path: str) -> Iterator[Problem]:
    assert limits.default is not None
    assert limits.max is not None
    for name, seconds in (("default", limits.default), ("max", limits.max)):
        if seconds <= 0:
            yield Problem(f"{path}.{name}", f"has to be more than 0, not {seconds.text}")
    if limits.default > limits.max:
        yield Problem(f"{path}.default", f"{limits.default.text} is more than limits.max allows: {limits.max.text}")
    for name, seconds in (("overTime", limits.over_time), ("killGrace", limits.kill_grace)):
        if seconds < 0:
            yield Problem(f"{path}.{name}", f"must not be negative: {seconds.text}")


def _amount_problems(spec: QueueSpec, path: str) -> Iterator[Problem]:
    for name, amounts in (("quota", spec.quota), ("max", spec.max), ("perUser.resources", spec.per_user.resources)):
        for resource, amount in amounts.items():
            if amount.nanos <= 0:
                yield Problem(f"{path}.{name}[{resource!r}]", "has to be more than 0")
    for resource, most in spec.max.items():
        if resource in spec.quota and spec.quota[resource].nanos > most.nanos:
            yield Problem(f"{path}.max[{resource!r}]", "is less than the quota, which a queue may always use")

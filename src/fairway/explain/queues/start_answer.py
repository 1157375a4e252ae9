"""When would it start? Of a job of the run, of manifests, or of a size: asked at a moment, and nothing changes.

In: a `PastPlan` and an `AskedJob`. Out: a `StartAnswer`: now and where, or three dates and who is ahead; and what would
let it start earlier: a shorter limit, fewer members, smaller ones. Called by `fairway when`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fairway.batch.job import BatchJob, JobLedger, JobWishes
from fairway.batch.limits import limit_standing
from fairway.batch.priority import PriorityFactors, PriorityWeights, job_priority, relative_factor
from fairway.batch.reasons import JobState
from fairway.batch.wishes import QUEUE, read_wishes
from fairway.exit_codes import USAGE
from fairway.explain.queues.job_list import dates_document
from fairway.explain.queues.past_plan import PastPlan
from fairway.explain.queues.queue_jobs import MembersAlike, QueueJob, ToldDates
from fairway.explain.queues.run_queues import check_name, few
from fairway.explain.queues.share_table import fair_shares
from fairway.model import Pod, UserError, convert
from fairway.model.requests import pod_requests
from fairway.plan import StartEstimate, WaitingJob
from fairway.record import Run
from fairway.words import clock_text, count_text, length_text, nodes_text

__all__ = [
    "AskedJob",
    "StartAnswer",
    "asked_of_pods",
    "earlier_starts",
    "light",
    "pod_of_size",
    "start_answer",
    "told_answer",
]

SHORTER: Final = (0.5, 0.25, 0.125, 0.0625)
FEWER: Final = (0.75, 0.5, 0.25)
WORTH: Final = 0.8
"""A change is worth telling if the job then waits for no more than this share of the time."""


@dataclass(frozen=True, slots=True)
class AskedJob:
    """A job that somebody might submit."""

    name: str
    queue: str
    job: BatchJob
    limit: float


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """When it would start."""

    name: str
    queue: str
    at: float
    size: str
    limit: float
    nodes: tuple[str, ...] = ()  # where it starts at once; empty: it does not
    dates: ToldDates | None = None
    refusal: str = ""  # why it can not run as asked; "": it can
    changes: Sequence[tuple[str, str]] = field(default_factory=tuple)  # what would be earlier, and when

    @property
    def has_date(self) -> bool:
        """Is there a moment at which it would start?"""
        return bool(self.nodes) or (self.dates is not None and self.dates.likely < math.inf)

    def lines(self) -> list[str]:
        """The text."""
        about = f"{self.name} ({self.size}, {_limit_words(self.limit)}, queue {self.queue})"
        if self.refusal:
            return [f"{about} would be refused: {self.refusal}"]
        if self.nodes:
            return [f"{about} would start now, on {nodes_text(len(self.nodes))}: {few(list(self.nodes))}"]
        return [f"{about} would start {self._words()}", *(f"  {change}: {when}" for change, when in self.changes)]

    def _words(self) -> str:
        dates = self.dates
        assert dates is not None
        behind = f", behind {count_text(dates.ahead)} job{'' if dates.ahead == 1 else 's'}"
        if dates.likely == math.inf:
            return f"later than the plan looks ahead{behind}"
        promise = " (promised)" if dates.is_promised else ""
        parts = [f"likely {clock_text(dates.likely)}"]
        parts += [f"safe {clock_text(dates.safe)}"] if dates.safe < math.inf else []
        parts += [f"by limits {clock_text(dates.by_limits)}{promise}"] if dates.by_limits < math.inf else []
        return f"{' · '.join(parts)}{behind}"

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        return {
            "job": self.name,
            "queue": self.queue,
            "size": self.size,
            "limitSeconds": None if self.limit == math.inf else self.limit,
            "startsNow": bool(self.nodes),
            "nodes": list(self.nodes),
            "refusal": self.refusal or None,
            "dates": None if self.dates is None else dates_document(self.dates),
            "earlier": [{"change": change, "starts": when} for change, when in self.changes],
        }


def told_answer(job: QueueJob, at: float) -> StartAnswer:
    """When a job of the run starts that waits, as it was told last."""
    if not job.waits:
        raise UserError(
            f"{job.job} does not wait: it is {job.state.lower()}", f"fairway jobs {job.job} says more", USAGE
        )
    return StartAnswer(job.job, job.queue, at, job.size, job.limit, dates=job.dates)


def asked_of_pods(plan: PastPlan, name: str, pods: Sequence[Pod], queue: str | None, limit: float | None) -> AskedJob:
    """A job of these pods, in the queue that they name unless said otherwise."""
    first = pods[0]
    said = [first.metadata.annotations, first.metadata.labels]
    named = queue or next((each[QUEUE] for each in said if QUEUE in each), None)
    if named is None and len(plan.settings.queues) == 1:
        (named,) = plan.settings.queues
    if named is None:
        known = sorted(plan.settings.queues)
        raise UserError(f"{name} names no queue; there are {few(known)}", f"--queue {known[0]}", USAGE)
    check_name("queue", named, plan.settings.queues, "--queue")
    wishes: JobWishes = read_wishes(said, first, named, plan.at)
    if wishes.problem:
        raise UserError(f"{name}: {wishes.problem}", "correct that annotation")
    if limit is not None:
        wishes = replace(wishes, limit=limit)
    job = BatchJob(name, f"asked/{name}", None, wishes, JobLedger(plan.at), min_count=len(pods))
    job.members = {f"asked/{name}/{number}": pod for number, pod in enumerate(pods)}
    job.priority_class = max(pod.priority for pod in pods)
    default = plan.settings.queues[named].limits.default
    asked = wishes.limit if wishes.limit is not None else math.inf if default is None else float(default)
    return AskedJob(name, named, job, asked)


def start_answer(run: Run, plan: PastPlan, asked: AskedJob) -> StartAnswer:
    """When it would start, submitted at that moment."""
    spec = plan.settings.queues[asked.queue]
    size = _size(list(asked.job.members.values()))
    answer = StartAnswer(asked.name, asked.queue, plan.at, size, asked.limit)
    refused = limit_standing(asked.job, spec.limits, plan.at)
    if refused is not None and refused.state is JobState.REFUSED:
        return replace(answer, refusal=f"{refused.reason}: {refused.words}")
    if not spec.takes_jobs:
        return replace(answer, refusal=f"QueueClosed: the queue is {spec.state}")
    job = plan.plan_of(asked.job)
    place = plan.place_of(asked.queue, _priority(run, plan, asked), plan.at, math.inf)
    now = plan.starts_now(job, place) if spec.starts_jobs else []
    if now:
        return replace(answer, nodes=now[0])
    dates = _dates(plan, asked, job, place)
    if dates.likely == math.inf and dates.by_limits == math.inf and not _fits_ever(plan, job):
        return replace(answer, refusal=f"NeverFits: no set of nodes that it may use could ever hold {size}")
    changes = tuple(earlier_starts(plan, job, place, asked.limit, asked.job.wishes.user)) if spec.starts_jobs else ()
    return replace(answer, dates=dates, changes=changes)


def _dates(plan: PastPlan, asked: AskedJob, job: WaitingJob, place: tuple[float, ...]) -> ToldDates:
    predicted = plan.history.predict(asked.job.wishes.user, asked.queue, job.duration, asked.job.wishes.expected)
    return _told(plan, plan.estimate(job, place, predicted))


def _told(plan: PastPlan, found: StartEstimate) -> ToldDates:
    ahead = (found.ahead_jobs, found.ahead_cpu, found.ahead_gpu)
    nodes = plan.node_names(iter(found.nodes))
    dates = (found.as_of, found.likely, found.safe, found.by_limits)
    return ToldDates(*dates, found.is_promised, False, found.basis.way, *ahead, nodes, 0, {})


def _fits_ever(plan: PastPlan, job: WaitingJob) -> bool:
    """Would it start on the empty machine?"""
    calendar = plan.calendar
    return calendar.without([*plan.ends, *calendar.promises]).search(job) is not None


def earlier_starts(
    plan: PastPlan, job: WaitingJob, place: tuple[float, ...], limit: float, user: str
) -> Iterator[tuple[str, str]]:
    """What would let it start earlier; each was tried."""
    for share in SHORTER:
        shorter = _round(limit * share)
        if math.isfinite(limit) and plan.starts_now(replace(job, duration=job.duration * shorter / limit), place):
            yield f"with a limit of {length_text(shorter)}", "now"
            break
    if len(job.classes) != 1:
        return
    (members,) = job.classes
    predicted = plan.history.predict(user, job.queue, job.duration)
    likely = plan.estimate(job, place, predicted).likely
    for share in FEWER:
        count = math.floor(members.count * share)
        if count < 1 or count == members.count:
            break
        smaller = replace(job, classes=(replace(members, count=count),))
        if plan.starts_now(smaller, place):
            yield f"with {count} of {members.count} members", "now"
            break
        found = plan.estimate(smaller, place, predicted).likely
        if found - plan.at <= WORTH * (likely - plan.at):
            yield f"with {count} of {members.count} members", f"likely {clock_text(found)}"
            break


def _priority(run: Run, plan: PastPlan, asked: AskedJob) -> int:
    """Its priority as it comes: nothing for age, its user's fair share, its queue's and its class's part."""
    spec = plan.settings.queues[asked.queue]
    weights = spec.weights
    shares = fair_shares(run, plan.at, plan.settings, plan.jobs)
    account = asked.job.wishes.account or spec.accounts.default
    factor = 0.0
    if weights.fair_share and account in shares.tree:
        shares.join(account, asked.job.wishes.user)
        factor = shares.standings(plan.at)[f"{account}/{asked.job.wishes.user}"].factor or 0.0
    largest = max((queue.priority for queue in plan.settings.queues.values()), default=0.0)
    factors = PriorityFactors(fair_share=factor, queue=relative_factor(spec.priority, largest))
    parts = PriorityWeights(weights.age, 0.0, weights.fair_share, weights.queue, weights.class_)
    return job_priority(parts, factors, asked.job.wishes.nice)


def _size(pods: Sequence[Pod]) -> str:
    counts: dict[tuple[tuple[str, int], ...], int] = {}
    for pod in pods:
        key = tuple(sorted(pod_requests(pod).items()))
        counts[key] = counts.get(key, 0) + 1
    return " + ".join(MembersAlike(count, dict(key)).words for key, count in counts.items())


def _limit_words(limit: float) -> str:
    return "no limit" if limit == math.inf else f"limit {length_text(limit)}"


def _round(seconds: float) -> float:
    """Whole minutes, or whole quarters of an hour from an hour on."""
    unit = 900.0 if seconds >= 3600 else 60.0
    return max(math.floor(seconds / unit) * unit, 60.0) if math.isfinite(seconds) else seconds


def light(plan: PastPlan, queue: str) -> str:
    """Is there room for the usual? Two jobs of the queue's usual limit and smallest common size are tried.

    free: both would start now, busy: one, full: none.
    """
    spec = plan.settings.queues[queue]
    if not spec.starts_jobs or not spec.takes_jobs:
        return "full"
    members = _smallest_common(plan, queue)
    amounts = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in members.amounts.items()}
    pod = _pod(next(iter(plan.trial.profiles)), amounts, None)
    asked = asked_of_pods(plan, "light", [pod] * members.count, queue, None)
    place = plan.place_of(queue, -math.inf, plan.at, math.inf)
    return ("full", "busy", "free")[len(plan.starts_now(plan.plan_of(asked.job), place, copies=2))]


def _smallest_common(plan: PastPlan, queue: str) -> MembersAlike:
    """The smallest size that at least a tenth of its jobs have had; one CPU if it has had none."""
    sizes = [job.members[0] for job in plan.jobs if job.queue == queue and len(job.members) == 1]
    if not sizes:
        return MembersAlike(1, {"cpu": 1000})
    counts = Counter((each.count, tuple(sorted(each.amounts.items()))) for each in sizes)
    common = [size for size, count in counts.items() if count * 10 >= len(sizes)] or list(counts)
    count, amounts = min(common, key=lambda size: (size[0] * sum(amount for _, amount in size[1]), size))
    return MembersAlike(count, dict(amounts))


def pod_of_size(scheduler: str, cpu: str | None, memory: str | None, gpu: int, user: str | None) -> Pod:
    """A pod that asks for so much; `UserError` for what is no amount."""
    asked = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpu) if gpu else None}
    amounts = {name: amount for name, amount in asked.items() if amount is not None}
    try:
        return _pod(scheduler, amounts, user)
    except ValueError as error:
        raise UserError(f"that is no amount: {error}", "write 4 or 500m of cpu, 16Gi of memory", USAGE) from error


def _pod(scheduler: str, amounts: dict[str, str], user: str | None) -> Pod:
    container = {"name": "job", "image": "job", "resources": {"requests": amounts}}
    metadata = {"name": "it", "namespace": "default", "annotations": {"fairway.dev/user": user} if user else {}}
    return convert({"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [container]}}, Pod)

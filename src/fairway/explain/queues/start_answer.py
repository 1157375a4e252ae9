"""When would it start? Of a job of the run, of manifests, or of a size: asked at a moment, and nothing changes.

In: a `StartPlan` and an `AskedJob`. Out: a `StartAnswer`: now and where, or three dates and who is ahead; and what
would let it start earlier: a shorter limit, fewer members, smaller ones. Called by `fairway when`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from msgspec import structs

from fairway.batch.limits import limit_standing
from fairway.batch.members_alike import alike, size_words
from fairway.batch.priority import PriorityFactors, PriorityWeights, job_priority, relative_factor
from fairway.batch.reasons import JobState, Reason
from fairway.exit_codes import USAGE
from fairway.explain.queues.asked_budgets import payer_refusal, who_pays
from fairway.explain.queues.asked_jobs import AskedJob
from fairway.explain.queues.job_list import dates_document, read_dates
from fairway.explain.queues.queue_jobs import QueueJob, ToldDates
from fairway.explain.queues.queue_moment import QueueMoment, TimeWords
from fairway.explain.queues.run_queues import few
from fairway.explain.queues.start_plan import StartPlan
from fairway.model import Pod, UserError
from fairway.model.requests import pod_requests
from fairway.plan import StartEstimate, WaitingJob
from fairway.words import count_text, length_text, nodes_text

__all__ = [
    "EarlierStart",
    "ReadyQuestion",
    "StartAnswer",
    "earlier_starts",
    "prepare_start",
    "read_answer",
    "start_answer",
    "start_of",
    "told_answer",
]

SHORTER: Final = (0.5, 0.25, 0.125, 0.0625)
FEWER: Final = (0.75, 0.5, 0.25)
WORTH: Final = 0.8
"""A change is worth telling if the job then waits for no more than this share of the time."""


class EarlierStart(NamedTuple):
    """What would let it start earlier."""

    change: str
    likely: float | None = None  # None: now

    def starts(self, times: TimeWords) -> str:
        """When, in words."""
        return "now" if self.likely is None else f"likely {times.clock(self.likely)}"

    def words(self, times: TimeWords) -> str:
        """A line of an answer."""
        return f"  {self.change}: {self.starts(times)}"

    def document(self, times: TimeWords) -> dict[str, Any]:
        """In plain values."""
        return {"change": self.change, "starts": self.starts(times), "likelySeconds": self.likely}


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """When it would start."""

    name: str
    queue: str
    times: TimeWords
    size: str
    limit: float
    nodes: tuple[str, ...] = ()  # where it starts at once; empty: it does not
    dates: ToldDates | None = None
    refusal: str = ""  # why it can not run as asked; "": it can
    waits_for: str = ""  # what keeps it out of the plan, so that it has no date
    is_known: bool = False  # it is a job of the run
    changes: Sequence[EarlierStart] = field(default_factory=tuple)

    @property
    def has_date(self) -> bool:
        """Is there a moment at which it would start?"""
        return bool(self.nodes) or (self.dates is not None and self.dates.likely < math.inf)

    def lines(self) -> list[str]:
        """The text."""
        about = f"{self.name} ({self.size}, {_limit_words(self.limit)}, queue {self.queue})"
        if self.refusal:
            return [f"{about} {'is' if self.is_known else 'would be'} refused: {self.refusal}"]
        if self.waits_for:
            has = "has" if self.is_known else "would have"
            first = f"{about} {has} no date while it waits for {self.waits_for}"
            return [first, *(each.words(self.times) for each in self.changes)]
        if self.nodes:
            return [f"{about} would start now, on {nodes_text(len(self.nodes))}: {few(list(self.nodes))}"]
        return [f"{about} would start {self._words()}", *(each.words(self.times) for each in self.changes)]

    def _words(self) -> str:
        dates = self.dates
        assert dates is not None
        behind = f", behind {count_text(dates.ahead)} job{'' if dates.ahead == 1 else 's'}"
        if dates.likely == math.inf:
            return f"later than the plan looks ahead{behind}"
        promise = " (promised)" if dates.is_promised else ""
        parts = [f"likely {self.times.clock(dates.likely)}"]
        parts += [f"safe {self.times.clock(dates.safe)}"] if dates.safe < math.inf else []
        parts += [f"by limits {self.times.clock(dates.by_limits)}{promise}"] if dates.by_limits < math.inf else []
        return f"{' · '.join(parts)}{behind}"

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        return {
            "job": self.name,
            "queue": self.queue,
            "size": self.size,
            "limitSeconds": None if self.limit == math.inf else self.limit,
            "isKnown": self.is_known,
            "startsNow": bool(self.nodes),
            "nodes": list(self.nodes),
            "refusal": self.refusal or None,
            "waitsFor": self.waits_for or None,
            "dates": None if self.dates is None else dates_document(self.dates),
            "earlier": [each.document(self.times) for each in self.changes],
        }


def read_answer(document: Mapping[str, Any], times: TimeWords) -> StartAnswer:
    """An answer again from its document; `UserError` if it is none of ours."""
    try:
        dates = document["dates"]
        return StartAnswer(
            document["job"],
            document["queue"],
            times,
            document["size"],
            _seconds(document["limitSeconds"]),
            tuple(document["nodes"]),
            None if dates is None else read_dates(dates),
            document["refusal"] or "",
            document["waitsFor"] or "",
            bool(document["isKnown"]),
            tuple(EarlierStart(each["change"], each["likelySeconds"]) for each in document["earlier"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"the answer is not in the words of this version: {type(error).__name__} {error}"
        raise UserError(what, "is it `fairway run` that answers there, and of which version?") from error


def _seconds(number: float | None) -> float:
    return math.inf if number is None else float(number)


def told_answer(moment: QueueMoment, job: QueueJob, plan_then: Callable[[], StartPlan] | None = None) -> StartAnswer:
    """When a job starts that waits: as it was told last, or as the plan has it, where there is one, if it was not."""
    answer = StartAnswer(job.job, job.queue, moment.times, job.size, job.limit, dates=job.dates, is_known=True)
    if job.state is JobState.REFUSED:
        return replace(answer, refusal=_reason(job))
    if not job.waits:
        raise UserError(
            f"{job.job} does not wait: it is {job.state.lower()}", f"fairway jobs {job.job} says more", USAGE
        )
    if job.reason == Reason.ACCOUNT_STOPPED:
        return replace(answer, dates=None, waits_for=_reason(job))  # what it was told before is not so any more
    if job.dates is not None:
        return answer
    plan = None if plan_then is None else plan_then()
    if plan is None:
        return replace(answer, waits_for=_reason(job))
    waiting = next((each for known, each in plan.waiting if known.number == job.number), None)
    if waiting is None:
        return replace(answer, waits_for=_reason(job))
    return replace(answer, dates=_told(plan, plan.estimate(waiting, plan.place(job), plan.predicted[waiting.key])))


def _reason(job: QueueJob) -> str:
    change = job.story.now
    return f"{change.reason}: {change.message}" if change.message else change.reason


class ReadyQuestion(NamedTuple):
    """A job that is asked about, and what the cluster itself says of it."""

    asked: AskedJob
    answer: StartAnswer  # as far as it is known
    job: WaitingJob | None = None  # as the plan sees it; None: it is refused


def start_answer(plan: StartPlan, asked: AskedJob) -> StartAnswer:
    """When it would start, submitted at that moment."""
    return start_of(plan, prepare_start(plan, asked))


def prepare_start(plan: StartPlan, asked: AskedJob) -> ReadyQuestion:
    """What has to be looked up in the cluster itself, which takes a few milliseconds."""
    spec = plan.settings.queues[asked.queue]
    size = _size(list(asked.job.members.values()))
    answer = StartAnswer(asked.name, asked.queue, plan.moment.times, size, asked.limit)
    refused = limit_standing(asked.job, spec.limits, plan.at)
    if refused is not None and refused.state is JobState.REFUSED:
        return ReadyQuestion(asked, replace(answer, refusal=f"{refused.reason}: {refused.words}"))
    if not spec.takes_jobs:
        return ReadyQuestion(asked, replace(answer, refusal=f"QueueClosed: the queue is {spec.state}"))
    job = plan.plan_job(asked.job, None)
    refused = plan.refusal(asked.job, job) or payer_refusal(plan.moment, asked)
    if refused is not None:
        return ReadyQuestion(asked, replace(answer, refusal=f"{refused.reason}: {refused.words}"))
    return ReadyQuestion(asked, answer, job)


def start_of(plan: StartPlan, question: ReadyQuestion) -> StartAnswer:
    """The answer; looks at nothing but the plan."""
    asked, answer, job = question.asked, question.answer, question.job
    if job is None:
        return answer
    spec = plan.settings.queues[asked.queue]
    place = plan.place_of(asked.queue, _priority(plan, asked), plan.at, math.inf)
    paid = who_pays(plan.moment, asked)
    if paid.standing is not None:
        waits_for = f"{paid.standing.reason}: {paid.standing.words}"
        return replace(answer, waits_for=waits_for, changes=tuple(_affordable(plan, question, place, paid.seconds)))
    now = plan.starts_now(job, place) if spec.starts_jobs else []
    if now:
        return replace(answer, nodes=now[0])
    dates = _dates(plan, asked, job, place)
    changes = tuple(earlier_starts(plan, job, place, asked.limit, asked.job.wishes.user)) if spec.starts_jobs else ()
    return replace(answer, dates=dates, changes=changes)


def _dates(plan: StartPlan, asked: AskedJob, job: WaitingJob, place: tuple[float, ...]) -> ToldDates:
    predicted = plan.history.predict(asked.job.wishes.user, asked.queue, job.duration, asked.job.wishes.expected)
    return _told(plan, plan.estimate(job, place, predicted))


def _told(plan: StartPlan, found: StartEstimate) -> ToldDates:
    ahead = (found.ahead_jobs, found.ahead_cpu, found.ahead_gpu)
    nodes = plan.node_names(iter(found.nodes))
    dates = (found.as_of, found.likely, found.safe, found.by_limits)
    return ToldDates(*dates, found.is_promised, False, found.basis.way, *ahead, nodes, 0, {})


def earlier_starts(
    plan: StartPlan, job: WaitingJob, place: tuple[float, ...], limit: float, user: str
) -> Iterator[EarlierStart]:
    """What would let it start earlier; each was tried."""
    for share in SHORTER:
        shorter = _round(limit * share)
        if math.isfinite(limit) and plan.starts_now(
            structs.replace(job, duration=job.duration * shorter / limit), place
        ):
            yield EarlierStart(f"with a limit of {length_text(shorter)}")
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
        smaller = structs.replace(job, classes=(structs.replace(members, count=count),))
        if plan.starts_now(smaller, place):
            yield EarlierStart(f"with {count} of {members.count} members")
            break
        found = plan.estimate(smaller, place, predicted).likely
        if found < math.inf and found - plan.at <= WORTH * (likely - plan.at):
            yield EarlierStart(f"with {count} of {members.count} members", found)
            break


def _affordable(
    plan: StartPlan, question: ReadyQuestion, place: tuple[float, ...], seconds: float
) -> Iterator[EarlierStart]:
    """What its account could pay for now, if that is a minute at least."""
    asked, job, shorter = question.asked, question.job, math.floor(seconds / 60) * 60.0
    if job is None or shorter < 60 or shorter >= asked.limit:
        return
    change = f"with a limit of {length_text(shorter)}"
    payable = structs.replace(job, duration=shorter)
    if plan.starts_now(payable, place):
        yield EarlierStart(change)
        return
    predicted = plan.history.predict(asked.job.wishes.user, asked.queue, shorter, asked.job.wishes.expected)
    likely = plan.estimate(payable, place, predicted).likely
    if likely < math.inf:
        yield EarlierStart(change, likely)


def _priority(plan: StartPlan, asked: AskedJob) -> int:
    """Its priority as it comes: nothing for age, its user's fair share, its queue's and its class's part."""
    spec = plan.settings.queues[asked.queue]
    weights = spec.weights
    shares = plan.moment.shares()
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
    return size_words(alike(dict(sorted(pod_requests(pod).items())) for pod in pods))


def _limit_words(limit: float) -> str:
    return "no limit" if limit == math.inf else f"limit {length_text(limit)}"


def _round(seconds: float) -> float:
    """Whole minutes, or whole quarters of an hour from an hour on."""
    unit = 900.0 if seconds >= 3600 else 60.0
    return max(math.floor(seconds / unit) * unit, 60.0) if math.isfinite(seconds) else seconds

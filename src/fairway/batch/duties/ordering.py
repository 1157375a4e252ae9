"""Orders are carried out: what operators want of a job, and owners who want more time or less.

In: `JobOrders`, the spec of a job's record, whenever it is another (`heed`); objects whose `time-limit` is another than
when the job was let go. Out: the job is held, nicer, in another queue, over, waits again, or has another limit; what
can not be is told, with the reason, by an event and in the job's record (`answer` of the ledger). Orders say how a job
shall be, so hearing one twice changes nothing; limits are answered once for each that is asked for (`answered_limit`),
and again if it was taken back meanwhile. A job that runs is moved when it waits again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from fairway.batch.actions import Action, Tell
from fairway.batch.duties.accounting import Accounting
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.ending_jobs import order_end
from fairway.batch.duties.extending import Closed, Extending
from fairway.batch.duties.time_limits import TimeLimits
from fairway.batch.extension import ExtensionAnswer, Hindrance
from fairway.batch.failures import requeue_decision
from fairway.batch.job import BatchJob, FailureDecision, JobOrders
from fairway.batch.limits import granted_limit
from fairway.batch.order_answer import OrderAnswer
from fairway.batch.quotas.quotas import Quotas
from fairway.batch.reasons import JobOutcome
from fairway.batch.wishes import TIME_LIMIT
from fairway.cluster import Event, Verb
from fairway.model import Namespace, Pod

__all__ = ["Ordering"]

OPERATOR: Final = "an operator"


class Ordering:
    """Takes orders up."""

    hears_members, keeps_times = True, False

    def __init__(
        self, desk: DutyDesk, accounting: Accounting, quotas: Quotas, closed: Callable[[BatchJob], Closed]
    ) -> None:
        """`closed`: windows and reservations, as they are for a job."""
        self._desk = desk
        self.extending = Extending(desk, accounting, quotas, closed)
        self.limits = TimeLimits(desk)
        self._unheeded: dict[str, BatchJob] = {}  # by key: something is left to do of their orders
        self._wished: dict[str, BatchJob] = {}  # by key: their owners want another limit

    def heed(self, job: BatchJob, orders: JobOrders) -> None:
        """This is what operators want of the job from now on; done in the next pass."""
        job.orders = orders
        if orders.time_limit != job.ledger.answered_limit:
            job.ledger.answered_limit = None  # what was answered is asked no more
        self._unheeded[job.key] = job
        self._desk.world.write_record(job)
        self._desk.is_due = True

    def resume(self) -> None:
        """All that is there was heard of: what was said before may not have been done, or not been heard."""
        for job in self._desk.book:
            if job.orders != JobOrders():
                self._unheeded[job.key] = job
            if job.ledger.released is not None:
                self._reread(job)

    # -- what owners say -----------------------------------------------------------------------------------------------

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """Owners raise the limit of what runs; and whoever waits to be moved or answered may be now."""
        item = event.object
        if job is not None:
            if job.key in self._unheeded:
                self._desk.is_due = True
            if event.verb is Verb.MODIFIED and job.ledger.released is not None and isinstance(item, Pod):
                said = item.metadata.annotations.get(TIME_LIMIT) or item.metadata.labels.get(TIME_LIMIT)
                if said != job.wishes.said_limit:
                    self._reread(job)
        elif isinstance(item, Namespace):
            queues = self._desk.settings.queues
            for each in self._desk.book:
                queue = queues.get(each.queue)
                chooses = queue is not None and bool(queue.namespaces.match_labels)
                if chooses and each.key.startswith(f"{item.metadata.name}/"):
                    each.is_clear = False
                    self._desk.is_due = True
        elif event.verb is Verb.MODIFIED and not isinstance(item, Pod):
            meta = item.metadata
            if TIME_LIMIT in meta.annotations or TIME_LIMIT in meta.labels:
                for each in self._desk.book.spoken_for(item):
                    if each.ledger.released is not None:
                        self._reread(each)

    def _reread(self, job: BatchJob) -> None:
        """Its objects may ask for another limit than they did."""
        if not job.pods or job.has_ended:
            return
        wishes = self._desk.book.wishes_now(job)
        if wishes.said_limit != job.wishes.said_limit:
            job.wishes = replace(job.wishes, said_limit=wishes.said_limit, problem=wishes.problem)
            if wishes.problem or wishes.limit is None:
                words = wishes.problem or f"{TIME_LIMIT} was taken away; its limit stays as it is"
                self._desk.world.carry_out([Tell(job.key, "LimitUnchanged", words, is_warning=bool(wishes.problem))])
                return
            job.wishes = replace(job.wishes, limit=wishes.limit)
            self._wished[job.key] = job
            self._desk.is_due = True

    # -- what follows --------------------------------------------------------------------------------------------------

    def next_time(self, now: float) -> float:
        """Every order leads to a pass."""
        return math.inf

    def look(self, now: float) -> Sequence[Action]:
        """Do what is left to do of all orders."""
        actions: list[Action] = []
        for key, job in list(self._wished.items()):
            if not job.has_ended and not job.is_ending and job.wishes.limit is not None:
                before = self._granted(job)
                answer = self.extending.change(job, job.wishes.limit, by_owner=True)
                if answer is None:
                    continue  # it begins: in a moment
                actions += self._answered(job, answer, job.wishes.limit, before, by_owner=True)
            del self._wished[key]
        for key, job in list(self._unheeded.items()):
            is_left = [each for step in (self._stand_by, self._move, self._limit, self._end) for each in step(job, now)]
            actions += [each for each in is_left if each is not None]
            if None not in is_left or job.has_ended:
                self._unheeded.pop(key, None)
        return actions

    def _stand_by(self, job: BatchJob, now: float) -> Iterator[Action | None]:
        """Held or not, and how nice."""
        ledger, orders = job.ledger, job.orders
        hold = OPERATOR if orders.hold else ""
        if job.has_ended or (ledger.hold, ledger.nice) == (hold, orders.nice):
            return
        if ledger.hold and not hold and job.wishes.is_held:
            yield Tell(job.key, "StillHeld", "no operator holds it any more, but its owner does: fairway.dev/hold")
        if orders.nice > ledger.nice:
            self._desk.machine.calendar.remove(job.key)  # what was promised to it is for those who come before it now
        ledger.hold, ledger.nice = hold, orders.nice
        job.is_clear = False
        self._desk.world.write_record(job)

    def _move(self, job: BatchJob, now: float) -> Iterator[Action | None]:
        """Into another queue; None: it runs, and is moved when it waits again."""
        ledger, queue = job.ledger, job.orders.queue
        if job.has_ended or queue == ledger.queue:
            return
        if job.started is not None or job.is_released:
            yield None
            return
        ledger.queue = queue
        job.plan, job.is_clear = None, False
        job.num_ahead = -1
        self._desk.machine.calendar.remove(job.key)
        self._desk.world.write_record(job)

    def _limit(self, job: BatchJob, now: float) -> Iterator[Action | None]:
        """Another limit, if it was not answered yet; None: it begins, and is answered in a moment."""
        asked = job.orders.time_limit
        if job.has_ended or job.is_ending or asked is None or asked == job.ledger.answered_limit:
            return
        former, job.ledger.answered_limit = job.ledger.answered_limit, asked  # one write has it and what is granted
        before = self._granted(job)
        answer = self.extending.change(job, asked)
        if answer is None:
            job.ledger.answered_limit = former
            yield None
            return
        yield from self._answered(job, answer, asked, before)

    def _granted(self, job: BatchJob) -> float:
        return granted_limit(job, self._desk.settings.spec_of(job.queue).limits)

    def _answered(
        self, job: BatchJob, answer: ExtensionAnswer, asked: float, before: float, *, by_owner: bool = False
    ) -> list[Action]:
        """Write the answer down and tell it; that a limit is what it was before is no news."""
        now, is_news = self._desk.world.now(), answer.limit != before or not answer.is_granted
        if is_news:
            job.ledger.answer = _written(answer, asked, before, now, by_owner=by_owner)
        self._desk.world.write_record(job)
        if not answer.is_granted:
            return [Tell(job.key, "LimitRefused", answer.words, is_warning=True)]
        self.limits.reconsider(job)
        told = [Tell(job.key, "LimitChanged", answer.words)] if is_news else []
        return [*told, *self.limits.warnings(job, now)]

    def _end(self, job: BatchJob, now: float) -> Iterator[Action | None]:
        """Over for good, or to wait again."""
        if job.has_ended or job.is_ending:
            return
        if job.orders.cancel:
            order_end(
                self._desk, job, FailureDecision("FailJob", "cancelled by an operator", outcome=JobOutcome.CANCELLED)
            )
            return
        begun = job.ledger.released
        if begun is None or begun > job.orders.requeue_before:
            return
        decision = requeue_decision(job, "requeued by an operator")
        is_granted = decision.do == "Requeue"
        words = "" if is_granted else f"it goes on: {decision.why}"
        job.ledger.answer = OrderAnswer("requeueBefore", job.orders.requeue_before, is_granted, now, words)
        if is_granted:
            order_end(self._desk, job, decision)
            return
        self._desk.world.write_record(job)
        yield Tell(job.key, "RequeueRefused", words, is_warning=True)


def _written(answer: ExtensionAnswer, asked: float, before: float, now: float, *, by_owner: bool) -> OrderAnswer:
    """The answer as the job's record has it."""
    stopped = answer.stopped_by or Hindrance("not allowed")
    return OrderAnswer(
        about="timeLimit",
        asked=asked,
        is_granted=answer.is_granted,
        time=now,
        words=answer.words,
        by_owner=by_owner,
        limit=before,
        longest=math.inf if answer.is_granted else answer.longest,
        stopped_by="" if answer.stopped_by is None else stopped.kind,
        stopper=stopped.name,
        stopped_at=stopped.at,
        delayed=answer.delayed,
    )

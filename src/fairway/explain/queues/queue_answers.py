"""Questions about queues, put to a scheduler that has jobs to release: what its routes answer.

In: a `LiveDesk` and a question. Out: the documents that the commands print, and text. What has to look at the
scheduler itself is done in its loop, in a few milliseconds: a copy of its plan, the rows that a job may be on. All else
is worked out in a thread, one question at a time, with bounded work. Nothing is changed. Handed to `live.api_routes` by
the command `run`.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from fairway.batch.reasons import JobState
from fairway.exit_codes import USAGE
from fairway.explain.queues.asked_jobs import asked_of_pods
from fairway.explain.queues.desk_plan import copied_moment, copied_plan
from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.explain.queues.job_sheet import job_sheet
from fairway.explain.queues.plan_document import plan_document
from fairway.explain.queues.posted_jobs import posted_jobs
from fairway.explain.queues.queue_jobs import find_queue_job
from fairway.explain.queues.queue_light import light, prepare_light
from fairway.explain.queues.queue_table import queue_table
from fairway.explain.queues.queue_why import queue_why
from fairway.explain.queues.share_table import share_table
from fairway.explain.queues.start_answer import prepare_start, start_of, told_answer
from fairway.explain.queues.start_plan import StartPlan
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.asked_queues import StartQuestion
from fairway.live.batch.live_desk import LiveDesk
from fairway.model import UserError

__all__ = ["QueueAnswers"]

T = TypeVar("T")
FIELDS: Final = ("job", "queue", "user", "state", "namespace")
"""What may be asked of jobs."""


class QueueAnswers:
    """A `fairway.live.asked_queues.AskedQueues`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._turn = asyncio.Lock()

    async def _copied(self, live: LiveDesk) -> StartPlan:
        """Its plan, when no pass has promises taken out of the calendar to put them elsewhere."""
        while live.desk.machine.calendar.lacks_promises:
            await self._clock.sleep(0.001)
        return await self._aside(copied_plan(live))

    async def _aside(self, work: Callable[[], T]) -> T:
        """In a thread: the scheduler goes on."""
        return await asyncio.to_thread(work)

    async def jobs(self, live: LiveDesk, query: Mapping[str, str]) -> dict[str, Any]:
        """All jobs that are meant; or one."""
        for name in query:
            if name not in FIELDS:
                close = difflib.get_close_matches(name, FIELDS, n=1)
                raise UserError(f"jobs are not chosen by {name!r}", f"{(close or FIELDS)[0]}=...", USAGE)
        state = query.get("state")
        states = {each.value.lower(): each for each in JobState}
        if state is not None and state.lower() not in states:
            raise UserError(f"there is no state {state!r}", f"one of {', '.join(JobState)}", USAGE)
        async with self._turn:
            moment_then = copied_moment(live)
            if (job := query.get("job")) is not None:
                return await self._aside(lambda: job_sheet(moment_then(), job).document())
            known = None if state is None else states[state.lower()]
            choice = JobChoice(query.get("queue"), query.get("user"), known, query.get("namespace"))
            return await self._aside(lambda: job_list(moment_then(), choice).document())

    async def plan(self, live: LiveDesk) -> dict[str, Any]:
        """The plan as the last pass left it."""
        async with self._turn:
            plan, closings = await self._copied(live), list(live.desk.upkeep.closings.values())
            return await self._aside(lambda: plan_document(plan, closings))

    async def queues(self, live: LiveDesk) -> dict[str, Any]:
        """The queues, with their lights."""
        async with self._turn:
            plan = await self._copied(live)
            asked = {name: prepare_light(plan, name) for name in plan.settings.queues}
            return await self._aside(
                lambda: queue_table(plan.moment, light=lambda name: light(plan, name, asked[name])).document()
            )

    async def shares(self, live: LiveDesk) -> dict[str, Any]:
        """As the desk weighs them."""
        async with self._turn:
            moment_then = copied_moment(live)
            return await self._aside(lambda: share_table(moment_then()).document())

    async def when(self, live: LiveDesk, question: StartQuestion) -> dict[str, Any]:
        """Of a job that waits, of manifests or of a size."""
        async with self._turn:
            posted = await self._aside(lambda: posted_jobs(question))
            plan = await self._copied(live)
            if isinstance(posted, str):
                name = posted
                answer = await self._aside(
                    lambda: told_answer(plan.moment, find_queue_job(plan.jobs, name, plan.at), lambda: plan)
                )
                answers = [answer]
            else:
                ready = []
                for each in posted:
                    pods = each.pods(plan.profile)
                    asked = asked_of_pods(plan, each.name, pods, question.queue or each.queue, each.limit, each.said)
                    ready.append(prepare_start(plan, asked))
                    await asyncio.sleep(0)  # others have their turn
                answers = [await self._aside(partial(start_of, plan, one)) for one in ready]
        return {
            "atSeconds": plan.at,
            "jobs": [answer.document() for answer in answers],
            "text": [line for answer in answers for line in answer.lines()],
        }

    async def why(self, live: LiveDesk, name: str) -> dict[str, Any] | None:
        """Who holds its room, and what would let it start earlier."""
        job = live.desk.book.find(name)
        if job is None or job.state not in (JobState.QUEUED, JobState.REFUSED):
            return None
        async with self._turn:
            plan = await self._copied(live)
            answer = await self._aside(lambda: queue_why(plan.moment, name, lambda: plan))
        return answer.document() | {"text": answer.lines()}

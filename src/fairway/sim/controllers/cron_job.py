"""The CronJob controller: a Job whenever the schedule says so.

In: CronJobs and the Jobs they own. Out: Jobs, named after the minute they were due; none while an earlier one runs if
the policy is Forbid, in its place if it is Replace; finished ones removed beyond the history limits. What was due
before the simulation began is not made up for. Matches `pkg/controller/cronjob` of Kubernetes 1.36.
"""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from fairway.cluster import Event, Verb
from fairway.model import CronJob, Job
from fairway.model.cron import Schedule, parse_schedule, parse_zone
from fairway.model.default_controllers import default_controller
from fairway.model.meta import EPOCH
from fairway.model.owned import cron_job_run
from fairway.sim.controllers.reconciler import Owned, Reconciler

__all__ = ["CronJobController"]


class CronJobState(Owned):
    """A CronJob and its Jobs."""

    __slots__ = ("jobs", "last", "schedule", "zone")

    def __init__(self, uid: str) -> None:
        super().__init__(uid)
        self.jobs: dict[str, Job] = {}  # by uid, in the order they were made
        self.last: dt.datetime | None = None  # what was due up to here is settled
        self.schedule: Schedule | None = None
        self.zone: ZoneInfo | None = None  # None: UTC

    def next_after(self, time: dt.datetime) -> dt.datetime | None:
        """When it is due next."""
        if self.schedule is None:
            return None
        return self.schedule.next_after(time) if self.zone is None else self.schedule.next_in_zone(time, self.zone)


class CronJobController(Reconciler[CronJobState]):
    """Starts Jobs on time."""

    kinds = frozenset(("CronJob",))

    def _make_state(self, uid: str) -> CronJobState:
        return CronJobState(uid)

    # -- events ------------------------------------------------------------------------------------------------------

    def _observe_other(self, event: Event) -> None:
        item = event.object
        owner = item.metadata.controller if isinstance(item, Job) else None
        if owner is None or owner.kind not in self.kinds:
            return
        owned = self._owners.get(owner.uid)
        if event.verb is Verb.DELETED:
            if owned is not None:
                owned.jobs.pop(item.metadata.uid, None)
        else:
            if owned is None:
                owned = self._owners[owner.uid] = self._make_state(owner.uid)
            owned.jobs[item.metadata.uid] = item
        if owned is not None and owned.thing is not None and (event.verb is Verb.DELETED or item.finish is not None):
            self.wake(owned)

    def _owner_changed(self, owned: CronJobState, before: Any) -> None:
        thing: CronJob = owned.thing
        try:
            owned.schedule = parse_schedule(thing.spec.schedule)
            owned.zone = None if thing.spec.time_zone is None else parse_zone(thing.spec.time_zone)
        except ValueError as error:
            owned.schedule = None
            name = f"{thing.metadata.namespace}/{thing.metadata.name}"
            self._report("CronJob", name, "UnparseableSchedule", f"unparseable schedule: {error}")
        if before is None or (before.spec.schedule, before.spec.time_zone) != (
            thing.spec.schedule,
            thing.spec.time_zone,
        ):
            owned.last = self._api.calendar()

    def _owner_gone(self, owned: CronJobState) -> None:
        jobs, owned.jobs = list(owned.jobs.values()), {}
        for job in jobs:
            self._api.remove(job)

    # -- what to do --------------------------------------------------------------------------------------------------

    def reconcile(self, owned: CronJobState) -> None:
        """Start what is due, remove what is old, and come back when something is due again."""
        self._clean_up(owned)
        thing: CronJob = owned.thing
        if thing.spec.suspend or owned.schedule is None or owned.last is None:
            return
        due = self._due(owned, owned.last)
        if due is not None and not self._is_too_late(thing, due):
            self._start(owned, due)
        coming = owned.next_after(max(owned.last, self._api.calendar()))
        if coming is not None:
            self.alarm(owned, (coming - EPOCH).total_seconds(), is_idle=True)

    def _due(self, owned: CronJobState, last: dt.datetime) -> dt.datetime | None:
        """The latest point of the schedule that has come and is not settled."""
        now = self._api.calendar()
        due, time = None, owned.next_after(last)
        while time is not None and time <= now:
            due, time = time, owned.next_after(time)
        return due

    def _is_too_late(self, thing: CronJob, due: dt.datetime) -> bool:
        deadline = thing.spec.starting_deadline_seconds
        return deadline is not None and due + dt.timedelta(seconds=deadline) < self._api.calendar()

    def _start(self, owned: CronJobState, due: dt.datetime) -> None:
        thing: CronJob = owned.thing
        running = [job for job in owned.jobs.values() if job.finish is None]
        if running and thing.spec.concurrency_policy == "Forbid":
            return  # it may still be made up for when the other one has finished
        if thing.spec.concurrency_policy == "Replace":
            for job in running:
                self._api.remove(job)
        owned.last = due
        made = default_controller(cron_job_run(thing, due))
        if self._api.find("Job", made.metadata.namespace, made.metadata.name) is None:
            self._api.create(made)

    def _clean_up(self, owned: CronJobState) -> None:
        spec = owned.thing.spec
        for kind, limit in (
            ("Complete", spec.successful_jobs_history_limit),
            ("Failed", spec.failed_jobs_history_limit),
        ):
            finished = [job for job in owned.jobs.values() if job.finish is not None and job.finish.type == kind]
            for job in finished[: max(0, len(finished) - limit)]:
                self._api.remove(job)

"""Queues of jobs in a simulation: the desk, when it looks, and what comes of its decisions.

In: what happens in the simulated cluster, before its scheduler hears of it. Out: passes: one at the end of an instant
in which something happened, or one after each thing that did (`ties`); at the times that the desk asks for; and pods
that end because the desk says so. This is `fairway.batch.BatchWorld` for a `fairway.batch.Desk`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from fairway.batch.accounts import AccountTree, ChargeLine
from fairway.batch.actions import Action
from fairway.batch.batch_world import PassReport
from fairway.batch.desk import Desk
from fairway.batch.job import BatchJob, JobRecord
from fairway.batch.limits import granted_limit
from fairway.batch.settings import BatchSettings
from fairway.cluster import Event
from fairway.config import Configuration
from fairway.config.planned_profiles import with_queues
from fairway.model.meta import EPOCH
from fairway.plan import StartEstimate
from fairway.plugins.registry import PLANNING
from fairway.record import Recorder
from fairway.record.vocabulary import PlanKind
from fairway.sim.api_server import ApiServer
from fairway.sim.batch_actions import BatchActions
from fairway.sim.job_store import JobStore
from fairway.sim.timeline import Handle

__all__ = ["SimDesk", "planned"]


def planned(configuration: Configuration) -> Configuration:
    """The configuration of a scheduler whose pods wait in queues."""
    return with_queues(configuration, {profile.scheduler_name for profile in configuration.profiles}, PLANNING)


class SimDesk:
    """The desk of one scheduler."""

    def __init__(
        self,
        scheduler: str,
        settings: BatchSettings,
        api: ApiServer,
        recorder: Recorder,
        wake: Callable[[], None],
    ) -> None:
        """`scheduler` is its name; `wake` is called when pods may be ready."""
        self._scheduler = scheduler
        self._api = api
        self._recorder = recorder
        self._is_recording = recorder.is_recording
        self.keeps_dates = recorder.keeps_estimates
        self._accounts = AccountTree(settings.accounts)
        self._wake = wake
        if scheduler not in api.job_stores:
            api.job_stores[scheduler] = JobStore(settings.accounts, recorder.charged)
        self.books = api.job_stores[scheduler]  # whoever comes after finds all of it here
        self._each = settings.ties == "each"
        self._at_rest: Handle | None = None  # the pass at the end of this instant
        self._timer: tuple[float, Handle] | None = None  # the pass that the desk asked for
        self._forecast: tuple[float, Handle] | None = None  # the forecast that is wanted if no pass comes before
        self._actions = BatchActions(api, recorder)
        self.desk = Desk(settings, self, EPOCH.timestamp())

    def observe(self, event: Event) -> None:
        """To be told before the scheduler is."""
        self.desk.observe(event)

    def begin(self) -> None:
        """All that is there was told, and the desk has resumed."""
        self._wake()
        self.look()

    def look(self) -> None:
        """To be told after something happened: is it time for a pass?"""
        if self.desk.is_due:
            if self._each:
                self._run_pass()
            elif self._at_rest is None:
                self._at_rest = self._api.timeline.at_rest(self._pass_at_rest)
        else:
            self._arm()

    def _pass_at_rest(self) -> None:
        self._at_rest = None
        if self.desk.is_due:
            self._run_pass()

    def _pass_by_timer(self) -> None:
        self._timer = None
        if self._at_rest is None:  # else all that happens at this instant comes first
            self.desk.is_due = True
            self._at_rest = self._api.timeline.at_rest(self._pass_at_rest)

    def _run_pass(self) -> None:
        self.desk.run_pass()
        self._arm()
        self._wake()

    def _arm(self) -> None:
        """Look again when the desk wants to, if nothing happens before."""
        time = self.desk.next_time()
        if self._timer is not None and self._timer[0] != time:
            self._timer[1].cancel()
            self._timer = None
        if time is not None and self._timer is None:
            self._timer = (
                time,
                self._api.timeline.at(time, self._pass_by_timer, is_idle=time != self.desk.machine.first_end),
            )

        time = self.desk.forecasts.next_time()
        if self._forecast is not None and self._forecast[0] != time:
            self._forecast[1].cancel()
            self._forecast = None
        if time is not None and self._forecast is None:
            self._forecast = (time, self._api.timeline.at(time, self._forecast_by_timer, is_idle=True))

    def _forecast_by_timer(self) -> None:
        self._forecast = None
        if self._at_rest is None:  # else a pass comes first
            self.desk.forecasts.run()
            self._arm()

    # -- the world, as the desk sees it ------------------------------------------------------------------------------

    def now(self) -> float:
        """Virtual time."""
        return self._api.timeline.now()

    def write_record(self, job: BatchJob) -> None:
        """As it is now, for whoever comes after, and for the recording."""
        self.books.put(job)
        if self._is_recording:
            self._recorder.job_stands(self.now(), job, *self._terms(job))

    def _terms(self, job: BatchJob) -> tuple[str, float]:
        """Who pays for it, and how long it may run; of a job whose queue is unknown, what it says itself."""
        queue = self.desk.settings.queues.get(job.queue)
        if queue is None:
            return job.wishes.account, math.inf if job.wishes.limit is None else job.wishes.limit
        namespace = job.key.partition("/")[0]
        account = self._accounts.charged(job.wishes.account, namespace, job.queue, queue.accounts)
        return account if isinstance(account, str) else "", granted_limit(job, queue.limits)

    def write_dates(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        """For whoever comes after, and for the recording."""
        self.books.put(job)
        self._recorder.job_dated(job, estimate, nodes, factors)

    def records(self) -> Iterable[JobRecord]:
        """All that were ever written."""
        return self.books.records()

    def lines(self, account: str) -> Iterable[ChargeLine]:
        """All lines of an account."""
        return self.books.lines_of(account)

    def carry_out(self, actions: Sequence[Action]) -> None:
        """On the API server."""
        for action in actions:
            self._actions.carry_out(action)

    def passed(self, report: PassReport) -> None:
        """For the recording."""
        if self._is_recording:
            self._recorder.planned(self.now(), self._scheduler, PlanKind.PASS, report)

    def foretold(self, report: PassReport) -> None:
        """For the recording."""
        self._recorder.planned(self.now(), self._scheduler, PlanKind.FORECAST, report)

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
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.cluster import Event
from fairway.config import Configuration
from fairway.config.planned_profiles import with_queues
from fairway.model import Pod
from fairway.model.meta import EPOCH
from fairway.plan import StartEstimate
from fairway.plugins.registry import PLANNING, TAINTED
from fairway.record import NullRecorder, Recorder
from fairway.record.vocabulary import PlanKind
from fairway.sim.api_server import ApiServer
from fairway.sim.batch_actions import BatchActions
from fairway.sim.job_store import JobStore
from fairway.sim.timeline import Handle

__all__ = ["SimDesk", "planned"]


def planned(configuration: Configuration, settings: BatchSettings) -> Configuration:
    """The configuration of a scheduler whose pods wait in queues."""
    has_taints = any(queue.nodes.protect == "taint" for queue in settings.queues.values())
    plugins = {**PLANNING, **TAINTED} if has_taints else PLANNING
    return with_queues(configuration, {profile.scheduler_name for profile in configuration.profiles}, plugins)


class SimDesk:
    """The desk of one scheduler."""

    def __init__(
        self,
        scheduler: str,
        settings: BatchSettings,
        api: ApiServer,
        recorder: Recorder,
        wake: Callable[[bool], None],
    ) -> None:
        """`scheduler` is its name; `wake` is called when pods may be ready, and told whether nobody is."""
        self._scheduler = scheduler
        self._api = api
        self.now = api.timeline.now
        self._recorder = recorder
        self._is_recording = recorder.is_recording
        self.keeps_dates = recorder.keeps_estimates
        self.awaits_settling = self.tells_turns = type(recorder) is not NullRecorder  # which wants to know nothing
        self._accounts = AccountTree(settings.accounts)
        self._wake = wake
        if scheduler not in api.job_stores:
            api.job_stores[scheduler] = JobStore(settings.accounts, recorder.charged)
        self.books = api.job_stores[scheduler]  # whoever comes after finds all of it here
        self.keeps_promises = self.books.is_inherited
        self._each = settings.ties == "each"
        self._at_rest: Handle | None = None  # the pass at the end of this instant
        self._is_arming = False  # is the desk asked at the end of this instant when it wants to look again?
        self._timer: tuple[float, Handle] | None = None  # the pass that the desk asked for
        self._awaited: tuple[float, Handle] | None = None  # when something opens that jobs wait for
        self._armed_for: tuple[int, int] | None = None  # what had happened when the desk was last asked for that
        self._forecast: tuple[float, Handle] | None = None  # the forecast that is wanted if no pass comes before
        self._actions = BatchActions(api, recorder)
        self.desk = Desk(settings, self, EPOCH.timestamp())

    def observe(self, event: Event) -> None:
        """To be told before the scheduler is."""
        self.desk.observe(event)

    def begin(self) -> None:
        """All that is there was told, and the desk has resumed."""
        self._wake(True)
        self.look()

    def look(self) -> None:
        """To be told after something happened: is it time for a pass?"""
        if self.desk.is_due:
            if self._each:
                self._run_pass()
            elif self._at_rest is None:
                self._at_rest = self._api.timeline.at_rest(self._pass_at_rest)
        elif self._at_rest is None and self._armed_for != self._heard:  # else that pass sees to it
            self._arm_at_rest()

    def _pass_at_rest(self) -> None:
        self._at_rest = None
        if self.desk.is_due:
            self._run_pass()

    def _pass_by_timer(self) -> None:
        self._timer = None
        if self._at_rest is None:  # else all that happens at this instant comes first
            self.desk.is_time = True
            self._at_rest = self._api.timeline.at_rest(self._pass_at_rest)

    def _pass_awaited(self) -> None:
        self._awaited = None
        self._pass_by_timer()

    def _run_pass(self) -> None:
        outcome = self.desk.run_pass()
        self._arm_at_rest()
        self._wake(not outcome.started)

    @property
    def _heard(self) -> tuple[int, int]:
        """While this is what it was, the times of the desk are what they were, but for passes and forecasts."""
        return self.desk.num_heard, self.desk.machine.num_moves

    def _arm_at_rest(self) -> None:
        """Its times move with everything that happens: once an instant is enough."""
        if not self._is_arming:
            self._is_arming = True
            self._api.timeline.at_rest(self._arm)

    def _arm(self) -> None:
        """Look again when the desk wants to, if nothing happens before."""
        self._is_arming = False
        self._armed_for = self._heard
        time = self.desk.next_time()
        if self._timer is not None and self._timer[0] != time:
            self._timer[1].cancel()
            self._timer = None
        if time is not None and self._timer is None:
            self._timer = (
                time,
                self._api.timeline.at(time, self._pass_by_timer, is_idle=time != self.desk.machine.first_end),
            )
        awaited = min(self.desk.upkeep.awaited, self.desk.opening.awaited)
        if self._awaited is not None and self._awaited[0] != awaited:
            self._awaited[1].cancel()
            self._awaited = None
        if awaited < math.inf and self._awaited is None:  # a simulation without an end waits for it, too
            self._awaited = (awaited, self._api.timeline.at(awaited, self._pass_awaited))
        time = self.desk.forecasts.next_time()
        if self._forecast is not None and self._forecast[0] != time:
            self._forecast[1].cancel()
            self._forecast = None
        if time is not None and self._forecast is None:
            self._forecast = (time, self._api.timeline.at(time, self._forecast_by_timer, is_idle=True))

    def change(self, settings: BatchSettings) -> None:
        """Operators say otherwise of queues or accounts from now on."""
        self._accounts = AccountTree(settings.accounts)
        self.desk.change(settings)
        self.look()

    def _forecast_by_timer(self) -> None:
        self._forecast = None
        if self._at_rest is None:  # else a pass comes first
            self.desk.forecasts.run()
            self._arm_at_rest()

    # -- the world, as the desk sees it ------------------------------------------------------------------------------

    def write_record(self, job: BatchJob) -> None:
        """As it is now, for whoever comes after, and for the recording."""
        self.books.put(job)
        if self._is_recording:
            self._recorder.job_stands(self.now(), job, *self._terms(job))

    def _terms(self, job: BatchJob) -> tuple[str, float]:
        """Who pays for it, and how long it may run; of a job whose queue is unknown, what it says itself."""
        queue = self.desk.settings.spec_of(job.queue)
        if not self.desk.settings.binds(job):
            return job.wishes.account, math.inf if job.wishes.limit is None else job.wishes.limit
        namespace = job.key.partition("/")[0]
        account = self._accounts.charged(job.wishes.account, namespace, job.queue, queue.accounts)
        return account if isinstance(account, str) else "", granted_limit(job, queue.limits)

    def write_promise(self, job: BatchJob) -> None:
        """For whoever comes after."""
        self.books.put(job)

    def write_dates(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        """For whoever comes after, and for the recording."""
        self.books.put(job)
        self._recorder.job_dated(job, estimate, nodes, factors)

    def records(self) -> Iterable[JobRecord]:
        """All that were ever written."""
        return self.books.records()

    def write_status(self, status: ClosingStatus) -> None:
        """As it is now, for whoever comes after, and for the recording."""
        self.books.statuses[status.kind, status.name] = status
        if self._is_recording:
            self._recorder.closing_stands(self.now(), self._scheduler, status)

    def why_not_anew(self, pods: Sequence[Pod]) -> str:
        """They always can."""
        return ""

    def statuses(self) -> Iterable[ClosingStatus]:
        """All that were ever written."""
        return tuple(self.books.statuses.values())

    def when_ended(self, tell: Callable[[str], None]) -> None:
        """Everything is written at once."""

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

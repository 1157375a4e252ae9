"""A scheduler that dies between any two writes, and comes again from what is written down.

In: a `Plan` without schedulers, queues, and fuses: after how many writes each of its lives ends. Out: a simulation in
which every write of the scheduler and its desk, to the API server, to records, to books or to the ledger, is counted;
a life that has used up its fuse writes nothing any more, whatever it was in the middle of. The next one begins at the
same instant, and knows what the API server and the `JobStore` know. Pods that ended in between are still there for it,
as they are in a cluster, where somebody collects them later.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fairway.batch.job import JobOrders
from fairway.batch.settings import BatchSettings
from fairway.cluster import Event, Verb
from fairway.config import default_configuration
from fairway.model import Pod
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder, RecordOptions
from fairway.sim.job_store import JobStore
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.sim_scheduler import SimScheduler
from fairway.sim.simulation import Plan, Simulation
from fairway.sim.takeover import take_over

NAME = "default-scheduler"
API_WRITES = ("create", "update", "remove", "delete", "bind")
STORE_WRITES = ("put", "write_record", "write_account", "append")


class DeadError(BaseException):
    """This life is over: not an error that anybody may handle."""


class Life:
    """One life of the scheduler; everything that it does to the world goes through here."""

    def __init__(self, mortal: Mortal, num_writes: float) -> None:
        self._mortal = mortal
        self._left = num_writes
        self.is_over = False

    def write(self) -> None:
        """Before each write."""
        if self.is_over or self._left <= 0:
            self.is_over = True
            raise DeadError
        self._left -= 1
        self._mortal.num_writes += 1

    def guarded(self, action: Callable[..., Any]) -> Callable[..., None]:
        """What the world calls: it never hears of the death."""

        def act(*given: Any) -> None:
            if self.is_over:
                return
            with contextlib.suppress(DeadError):
                action(*given)
            if self.is_over:
                self._mortal.bury(self)

        return act


class _Through:
    """The thing itself, but for what is counted."""

    def __init__(self, thing: Any, life: Life, writes: tuple[str, ...]) -> None:
        self._thing, self._life, self._writes = thing, life, writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if name not in self._writes:
            return found

        def written(*given: Any, **named: Any) -> Any:
            self._life.write()
            return found(*given, **named)

        return written


class _Timeline(_Through):
    def at(self, time: float, action: Any, is_idle: bool = False, is_early: bool = False) -> Any:
        return self._thing.at(time, self._life.guarded(action), is_idle, is_early)

    def at_rest(self, action: Any) -> Any:
        return self._thing.at_rest(self._life.guarded(action))

    def after(self, delay: float, action: Any) -> Any:
        return self._thing.after(delay, self._life.guarded(action))


class _Api(_Through):
    def __init__(self, thing: Any, life: Life) -> None:
        super().__init__(thing, life, API_WRITES)
        self.job_stores = {name: _Through(each, life, STORE_WRITES) for name, each in thing.job_stores.items()}
        self.timeline = _Timeline(thing.timeline, life, ())

    def watch(self, callback: Any, lag: float = 0.0) -> None:
        self._thing.watch(self._life.guarded(callback), lag)


class DatedRecorder(NullRecorder):
    """Keeps events, and wants dates."""

    def __init__(self, keeps_estimates: bool) -> None:
        super().__init__()
        self.keeps_estimates = keeps_estimates
        self.told: list[tuple[float, str, str, str]] = []

    def event(self, t: float, kind: str, name: str, reason: str, message: str) -> None:
        self.told.append((t, name, reason, message))


class Mortal:
    """A simulation whose only scheduler dies now and then."""

    def __init__(
        self, plan: Plan, batch: BatchSettings, fuses: list[int], dates: bool = False, latency: float = 0.0
    ) -> None:
        assert not plan.schedulers
        self._batch = batch
        self._fuses: Iterator[int] = iter(fuses)
        self._settings = SchedulerSettings(bind_latency=latency)
        self.num_writes = 0
        self.num_deaths = 0
        self._is_burying = False
        self.recorder = DatedRecorder(dates)
        self.simulation = Simulation(plan, self.recorder)
        self.simulation.lifecycle.tells_times = True
        self._left_over: list[Pod] = []  # ended and removed since the last death
        self.simulation.api.watch(self._collect)
        self.store = self.simulation.api.job_stores[NAME] = JobStore(batch.accounts, is_inherited=True)
        self._begin_life()

    @property
    def scheduler(self) -> SimScheduler:
        return self.simulation.schedulers[0]

    @property
    def is_dead(self) -> bool:
        """Is nobody there until the next life begins?"""
        return self._is_burying

    def _collect(self, event: Event) -> None:
        gone = event.object if event.verb is Verb.DELETED else None
        if self._is_burying and isinstance(gone, Pod) and gone.is_finished:
            self._left_over.append(gone)

    def _begin_life(self) -> None:
        self._is_burying = False
        left_over, self._left_over = self._left_over, []
        life = Life(self, next(self._fuses, math.inf))
        api: Any = _Api(self.simulation.api, life)
        configuration = default_configuration(REGISTRY)

        self._life = life

        def live() -> None:
            newcomer = SimScheduler(
                NAME, configuration, api, self._settings, self.recorder, RecordOptions(), self._batch
            )
            self.simulation.schedulers[:] = [newcomer]
            things = [*self.simulation.api.everything(), *left_over]
            take_over(things, newcomer)
            assert newcomer.queues is not None
            for pod in left_over:
                newcomer.queues.observe(Event(Verb.DELETED, pod))

        life.guarded(live)()

    # -- others, who do not die --------------------------------------------------------------------------------------

    def order(self, key: Callable[[str], bool], change: Callable[[JobOrders], JobOrders]) -> None:
        """An operator wants something else of jobs with such keys; whoever is there hears of it."""
        for record in [each for each in self.store.records() if key(each.key) and not each.ledger.is_final]:
            orders = change(record.orders)
            self.store.order(record.uid, orders)
            self._life.guarded(partial(self._hear, record.key, orders))()

    def _hear(self, key: str, orders: JobOrders) -> None:
        queues = self.scheduler.queues
        assert queues is not None
        if (job := queues.desk.book.find(key)) is not None:
            queues.desk.ordering.heed(job, orders)
            queues.look()

    def change(self, batch: BatchSettings) -> None:
        """Operators say otherwise of queues."""
        self._batch, queues = batch, self.scheduler.queues
        assert queues is not None
        self._life.guarded(queues.change)(batch)

    def bury(self, life: Life) -> None:
        """The next one comes when all that happens just now has happened."""
        if not self._is_burying:
            self._is_burying = True
            self.num_deaths += 1
            timeline = self.simulation.timeline
            timeline.at(timeline.now(), self._begin_life, is_early=True)

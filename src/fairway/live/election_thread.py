"""Leader election in a thread of its own, so that the lease is renewed whatever the scheduler is busy with.

In: how to open a connection, and what `LeaseCandidate` wants. Out: the same `run`, `release`, `is_leading` and `fault`,
to be called from the scheduler's own loop. An extender that takes its five seconds, or a list of a hundred thousand
pods, keeps that loop from everything else, as they keep one goroutine of kube-scheduler's; the lease must not depend on
it. Whether we may write is still a matter of the clock alone, and asked where the writing is done.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from fairway.config.config_file import LeaderElection as ElectionSettings
from fairway.live.api.clock import Clock
from fairway.live.api.late_connection import Closable, LateConnection
from fairway.live.election import LeaseCandidate
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics

__all__ = ["ElectionThread"]


class ElectionThread:
    """A candidate for a lease that runs beside the caller's loop."""

    def __init__(
        self,
        open_connection: Callable[[], Awaitable[Closable]],
        settings: ElectionSettings,
        clock: Clock,
        *,
        identity: str = "",
        component: str = "default-scheduler",
        metrics: SchedulerMetrics | None = None,
    ) -> None:
        """`open_connection` is called in the thread: connections belong to a loop."""
        self._late = LateConnection(open_connection)
        self._election = LeaseCandidate(
            self._late, settings, clock, identity=identity, component=component, metrics=metrics
        )
        self._loop: asyncio.AbstractEventLoop | None = None  # the thread's
        self._kept = False  # the lease, until we were asked to stop
        self._stop, self._over = asyncio.Event(), asyncio.Event()  # set in the thread's loop only

    @property
    def identity(self) -> str:
        """Our name in the lease."""
        return self._election.identity

    @property
    def last_led(self) -> float | None:
        """When somebody last led before us; None: nobody knows of anybody."""
        return self._election.last_led

    def is_leading(self) -> bool:
        """May we write to the cluster at this very moment?"""
        return self._election.is_leading()

    def fault(self) -> str | None:
        """What is wrong, for the health check."""
        return self._election.fault()

    async def run(self, stop: asyncio.Event, on_started: Callable[[], None]) -> bool:
        """As `LeaderElection.run`; `on_started` is called in the caller's loop."""
        ours = asyncio.get_running_loop()
        started, ended = ours.create_future(), ours.create_future()

        async def live() -> None:
            self._loop = asyncio.get_running_loop()
            _soon(ours, _settle, started, None, None)
            try:
                kept = await self._election.run(self._stop, lambda: _soon(ours, on_started))
            except Exception as error:  # noqa: BLE001 - whatever it is, the caller is to have it
                _soon(ours, _settle, ended, None, error)
            else:
                _soon(ours, _settle, ended, kept, None)
            await self._over.wait()  # there may be a lease to give up
            await self._late.close()

        threading.Thread(target=lambda: asyncio.run(live()), name="leader-election", daemon=True).start()
        await started
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _: _soon(self._loop, self._stop.set))
        try:
            self._kept = await ended
        finally:
            stopping.cancel()
            if not self._kept:
                self._end()
        return self._kept

    async def release(self) -> None:
        """Give the lease up, and end the thread."""
        try:
            if self._kept and self._loop is not None:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._election.release(), self._loop))
        finally:
            self._end()

    def _end(self) -> None:
        _soon(self._loop, self._stop.set)
        _soon(self._loop, self._over.set)


def _settle(future: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


def _soon(loop: asyncio.AbstractEventLoop | None, call: Callable[..., Any], *arguments: Any) -> None:
    """Call something in another thread's loop, if that still runs."""
    if loop is None or loop.is_closed():
        return
    try:
        loop.call_soon_threadsafe(call, *arguments)
    except RuntimeError:
        return  # it ended just now

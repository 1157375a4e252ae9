"""Election beside the caller's loop: the same answers, and a lease that is renewed while the caller is busy."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import pytest

from fairway.config.config_file import LeaderElection as ElectionSettings
from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Answer
from fairway.live.election_thread import ElectionThread
from fairway.model.duration import Duration
from tests.live.lease_server import LeaseServer

QUICK = ElectionSettings(lease_duration=Duration(2.0), renew_deadline=Duration(0.6), retry_period=Duration(0.05))

MANY = 30
"""Requests, which take at least twice the deadline."""


@dataclass
class Candidate:
    server: LeaseServer = field(default_factory=LeaseServer)
    closed: threading.Event = field(default_factory=threading.Event)
    loops: set[int] = field(default_factory=set)
    renewed_often: threading.Event = field(default_factory=threading.Event)
    num_requests: int = 0
    started: int = 0

    def __post_init__(self) -> None:
        self.election = ElectionThread(self._open, QUICK, SystemClock(), identity="one")
        self.stop = asyncio.Event()
        self.leads = asyncio.Event()

    async def _open(self) -> Candidate:
        self.loops.add(id(asyncio.get_running_loop()))
        return self

    async def request(self, method: str, path: str, **options: object) -> Answer:
        self.num_requests += 1
        if self.num_requests == MANY:
            self.renewed_often.set()
        return await self.server.request(method, path, **options)  # type: ignore[arg-type]

    async def close(self) -> None:
        self.closed.set()

    def start(self) -> None:
        self.started += 1
        self.leads.set()

    def run(self) -> asyncio.Task[bool]:
        return asyncio.ensure_future(self.election.run(self.stop, self.start))


def test_leads_stops_and_gives_up_the_lease() -> None:
    async def story() -> None:
        one = Candidate()
        running = one.run()
        async with asyncio.timeout(60):
            await one.leads.wait()
            assert one.election.is_leading()
            assert id(asyncio.get_running_loop()) not in one.loops
            one.stop.set()
            assert await running is True
            assert one.election.is_leading()
            await one.election.release()
        assert not one.election.is_leading()
        assert one.server.spec["holderIdentity"] == ""
        assert one.closed.wait(10)
        assert one.started == 1

    asyncio.run(story())


def test_lease_is_renewed_while_the_callers_loop_is_blocked() -> None:
    async def story() -> None:
        one = Candidate()
        running = one.run()
        async with asyncio.timeout(60):
            await one.leads.wait()
            # As a slow extender does: nothing else runs in this loop for longer than the renew deadline.
            assert one.renewed_often.wait(10)
            assert one.election.is_leading()
            one.stop.set()
            assert await running is True
            await one.election.release()

    asyncio.run(story())


def test_lost_lease_is_told_and_the_thread_ends() -> None:
    async def story() -> None:
        one = Candidate()
        running = one.run()
        async with asyncio.timeout(60):
            await one.leads.wait()
            one.server.silent = True
            assert await running is False
        assert not one.election.is_leading()
        assert one.closed.wait(10)
        await one.election.release()  # nothing to give up

    asyncio.run(story())


def test_cancelled_caller_ends_the_thread() -> None:
    async def story() -> None:
        one = Candidate()
        running = one.run()
        async with asyncio.timeout(60):
            await one.leads.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        assert one.closed.wait(10)

    asyncio.run(story())

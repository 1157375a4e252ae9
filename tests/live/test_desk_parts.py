"""What works for a desk beside the loop has an owner: if a part of it fails, nobody goes on as if it had not."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import pytest

from fairway.batch.accounts import ChargeLine
from fairway.live.batch.desk_parts import DeskParts
from fairway.live.ledger.ledger import Opening
from fairway.live.service import LiveScheduler, ServiceSettings
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import node, play
from tests.live.test_queue_routes import with_kinds


class BrokenLedger:
    """It fails in a way that nobody has thought of."""

    title = "broken"

    async def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        raise RuntimeError("nobody has thought of this")

    async def settled(self, account: str, without: Collection[str]) -> int:
        return 0

    def close(self) -> None:
        """Nothing is open."""


class Worker:
    """Fails if it is told to."""

    def __init__(self) -> None:
        self.fails = asyncio.Event()
        self.has_ended = False

    async def run(self) -> None:
        try:
            await self.fails.wait()
            raise RuntimeError("it has failed")
        finally:
            self.has_ended = True


def test_a_part_that_is_stopped_is_no_failure_and_one_that_fails_is_told() -> None:
    async def story() -> None:
        parts, first, second = DeskParts(), Worker(), Worker()
        watching = asyncio.ensure_future(parts.watch())
        parts.start([first])
        await asyncio.sleep(0)
        await parts.stop()
        assert first.has_ended
        parts.start([second])
        await asyncio.sleep(0)
        assert not watching.done()
        second.fails.set()
        with pytest.raises(RuntimeError, match="it has failed"):
            await watching
        await parts.stop()

    asyncio.run(story())


def test_a_scheduler_ends_when_a_part_of_its_desk_has_failed() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        async with asyncio.timeout(60):
            await asyncio.Event().wait()  # the scheduler ends first

    objects = (
        ("queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {"schedulerName": "default-scheduler"}}),
        ("accounts.fairway.dev", {"metadata": {"name": "physics"}, "spec": {}}),
        ("nodes", node("n1")),
    )
    settings = ServiceSettings(has_queues=True, ledger=BrokenLedger)
    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="nobody has thought of this")):
        play(story, *objects, settings=settings, prepare=with_kinds)

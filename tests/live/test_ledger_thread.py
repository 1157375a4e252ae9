"""A ledger in a thread: whoever asks waits, in his turn, and the loop does not."""

from __future__ import annotations

import asyncio
import threading

import pytest

from fairway.live.ledger.address import LedgerAddress
from fairway.live.ledger.ledger import LedgerProblem, Opening
from fairway.live.ledger.ledger_thread import LedgerThread
from tests.live.test_ledger_database import lines_of
from tests.postgres import Postgres


def test_one_thing_after_the_other(postgres: Postgres, books: str) -> None:
    async def story() -> list[int]:
        ledger = LedgerThread(LedgerAddress(postgres.url(books)))
        asked = [ledger.enter([Opening("physics", "uid", 1)], ()), ledger.settled("physics", ())]
        asked += [ledger.enter((), lines_of(1)), ledger.settled("physics", ())]
        found = await asyncio.gather(*asked)
        ledger.close()
        return [each for each in found if each is not None]

    before, after = asyncio.run(story())
    assert (before, after) == (1, 1 + sum(line.charge for line in lines_of(1)))


def test_a_server_that_is_restarted_is_asked_again(postgres: Postgres, books: str) -> None:
    async def story() -> int:
        ledger = LedgerThread(LedgerAddress(postgres.tcp_url(books), str(postgres.folder / "password")))
        await ledger.enter((), lines_of(1))
        postgres.stop()
        for _ in range(2):
            with pytest.raises(LedgerProblem):
                await ledger.enter((), lines_of(2))
        postgres.start()  # in this thread: a server ends with the thread that started it
        await ledger.enter((), lines_of(2))
        found = await ledger.settled("physics", ("uid-1",))
        ledger.close()
        return found

    assert asyncio.run(story()) == sum(line.charge for line in lines_of(2))


def test_the_loop_goes_on_while_somebody_holds_the_tables(postgres: Postgres, books: str) -> None:
    """And whoever is no longer waited for does no harm."""

    async def story() -> int:
        ledger = LedgerThread(LedgerAddress(postgres.url(books)))
        await ledger.enter((), ())
        is_held, may_go = threading.Event(), threading.Event()

        def hold() -> None:
            with postgres.connected(books) as connection, connection.transaction():
                connection.execute("LOCK TABLE fairway_lines")
                is_held.set()
                may_go.wait(30.0)

        holding = asyncio.create_task(asyncio.to_thread(hold))
        await asyncio.to_thread(is_held.wait, 30.0)
        impatient = asyncio.create_task(ledger.enter((), lines_of(1)))
        patient = asyncio.create_task(ledger.enter((), lines_of(2)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not impatient.done()
        impatient.cancel()
        may_go.set()
        await patient
        await holding
        found = await ledger.settled("physics", ())
        ledger.close()
        return found

    assert asyncio.run(story()) == 2 * sum(line.charge for line in lines_of(2))

"""Settling with a ledger: it has each job's lines once, wherever a process dies and whenever the ledger is away.

The rules of `test_batch_settling`, and for the ledger, again and naively: it never has a line of a job that its account
was not charged for; a record says that it is settled only if all lines of its job are there; in the end the sum of an
account's lines, with what it had settled before there was a ledger, is what it has settled. All else goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts import BooksDiffer, ChargeLine, charge_lines
from fairway.live.ledger.address import LedgerAddress
from fairway.live.ledger.database import LedgerDatabase
from fairway.live.ledger.ledger import LedgerProblem, Opening
from tests.live.batch_server import ROOT, BatchServer, DiedError, DyingDoor
from tests.live.test_batch_settling import ACCOUNT, DUE, JOBS, NUM_REQUESTS, Process, check, new_server
from tests.live.virtual_loop import run_virtually
from tests.postgres import Postgres

BEFORE: Final = 123_456
"""What the account had settled when the ledger began."""


class Kept:
    """What a ledger has, by the rules of its tables."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, int], ChargeLine] = {}
        self.openings: dict[str, tuple[str, int]] = {}

    def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        for each in openings:
            self.openings.setdefault(each.uid, (each.account, each.charge - self.settled(each.account, ())))
        for line in lines:
            self.lines.setdefault((line.job.uid, line.number), line)

    def settled(self, account: str, without: Collection[str]) -> int:
        lines = [each.charge for each in self.lines.values()
                 if each.job.account == account and each.job.uid not in without]  # fmt: skip
        return sum(lines) + sum(charge for name, charge in self.openings.values() if name == account)


class Way:
    """The way to a ledger as one process has it: some calls are cut off, before or after they took effect, or kill."""

    def __init__(
        self, kept: Kept | LedgerDatabase, door: DyingDoor, cuts: Sequence[str] = (), dies_at: int | None = None
    ) -> None:
        """`cuts`: of each call in its turn: "", "before", "after"; `dies_at`: the process, with that call."""
        self._kept = kept
        self._door = door
        self._cuts = list(cuts)
        self._dies_at = dies_at
        self.num_calls = 0

    title = "a ledger"

    async def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        if self._is_applied():
            self._kept.enter(openings, lines)
        self._answer()

    async def settled(self, account: str, without: Collection[str]) -> int:
        self._is_applied()
        self._answer()
        return self._kept.settled(account, without)

    def close(self) -> None:
        return

    def _is_applied(self) -> bool:
        if self._door.is_dead:
            raise DiedError
        self.num_calls += 1
        self._cut = self._cuts.pop(0) if self._cuts else ""
        return self._cut != "before"

    def _answer(self) -> None:
        if self.num_calls == self._dies_at:
            self._door.is_dead = True
            raise DiedError
        if self._cut:
            raise LedgerProblem("the ledger is away", "the connection was cut", "wait")


# -- what has to be true -----------------------------------------------------------------------------------------------


def server_with_a_past() -> BatchServer:
    """The account has settled something before there was a ledger."""
    server = new_server()
    users = {"ada": {"settled": BEFORE, "asOf": 0.0}}
    server.objects[f"{ROOT}/accounts/{ACCOUNT}"]["status"] = {"book": {"settled": BEFORE, "users": users}}
    return server


def charged(server: BatchServer) -> set[str]:
    """Uids of jobs that are in the account's book, by the naive rule: settling, or said to be settled."""
    (account,) = server.all("accounts")
    records = [each["status"] for each in server.all("jobrecords")]
    return set(account["status"]["book"].get("settling", ())) | {
        each["ledger"]["uid"] for each in records if each.get("settled")
    }


def check_lines(server: BatchServer, lines: Collection[ChargeLine]) -> None:
    """What has to be true of the two at any moment."""
    there = {(line.job.uid, line.number) for line in lines}
    assert len(there) == len(lines)
    assert {uid for uid, _ in there} <= charged(server)
    settled = {each["status"]["ledger"]["uid"] for each in server.all("jobrecords") if each["status"].get("settled")}
    for job in JOBS:
        assert job.ledger.billed is not None
        wanted = {(job.uid, line.number) for line in charge_lines(job.ledger.billed, job.ledger.intervals, 1e99)}
        assert wanted <= there or job.uid not in settled


def check_all(server: BatchServer, kept: Kept) -> None:
    """In the end."""
    check_lines(server, kept.lines.values())
    (account,) = server.all("accounts")
    assert account["status"]["book"]["settled"] == BEFORE + DUE == kept.settled(ACCOUNT, ())
    assert sum(line.charge for line in kept.lines.values()) == DUE
    assert not account["status"]["book"].get("settling")
    assert not any(each["metadata"].get("finalizers") for each in server.all("jobrecords"))


def lead(server: BatchServer, kept: Kept, door: DyingDoor, way: Way) -> tuple[bool, Process]:
    """One leader after another; whether it did all there was to do."""

    async def story() -> tuple[bool, Process]:
        process = Process(server, door, way, BEFORE)
        return await process.settle(), process

    result = run_virtually(story())
    check_lines(server, kept.lines.values())
    return result


def test_lines_are_entered_when_the_account_has_their_charge() -> None:
    server, kept = server_with_a_past(), Kept()
    is_done, _ = lead(server, kept, door := DyingDoor(server), Way(kept, door))
    assert is_done
    check_all(server, kept)
    assert door.num_requests == NUM_REQUESTS
    lead(server, kept, door := DyingDoor(server), way := Way(kept, door))
    assert (door.num_requests, way.num_calls) == (0, 1), "a second one tells the ledger of the account, and that is all"
    check_all(server, kept)


@pytest.mark.parametrize("is_applied", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, 1 + NUM_REQUESTS))
def test_killed_at_any_request_with_the_ledgers_connection_cut_too(dies_at: int, is_applied: bool) -> None:
    for cuts in (("after", "before"), ("before", "after", "after"), ("", "after")):
        server, kept = server_with_a_past(), Kept()
        door = DyingDoor(server, dies_at, is_applied=is_applied)
        lead(server, kept, door, Way(kept, door, cuts))
        is_done, _ = lead(server, kept, door := DyingDoor(server), Way(kept, door, cuts))
        assert is_done
        check_all(server, kept)


@pytest.mark.parametrize("cut", ["", "before", "after"])
@pytest.mark.parametrize("dies_at", [1, 2])
def test_killed_while_it_waits_for_the_ledger(dies_at: int, cut: str) -> None:
    server, kept = server_with_a_past(), Kept()
    door = DyingDoor(server)
    is_done, _ = lead(server, kept, door, Way(kept, door, ("", *([cut] * 3))[2 - dies_at :], dies_at))
    assert not is_done
    is_done, _ = lead(server, kept, door := DyingDoor(server), Way(kept, door))
    assert is_done
    check_all(server, kept)


Death = tuple[int, bool, int | None, list[str]]
DEATHS = st.lists(
    st.tuples(
        st.integers(1, NUM_REQUESTS),
        st.booleans(),
        st.none() | st.integers(1, 4),
        st.lists(st.sampled_from(["", "before", "after"]), max_size=5),
    ),
    max_size=5,
)


@given(deaths=DEATHS)
def test_after_any_deaths_the_books_are_what_the_ledger_has(deaths: list[Death]) -> None:
    server, kept = server_with_a_past(), Kept()
    for dies_at, is_applied, ledger_call, cuts in deaths:
        door = DyingDoor(server, dies_at, is_applied=is_applied)
        lead(server, kept, door, Way(kept, door, cuts, ledger_call))
    is_done, last = lead(server, kept, door := DyingDoor(server), Way(kept, door, ["before", "after"]))
    assert is_done
    assert not last.conflicts
    check_all(server, kept)


def test_while_the_ledger_is_away_records_wait_and_nothing_else_does() -> None:
    server, kept = server_with_a_past(), Kept()
    behind: list[str] = []

    async def story() -> None:
        door = DyingDoor(server)
        process = Process(server, door, Way(kept, door, ["before"] * 20), BEFORE)
        assert process.entries is not None
        process.entries.on_behind = lambda accounts, words: behind.append(words)
        settling = asyncio.ensure_future(process.settle())
        await process.clock.sleep(95.0)
        (account,) = server.all("accounts")
        assert account["status"]["book"]["settled"] == BEFORE + DUE
        assert set(account["status"]["book"]["settling"]) == {job.uid for job in JOBS}
        assert not any(each["status"].get("settled") for each in server.all("jobrecords"))
        assert process.store.num_unsettled == len(JOBS)
        assert process.outbox.backlog == 0, "who waits for what was written is not kept waiting"
        assert await settling

    run_virtually(story())
    check_all(server, kept)
    assert 2 <= len(behind) <= 4, "once a minute"
    assert "3 jobs wait for the ledger: the ledger is away: the connection was cut" in behind[-1]


def test_books_and_a_ledger_that_differ_are_told_with_both_numbers() -> None:
    server, kept = server_with_a_past(), Kept()
    lead(server, kept, door := DyingDoor(server), Way(kept, door))
    stranger = next(iter(kept.lines))
    lost = kept.lines.pop(stranger)
    differences: list[BooksDiffer] = []

    async def story() -> None:
        door = DyingDoor(server)
        process = Process(server, door, Way(kept, door), BEFORE)
        assert process.entries is not None
        process.entries.on_differs = differences.append
        process.store.compare(ACCOUNT)
        assert await process.settle()

    run_virtually(story())
    (difference,) = differences
    assert (difference.is_, difference.should_be) == ((BEFORE + DUE) / 1000, (BEFORE + DUE - lost.charge) / 1000)


@pytest.mark.parametrize("dies_at", [1, 2, 4, 6, NUM_REQUESTS])
def test_the_same_with_a_real_database(postgres: Postgres, books: str, dies_at: int) -> None:
    """A leader dies at some request; between it and the next one everybody is thrown out of the database."""
    server = server_with_a_past()

    async def story(door: DyingDoor, database: LedgerDatabase) -> bool:
        process = Process(server, door, Way(database, door), BEFORE)
        process.store.compare(ACCOUNT)
        return await process.settle()

    with closing(LedgerDatabase(LedgerAddress(postgres.url(books)))) as database:
        assert not run_virtually(story(DyingDoor(server, dies_at, is_applied=dies_at % 2 == 0), database))
        check(server, BEFORE)
        check_lines(server, list(database.lines()))
        postgres.cut_connections(books)
        with pytest.raises(LedgerProblem):
            database.settled(ACCOUNT, ())
        assert run_virtually(story(DyingDoor(server), database))
        assert database.settled(ACCOUNT, ()) == BEFORE + DUE
        assert sum(line.charge for line in database.lines()) == DUE

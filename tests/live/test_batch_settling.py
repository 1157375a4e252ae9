"""Accounts on an API server: nobody is charged twice or not at all, wherever a process dies and whoever else writes.

The rules, again and naively: each job that is over is in its account's `settled` once, to the thousandth; a record says
that it is settled only if its account has its charge, and may go only when it is; in the end everything is settled, no
record has our finalizer, and nothing is left to do.
"""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from fairway.batch.accounts import Books, OpenJobs, total_charge
from fairway.batch.job import BilledJob, JobLedger, JobRecord, JobWishes, RunInterval
from fairway.batch.reasons import JobOutcome, JobStanding, JobState
from fairway.live.api.problems import Unreachable
from fairway.live.batch.ledger_entries import LedgerEntries
from fairway.live.batch.objects import AccountObject, JobRecordObject
from fairway.live.batch.outbox import Outbox
from fairway.live.batch.record_codec import record_status
from fairway.live.batch.record_store import RecordStore
from fairway.live.batch.record_terms import RecordTerms
from fairway.live.ledger.ledger import Ledger
from fairway.model.codec import convert
from tests.live.batch_server import ROOT, BatchServer, DiedError, DyingDoor
from tests.live.virtual_loop import LoopClock, run_virtually

START = 1_767_225_600.0
ACCOUNT = "physics"
HALF_LIFE = 7 * 86400.0
NUM_JOBS = 3
NUM_REQUESTS = 2 + 2 * NUM_JOBS  # the charge, each record, its finalizer, and the account that forgets them


def ended(number: int) -> JobRecord:
    """A job that is over, after two intervals."""
    first, second = START + number, START + 100.25 * number
    intervals = (
        RunInterval(first, first + 10.125, 1.5, ("a",)),
        RunInterval(second + 50, second + 63.333333, 0.7 + number, ("b",)),
    )
    billed = BilledJob(f"job-{number}", f"ns/job-{number}", ACCOUNT, f"user-{number % 2}", "batch")
    ledger = JobLedger(START, intervals=intervals, billed=billed, is_final=True, ended=second + 64)
    standing = JobStanding(JobState.FINISHED, JobOutcome.SUCCEEDED)
    return JobRecord(f"ns/job-{number}", f"job-{number}", standing, ledger, wishes=JobWishes("batch", "ada"))


JOBS = [ended(number) for number in range(NUM_JOBS)]
DUE = sum(total_charge(job.ledger.intervals, float("inf")) for job in JOBS)


def new_server() -> BatchServer:
    server = BatchServer()
    server.put(f"{ROOT}/accounts/{ACCOUNT}")
    for job in JOBS:
        status = record_status(job, RecordTerms(ACCOUNT))
        made = server.put(f"{ROOT}/namespaces/ns/jobrecords/{job.uid}", status=status)
        made["metadata"]["finalizers"] = ["fairway.dev/accounting"]
    return server


class Process:
    """One leader: what it has read, and what it writes."""

    def __init__(self, server: BatchServer, door: DyingDoor, ledger: Ledger | None = None, before: int = 0) -> None:
        """`before`: what the account has settled besides these jobs."""
        self.door = door
        self.before = before
        self.clock = LoopClock()
        self.conflicts: list[str] = []
        self.outbox = Outbox(door, self.clock, lambda: True)
        self.outbox.on_conflict = self.conflicts.append
        self.store = RecordStore(self.outbox)
        self.outbox.on_confirmed = self._confirmed
        self.entries: LedgerEntries | None = None
        if ledger is not None:
            self.entries = LedgerEntries(ledger, self.clock, lambda: True)
            self.store.keep_ledger(self.entries)
        self.store.load(
            [convert(each, AccountObject) for each in server.all("accounts")],
            [convert(each, JobRecordObject) for each in server.all("jobrecords")],
        )
        self.books = Books(self.store, OpenJobs(), HALF_LIFE)

    def _confirmed(self, key: Any, payload: Any) -> None:
        if self.store.confirmed(key, payload):
            self.outbox.let_go(key)

    async def settle(self) -> bool:
        """As the desk does it every 30 s, until nothing is left; False: it died, or was told that it is not alone."""
        parts: list[Outbox | LedgerEntries] = [self.outbox] if self.entries is None else [self.outbox, self.entries]
        sending = [asyncio.ensure_future(part.run()) for part in parts]
        try:
            for _ in range(20):
                self.books.settle(ACCOUNT, self.clock.now())
                await self.clock.sleep(30.0)
                if self.door.is_dead or self.conflicts:
                    return False
                check(self.door.server, self.before)
                found = self.store.account(ACCOUNT)
                assert found is not None
                if not found[0].settling and not self.store.unsettled(ACCOUNT) and not self.outbox.backlog:
                    return True
            return False
        finally:
            for task in sending:
                task.cancel()
            results = await asyncio.gather(*sending, return_exceptions=True)
            for result in results:
                assert isinstance(result, asyncio.CancelledError | DiedError | BaseExceptionGroup)


def check(server: BatchServer, before: int = 0) -> None:
    """What has to be true of the server at any moment; `before`: what was settled besides these jobs."""
    (account,) = server.all("accounts")
    book = account["status"].get("book", {})
    records = [each["status"] for each in server.all("jobrecords")]
    charges = {each["ledger"]["uid"]: round(each["charge"] * 1000) for each in records}
    settling = set(book.get("settling", ()))
    is_settled = {each["ledger"]["uid"] for each in records if each.get("settled")}
    kept = {
        each["status"]["ledger"]["uid"]
        for each in server.all("jobrecords")
        if "fairway.dev/accounting" in each["metadata"].get("finalizers", ())
    }
    assert charges.keys() - kept <= is_settled
    counted = settling | is_settled
    assert book.get("settled", 0) == before + sum(charges[uid] for uid in counted)
    assert book.get("settled", 0) == sum(user["settled"] for user in book.get("users", {}).values())


def check_end(server: BatchServer) -> None:
    check(server)
    (account,) = server.all("accounts")
    assert account["status"]["book"]["settled"] == DUE
    assert not account["status"]["book"].get("settling")
    assert all(each["status"]["settled"] for each in server.all("jobrecords"))
    assert not any(each["metadata"].get("finalizers") for each in server.all("jobrecords"))


def survive(server: BatchServer, *deaths: tuple[int, bool]) -> int:
    """Processes one after the other, of which each dies but the last; returns how often that one asked."""

    async def story() -> int:
        for dies_at, is_applied in deaths:
            process = Process(server, DyingDoor(server, dies_at, is_applied=is_applied))
            if await process.settle():
                break
            check(server)
        last = Process(server, DyingDoor(server))
        assert await last.settle()
        return last.door.num_requests

    return run_virtually(story())


def test_everything_is_settled_once() -> None:
    server = new_server()
    num_requests = survive(server)
    check_end(server)
    assert num_requests == NUM_REQUESTS
    assert survive(server) == 0, "a second one has nothing to do"


@pytest.mark.parametrize("is_applied", [False, True], ids=["before it took effect", "before the answer"])
@pytest.mark.parametrize("dies_at", range(1, 1 + NUM_REQUESTS))
def test_whoever_is_killed_at_any_request_nobody_is_charged_twice(dies_at: int, is_applied: bool) -> None:
    server = new_server()
    survive(server, (dies_at, is_applied))
    check_end(server)


def test_killed_twice_or_three_times() -> None:
    for first in range(1, 1 + NUM_REQUESTS):
        for second in range(1, 1 + NUM_REQUESTS):
            for is_applied in (False, True):
                server = new_server()
                survive(server, (first, is_applied), (second, not is_applied), (1, True))
                check_end(server)


@pytest.mark.parametrize("pause", range(1, 1 + NUM_REQUESTS))
def test_a_leader_that_was_frozen_and_wakes_beside_another_one_changes_nothing_any_more(pause: int) -> None:
    """It has read everything, made some requests, and slept while another one did the rest."""
    server = new_server()

    async def story() -> None:
        frozen = Process(server, DyingDoor(server))
        waiting, woken = asyncio.Event(), asyncio.Event()

        async def stall(method: str, path: str) -> None:
            if frozen.door.num_requests + 1 >= pause:
                waiting.set()
                await woken.wait()

        frozen.door.meanwhile = stall
        sleeping = asyncio.ensure_future(frozen.settle())
        await waiting.wait()
        other = Process(server, DyingDoor(server))
        assert await other.settle()
        check_end(server)
        before = copy.deepcopy(server.objects)
        woken.set()
        await sleeping
        # Whoever has charged already may find that what is left to do was done, word for word.
        assert frozen.conflicts or pause > 1
        assert server.objects == before, "it wrote nothing"

    run_virtually(story())
    check_end(server)


def test_an_operator_who_edits_an_account_meanwhile_does_no_harm() -> None:
    server = new_server()

    async def story() -> None:
        process = Process(server, DyingDoor(server))
        account = server.objects[f"{ROOT}/accounts/{ACCOUNT}"]
        account["spec"] = {"shares": 5}
        server.version += 1
        account["metadata"]["resourceVersion"] = str(server.version)
        assert await process.settle()
        assert not process.conflicts

    run_virtually(story())
    check_end(server)
    assert server.objects[f"{ROOT}/accounts/{ACCOUNT}"]["spec"] == {"shares": 5}


def test_finalizers_of_others_stay_and_whoever_is_not_answered_asks_again() -> None:
    server = new_server()
    path = f"{ROOT}/namespaces/ns/jobrecords/job-1"

    async def story() -> None:
        process = Process(server, DyingDoor(server))
        tries: list[str] = []

        async def refuse(method: str, asked: str) -> None:
            if method == "PATCH":
                tries.append(asked)
                if len(tries) <= 3:
                    raise Unreachable("server", "nobody answers")
                theirs = server.objects[path]["metadata"]["finalizers"]
                if asked == path and len(theirs) == 1:  # somebody else is quicker by one
                    theirs.append("example.com/theirs")
                    server.version += 1
                    server.objects[path]["metadata"]["resourceVersion"] = str(server.version)

        process.door.meanwhile = refuse
        assert await process.settle()
        assert len(tries) > 3 + NUM_JOBS

    run_virtually(story())
    found = {each["metadata"]["name"]: each["metadata"].get("finalizers") for each in server.all("jobrecords")}
    assert found == {"job-0": None, "job-1": ["example.com/theirs"], "job-2": None}

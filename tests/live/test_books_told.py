"""Books that somebody has tampered with are told, in an event of the account, and are left as they are.

Books that are behind, because the ledger is away, let no job of their account start until they are not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fairway.batch.accounts import ChargeLine
from fairway.batch.job import BilledJob, JobLedger, JobOrders, JobRecord, JobWishes, RunInterval
from fairway.batch.reasons import JobOutcome, JobStanding, JobState
from fairway.live.batch.record_codec import record_status
from fairway.live.batch.record_terms import RecordTerms
from fairway.live.ledger.ledger import LedgerProblem, Opening
from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play
from tests.live.test_job_clocks import SetClock
from tests.live.test_jobs import events
from tests.live.test_queue_routes import QUEUES, job, record, with_kinds
from tests.live.test_wall_clock import queue

SINCE = 1_790_000_000.0


def physics(**book: object) -> tuple[str, Tree]:
    spec = {"namespaces": ["default"], "weights": {"cpu": 1}}
    return "accounts.fairway.dev", {"metadata": {"name": "physics"}, "spec": spec, "status": {"book": book}}


def book(api: FakeApiServer) -> Tree:
    found: Tree = api.objects["accounts.fairway.dev"]["physics"]["status"]["book"]
    return found


def test_books_that_do_not_balance_are_told_with_both_numbers_and_not_mended() -> None:
    """Somebody gave ada a present, and the account nothing."""

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: events(api, "BooksDiffer"))
        api.put("pods", job("it", cpu="1"))
        await api.until(lambda: bindings(api).get("it"))

    objects = (queue(), physics(settled=5000, users={"ada": {"settled": 3000}}), ("nodes", node("n1")))
    api = play(story, *objects, settings=QUEUES, prepare=with_kinds)
    (event,) = events(api, "BooksDiffer")
    assert (event["regarding"]["kind"], event["regarding"]["name"], event["type"]) == ("Account", "physics", "Warning")
    assert event["note"] == "account physics: settled is not the sum of its users: 5, should be 3"
    assert book(api)["settled"] == 5000
    assert book(api)["users"]["ada"]["settled"] == 3000


NUM_WAITING = 1001


class AwayLedger:
    """Keeps nothing until it is there."""

    title = "a ledger"

    def __init__(self) -> None:
        self.is_there = False
        self.jobs: set[str] = set()

    async def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        if not self.is_there:
            raise LedgerProblem("the ledger is away", "nobody answers", "wait")
        self.jobs |= {line.job.uid for line in lines}

    async def settled(self, account: str, without: Collection[str]) -> int:
        if not self.is_there:
            raise LedgerProblem("the ledger is away", "nobody answers", "wait")
        return NUM_WAITING * 1000

    def close(self) -> None:
        return


def over(number: int) -> Tree:
    """The record of a job that ran for a second, and that its account has charged."""
    uid, key = f"uid-of-old-{number}", f"default/old-{number}"
    billed = BilledJob(uid, key, "physics", "default", "batch", {"cpu": 1000})
    ledger = JobLedger(
        SINCE, intervals=(RunInterval(SINCE, SINCE + 1.0, 1.0),), is_final=True, billed=billed, ended=SINCE + 1.0
    )
    standing = JobStanding(JobState.FINISHED, JobOutcome.SUCCEEDED)
    record = JobRecord(key, uid, standing, ledger, 1, None, JobOrders(), None, JobWishes("batch", "default"))
    meta = {"name": f"old-{number}", "namespace": "default", "finalizers": ["fairway.dev/accounting"]}
    return {"metadata": meta, "status": record_status(record, RecordTerms("physics"))}


def test_while_a_thousand_jobs_are_not_written_down_nobody_starts() -> None:
    ledger, clock = AwayLedger(), SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: record(api, "it").get("reason") == "AccountStopped")
        words = f"books are behind: {NUM_WAITING} jobs of account physics are over and not written down yet"
        assert record(api, "it")["message"] == words
        assert not bindings(api)
        ledger.is_there = True
        await api.until(lambda: len(ledger.jobs) == NUM_WAITING)
        clock.passed += 60.0  # books are written twice a minute
        await api.until(lambda: bindings(api).get("it"))

    settling = [f"uid-of-old-{number}" for number in range(NUM_WAITING)]
    total = NUM_WAITING * 1000
    account = physics(settled=total, users={"default": {"settled": total}}, settling=settling)
    old = [("jobrecords.fairway.dev", over(number)) for number in range(NUM_WAITING)]
    objects = (queue(), account, *old, ("nodes", node("n1")), ("pods", job("it", cpu="1")))
    settings = QUEUES._replace(ledger=lambda: ledger)
    api = play(story, *objects, settings=settings, prepare=with_kinds, clock=clock)
    assert book(api)["settled"] == total, "nobody is charged twice"

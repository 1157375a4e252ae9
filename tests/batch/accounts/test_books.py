"""Settling, step by step: what is written, in which order, and what one does who finds it half done."""

import math
from collections.abc import Callable

import pytest

from fairway.batch.accounts import (
    AccountTree,
    Books,
    OpenJobs,
    Payer,
    RecordBook,
    StaleVersionError,
    StoreAwayError,
    behind,
    budget_states,
    open_interval,
)
from fairway.batch.accounts.books import MOST_SETTLING
from fairway.batch.reasons import Reason
from fairway.model.batch import AccountSpec, BudgetSpec
from tests.batch.accounts.memory_books import KilledError, MemoryBooks, StoreView, billed, ran

HALF_LIFE = 7 * 86400.0


def books_of(
    store: MemoryBooks, jobs: OpenJobs | None = None, before: Callable[[str], None] = lambda call: None
) -> Books:
    return Books(StoreView(store, before), OpenJobs() if jobs is None else jobs, HALF_LIFE)


def ended(store: MemoryBooks, uid: str, seconds: float = 100.0, account: str = "physics") -> RecordBook:
    record = RecordBook(billed(uid, account=account)).ended_at(seconds, ran((0.0, seconds)))
    return store.add(record)


def test_the_five_steps_in_their_order() -> None:
    store, jobs = MemoryBooks(), OpenJobs()
    calls: list[str] = []
    books = books_of(store, jobs, calls.append)
    store.add(RecordBook(billed("u")))
    running = open_interval((), 0.0, 2.0)
    jobs.put("u", Payer("physics", "ada"), running)
    assert books.settle("physics", 50.0).num_settled == 0
    assert (store.book().running, store.book().settled) == (100_000, 0)
    calls.clear()

    record = books.finish("u", running, 100.0)
    assert record is not None
    assert (record.is_final, record.is_settled, record.charge) == (True, False, 200_000)
    assert books.finish("u", (), 120.0) == record  # it is final
    settlement = books.settle("physics", 130.0)
    assert (settlement.num_settled, settlement.num_waiting, settlement.problem) == (1, 0, "")
    assert settlement.book == store.book()
    assert calls == [
        *("record", "write_record", "record"),  # (1), and nothing the second time
        *("account", "unsettled", "record", "write_account", "append", "write_record"),  # (2), (3), (4)
    ]
    assert (store.book().settled, store.book().running, store.book().settling) == (200_000, 0, ("u",))
    assert store.record_of("u").is_settled
    assert [line.charge for line in store.lines.values()] == [200_000]
    assert "u" not in jobs

    books.settle("physics", 160.0)  # (5)
    assert (store.book().settled, store.book().settling) == (200_000, ())
    writes = store.num_account_writes
    books.settle("physics", 190.0)
    assert store.num_account_writes == writes  # nothing changed, nothing is written


def test_many_jobs_that_ended_are_one_write() -> None:
    store = MemoryBooks()
    for number in range(50):
        ended(store, f"u{number}")
    assert books_of(store).settle("physics", 200.0).num_settled == 50
    assert store.num_account_writes == 1
    assert store.book().settled == 50 * 100_000


def test_a_job_that_never_ran_needs_no_place_in_the_book() -> None:
    store = MemoryBooks()
    store.add(RecordBook(billed("u")).ended_at(5.0, ()))
    assert books_of(store).settle("physics", 200.0).num_settled == 1
    assert store.num_account_writes == 0
    assert store.record_of("u").is_settled


def test_what_is_given_back_stands_in_the_ledger() -> None:
    store = MemoryBooks()
    store.add(RecordBook(billed("u")).ended_at(9.0, (*ran((0, 5), refund="NodeLost"), *ran((6, 9)))))
    books_of(store).settle("physics", 10.0)
    assert [(line.charge, line.reason) for line in store.lines.values()] == [
        (5000, ""),
        (-5000, "NodeLost"),
        (3000, ""),
    ]
    assert store.book().settled == 3000


def test_without_a_ledger_records_wait_before_they_are_settled_and_jobs_end_on() -> None:
    store = MemoryBooks()
    store.is_ledger_away = True
    books = books_of(store)
    for number in range(3):
        ended(store, f"u{number}")
        settlement = books.settle("physics", 200.0 + number)
    assert (settlement.num_settled, settlement.num_waiting) == (0, 3)
    assert settlement.problem == "the ledger does not answer"
    assert store.book().settled == 300_000  # each is charged once, however often it was tried
    store.is_ledger_away = False
    assert books.settle("physics", 300.0).num_settled == 3
    assert len(store.lines) == 3
    books.settle("physics", 330.0)
    assert (store.book().settled, store.book().settling) == (300_000, ())


def test_an_api_server_that_is_away_is_told_and_nothing_is_lost() -> None:
    store, jobs = MemoryBooks(), OpenJobs()
    record = ended(store, "u")
    jobs.put("u", Payer("physics", "ada"), record.intervals)

    def away(call: str) -> None:
        if call == "write_account":
            raise StoreAwayError

    settlement = books_of(store, jobs, away).settle("physics", 200.0)
    assert (settlement.book, settlement.problem) == (None, "the API server does not answer")
    assert "u" in jobs
    assert books_of(store, jobs).settle("physics", 230.0).num_settled == 1


def test_while_books_are_behind_nothing_is_released() -> None:
    store = MemoryBooks()
    store.is_ledger_away = True
    for number in range(MOST_SETTLING):
        ended(store, f"u{number}")
    books = books_of(store)
    books.settle("physics", 200.0)
    assert behind("physics", store.book()) is None
    ended(store, "one-more")
    books.settle("physics", 230.0)
    standing = behind("physics", store.book())
    assert standing is not None
    assert standing.reason is Reason.ACCOUNT_STOPPED
    assert standing.words == "books are behind: 1001 jobs of account physics are over and not written down yet"
    store.is_ledger_away = False
    books.settle("physics", 260.0)
    books.settle("physics", 290.0)
    assert behind("physics", store.book()) is None
    assert store.book().settled == 1001 * 100_000


def test_a_stale_leader_reads_again_and_finds_that_it_is_done() -> None:
    store = MemoryBooks()
    ended(store, "u")
    new_leader = books_of(store)
    told: list[str] = []

    def other(call: str) -> None:
        if call == "write_account" and not told:
            told.append(call)
            new_leader.settle("physics", 200.0)

    books_of(store, before=other).settle("physics", 201.0)
    assert (store.book().settled, len(store.lines)) == (100_000, 1)


@pytest.mark.parametrize("after", ["account", "unsettled", "record", "write_account", "append", "write_record"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_another_leader_may_do_all_of_it_between_any_two_calls(after: str, rounds: int) -> None:
    store = MemoryBooks()
    ended(store, "u")
    new_leader = books_of(store)
    told: list[str] = []

    def other(call: str) -> None:
        if call == after and not told:
            told.append(call)
            for number in range(rounds):  # the second forgets the uid
                new_leader.settle("physics", 200.0 + number)

    old_leader = books_of(store, before=other)
    for number in range(3):
        old_leader.settle("physics", 210.0 + number)
    assert (store.book().settled, store.book().settling) == (100_000, ())
    assert (len(store.lines), store.record_of("u").is_settled) == (1, True)


def test_somebody_edits_the_record_meanwhile() -> None:
    store = MemoryBooks()
    told: list[str] = []
    ended(store, "u")

    def edit(call: str) -> None:
        if call == "write_record" and not told:
            told.append(call)
            record, version = store.records["u"]
            store.records["u"] = (record, version + 1)

    assert books_of(store, before=edit).settle("physics", 200.0).num_settled == 1
    assert store.record_of("u").is_settled


def test_somebody_edits_it_for_ever() -> None:
    store = MemoryBooks()
    ended(store, "u")
    store.add(RecordBook(billed("runs")))

    def edit(call: str) -> None:
        if call in ("write_record", "write_account"):
            store.accounts["physics"] = (store.book(), store.accounts["physics"][1] + 1)
            store.records = {uid: (record, version + 1) for uid, (record, version) in store.records.items()}

    books = books_of(store, before=edit)
    assert books.settle("physics", 200.0).problem == "others keep writing to account physics"
    with pytest.raises(StaleVersionError, match="others keep writing to the record runs"):
        books.finish("runs", (), 200.0)

    def edit_records(call: str) -> None:
        if call == "write_record":
            edit(call)

    settlement = books_of(store, before=edit_records).settle("physics", 200.0)
    assert settlement.problem == "others keep writing to the record of job ns/u"
    assert (settlement.num_settled, settlement.num_waiting) == (0, 1)
    books_of(store).settle("physics", 230.0)
    assert (store.book().settled, store.record_of("u").is_settled) == (100_000, True)


def test_a_record_that_is_gone_is_forgotten_and_what_was_settled_stays() -> None:
    store = MemoryBooks()
    ended(store, "u")

    def killed(call: str) -> None:
        if call == "append":
            raise KilledError

    with pytest.raises(KilledError):
        books_of(store, before=killed).settle("physics", 200.0)
    del store.records["u"]  # by hand
    books = books_of(store)
    books.settle("physics", 230.0)
    assert (store.book().settled, store.book().settling) == (100_000, ())
    assert books.finish("u", (), 240.0) is None


@pytest.mark.parametrize("account", ["", "deleted"])
def test_jobs_without_an_account_are_settled_and_their_usage_is_remembered(account: str) -> None:
    store, jobs = MemoryBooks(()), OpenJobs()
    record = ended(store, "u", account=account)
    jobs.put("u", Payer(account, "ada"), record.intervals)
    books = books_of(store, jobs)
    settlement = books.settle(account, 200.0)
    assert (settlement.num_settled, store.record_of("u").is_settled) == (1, True)
    assert "u" not in jobs
    again = books.settle(account, 230.0).book
    assert again is not None
    assert (again.settled, again.settling) == (100_000, ())


def test_a_budget_is_told_of_once_and_that_is_written_down() -> None:
    store = MemoryBooks()
    tree = AccountTree({"physics": AccountSpec(budget=BudgetSpec(amount=100.0, period="ever"))})
    ended(store, "u", 85.0)
    events = []
    for now in (100.0, 130.0, 160.0):
        state = budget_states(tree, {"physics": store.book()}, OpenJobs(), now)["physics"]
        event = books_of(store).settle("physics", now, state).event  # another process each time
        events.append(None if event is None else event.percent)
    assert events == [None, 80, None]
    assert store.book().told == {"ever": 80}


def test_what_runs_is_written_and_not_what_is_on_its_way() -> None:
    store, jobs = MemoryBooks(), OpenJobs()
    record = ended(store, "u")
    jobs.put("u", Payer("physics", "ada"), record.intervals)
    jobs.put("v", Payer("physics", "bob"), open_interval((), 100.0, 1.0))
    books_of(store, jobs).settle("physics", 200.0)
    assert {name: (user.settled, user.running) for name, user in store.book().users.items()} == {
        "ada": (100_000, 0),
        "bob": (0, 100_000),
    }
    assert jobs.usage(200.0, math.inf).tolist() == [0.0, 100.0]

"""Whatever does not balance is told, with both numbers."""

import msgspec
import pytest
from msgspec.structs import replace

from fairway.batch.accounts import AccountBook, Books, OpenJobs, Payer, RecordBook, book_differences, open_interval
from tests.batch.accounts.memory_books import MemoryBooks, StoreView, billed, ran


@pytest.fixture
def store() -> MemoryBooks:
    """One job settled, one on its way, one that runs."""
    store, jobs = MemoryBooks(), OpenJobs()
    books = Books(StoreView(store), jobs, 1e6)
    store.add(RecordBook(billed("settled")).ended_at(10.0, ran((0, 10))))
    books.settle("physics", 20.0)
    books.settle("physics", 20.0)
    store.is_ledger_away = True
    store.add(RecordBook(billed("settling", "bob")).ended_at(20.0, ran((0, 20))))
    running = open_interval((), 0.0, 1.0)
    store.add(RecordBook(billed("running"), running))
    jobs.put("running", Payer("physics", "ada"), running)
    books.settle("physics", 40.0)
    return store


def differences(store: MemoryBooks, now: float = 100.0, **changes: object) -> list[str]:
    book: AccountBook = msgspec.structs.replace(store.book(), **changes)
    records = [record for record, _ in store.records.values()]
    return [each.words for each in book_differences("physics", book, records, store.lines.values(), now)]


def test_books_that_balance(store: MemoryBooks) -> None:
    assert (store.book().settled, store.book().running) == (30_000, 40_000)
    assert differences(store) == []


def test_a_charge_that_was_added_twice(store: MemoryBooks) -> None:
    assert differences(store, settled=50_000) == [
        "account physics: settled is not the sum of its users: 50, should be 30",
        "account physics: settled is not the sum of its lines: 50, should be 30",
    ]


def test_a_line_that_is_lost(store: MemoryBooks) -> None:
    del store.lines["settled", 0]
    assert differences(store) == ["account physics: settled is not the sum of its lines: 30, should be 20"]


def test_lines_of_others_do_not_matter(store: MemoryBooks) -> None:
    (line,) = store.lines.values()
    store.lines["x", 0] = replace(line, job=billed("x", account="bio"))
    assert differences(store) == []


def test_where_no_lines_are_kept_none_are_compared(store: MemoryBooks) -> None:
    records = [record for record, _ in store.records.values()]
    assert list(book_differences("physics", store.book(), records, None, 100.0)) == []


def test_what_runs_and_is_not_counted(store: MemoryBooks) -> None:
    store.add(RecordBook(billed("more"), ran((0, 7))))
    assert differences(store) == ["account physics: running is not what its jobs have used by then: 40, should be 47"]


def test_negative_numbers(store: MemoryBooks) -> None:
    user = store.book().users["ada"]
    users = {**store.book().users, "ada": msgspec.structs.replace(user, decayed=-2.0)}
    periods = {"month": {"2026-11": -3000}}
    assert differences(store, users=users, periods=periods) == [
        "account physics: fading usage of ada is negative: -2, should be 0",
        "account physics: used in month 2026-11 is negative: -3, should be 0",
    ]


def test_a_job_that_ended_long_ago(store: MemoryBooks) -> None:
    assert differences(store, 620.0) == []
    assert differences(store, 621.0) == [
        "account physics: job ns/settling ended and is not settled, for seconds: 601, should be 600"
    ]

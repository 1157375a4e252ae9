"""The book of an account, from one state to the next."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts import AccountBook, RecordBook, UserBook
from fairway.batch.accounts.account_book import PERIODS_KEPT, period_charges
from fairway.batch.accounts.periods import CALENDAR, PeriodKind
from fairway.batch.job import RunInterval
from fairway.batch.usage import interval_usage
from tests.batch.accounts.memory_books import billed, ran

DAY = 86400.0
NOVEMBER = 1_793_491_200.0  # 2026-11-01


def final(uid: str, *spans: tuple[float, float], user: str = "ada", rate: float = 1.0, refund: str = "") -> RecordBook:
    return RecordBook(billed(uid, user)).ended_at(spans[-1][1], ran(*spans, rate=rate, refund=refund))


def test_a_record_is_charged_to_account_user_and_periods() -> None:
    # From the last minute of October into November.
    book = AccountBook().plus([final("u", (-60.0, 40.0), rate=2.0)], 40.0, math.inf, NOVEMBER)
    assert book.settled == 200_000
    assert book.settling == ("u",)
    assert book.users == {"ada": UserBook(settled=200_000, decayed=200.0, as_of=40.0)}
    assert book.periods == {
        "day": {"2026-10-31": 120_000, "2026-11-01": 80_000},
        "week": {"2026-W44": 200_000},
        "month": {"2026-10": 120_000, "2026-11": 80_000},
        "quarter": {"2026-Q4": 200_000},
        "year": {"2026": 200_000},
    }
    assert book.in_period("month", "2026-10") == 120_000
    assert book.in_period("month", "1999-01") == 0
    assert book.in_period("ever", "ever") == 200_000


def test_what_was_given_back_is_charged_nowhere() -> None:
    book = AccountBook().plus([final("u", (0.0, 100.0), refund="NodeLost")], 100.0, 1e3, NOVEMBER)
    assert (book.settled, book.periods, book.users["ada"].decayed) == (0, {}, 0.0)


def test_so_many_periods_are_kept() -> None:
    records = [final(f"u{day}", (day * DAY, day * DAY + 1)) for day in range(100)]
    book = AccountBook().plus(records, 100 * DAY, math.inf, NOVEMBER)
    assert len(book.periods["day"]) == PERIODS_KEPT
    assert max(book.periods["day"]) == "2027-02-08"
    assert sum(book.periods["year"].values()) == book.settled == 100_000
    late = book.plus([final("late", (0.0, 1.0))], 100 * DAY, math.inf, NOVEMBER)
    assert late.periods["day"] == book.periods["day"]  # that day is no longer kept


def test_what_runs_is_the_same_however_often_it_is_written() -> None:
    book = AccountBook().with_running({"bob": 5, "ada": 7}, 10.0)
    assert (book.running, book.as_of, list(book.users)) == (12, 10.0, ["ada", "bob"])
    assert book.with_running({"ada": 7, "bob": 5}, 20.0) is book
    assert book.with_running({"ada": 8}, 30.0).users == {"ada": UserBook(running=8), "bob": UserBook()}


def test_a_book_survives_being_written_down() -> None:
    book = AccountBook().plus([final("u", (0.0, 100.5))], 100.5, 1e5, NOVEMBER).with_running({"bob": 5}, 101.0)
    assert msgspec.json.decode(msgspec.json.encode(book), type=AccountBook) == book


def test_forgetting_nobody_changes_nothing() -> None:
    book = AccountBook(settling=("a", "b"))
    assert book.without(()) is book
    assert book.without({"a", "z"}).settling == ("b",)


SPANS = st.tuples(st.floats(0, 1e7), st.floats(0, 1e6), st.floats(0, 100))


@given(kind=st.sampled_from(CALENDAR), span=SPANS, epoch=st.floats(0, 2e9))
def test_periods_have_the_whole_of_a_charge(kind: PeriodKind, span: tuple[float, float, float], epoch: float) -> None:
    start, length, rate = span
    interval = RunInterval(start, start + length, rate)
    parts = list(period_charges(kind, interval, epoch))
    assert sum(charge for _, charge in parts) == round((interval.end - start) * rate * 1000)
    assert all(charge >= 0 for _, charge in parts)


@given(spans=st.lists(SPANS, max_size=8), later=st.floats(0, 1e6))
def test_usage_is_the_same_in_whatever_order_jobs_are_settled(
    spans: list[tuple[float, float, float]], later: float
) -> None:
    records = [
        final(f"u{number}", (start, start + length), rate=rate) for number, (start, length, rate) in enumerate(spans)
    ]
    now = max((record.ended for record in records), default=0.0)
    book = AccountBook()
    for record in records:  # not in the order of time
        now += later / 8
        book = book.plus([record], now, 1e6, 0.0)
    expected = math.fsum(interval_usage(record.intervals[0].usage(), now, 1e6) for record in records)
    usage = book.users.get("ada", UserBook()).usage
    assert usage.at(now, 1e6) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert book.settled == sum(record.charge for record in records)

"""What is left of budgets, who is told, and which jobs have to wait."""

import math
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts import (
    AccountBook,
    AccountBudget,
    AccountTree,
    BudgetGate,
    OpenJobs,
    Payer,
    RecordBook,
    budget_event,
    budget_states,
    note_told,
    open_interval,
    stopped_accounts,
)
from fairway.batch.accounts.periods import PeriodKind
from fairway.batch.reasons import JobState, Reason
from fairway.model.batch import AccountSpec, BudgetSpec
from tests.batch.accounts.memory_books import billed, ran

NOVEMBER = 1_793_491_200.0  # 2026-11-01
OnExhausted = Literal["hold", "stop", "warn"]


def accounts(on_exhausted: OnExhausted = "hold", amount: float = 1000.0, period: PeriodKind = "month") -> AccountTree:
    budget = BudgetSpec(amount=amount, period=period, on_exhausted=on_exhausted)
    return AccountTree(
        {"physics": AccountSpec(budget=budget), "lab": AccountSpec(parent="physics"), "bio": AccountSpec()}
    )


def state_with(tree: AccountTree, used: float, now: float = 100.0) -> dict[str, AccountBudget]:
    jobs = OpenJobs()
    jobs.put("u", Payer("lab", "ada"), ran((0.0, 10.0), rate=used / 10))
    return budget_states(tree, {}, jobs, now, NOVEMBER)


def test_what_is_settled_and_what_runs_counts_in_its_period_here_and_below() -> None:
    record = RecordBook(billed("over", account="lab")).ended_at(50.0, ran((-50.0, 50.0)))
    books = {"lab": AccountBook().plus([record], 50.0, math.inf, NOVEMBER).without({"over"}), "bio": AccountBook()}
    jobs = OpenJobs()
    jobs.put("runs", Payer("physics", "ada"), open_interval((), -100.0, 2.0))
    (state,) = budget_states(accounts(), books, jobs, 100.0, NOVEMBER).values()
    # 50 s of each second of the settled job, and 100 s of the running one, are in November.
    assert (state.account, state.used, state.left) == ("physics", 50_000 + 200_000, 750_000)
    assert state.period.name == "2026-11"
    ever = budget_states(accounts(period="ever"), books, jobs, 100.0, NOVEMBER)["physics"]
    assert ever.used == 100_000 + 400_000


def test_a_job_on_its_way_into_the_books_counts_once() -> None:
    record = RecordBook(billed("u")).ended_at(50.0, ran((0.0, 50.0)))
    books = {"physics": AccountBook().plus([record], 50.0, math.inf, NOVEMBER)}
    jobs = OpenJobs()
    jobs.put("u", Payer("physics", "ada"), record.intervals)
    assert budget_states(accounts(), books, jobs, 60.0, NOVEMBER)["physics"].used == 50_000


@pytest.mark.parametrize(
    ("used", "rate", "limit", "on_exhausted", "words"),
    [
        pytest.param(0.0, 1.0, 1000.0, "hold", "", id="all of it"),
        pytest.param(
            700.0,
            1.0,
            301.0,
            "hold",
            "account physics has 300 left of its budget for 2026-11 (700 of 1 000), this job may need 301; "
            "the next period begins 2026-12-01",
            id="more than is left",
        ),
        pytest.param(700.0, 1.0, 300.0, "stop", "", id="just what is left"),
        pytest.param(
            0.0,
            2.0,
            math.inf,
            "stop",
            "account physics has 1 000 left of its budget for 2026-11 (0 of 1 000), this job may need 7 200, "
            "more than all of it",
            id="unlimited: an hour",
        ),
        pytest.param(
            1200.0,
            0.0,
            60.0,
            "hold",
            "account physics has 0 left of its budget for 2026-11 (1 200 of 1 000), this job may need 0; "
            "the next period begins 2026-12-01",
            id="exhausted: even what costs nothing waits",
        ),
        pytest.param(1200.0, 9.0, math.inf, "warn", "", id="only warned"),
    ],
)
def test_may_it_start(used: float, rate: float, limit: float, on_exhausted: OnExhausted, words: str) -> None:
    tree = accounts(on_exhausted)
    gate = BudgetGate(tree, state_with(tree, used))
    for account in ("physics", "lab"):
        standing = gate.stop(account, rate, limit)
        assert ("" if standing is None else standing.words) == words
    assert gate.stop("bio", rate, limit) is None
    assert gate.stop("", rate, limit) is None


def test_the_reason_has_its_numbers() -> None:
    tree = accounts()
    standing = BudgetGate(tree, state_with(tree, 700.0)).stop("lab", 1.0, 400.0)
    assert standing is not None
    assert (standing.state, standing.reason) == (JobState.QUEUED, Reason.ACCOUNT_STOPPED)
    assert standing.detail == {
        "account": "physics",
        "budget": 1000.0,
        "used": 700.0,
        "left": 300.0,
        "needs": 400.0,
        "period": "2026-11",
    }


def test_jobs_of_one_pass_do_not_share_what_is_left() -> None:
    tree = accounts()
    gate = BudgetGate(tree, state_with(tree, 0.0))
    assert gate.stop("lab", 1.0, 600.0) is None
    gate.take("lab", 1.0, 600.0)
    assert gate.stop("physics", 1.0, 600.0) is not None
    assert gate.stop("physics", 1.0, 400.0) is None


def test_each_threshold_is_told_once_a_period() -> None:
    tree, book, told = accounts(), AccountBook(), []
    for used in (100.0, 799.0, 800.0, 900.0, 1000.0, 1500.0):
        state = state_with(tree, used)["physics"]
        if (event := budget_event(state, book)) is not None:
            told.append((event.percent, event.words))
        book = note_told(book, state)
        assert note_told(book, state) is book
    assert told == [
        (80, "account physics has used 80 % of its budget for 2026-11 (800 of 1 000)"),
        (100, "account physics has used 100 % of its budget for 2026-11 (1 000 of 1 000)"),
    ]
    december = state_with(tree, 900.0, now=40 * 86400.0)["physics"]
    assert (december.used, budget_event(december, book)) == (0, None)
    raised = state_with(accounts(amount=1e6), 1500.0)["physics"]
    assert note_told(book, raised).told == {}


def test_stop_ends_what_runs_here_and_below() -> None:
    tree = accounts("stop")
    assert stopped_accounts(tree, state_with(tree, 999.0)) == {}
    states = state_with(tree, 1000.0)
    assert stopped_accounts(tree, states) == {"lab": states["physics"], "physics": states["physics"]}
    assert stopped_accounts(accounts("hold"), state_with(accounts("hold"), 2000.0)) == {}


@given(
    spans=st.lists(st.tuples(st.floats(-5e6, 5e6), st.floats(0, 5e6), st.floats(0, 10), st.booleans()), max_size=6),
    now=st.floats(0, 5e6),
    period=st.sampled_from(["day", "week", "month", "quarter", "year", "ever"]),
)
def test_used_is_what_lies_in_the_period_settled_or_not(
    spans: list[tuple[float, float, float, bool]], now: float, period: PeriodKind
) -> None:
    jobs, book, expected = OpenJobs(), AccountBook(), 0.0
    tree = accounts(period=period)
    since = budget_states(tree, {}, jobs, now, NOVEMBER)["physics"].period.start - NOVEMBER
    for number, (start, length, rate, is_over) in enumerate(spans):
        intervals = ran((start, start + length), rate=rate)
        if is_over and start + length <= now:
            book = book.plus([RecordBook(billed(f"u{number}")).ended_at(now, intervals)], now, 1e6, NOVEMBER)
        else:
            jobs.put(f"u{number}", Payer("physics", "ada"), intervals)
        expected += max(min(start + length, now) - max(start, since), 0.0) * rate
    used = budget_states(tree, {"physics": book}, jobs, now, NOVEMBER)["physics"].used
    assert used / 1000 == pytest.approx(expected, rel=1e-9, abs=0.002 * len(spans))

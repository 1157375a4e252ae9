"""Accounts: who pays for a job, how much, from what, and books that balance.

`account_tree` knows all accounts, `job_accounts` which of them a job is charged to, `charges` what it costs,
`open_jobs` what is not settled yet, `fair_shares` who used how much beside what they are entitled to, `budgets` what
may still be used, `account_book` and `books` how charges are written down exactly once, `book_checks` whether they
balance. Nothing here reads a clock, a file or the API server.
"""

from fairway.batch.accounts.account_book import AccountBook, RecordBook, UserBook, record_book
from fairway.batch.accounts.account_tree import ROOT, AccountTree
from fairway.batch.accounts.book_checks import BooksDiffer, book_differences
from fairway.batch.accounts.books import Books, BookStore, Settlement, StaleVersionError, StoreAwayError, behind
from fairway.batch.accounts.budgets import (
    AccountBudget,
    BudgetEvent,
    BudgetGate,
    budget_event,
    budget_states,
    note_told,
    stopped_accounts,
)
from fairway.batch.accounts.charges import (
    MILLI,
    ChargeLine,
    LineKind,
    RefundCause,
    change_rate,
    charge_lines,
    close_interval,
    job_rate,
    open_interval,
    refund_last_run,
    total_charge,
    unwatched_end,
)
from fairway.batch.accounts.fair_shares import FairShares
from fairway.batch.accounts.job_accounts import JobAccounts
from fairway.batch.accounts.open_jobs import OpenJobs, Payer

__all__ = [
    "MILLI",
    "ROOT",
    "AccountBook",
    "AccountBudget",
    "AccountTree",
    "BookStore",
    "Books",
    "BooksDiffer",
    "BudgetEvent",
    "BudgetGate",
    "ChargeLine",
    "FairShares",
    "JobAccounts",
    "LineKind",
    "OpenJobs",
    "Payer",
    "RecordBook",
    "RefundCause",
    "Settlement",
    "StaleVersionError",
    "StoreAwayError",
    "UserBook",
    "behind",
    "book_differences",
    "budget_event",
    "budget_states",
    "change_rate",
    "charge_lines",
    "close_interval",
    "job_rate",
    "note_told",
    "open_interval",
    "record_book",
    "refund_last_run",
    "stopped_accounts",
    "total_charge",
    "unwatched_end",
]

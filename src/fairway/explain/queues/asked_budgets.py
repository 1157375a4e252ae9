"""Budgets at a moment: how much of each is used, and whether an account can pay for a job that somebody asks about.

In: queues at a moment, with their books; a job that nobody has submitted. Out: `AccountBudget`s; and of the job who
would pay, why it could not or why it would wait, in the desk's words, and for how long the account would pay for it.
By the code that the desk uses. Called by `usage_table` and `start_answer`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from fairway.batch.accounts import MILLI, AccountBudget, AccountTree, BudgetGate, job_rate
from fairway.batch.accounts.periods import period_at
from fairway.batch.reasons import JobStanding
from fairway.explain.queues.asked_jobs import AskedJob
from fairway.explain.queues.queue_moment import QueueMoment
from fairway.model.requests import pod_requests

__all__ = ["PaidJob", "accounts_below", "budgets_then", "payer_refusal", "who_pays"]


class PaidJob(NamedTuple):
    """What its account has for a job."""

    standing: JobStanding | None = None  # why it would wait for a budget; None: it would not
    seconds: float = math.inf  # for how long there is enough


def accounts_below(tree: AccountTree, account: str) -> Iterator[str]:
    """All accounts below that one."""
    for child in tree.children(account):
        yield child
        yield from accounts_below(tree, child)


def budgets_then(moment: QueueMoment, until: float, tree: AccountTree) -> dict[str, AccountBudget]:
    """The budget of each account that has one, in the period in which that time lies."""
    found = {}
    for name, spec in moment.settings.accounts.items():
        if (budget := spec.budget) is not None:
            used = moment.charged({name, *accounts_below(tree, name)}, budget.period, until)
            amount, period = max(round(budget.amount * MILLI), 1), period_at(budget.period, until + moment.epoch)
            found[name] = AccountBudget(name, amount, used, period, budget.on_exhausted)
    return found


def payer_refusal(moment: QueueMoment, asked: AskedJob) -> JobStanding | None:
    """Why nobody could pay for the job; None: somebody could, or nobody has to."""
    account = _account(moment, asked, AccountTree(moment.settings.accounts))
    return None if isinstance(account, str) else account


def who_pays(moment: QueueMoment, asked: AskedJob) -> PaidJob:
    """Whether its account lets the job start now."""
    tree = AccountTree(moment.settings.accounts)
    account = _account(moment, asked, tree)
    if not isinstance(account, str) or all(tree.specs[name].budget is None for name in tree.path(account)):
        return PaidJob()
    gate = BudgetGate(tree, budgets_then(moment, moment.at, tree))
    rate = job_rate(tree.spec(account), [pod_requests(pod) for pod in asked.job.members.values()])
    return PaidJob(gate.stop(account, rate, asked.limit), gate.seconds(account, rate))


def _account(moment: QueueMoment, asked: AskedJob, tree: AccountTree) -> str | JobStanding:
    pod = next(iter(asked.job.members.values()))
    rules = moment.settings.queues[asked.queue].accounts
    return tree.charged(asked.job.wishes.account, pod.metadata.namespace, asked.queue, rules)

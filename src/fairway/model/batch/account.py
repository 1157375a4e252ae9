"""An account: who pays, what share of the machines it is entitled to, and how much it may use.

An `AccountSpec` is what an Account's `spec` says. Accounts form trees by `parent`; users stand below their account.
Weights say what a core, a GiB or a unit of anything else costs a second.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from fairway.model.field_problem import Problem
from fairway.model.meta import Value

__all__ = ["AccountSpec", "BudgetSpec", "Shares", "UserShares", "account_problems"]

Shares = Annotated[int, msgspec.Meta(ge=0, le=2**31)] | Literal["parent"]
"""What one is entitled to beside one's siblings; `parent`: that is the parent's affair."""


class UserShares(Value, frozen=True, kw_only=True):
    """A user of an account."""

    shares: Shares = 1


class BudgetSpec(Value, frozen=True, kw_only=True):
    """How much may be used in a period."""

    amount: Annotated[float, msgspec.Meta(gt=0)]
    period: Literal["day", "week", "month", "quarter", "year", "ever"] = "month"
    on_exhausted: Literal["hold", "stop", "warn"] = "hold"


class AccountSpec(Value, frozen=True, kw_only=True):
    """An account, as it is written down."""

    parent: str = ""
    shares: Shares = 1
    users: dict[str, UserShares] = {}
    namespaces: tuple[str, ...] = ()  # patterns; who is in none of them may not name this account; none: all may
    budget: BudgetSpec | None = None
    weights: dict[str, Annotated[float, msgspec.Meta(ge=0)]] = msgspec.field(default_factory=lambda: {"cpu": 1.0})
    billing: Literal["sum", "max"] = "sum"


def account_problems(name: str, spec: AccountSpec, path: str) -> Iterator[Problem]:
    """What can not be meant of this account alone; cycles are a matter of all of them."""
    if spec.parent == name:
        yield Problem(f"{path}.parent", "an account is not its own parent")

"""What people want to know of a job besides its record: who pays, how long it may run, what it asks for, its place.

In: what the desk knows of a job when it is written down, and what was said of it before. Out: `RecordTerms`, which
`record_codec` writes into the status; and the same again from a status (`read_terms`), for whoever comes after and for
those who ask. What a write does not know stays as it was: dates were told at some moment, with the priority of that
moment, and a job whose pods are gone asked for what it asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from fairway.batch.members_alike import MembersAlike
from fairway.model.batch.job_record import JobRecordStatus, RecordedMembers
from fairway.model.quantity import parse_quantity
from fairway.model.seconds import parse_seconds

__all__ = ["RecordTerms", "read_terms", "written_members"]

MOST_KINDS: Final = 256  # of members that are told apart: as many as the server takes


class RecordTerms(NamedTuple):
    """What is said of a job besides its record."""

    account: str = ""
    limit: float = math.inf
    priority: int = 0  # of a job that was told a date: as it was then
    factors: Mapping[str, float] = {}  # likewise
    nodes: tuple[str, ...] = ()  # where it will be placed if nothing changes
    is_rough: bool = False  # plugins that the plan does not see had refused it when it was told a date
    members: tuple[MembersAlike, ...] = ()  # (): nobody knows
    since: float | None = None  # since when it is in its state, for its reason; None: nobody knows
    whole: tuple[MembersAlike, ...] = ()  # of a job that has begun: the most that it had; some may be done by now

    def after(self, former: RecordTerms, *, is_moved: bool, is_dated: bool, has_begun: bool = False) -> RecordTerms:
        """With what was said before and still holds.

        `is_moved`: it is in another state now, or for another reason. `is_dated`: these are its dates; otherwise the
        former ones are still what it was told.
        """
        terms = self if self.members else self._replace(members=former.whole or former.members)
        if has_begun:
            terms = terms._replace(whole=max((former.whole, former.members, terms.members), key=_number))
        if not is_moved and former.since is not None:
            terms = terms._replace(since=former.since)
        if not is_dated:
            told = {name: getattr(former, name) for name in ("priority", "factors", "nodes", "is_rough")}
            terms = terms._replace(**told)
        return terms


def _number(members: Sequence[MembersAlike]) -> int:
    return sum(each.count for each in members)


def written_members(members: Sequence[MembersAlike]) -> tuple[RecordedMembers, ...]:
    """Members as a record has them: amounts as Kubernetes writes them."""
    return tuple(
        RecordedMembers(count=each.count, requests={name: _amount(name, each.amounts[name]) for name in each.amounts})
        for each in members[:MOST_KINDS]
    )


def _amount(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" and amount % 1000 else str(amount // 1000 if resource == "cpu" else amount)


def read_terms(status: Mapping[str, Any]) -> RecordTerms:
    """What a record's status says; `ValueError` for what nobody of ours wrote."""
    try:
        said = msgspec.convert(status, JobRecordStatus)
        plan = said.plan
        ledger = status.get("ledger") or {}
        since, whole = ledger.get("since"), msgspec.convert(ledger.get("whole", ()), tuple[RecordedMembers, ...])
        return RecordTerms(
            said.account,
            parse_seconds(said.limit) if said.limit else math.inf,
            said.priority,
            {name: float(value) for name, value in said.factors.items()},
            () if plan is None else plan.nodes,
            plan is not None and plan.is_rough,
            _read_members(said.members),
            None if since is None else float(since),
            _read_members(whole),
        )
    except (msgspec.ValidationError, TypeError, AttributeError) as error:
        raise ValueError(f"status: {error}") from error


def _read_members(written: Sequence[RecordedMembers]) -> tuple[MembersAlike, ...]:
    return tuple(MembersAlike(each.count, _amounts(each.requests)) for each in written)


def _amounts(requests: Mapping[str, str]) -> dict[str, int]:
    quantities = {name: parse_quantity(text) for name, text in requests.items()}
    return {name: each.milli if name == "cpu" else each.value for name, each in quantities.items()}

"""All accounts as one tree: which of them can be used, and which one a job is charged to.

In: the specs of all accounts by name, a job's wish and namespace, what its queue says of accounts. Out: an account's
name, or a `Standing` that refuses the job with words. Accounts in a cycle, below one, or below a parent that is not
there can not be used; all others are unaffected. "" is the root: who has no account stands there, beside the topmost
accounts, so that users share fairly where nobody wrote any account down. Called by the desk when a job comes or
changes; a tree is made anew whenever an account changes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from fairway.batch.reasons import JobStanding, JobState, Refused
from fairway.model.batch import AccountSpec
from fairway.model.batch.queue import QueueAccounts

__all__ = ["ROOT", "AccountTree"]

ROOT: Final = ""
"""The account of jobs that have none."""

DEEPEST: Final = 32
"""So many levels of accounts there may be; nobody means more, and trees are walked by recursion."""

LONGEST_NAME: Final = 253
MOST_NAMED: Final = 10
WILD: Final = re.compile(r"[*?\[]")
PLAIN: Final = AccountSpec()


class AccountTree:
    """The accounts, each with its parent and its children."""

    def __init__(self, specs: Mapping[str, AccountSpec]) -> None:
        self.specs = dict(sorted(specs.items()))
        self.problems = _problems(self.specs)
        """Why accounts can not be used, by name."""
        self._children: dict[str, list[str]] = {ROOT: []}
        for name in self.usable:
            self._children.setdefault(self.specs[name].parent, []).append(name)
        self.has_budgets = any(spec.budget is not None for spec in self.specs.values())
        self._by_namespace: dict[str, str] = {}
        self._patterns = sorted(
            (_vagueness(pattern), name, pattern) for name, spec in self.specs.items() for pattern in spec.namespaces
        )

    @property
    def usable(self) -> list[str]:
        """The names of accounts that jobs can be charged to."""
        return [name for name in self.specs if name not in self.problems]

    def __contains__(self, name: str) -> bool:
        return name == ROOT or (name in self.specs and name not in self.problems)

    def spec(self, name: str) -> AccountSpec:
        """What the account says; of the root and of one that is gone: what an account says that says nothing."""
        return self.specs.get(name, PLAIN)

    def children(self, name: str) -> list[str]:
        """The accounts right below, by name."""
        return self._children.get(name, [])

    def path(self, name: str) -> list[str]:
        """The account, its parent, and so on to the topmost; empty for the root and for what can not be used."""
        path: list[str] = []
        while name != ROOT and name in self:
            path.append(name)
            name = self.specs[name].parent
        return path

    def sums(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """Each account's amount with those of all accounts below it."""
        sums = dict.fromkeys(self.usable, 0)
        for name, amount in amounts.items():
            for above in self.path(name):
                sums[above] += amount
        return sums

    # -- who pays ----------------------------------------------------------------------------------------------------

    def charged(self, wish: str, namespace: str, queue: str, rules: QueueAccounts) -> str | JobStanding:
        """The account of a job of that namespace and queue; a standing, if it can not be so. `wish`: "" is none."""
        account = self._chosen(wish, namespace, rules)
        if account not in self:
            return self._unknown(account, queue, is_wish=account == wish)
        if wish and wish != account:
            if wish not in self:
                return self._unknown(wish, queue, is_wish=True)
            instead = f"account {account}" if account else "no account"
            words = f"jobs of queue {queue} and namespace {namespace} are charged to {instead}; {wish} can not be named"
            return _refused(Refused.ACCOUNT_NOT_ALLOWED, {"account": wish, "charged": account}, words)
        if wish and not self._lets(wish, namespace):
            patterns = list(self.specs[wish].namespaces)
            words = f"account {wish} is for namespaces {', '.join(patterns)}, not for {namespace}"
            return _refused(Refused.ACCOUNT_NOT_ALLOWED, {"account": wish, "namespaces": patterns}, words)
        return account

    def _chosen(self, wish: str, namespace: str, rules: QueueAccounts) -> str:
        for source in rules.from_:
            account = wish if source == "annotation" else self._of_namespace(namespace)
            if account:
                return account
        return rules.default

    def _of_namespace(self, namespace: str) -> str:
        """The account that names this namespace most exactly; of equals the first by name. "": none does."""
        if namespace not in self._by_namespace:
            found = (name for _, name, pattern in self._patterns if fnmatchcase(namespace, pattern))
            self._by_namespace[namespace] = next(found, ROOT)
        return self._by_namespace[namespace]

    def _lets(self, name: str, namespace: str) -> bool:
        patterns = self.specs[name].namespaces
        return not patterns or any(fnmatchcase(namespace, pattern) for pattern in patterns)

    def _unknown(self, name: str, queue: str, is_wish: bool) -> JobStanding:
        if name in self.problems:
            return _refused(Refused.ACCOUNT_UNKNOWN, {"account": name}, self.problems[name])
        nearest = _nearest(name, self.usable)
        where = "" if is_wish else f", which queue {queue} names in accounts.default"
        words = f"there is no account {name[:LONGEST_NAME]}{where}; {_hint(nearest, self.usable)}"
        return _refused(Refused.ACCOUNT_UNKNOWN, {"account": name[:LONGEST_NAME], "nearest": nearest}, words)


def _refused(reason: Refused, detail: Mapping[str, object], words: str) -> JobStanding:
    return JobStanding(JobState.REFUSED, reason, detail, words)


def _vagueness(pattern: str) -> tuple[bool, int, str]:
    """Sorts patterns from the most exact: names without wildcards first, then those with the most to match."""
    letters = WILD.sub("", pattern)
    return (letters != pattern, -len(letters), pattern)


def _nearest(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant; "": none is near."""
    folded = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name[:LONGEST_NAME].lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def _hint(nearest: str, known: list[str]) -> str:
    if nearest:
        return f"did you mean {nearest}?"
    if not known:
        return "there are no accounts"
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return f"there are {', '.join(known[:MOST_NAMED])}{more}"


# -- what can not be used --------------------------------------------------------------------------------------------


def _problems(specs: Mapping[str, AccountSpec]) -> dict[str, str]:
    """Why accounts can not be used: each is walked up once, and inherits what is wrong above it."""
    wrong: dict[str, str] = {}  # by account: what is wrong above it, or ""
    depths: dict[str, int] = {ROOT: 0}
    for name in specs:
        way: list[str] = []
        at = name
        while at not in depths and at in specs and at not in way:
            way.append(at)
            at = specs[at].parent
        if at in way:
            cycle = _written_out(way[way.index(at) :])
            for member in way[way.index(at) :]:
                wrong[member] = f"accounts form a cycle: {cycle}"
                depths[member] = 0
        elif at not in depths:
            hint = _hint(_nearest(at, specs), [])
            wrong[at] = f"parent {at} of account {way[-1]} does not exist{'; ' + hint if '?' in hint else ''}"
            depths[at] = 0
        for member in reversed(way):
            if member not in wrong:
                parent = specs[member].parent
                depths[member] = depths[parent] + 1
                wrong[member] = wrong.get(parent, "")
                if not wrong[member] and depths[member] > DEEPEST:
                    wrong[member] = f"account {member} is more than {DEEPEST} levels deep"
    return {name: wrong[name] for name in specs if wrong[name]}


def _written_out(cycle: list[str]) -> str:
    """The cycle from its first name on, back to that."""
    first = cycle.index(min(cycle))
    return " → ".join([*cycle[first:], *cycle[:first], cycle[first]])

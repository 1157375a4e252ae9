"""A failing case made small: pods, objects and fields are left out as long as it still fails in the same way.

In: a labelled case and what it shows. Out: a smaller case, labelled. Every attempt is decided anew by the reference
and has to be one that an API server would take. Greedy: large pieces first, then single ones, then fields, until
nothing helps or the budget of attempts is used up.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.fuzz.compare import Finding, compare
from tests.fuzz.draw import Json
from tests.fuzz.oracle import Oracle

__all__ = ["shrink"]

KEPT = frozenset({"apiVersion", "kind", "name", "namespace", "uid", "metadata", "containers", "image"})
"""Fields that make an object what it is."""


def shrink(line: bytes, finding: Finding, oracle: Oracle, attempts: int = 600) -> tuple[bytes, Finding]:
    """The smallest case found that differs in one of the same fields, and what it shows; it may be the given one."""
    search = _Search(line, finding, oracle, attempts)
    changed = True
    while changed and search.attempts > 0:
        changed = search.drop_items("pods") | search.drop_items("objects")
        changed |= search.drop_fields()
    return search.line, search.finding


class _Search:
    def __init__(self, line: bytes, finding: Finding, oracle: Oracle, attempts: int) -> None:
        self.case: Json = {key: value for key, value in msgspec.json.decode(line).items() if key != "expect"}
        self.finding = finding
        self.attempts = attempts
        self.line = line
        self._oracle = oracle
        self._wanted = finding.fields

    def _try(self, case: Json) -> bool:
        """Take the case if it still shows one of the same differences."""
        if self.attempts <= 0:
            return False
        self.attempts -= 1
        answer = self._oracle.ask(case)
        if answer.refused:
            return False
        finding = compare(answer.line)
        if finding is None or not finding.fields & self._wanted:
            return False
        self.case, self.finding, self.line = case, finding, answer.line
        return True

    def drop_items(self, field: str) -> bool:
        """Leave out as many items of a list as can be, halves first."""
        changed = False
        size = max(len(self.case[field]) // 2, 1)
        while size >= 1:
            start = 0
            while start < len(self.case[field]):
                items = self.case[field]
                if self._try({**self.case, field: [*items[:start], *items[start + size :]]}):
                    changed = True
                else:
                    start += size
            if size == 1:
                break
            size //= 2
        return changed

    def drop_fields(self) -> bool:
        """Leave out fields and list entries within objects, pods and the configuration."""
        changed = False
        if self.case["config"] is not None:
            changed |= self._try({**self.case, "config": None})
        tried: set[tuple[Any, ...]] = set()
        while (path := next((path for path in _paths(self.case) if path not in tried), None)) is not None:
            if self.attempts <= 0:
                break
            smaller = copy.deepcopy(self.case)
            _remove(smaller, path)
            if self._try(smaller):
                changed = True
            else:
                tried.add(path)
        return changed


def _paths(case: Json) -> Iterator[tuple[Any, ...]]:
    """What could go, outermost first: a large piece that can go spares its parts."""
    level: list[tuple[tuple[Any, ...], Any]] = [((part,), case[part]) for part in ("config", "pods", "objects")]
    depth = 0
    while level:
        below: list[tuple[tuple[Any, ...], Any]] = []
        for path, value in level:
            pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, item in pairs:
                if depth > 0 and key not in KEPT:
                    yield (*path, key)
                below.append(((*path, key), item))
        level = below
        depth += 1


def _remove(case: Json, path: tuple[Any, ...]) -> None:
    at: Any = case
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]

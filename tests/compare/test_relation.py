"""Runs that have nothing to do with each other are warned of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairway.compare.relation import RunOrigin, unrelated

DAY = RunOrigin("a.duckdb", "day", {"cluster": "1", "workload": "2", "faults": "", "random faults": ""}, frozenset())
LIVE = RunOrigin("a.duckdb", "", None, frozenset({"a/x", "a/y", "a/z"}))
CASES = {
    "the same scenario": (DAY, replace(DAY, path="b.duckdb"), ""),
    "another workload": (
        DAY,
        replace(DAY, path="b.duckdb", scenario="night", parts={**(DAY.parts or {}), "workload": "3"}),
        "a.duckdb and b.duckdb are runs of different scenarios (day, night), which differ in workload",
    ),
    "all of it": (
        DAY,
        replace(DAY, parts=dict.fromkeys(DAY.parts or (), "0")),
        "which differ in cluster, workload, faults, random faults",
    ),
    "recorded and simulated": (DAY, LIVE, "one was simulated, one was recorded"),
    "the same pods": (LIVE, replace(LIVE, pods=frozenset({"a/x", "a/y"})), ""),
    "other pods": (LIVE, replace(LIVE, path="b.duckdb", pods=frozenset({"b/x", "b/y"})), "0 of 2 pods in common"),
    "nobody is named": (replace(LIVE, pods=frozenset()), LIVE, ""),
}


@pytest.mark.parametrize(("first", "other", "words"), CASES.values(), ids=CASES)
def test_what_is_warned_of(first: RunOrigin, other: RunOrigin, words: str) -> None:
    found = unrelated([first, other])
    assert bool(found) == bool(words)
    assert words in "".join(found)

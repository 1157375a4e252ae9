"""Paths, places in texts, merged trees and the memory of Spark, against plain re-statements of their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairway.kinds.jvm_memory import LEAST_OVERHEAD, jvm_memory
from fairway.kinds.tree_text import MISSING, fill_text, fill_tree, find_value, merge_trees, path_problem

KEYS = st.sampled_from(["a", "b", "name", "x.y/z"])
LEAVES = st.one_of(st.none(), st.integers(0, 9), st.sampled_from(["", "Text", "$(a)"]))
TREES = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=8
)
PLAIN = st.recursive(
    st.one_of(st.integers(0, 9), st.sampled_from(["u", "v"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
STEPS = st.lists(st.one_of(KEYS, st.integers(0, 2)), min_size=1, max_size=4)


def path_of(steps: list[str | int]) -> str:
    """As a person writes it: dots between plain keys, brackets around others."""
    text = ""
    for step in steps:
        if isinstance(step, str) and "." in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else str(step)
    return text


def walk(tree: Any, steps: list[str | int]) -> Any:
    """What is there, one step after the other."""
    for step in steps:
        if isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        elif isinstance(tree, dict) and str(step) in tree:
            tree = tree[str(step)]
        else:
            return MISSING
    return MISSING if tree is None else tree


@given(TREES, STEPS)
def test_a_path_leads_where_its_steps_lead(tree: Any, steps: list[str | int]) -> None:
    path = path_of(steps)
    assert (path_problem(path) == "") == (not path.startswith("["))
    if not path.startswith("["):
        assert find_value({"object": tree}, path) == walk(tree, steps)
        assert find_value({"item": tree, "object": {"item": 7}}, f"item.{path}") == walk(tree, steps)


@given(TREES, STEPS, st.sampled_from([None, "", "3", "other"]))
def test_a_place_holds_what_is_there_or_its_default(tree: Any, steps: list[str | int], default: str | None) -> None:
    if isinstance(steps[0], str) and "." in steps[0]:
        return
    place = f"$({path_of(steps)}{'' if default is None else f'|{default}'})"
    value = walk(tree, steps)
    instead = MISSING if default is None else int(default) if default.isdecimal() else default
    expected = instead if value is MISSING else value
    scope = {"object": tree}
    assert fill_tree(place, scope) == expected
    assert fill_text(f"<{place}>", scope) == f"<{'' if expected is MISSING else expected}>"
    assert fill_tree([place, "kept"], scope) == ([] if expected is MISSING else [expected]) + ["kept"]
    assert fill_tree({"at": place, "b": 1}, scope) == ({} if expected is MISSING else {"at": expected}) | {"b": 1}


@given(TREES, STEPS, STEPS)
def test_of_several_places_the_first_that_holds_something_counts(
    tree: Any, first: list[str | int], second: list[str | int]
) -> None:
    paths = [path_of(steps) for steps in (first, second)]
    if any(path.startswith("[") for path in paths):
        return
    values = [walk(tree, steps) for steps in (first, second)]
    expected = next((value for value in values if value is not MISSING), MISSING)
    assert fill_tree(f"$({paths[0]},{paths[1]})", {"object": tree}) == expected
    lowered = MISSING if expected is MISSING else str(expected).lower()
    assert fill_tree(f"$({paths[0]},{paths[1]}:lower)", {"object": tree}) == lowered


@given(PLAIN)
def test_a_tree_without_places_stays_as_it_is(tree: Any) -> None:
    assert fill_tree(tree, {"object": {}}) == tree


# -- merging -----------------------------------------------------------------------------------------------------------


def leaves(tree: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """What is at the ends of maps; lists are ends."""
    if isinstance(tree, Mapping) and tree:
        return {key: leaf for name, value in tree.items() for key, leaf in leaves(value, (*path, name)).items()}
    return {path: tree}


MAPS = st.recursive(
    st.integers(0, 9),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=8,
)


@given(MAPS, MAPS)
def test_maps_are_merged_leaf_by_leaf(base: Any, over: Any) -> None:
    """A leaf of the second wins over whatever the first has there, above it or below it."""
    merged = leaves(merge_trees(base, over))
    winners = leaves(over)
    expected = dict(winners)
    for path, value in leaves(base).items():
        is_covered = any(path[: len(other)] == other or other[: len(path)] == path for other in winners)
        if not is_covered:
            expected[path] = value
    assert merged == expected


NAMED = st.lists(
    st.builds(lambda name, key, value: {"name": name, key: value}, st.sampled_from("pqr"), st.sampled_from("uv"),
              st.integers(0, 9)), max_size=4, unique_by=lambda one: one["name"])  # fmt: skip


@given(NAMED, NAMED)
def test_lists_of_named_things_are_merged_by_name(base: list[dict[str, Any]], over: list[dict[str, Any]]) -> None:
    expected = {one["name"]: dict(one) for one in base}
    for one in over:
        expected.setdefault(one["name"], {}).update(one)
    assert merge_trees(base, over) == list(expected.values())
    assert merge_trees(base, []) == base
    assert merge_trees({"l": base}, {"l": None}) == {"l": base}


@given(PLAIN)
def test_merging_with_nothing_or_oneself_changes_nothing(tree: Any) -> None:
    assert merge_trees(tree, None) == tree
    if isinstance(tree, dict):
        assert merge_trees({}, tree) == tree
        assert merge_trees(tree, {}) == tree


# -- memory of Spark ---------------------------------------------------------------------------------------------------


@given(
    number=st.integers(0, 10**6),
    unit=st.sampled_from(["k", "m", "g", "t", "K", "M", "G"]),
    ending=st.sampled_from(["", "b", "i", "ib"]),
    language=st.sampled_from([None, "Python", "R", "Scala"]),
)
def test_a_jvm_asks_for_its_heap_and_what_comes_on_top(
    number: int, unit: str, ending: str, language: str | None
) -> None:
    mebibytes = {"k": number // 1024, "m": number, "g": number * 1024, "t": number * 1024 * 1024}[unit.lower()]
    tenths = 4 if language in ("Python", "R") else 1
    words = {"jvmMemory": f"{number}{unit}{ending}"} | ({} if language is None else {"language": language})
    total = int(jvm_memory(words).removesuffix("Mi"))
    assert total - mebibytes in (max(LEAST_OVERHEAD, mebibytes * tenths // 10 + off) for off in (-1, 0))
    assert jvm_memory(words | {"overhead": "1g"}) == f"{mebibytes + 1024}Mi"
    assert jvm_memory(words | {"factor": "0"}) == f"{mebibytes + LEAST_OVERHEAD}Mi"
    assert jvm_memory(words | {"factor": "much"}) == jvm_memory(words)

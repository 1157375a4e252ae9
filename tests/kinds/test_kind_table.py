"""The table of kinds: that the page about it is true, its little language, and that no object makes it fall over."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.kinds.expansion import expand
from fairway.kinds.jvm_memory import jvm_memory
from fairway.kinds.kind_table import open_table
from fairway.kinds.tree_text import MISSING, fill_text, fill_tree, find_value, merge_trees
from fairway.model import DecodeError, Skipped, Source
from tests.explain.workloads.custom_objects import CASES

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "kinds.md").read_text()
OWN = yaml.safe_load((ROOT / "src/fairway/kinds/kinds.yaml").read_text())["kinds"]


def test_the_page_names_every_kind_that_is_read() -> None:
    read = {entry["kind"] for entry in OWN if "pods" in entry or "readAs" in entry}
    assert [kind for kind in sorted(read) if kind not in PAGE] == []


def test_the_page_shows_the_example() -> None:
    assert (ROOT / "examples/kinds/kinds.yaml").read_text() in PAGE
    (text,) = re.findall(r"```yaml\n(apiVersion: apiextensions.*?)```", PAGE, re.DOTALL)
    tree = yaml.safe_load(text) | {"spec": {"group": "example.com", "names": {"kind": "Reactor"}}}
    crd = Skipped(tree["apiVersion"], tree["kind"], "reactors.example.com", Source(), tree)
    entry = open_table(skipped=[crd]).find("example.com/v1", "Reactor")
    assert entry is not None
    assert entry.pods[0].template == "spec.core.template"


# -- paths and texts ---------------------------------------------------------------------------------------------------

SCOPE = {
    "object": {"spec": {"a": 1, "list": [{"b": "x"}], "none": None}, "metadata": {"labels": {"a.b/c": "Y"}}},
    "name": "n",
    "item": {"a": 2},
}
PATHS = {
    "spec.a": 1,
    "spec.list.0.b": "x",
    "metadata.labels[a.b/c]": "Y",
    "item.a": 2,
    "name": "n",
    "spec.none": MISSING,
    "spec.a.b": MISSING,
    "spec.list.1": MISSING,
    "item": {"a": 2},
}


@pytest.mark.parametrize(("path", "value"), PATHS.items(), ids=PATHS)
def test_paths(path: str, value: Any) -> None:
    assert find_value(SCOPE, path) == value


TEXTS = {
    "$(name)-$(spec.a)": "n-1",
    "$(spec.x|none)": "none",
    "$(spec.x)": "",
    "$(spec.x,item.a)": "2",
    "$(metadata.labels[a.b/c]:lower)": "y",
    "no place": "no place",
}


@pytest.mark.parametrize(("text", "filled"), TEXTS.items(), ids=TEXTS)
def test_texts(text: str, filled: str) -> None:
    assert fill_text(text, SCOPE) == filled


def test_trees() -> None:
    tree = {"a": "$(item)", "b": "$(spec.x)", "c": ["$(spec.x)", "$(spec.a)"], "$(name)": "$(spec.x|3)", "$(spec.x)": 1}
    assert fill_tree(tree, SCOPE) == {"a": {"a": 2}, "c": [1], "n": 3}


def test_merging_is_by_key_and_by_name() -> None:
    base = {"a": 1, "l": [{"name": "x", "v": 1, "w": 1}, {"name": "y"}], "m": {"p": 1}}
    over = {"a": 2, "l": [{"name": "x", "v": 2}, {"name": "z"}], "m": {"q": 2}, "n": None}
    assert merge_trees(base, over) == {
        "a": 2,
        "l": [{"name": "x", "v": 2, "w": 1}, {"name": "y"}, {"name": "z"}],
        "m": {"p": 1, "q": 2},
        "n": None,
    }


MEMORY = [
    ({"jvmMemory": "1g"}, "1408Mi"),
    ({"jvmMemory": "10g"}, "11264Mi"),
    ({"jvmMemory": "10g", "language": "Python"}, "14336Mi"),
    ({"jvmMemory": "512m", "overhead": "100m"}, "612Mi"),
    ({"jvmMemory": "10g", "factor": "0.5"}, "15360Mi"),
    ({"jvmMemory": "lots"}, "lots"),
]


@pytest.mark.parametrize(("words", "quantity"), MEMORY)
def test_memory_of_spark(words: dict[str, Any], quantity: str) -> None:
    assert jvm_memory(words) == quantity


# -- whatever people write ---------------------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "$(name)", "1Gi"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "spec", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)
CUSTOM = [case.thing for case in CASES.values()]


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a tree."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if path or key not in ("apiVersion", "kind"):
            yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


PLACES = [(number, path) for number, one in enumerate(CUSTOM) for path in places(one)]


@settings(max_examples=400, deadline=None)
@given(place=st.sampled_from(PLACES), value=values)
def test_no_object_makes_it_fall_over(place: tuple[int, tuple[Any, ...]], value: Any) -> None:
    """Any value anywhere: pods, or a message that names the object, or a reason for not counting it."""
    number, (*path, last) = place
    tree = copy.deepcopy(CUSTOM[number])
    at: Any = tree
    for key in path:
        at = at[key]
    at[last] = value
    one = Skipped(tree["apiVersion"], tree["kind"], "x", Source("f.yaml"), tree)
    try:
        expansion = expand([one], open_table())
        for wanted in expansion.wanted:
            wanted.make(0)
        told = "f.yaml: "
    except DecodeError as error:
        told = str(error)
    assert told.startswith("f.yaml: ")

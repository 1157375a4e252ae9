"""Rows of nodes, amounts by resource, and gaps: small books, each against the naive way of keeping it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import Node
from fairway.model.node import NodeCondition
from fairway.record import RecordError
from fairway.record.gaps import Gaps
from fairway.record.schema import TABLES, amount_column, unit_of
from fairway.record.vocabulary import NodeChange, NodeEnd
from fairway.record.writing.buffer import Resources, TableBuffer
from fairway.record.writing.node_states import NodeStates
from fairway.testing import node

COLUMNS = [column.name for column in TABLES["nodes"].columns]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "change", "change", "remove"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 3),  # cpus
        st.booleans(),  # is it ready?
        st.booleans(),  # has it a GPU?
    ),
    max_size=20,
)


def built(name: str, cpu: int, is_ready: bool, has_gpu: bool) -> Node:
    condition = NodeCondition(type="Ready", status="True" if is_ready else "False")
    return node(name, cpu=cpu, resources={"nvidia.com/gpu": 2} if has_gpu else {}, conditions=(condition,))


@given(STEPS)
def test_every_state_of_a_node_is_one_row(steps: list[tuple[str, str, int, bool, bool]]) -> None:
    """A state ends where the next begins; a change that changes nothing is no state; a name may come again."""
    resources = Resources()
    states = NodeStates(resources)
    found: list[tuple[Any, ...]] = []
    expected: list[dict[str, Any]] = []  # closed states, in the order in which they end
    there: dict[str, dict[str, Any]] = {}
    num_nodes = 0
    for time, (verb, name, cpu, is_ready, has_gpu) in enumerate(steps):
        thing = built(name, cpu, is_ready, has_gpu)
        facts: dict[str, Any] = {"node": name, "cpu": cpu, "is_ready": is_ready, "has_gpu": has_gpu}
        if verb == "add" and name in there:
            with pytest.raises(RecordError, match=f"node {name} is there already"):
                states.add(time, thing)
        elif verb == "add":
            states.add(time, thing)
            there[name] = facts | {"number": num_nodes, "begin": time, "change": "Added"}
            num_nodes += 1
        elif name not in there:
            with pytest.raises(RecordError, match=f"node {name} is not there"):
                states.change(time, thing, NodeChange.CHANGED)
            with pytest.raises(RecordError, match=f"node {name} is not there"):
                states.remove(time, name, NodeEnd.DELETED)
        elif verb == "change":
            row = states.change(time, thing, NodeChange.CHANGED)
            before = there[name]
            assert (row is None) == (before | facts == before)
            if row is not None:
                found.append(row)
                expected.append(before | {"end": time, "gone": None})
                there[name] = before | facts | {"begin": time, "change": "Changed"}
        else:
            found.append(states.remove(time, name, NodeEnd.DELETED))
            expected.append(there.pop(name) | {"end": time, "gone": "Deleted"})
    for name, known in there.items():
        assert states.number_of(name) == known["number"]
    found += states.open_rows()
    expected += [known | {"end": None, "gone": None} for known in there.values()]
    assert len(found) == len(expected)
    for row, state in zip(found, expected, strict=True):
        cells = dict(zip(COLUMNS, row, strict=False))
        assert (cells["node_id"], cells["node"]) == (state["number"], state["node"])
        assert (cells["from_seconds"], cells["to_seconds"]) == (state["begin"], state["end"])
        assert (cells["change"], cells["gone"]) == (state["change"], state["gone"])
        assert (cells["is_ready"], cells["is_unschedulable"], cells["pods"]) == (state["is_ready"], False, 110)
        amounts = dict(zip(resources.columns, row[-1], strict=False))
        assert amounts["cpu"] == state["cpu"] * 1000
        assert amounts.get("nvidia.com/gpu", 0) == (2 if state["has_gpu"] else 0)


NAMES = st.sampled_from(
    ["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi", "example.com/a-b", "example.com/a_b", "9x"]
)


@given(st.lists(st.dictionaries(NAMES, st.integers(0, 5), max_size=4), max_size=8))
def test_amounts_are_read_back_by_the_order_of_resources(asked: list[dict[str, int]]) -> None:
    resources = Resources()
    vectors = [resources.vector(amounts) for amounts in asked]
    order = list(resources.columns)
    assert order == list(dict.fromkeys(name for amounts in asked for name in amounts))
    for amounts, vector in zip(asked, vectors, strict=True):
        assert {name: amount for name, amount in zip(order, vector, strict=False) if amount} == {
            name: amount for name, amount in amounts.items() if amount
        }
        assert not vector or vector[-1] != 0  # it ends where nothing more follows
    columns = list(resources.columns.values())
    assert len(set(columns)) == len(columns)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), max_size=8, unique=True))
def test_columns_of_amounts_are_plain_names_of_their_own(names: list[str]) -> None:
    taken: list[str] = []
    known = {column.name for table in TABLES.values() if table.amounts for column in table.columns}
    for name in names:
        column = amount_column(name, taken)
        assert column.isidentifier()
        assert column.isascii()
        assert column == column.lower()
        assert column not in known | set(taken)
        assert unit_of(name) in ("count", "bytes") or name == "cpu"
        taken.append(column)


# -- rows that wait ----------------------------------------------------------------------------------------------------

WAITING = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.integers(1, 5)),
        st.tuples(st.just("keep"), st.just(0)),
        st.tuples(st.just("drop"), st.integers(0, 6)),
        st.tuples(st.just("written"), st.integers(0, 6)),
    ),
    max_size=12,
)


@given(WAITING)
def test_a_buffer_drops_only_what_came_after_those_it_keeps(steps: list[tuple[str, int]]) -> None:
    buffer = TableBuffer(TABLES["events"])
    kept: list[float] = []
    fresh: list[float] = []
    time, num_written = 0.0, 0
    for what, number in steps:
        if what == "rows":
            for _ in range(number):
                buffer.rows.append((time, "Pod", "p", "Told", "words"))
                fresh.append(time)
                time += 1
        elif what == "keep":
            buffer.keep_new()
            kept, fresh = kept + fresh, []
        elif what == "drop":
            spared = fresh[: max(0, number - len(kept))]
            assert buffer.drop_new(number) == len(fresh) - len(spared)
            fresh = spared
        else:
            written = min(number, len(kept) + len(fresh))
            buffer.drop_written(written)
            num_written += written
            kept, fresh = kept[written:], fresh[max(0, written - len(kept)) :]
        assert [row[0] for row in buffer.rows] == kept + fresh
        assert [row[0] for row in buffer.kept_rows()] == kept
        assert buffer.num_written == num_written
        assert buffer.new_times() == ([fresh[0], fresh[-1]] if fresh else [])
        assert (buffer.weigh_new() > 0) == bool(fresh)


def test_a_row_weighs_what_is_in_it() -> None:
    light, heavy = TableBuffer(TABLES["events"]), TableBuffer(TABLES["events"])
    light.rows += [(0.0, "Pod", "p", "Told", "x")] * 1000
    heavy.rows += [(0.0, "Pod", "p", "Told", "x" * 10_000)] * 1000
    assert heavy.weigh_new() - light.weigh_new() == pytest.approx(1000 * 9_999, rel=0.01)


DROPS = st.lists(
    st.tuples(st.sampled_from(["pods", "events"]), st.integers(0, 9), st.integers(0, 9), st.integers(1, 5)), max_size=8
)


@given(DROPS, st.integers(0, 8))
def test_gaps_of_a_table_are_one_until_they_are_written(drops: list[tuple[str, int, int, int]], place: int) -> None:
    """Taken, and given back because the file refused them, in between: nothing is lost or counted twice."""
    gaps = Gaps()
    told: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, (table, begin, length, count) in enumerate(drops):
        gaps.add(begin, begin + length, table, count, "the disk is full")
        told[table].append((begin, begin + length, count))
        if number == place:
            gaps.give_back(gaps.take_rows())
    rows = {row[2]: row for row in gaps.take_rows()}
    assert rows.keys() == told.keys()
    for table, some in told.items():
        begin, end, _, count, why = rows[table]
        assert (begin, end) == (min(one[0] for one in some), max(one[1] for one in some))
        assert (count, why) == (sum(one[2] for one in some), "the disk is full")
    assert gaps.take_rows() == []

"""Loads over time against naive counts: spans one by one, instants one by one."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record.load import Curve, LoadHistory, Spans, load_history
from fairway.record.placement import fragmentation, imbalance, nodes_used
from tests.record.lifetimes import HISTORIES, History, tell

NUM_NODES = 3
RESOURCES = ("cpu", "memory")
END = 12.0

Line = tuple[int, float, float, tuple[int, int]]  # node, begin, end, amounts
TIMES = st.integers(0, 24).map(lambda number: number / 2)
LINES = st.lists(
    st.builds(
        lambda node, times, amounts: (node, min(times), max(times), amounts),
        st.integers(0, NUM_NODES - 1),
        st.tuples(TIMES, TIMES),
        st.tuples(st.integers(0, 5), st.integers(0, 5)),
    ),
    max_size=10,
)
MASKS = st.lists(st.booleans(), min_size=10, max_size=10)


def spans_of(lines: list[Line]) -> Spans:
    return Spans(
        np.array([line[0] for line in lines], np.int32),
        np.array([line[1] for line in lines], np.float64),
        np.array([line[2] for line in lines], np.float64),
        np.array([line[3] for line in lines], np.float64).reshape(len(lines), len(RESOURCES)),
    )


def history_of(held: list[Line], there: list[Line]) -> LoadHistory:
    return LoadHistory(RESOURCES, NUM_NODES, 0.0, END, spans_of(held), spans_of(there))


def total_at(lines: list[Line], at: float, column: int | None, node: int | None = None) -> float:
    """What lies over an instant, of one node or of all; without a column the number of lines."""
    return sum(
        1 if column is None else amounts[column]
        for where, begin, end, amounts in lines
        if begin <= at < end and node in (None, where)
    )


def value_at(curve: Curve, at: float) -> float:
    """What a curve says of an instant."""
    return float(curve.values[[number for number, time in enumerate(curve.times) if time <= at][-1]])


@given(lines=LINES, mask=MASKS)
def test_an_integral_is_amounts_times_seconds(lines: list[Line], mask: list[bool]) -> None:
    chosen = mask[: len(lines)]
    for column in range(len(RESOURCES)):
        whole = sum((end - begin) * amounts[column] for _, begin, end, amounts in lines)
        part = sum(
            (end - begin) * amounts[column]
            for (_, begin, end, amounts), is_chosen in zip(lines, chosen, strict=True)
            if is_chosen
        )
        assert spans_of(lines).integral()[column] == whole
        assert spans_of(lines).integral(np.array(chosen, np.bool_))[column] == part


@given(lines=LINES, instants=st.lists(TIMES, max_size=8), column=st.sampled_from([None, 0, 1]))
def test_sums_at_instants(lines: list[Line], instants: list[float], column: int | None) -> None:
    """Also at instants on a span's very beginning and end, and at the same one twice."""
    found = spans_of(lines).sums_at(np.array(sorted(instants)), NUM_NODES, column)
    assert found.tolist() == [
        [total_at(lines, at, column, node) for node in range(NUM_NODES)] for at in sorted(instants)
    ]


@given(lines=LINES, resource=st.sampled_from([None, *RESOURCES]), instants=st.lists(TIMES, min_size=1, max_size=8))
def test_a_curve_is_the_sum_over_all_nodes(lines: list[Line], resource: str | None, instants: list[float]) -> None:
    history = history_of(lines, [])
    curve = history.curve(history.held, resource)
    column = None if resource is None else RESOURCES.index(resource)
    assert all(first < second for first, second in pairwise(curve.times.tolist()))
    for at in instants:
        assert value_at(curve, at) == total_at(lines, at, column)


@given(held=LINES, there=LINES)
def test_between_changes_nothing_changes(held: list[Line], there: list[Line]) -> None:
    history = history_of(held, there)
    times = history.change_times.tolist()
    known = {0.0} | {time for _, begin, end, _ in (*held, *there) for time in (begin, end)}
    assert times == sorted(time for time in known if 0 <= time < END)
    for first, second in pairwise([*times, END]):
        for at in (first, (first + second) / 2):
            for lines in (held, there):
                assert total_at(lines, at, 0) == total_at(lines, first, 0)


@given(held=LINES, there=LINES, num_cells=st.integers(1, 200))
def test_instants_stand_for_the_whole_run(held: list[Line], there: list[Line], num_cells: int) -> None:
    history = history_of(held, there)
    instants, weights = history.instants(num_cells)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert ((instants >= 0) & (instants < END)).all()
    changes = history.change_times
    if len(changes) * NUM_NODES <= num_cells:  # exact: what is weighted so is the integral
        sums = history.held.sums_at(instants, NUM_NODES, 0).sum(axis=1)
        assert sums @ weights * END == pytest.approx(history.held.integral()[0])
    else:
        assert len(instants) == max(1, num_cells // NUM_NODES)
        assert np.allclose(np.diff(instants), END / len(instants))


def test_a_run_of_no_length_has_no_instants() -> None:
    nothing = spans_of([])
    for num_nodes, end in ((NUM_NODES, 0.0), (0, END)):
        instants, weights = LoadHistory(RESOURCES, num_nodes, 0.0, end, nothing, nothing).instants(100)
        assert (len(instants), len(weights)) == (0, 0)


# -- placement: the same histories, measured ---------------------------------------------------------------------------


@given(held=LINES)
def test_nodes_used(held: list[Line]) -> None:
    found = nodes_used(history_of(held, []))
    times = sorted({0.0, END, *(time for _, begin, end, _ in held for time in (begin, end))})
    counts = [
        (sum(total_at(held, begin, None, node) > 0 for node in range(NUM_NODES)), until - begin)
        for begin, until in pairwise(times)
    ]
    assert found.mean == pytest.approx(sum(count * seconds for count, seconds in counts) / END)
    assert found.peak == max(count for count, _ in counts)
    assert found.ever == len({node for node, begin, end, _ in held if end > begin})


@given(held=LINES, there=LINES)
def test_imbalance_looks_at_nodes_that_have_the_resource(held: list[Line], there: list[Line]) -> None:
    history = history_of(held, there)
    found = imbalance(history)
    for column, resource in enumerate(RESOURCES):
        spreads, seconds = 0.0, 0.0
        for begin, until in pairwise([*history.change_times.tolist(), END]):
            shares = [
                total_at(held, begin, column, node) / total_at(there, begin, column, node)
                for node in range(NUM_NODES)
                if total_at(there, begin, column, node)
            ]
            if shares:
                spreads += (max(shares) - min(shares)) * (until - begin)
                seconds += until - begin
        if not seconds:
            assert resource not in found
        else:
            assert found[resource].spread == pytest.approx(spreads / seconds)


@given(
    held=LINES,
    there=LINES,
    kinds=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3)), max_size=4),
)
@settings(max_examples=60)
def test_fragmentation_is_seen_by_each_kind_of_pod(
    held: list[Line], there: list[Line], kinds: list[tuple[int, int, int]]
) -> None:
    history = history_of(held, there)
    requests = np.array([kind[:2] for kind in kinds], np.int64).reshape(-1, 2)
    found = fragmentation(history, requests, np.array([kind[2] for kind in kinds], np.int64))

    def free(node: int, column: int, at: float) -> float:
        return max(total_at(there, at, column, node) - total_at(held, at, column, node), 0)

    for column, resource in enumerate(RESOURCES):
        lost = asked = 0.0
        for *request, count in kinds:
            if not request[column]:
                continue
            asked += count
            for begin, until in pairwise([*history.change_times.tolist(), END]):
                unfit = [
                    node
                    for node in range(NUM_NODES)
                    if any(amount and free(node, number, begin) < amount for number, amount in enumerate(request))
                ]
                total = sum(free(node, column, begin) for node in range(NUM_NODES))
                useless = sum(free(node, column, begin) for node in unfit)
                lost += count * (useless / total if total else 0.0) * (until - begin) / END
        assert found.get(resource) == (pytest.approx(lost / asked) if asked else None)


# -- from a run --------------------------------------------------------------------------------------------------------


@given(HISTORIES)
@settings(max_examples=8)
def test_the_history_of_a_run_is_what_was_told(history: History) -> None:
    with tempfile.TemporaryDirectory() as folder, tell(history, Path(folder) / "run") as run:
        found = load_history(run)
        rows = {row["node"]: row["node_id"] for row in run.nodes.rows()}
    assert (found.begin, found.end, found.num_nodes) == (history.begin, history.end, len(history.machines))
    assert sorted(found.resources) == sorted(history.resources)
    instants = np.array(history.changes())
    for resource in history.resources:
        column = found.resources.index(resource)
        held = found.held.sums_at(instants, found.num_nodes, column)
        there = found.there.sums_at(instants, found.num_nodes, column)
        for machine in history.machines:
            place = rows[machine.name]
            assert held[:, place].tolist() == [history.held(machine, resource, at) for at in instants]
            assert there[:, place].tolist() == [history.there(machine, resource, at) for at in instants]
    assert set(found.change_times.tolist()) <= set(history.changes())

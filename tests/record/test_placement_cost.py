"""What a day costs: by label, by file, against a naive count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model.node_price import price_of
from fairway.record.load import LoadHistory, Spans
from fairway.record.placement import busy_spans, nodes_used
from fairway.scenario.prices import priced, read_prices
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.testing import node


def scenario(cluster: dict[str, Any], count: int = 1) -> Any:
    return decode_scenario(
        {
            "apiVersion": "fairway.dev/v1alpha1",
            "kind": "Scenario",
            "metadata": {"name": "costs"},
            "spec": {
                "end": "12h",
                "cluster": cluster,
                "workload": {
                    "synthetic": {
                        "arrivals": {"pattern": "even", "count": count, "over": "1s"},
                        "classes": [{"name": "job", "cpu": 2, "memory": "1Gi", "duration": "6h"}],
                    }
                },
            },
        },
        "costs",
    )


def costs(cluster: dict[str, Any], path: Path, count: int = 1) -> Any:
    with simulate(scenario(cluster, count), record=path).open() as run:
        return run.metrics()


def test_a_day_costs_what_the_nodes_cost_and_less_without_idle_ones(tmp_path: Path) -> None:
    groups = [{"name": "a-{}", "count": 2, "cpu": 2, "memory": "4Gi", "labels": {"fairway.dev/price": "0.5"}}]
    found = costs({"nodes": groups}, tmp_path / "run.duckdb")
    assert found.cost.per_day == pytest.approx(2 * 0.5 * 24)
    assert found.cost.used_per_day == pytest.approx(0.5 * 24 / 2, rel=1e-3)  # one node of two, for half of the time
    assert found.cost.unpriced_nodes is None
    assert found.flat()["cost_used_per_day"] == found.cost.used_per_day


def test_prices_by_name_and_type_and_a_label_counts_first(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text('big: 3\n"a-*": 1\n')
    groups = [
        {"name": "a-{}", "count": 1, "cpu": 2, "memory": "4Gi"},
        {"name": "b-{}", "count": 1, "cpu": 2, "memory": "4Gi", "labels": {"node.kubernetes.io/instance-type": "big"}},
        {"name": "a-c-{}", "count": 1, "cpu": 2, "memory": "4Gi", "labels": {"fairway.dev/price": "7"}},
        {"name": "d-{}", "count": 1, "cpu": 2, "memory": "4Gi", "joins": "6h"},
        {"name": "a-late-{}", "count": 1, "cpu": 2, "memory": "4Gi", "joins": "6h"},
    ]
    found = costs({"nodes": groups, "prices": str(tmp_path / "prices.yaml")}, tmp_path / "run.duckdb")
    assert found.cost.per_day == pytest.approx((1 + 3 + 7 + 0.5) * 24)
    assert found.cost.unpriced_nodes == 1


def test_without_prices_nothing_is_said(tmp_path: Path) -> None:
    found = costs({"nodes": [{"count": 1, "cpu": 2, "memory": "4Gi"}]}, tmp_path / "run.duckdb")
    assert found.cost is None
    assert not any(name.startswith("cost") for name in found.flat())


@pytest.mark.parametrize("text", ["", "free", "-1", "nan", "inf", "1e999"])
def test_a_label_that_is_no_price_is_none(text: str) -> None:
    assert price_of({"fairway.dev/price": text}) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [("- 1\n", "are no prices; allowed: names of nodes"), ("big: cheap\n", "is no price of big"), ("big: -1\n", "-1")],
)
def test_a_file_that_has_no_prices_is_an_error_that_names_it(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(ValueError, match=told):
        read_prices("prices.yaml", str(tmp_path))


def test_the_first_entry_that_fits_counts() -> None:
    assert priced(node("a-1"), {"b": 1, "a-*": 0.25, "*": 9}).metadata.labels["fairway.dev/price"] == "0.25"
    assert "fairway.dev/price" not in priced(node("a-1"), {"b": 1}).metadata.labels


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 10)), max_size=12))
def test_nodes_are_busy_while_they_have_a_pod(pods: list[tuple[int, int, int]]) -> None:
    rows, begins = np.array([p[0] for p in pods], np.int32), np.array([p[1] for p in pods], float)
    ends = begins + np.array([p[2] for p in pods], float)
    held = Spans(rows, begins, ends, np.zeros((len(pods), 0)))
    history = LoadHistory((), 4, 0.0, 40.0, held, held)
    busy = np.zeros((4, 40), int)
    for row, begin, length in pods:
        busy[row, begin : begin + length] = 1
    seconds = np.zeros(4)
    for row, begin, end in zip(*busy_spans(history), strict=True):
        seconds[row] += end - begin
    assert seconds.tolist() == busy.sum(axis=1).tolist()
    used = nodes_used(history)
    assert (used.mean, used.peak) == (busy.sum() / 40, busy.sum(axis=0).max())
    assert used.ever == (busy.sum(axis=1) > 0).sum()

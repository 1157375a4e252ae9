"""Arrival orders and ranks: recorded ones, one's own, and drawn ones."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DecodeError
from fairway.trace.openb_order import (
    arrival_names,
    draw_order,
    draw_ranks,
    read_order,
    read_ranks,
    recorded_seeds,
)

NAMES = ["a", "b", "c"]


def written(folder: Path, text: str, name: str = "order.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "seed", "expected"),
    [
        pytest.param("seed1,seed2\n2,0\n0,1\n1,\n", 1, [2, 0, 1], id="numbers"),
        pytest.param("seed1,seed2\n2,0\n0,1\n1,\n", 2, [0, 1], id="a shorter column"),
        pytest.param("seed1\nc\na\nc-tuned-0\n", 1, [2, 0, 2], id="names and copies"),
        pytest.param("pod\nb\na\n", None, [1, 0], id="a single column"),
        pytest.param("i,pod,node\n0,b,n\n1,a,n\n", None, [1, 0], id="the pods of a placement file"),
    ],
)
def test_orders(tmp_path: Path, text: str, seed: int | None, expected: list[int]) -> None:
    assert read_order(written(tmp_path, text), seed, NAMES).tolist() == expected


def test_compressed_orders(tmp_path: Path) -> None:
    path = tmp_path / "order.csv.gz"
    path.write_bytes(gzip.compress(b"seed7\n1\n1\n"))
    assert read_order(path, 7, NAMES).tolist() == [1, 1]
    assert recorded_seeds(path) == [7]


@pytest.mark.parametrize(
    ("text", "seed", "words"),
    [
        pytest.param(
            "seed1\n3\n", 1, r"order.csv:2: names pod number 3, which does not exist: 2 is the last", id="number"
        ),
        pytest.param("seed1\na\nzebra\n", 1, r"order.csv:3: names pod 'zebra', which is not in the list", id="name"),
        pytest.param("seed1\nzebra-tuned-4\n", 1, "names pod 'zebra-tuned-4'", id="a copy of nobody"),
        pytest.param("seed1\n0\n", 2, "has no column seed2; it has seed1", id="seed"),
        pytest.param("seed1\n0\n", None, "say which seed; it has seed1", id="no seed"),
        pytest.param("", 1, "is empty", id="empty"),
        pytest.param("seed1\n", 1, "has no arrival in its column seed1", id="only a header"),
    ],
)
def test_orders_that_make_no_sense(tmp_path: Path, text: str, seed: int | None, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        read_order(written(tmp_path, text), seed, NAMES)


def test_copies_are_counted_together() -> None:
    order = np.array([2, 0, 2, 1, 0], np.int32)
    assert list(arrival_names(order, NAMES)) == ["c", "a", "c-tuned-0", "b", "a-tuned-1"]


def test_ranks(tmp_path: Path) -> None:
    path = written(tmp_path, "node,default:42,default:43\nn0,1,0\nn1,0,1\n")
    assert read_ranks(path, "default:42", ["n1", "n0"]).tolist() == [0, 1]
    with pytest.raises(KeyError):
        read_ranks(path, "default:44", ["n0"])
    with pytest.raises(DecodeError, match="has no rank for 1 nodes, the first of them n9"):
        read_ranks(path, "default:42", ["n9"])
    with pytest.raises(DecodeError, match=r"ranks.csv:2: column default:42 must have a whole number"):
        read_ranks(written(tmp_path, "node,default:42\nn0,x\n", "ranks.csv"), "default:42", ["n0"])
    with pytest.raises(DecodeError, match="the first column must be node"):
        read_ranks(written(tmp_path, "name,default:42\n", "other.csv"), "default:42", [])


amounts = st.lists(
    st.sampled_from([(0, 0), (100, 100), (470, 470), (1000, 1000), (1000, 8000)]), min_size=1, max_size=40
)


@given(amounts, st.floats(0.1, 3), st.integers(0, 1000))
def test_drawn_orders(pods: list[tuple[int, int]], load: float, seed: int) -> None:
    per_device, totals = np.array(pods, np.int64).T
    target = load * max(int(totals.sum()), 1)
    order = draw_order(per_device, totals, target, seed)
    assert order.tolist() == draw_order(per_device, totals, target, seed).tolist()
    if totals.sum() <= target:
        assert sorted(order[: len(pods)].tolist()) == list(range(len(pods)))  # everybody once, then copies
        # The last copy may reach beyond the target only with its other devices, as in the published experiments.
        copied = totals[order]
        assert copied[:-1].sum() + (per_device[order[-1]] if len(order) > len(pods) else 0) <= max(target, totals.sum())
    else:
        assert len(set(order.tolist())) == len(order)
        assert totals[order].sum() <= target


def test_other_seeds_give_other_orders() -> None:
    per_device = totals = np.full(50, 1000, np.int64)
    orders = {tuple(draw_order(per_device, totals, 60_000, seed).tolist()) for seed in range(5)}
    assert len(orders) == 5
    assert all(len(order) == 60 for order in orders)
    assert len({tuple(draw_ranks(50, seed).tolist()) for seed in range(5)}) == 5
    assert sorted(draw_ranks(50, 1).tolist()) == list(range(50))

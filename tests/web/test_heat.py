"""Cells of heat maps against a naive double loop, and a cell against the four that it is made of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairway.web.heat import AmountRows, Grid, byte_codes, cell_amounts, grid_shares

Line = tuple[int, float, float, int]  # row, begin, end, amount

NUM_ROWS = 7
TIMES = st.one_of(st.integers(0, 40).map(float), st.floats(0, 40, allow_subnormal=False))
LINES = st.lists(
    st.builds(
        lambda row, times, amount: (row, min(times), max(times), amount),
        st.integers(0, NUM_ROWS - 1),
        st.tuples(TIMES, TIMES),
        st.integers(0, 2**40),
    ),
    max_size=12,
)
GRIDS = st.builds(
    Grid,
    z=st.integers(-2, 6),
    k=st.integers(0, 4),
    first_column=st.integers(0, 12),
    num_columns=st.integers(1, 9),
    num_rows=st.just(NUM_ROWS),
)


def rows_of(lines: list[Line]) -> AmountRows:
    lines = sorted(lines)
    return AmountRows(
        np.array([line[0] for line in lines], np.int32),
        np.array([line[1] for line in lines], np.float64),
        np.array([line[2] for line in lines], np.float64),
        np.array([line[3] for line in lines], np.float64),
    )


def amount_in(lines: list[Line], rows: range, begin: float, end: float) -> float:
    """Amount times seconds, added up one by one."""
    return math.fsum(
        amount * max(0.0, min(until, end) - max(since, begin)) for row, since, until, amount in lines if row in rows
    )


def naive_share(held: list[Line], there: list[Line], rows: range, begin: float, end: float) -> float | None:
    whole = amount_in(there, rows, begin, end)
    return amount_in(held, rows, begin, end) / whole if whole > 0 else None


def naive_code(held: list[Line], there: list[Line], grid: Grid, group: int, column: int, statistic: str) -> int:
    begin = math.ldexp(grid.first_column + column, grid.z)
    end = math.ldexp(grid.first_column + column + 1, grid.z)
    rows = range(group << grid.k, min((group + 1) << grid.k, grid.num_rows))
    if statistic == "mean":
        share = naive_share(held, there, rows, begin, end)
    else:
        single = [naive_share(held, there, range(row, row + 1), begin, end) for row in rows]
        share = max((one for one in single if one is not None), default=None)
    return 0 if share is None else 1 + round(254 * min(share, 1.0))


@settings(max_examples=300, deadline=None)
@given(held=LINES, there=LINES, grid=GRIDS, statistic=st.sampled_from(["mean", "max"]))
@example(held=[(0, 0.0, 40.0, 3)], there=[(0, 0.0, 40.0, 3)], grid=Grid(0, 0, 0, 9, NUM_ROWS), statistic="mean")
@example(held=[], there=[(6, 1.0, math.nextafter(1.0, 2.0), 1)], grid=Grid(2, 4, 0, 3, NUM_ROWS), statistic="max")
def test_cells_are_those_of_a_double_loop(held: list[Line], there: list[Line], grid: Grid, statistic: str) -> None:
    codes = byte_codes(grid_shares(rows_of(held), rows_of(there), grid, "max" if statistic == "max" else "mean"))
    assert codes.shape == (grid.num_groups, grid.num_columns)
    for group in range(grid.num_groups):
        for column in range(grid.num_columns):
            expected = naive_code(held, there, grid, group, column, statistic)
            assert abs(int(codes[group, column]) - expected) <= 1
            assert (codes[group, column] == 0) == (expected == 0), "nothing is there, or something is"


@settings(max_examples=200, deadline=None)
@given(lines=LINES, z=st.integers(-1, 4), k=st.integers(0, 3))
def test_a_cell_holds_what_its_four_finer_ones_do(lines: list[Line], z: int, k: int) -> None:
    coarse = cell_amounts(rows_of(lines), Grid(z + 1, k + 1, 0, 8, NUM_ROWS), k + 1)
    fine = cell_amounts(rows_of(lines), Grid(z, k, 0, 16, NUM_ROWS), k)
    fine = np.pad(fine, ((0, 2 * len(coarse) - len(fine)), (0, 0)))
    four = fine[0::2, 0::2] + fine[0::2, 1::2] + fine[1::2, 0::2] + fine[1::2, 1::2]
    assert four / 2 == pytest.approx(coarse, rel=1e-12, abs=0)  # amounts times columns, and a column is twice as long


def test_all_that_is_held_in_a_row_is_full_and_more_than_there_is_still_full() -> None:
    there = rows_of([(0, 0.0, 8.0, 4), (1, 0.0, 8.0, 4), (2, 0.0, 4.0, 4)])
    held = rows_of([(0, 0.0, 8.0, 4), (1, 0.0, 8.0, 5)])
    shares = grid_shares(held, there, Grid(2, 0, 0, 2, 3))
    assert shares.tolist()[:2] == [[1.0, 1.0], [1.25, 1.25]]
    assert byte_codes(shares).tolist() == [[255, 255], [255, 255], [1, 0]]


def test_rows_of_a_part_are_counted_from_its_first() -> None:
    rows = rows_of([(0, 0.0, 1.0, 1), (2, 0.0, 1.0, 2), (2, 1.0, 2.0, 3), (5, 0.0, 1.0, 4)])
    part = rows.between(2, 5)
    assert (part.row.tolist(), part.amount.tolist()) == ([0, 0], [2.0, 3.0])

"""Heat maps as cells: what share of each row was held over each column, exactly.

In: amounts held, and amounts that were there, each in a row (a node, a GPU device) from one time to another. Out: the
shares of a grid of cells, as floats and as the bytes of tiles. A cell is what was held, times how long, over what was
there, times how long; not a sample, so that what is shorter than a column counts for what it was. Pure arrays; called
by `heat_map`, which knows runs, orders and caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TILE", "AmountRows", "Grid", "Statistic", "byte_codes", "cell_amounts", "grid_shares", "spread"]

TILE: Final = 256
"""Rows and columns of a tile."""
NESTED_CELLS: Final = 1 << 19
"""So many cells of single rows are in memory at once where the largest of each group is sought."""

Floats = NDArray[np.float64]
Statistic = Literal["mean", "max"]


@dataclass(frozen=True, slots=True)
class AmountRows:
    """Amounts that hold from one time to another, each in a row; sums of them are whole and below 2**53."""

    row: NDArray[np.int32]  # (num_amounts,) in order
    begin: Floats  # (num_amounts,)
    end: Floats  # (num_amounts,) never before begin
    amount: Floats  # (num_amounts,)

    def between(self, first: int, last: int) -> AmountRows:
        """Those of some rows, which are counted from the first of them."""
        part = slice(*np.searchsorted(self.row, [first, last]).tolist())
        return AmountRows(self.row[part] - np.int32(first), self.begin[part], self.end[part], self.amount[part])


class Grid(NamedTuple):
    """Where cells lie: rows together by 2**k, columns of 2**z seconds."""

    z: int
    k: int
    first_column: int
    num_columns: int
    num_rows: int  # single ones, of which 2**k are a row of cells

    @property
    def num_groups(self) -> int:
        """Rows of cells."""
        return -(-self.num_rows >> self.k)


def cell_amounts(amounts: AmountRows, grid: Grid, k: int) -> Floats:
    """Amounts times their time in columns, by row of cells and column: (num_groups, num_columns)."""
    shape = -(-grid.num_rows >> k), grid.num_columns
    begin, end = (np.ldexp(times, -grid.z) - grid.first_column for times in (amounts.begin, amounts.end))
    return spread(amounts.row >> np.int32(k), begin, end, amounts.amount, shape)


def spread(row: NDArray[np.int32], begin: Floats, end: Floats, amount: Floats, shape: tuple[int, int]) -> Floats:
    """Amounts times their time, by row and column, each from `begin` to `end`, counted in columns: as `shape` says.

    The part of a column that an amount begins or ends in is added as it is; the whole columns between are steps up and
    down of whole numbers. Nothing that was added is ever taken away, so that 0 is nothing at all.
    """
    begin, end = np.clip(begin, 0, shape[1]), np.clip(end, 0, shape[1])
    kept = end > begin
    begin, end = begin[kept], end[kept]
    rows, amount = row[kept].astype(np.int64), amount[kept]
    left, right = np.floor(begin), np.floor(end)
    is_last = (right > left) & (end > right)
    first = rows * shape[1] + left.astype(np.int64)
    last = (rows * shape[1] + right.astype(np.int64))[is_last]
    parts = _sums(first, amount * (np.minimum(end, left + 1) - begin), shape[0] * shape[1])
    parts += _sums(last, (amount * (end - right))[is_last], len(parts))
    is_long = right > left + 1
    rows, amount = rows[is_long] * (shape[1] + 1), amount[is_long]
    steps = _sums(rows + left[is_long].astype(np.int64) + 1, amount, shape[0] * (shape[1] + 1))
    steps -= _sums(rows + right[is_long].astype(np.int64), amount, len(steps))
    whole = np.cumsum(steps.reshape(shape[0], shape[1] + 1), axis=1)[:, :-1]
    whole += parts.reshape(shape)
    cells: Floats = whole
    return cells


def grid_shares(held: AmountRows, there: AmountRows, grid: Grid, statistic: Statistic = "mean") -> Floats:
    """What share was held, NaN where nothing was there: (num_groups, num_columns).

    `max` is the largest share of any single row in the cell.
    """
    if statistic == "mean" or grid.k == 0:
        return _shares(cell_amounts(held, grid, grid.k), cell_amounts(there, grid, grid.k))
    size = 1 << grid.k
    at_once = max(1, NESTED_CELLS // (grid.num_columns * min(size, max(grid.num_rows, 1)))) * size
    parts = []
    for begin in range(0, grid.num_rows, at_once):
        end = min(begin + at_once, grid.num_rows)
        part = grid._replace(num_rows=end - begin)
        single = _shares(*(cell_amounts(amounts.between(begin, end), part, 0) for amounts in (held, there)))
        groups = np.arange(0, end - begin, size)
        parts.append(np.fmax.reduceat(single, groups, axis=0))
    return np.concatenate(parts) if parts else np.zeros((0, grid.num_columns))


def byte_codes(shares: Floats) -> NDArray[np.uint8]:
    """0: nothing is there; else 1 for nothing held, to 255 for all of it or more."""
    codes = 1 + np.rint(254 * np.minimum(np.nan_to_num(shares, nan=0.0), 1.0))
    return np.where(np.isnan(shares), 0, codes).astype(np.uint8)


def _sums(cells: NDArray[np.int64], amounts: Floats, num_cells: int) -> Floats:
    return np.bincount(cells, amounts, minlength=num_cells).astype(np.float64, copy=False)  # of nothing they are whole


def _shares(held: Floats, there: Floats) -> Floats:
    return np.divide(held, there, out=np.full_like(held, np.nan), where=there > 0)

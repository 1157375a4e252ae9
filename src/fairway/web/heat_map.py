"""The heat map of a run: rows in an order that people choose, cut into tiles of 256 by 256 bytes.

In: a `HeatSubject` (nodes, GPU devices), the run's end, a resource, an order, a filter, a statistic, which tile. Out:
its bytes, and how many cells were above 1; or one cell with its nodes and pods. A column lasts 2**z seconds and begins
at a multiple of that; a row is 2**k things of the order; tiles count from 0. Intervals are sorted once an order; levels
of up to four million cells are worked out whole and kept, finer tiles one by one. Called by the server, in one thread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.model import parse_label_selector
from fairway.web.byte_cache import ByteCache
from fairway.web.heat import TILE, AmountRows, Floats, Grid, Statistic, byte_codes, grid_shares
from fairway.web.heat_subject import HeatSubject, HeldTimes, ThingAmounts

__all__ = ["COLUMN_SCALES", "MOST_COLUMNS", "ROW_SCALES", "HeatCell", "HeatMap", "HeatTile", "HeatView", "RowOrder"]

COLUMN_SCALES: Final = (-10, 20)
ROW_SCALES: Final = (0, 20)
MOST_COLUMNS: Final = 1 << 44
"""Of a run, at any scale: 2**34 seconds in columns of a thousandth; their numbers are exact."""
WHOLE_LEVEL: Final = 4 << 20
STRIP_CELLS: Final = 1 << 19
DIGITS: Final = re.compile(r"(\d{1,18})", re.ASCII)

T = TypeVar("T")


class HeatView(NamedTuple):
    """What is looked at."""

    resource: str
    order: str = "came"  # or name, load, label:KEY
    filter: str = ""  # a label selector
    statistic: Statistic = "mean"


class HeatTile(NamedTuple):
    """Some of it."""

    codes: bytes  # row by row
    num_over: int  # cells above 1, which are shown as 1


class HeatCell(NamedTuple):
    """One of its cells."""

    begin: float
    end: float
    things: list[int]
    share: float | None  # None: nothing is there
    pods: list[int]  # that held something, in order


class RowOrder(NamedTuple):
    """Which thing is in which row, and what was held in each."""

    thing: NDArray[np.int32]  # (num_rows,)
    row: NDArray[np.int32]  # (num_things,) -1: it is not shown
    held: NDArray[np.int32]  # (num_shown,) numbers of what was held, by row
    starts: NDArray[np.int64]  # (num_rows + 1,) where each row begins in `held`

    @property
    def num_rows(self) -> int:
        """How many are shown."""
        return len(self.thing)


class _Level(NamedTuple):
    codes: NDArray[np.uint8]  # (num_groups, num_columns)
    over: NDArray[np.int32]  # (num_over, 2) cells above 1


class HeatMap:
    """Tiles of one run's nodes, or devices."""

    def __init__(self, subject: HeatSubject, end: float, cache: ByteCache, owner: Hashable) -> None:
        """`owner` is what its keys in the cache begin with."""
        self.subject = subject
        self._end = end
        self._cache = cache
        self._owner = owner

    # -- tiles and cells ---------------------------------------------------------------------------------------------

    def tile(self, view: HeatView, z: int, k: int, x: int, y: int) -> HeatTile:
        """One tile; beyond the rows and the end of the run there is nothing."""
        key = (self._owner, "tile", view, z, k, x, y)
        return self._cache.value(key, lambda: self._tile(view, z, k, x, y), lambda made: len(made.codes))

    def cell(self, view: HeatView, z: int, k: int, time: float, row: int) -> HeatCell:
        """The cell that this time and this row of the order lie in."""
        order = self.order(view)
        group, column = row >> k, math.floor(math.ldexp(time, -z))
        first, last = group << k, min((group + 1) << k, order.num_rows)
        held, there = self._amounts(view, order, first, last)
        shares = grid_shares(held, there, Grid(z, k, column, 1, last - first), view.statistic)
        begin, end = math.ldexp(column, z), math.ldexp(column + 1, z)
        times, numbers = self.held_times(), order.held[order.starts[first] : order.starts[last]]
        inside = numbers[(times.begin[numbers] < end) & (times.end[numbers] > begin)]
        share = float(shares[0, 0]) if shares.size and not np.isnan(shares[0, 0]) else None
        return HeatCell(begin, end, order.thing[first:last].tolist(), share, np.unique(times.pod[inside]).tolist())

    def _tile(self, view: HeatView, z: int, k: int, x: int, y: int) -> HeatTile:
        order = self.order(view)
        num_columns = max(1, math.ceil(math.ldexp(self._end, -z)))
        num_groups = -(-order.num_rows >> k)
        top, left = y * TILE, x * TILE
        if top >= num_groups or left >= num_columns:
            return HeatTile(bytes(TILE * TILE), 0)
        if num_groups * num_columns <= WHOLE_LEVEL:
            key = (self._owner, "level", view, z, k)
            level = self._cache.value(
                key, lambda: self._level(view, order, z, k, num_columns), lambda made: made.codes.nbytes
            )
            codes = level.codes[top : top + TILE, left : left + TILE]
            place = level.over - (top, left)
            num_over = int(((place >= 0) & (place < TILE)).all(axis=1).sum())
        else:
            shares = self._part(view, order, z, k, left, TILE, top << k, min((top + TILE) << k, order.num_rows))
            codes, num_over = byte_codes(shares), int((shares > 1).sum())
        whole = np.zeros((TILE, TILE), np.uint8)
        whole[: codes.shape[0], : codes.shape[1]] = codes
        return HeatTile(whole.tobytes(), num_over)

    def _level(self, view: HeatView, order: RowOrder, z: int, k: int, num_columns: int) -> _Level:
        """All cells, a strip of rows after the other."""
        at_once = max(1, STRIP_CELLS // num_columns) << k
        codes, over = [], []
        for first in range(0, order.num_rows, at_once):
            shares = self._part(view, order, z, k, 0, num_columns, first, min(first + at_once, order.num_rows))
            codes.append(byte_codes(shares))
            over.append(np.argwhere(shares > 1).astype(np.int32) + np.array([first >> k, 0], np.int32))
        return _Level(np.concatenate(codes), np.concatenate(over))

    def _part(  # noqa: PLR0913, PLR0917 - four numbers say which part of which level it is
        self, view: HeatView, order: RowOrder, z: int, k: int, column: int, num_columns: int, first: int, last: int
    ) -> Floats:
        held, there = self._amounts(view, order, first, last)
        return grid_shares(held, there, Grid(z, k, column, num_columns, last - first), view.statistic)

    def _amounts(self, view: HeatView, order: RowOrder, first: int, last: int) -> tuple[AmountRows, AmountRows]:
        """What was held and what was there, in some rows of the order, which are counted from the first."""
        times, amounts = self.held_times(), self.held_amounts(view.resource)
        part = order.held[order.starts[first] : order.starts[last]]
        row = order.row[times.thing[part]] - np.int32(first)
        held = AmountRows(row, times.begin[part], times.end[part], amounts[part])
        return held, self._there_rows(view, order).between(first, last)

    # -- orders ------------------------------------------------------------------------------------------------------

    def order(self, view: HeatView) -> RowOrder:
        """Rows as they were asked for; `ValueError` says what is wrong with an order or a filter."""
        by_load = view.resource if view.order == "load" else ""
        key = (self._owner, "order", view.order, view.filter, by_load)
        return self._cache.value(key, lambda: self._order(view), _num_bytes)

    def shares(self, resource: str) -> Floats:
        """What share of each thing was held over the whole run, NaN where it never was there: (num_things,)."""
        return self._kept("shares", lambda: self._shares(resource), resource)

    def _order(self, view: HeatView) -> RowOrder:
        names = self.subject.names
        shown = np.array([number for number, name in enumerate(names) if name], np.int32)
        if view.filter:
            selector = parse_label_selector(view.filter)
            labels = self.subject.labels
            shown = shown[[selector.matches(labels[number]) for number in shown.tolist()]]
        numbers: list[int] = shown.tolist()
        if view.order == "name":
            numbers.sort(key=lambda number: _natural(names[number]))
        elif view.order == "load":
            share = self.shares(view.resource)
            numbers.sort(key=lambda number: -1.0 if np.isnan(share[number]) else share[number], reverse=True)
        elif view.order.startswith("label:"):
            label, labels = view.order.partition(":")[2], self.subject.labels
            numbers.sort(key=lambda number: (label not in labels[number], _natural(labels[number].get(label, ""))))
        elif view.order != "came":
            raise ValueError(f"there is no order {view.order!r}; there are came, name, load and label:KEY")
        thing = np.array(numbers, np.int32)
        row = np.full(len(names), -1, np.int32)
        row[thing] = np.arange(len(thing), dtype=np.int32)
        where = row[self.held_times().thing]
        kept = np.flatnonzero(where >= 0).astype(np.int32)
        where = where[kept]
        # numpy sorts numbers of 16 bits by their digits, which takes a tenth of the time.
        small = where.astype(np.uint16) if len(thing) <= np.iinfo(np.uint16).max else where
        held = kept[np.argsort(small, kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(thing)))]).astype(np.int64)
        return RowOrder(thing, row, held, starts)

    def _shares(self, resource: str) -> Floats:
        times, there = self.held_times(), self.there(resource)
        size = len(self.subject.names)
        held = np.bincount(times.thing, (times.end - times.begin) * self.held_amounts(resource), size)
        whole = np.bincount(there.thing, (there.end - there.begin) * there.amount, size)
        shares: Floats = np.divide(held, whole, out=np.full(size, np.nan), where=whole > 0)
        return shares

    # -- what is read of the run -------------------------------------------------------------------------------------

    def held_times(self) -> HeldTimes:
        """When something was held, on what, by whom."""
        return self._kept("times", self.subject.held_times)

    def held_amounts(self, resource: str) -> Floats:
        """How much, in a unit of which all amounts are multiples."""
        return self._kept("held", lambda: self.subject.held_amounts(resource) / self._unit(resource), resource)

    def there(self, resource: str) -> ThingAmounts:
        """How much there was, in the same unit."""

        def there() -> ThingAmounts:
            found = self.subject.there(resource)
            return found._replace(amount=found.amount / self._unit(resource))

        return self._kept("there", there, resource)

    def _there_rows(self, view: HeatView, order: RowOrder) -> AmountRows:
        def rows() -> AmountRows:
            there = self.there(view.resource)
            row = order.row[there.thing]
            kept = np.flatnonzero(row >= 0)
            kept = kept[np.argsort(row[kept], kind="stable")]
            return AmountRows(row[kept], there.begin[kept], there.end[kept], there.amount[kept])

        def size(made: AmountRows) -> int:
            return 28 * len(made.row)

        return self._cache.value((self._owner, "rows", view._replace(statistic="mean")), rows, size)

    def _unit(self, resource: str) -> float:
        """What all amounts of it are multiples of: sums of thousands of nodes' bytes would not be exact without."""

        def unit() -> NDArray[np.float64]:
            amounts = self.subject.held_amounts(resource), self.subject.there(resource).amount
            return np.array([np.gcd.reduce(np.concatenate(amounts).astype(np.int64)) or 1], np.float64)

        return float(self._kept("unit", unit, resource)[0])

    def _kept(self, what: str, make: Callable[[], T], resource: str = "") -> T:
        return self._cache.value((self._owner, what, resource), make, _num_bytes)


def _num_bytes(value: object) -> int:
    """Of an array, or of all arrays of a tuple."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    assert isinstance(value, tuple)
    return sum(array.nbytes for array in value)


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """node-2 before node-10."""
    parts = DIGITS.split(text)
    return tuple((int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts))

"""Free amounts over time: for every row a list of stretches within which nothing changes.

In: what is taken of rows from one time to another (`take`), and what is given back (`give`). Out: flat columns over
all stretches, sorted by row and start, that `slots` searches. Amounts are whole numbers that add up, so the order of
takes and gives does not matter, and giving back what was taken leaves no trace: neighbours that are equal are always
one stretch. Whoever takes more than there is leaves a negative amount, in which nothing fits: a maintenance window
over a running job is no contradiction. Only the rows that are named are looked at; the others are moved, not computed.

A row is a node, or whatever else is used up over time (a queue's quota). What the columns mean is the caller's affair
(`bookings`).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairway.plan.short_columns import ShortColumns

__all__ = ["FreeTimeline"]

FEW_ROWS = 8  # up to here a search a row is faster than one for all of them
FEW_CHANGED = 24  # up to here rows are changed faster one after the other, where all columns are short
FEW_STRETCHES = 2048  # up to here to look at all columns, or copy them, costs less than to find out which parts matter
MANY_ROWS = 64  # from here on a look at everything is faster than one at each row's next stretch, and the next


class _Columns(NamedTuple):
    """Memory for the columns of so many stretches."""

    starts: NDArray[np.float64]  # (capacity,)
    ends: NDArray[np.float64]  # (capacity,)
    rows: NDArray[np.intp]  # (capacity,)
    free: NDArray[np.int64]  # (num_columns, capacity)
    source: NDArray[np.intp]  # (capacity,): which stretch each one comes from
    steps: NDArray[np.intp]  # (capacity + 1,): how many further that is than the one before

    @classmethod
    def of(cls, num_columns: int, capacity: int) -> Self:
        """Of this size."""
        return cls(
            np.empty(capacity),
            np.empty(capacity),
            np.empty(capacity, np.intp),
            np.empty((num_columns, capacity), np.int64),
            np.empty(capacity, np.intp),
            np.empty(capacity + 1, np.intp),
        )


class FreeTimeline:
    """What is free of each row, from `origin` to the end of time."""

    __slots__ = ("_ends", "_in_use", "_rows", "_spare", "first", "free", "origin", "starts")

    def __init__(self, capacity: NDArray[np.int64], origin: float) -> None:
        """`capacity` (num_rows, num_columns) is what is free as long as nobody takes anything."""
        num_rows = len(capacity)
        self.origin = origin
        self.starts = np.full(num_rows, origin, np.float64)  # (num_stretches,)
        self._ends: NDArray[np.float64] | None = None  # (num_stretches,); None: as starts say
        self._rows: NDArray[np.intp] | None = None  # (num_stretches,); None: as `first` says
        self.first = np.arange(num_rows + 1, dtype=np.intp)  # (num_rows + 1,): where each row's stretches begin
        self.free = np.ascontiguousarray(capacity.T, dtype=np.int64)  # (num_columns, num_stretches)
        self._in_use: _Columns | None = None  # the memory of the columns, unless they have their own
        self._spare: _Columns | None = None

    @property
    def ends(self) -> NDArray[np.float64]:
        """When each stretch ends, (num_stretches,)."""
        if self._ends is None:
            self._ends = ends = np.empty(len(self.starts))
            ends[:-1] = self.starts[1:]
            ends[self.first[1:] - 1] = math.inf
        return self._ends

    @property
    def rows(self) -> NDArray[np.intp]:
        """The row of each stretch, (num_stretches,)."""
        if self._rows is None:
            self._rows = np.arange(self.num_rows).repeat(self.first[1:] - self.first[:-1])
        return self._rows

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.first) - 1

    def copy(self) -> Self:
        """Another one that may go its own way."""
        twin = object.__new__(type(self))
        twin.origin = self.origin
        for name in ("starts", "first", "free"):
            setattr(twin, name, getattr(self, name).copy())
        twin._ends = twin._rows = twin._in_use = twin._spare = None
        return twin

    def take(self, rows: NDArray[np.intp], amounts: ArrayLike, start: float, end: float) -> None:
        """Take `amounts` (num_columns,), or (len(rows), num_columns), of different rows within [start, end)."""
        self._change(rows, -np.asarray(amounts, np.int64), start, end)

    def give(self, rows: NDArray[np.intp], amounts: ArrayLike, start: float, end: float) -> None:
        """The reverse of `take`."""
        self._change(rows, np.asarray(amounts, np.int64), start, end)

    def give_each(
        self,
        rows: NDArray[np.intp],
        amounts: NDArray[np.int64],
        starts: NDArray[np.float64],
        ends: NDArray[np.float64],
    ) -> None:
        """Many gives at once, (num_gives,) each and (num_gives, num_columns); a row may be named more than once.

        `give` moves all stretches each time; here they are moved once, so from some dozen on this is faster.
        """
        starts = np.maximum(starts, self.origin)
        if not (kept := ends > starts).all():
            rows, amounts, starts, ends = rows[kept], amounts[kept], starts[kept], ends[kept]
        if not len(rows):
            return
        # All as steps: what each stretch has more than the one before it, and what is given and taken back again.
        steps = np.diff(self.free, axis=1, prepend=0)
        steps[:, self.first[:-1]] = self.free[:, self.first[:-1]]
        again = ends < math.inf
        all_rows = np.concatenate((self.rows, rows, rows[again]))
        all_starts = np.concatenate((self.starts, starts, ends[again]))
        steps = np.concatenate((steps, amounts.T, -amounts[again].T), axis=1)
        order = np.lexsort((all_starts, all_rows))
        all_rows, all_starts = all_rows[order], all_starts[order]
        is_other = np.concatenate(([True], (all_rows[1:] != all_rows[:-1]) | (all_starts[1:] != all_starts[:-1])))
        groups = np.flatnonzero(is_other)
        steps = np.add.reduceat(steps[:, order], groups, axis=1)
        all_rows, all_starts = all_rows[groups], all_starts[groups]
        differs = np.logical_or.reduce(steps != 0, axis=0)
        differs[all_rows.searchsorted(np.arange(self.num_rows))] = True  # its first stretch, with nothing too
        steps, all_rows, self.starts = steps[:, differs], all_rows[differs], all_starts[differs]
        self.first = all_rows.searchsorted(np.arange(self.num_rows + 1))
        first = self.first[:-1]
        free = np.cumsum(steps, axis=1)
        before = free[:, first] - steps[:, first]  # of all rows above
        self.free = free - np.repeat(before, np.diff(self.first), axis=1)
        self._ends = self._rows = self._in_use = None

    def forget_before(self, now: float) -> bool:
        """Nobody asks for anything before `now` any more; True: a stretch is over, and what follows is free."""
        if now <= self.origin:
            return False
        kept = self.ends > now
        if is_over := not np.logical_and.reduce(kept):
            counts = np.add.reduceat(kept, self.first[:-1], dtype=np.intp) if self.num_rows else self.first[:0]
            self.first = np.concatenate(([0], np.cumsum(counts, dtype=np.intp)))
            self.starts, self.free = self.starts[kept], np.ascontiguousarray(self.free[:, kept])
            self._ends = self._rows = self._in_use = None
        self.starts[self.first[:-1]] = now
        self.origin = now
        return is_over

    def stretches_at(self, rows: NDArray[np.intp], time: float) -> NDArray[np.intp]:
        """For each row the stretch that holds `time`, which is not before the origin."""
        low = self.first[rows]
        if time <= self.origin:
            return low
        if len(self.starts) <= FEW_STRETCHES and len(rows) > 1:
            begun = np.add.reduceat(self.starts <= time, self.first[:-1], dtype=np.intp)  # (num_rows,): so many
            nearest: NDArray[np.intp] = low + begun[rows] - 1
            return nearest
        high = self.first[rows + 1]
        if len(rows) <= FEW_ROWS:
            starts = self.starts
            near = [a + int(starts[a:b].searchsorted(time, "right")) - 1 for a, b in zip(low, high, strict=True)]
            return np.array(near, np.intp)
        while (high - low).max(initial=0) > 1:
            middle = (low + high) >> 1  # of a search that is over: `low` itself
            is_before = self.starts[middle] <= time
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        return low

    def free_at(self, time: float) -> NDArray[np.int64]:
        """What is free then, (num_rows, num_columns)."""
        return self.free[:, self.stretches_at(np.arange(self.num_rows), time)].T

    def least_free(self, rows: NDArray[np.intp], start: float, end: float) -> NDArray[np.int64]:
        """What is free of each of the rows, ascending, all the time within [start, end), (len(rows), num_columns)."""
        low = self.stretches_at(rows, start)
        if len(rows) == 1:
            below, above = int(self.first[rows[0]]), int(self.first[rows[0] + 1])
            last = above if end == math.inf else below + int(self.starts[below:above].searchsorted(end, "left"))
            alone: NDArray[np.int64] = self.free[:, low[0] : max(last, int(low[0]) + 1)].min(axis=1)
            return alone[None, :]
        if end == math.inf:
            high = self.first[rows + 1]
        else:
            high = self.stretches_at(rows, end)
            high += self.starts[high] < end
        if len(rows) < MANY_ROWS and len(self.starts) > FEW_STRETCHES:
            least = self.free[:, low]
            for step in range(1, int((high - low).max(initial=0))):
                more = np.flatnonzero(low + step < high)
                least[:, more] = np.minimum(least[:, more], self.free[:, low[more] + step])
            return least.T
        # Every second of these reductions is over what lies between two rows, which nobody asks for.
        borders = np.empty(2 * len(rows), np.intp)
        borders[::2], borders[1::2] = low, high
        within = borders[:-1] if len(rows) and borders[-1] == len(self.starts) else borders
        return np.minimum.reduceat(self.free, within, axis=1)[:, ::2].T

    def _change(self, rows: NDArray[np.intp], change: NDArray[np.int64], start: float, end: float) -> None:
        start = max(start, self.origin)
        rows = np.asarray(rows, np.intp)
        if not end > start or not len(rows) or not np.count_nonzero(change):
            return
        if len(rows) <= FEW_CHANGED and len(self.starts) <= FEW_STRETCHES:
            self._change_few(rows, change, start, end)
            return
        self._change_many(rows, change, start, end)

    def _change_many(self, rows: NDArray[np.intp], change: NDArray[np.int64], start: float, end: float) -> None:
        """All rows at once."""
        changes = np.broadcast_to(change, (len(rows), len(self.free)))  # (len(rows), num_columns)
        if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
            order = np.argsort(rows, kind="stable")
            rows, changes = rows[order], changes[order]
            assert (rows[1:] > rows[:-1]).all(), "the rows are different ones"
        if not (touched := changes.any(axis=1)).all():
            rows, changes = rows[touched], changes[touched]
        at_start = self.stretches_at(rows, start)
        cuts_start = self.starts[at_start] < start
        joins_start = ~cuts_start & (at_start > self.first[rows])
        joins_start &= (self.free[:, at_start - 1] == self.free[:, at_start] + changes.T).all(axis=0)
        if end == math.inf:
            at_end = self.first[rows + 1]
            cuts_end = joins_end = np.zeros(len(rows), np.bool_)
        else:
            at_end = self.stretches_at(rows, end)
            cuts_end = self.starts[at_end] < end
            joins_end = ~cuts_end & (self.free[:, at_end - 1] + changes.T == self.free[:, at_end]).all(axis=0)
        more = cuts_start.astype(np.intp) + cuts_end - joins_start - joins_end  # stretches, by row
        before = np.cumsum(more) - more
        if cuts_start.any() or cuts_end.any() or joins_start.any() or joins_end.any():
            # The next stretch here is the next one there, but for those that are cut in two or join the one before.
            size = len(self.starts) + int(more.sum())
            spare = self._columns(size)
            steps = spare.steps[: size + 1]  # one more, for what would come after the last
            steps.fill(1)
            begin = at_start + before
            steps[begin[cuts_start] + 1] -= 1
            steps[begin[joins_start]] += 1
            until = at_end + before + cuts_start - joins_start
            steps[until[cuts_end] + 1] -= 1
            steps[until[joins_end]] += 1
            self._rearrange(spare, size)
            shift = np.zeros(len(self.first), np.intp)
            shift[rows + 1] = more
            self.first = self.first + np.cumsum(shift)
        # Where the changed stretches of each row are now.
        low = at_start + before + cuts_start
        lengths = at_end - at_start + cuts_end - joins_start
        self.starts[low[cuts_start]] = start
        self.starts[(low + lengths)[cuts_end]] = end
        offsets = np.cumsum(lengths) - lengths
        changed = np.repeat(low - offsets, lengths) + np.arange(lengths.sum())
        self.free[:, changed] += np.repeat(changes, lengths, axis=0).T
        if self._ends is not None:
            self._ends[:-1] = self.starts[1:]
            self._ends[self.first[1:] - 1] = math.inf

    def _change_few(self, rows: NDArray[np.intp], change: NDArray[np.int64], start: float, end: float) -> None:
        """The same where all columns are short."""
        if len(rows) > 1:
            order = rows.argsort()
            rows = rows[order]
            if change.ndim > 1 and len(change) > 1:
                change = change[order]
        changes = change.reshape(-1, len(self.free)).T  # (num_columns, 1 or len(rows))
        last = changes.shape[1] - 1
        touched = np.logical_or.reduce(changes != 0, axis=0).tolist() if last else [True]
        columns = ShortColumns(self.starts, self.free)
        lows, highs = self.first[rows].tolist(), self.first[rows + 1].tolist()
        for index, (row, low, high) in enumerate(zip(rows.tolist(), lows, highs, strict=True)):
            at = min(index, last)
            if touched[at]:
                columns.change(row, (low, high), changes[:, at : at + 1], (start, end))
        if not columns.more:
            return
        self.starts, self.free = columns.columns()
        self.first = first = self.first.copy()
        for row, number in columns.more:
            if number:
                first[row + 1 :] += number
        self._ends = self._rows = self._in_use = None

    def _columns(self, size: int) -> _Columns:
        """Columns that are large enough. Fresh memory costs more than to fill it, so two sets of them take turns."""
        if self._spare is None or len(self._spare.starts) < size:
            self._spare = _Columns.of(len(self.free), size + size // 4)
        return self._spare

    def _rearrange(self, spare: _Columns, size: int) -> None:
        """Move all stretches to where `steps` lead, into the columns that were out of use."""
        source = np.cumsum(spare.steps[:size], out=spare.source[:size])
        source -= 1
        # Nothing is out of bounds; "clip" says so, and writes in place.
        self.starts.take(source, out=spare.starts[:size], mode="clip")
        self.rows.take(source, out=spare.rows[:size], mode="clip")
        for column, target in zip(self.free, spare.free, strict=True):
            column.take(source, out=target[:size], mode="clip")
        self.starts, self._ends, self._rows = spare.starts[:size], spare.ends[:size], spare.rows[:size]
        self.free = spare.free[:, :size]
        self._in_use, self._spare = spare, self._in_use

"""Which column of the node table each resource has.

In: the names in nodes' allocatable, held and released as nodes come and go, and the names that a configuration scores
by, held for good. Out: column numbers. What a pod asks for makes no column: where no node has a resource, no node has
enough of it. A column whose last node has gone is kept for a while, as its node may come back; beyond `MOST_IDLE` of
them, the longest idle is freed for the next name. `NodeTable` owns one.
"""

from __future__ import annotations

MOST_IDLE = 64


class ResourceColumns:
    """Names by column, and columns by name."""

    __slots__ = ("_columns", "_free", "_holders", "_idle", "_pinned", "values", "version")

    def __init__(self, first: tuple[str, ...]) -> None:
        """The `first` resources always have a column."""
        self.values: list[str] = list(first)  # by column; "": it is free
        self._columns: dict[str, int] = {name: column for column, name in enumerate(first)}
        self._pinned = set(first)
        self._holders: dict[str, int] = {}  # nodes that have the resource
        self._idle: dict[str, None] = {}  # those that nodes had, longest idle first
        self._free: list[int] = []
        self.version = 0  # changes when a column gets or loses its meaning, or its first node

    def __len__(self) -> int:
        """How many columns there are, free ones included."""
        return len(self.values)

    def __getitem__(self, column: int) -> str:
        return self.values[column]

    def find(self, name: str) -> int:
        """The column of a resource, or -1 if it has none."""
        return self._columns.get(name, -1)

    def pin(self, name: str) -> bool:
        """The resource has a column from now on, whatever nodes have. True if it got one now."""
        self._pinned.add(name)
        is_new = self._place(name)
        self.version += is_new
        return is_new

    def hold(self, name: str) -> bool:
        """One more node has the resource. True if it got a column now."""
        if name in self._holders:
            self._holders[name] += 1
            return False
        self._holders[name] = 1
        if name in self._idle:
            del self._idle[name]
            return False
        self.version += 1
        return self._place(name)

    def release(self, name: str) -> int:
        """One node less has it. Returns a column that was freed, this one or another; -1 if none was."""
        self._holders[name] -= 1
        if self._holders[name]:
            return -1
        del self._holders[name]
        self._idle[name] = None
        if len(self._idle) <= MOST_IDLE:
            return -1
        longest = next(iter(self._idle))
        del self._idle[longest]
        if longest in self._pinned:
            return -1
        column = self._columns.pop(longest)
        self.values[column] = ""
        self._free.append(column)
        self.version += 1
        return column

    def _place(self, name: str) -> bool:
        if name in self._columns:
            return False
        if self._free:
            column = self._free.pop()
            self.values[column] = name
        else:
            column = len(self.values)
            self.values.append(name)
        self._columns[name] = column
        return True

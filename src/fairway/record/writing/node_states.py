"""The nodes of a run as they are now, each as a row that is written when its state ends.

`RunWriter` tells it what happens to nodes and writes the rows it hands back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairway.model import Node, encode_json
from fairway.record.errors import RecordError
from fairway.record.vocabulary import NodeChange, NodeEnd
from fairway.record.writing.buffer import Resources
from fairway.record.writing.kept import kept

__all__ = ["NodeStates"]

Row = list[Any]  # in the order of the columns of `nodes`, amounts last
TO, GONE, MANIFEST = 4, 6, 10  # places in it


class NodeStates:
    """Nodes that are there, by name."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._rows: dict[str, Row] = {}
        self._num_nodes = 0

    def number_of(self, name: str) -> int:
        """The number in the run of a node that is there."""
        return int(self._row(name)[0])

    def find(self, name: str) -> int | None:
        """The same; None if it is not there."""
        row = self._rows.get(name)
        return None if row is None else int(row[0])

    def add(self, t: float, node: Node) -> None:
        """A node is there from now on."""
        if node.name in self._rows:
            raise RecordError(f"node {node.name} is there already")
        self._rows[node.name] = self._state(t, node, self._num_nodes, NodeChange.ADDED)
        self._num_nodes += 1

    def change(self, t: float, node: Node, what: NodeChange) -> tuple[Any, ...] | None:
        """A node is different from now on; the row of its state before, unless there is no difference."""
        before = self._row(node.name)
        after = self._state(t, node, before[0], what)
        if after[MANIFEST] == before[MANIFEST]:
            return None
        self._rows[node.name] = after
        before[TO] = t
        return tuple(before)

    def remove(self, t: float, name: str, why: NodeEnd) -> tuple[Any, ...]:
        """A node is no more; the row of its last state."""
        row = self._row(name)
        del self._rows[name]
        row[TO], row[GONE] = t, why.value
        return tuple(row)

    def open_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of all states that have not ended."""
        return map(tuple, self._rows.values())

    def _row(self, name: str) -> Row:
        row = self._rows.get(name)
        if row is None:
            raise RecordError(f"node {name} is not there")
        return row

    def _state(self, t: float, node: Node, number: int, change: NodeChange) -> Row:
        allocatable = node.status.allocatable
        amounts = {
            name: quantity.milli if name == "cpu" else quantity.value
            for name, quantity in allocatable.items()
            if name != "pods"
        }
        return [
            number,
            node.name,
            node.metadata.uid,
            t,
            None,
            change.value,
            None,
            next((one.status == "True" for one in node.status.conditions if one.type == "Ready"), True),
            node.spec.unschedulable,
            allocatable["pods"].value if "pods" in allocatable else 0,
            encode_json(kept(node)).decode(),
            self._resources.vector(amounts),
        ]

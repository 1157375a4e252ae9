"""The header of an SWF log: what its comments say about the machine.

In: comment lines such as "; MaxNodes: 128". Out: values by key, and the nodes that they describe. Logs are written by
many hands: keys may be missing, come twice or carry remarks, and lines without a key are only comments.
Called by `swf`.
"""

from __future__ import annotations

import re
from typing import Final

from fairway.model import DecodeError, Node, NodeStatus, ObjectMeta, parse_quantity
from fairway.trace.template import memory_quantity, milli_quantity

__all__ = ["SwfHeader", "header_nodes"]

KEY: Final = re.compile(r";+\s*([A-Za-z][A-Za-z0-9_ -]{0,40}?)\s*:\s*(.*)")
LEADING_NUMBER: Final = re.compile(r"[0-9]{1,9}")
PODS_A_NODE: Final = 1000  # a node of a batch machine is limited by its processors, not by a number of pods
MAX_NODES: Final = 1_000_000


class SwfHeader:
    """Values by key; of a key that comes twice the first counts."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def add(self, comment: str) -> None:
        """Take in a comment line."""
        if found := KEY.fullmatch(comment):
            self.values.setdefault(found[1].lower(), found[2].strip())

    def number(self, key: str) -> int | None:
        """The whole number that a value begins with."""
        found = LEADING_NUMBER.match(self.values.get(key.lower(), ""))
        return int(found[0]) if found and int(found[0]) > 0 else None


def header_nodes(header: SwfHeader, file: str, milli_cpu: int, memory_bytes: int) -> list[Node]:
    """The nodes of the machine: MaxNodes of them share MaxProcs processors, the first ones one more if need be."""
    num_procs = header.number("MaxProcs") or header.number("MaxNodes")
    num_nodes = header.number("MaxNodes") or num_procs
    if num_procs is None or num_nodes is None:
        problem = "the header says neither MaxNodes nor MaxProcs, so it describes no nodes; give them otherwise"
        raise DecodeError(problem, source=file)
    if num_nodes > MAX_NODES:
        raise DecodeError(f"the header speaks of {num_nodes} nodes, more than {MAX_NODES}", source=file)
    each, rest = divmod(max(num_procs, num_nodes), num_nodes)
    width = len(str(num_nodes - 1))
    return [
        _node(f"node-{index:0{width}}", milli_cpu * (each + (index < rest)), memory_bytes, PODS_A_NODE)
        for index in range(num_nodes)
    ]


def pool_node(header: SwfHeader, file: str, milli_cpu: int, memory_bytes: int) -> Node:
    """All processors as one node, as simulators of this field have it."""
    num_procs = header.number("MaxProcs") or header.number("MaxNodes")
    if num_procs is None:
        problem = "the header says neither MaxProcs nor MaxNodes, so it describes no pool; give the nodes otherwise"
        raise DecodeError(problem, source=file)
    return _node("pool", milli_cpu * num_procs, memory_bytes * num_procs, num_procs)


def procs_per_node(header: SwfHeader) -> int:
    """How many processors the largest node has; 0: the header does not say."""
    num_procs = header.number("MaxProcs") or header.number("MaxNodes")
    num_nodes = header.number("MaxNodes") or num_procs
    return -(-num_procs // num_nodes) if num_procs and num_nodes else 0


def _node(name: str, milli_cpu: int, memory_bytes: int, pods: int) -> Node:
    resources = {
        "cpu": milli_quantity(milli_cpu),
        "memory": memory_quantity(memory_bytes),
        "pods": parse_quantity(pods),
    }
    return Node(
        metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name}),
        status=NodeStatus(capacity=resources, allocatable=resources),
    )

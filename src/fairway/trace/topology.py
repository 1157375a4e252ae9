"""Racks and servers, assigned to nodes.

In: nodes, and how many servers a rack holds. Out: the same nodes with the labels `fairway.dev/rack` and
`fairway.dev/server`, which constraints and plugins can use as topologies. The same nodes, in whatever order, always get
the same racks. Called by `node_groups`, scenarios, and `topology_files`, which rewrites manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from fairway.model import Node

__all__ = ["RACK", "SERVER", "ServerPlace", "assign_racks", "places"]

RACK: Final = "fairway.dev/rack"
SERVER: Final = "fairway.dev/server"
ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
DIGITS: Final = re.compile(r"(\d+)", re.ASCII)


class ServerPlace(NamedTuple):
    """Where a node stands. The names of servers are unique in the cluster, so that they can be told apart by label."""

    rack: str
    server: str

    @property
    def labels(self) -> dict[str, str]:
        """As a node carries them."""
        return {RACK: self.rack, SERVER: self.server}


def places(
    nodes: Iterable[tuple[str, Mapping[str, str]]], servers_per_rack: int, first_rack: int = 0
) -> dict[str, ServerPlace]:
    """A place for each node, given as name and labels: racks are filled in the order of names, zone by zone.

    Numbers in names count as numbers: n2 comes before n10. No rack stands in two zones.
    """
    if servers_per_rack < 1:
        raise ValueError(f"a rack holds at least one server, not {servers_per_rack}")
    zones: dict[str, set[str]] = {}
    for name, labels in nodes:
        zone = next((labels[key] for key in ZONES if labels.get(key)), "")
        zones.setdefault(zone, set()).add(name)
    found: dict[str, ServerPlace] = {}
    number = first_rack
    for zone in sorted(zones, key=_natural):
        names = sorted(zones[zone], key=_natural)
        for start in range(0, len(names), servers_per_rack):
            rack = f"rack-{number}"
            number += 1
            for position, name in enumerate(names[start : start + servers_per_rack]):
                found[name] = ServerPlace(rack, f"{rack}-server-{position}")
    return found


def assign_racks(nodes: Sequence[Node], servers_per_rack: int, first_rack: int = 0) -> list[Node]:
    """The nodes, in their order, with labels that say their rack and server; racks count from `first_rack`."""
    found = places(((node.metadata.name, node.metadata.labels) for node in nodes), servers_per_rack, first_rack)
    placed = []
    for node in nodes:
        labels = node.metadata.labels | found[node.metadata.name].labels
        meta = msgspec.structs.replace(node.metadata, labels=labels)
        placed.append(msgspec.structs.replace(node, metadata=meta))
    return placed


def _natural(name: str) -> tuple[list[tuple[str, int]], str]:
    """A key that puts n2 before n10."""
    parts = DIGITS.split(name)
    return [(text, int(digits or -1)) for text, digits in zip(parts[::2], [*parts[1::2], ""], strict=True)], name

"""Objects as the API server wrote them, kept where an extender wants to see all of them.

In: lines of the watches of pods and nodes, from their reflectors. Out: the JSON of a waiting pod or of a node, with the
fields that Fairway itself has no use for. Kept only while extenders are configured: lines of pods until they are bound,
of nodes only if an extender does not know the nodes itself. `process` makes one and gives it to the extenders.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairway.config.config_file import Extender
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.watch_lines import WatchEvent
from fairway.model import ApiObject, Node, Pod

__all__ = ["RawStore"]


class RawStore:
    """The newest lines (`extender_wire.RawObjects`)."""

    def __init__(self, extenders: Iterable[Extender]) -> None:
        self._wants_nodes = any(not extender.node_cache_capable for extender in extenders)
        self._pods: dict[str, bytes] = {}  # by uid
        self._nodes: dict[str, bytes] = {}  # by name

    def listen_to(self, watch: ClusterWatch) -> None:
        """Keep what these reflectors read from now on."""
        watch.reflectors[Pod].line_observers.append(self._keep_pod)
        if self._wants_nodes:
            watch.reflectors[Node].line_observers.append(self._keep_node)

    def raw_pod(self, uid: str) -> bytes | None:
        """The pod's JSON; None if it is not waiting."""
        return _object(self._pods.get(uid))

    def raw_node(self, name: str) -> bytes | None:
        """The node's JSON."""
        return _object(self._nodes.get(name))

    def _keep_pod(self, verb: str, thing: ApiObject, line: bytes) -> None:
        if isinstance(thing, Pod):
            if verb == "DELETED" or thing.spec.node_name or thing.is_finished:
                self._pods.pop(thing.metadata.uid, None)
            else:
                self._pods[thing.metadata.uid] = line

    def _keep_node(self, verb: str, thing: ApiObject, line: bytes) -> None:
        if verb == "DELETED":
            self._nodes.pop(thing.metadata.name, None)
        else:
            self._nodes[thing.metadata.name] = line


def _object(line: bytes | None) -> bytes | None:
    """The object of a line, cut out only when somebody asks."""
    return None if line is None else bytes(msgspec.json.decode(line, type=WatchEvent[msgspec.Raw]).object)

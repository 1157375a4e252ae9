"""Maintenance is announced and called off.

In: what a window shall be, as a `WindowSpec`, or its name. Out: a `WindowOutcome`: the window as its scheduler has
taken it up, with its nodes and the jobs in its way. To call one off is to delete it; then its nodes are given back,
which is waited for. Called by the command `maintenance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairway.batch.actions import CORDONED_BY
from fairway.exit_codes import USAGE
from fairway.live.api.problems import Forbidden
from fairway.live.batch.objects import API_VERSION, WindowObject, object_path
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.own_kinds import objection
from fairway.live.orders.own_objects import read_own
from fairway.model import UserError

__all__ = ["CalledOff", "WindowOutcome", "add_window", "call_off"]

NODES = "/api/v1/nodes"


class WindowOutcome(NamedTuple):
    """A window as it is written down."""

    name: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    problem: str = ""  # why it counts as not there

    @property
    def is_heard(self) -> bool:
        """Has a scheduler taken it up?"""
        return bool(self.status.get("phase"))


class CalledOff(NamedTuple):
    """A window that is no more."""

    name: str
    phase: str  # in which it was
    num_nodes: int  # that were closed for it
    num_closed: int  # of these: that still are
    is_known: bool = True  # False: nodes may not be looked at


async def add_window(caller: Caller, name: str, spec: Mapping[str, Any]) -> WindowOutcome:
    """Announce it."""
    folder = object_path(WindowObject)
    thing = {"apiVersion": API_VERSION, "kind": "MaintenanceWindow", "metadata": {"name": name}, "spec": dict(spec)}
    made = await caller.create(folder, thing)
    if made is None:
        raise UserError(f"there is a window {name} already", "fairway maintenance shows it; --name NAME", USAGE)

    def tell(verb: str, tree: Tree) -> Tree | None:
        status = tree.get("status") or {}
        return tree if verb == "DELETED" or status.get("phase") or objection(tree) else None

    heard = await caller.hear(folder, name, made["metadata"]["resourceVersion"], tell)
    tree = heard or made
    return WindowOutcome(name, tree["spec"], tree.get("status") or {}, objection(tree))


async def call_off(caller: Caller, name: str, command: str) -> CalledOff:
    """Delete it, and wait until no node is closed because of it."""
    folder = object_path(WindowObject)
    tree = await read_own(caller, WindowObject, "window", name, command)
    uid, phase = tree["metadata"]["uid"], str((tree.get("status") or {}).get("phase", ""))
    await caller.delete(f"{folder}/{name}", uid)
    if phase in ("", "Announced", "Done"):
        return CalledOff(name, phase, 0, 0)
    try:
        listed = await caller.items(NODES)
    except Forbidden:
        return CalledOff(name, phase, 0, 0, is_known=False)
    nodes, version = listed or ([], "")
    closed = {each["metadata"]["name"] for each in nodes if _closed_by(each) == uid}
    num_nodes = len(closed)

    def tell(verb: str, tree: Tree) -> bool | None:
        if verb == "DELETED" or _closed_by(tree) != uid:
            closed.discard(tree["metadata"]["name"])
        return True if not closed else None

    if closed:
        await caller.hear(NODES, "", version, tell)
    return CalledOff(name, phase, num_nodes, len(closed))


def _closed_by(node: Tree) -> str:
    return str((node["metadata"].get("annotations") or {}).get(CORDONED_BY, ""))

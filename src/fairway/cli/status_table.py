"""A status as people and programs read it: lines of summary, a table of nodes or of groups of them, a document.

In: a `Status`, of a run, a live cluster or a running scheduler. Out: what `status` prints, the same for all of them.
Called by `status`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairway.cli.main import CommandError
from fairway.cli.output import Column, plain_table
from fairway.exit_codes import USAGE
from fairway.words import amount_text, count_text, length_text, nodes_text, pods_text

if TYPE_CHECKING:
    from fairway.explain.run_status import NodeLoad, ResourceLoad, Status

__all__ = ["status_document", "status_table", "summary_lines"]

RESOURCE_COLUMNS = (
    Column("resource", "RESOURCE"),
    Column("used", "USED", right=True),
    Column("free", "FREE", right=True),
    Column("of", "OF", right=True),
    Column("utilisation", "UTILISATION", right=True),
    Column("mostFree", "FREE ON ONE NODE", right=True),
)
NAMED = 12
WITHOUT = "(without)"  # in place of a label's value
UNTOLD = "?"  # in place of an amount that nobody told
WAITING_COLUMNS = (
    Column("pods", "PODS", right=True),
    Column("reason", "REASON"),
    Column("longest", "LONGEST", right=True),
    Column("pod", "POD"),
)


def summary_lines(status: Status, when: str) -> list[str]:
    """What there is, what is free, who waits: `when` says of which moment."""
    ready = sum(node.is_ready for node in status.nodes)
    cordoned = sum(node.is_unschedulable for node in status.nodes)
    parts = [when]
    parts.append(nodes_text(len(status.nodes)))
    parts += [f"{count_text(len(status.nodes) - ready)} not ready"] if ready < len(status.nodes) else []
    parts += [f"{count_text(cordoned)} cordoned"] if cordoned else []
    parts += [f"{pods_text(status.num_running)} on nodes", f"{count_text(status.num_waiting)} waiting"]
    lines = [" · ".join(parts)]
    if status.resources:
        lines += ["", *_indented([_resource_row(load) for load in status.resources], RESOURCE_COLUMNS)]
    if status.waiting:
        rows = [
            {"pods": one.num_pods, "reason": one.reason, "longest": length_text(one.longest), "pod": one.pod}
            for one in status.waiting
        ]
        lines += ["", *_indented(rows, WAITING_COLUMNS)]
    if status.jobs:
        lines += ["", f"  jobs in queues: {status.jobs}"]
    return lines


def _resource_row(load: ResourceLoad) -> dict[str, Any]:
    name = load.resource
    row = {
        "resource": name,
        "used": amount_text(name, load.used),
        "free": amount_text(name, load.free),
        "of": amount_text(name, load.allocatable),
        "utilisation": _percent(load.utilisation),
        "mostFree": amount_text(name, load.most_free),
    }
    if load.used and not load.allocatable:  # so nobody knows what is left of it either
        row |= dict.fromkeys(("free", "of", "mostFree"), UNTOLD)
    return row


def status_table(
    status: Status, by_node: bool, label: str | None, resources: Sequence[str], *, exact: bool
) -> tuple[list[dict[str, Any]], list[Column]]:
    """Rows of nodes, of groups of nodes, or, if neither is wanted, of resources."""
    keys = ("", "allocatable_") if exact else ("",)
    amounts = [Column(f"{key}{name}", name.upper(), right=True) for name in ("pods", *resources) for key in keys]
    if label is not None:
        groups = status.groups(label)
        if set(groups) == {None}:
            raise _no_label(label, status)
        rows = [
            {
                label: value if exact or value is not None else WITHOUT,
                "nodes": len(nodes),
                "ready": sum(node.is_ready for node in nodes),
            }
            | _amounts(nodes, resources, exact)
            for value, nodes in groups.items()
        ]
        first = [Column(label, label), Column("nodes", "NODES", right=True), Column("ready", "READY", right=True)]
        return rows, [*first, *amounts]
    if by_node:
        rows = [
            {"node": load.node.metadata.name, "state": load.state} | _amounts([load], resources, exact)
            for load in status.nodes
        ]
        return rows, [Column("node", "NODE"), Column("state", "STATE"), *amounts]
    return [_resource_document(load) for load in status.resources], list(RESOURCE_COLUMNS)


def _no_label(label: str, status: Status) -> CommandError:
    known = sorted({key for load in status.nodes for key in load.node.metadata.labels})
    near = difflib.get_close_matches(label, known, 3, 0.75) or [key for key in known if label in key]
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(known[:NAMED]) or 'none'}"
    return CommandError(f"--by {label}: no node has that label", hint, USAGE)


def _amounts(nodes: Sequence[NodeLoad], resources: Sequence[str], exact: bool) -> dict[str, Any]:
    """What these nodes hold of what they have; numbers for programs, 6 of 8 (75%) for people."""
    cells: dict[str, Any] = {}
    for name in ("pods", *resources):
        used, there = sum(node.used[name] for node in nodes), sum(node.allocatable[name] for node in nodes)
        if exact:
            cells[name] = used
            cells[f"allocatable_{name}"] = there
        else:
            share = f" ({_percent(used / there)})" if there and name != "pods" else ""
            whole = amount_text(name, there) if there or not used else UNTOLD
            cells[name] = f"{amount_text(name, used)} of {whole}{share}"
    return cells


def _resource_document(load: ResourceLoad) -> dict[str, Any]:
    return {
        "resource": load.resource,
        "used": load.used,
        "free": load.free,
        "of": load.allocatable,
        "utilisation": load.utilisation,
        "mostFree": load.most_free,
    }


def status_document(status: Status, rows: list[dict[str, Any]] | None, label: str | None) -> dict[str, Any]:
    """Everything, for programs."""
    document: dict[str, Any] = {
        "nodes": len(status.nodes),
        "ready": sum(node.is_ready for node in status.nodes),
        "cordoned": sum(node.is_unschedulable for node in status.nodes),
        "podsOnNodes": status.num_running,
        "podsWaiting": status.num_waiting,
        "resources": [_resource_document(load) for load in status.resources],
        "waiting": [
            {"reason": one.reason, "pods": one.num_pods, "longestSeconds": one.longest, "pod": one.pod}
            | ({"job": one.job} if one.job else {})
            for one in status.waiting
        ],
    }
    if rows is not None:
        document["perNode" if label is None else "perLabel"] = rows
    return document


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _indented(rows: Sequence[dict[str, Any]], columns: Sequence[Column]) -> list[str]:
    return [f"  {line}" for line in plain_table(rows, columns).splitlines()]

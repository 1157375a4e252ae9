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
WAITING_COLUMNS = (
    Column("pods", "PODS", right=True),
    Column("reason", "REASON"),
    Column("longest", "LONGEST", right=True),
    Column("pod", "POD"),
)


def summary_lines(found: Status, when: str) -> list[str]:
    """What there is, what is free, who waits: `when` says of which moment."""
    ready = sum(one.is_ready for one in found.nodes)
    cordoned = sum(one.is_unschedulable for one in found.nodes)
    parts = [when]
    parts.append(nodes_text(len(found.nodes)))
    parts += [f"{count_text(len(found.nodes) - ready)} not ready"] if ready < len(found.nodes) else []
    parts += [f"{count_text(cordoned)} cordoned"] if cordoned else []
    parts += [f"{pods_text(found.num_running)} on nodes", f"{count_text(found.num_waiting)} waiting"]
    lines = [" · ".join(parts)]
    if found.resources:
        lines += ["", *_indented([_resource_row(one) for one in found.resources], RESOURCE_COLUMNS)]
    if found.waiting:
        rows = [
            {"pods": one.num_pods, "reason": one.reason, "longest": length_text(one.longest), "pod": one.pod}
            for one in found.waiting
        ]
        lines += ["", *_indented(rows, WAITING_COLUMNS)]
    return lines


def _resource_row(one: ResourceLoad) -> dict[str, Any]:
    name = one.resource
    return {
        "resource": name,
        "used": amount_text(name, one.used),
        "free": amount_text(name, one.free),
        "of": amount_text(name, one.allocatable),
        "utilisation": _percent(one.utilisation),
        "mostFree": amount_text(name, one.most_free),
    }


def status_table(
    found: Status, by_node: bool, label: str | None, resources: Sequence[str], *, exact: bool
) -> tuple[list[dict[str, Any]], list[Column]]:
    """Rows of nodes, of groups of nodes, or, if neither is wanted, of resources."""
    keys = ("", "allocatable_") if exact else ("",)
    amounts = [Column(f"{key}{name}", name.upper(), right=True) for name in ("pods", *resources) for key in keys]
    if label is not None:
        groups = found.groups(label)
        if set(groups) == {None}:
            raise _no_label(label, found)
        rows = [
            {
                label: value if exact or value is not None else WITHOUT,
                "nodes": len(some),
                "ready": sum(one.is_ready for one in some),
            }
            | _amounts(some, resources, exact)
            for value, some in groups.items()
        ]
        first = [Column(label, label), Column("nodes", "NODES", right=True), Column("ready", "READY", right=True)]
        return rows, [*first, *amounts]
    if by_node:
        rows = [
            {"node": one.node.metadata.name, "state": one.state} | _amounts([one], resources, exact)
            for one in found.nodes
        ]
        return rows, [Column("node", "NODE"), Column("state", "STATE"), *amounts]
    return [_resource_document(one) for one in found.resources], list(RESOURCE_COLUMNS)


def _no_label(label: str, found: Status) -> CommandError:
    known = sorted({key for one in found.nodes for key in one.node.metadata.labels})
    near = difflib.get_close_matches(label, known, 3, 0.75) or [key for key in known if label in key]
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(known[:NAMED]) or 'none'}"
    return CommandError(f"--by {label}: no node has that label", hint)


def _amounts(nodes: Sequence[NodeLoad], resources: Sequence[str], exact: bool) -> dict[str, Any]:
    """What these nodes hold of what they have; numbers for programs, 6 of 8 (75%) for people."""
    cells: dict[str, Any] = {}
    for name in ("pods", *resources):
        used, there = sum(one.used[name] for one in nodes), sum(one.allocatable[name] for one in nodes)
        if exact:
            cells[name] = used
            cells[f"allocatable_{name}"] = there
        else:
            share = f" ({_percent(used / there)})" if there and name != "pods" else ""
            cells[name] = f"{amount_text(name, used)} of {amount_text(name, there)}{share}"
    return cells


def _resource_document(one: ResourceLoad) -> dict[str, Any]:
    return {
        "resource": one.resource,
        "used": one.used,
        "free": one.free,
        "of": one.allocatable,
        "utilisation": one.utilisation,
        "mostFree": one.most_free,
    }


def status_document(found: Status, rows: list[dict[str, Any]] | None, label: str | None) -> dict[str, Any]:
    """Everything, for programs."""
    document: dict[str, Any] = {
        "nodes": len(found.nodes),
        "ready": sum(one.is_ready for one in found.nodes),
        "cordoned": sum(one.is_unschedulable for one in found.nodes),
        "podsOnNodes": found.num_running,
        "podsWaiting": found.num_waiting,
        "resources": [_resource_document(one) for one in found.resources],
        "waiting": [
            {"reason": one.reason, "pods": one.num_pods, "longestSeconds": one.longest, "pod": one.pod}
            for one in found.waiting
        ],
    }
    if rows is not None:
        document["perNode" if label is None else "perLabel"] = rows
    return document


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _indented(rows: Sequence[dict[str, Any]], columns: Sequence[Column]) -> list[str]:
    return [f"  {line}" for line in plain_table(rows, columns).splitlines()]

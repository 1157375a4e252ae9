"""`fairway status`: what is free, who waits?

In: a run and a time of it. Out: resources with what is held and what is free, pods that wait by reason, and, if asked
for, every node or the nodes of each value of a label. Called by `fairway.cli.main`; `run_status` reads the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.amounts import amount_text, count_text, nodes_text
from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, plain_table
from fairway.cli.run_options import at_option, check_time, length_text, run_option, time_text

if TYPE_CHECKING:
    from fairway.cli.run_status import NodeLoad, ResourceLoad, Status

__all__ = ["status"]

HELP = """\b
Examples:
  fairway status --run day.duckdb --at 12h                      at noon: what is free, who waits?
  fairway status --run day.duckdb --at 00:14:09 --nodes         and on every node?
  fairway status --run day.duckdb --by topology.kubernetes.io/zone
  fairway status --run day.duckdb -o json

Show how the cluster of a run stood at one time, the end unless --at says otherwise. What is held counts from binding
on. Only ready nodes count towards what there is; FREE ON ONE NODE is the largest piece that a pod could get. A waiting
pod counts once, for the reason that refused most nodes at its last attempt.
"""

RESOURCE_COLUMNS = (
    Column("resource", "RESOURCE"),
    Column("used", "USED", right=True),
    Column("free", "FREE", right=True),
    Column("of", "OF", right=True),
    Column("utilisation", "UTILISATION", right=True),
    Column("mostFree", "FREE ON ONE NODE", right=True),
)
WAITING_COLUMNS = (
    Column("pods", "PODS", right=True),
    Column("reason", "REASON"),
    Column("longest", "LONGEST", right=True),
    Column("pod", "POD"),
)


@click.command(name="status", cls=Command, help=HELP, context_settings=CONTEXT, short_help="What is free, who waits?")
@run_option
@at_option
@click.option("--nodes", "by_node", is_flag=True, help="Every node.")
@click.option("--by", "label", metavar="LABEL", help="The nodes of each value of this label together.")
@output_option
def status(run_path: str | None, at: float | None, by_node: bool, label: str | None, output: str) -> None:
    """See HELP, which is what users read."""
    from fairway.cli.run_status import read_status
    from fairway.record import Run

    context = click.get_current_context()
    if run_path is None:
        raise click.UsageError("--run is missing: name a run that `fairway sim --save RUN` wrote", context)
    if by_node and label is not None:
        raise click.UsageError("--nodes and --by exclude each other", context)
    with Run.open(run_path) as run:
        found = read_status(run, check_time(run, at))
        end, resources = run.end_seconds, [one for one in run.resources if _is_there(one, found)]
    rows, columns = _table(found, by_node, label, resources, exact=is_structured(output))
    if is_structured(output):
        emit(rows, columns, output, _document(run_path, found, rows if by_node or label else None, label))
        return
    click.echo("\n".join(_summary_lines(found, end)))
    if by_node or label is not None:
        click.echo()
        emit(rows, columns, output)
    if found.waiting:
        which = f"--run {shlex.quote(run_path)} --at {shlex.quote(time_text(found.at))}"
        narrate(f"→ fairway why {found.waiting[0].pod} {which}")


def _is_there(resource: str, found: Status) -> bool:
    return any(one.allocatable[resource] for one in found.nodes)


def _summary_lines(found: Status, end: float) -> list[str]:
    ready = sum(one.is_ready for one in found.nodes)
    cordoned = sum(one.is_unschedulable for one in found.nodes)
    parts = [time_text(found.at) + (f" of {time_text(end)}" if found.at != end else "")]
    parts.append(nodes_text(len(found.nodes)))
    parts += [f"{count_text(len(found.nodes) - ready)} not ready"] if ready < len(found.nodes) else []
    parts += [f"{count_text(cordoned)} cordoned"] if cordoned else []
    parts += [f"{count_text(found.num_running)} pods on nodes", f"{count_text(found.num_waiting)} waiting"]
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


def _table(
    found: Status, by_node: bool, label: str | None, resources: Sequence[str], *, exact: bool
) -> tuple[list[dict[str, Any]], list[Column]]:
    """Rows of nodes, of groups of nodes, or, if neither is wanted, of resources."""
    keys = ("", "allocatable_") if exact else ("",)
    amounts = [Column(f"{key}{name}", name.upper(), right=True) for name in ("pods", *resources) for key in keys]
    if label is not None:
        groups = found.groups(label)
        rows = [
            {label: value, "nodes": len(some), "ready": sum(one.is_ready for one in some)}
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


def _document(path: str, found: Status, rows: list[dict[str, Any]] | None, label: str | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "run": path,
        "atSeconds": found.at,
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

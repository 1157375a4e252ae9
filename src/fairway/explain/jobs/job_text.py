"""An explained job in words: the answer first, then its members, where there is room and who holds the rest, the member
in the way with its funnel, and the changes that would help.

In: a `JobExplanation`. Out: lines of text. Times until which others hold room are told by the clock of the caller.
Called by `job_answer` and by `try`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fairway.cycle.funnel import funnel_lines
from fairway.cycle.groups.group_decision import GroupOutcome
from fairway.cycle.groups.job_members import Kind
from fairway.explain.jobs.job_explanation import SHOWN, JobExplanation
from fairway.explain.jobs.job_fixes import short_key
from fairway.explain.jobs.job_room import DomainRoom, Holder
from fairway.model.group import WITH_OBJECT, GroupSpec, Spelling
from fairway.tables import Column, plain_table
from fairway.words import amount_text, count_text, length_text, nodes_text

__all__ = ["Clock", "headline", "job_lines"]

Clock = Callable[[float], str]
"""A time in seconds since 1970, as people read it."""
NAMED: Final = 3
"""So many holders of a domain are named."""
SAID_BY: Final = {
    Spelling.KOORDINATOR: "Koordinator",
    Spelling.PFNET: "pfnet",
    Spelling.FAIRWAY: "fairway.dev/gang",
    Spelling.CONTROLLER: "its controller",
}


def headline(about: JobExplanation) -> str:
    """The answer in one line."""
    known, spec = about.known, about.spec
    job = f"job {about.group.key}"
    said = "PodGroup" if about.group.key.spelling in WITH_OBJECT else SAID_BY[about.group.key.spelling]
    least = "" if about.min_count is None else f" (min {about.min_count}, {said})"
    waits = "waits" if known.waited is None else f"waits, {length_text(known.waited)}"
    match about.state:
        case "misconfigured" | "dependent":
            parts = [f"{job} {waits}", about.message]
        case "incomplete" if spec is None:
            parts = [f"{job} {waits}", about.message]
        case "incomplete":
            gated = f", {about.group.num_gated} of them gated" if about.group.num_gated else ""
            parts = [f"{job} {waits}", f"{about.num_there} of {about.total} members are there{gated}{least}"]
        case "started":
            on = {placed.row for uid in about.group.bound if (placed := about.profile.cluster.pods.by_uid.get(uid))}
            where = f" on {nodes_text(len(on))}" if on else ""
            parts = [f"{job} has started", f"{about.group.num_scheduled} of {about.total} members run{where}{least}"]
            if about.waiting:
                parts.append(f"{len(about.waiting)} more wait")
        case "fits":
            assert about.decision is not None
            where = f" in {about.decision.domain}" if about.decision.domain else ""
            nodes = {member.node for member in about.decision.members if member.node}
            fit = f"{about.num_fitting} of {about.total} members fit{where}, on {nodes_text(len(nodes))}{least}"
            parts = [f"{job} {'could start now' if known.waited is None else waits + ', and could start now'}", fit]
        case _:
            parts = [f"{job} {waits}", f"{about.num_fitting} of {about.total} members fit{least}"]
            if about.decision is not None and about.decision.outcome is GroupOutcome.PREEMPTING:
                parts.append(f"makes room by evicting {count_text(len(about.decision.victims))} pods")
            elif about.decision is not None and about.decision.never_fits:
                parts.append("can never fit on these nodes")
            elif about.decision is not None and about.decision.is_exhausted:
                parts.append(f"search stopped after {about.decision.num_backtracks}")
    parts += _with_others(about)
    if known.attempts:
        parts.append(f"attempt {known.attempts}")
    if about.state == "waits" and known.next_try is not None:
        parts.append(_next_text(about, known.next_try.seconds))
    return " · ".join(parts)


def _with_others(about: JobExplanation) -> list[str]:
    """With which jobs it starts, in a part of the line."""
    if not about.companions or about.state not in ("fits", "waits"):
        return []
    names = ", ".join(str(each.key) for each in about.companions)
    return [f"together with {'job' if len(about.companions) == 1 else 'jobs'} {names}"]


def _next_text(about: JobExplanation, seconds: float) -> str:
    """What it is tried upon, and when at the latest."""
    if not seconds:
        return "next try at once"
    if about.decision is not None and about.decision.outcome is GroupOutcome.PREEMPTING:
        what = "these are gone"
    else:
        what = f"a {short_key(about.resource)} node changes" if "/" in about.resource else "a node changes"
    return f"next try when {what}, or in {length_text(seconds)}"


def job_lines(about: JobExplanation, clock: Clock) -> list[str]:
    """The whole answer."""
    lines = [headline(about)]
    lines += [_kind_line(about, kind) for kind in about.kinds]
    if about.state == "fits" and about.decision is not None:
        counts: dict[str, int] = {}
        for member in about.decision.members:
            if member.node:
                counts[member.node] = counts.get(member.node, 0) + 1
        placed = ", ".join(f"{number} on {node}" for node, number in sorted(counts.items())[:SHOWN])
        more = f" and {len(counts) - SHOWN} nodes more" if len(counts) > SHOWN else ""
        return [*lines, f"    {placed}{more}"]
    if about.state == "incomplete":
        lines.append(_makers_line(about))
    if about.rooms:
        lines += _room_lines(about, clock)
    if about.blocking is not None:
        lines += _blocking_lines(about)
    elif about.message and about.state == "waits":
        lines.append(f"  {about.message}")
    if about.decision is not None and about.decision.victims:
        lines.append(f"  evicts  {', '.join(victim.pod.key for victim in about.decision.victims)}")
    for number, fix in enumerate(about.fixes):
        lines.append(f"  {'fix' if not number else '   '}  {fix.line}")
    if about.decision is not None and about.state == "waits" and not about.fixes and not about.decision.victims:
        lines.append("  no single change that was tried lets it start")
    return lines


def _kind_line(about: JobExplanation, kind: Kind) -> str:
    amounts = [
        f"{amount_text(name, amount)} {short_key(name)}" for name, amount in kind.pod_class.requests.items() if amount
    ]
    spec = about.spec
    topology = ""
    if isinstance(spec, GroupSpec) and spec.topology is not None:
        how = "required" if spec.topology.is_required else "preferred"
        topology = f", tightest: {short_key(spec.topology.keys[0])} ({how})"
    if isinstance(spec, GroupSpec) and spec.one_per_node:
        topology += ", one per node"
    return f"  {len(kind)} × {_kind_name(kind)}   {', '.join(amounts) or 'no requests'}{topology}"


def _makers_line(about: JobExplanation) -> str:
    """Who made the members that are there: whoever makes the others is to be asked why they are not."""
    makers = sorted(about.makers.items(), key=lambda maker: (-maker[1], maker[0]))
    named = [f"{count_text(number)} by {name or 'no controller'}" for name, number in makers[:NAMED]]
    more = [f"others by {len(makers) - NAMED} more"] if len(makers) > NAMED else []
    return f"  made    {', '.join([*named, *more])}"


def _kind_name(kind: Kind) -> str:
    """What its pods are called, without their numbers."""
    names = sorted({re.sub(r"[-.]\d+$", "", pod.metadata.name) for pod in kind.pods})
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def _room_lines(about: JobExplanation, clock: Clock) -> list[str]:
    spec = about.spec
    assert isinstance(spec, GroupSpec)
    word = short_key(spec.topology.keys[0]) if spec.topology is not None else "nodes"
    shown = about.rooms[:SHOWN]
    rows = [
        {
            "domain": room.name or f"all {count_text(room.num_nodes)}",
            "slots": count_text(room.slots),
            "held": _held_text(about, room, clock),
        }
        for room in shown
    ]
    columns = [Column("domain", word.upper()), Column("slots", "SLOTS", right=True)]
    columns.append(Column("held", "WHO HOLDS THE REST"))
    lines = [f"    {line}" for line in plain_table(rows, columns).splitlines()]
    rest = about.rooms[SHOWN:]
    if rest:
        lines.append(f"    and {len(rest)} {word}{'s' * (len(rest) != 1)} with {rest[0].slots} or fewer")
    return lines


def _held_text(about: JobExplanation, room: DomainRoom, clock: Clock) -> str:
    holders = about.holders.get(room.name, [])
    named = [_holder_text(one, about.resource, clock) for one in holders[:NAMED]]
    more = [f"and {len(holders) - NAMED} more"] if len(holders) > NAMED else []
    return ", ".join([*named, *more]) or "nobody"


def _holder_text(holder: Holder, resource: str, clock: Clock) -> str:
    until = "no limit" if holder.until is None else f"until {clock(holder.until)} at the latest"
    return f"{holder.name} {amount_text(resource, holder.amount)} {short_key(resource)} {until}"


def _blocking_lines(about: JobExplanation) -> list[str]:
    assert about.blocking is not None
    assert about.decision is not None
    where = f" in {about.decision.domain}" if about.decision.domain else ""
    label = f"  blocking  {about.blocking.pod.metadata.name}{where}:"
    diagnosis = about.blocking.diagnosis
    if diagnosis is None or not about.funnel:
        return [f"{label} {about.blocking.message}"]
    first, *others = funnel_lines(about.funnel, diagnosis.num_nodes)
    return [f"{label}{first}", *(f"{'':{len(label)}}{line}" for line in others)]

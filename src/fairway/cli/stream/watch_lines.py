"""Events of a stream as lines: aligned for people, or a JSON document for programs.

In: an event. Out: one line. Used by `fairway watch`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fairway.stream.told import (
    Attempt,
    Bound,
    Event,
    JobAttempt,
    NodeSeen,
    PodSeen,
    Preempted,
    QueueMove,
    Snapshot,
    Told,
    Unbound,
)
from fairway.words import amount_text, clock_text, length_text, nodes_text, pods_text, visible

__all__ = ["line_of"]

encode = msgspec.json.Encoder().encode


def line_of(number: int, event: Event, output: str) -> str:
    """One line."""
    what = event.what
    if output == "json":
        return f'{{"sequence":{number},"time_seconds":{event.time_seconds!r},{encode(what)[1:].decode()}'
    pod = "" if isinstance(what, NodeSeen | Snapshot | JobAttempt) else f"{what.pod.namespace}/{what.pod.name}"
    words = visible(" ".join(filter(None, (pod, _words(what)))), one_line=True)
    return f"{_time(event.time_seconds)}  {what.__struct_config__.tag:<9}  {words}"


def _time(seconds: float) -> str:
    """Always with thousandths: lines stand below each other."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{clock_text(whole)}.{thousandths:03}"


def _words(what: Told) -> str:  # noqa: PLR0911 - a case for each kind
    match what:
        case Attempt(outcome="scheduled"):
            fitted = f", {nodes_text(what.num_feasible)} fitted" if what.num_feasible else ""  # else nobody told
            return f"→ {what.node} (attempt {what.attempt}{fitted})"
        case Attempt():
            return f"{what.outcome}, attempt {what.attempt}: {what.message}"
        case JobAttempt():
            job = f"{what.job.namespace}/{what.job.name}"
            if what.outcome == "scheduled":
                return f"{job}: {what.num_placed} of {pods_text(what.num_members)} placed (attempt {what.attempt})"
            return f"{job} {what.outcome}, attempt {what.attempt}: {what.message}"
        case QueueMove():
            return f"{what.origin or '-'} → {what.place or '-'} ({what.event})"
        case Bound():
            return f"on {what.node}: {_amounts(what.held)}"
        case Unbound():
            return f"left {what.node} after {length_text(what.held_seconds)}: {what.reason}"
        case PodSeen():
            return what.change
        case NodeSeen():
            return f"{what.node} {what.change}"
        case Preempted():
            return f"has to leave {what.node} for {what.by.namespace}/{what.by.name}"
        case Snapshot():
            nodes, bound = nodes_text(len(what.nodes)), pods_text(len(what.bound))
            return f"{nodes}, {bound} on them, {len(what.queue)} waiting"


def _amounts(held: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {amount_text(name, amount)}" for name, amount in sorted(held.items())) or "nothing"

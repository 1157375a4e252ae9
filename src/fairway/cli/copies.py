"""How many copies of a pod fit: `fairway try --copies`.

In: a trial before its first pod, and a number of copies (0: as many as fit). Out: for everything that wants pods, how
many copies of its pod find a place when it has the cluster to itself, on which nodes, and what stops the next one.
Called by `try`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from fairway.cli.output import Column, emit, is_structured, narrate, progress, say
from fairway.cycle.funnel import Step, funnel_document, funnel_lines
from fairway.exit_codes import FAILED, NO
from fairway.explain.trial import Trial, Verdict
from fairway.kinds.controllers import MAX_PODS, Wanted
from fairway.words import nodes_text

__all__ = ["Copies", "count_copies", "print_copies"]

COLUMNS: Final = (
    Column("from", "FROM"),
    Column("fit", "FIT", right=True),
    Column("of", "OF", right=True),
    Column("nodes", "NODES", right=True),
    Column("stopped_by", "STOPPED BY"),
    Column("per_node", "PER NODE", wide=True),
)


@dataclass(slots=True)
class Copies:
    """How many fitted."""

    wanted: Wanted
    num_fit: int = 0
    per_node: Counter[str] = field(default_factory=Counter)
    last: Verdict | None = None  # the first that did not fit

    @property
    def stopped_by(self) -> str:
        """What kept the next copy out, shortly."""
        if self.last is None:
            return ""
        funnel: tuple[Step, ...] = self.last.funnel
        return max(funnel, key=lambda step: step.num_refused).words if funnel else self.last.message

    @property
    def evicts(self) -> list[str]:
        """Who would have to go for one copy more, if that would help."""
        decision = self.last.decision if self.last is not None else None
        if decision is None or decision.preemption is None or decision.preemption.chosen is None:
            return []
        return [victim.key for victim in decision.preemption.chosen.victims]


def count_copies(trial: Trial, wanted: Wanted, limit: int) -> Copies:
    """Place copies until one does not fit. `trial` is used up."""
    found = Copies(wanted)
    with progress(wanted.title, limit) as advance:
        for pod in trial.pods_of(wanted, range(limit)):
            verdict = trial.place(pod, wanted, evict=False)
            if not verdict.is_placed:
                found.last = verdict
                break
            found.num_fit += 1
            found.per_node[verdict.node] += 1
            advance(1)
    return found


def print_copies(trial: Trial, copies: int, output: str) -> int:
    """Count and print; the exit code is 0 if all copies fit, or at least one where as many as fit are wanted."""
    limit = copies or MAX_PODS
    results = []
    for wanted in trial.manifests.wanted:
        if wanted.kind == "DaemonSet":
            narrate(f"{wanted.title} has one pod on each node; there is nothing to count")
            continue
        results.append(count_copies(trial.again(), wanted, limit))
        if results[-1].num_fit == MAX_PODS and not copies:
            narrate(f"{wanted.title}: stopped after {MAX_PODS} copies; more may fit")
    rows = [_row(one, copies) for one in results]
    emit(rows, COLUMNS, output, [_document(one, copies) for one in results])
    if not is_structured(output):
        for one in results:
            if one.last is not None:
                say(f"\n{one.wanted.title}, copy {one.num_fit + 1}: {one.last.message}")
                if one.last.funnel:
                    say("\n".join(funnel_lines(one.last.funnel, trial.manifests.num_nodes)))
                if one.evicts:
                    say(f"  it would fit after evicting {', '.join(one.evicts)}")
        if results:
            say("\n" + "\n".join(_summary(one, copies) for one in results))
    enough = copies or 1
    if any(one.last is not None and one.last.result == "error" for one in results):
        return FAILED
    return 0 if all(one.num_fit >= enough for one in results) else NO


def _summary(one: Copies, copies: int) -> str:
    """In one line how many fit: `Deployment shop/web: 23 copies fit, on 8 nodes`."""
    number = f"{one.num_fit} of {copies}" if copies else f"{one.num_fit}"
    where = f", on {nodes_text(len(one.per_node))}" if one.num_fit else ""
    noun = "copy fits" if one.num_fit == 1 and not copies else "copies fit"
    return f"{one.wanted.title}: {number} {noun}{where}"


def _row(one: Copies, copies: int) -> dict[str, Any]:
    return {
        "from": one.wanted.title,
        "fit": one.num_fit,
        "of": copies or None,
        "nodes": len(one.per_node),
        "stopped_by": one.stopped_by or None,
        "per_node": [f"{node} {number}" for node, number in sorted(one.per_node.items())],
    }


def _document(one: Copies, copies: int) -> dict[str, Any]:
    return {
        "from": one.wanted.title,
        "fit": one.num_fit,
        "of": copies or None,
        "perNode": dict(sorted(one.per_node.items())),
        "message": one.last.message if one.last else None,
        "evicts": one.evicts,
        "funnel": funnel_document(one.last.funnel) if one.last else [],
    }

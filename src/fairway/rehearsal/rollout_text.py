"""How roll-outs are shown: `fairway try` and `fairway.try_` for a template that changed.

In: `RolloutAnswer`s. Out: `PlayedRollout`s, for the answer of a trial: lines for people (a table of steps, then what it
comes to) and a document for programs. Called by the command and by the library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from fairway.cycle.funnel import funnel_document, funnel_lines
from fairway.explain.try_answer import PlayedRollout
from fairway.explain.workloads.staged_rollout import StagedRollout
from fairway.model import DaemonSet, Deployment, StatefulSet
from fairway.rehearsal.rollout_play import RolloutAnswer
from fairway.rehearsal.rollout_watch import RolloutStep

__all__ = ["played", "rollout_document", "rollout_lines"]

FIRST, LAST = 12, 4
"""Of more steps than both, only so many at the beginning and at the end are shown."""
NAMED: Final = 4


def played(answer: RolloutAnswer, num_nodes: int) -> PlayedRollout:
    """As the answer of a trial has it."""
    lines = tuple(rollout_lines(answer, num_nodes))
    return PlayedRollout(answer.rollout.title, answer.is_complete, lines, rollout_document(answer))


def rollout_lines(answer: RolloutAnswer, num_nodes: int) -> list[str]:
    """For people."""
    lines = [f"roll-out of {answer.rollout.title}: {_strategy(answer)}"]
    if answer.steps:
        lines.append("  STEP   OLD   NEW   AVAILABLE   WAITING   WHAT")
    shown = list(enumerate(answer.steps, 1))
    if len(shown) > FIRST + LAST:
        left_out = len(shown) - FIRST - LAST
        lines += [_line(number, step) for number, step in shown[:FIRST]]
        lines.append(f"   ...   {left_out} steps more (-o json has all)")
        shown = shown[-LAST:]
    lines += [_line(number, step) for number, step in shown]
    lines += _outcome(answer, num_nodes)
    return lines


def rollout_document(answer: RolloutAnswer) -> dict[str, Any]:
    """For programs."""
    stuck = answer.stuck
    return {
        "from": answer.rollout.title,
        "complete": answer.is_complete,
        "new": answer.num_new,
        "wanted": answer.num_wanted,
        "mostPods": answer.most_pods,
        "leastAvailable": answer.least_available,
        "waiting": list(answer.waiting),
        "evicts": list(answer.evicted),
        "fix": answer.fix or None,
        "message": stuck.message if stuck else None,
        "funnel": funnel_document(stuck.funnel) if stuck else [],
        "steps": [
            {
                **({"stage": step.stage} if step.stage else {}),
                "made": step.made,
                "placed": step.placed,
                "ready": step.ready,
                "gone": step.gone,
                "old": step.old,
                "new": step.new,
                "available": step.available,
                "waiting": step.waiting,
            }
            for step in answer.steps
        ],
    }


def _line(number: int, step: RolloutStep) -> str:
    numbers = f"{number:>6}{step.old:>6}{step.new:>6}{step.available:>12}{step.waiting:>10}"
    stage = f"{step.stage}: " if step.stage else ""
    return f"{numbers}   {stage}{', '.join(_events(step))}"


def _events(step: RolloutStep) -> Iterator[str]:
    if step.gone:
        yield f"{step.gone} old gone"
    if step.ready:
        yield f"{step.ready} new ready"
    if step.made:
        yield f"{step.made} new made"
    if step.placed:
        nodes = [f"{node} {number}" if number > 1 else node for node, number in sorted(Counter(step.placed).items())]
        more = f" and {len(nodes) - NAMED} nodes more" if len(nodes) > NAMED else ""
        yield f"{len(step.placed)} placed on {', '.join(nodes[:NAMED])}{more}"


def _strategy(answer: RolloutAnswer) -> str:
    if isinstance(answer.rollout, StagedRollout):
        return answer.rollout.plan.words
    thing = answer.rollout.after()
    match thing:
        case Deployment():
            rolling = thing.spec.strategy.rolling_update
            if thing.spec.strategy.type == "Recreate" or rolling is None:
                return "Recreate, all old pods go first"
            return f"maxSurge {rolling.max_surge}, maxUnavailable {rolling.max_unavailable}"
        case DaemonSet():
            daemons = thing.spec.update_strategy.rolling_update
            if daemons is None:
                return "OnDelete"
            return f"maxSurge {daemons.max_surge}, maxUnavailable {daemons.max_unavailable}"
        case StatefulSet():
            pods = thing.spec.update_strategy.rolling_update
            if pods is None:
                return "OnDelete"
            return f"from the last to the first, partition {pods.partition}, maxUnavailable {pods.max_unavailable}"


def _outcome(answer: RolloutAnswer, num_nodes: int) -> Iterator[str]:
    if answer.remark:
        yield f"  {answer.remark}"
    elif answer.is_complete:
        limits = f"at most {answer.most_pods} at a time, never fewer than {answer.least_available} available"
        yield f"  it comes through: {answer.num_new} new pods, {limits}"
    else:
        yield f"  it gets stuck: {answer.num_new} of {answer.num_wanted} pods are new, {_waiting(answer)}"
    if answer.evicted:
        yield f"  it evicts {', '.join(answer.evicted[:NAMED])}"
    if answer.stuck is not None:
        yield f"  {answer.stuck.message}"
        if answer.stuck.funnel:
            yield from funnel_lines(answer.stuck.funnel, num_nodes)
    if answer.fix:
        yield f"  fix  {answer.fix} → it comes through"


def _waiting(answer: RolloutAnswer) -> str:
    names = answer.waiting
    if not names:
        return "and none of the others is made"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more} {'fits' if len(names) == 1 else 'fit'} nowhere"

"""One attempt of a run, made again: is it the decision that was recorded?

In: a row of `decisions`, and what the same scheduler decides now on the cluster as it was then. Out: a `Replayed`: the
same, another of several that chance could have chosen, or something else, with the reason. Called by `run_replay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fairway.cycle import Decision, Outcome, Profile
from fairway.cycle.decision import Stop
from fairway.cycle.placing import settle
from fairway.words import time_text

__all__ = ["Replayed", "Result", "compare_decision", "decision_words", "recorded_words"]

Result = Literal["same", "lot", "sample", "error", "unlike"]
"""`lot`: another of several equally good nodes; `sample`: another node that fits, where only some were looked at;
`error`: the attempt ended in an error, and is not made again; `unlike`: something else."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One attempt, and what became of it this time."""

    recorded: dict[str, Any]  # its row of `decisions`
    result: Result
    words: str = ""  # what is decided now
    why: str = ""  # why it is different, as far as one can tell

    def sentence(self) -> str:
        """For people."""
        row = self.recorded
        head = f"{row['pod']}, attempt {row['attempt']} at {time_text(row['time_seconds'])}"
        return f"{head}: it {recorded_words(row)}, now it {self.words}{f' ({self.why})' if self.why else ''}"


def compare_decision(row: dict[str, Any], profile: Profile, decision: Decision) -> Replayed:
    """Is this the decision that was recorded?"""
    if decision_words(decision) == recorded_words(row):
        return Replayed(row, "same")
    if decision.outcome is Outcome.SCHEDULED and row["outcome"] == "scheduled":
        return _other_node(row, profile, decision)
    preemption = decision.preemption
    if row["nominated_node"] and preemption is not None and preemption.ties > 1:
        names = profile.cluster.nodes.names
        if row["nominated_node"] in {names[candidate.row] for candidate in preemption.candidates}:
            return Replayed(row, "lot", decision_words(decision))
    if decision.outcome is Outcome.SCHEDULED and (refused := _refused(profile, decision)) is not None:
        # After a node was chosen, reserve or permit said no.
        return Replayed(row, "same" if row["outcome"] == "unschedulable" else "unlike", "was refused", refused)
    why = decision.message if decision.outcome is not Outcome.SCHEDULED else row["message"] or ""
    return Replayed(row, "unlike", decision_words(decision), why)


def _other_node(row: dict[str, Any], profile: Profile, decision: Decision) -> Replayed:
    inspection, node = profile.inspect(decision.pod), row["node"]
    words = decision_words(decision)
    if node not in inspection.feasible:
        no = next(
            (f"{who}: {', '.join(said.reasons)}" for who, said, names in inspection.rejected if node in names), ""
        )
        return Replayed(row, "unlike", words, f"{node} does not fit: {no}" if no else f"there is no {node}")
    if decision.num_feasible < len(inspection.feasible) or not profile.sampler.takes_all:
        return Replayed(row, "sample", words)
    if node in inspection.best or decision.score is None:
        return Replayed(row, "lot", words)
    why = f"{node} scores {inspection.totals[node]}, {decision.node} {inspection.totals[decision.node]}"
    return Replayed(row, "unlike", words, why)


def _refused(profile: Profile, decision: Decision) -> str | None:
    """Who objects to the chosen node when it comes to taking it; everything is given back."""
    obstacle = settle(profile, decision)
    if isinstance(obstacle, Stop):
        return f"{obstacle.plugin}: {', '.join(obstacle.refusal.reasons)}"
    profile.release(decision.pod, decision.pod_class, decision.row)
    return None


def recorded_words(row: dict[str, Any]) -> str:
    """What became of the pod in the run."""
    if row["node"]:
        return f"went to {row['node']}"
    return f"made room on {row['nominated_node']}" if row["nominated_node"] else f"was {row['outcome']}"


def decision_words(decision: Decision) -> str:
    """What becomes of it now, in the same words."""
    if decision.outcome is Outcome.SCHEDULED:
        return f"went to {decision.node}"
    preemption = decision.preemption
    if preemption is not None and preemption.chosen is not None:
        return f"made room on {preemption.nominated_node}"
    return f"was {decision.outcome.value}"

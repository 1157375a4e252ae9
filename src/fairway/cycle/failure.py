"""When no node fits: why not, and whether the post-filters can make room.

In: the class's answers after the filters refused every row. Out: a `Diagnosis` (every node's refusal by the first
plugin, in order, that gives one) and what the post-filters achieved. `FailedAttempt` is what a plugin's `post_filter`
gets to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes
from fairway.cycle.answers import Answers
from fairway.cycle.decision import Preemption
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.feasibility import Refusals, restricted_rows
from fairway.cycle.preemption import Evaluation, evaluate
from fairway.model import Pod
from fairway.plugin import Code, Plugin, PostFilterResult, Refusal

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile


def diagnose(
    profile: Profile, pod: Pod, answers: Answers, refusals: Refusals, among: NDArray[np.bool_] | None = None
) -> Diagnosis:
    """Every node's refusal, by the first plugin in order that gives one; `among`: of these rows alone."""
    nodes = profile.cluster.nodes
    diagnosis = Diagnosis(nodes.num_rows, nodes.num_alive if among is None else int(np.count_nonzero(among)))
    if answers.restriction is not None:
        names, by = answers.restriction
        diagnosis.restricted_to, diagnosis.restricted_by = names, by
    if answers.pre_filter_refusal is not None:
        diagnosis.pre_filter = diagnosis.elsewhere = answers.pre_filter_refusal
        return diagnosis
    looked_at = nodes.alive[: nodes.num_rows].copy()
    if among is not None:
        looked_at &= among
    own = -1
    if answers.restriction is not None:
        looked_at &= restricted_rows(profile, answers)
        own = nodes.row_of.get(pod.status.nominated_node_name, -1)
        own = -1 if own >= 0 and (looked_at[own] or (among is not None and not among[own])) else own
        if own >= 0:
            looked_at[own] = True  # was looked at first
        words = f"node(s) didn't satisfy plugin(s) [{' '.join(diagnosis.restricted_by)}]"
        diagnosis.elsewhere = ("", Refusal((words,), Code.UNRESOLVABLE))
    diagnose_rows(answers, np.flatnonzero(looked_at), diagnosis)
    for row, (plugin, refusal) in refusals.items():
        diagnosis.refuse(plugin, np.array([row]), refusal)
    if own >= 0 and (found := diagnosis.refusal_of(own)) is not None and found[1].code is Code.ERROR:
        diagnosis.forget(np.array([own]))  # what fails on the way to other nodes is only logged
    return diagnosis


def diagnose_rows(answers: Answers, rows: NDArray[np.intp], diagnosis: Diagnosis) -> NDArray[np.intp]:
    """Walk the filters in order over these rows as they are now; returns the rows nobody refused."""
    cluster = answers.cluster
    for part in answers.filters:
        if not len(rows):
            break
        mask = part.plugin.filter(answers.pod_class, Nodes(cluster, rows), part.state)
        refused = rows[~mask]
        if len(refused):
            words = part.plugin.explain(answers.pod_class, Nodes(cluster, refused), part.state)
            diagnosis.refuse(part.plugin.name, refused, words)
            rows = rows[mask]
    diagnosis.accept(rows)
    return rows


class FailedAttempt:
    """A failed attempt, offered to the post-filters (`fairway.plugin.Attempt`)."""

    def __init__(self, profile: Profile, pod: Pod, answers: Answers, diagnosis: Diagnosis) -> None:
        self.pod = pod
        self.pod_class = answers.pod_class
        self._profile = profile
        self._answers = answers
        self._diagnosis = diagnosis
        self._evaluation: Evaluation | None = None

    def codes(self) -> Sequence[Code | None]:
        """The code of each row's refusal."""
        refusals = map(self._diagnosis.refusal_of, range(len(self._diagnosis.which)))
        return [None if refusal is None else refusal[1].code for refusal in refusals]

    def state_of(self, plugin: Plugin) -> Any:
        """What the plugin's pre-filter prepared; KeyError if a pre-filter before it ended the cycle."""
        position = self._profile.pre_filters.index(plugin) if plugin in self._profile.pre_filters else -1
        if position < 0 or (self._answers.stopped_at is not None and position > self._answers.stopped_at):
            raise KeyError(plugin.name)
        return self._answers.parts[plugin].state

    def preempt(self, min_candidates_percentage: int, min_candidates_absolute: int) -> PostFilterResult:
        """Look for nodes that would fit without some less important pods, and choose the best."""
        self._evaluation = evaluate(
            self._profile,
            self.pod,
            self._answers,
            self._diagnosis,
            min_candidates_percentage,
            min_candidates_absolute,
        )
        return self._evaluation.result

    def post_filter(self) -> Preemption:
        """Ask the post-filters in order until one makes room, or says that nothing can."""
        reasons: list[str] = []
        cleared: tuple[Pod, ...] = ()
        outcome = Preemption(False, Code.UNSCHEDULABLE, ())
        for plugin in self._profile.post_filters:
            result = plugin.post_filter(self)
            outcome.clear_nomination |= result.clear_nomination
            outcome.writes += result.writes
            cleared += result.cleared
            if result.refusal is None:
                outcome.code, reasons = None, []
                break
            if result.refusal.code is not Code.UNSCHEDULABLE:
                outcome.code, reasons = result.refusal.code, list(result.refusal.reasons)
                break
            reasons.extend(result.refusal.reasons)
        outcome.reasons = tuple(reasons)
        if self._evaluation is not None:
            self._evaluation.fill(outcome)
        outcome.cleared += cleared
        return outcome

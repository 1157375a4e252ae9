"""Preemption: which less important pods would have to go, and from which node.

In: a failed attempt. Out: candidates (nodes that would fit without some of their pods), the best of them, and the
words that join the message. For each node all less important pods are imagined gone; if the pod then fits, they are
let back one by one, those whose disruption budget would be violated first, the most important first, and who does not
fit any more is a victim. Nodes are judged together wherever no plugin looks beyond a node. Called through
`FailedAttempt.preempt`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes, Placed
from fairway.cycle.answers import Answers
from fairway.cycle.budgets import split_by_budget
from fairway.cycle.decision import Preemption
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.extender import ExtenderError, ask_preemption
from fairway.cycle.feasibility import refusal_with_nominated, rivals
from fairway.cycle.imagined import first_refusal, fits, imagined
from fairway.model import Pod
from fairway.model.disruption import PREEMPTED, disruption_reason
from fairway.model.group import GroupSpec
from fairway.plugin import Candidate, Code, PostFilterResult, Refusal

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

NOT_HELPFUL = Refusal(("Preemption is not helpful for scheduling",), Code.UNRESOLVABLE)
NO_VICTIMS = Refusal(("No preemption victims found for incoming pod",), Code.UNRESOLVABLE)
NO_CANDIDATE = Refusal(("no candidate node for preemption",))
NEVER = Refusal(("not eligible due to preemptionPolicy=Never.",))
TERMINATING = Refusal(("not eligible due to a terminating pod on the nominated node.",))
NO_GROUP = Refusal(("pod group for pod not found",))
PLACED_AS_GROUP = Refusal(("not eligible due to placement-based pod group scheduling limitation",))
LEFT_TO_GROUP = Refusal(("not eligible due to workload aware preemption enabled",))
PRIORITY_SHIFT = 2**31
"""Added to every priority before summing, so that more victims never look cheaper than fewer."""


@dataclass(slots=True)
class Evaluation:
    """The result, and what the recorder wants to know about how it came about."""

    result: PostFilterResult
    num_potential: int = 0
    ties: int = 0
    nominated_node: str = ""
    cleared: tuple[Pod, ...] = ()

    def fill(self, outcome: Preemption) -> None:
        """Copy into the decision."""
        outcome.attempted = self.num_potential > 0
        outcome.num_potential = self.num_potential
        outcome.candidates = self.result.candidates
        outcome.chosen = self.result.chosen
        outcome.ties = self.ties
        outcome.nominated_node = self.nominated_node
        outcome.cleared = self.cleared


def evaluate(
    profile: Profile, pod: Pod, answers: Answers, diagnosis: Diagnosis, percentage: int, absolute: int
) -> Evaluation:
    """Is there a node on which preemption would help, and which is best?"""
    refusal = _bound_to_group(profile, pod) or _ineligible(profile, pod, diagnosis)
    if refusal is not None:
        return Evaluation(PostFilterResult(refusal))
    potential = _potential_rows(profile, diagnosis)
    statuses = Diagnosis(profile.cluster.nodes.num_rows, profile.cluster.nodes.num_alive)
    statuses.elsewhere = ("", NOT_HELPFUL)
    candidates: list[Candidate] = []
    if len(potential):
        enough = min(max(len(potential) * percentage // 100, absolute), len(potential))
        offset = random_offset(profile, len(potential))
        candidates = _dry_run(profile, pod, answers, np.roll(potential, -offset), enough, statuses)
    if not candidates and (failures := statuses.failures):
        text = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        return Evaluation(PostFilterResult(Refusal((text,), Code.ERROR)), len(potential))
    if not candidates:
        words = Refusal((statuses.message(),))
        return Evaluation(PostFilterResult(words, clear_nomination=True), len(potential))
    if profile.extenders:
        try:
            candidates = ask_preemption(profile.extenders, profile.cluster, pod, candidates)
        except ExtenderError as error:
            return Evaluation(PostFilterResult(Refusal((str(error),), Code.ERROR)), len(potential))
        if not candidates:
            return Evaluation(PostFilterResult(NO_CANDIDATE), len(potential))
    names = profile.cluster.nodes.names
    candidates.sort(key=lambda candidate: names[candidate.row].encode())
    best = _best(profile, candidates)
    row = profile.tie_breaker.choose(np.array([candidate.row for candidate in best], np.intp))
    chosen = next(candidate for candidate in best if candidate.row == row)
    cleared = tuple(other for other in profile.cluster.nominations.on(names[row]) if other.priority < pod.priority)
    result = PostFilterResult(None, chosen, tuple(candidates))
    return Evaluation(result, len(potential), len(best), names[row], cleared)


def random_offset(profile: Profile, num_potential: int) -> int:
    """Where the dry run begins: anywhere, so that not the same nodes are always cleared first."""
    return profile.random.randrange(num_potential)


def _bound_to_group(profile: Profile, pod: Pod) -> Refusal | None:
    """Some members of groups make no room by themselves: kube-scheduler 1.36's default_preemption.go, PostFilter."""
    gangs = profile.gangs
    if gangs is None or gangs.mode != "kube":
        return None
    groups = profile.cluster.groups
    group = groups.of(pod.metadata.uid)
    if group is None:
        return None
    if gangs.topology:
        spec = groups.spec_of(group)
        if not isinstance(spec, GroupSpec):
            return NO_GROUP
        if spec.has_constraints or spec.topology is not None:
            return PLACED_AS_GROUP
    return LEFT_TO_GROUP if gangs.workload_preemption else None


def _ineligible(profile: Profile, pod: Pod, diagnosis: Diagnosis) -> Refusal | None:
    """May this pod preempt others at all?"""
    if pod.spec.preemption_policy == "Never":
        return NEVER
    row = profile.cluster.nodes.row_of.get(pod.status.nominated_node_name, -1)
    if row < 0:
        return None
    refusal = diagnosis.refusal_of(row)
    if refusal is not None and refusal[1].code is Code.UNRESOLVABLE:
        return None
    leaving = (placed.pod for placed in profile.cluster.pods.on_row(row) if placed.pod.priority < pod.priority)
    return TERMINATING if any(_leaves_for_preemption(victim) for victim in leaving) else None


def _leaves_for_preemption(pod: Pod) -> bool:
    return pod.is_terminating and disruption_reason(pod) == PREEMPTED.reason


def _potential_rows(profile: Profile, diagnosis: Diagnosis) -> NDArray[np.intp]:
    """Rows whose refusal might be lifted by removing pods."""
    if diagnosis.pre_filter is not None:
        alive = profile.cluster.nodes.alive[: profile.cluster.nodes.num_rows]
        return np.flatnonzero(alive if diagnosis.pre_filter[1].code is Code.UNSCHEDULABLE else np.zeros_like(alive))
    return diagnosis.rows_with(Code.UNSCHEDULABLE)


# -- dry run -----------------------------------------------------------------------------------------------------------


def _dry_run(
    profile: Profile, pod: Pod, answers: Answers, rows: NDArray[np.intp], enough: int, statuses: Diagnosis
) -> list[Candidate]:
    """Judge rows in order until there are enough candidates, one of them without violating a budget."""
    harmless: list[Candidate] = []
    violating: list[Candidate] = []
    names = profile.cluster.nodes.names
    lowest_of_all = profile.cluster.pods.lowest_priorities(profile.cluster.nodes.num_rows, pod.priority)
    for start in range(0, len(rows), max(enough, 1)):
        chunk = rows[start : start + max(enough, 1)]
        lowest = lowest_of_all[chunk]
        without = chunk[lowest >= pod.priority]
        if len(without):
            statuses.refuse("", without, NO_VICTIMS)
        judged_rows: dict[int, Candidate] = {}
        for row_or_rows in _batches(profile, pod, answers, chunk[lowest < pod.priority], names):
            if isinstance(row_or_rows, int):
                judged = _judge_alone(profile, pod, answers, row_or_rows, statuses)
            else:
                judged = _judge_together(profile, pod, answers, row_or_rows, statuses)
            judged_rows.update((candidate.row, candidate) for candidate in judged)
        for candidate in (judged_rows[row] for row in chunk.tolist() if row in judged_rows):
            group = violating if candidate.pdb_violations else harmless
            if len(group) < enough:
                group.append(candidate)
            if harmless and len(harmless) + len(violating) >= enough:
                return [*harmless, *violating]
    return [*harmless, *violating]


def _batches(
    profile: Profile, pod: Pod, answers: Answers, rows: NDArray[np.intp], names: list[str]
) -> list[int | NDArray[np.intp]]:
    """Rows that can be judged together, and those that need to be judged alone."""
    if answers.hooked:
        return [int(row) for row in rows]
    crowded = (
        {row for row in rows.tolist() if rivals(profile, pod, names[row])}
        if len(profile.cluster.nominations)
        else set()
    )
    together = np.array([row for row in rows.tolist() if row not in crowded], np.intp)
    return [*([together] if len(together) else []), *sorted(crowded)]


def _less_important(profile: Profile, pod: Pod, row: int) -> list[Placed]:
    return [placed for placed in profile.cluster.pods.on_row(row) if placed.pod.priority < pod.priority]


def _judge_together(
    profile: Profile, pod: Pod, answers: Answers, rows: NDArray[np.intp], statuses: Diagnosis
) -> list[Candidate]:
    """All these rows at once: every plugin that takes part looks at one node only."""
    cluster = profile.cluster
    victims: dict[int, list[Pod]] = {}
    violations: dict[int, int] = {}
    with cluster.what_if(rows_only=True):
        removed = {int(row): _less_important(profile, pod, int(row)) for row in rows}
        for placed_there in removed.values():
            for placed in placed_there:
                cluster.remove(placed.pod.metadata.uid)
        passing = answers.passes_now(rows)
        _explain(answers, rows[~passing], statuses)
        queues = {}
        for row in rows[passing].tolist():
            violating, others = split_by_budget(cluster, _by_importance(profile, removed[row]))
            queues[row] = [*((placed, True) for placed in violating), *((placed, False) for placed in others)]
            victims[row], violations[row] = [], 0
        turn = 0
        while active := [row for row, queue in queues.items() if turn < len(queue)]:
            for row in active:
                placed = queues[row][turn][0]
                cluster.place(placed.pod, placed.pod_class, row)
            fitting = answers.passes_now(np.array(active, np.intp))
            for row, fits_still in zip(active, fitting.tolist(), strict=True):
                if not fits_still:
                    placed, violates = queues[row][turn]
                    cluster.remove(placed.pod.metadata.uid)
                    victims[row].append(placed.pod)
                    violations[row] += violates
            turn += 1
    for row in (row for row, pods in victims.items() if not pods):
        statuses.refuse("", np.array([row], np.intp), _nobody_goes(profile, row))
    return [
        Candidate(row, tuple(_most_important_first(profile, pods)), violations[row])
        for row, pods in victims.items()
        if pods
    ]


def _judge_alone(profile: Profile, pod: Pod, answers: Answers, row: int, statuses: Diagnosis) -> list[Candidate]:
    """One row, with the plugins that look further told about every pod that goes or comes back."""
    potential = _less_important(profile, pod, row)
    victims: list[Pod] = []
    violations = 0
    with imagined(answers, row, removed=potential) as imagination:
        refusal = refusal_with_nominated(profile, pod, answers, row) or first_refusal(answers, row)
        if refusal is not None:
            statuses.refuse(refusal[0], np.array([row], np.intp), refusal[1])
            return []
        violating, others = split_by_budget(profile.cluster, _by_importance(profile, potential))
        for placed in [*violating, *others]:
            imagination.add(placed.pod, placed.pod_class)
            if refusal_with_nominated(profile, pod, answers, row) is not None or not fits(answers, row):
                imagination.remove(placed.pod, placed.pod_class)
                victims.append(placed.pod)
                violations += placed in violating
    if not victims:
        statuses.refuse("", np.array([row], np.intp), _nobody_goes(profile, row))
        return []
    return [Candidate(row, tuple(_most_important_first(profile, victims)), violations)]


def _nobody_goes(profile: Profile, row: int) -> Refusal:
    """The pod fits with everybody there, though it was refused: kube-scheduler takes that for an error."""
    return Refusal((f'expected at least one victim pod on node "{profile.cluster.nodes.names[row]}"',), Code.ERROR)


def _explain(answers: Answers, rows: NDArray[np.intp], statuses: Diagnosis) -> None:
    """Who still refuses these rows with all less important pods gone."""
    for part in answers.filters:
        if not len(rows):
            return
        mask = part.plugin.filter(answers.pod_class, Nodes(answers.cluster, rows), part.state)
        refused = rows[~mask]
        if len(refused):
            words = part.plugin.explain(answers.pod_class, Nodes(answers.cluster, refused), part.state)
            statuses.refuse(part.plugin.name, refused, words)
        rows = rows[mask]


# -- order and choice --------------------------------------------------------------------------------------------------


def _started(profile: Profile, pod: Pod) -> float:
    start = pod.status.start_time
    return profile.now() if start is None else start.timestamp()


def _by_importance(profile: Profile, placed: list[Placed]) -> list[Placed]:
    return sorted(placed, key=lambda each: (-each.pod.priority, _started(profile, each.pod)))


def _most_important_first(profile: Profile, pods: list[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (-pod.priority, _started(profile, pod)))


def _best(profile: Profile, candidates: list[Candidate]) -> list[Candidate]:
    """Fewest violated budgets, least important victims, smallest sum, fewest victims, latest start; equals remain."""

    def cost(candidate: Candidate) -> tuple[float, ...]:
        highest = candidate.victims[0].priority
        starts = [_started(profile, victim) for victim in candidate.victims if victim.priority == highest]
        return (
            candidate.pdb_violations,
            highest,
            sum(victim.priority + PRIORITY_SHIFT for victim in candidate.victims),
            len(candidate.victims),
            -min(starts),
        )

    costs = [cost(candidate) for candidate in candidates]
    lowest = min(costs)
    return [candidate for candidate, each in zip(candidates, costs, strict=True) if each == lowest]

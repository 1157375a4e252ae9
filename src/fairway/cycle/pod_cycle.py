"""One pod's cycle: which nodes fit, which is best, and what to do if none does.

In: a profile and a pod. Out: a `Decision`; nothing in the cluster changes. The steps stand in the order they happen,
as in kube-scheduler's schedule_one.go: pre-filters, the pod's own nominated node, filters (with nominated pods
imagined in place), sampling, scores, choice; and on failure a diagnosis and the post-filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes, PodClass
from fairway.cycle.answers import Answers, Circumstances, LastFailure
from fairway.cycle.decision import Decision, Outcome
from fairway.cycle.extender import EXTENDER, ExtenderError, ExtenderVerdict, add_priorities, ask_filters
from fairway.cycle.failure import FailedAttempt, diagnose
from fairway.cycle.feasibility import Refusals, feasible_mask, fits_on, nominated_rows, restricted_rows
from fairway.cycle.preemption import random_offset
from fairway.cycle.scoring import FeasibleNodes, add_scores, wide_scores
from fairway.model import Pod
from fairway.plugin import Code

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile


def decide(
    profile: Profile,
    pod: Pod,
    among: NDArray[np.bool_] | None = None,
    makes_room: bool = True,
    explains: bool = True,
) -> Decision:
    """Where should the pod go now?

    `among` (num_rows,) are the only rows that are looked at, and that messages count; plugins see all nodes. Without
    `makes_room` the post-filters are not asked; without `explains` a pod that fits nowhere is told just that.
    """
    cluster = profile.cluster
    pod_class = profile.classify(pod)
    if not cluster.nodes.row_of or (among is not None and not among.any()):
        return Decision(pod, pod_class, Outcome.UNSCHEDULABLE)
    takes_all = profile.sampler.takes_all
    answers = profile.answers(pod_class, lazily=not takes_all)
    if explains and (failed := _fail_again(profile, pod, answers, among, makes_room)) is not None:
        return failed
    if answers.pre_filter_refusal is not None:
        answers.catch_up()
        return refuse(profile, pod, answers, {}, among=among, makes_room=makes_room, explains=explains)
    if pod.status.nominated_node_name and (row := _promised_row(profile, pod, among)) is not None:
        return _decided(profile, pod, pod_class, row, Decision(pod, pod_class, Outcome.SCHEDULED, via="nominated"))
    crowded = nominated_rows(profile, pod)
    refusals: Refusals = {}
    is_plain = not (crowded or answers.wide_filters or answers.restriction) and among is None
    if is_plain and takes_all:
        mask = answers.mask
    elif is_plain and (sampled := profile.sampler.first_enough(answers)) is not None:
        mask = sampled
    else:
        answers.catch_up()
        mask, refusals = _scan(profile, pod, answers, crowded, among)
    if failures := _failures(profile, pod, answers, refusals, among):
        return _broken_off(pod, answers, failures)
    verdict = None
    if profile.extenders:
        verdict = ask_filters(profile.extenders, cluster, pod, mask[: cluster.nodes.num_rows])
        mask = verdict.mask
    num_feasible = int(np.count_nonzero(mask))
    if num_feasible == 0:
        return refuse(profile, pod, answers, refusals, verdict, among, makes_room=makes_room, explains=explains)
    return _choose(profile, pod, answers, mask, num_feasible)


def _scan(
    profile: Profile, pod: Pod, answers: Answers, crowded: list[int], among: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_], Refusals]:
    """The feasible rows that are scored, and those refused only because of pods nominated to them."""
    if among is None:
        mask, refusals = feasible_mask(profile, pod, answers, crowded)
    else:
        mask, refusals = feasible_mask(profile, pod, answers, [row for row in crowded if among[row]])
        mask &= among
    if not profile.sampler.takes_all:
        mask = profile.sampler.reduce(mask, _num_looked_at(profile, answers, among), among)
    return mask, refusals


def _promised_row(profile: Profile, pod: Pod, among: NDArray[np.bool_] | None) -> int | None:
    """The pod's nominated node, if it may go there now."""
    row = profile.cluster.nodes.row_of.get(pod.status.nominated_node_name, -1)
    if row < 0 or (among is not None and not among[row]):
        return None
    return row if fits_on(profile, pod, row) and _extenders_take(profile, pod, row) else None


def _num_looked_at(profile: Profile, answers: Answers, among: NDArray[np.bool_] | None) -> int:
    """How many nodes could be scanned."""
    if among is None:
        return len(answers.restriction[0]) if answers.restriction else profile.cluster.nodes.num_alive
    return int(np.count_nonzero(among & restricted_rows(profile, answers) if answers.restriction else among))


def _failures(
    profile: Profile, pod: Pod, answers: Answers, refusals: Refusals, among: NDArray[np.bool_] | None
) -> list[str]:
    """What filters could not judge: one such node fails the attempt, as errors do in findNodesThatPassFilters."""
    may_fail = any(part.plugin.may_fail(part.state) for part in answers.fallible)
    if not may_fail and all(refusal.code is not Code.ERROR for _, refusal in refusals.values()):
        return []
    return diagnose(profile, pod, answers, refusals, among).failures


def _broken_off(pod: Pod, answers: Answers, failures: list[str]) -> Decision:
    first, *others = failures
    return Decision(pod, answers.pod_class, Outcome.ERROR, error=first, other_errors=tuple(others))


def _extenders_take(profile: Profile, pod: Pod, row: int) -> bool:
    """Do the extenders accept the pod's nominated node? If they can not say, the other nodes are looked at."""
    if not profile.extenders:
        return True
    mask = np.zeros(profile.cluster.nodes.num_rows, bool)
    mask[row] = True
    try:
        return bool(ask_filters(profile.extenders, profile.cluster, pod, mask).mask[row])
    except ExtenderError:
        return False


def _choose(profile: Profile, pod: Pod, answers: Answers, mask: NDArray[np.bool_], num_feasible: int) -> Decision:
    """Score the feasible rows, of which there is at least one, and take the best."""
    pod_class = answers.pod_class
    decision = Decision(pod, pod_class, Outcome.SCHEDULED, num_feasible=num_feasible)
    if num_feasible == 1:
        decision.via = "single"
        return _decided(profile, pod, pod_class, int(mask.argmax()), decision)
    if answers.score_problem:
        return Decision(pod, pod_class, Outcome.ERROR, num_feasible=num_feasible, error=answers.score_problem)
    cluster = profile.cluster
    # Where every row is a node that fits, columns are looked at as they are, and need not be gathered.
    feasible = Nodes(cluster) if num_feasible == cluster.nodes.num_rows else FeasibleNodes(cluster, mask)
    wide = wide_scores(answers, feasible)
    is_sparse = 4 * num_feasible < len(mask)  # then it is better to look at those rows only
    if wide or answers.varying or profile.extenders or is_sparse:
        numbers = feasible.numbers
        totals = answers.base.take(numbers)
        add_scores(answers, feasible, wide, totals)
        if profile.extenders:
            add_priorities(profile.extenders, profile.cluster, pod, numbers, totals)
        best = totals[totals.argmax(), ...]  # an array (): see answers.py
        rows = numbers.take((totals == best).nonzero()[0])
    else:
        ranked = answers.ranking(mask)
        best = ranked[ranked.argmax(), ...]
        rows = (ranked == best).nonzero()[0]
    decision.num_best = len(rows)
    if answers.profile.scores:
        decision.score = int(best) + answers.constant
    return _decided(profile, pod, pod_class, profile.tie_breaker.choose(rows), decision)


def _decided(profile: Profile, pod: Pod, pod_class: PodClass, row: int, decision: Decision) -> Decision:
    decision.row = row
    decision.node = profile.cluster.nodes.names[row]
    decision.num_feasible = decision.num_feasible or 1
    return decision


def refuse(  # noqa: PLR0913 - what the filters left behind, and what is to be made of it
    profile: Profile,
    pod: Pod,
    answers: Answers,
    refusals: Refusals,
    verdict: ExtenderVerdict | None = None,
    among: NDArray[np.bool_] | None = None,
    *,
    makes_room: bool = True,
    explains: bool = True,
) -> Decision:
    """No node fits: find out why, then let the post-filters try to make room."""
    if not (profile.diagnoses and explains):
        return Decision(pod, answers.pod_class, Outcome.UNSCHEDULABLE, is_diagnosed=False)
    decision = _refuse_anew(profile, pod, answers, refusals, verdict, among, makes_room)
    made_room = decision.preemption is not None and decision.preemption.chosen is not None
    is_lasting = among is None or not among.flags.writeable
    circumstances = _circumstances(profile, pod, makes_room) if is_lasting else None
    answers.last_failure = None
    if circumstances is not None and decision.diagnosis is not None and decision.outcome is Outcome.UNSCHEDULABLE:
        blamed = decision.unschedulable_plugins
        answers.last_failure = (
            None if made_room else LastFailure(circumstances, decision.diagnosis, decision.preemption, blamed, among)
        )
    return decision


def _fail_again(
    profile: Profile, pod: Pod, answers: Answers, among: NDArray[np.bool_] | None, makes_room: bool
) -> Decision | None:
    """What a pod of the class was told a moment ago, if it fitted nowhere; None if anything has changed since.

    Pods of a class fail alike as long as nothing changes: the next one, and where thousands wait there are many, gets
    the same words without the work. A scan that finds no node leaves the sampler where it was.
    """
    known = answers.last_failure
    if known is None or known.among is not among or known.circumstances != _circumstances(profile, pod, makes_room):
        return None
    preemption = known.preemption
    if preemption is not None and preemption.num_potential:
        random_offset(profile, preemption.num_potential)  # drawn all the same, for those who come after
    decision = Decision(pod, answers.pod_class, Outcome.UNSCHEDULABLE, diagnosis=known.diagnosis, preemption=preemption)
    decision.unschedulable_plugins = known.unschedulable_plugins
    return decision


def _circumstances(profile: Profile, pod: Pod, makes_room: bool) -> Circumstances | None:
    """Everything that a failure depends on besides the class; None if it depends on the very pod."""
    cluster = profile.cluster
    if not profile.remembers_failures or len(cluster.nominations) or pod.status.nominated_node_name:
        return None
    group = cluster.groups.of(pod.metadata.uid) if profile.asks_groups else None
    if group is not None and profile.holds_groups:
        return None  # its group's other members have to hear of it
    ends = (cluster.node_journal.end, cluster.pod_journal.end, *cluster.versions.now)
    return Circumstances(ends, makes_room, None if group is None else group.key)


def _refuse_anew(
    profile: Profile,
    pod: Pod,
    answers: Answers,
    refusals: Refusals,
    verdict: ExtenderVerdict | None,
    among: NDArray[np.bool_] | None,
    makes_room: bool,
) -> Decision:
    if answers.pre_filter_refusal is not None and answers.pre_filter_refusal[1].code is Code.ERROR:
        plugin, refusal = answers.pre_filter_refusal
        words = f'running PreFilter plugin "{plugin}": {", ".join(refusal.reasons)}'
        return Decision(pod, answers.pod_class, Outcome.ERROR, error=words)
    diagnosis = diagnose(profile, pod, answers, refusals, among)
    if failures := diagnosis.failures:
        return _broken_off(pod, answers, failures)
    if verdict is not None:
        verdict.tell(diagnosis)
    decision = Decision(pod, answers.pod_class, Outcome.UNSCHEDULABLE, diagnosis=diagnosis)
    decision.unschedulable_plugins = diagnosis.unschedulable_plugins
    if verdict is not None and verdict.refused_any:
        decision.unschedulable_plugins |= {EXTENDER}
    if profile.post_filters and makes_room:
        decision.preemption = FailedAttempt(profile, pod, answers, diagnosis).post_filter()
    return decision

"""Why, from inside a running scheduler: the answer of `why --live` about the cluster as the scheduler counts it.

In: the profile of a `fairway run` and one of its pods. Out: steps, each short, between which the scheduler goes on with
its pods; in the end the text and the document that `why` prints. Nothing is changed by asking: a pod that has a node is
imagined off it, chance and the place of the next scan are put back, extenders, reservations and permits are left alone.
Handed to `live.api_routes` by the command `run`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from fairway.cluster import Cluster
from fairway.cycle import Outcome, Profile
from fairway.cycle.asking_aside import asked_aside
from fairway.explain.explanation import Explanation
from fairway.explain.explanation_text import answer_lines, node_lines, told_document
from fairway.explain.fixes import fix_steps
from fairway.explain.more_nodes import Steps
from fairway.explain.trial import Verdict
from fairway.kinds.controllers import Wanted
from fairway.model import Pod, PriorityClass, Source

__all__ = ["scheduler_answer"]

SCHEDULER: Final = Source("the scheduler")


def scheduler_answer(
    profile: Profile, pod: Pod, classes: Sequence[PriorityClass], node: str | None, all_nodes: bool
) -> Steps[dict[str, Any]]:
    """The steps; `classes` are the priorities that the pod might have instead."""
    cluster = profile.cluster
    waiting = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
    with _moment(profile, pod):
        about = Explanation(cluster, cluster.nodes.num_alive, waiting, profile)
        about.verdict = _judge(profile, waiting)
        rows = [row for row in about.node_rows() if node in (None, row["node"])]
        other = about.other_node()
    if about.wants_fixes:
        about.fixes = yield from _search(profile, pod, about, classes)
    lines = answer_lines(about, all_nodes) if node is None else node_lines(about, node)
    return {
        "text": lines,
        "document": told_document(about, rows, lines),
        "rows": rows,
        "otherNode": other,
        "fits": about.verdict.is_placed,
    }


def _search(profile: Profile, pod: Pod, about: Explanation, classes: Sequence[PriorityClass]) -> Steps[Any]:
    """The fixes, each step with the pod off its node; who has no more time gets those that were found."""
    steps, goes_on = fix_steps(profile, about.pod, about.inspection, classes=classes), None
    while True:
        try:
            with _moment(profile, pod):
                steps.send(goes_on)
        except StopIteration as end:
            return end.value
        goes_on = yield
        if goes_on is False:
            about.is_search_cut = True


@contextlib.contextmanager
def _moment(profile: Profile, pod: Pod) -> Iterator[None]:
    """The cluster without the pod, as long as nobody else is asked."""
    cluster: Cluster = profile.cluster
    with asked_aside(profile), cluster.what_if():
        if pod.metadata.uid in cluster.pods.by_uid:
            cluster.remove(pod.metadata.uid)
        yield


def _judge(profile: Profile, pod: Pod) -> Verdict:
    """What would be decided now."""
    wanted = _wanted(pod)
    gate = profile.gate(pod)
    if gate is not None:
        return Verdict(pod, wanted, "gated", message=", ".join(gate[1].reasons))
    decision = profile.decide(pod)
    if decision.outcome is Outcome.SCHEDULED:
        is_sampled = not profile.sampler.takes_all and decision.via == "scores"
        return Verdict(pod, wanted, "scheduled", decision.node, decision=decision, is_sampled=is_sampled)
    verdict = Verdict(pod, wanted, "unschedulable", message=decision.message, decision=decision)
    if decision.outcome is Outcome.ERROR:
        verdict.result = "error"
    elif decision.preemption is not None and (chosen := decision.preemption.chosen) is not None:
        cluster = profile.cluster
        verdict.victims = chosen.victims
        with cluster.what_if():
            for victim in chosen.victims:
                cluster.remove(victim.metadata.uid)
            fits = profile.fits_on(pod, chosen.row)
        name = cluster.nodes.names[chosen.row]
        if fits:
            verdict.result, verdict.node = "preempts", name
        else:
            verdict.remark = f"does not fit on {name} even so"
    return verdict


def _wanted(pod: Pod) -> Wanted:
    """Who the pod belongs to, as a trial would have it."""
    owner = pod.metadata.controller
    kind, name = ("Pod", pod.metadata.name) if owner is None else (owner.kind, owner.name)
    return Wanted(kind, pod.metadata.namespace, name, SCHEDULER, 1, lambda index: (pod, ()))

"""Runs a case of the corpus on the engine and says what became of each pod, in the corpus' own words.

In: a `Case`. Out: for each pod a mapping like the case's `expect`; `check_case` compares the two. The engine is the one
that schedules for real, caches and all; what is particular to the corpus is only: pods come in the given order, equally
good nodes are taken by name, every node is looked at, a pod that was placed started in 2030, a pod that made room by
preemption is tried once more on that node, and nobody stays nominated. Called by the command `conformance`.
"""

from __future__ import annotations

import datetime as dt
import traceback
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from fairway.cluster import Cluster
from fairway.config import decode_configuration, default_configuration
from fairway.config.configuration import ConfigError
from fairway.config.gangs import Gangs
from fairway.conformance.corpus import Case, CaseLine, decode_case
from fairway.conformance.difference import OTHER_ERRORS, FieldDifference, differences, group_differences
from fairway.conformance.group_run import run_group_case
from fairway.conformance.words import refusal_words, started
from fairway.cycle import Decision, Hold, Inspection, Outcome, Preemption, Profile, Stop
from fairway.cycle.placing import place_in_room, settle
from fairway.model.meta import EPOCH
from fairway.plugin import Code, Refusal
from fairway.plugins.registry import REGISTRY

__all__ = ["CaseResult", "Mismatch", "check_case", "check_line", "run_case"]


class Mismatch(NamedTuple):
    """A pod, or a group of pods, about which it was not decided as recorded."""

    pod: str
    differences: list[FieldDifference]


class CaseResult(NamedTuple):
    """How a case came out."""

    source: str
    name: str
    focus: str
    num_pods: int
    mismatches: list[Mismatch]


def check_line(line: CaseLine, gangs: Gangs | None = None) -> CaseResult:
    """Decode, run and compare a case; top-level, so that other processes can be given it."""
    return check_case(decode_case(line), gangs)


def check_case(case: Case, gangs: Gangs | None = None) -> CaseResult:
    """Run a case and compare. If the engine fails on a pod, that pod and the ones after it do not match.

    Pods that belong to nobody are decided about as recorded whatever `gangs` says; groups are as the case's gates say.
    """
    mismatches: list[Mismatch] = []
    expected = iter(case.expect)
    is_grouped = case.feature_gates is not None
    attempts = run_group_case(case) if is_grouped else run_case(case, gangs)
    compare = group_differences if is_grouped else differences
    subject = "group" if is_grouped else "pod"
    for expect in expected:
        try:
            found = compare(expect, next(attempts))
        except ConfigError:  # the file is wrong, not the engine
            raise
        except Exception as error:  # noqa: BLE001 - whatever the engine does wrong is a finding about this case
            place = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno} {place.name})"
            found = [FieldDifference("result", str(expect["result"]), f"a failure: {words}")]
            mismatches.append(Mismatch(expect[subject], found))
            skipped = FieldDifference("result", "something", f"nothing: the {subject} before it failed")
            mismatches += [Mismatch(other[subject], [skipped]) for other in expected]
            break
        if found:
            mismatches.append(Mismatch(expect[subject], found))
    num_pods = len(case.pods) if case.expect else 0
    return CaseResult(case.source, case.name, case.focus, num_pods, mismatches)


def run_case(case: Case, gangs: Gangs | None = None) -> Iterator[dict[str, Any]]:
    """What becomes of each pod, in order. A case of focus `replay` is told in fewer words."""
    cluster = Cluster()
    cluster.load(case.objects)
    profile = _profile(case, cluster, gangs)
    brief = case.focus == "replay"
    for number, pod in enumerate(case.pods, 1):
        gate = profile.gate(pod)
        if gate is not None:
            yield {"pod": pod.key, "result": "gated", "preEnqueue": refusal_words(*gate)}
            continue
        decision = profile.decide(pod)
        seen = {"pod": pod.key, **(_brief(decision) if brief else _full(profile, decision, profile.inspect(pod)))}
        as_started = partial(started, start=EPOCH + dt.timedelta(seconds=number))
        if decision.outcome is Outcome.SCHEDULED:
            seen |= _settled(profile, decision, settle(profile, decision, as_started(decision)))
        elif (room := place_in_room(profile, decision, as_started)) is not None:
            seen |= {"result": "preempted", **_settled(profile, *room)}
            if "preemption" in seen:
                seen["preemption"] = {**seen["preemption"], "fits": True}
        yield seen


def _profile(case: Case, cluster: Cluster, gangs: Gangs | None) -> Profile:
    if case.config is None:
        configuration = default_configuration(REGISTRY, gangs)
    else:
        configuration = decode_configuration(case.config, f"{case.source}, config", REGISTRY, gangs)
    return Profile(configuration.profiles[0], cluster, tie_break="first", sampling="all", now=EPOCH.timestamp)


# -- after the decision ------------------------------------------------------------------------------------------------


def _settled(profile: Profile, decision: Decision, obstacle: Stop | Hold | None) -> dict[str, Any]:
    """Where the pod is, and which volumes were reserved for it; or who refused it there."""
    if isinstance(obstacle, Stop):
        plugin, refusal = obstacle.plugin, obstacle.refusal
        if refusal.code is Code.ERROR:  # then kube-scheduler names the plugin in the words
            plugin, refusal = "", Refusal((obstacle.error,), Code.ERROR)
        return {"result": "error", "node": decision.node, "reserveStatus": refusal_words(plugin, refusal)}
    seen: dict[str, Any] = {"node": decision.node}
    reservation = profile.cluster.storage.reservations.get(decision.pod.metadata.uid)
    if reservation is not None:
        seen["volumes"] = {"static": dict(reservation.bindings), "provision": sorted(reservation.provisions)}
    return seen


# -- in the corpus' words ----------------------------------------------------------------------------------------------


def _brief(decision: Decision) -> dict[str, Any]:
    preemption = decision.preemption
    chosen = preemption.chosen if preemption is not None else None
    return {
        "result": decision.outcome.value,
        "feasible": decision.num_feasible,
        "bestScore": decision.score,
        "ties": decision.num_best if decision.score is not None else None,
        "message": "" if decision.outcome is Outcome.ERROR else decision.message,
        "error": decision.error,
        OTHER_ERRORS: decision.other_errors,
        "nominatedNode": preemption.nominated_node if preemption is not None else None,
        "victims": [victim.key for victim in chosen.victims] if chosen is not None else None,
    }


def _full(profile: Profile, decision: Decision, inspection: Inspection) -> dict[str, Any]:
    if decision.outcome is Outcome.ERROR:
        return _failed(decision, inspection)
    placed = decision.outcome is Outcome.SCHEDULED
    scored = placed and decision.via == "scores"
    seen: dict[str, Any] = {
        "result": decision.outcome.value,
        "preFilter": _pre_filter(inspection),
        "feasible": inspection.feasible,
        # What fails on another node does not matter to a pod that gets the one it was promised.
        "rejected": [
            refusal_words(plugin, refusal, nodes)
            for plugin, refusal, nodes in inspection.rejected
            if refusal.code is not Code.ERROR
        ],
        "scores": _scores(inspection) if scored else None,
        "via": None if scored else decision.via,
        "message": decision.message,
        "event": decision.event if decision.event != decision.message else None,
        "unschedulablePlugins": sorted(decision.unschedulable_plugins),
        "error": decision.error,
    }
    if placed:
        # Without score plugins every feasible node is as good as any other.
        seen["best"] = (inspection.best if profile.scores else inspection.feasible) if scored else [decision.node]
        seen["error"] = _inconsistency(decision, inspection) if scored else None
    else:
        seen["via"] = None
        seen["preemption"] = _preemption(profile, decision.preemption)
    return seen


def _failed(decision: Decision, inspection: Inspection) -> dict[str, Any]:
    """An attempt that broke off: what was found out before, if the filters got to the end."""
    seen: dict[str, Any] = {"result": decision.outcome.value, "error": decision.error}
    seen[OTHER_ERRORS] = decision.other_errors
    if decision.num_feasible:
        seen["preFilter"] = _pre_filter(inspection)
        seen["feasible"] = inspection.feasible
        seen["rejected"] = [refusal_words(plugin, refusal, nodes) for plugin, refusal, nodes in inspection.rejected]
    return seen


def _inconsistency(decision: Decision, inspection: Inspection) -> str | None:
    """What is inspected has to be what was decided by."""
    if decision.num_feasible != len(inspection.feasible):
        return f"decided among {decision.num_feasible} feasible nodes, inspected {len(inspection.feasible)}"
    if decision.score is None:
        return None
    total = sum(scores.get(decision.node, 0) for scores in inspection.scores.values())
    if decision.score != total:
        return f"decided with a total of {decision.score} on {decision.node}, the inspected scores add up to {total}"
    if decision.num_best != len(inspection.best):
        return f"decided among {decision.num_best} best nodes, inspected {len(inspection.best)}"
    return None


def _pre_filter(inspection: Inspection) -> dict[str, Any] | None:
    diagnosis = inspection.diagnosis
    if diagnosis is None:
        return None
    if diagnosis.pre_filter is not None:
        return refusal_words(*diagnosis.pre_filter)
    if diagnosis.restricted_to is None:
        return None
    names, by = sorted(diagnosis.restricted_to, key=str.encode), list(diagnosis.restricted_by)
    return {"code": "Success", "restricted": True, "nodes": names, "byPlugins": by}


def _scores(inspection: Inspection) -> dict[str, Any]:
    plugins = list(inspection.scores)
    return {
        "plugins": plugins,
        "nodes": {
            node: [*(inspection.scores[plugin][node] for plugin in plugins), total]
            for node, total in inspection.totals.items()
        },
    }


def _preemption(profile: Profile, preemption: Preemption | None) -> dict[str, Any] | None:
    if preemption is None:
        return None
    names = profile.cluster.nodes.names
    seen: dict[str, Any] = {
        "attempted": preemption.attempted and preemption.code is not Code.ERROR,
        "code": "Success" if preemption.code is None else preemption.code.value,
        "message": ", ".join(preemption.reasons),
        "candidates": [
            {
                "node": names[candidate.row],
                "victims": [victim.key for victim in candidate.victims],
                "pdbViolations": candidate.pdb_violations,
            }
            for candidate in preemption.candidates
        ],
    }
    if preemption.chosen is not None:
        seen["ties"] = preemption.ties
        seen["nominatedNode"] = preemption.nominated_node
        seen["victims"] = [victim.key for victim in preemption.chosen.victims]
        seen["pdbViolations"] = preemption.chosen.pdb_violations
        seen["clearedNominations"] = sorted(pod.key for pod in preemption.cleared)
    return seen

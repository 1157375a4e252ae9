"""Runs a case of the corpus in which pods belong to groups, and says what became of each group, in the corpus' words.

In: a `Case` with feature gates. Out: for each group, in the order of its first pod, a mapping like the case's `expect`.
The engine is the one that schedules for real; what is particular to the corpus is only: all pods wait from the start,
groups come in the given order, equally good nodes and sets of nodes are taken by name, every node is looked at, a pod
that was placed started in 2030, victims are gone at once, and a group for which room was made is tried once more.
Called by `corpus_run`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fairway.cluster import Cluster, Event, Verb
from fairway.cluster.groups import GroupBook
from fairway.config import decode_configuration, default_configuration
from fairway.config.feature_gates import gangs_of
from fairway.conformance.corpus import Case
from fairway.conformance.words import refusal_words, started
from fairway.cycle import Decision, Outcome, Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.pod_group_cycle import decide_pod_group
from fairway.model import Pod
from fairway.model.meta import EPOCH
from fairway.plugins.registry import REGISTRY

__all__ = ["run_group_case"]


def run_group_case(case: Case) -> Iterator[dict[str, Any]]:
    """What becomes of each group, in order."""
    return _Run(case).groups()


class _Run:
    """One case, as it goes on."""

    def __init__(self, case: Case) -> None:
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in (case.feature_gates or {}).items())
        gangs = gangs_of(gates)
        if case.config is None:
            configuration = default_configuration(REGISTRY, gangs)
        else:
            configuration = decode_configuration(case.config, f"{case.source}, config", REGISTRY, gangs)
        self._cluster = Cluster()
        self._profile = Profile(
            configuration.profiles[0], self._cluster, tie_break="first", sampling="all", now=EPOCH.timestamp
        )
        self._cluster.load(case.objects)
        self._pods = {pod.metadata.uid: pod for pod in case.pods}  # as they are now
        for pod in case.pods:
            self._cluster.groups.observe(pod)
        self._num_bound = 0

    def groups(self) -> Iterator[dict[str, Any]]:
        """Every group that pods name, by its first pod."""
        found = dict.fromkeys(self._cluster.groups.of(uid) for uid in self._pods)
        for group in found:
            assert group is not None, "all pods of such a case belong to groups"
            yield self._group(group)

    def _group(self, group: GroupBook) -> dict[str, Any]:
        pods = [pod for uid, pod in self._pods.items() if self._cluster.groups.of(uid) is group]
        gates = {pod.metadata.uid: self._profile.gate(pod) for pod in pods}
        gated = [
            {"pod": pod.key, "result": "gated", "preEnqueue": refusal_words(*gate)}
            for pod in pods
            if (gate := gates[pod.metadata.uid]) is not None
        ]
        tried = sorted((pod for pod in pods if gates[pod.metadata.uid] is None), key=lambda pod: -pod.priority)
        if not tried:
            return {"group": str(group.key), "result": "gated", "pods": gated}
        seen = self._attempt(group, tried, gated)
        if seen["result"] == GroupOutcome.PREEMPTING.value:
            again = [self._pods[pod.metadata.uid] for pod in tried]
            seen["retry"] = self._attempt(group, again, gated)
        for pod in tried:  # nobody stays nominated
            self._cluster.nominations.remove(pod.metadata.uid)
        return seen

    def _attempt(self, group: GroupBook, pods: Sequence[Pod], gated: list[dict[str, Any]]) -> dict[str, Any]:
        decision = decide_pod_group(self._profile, group, pods)
        status, reason, message = decision.condition
        seen: dict[str, Any] = {
            "group": str(group.key),
            "result": decision.outcome.value,
            "condition": {"status": status, "reason": reason, "message": message},
            "pods": [*map(_member_words, decision.members), *gated],
            "placements": {name: scores.total for name, scores in decision.placements.items()},
            "placementScores": {name: dict(scores.by_plugin) for name, scores in decision.placements.items()},
            "victims": [
                {
                    "pod": victim.pod.key,
                    "node": victim.pod.spec.node_name,
                    "for": str(group.key) if victim.preemptor is None else victim.preemptor.key,
                }
                for victim in decision.victims
                if victim.pod.metadata.deletion_timestamp is None  # else it is on its way, and not evicted again
            ],
        }
        self._carry_out(decision)
        return seen

    def _carry_out(self, decision: GroupDecision) -> None:
        """Bind, evict and nominate."""
        cluster = self._cluster
        for member in decision.members:
            pod, uid = member.pod, member.pod.metadata.uid
            if member.outcome is Outcome.SCHEDULED:
                self._num_bound += 1
                running = started(member, EPOCH + dt.timedelta(seconds=self._num_bound))
                self._profile.assume(member, running)
                cluster.apply(Event(Verb.MODIFIED, running))
                self._pods[uid] = running
            elif node := member.nomination:
                status = msgspec.structs.replace(pod.status, nominated_node_name=node)
                self._pods[uid] = msgspec.structs.replace(pod, status=status)
                cluster.nominations.add(self._pods[uid], node)
        for victim in {victim.pod.metadata.uid: victim.pod for victim in decision.victims}.values():
            if victim.metadata.deletion_timestamp is None:
                cluster.apply(Event(Verb.DELETED, victim))


def _member_words(member: Decision) -> dict[str, Any]:
    if member.outcome is Outcome.SCHEDULED:
        return {"pod": member.pod.key, "result": "bound", "node": member.node}
    return {
        "pod": member.pod.key,
        "result": "failed",
        "code": "Error" if member.outcome is Outcome.ERROR else "Unschedulable",
        "message": member.message,
        "nominatedNode": member.nomination or "",
    }

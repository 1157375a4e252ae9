"""What would let a job start now: changes that were tried and found to work.

In: a profile, a job that can not start, and how the attempt for it came out. Out: `JobFix`es, each of which made the
whole attempt succeed when it was made again: a label that is preferred instead of required, fewer members that have to
start together, less important pods out of the way, new nodes like one that is there. Called by `job_explanation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from fairway.cluster import Event, Verb
from fairway.cluster.groups import GroupBook
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.explain.jobs.job_room import DomainRoom, holders_on
from fairway.explain.jobs.together import decide_together
from fairway.explain.more_nodes import like_node, node_kinds
from fairway.model import Node, Pod
from fairway.model.group import GroupSpec
from fairway.words import nodes_text

__all__ = ["JobFix", "JobFixes", "short_key"]

MOST_VICTIMS: Final = 8
MOST_NODES: Final = 16
MOST_KINDS: Final = 4
MOST_DOMAINS: Final = 4


class JobFix(NamedTuple):
    """A change, and what comes of it."""

    words: str
    result: str
    evicts: tuple[str, ...] = ()  # pods that would have to go

    @property
    def line(self) -> str:
        """For people."""
        return f"{self.words} → {self.result}"

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"change": self.words, "result": self.result, "evicts": list(self.evicts)}


class JobFixes:
    """Tries changes of one job, with those that start with it as they are."""

    def __init__(
        self,
        profile: Profile,
        group: GroupBook,
        spec: GroupSpec,
        pods: Sequence[Pod],
        companions: Sequence[GroupBook] = (),
    ) -> None:
        self._profile = profile
        self._companions = companions
        self._group = group
        self._spec = spec
        self._pods = pods

    def find(
        self, rooms: Sequence[DomainRoom], resource: str, fewer: tuple[int, GroupDecision | None]
    ) -> Iterator[JobFix]:
        """All that were tried and work, in the order in which people would try them; `fewer`: from `most_members`."""
        yield from self._loosened()
        yield from self._smaller(fewer)
        yield from self._evicting(rooms, resource)
        yield from self._joined()

    def _try(self, spec: GroupSpec | None = None) -> GroupDecision | None:
        """The attempt once more; None if it does not succeed."""
        groups = self._profile.cluster.groups
        with groups.imagining(self._group.key, spec or self._spec):
            decision = decide_together(self._profile, self._group, self._pods, self._companions, may_preempt=False)
        return decision if decision.outcome is GroupOutcome.SCHEDULED else None

    def _loosened(self) -> Iterator[JobFix]:
        topology = self._spec.topology
        if topology is None or not topology.is_required:
            return
        loose = msgspec.structs.replace(self._spec, topology=topology._replace(is_required=False))
        if self._profile.gangs is not None and self._profile.gangs.mode == "kube":  # which knows no preference
            loose = msgspec.structs.replace(self._spec, topology=None)
        decision = self._try(loose)
        if decision is not None:
            number, over = self._num_domains(decision, topology.keys[0]), short_key(topology.keys[0])
            fit = f"{decision.num_placed + self._group.num_scheduled} of {self._total} fit now"
            yield JobFix("topology preferred instead of required", f"{fit}, over {number} {over}{'s' * (number != 1)}")

    @property
    def _total(self) -> int:
        return max(self._spec.min_count, len(self._pods) + self._group.num_scheduled)

    def _num_domains(self, decision: GroupDecision, key: str) -> int:
        nodes = self._profile.cluster.nodes
        objects = (nodes.objects[nodes.row_of[member.node]] for member in decision.members if member.node)
        return len({node.metadata.labels.get(key) for node in objects if node is not None})

    def most_members(self) -> tuple[int, GroupDecision | None]:
        """For how many members there is room together, fewer than it takes, and where they would go."""
        least, most = self._group.num_scheduled, self._spec.min_count
        best: GroupDecision | None = None
        while most - least > 1:
            number = (least + most) // 2
            decision = self._try(msgspec.structs.replace(self._spec, min_count=number, task_minimums={}))
            if decision is None:
                most = number
            else:
                least, best = number, decision
        return least, best

    def _smaller(self, fewer: tuple[int, GroupDecision | None]) -> Iterator[JobFix]:
        number, decision = fewer
        if decision is not None:
            where = f" in {decision.domain}" if decision.domain else ""
            yield JobFix(f"{number} instead of {self._spec.min_count} members", f"fits now{where}")

    def _evicting(self, rooms: Sequence[DomainRoom], resource: str) -> Iterator[JobFix]:
        """Less important pods out of the way, those that hold most first; then those back that are not needed."""
        cluster, own = self._profile.cluster, max((pod.priority for pod in self._pods), default=0)
        for room in rooms[:MOST_DOMAINS]:
            gone: list[str] = []
            with cluster.what_if():
                for holder in holders_on(self._profile, room.rows, resource):
                    uids = [uid for uid in holder.uids if cluster.pods.by_uid[uid].pod.priority < own]
                    for uid in uids[: MOST_VICTIMS - len(gone)]:
                        cluster.remove(uid)
                        gone.append(uid)
                    if uids and (decision := self._try()) is not None:
                        break
                else:
                    continue
            victims = self._needed(gone)
            names = tuple(cluster.pods.by_uid[uid].pod.key for uid in victims)
            priority = max(cluster.pods.by_uid[uid].pod.priority for uid in victims)
            where = f" in {decision.domain}" if decision.domain else ""
            words = f"evict {', '.join(names)} (priority {priority} < {own})"
            yield JobFix(words, f"fits now{where}", names)
            return

    def _needed(self, gone: Sequence[str]) -> list[str]:
        """Those without whom it does not work."""
        needed = list(gone)
        for uid in gone:
            others = [other for other in needed if other != uid]
            with self._profile.cluster.what_if():
                for other in others:
                    self._profile.cluster.remove(other)
                if self._try() is not None:
                    needed = others
        return needed

    def _joined(self) -> Iterator[JobFix]:
        """The fewest new nodes of a kind that is there."""
        best: tuple[int, str] | None = None
        for node in list(node_kinds(self._profile))[:MOST_KINDS]:
            number = self._num_new(node, MOST_NODES if best is None else best[0] - 1)
            if number is not None:
                best = number, node.name
        if best is not None:
            yield JobFix(f"{nodes_text(best[0])} more like {best[1]}", "fits")

    def _num_new(self, node: Node, most: int) -> int | None:
        cluster, joined = self._profile.cluster, []
        try:
            for number in range(1, most + 1):
                joined.append(like_node(self._profile, node, number))
                cluster.apply(Event(Verb.ADDED, joined[-1]))
                if self._try() is not None:
                    return number
        finally:
            for one in joined:
                cluster.apply(Event(Verb.DELETED, one))
        return None


def short_key(key: str) -> str:
    """The last part of a label: `rack` of `fairway.dev/rack`."""
    return key.rpartition("/")[2]

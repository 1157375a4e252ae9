"""Could a job ever run here: on all nodes of its queue, with nobody on them and nothing closed?

In: a job as the plan sees it, the cluster's nodes. Out: a standing `NeverFits` that names the resource, what is needed,
and the most that any set of nodes has; or None, as for nearly all jobs. Nodes that are down or cordoned count: they may
come back. Answered once for members that want the same, until a node changes. Called by the desk before a job is
planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.batch.job import BatchJob
from fairway.batch.machine import Machine
from fairway.batch.reasons import JobStanding, JobState, Refused
from fairway.cluster import Cluster, PodClass
from fairway.plan import BookingMode, Calendar, MemberClass, SmallestRest, WaitingJob
from fairway.words import amount_text, nodes_text

__all__ = ["Feasibility"]

Mask = NDArray[np.bool_]


class _Room(NamedTuple):
    """For how many members of a class there is room on an empty machine; and the rows that the key names."""

    num_members: int
    eligible: Mask | None


class Feasibility:
    """What the nodes have, were they empty."""

    def __init__(self, cluster: Cluster, machine: Machine) -> None:
        self._cluster = cluster
        self._machine = machine
        self._version = -1
        self._rooms: dict[tuple[bytes, int, bool], _Room] = {}
        self._capacity = np.empty((0, 0), np.int64)  # (num_rows, num_resources)
        self._empty: Calendar | None = None

    def refusal(self, job: BatchJob, plan: WaitingJob) -> JobStanding | None:
        """Why the job can not run on any set of nodes; None: it can."""
        if self._version != self._machine.num_changes:
            self._look()
        if len(plan.classes) == 1 and not plan.domains:
            (members,) = plan.classes
            return None if self._room(members) >= members.count else self._never_fits(job, members, None)
        if self._calendar().search_now(plan) is not None:
            return None
        domain = max(plan.domains, key=lambda each: self._num_placed(plan, each), default=None)
        for members in plan.classes:
            if (standing := self._never_fits(job, members, domain)) is not None:
                return standing
        words = "its members fit one by one, but not all of them at once, even with every node empty"
        return _refused(words, resource="members", needs=sum(each.count for each in plan.classes), most=0)

    def _look(self) -> None:
        nodes = self._cluster.nodes
        self._version = self._machine.num_changes
        self._rooms.clear()
        self._empty = None
        capacity = nodes.allocatable[: nodes.num_rows, : len(nodes.resources)].copy()
        capacity[[node is None for node in nodes.objects[: nodes.num_rows]]] = 0
        self._capacity = capacity

    def _calendar(self) -> Calendar:
        """Nobody is there."""
        if self._empty is None:
            nodes = self._cluster.nodes
            choice = SmallestRest(np.zeros(self._capacity.shape[1] + 1), nodes.name_ranks().astype(np.intp))
            self._empty = Calendar(self._capacity, 0.0, choice, BookingMode.AMOUNTS)
        return self._empty

    def _room(self, members: MemberClass) -> int:
        key = (members.need.tobytes(), id(members.eligible), members.one_per_row)
        known = self._rooms.get(key)
        if known is None or known.eligible is not members.eligible:
            known = self._rooms[key] = _Room(int(self._levels(members, None).sum()), members.eligible)
        return known.num_members

    def _num_placed(self, plan: WaitingJob, domain: Mask) -> int:
        """For how many of its members a domain has room, each class for itself."""
        return sum(min(int(self._levels(each, domain).sum()), each.count) for each in plan.classes)

    def _levels(self, members: MemberClass, domain: Mask | None, column: int | None = None) -> NDArray[np.int64]:
        """How many members each row has room for, (num_rows,); as far as one column goes, if one is named."""
        wanted = np.flatnonzero(members.need[:-1] > 0) if column is None else np.array([column])
        is_alone = members.one_per_row or members.need[-1] > 1
        levels = np.full(len(self._capacity), 1 if is_alone else members.count, np.int64)
        for each in wanted.tolist():
            levels = np.minimum(levels, self._capacity[:, each] // members.need[each])
        for mask in (members.eligible, domain):
            if mask is not None:
                levels[~mask] = 0
        return levels

    # -- what is wrong -----------------------------------------------------------------------------------------------

    def _never_fits(self, job: BatchJob, members: MemberClass, domain: Mask | None) -> JobStanding | None:
        if self._levels(members, domain).sum() >= members.count:
            return None
        missing = [(name, pod.requests[name]) for pod in self._classes(job) for name in pod.missing]
        for name, needs in missing:
            words = f"needs {amount_text(name, needs)} of {name}, which no node has"
            return _refused(words, resource=name, needs=needs, most=0)
        suits = self._suitable(members, domain)
        if not suits.any():
            return _refused("no node suits it", resource="nodes", needs=1, most=0)
        most_members = int(self._levels(members, domain).sum())
        for column, name in enumerate(self._cluster.nodes.resources.values[: len(members.need) - 1]):
            if members.need[column] <= 0:
                continue
            needs, most = int(members.need[column]), int(self._capacity[suits, column].max())
            if needs > most:
                least, mine = amount_text(name, most), amount_text(name, needs)
                words = f"needs {mine} of {name} on one node; the most that {_any_of(suits)} has is {least}"
                words += f": ask for at most {least}"
                return _refused(words, resource=name, needs=needs, most=most)
            fits = int(self._levels(members, domain, column).sum())
            if fits < members.count:
                words = f"needs room for {members.count} members with {amount_text(name, needs)} of {name} each; "
                words += f"{_of(suits)} have room for {fits}{_advice(most_members)}"
                return _refused(words, resource=name, needs=needs * members.count, most=needs * fits)
        words = f"needs room for {members.count} members; {_of(suits)} have room for {most_members}"
        words += _advice(most_members)
        return _refused(words, resource="nodes", needs=members.count, most=most_members)

    def _suitable(self, members: MemberClass, domain: Mask | None) -> Mask:
        suits = np.array([node is not None for node in self._cluster.nodes.objects[: len(self._capacity)]], np.bool_)
        for mask in (members.eligible, domain):
            if mask is not None:
                suits &= mask
        return suits

    def _classes(self, job: BatchJob) -> Iterator[PodClass]:
        return (self._cluster.classify(pod) for pod in job.waiting)


def _of(suits: Mask) -> str:
    return f"{nodes_text(int(np.count_nonzero(suits)))} that it may be on"


def _any_of(suits: Mask) -> str:
    return _of(suits) if np.count_nonzero(suits) == 1 else f"any of {_of(suits)}"


def _advice(num_members: int) -> str:
    """The most of such members that would fit, all that they ask for considered."""
    if not num_members:
        return ": ask for smaller members"
    return f": ask for at most {num_members} member{'' if num_members == 1 else 's'}"


def _refused(words: str, **detail: object) -> JobStanding:
    return JobStanding(JobState.REFUSED, Refused.NEVER_FITS, detail, words)

"""All that is known about one job: is it complete, does it fit, who is in the way, who holds the room, what helps.

In: a profile and a job's book in its cluster, with what only the caller knows (how long it waits, how often it was
tried). Out: a `JobExplanation`, as a document for programs; the words for people are in `job_text`. Nothing in the
cluster changes. Called by `job_answer` for jobs of files, runs and live clusters.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from fairway.cluster.groups import GroupBook
from fairway.cycle import Decision, Outcome, Profile
from fairway.cycle.funnel import Step, funnel_document, make_funnel
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_members import Kind, kinds_of
from fairway.cycle.groups.job_words import short_of
from fairway.explain.jobs.job_fixes import JobFix, JobFixes
from fairway.explain.jobs.job_room import DomainRoom, Holder, domain_rooms, holders_on
from fairway.explain.jobs.next_try import NextTry
from fairway.explain.jobs.other_jobs import OtherJobs
from fairway.explain.jobs.together import decide_together, ready_members
from fairway.model.group import GroupSpec, Misconfigured
from fairway.record.writing.job_rows import blocking_member

__all__ = ["JobExplanation", "JobPast", "JobState"]

JobState = Literal["started", "fits", "waits", "incomplete", "dependent", "misconfigured"]
"""`fits`: it waits, and could start now; `incomplete`: members, or its object, are missing; `dependent`: of others."""
SHOWN: Final = 4
"""Of so many domains is told who holds them."""


class JobPast(NamedTuple):
    """What is known about a job besides the cluster."""

    waited: float | None = None  # seconds
    attempts: int | None = None
    started: float | None = None  # seconds of the run's clock
    next_try: NextTry | None = None


class JobExplanation:
    """One job at one moment."""

    def __init__(
        self, profile: Profile, group: GroupBook, known: JobPast | None = None, others: OtherJobs | None = None
    ) -> None:
        """`others` are the jobs that it may have to wait for, or start with; None: nothing is known of any."""
        self.profile = profile
        self.group = group
        self.known = known or JobPast()
        self.spec: GroupSpec | Misconfigured | None = profile.cluster.groups.spec_of(group)
        self.waiting = [group.pods[uid] for uid in group.waiting]
        self.ready = [pod for pod in self.waiting if not pod.spec.scheduling_gates]
        self.decision: GroupDecision | None = None
        self.kinds: list[Kind] = []
        self.rooms: list[DomainRoom] = []
        self.holders: dict[str, list[Holder]] = {}  # by domain
        self.blocking: Decision | None = None
        self.funnel: tuple[Step, ...] = ()
        self.resource = ""
        self.fixes: list[JobFix] = []
        self._fewer: tuple[int, GroupDecision | None] = (0, None)  # how many could start together, and how
        self.hindrance = ""  # why it is not tried, or what another job that starts with it lacks
        self.companions: list[GroupBook] = []
        if isinstance(self.spec, GroupSpec) and self.ready:
            self._ask(self.spec, others)

    def _ask(self, spec: GroupSpec, others: OtherJobs | None) -> None:
        profile, group = self.profile, self.group
        self.kinds = kinds_of(profile, self.ready, spec.one_per_node)
        if others is not None:
            self.hindrance = others.hindrance(profile, group)
        if self.num_there - group.num_gated < spec.min_count or self.hindrance:
            return
        if others is not None:
            self.companions = others.companions(profile, group)
        decision = self.decision = decide_together(profile, group, self.ready, self.companions)
        if self.companions and decision.outcome is not GroupOutcome.SCHEDULED and not self._is_to_blame(decision):
            self.hindrance = decision.message
            return
        if decision.outcome is GroupOutcome.SCHEDULED:
            self._fewer = 0, decision
            if group.num_scheduled < max(spec.min_count, 1):
                return
            # It runs; of those that came later, such as in the place of one that is gone, somebody may still wait.
            self.blocking = next((each for each in decision.members if each.diagnosis is not None), None)
            if self.blocking is None:
                return
        else:
            fixes = JobFixes(profile, group, spec, self.ready, self.companions)
            self._fewer = fixes.most_members()
            self.blocking = blocking_member(decision)
        with self._companions_placed():
            self._look_for_room(spec, decision)
        if decision.outcome is GroupOutcome.UNSCHEDULABLE:
            self.fixes = list(fixes.find(self.rooms, self.resource, self._fewer))

    def _look_for_room(self, spec: GroupSpec, decision: GroupDecision) -> None:
        profile = self.profile
        if self.blocking is not None:
            self.resource = decision.resource or short_of(self.blocking.diagnosis)
            with self._others_placed():
                self.funnel = make_funnel(profile, self.blocking.pod_class, self.blocking.diagnosis)
        self.rooms = domain_rooms(profile, spec.topology, kinds_of(profile, self.ready, spec.one_per_node))
        if self.resource:
            self.holders = {room.name: holders_on(profile, room.rows, self.resource) for room in self.rooms[:SHOWN]}

    @contextlib.contextmanager
    def _companions_placed(self) -> Iterator[None]:
        """Inside, jobs that start with it have their nodes, if they can: they are among those who hold the rest."""
        with contextlib.ExitStack() as stack:
            if self.companions:
                stack.enter_context(self.profile.cluster.what_if())
            for other in self.companions:
                found = decide_together(self.profile, other, ready_members(other), may_preempt=False)
                if found.outcome is GroupOutcome.SCHEDULED:
                    self._place(found.members)
            yield

    def _place(self, members: Sequence[Decision]) -> None:
        cluster = self.profile.cluster
        for member in members:
            if member.outcome is Outcome.SCHEDULED and (self.blocking is None or member.pod is not self.blocking.pod):
                cluster.place(member.pod, cluster.classify(member.pod, bound=True), member.row)

    def _is_to_blame(self, decision: GroupDecision) -> bool:
        """Is it a member of this job that is in the way, and not one of a job that starts with it?"""
        return not decision.blocking or decision.blocking in self.group.pods

    @contextlib.contextmanager
    def _others_placed(self) -> Iterator[None]:
        """Inside, as many of the other members as fit have their nodes: what is free is free beside them."""
        assert self.blocking is not None
        decision = self._fewer[1]
        with self.profile.cluster.what_if():
            self._place(decision.members if decision is not None else ())
            yield

    # -- numbers -------------------------------------------------------------------------------------------------------

    @property
    def num_there(self) -> int:
        """How many members live."""
        return len(self.group)

    @property
    def makers(self) -> dict[str, int]:
        """How many members each controller has made, as `Kind namespace/name`; "": nobody has."""
        owners = ((pod.metadata.namespace, pod.metadata.controller) for pod in self.group.pods.values())
        return dict(Counter("" if owner is None else f"{owner.kind} {space}/{owner.name}" for space, owner in owners))

    @property
    def min_count(self) -> int | None:
        """How many have to start together, if that is known."""
        return self.spec.min_count if isinstance(self.spec, GroupSpec) else None

    @property
    def total(self) -> int:
        """Of how many members is spoken: those that have to start together, or all."""
        return self.min_count or self.num_there

    @property
    def num_fitting(self) -> int:
        """How many members have a node, or would have one now."""
        if self.decision is None:
            return self.group.num_scheduled
        if self.decision.outcome is GroupOutcome.SCHEDULED:
            return self.group.num_scheduled + self.decision.num_placed
        return max(self._fewer[0], self.total - self.decision.missing if self.decision.missing else 0)

    @property
    def state(self) -> JobState:
        """In a word."""
        if isinstance(self.spec, Misconfigured) or self.hindrance.startswith("Misconfigured: "):
            return "misconfigured"
        if self.spec is None or self.num_there - self.group.num_gated < self.spec.min_count:
            return "incomplete"
        if self.group.num_scheduled >= max(self.spec.min_count, 1):
            return "started"
        if self.hindrance:
            return "dependent"
        return "fits" if self.is_placed else "waits"

    @property
    def is_placed(self) -> bool:
        """Has it started, or could it now?"""
        if self.decision is None:
            return self.group.num_scheduled >= max(self.min_count or 1, 1)
        return self.decision.outcome is GroupOutcome.SCHEDULED

    @property
    def message(self) -> str:
        """Why it waits, in a sentence; empty if it does not."""
        if isinstance(self.spec, Misconfigured):
            return self.spec.message
        if self.spec is None:
            return self.profile.cluster.groups.missing_words(self.group)
        if self.hindrance:
            return self.hindrance
        return "" if self.decision is None else self.decision.message

    # -- for programs --------------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Everything, in plain values."""
        spec, decision = self.spec, self.decision
        topology = spec.topology if isinstance(spec, GroupSpec) else None
        nodes = {member.pod.metadata.uid: member.node for member in decision.members} if decision is not None else {}
        rows = {uid: placed.row for uid, placed in self.profile.cluster.pods.by_uid.items() if uid in self.group.pods}
        names = self.profile.cluster.nodes.names
        return {
            "job": str(self.group.key),
            "spelling": self.group.key.spelling.value,
            "state": self.state,
            "minCount": self.min_count,
            "size": spec.size if isinstance(spec, GroupSpec) else None,
            "there": self.num_there,
            "madeBy": self.makers,
            "gated": self.group.num_gated,
            "bound": self.group.num_scheduled,
            "fit": self.num_fitting,
            "fits": self.is_placed,
            "waitedSeconds": self.known.waited,
            "attempts": self.known.attempts,
            "startedSeconds": self.known.started,
            "nextTry": None
            if self.known.next_try is None
            else {"inSeconds": self.known.next_try.seconds, "place": self.known.next_try.place},
            "message": self.message or None,
            "startsWith": [str(other.key) for other in self.companions],
            "topology": None if topology is None else {"keys": list(topology.keys), "required": topology.is_required},
            "members": [
                {
                    "pod": pod.key,
                    "node": names[rows[uid]] if uid in rows else None,
                    "wouldGoTo": (nodes.get(uid) or None) if uid not in rows else None,
                }
                for uid, pod in self.group.pods.items()
            ],
            "kinds": [
                {"pods": [pod.key for pod in kind.pods], "requests": dict(kind.pod_class.requests)}
                for kind in self.kinds
            ],
            "resource": self.resource or None,
            "domains": [
                {
                    "domain": room.name or None,
                    "nodes": room.num_nodes,
                    "slots": room.slots,
                    "holders": [
                        {"name": one.name, "amount": one.amount, "untilEpoch": one.until, "priority": one.priority}
                        for one in self.holders.get(room.name, ())
                    ],
                }
                for room in self.rooms
            ],
            "blocking": None
            if self.blocking is None
            else {
                "pod": self.blocking.pod.key,
                "domain": (decision.domain or None) if decision is not None else None,
                "funnel": funnel_document(self.funnel),
            },
            "evicts": [victim.pod.key for victim in decision.victims] if decision is not None else [],
            "fixes": [fix.document() for fix in self.fixes],
        }

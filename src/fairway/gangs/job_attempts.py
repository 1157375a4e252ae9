"""One attempt for a whole job, in mode `fairway`, and what comes of it; nothing is held between two of them.

In: an entry that was popped from the queue. Out: a decision about the whole job, carried out: every member that was
placed is bound, in one go, or nobody is, and the job waits for what would help the member in its way. Members that
permit plugins hold, and bindings that the world refuses, come here too. What `scheduler.py` knows of single pods (who
is held, who is being bound) is shared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from fairway.cluster import Change
from fairway.cluster.groups import GroupBook
from fairway.cluster.intents.held_pods import Settled
from fairway.cycle import Decision, Outcome, Profile, Stop
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.joint_attempt import JobRequest
from fairway.cycle.groups.joint_cycle import decide_jobs
from fairway.cycle.placing import fail_at
from fairway.gangs.commitment import RefusedMember, prepare_all, release_all, reserve_all
from fairway.gangs.connections import Connections
from fairway.gangs.room_making import RoomMaking
from fairway.gangs.start_notices import StartNotices
from fairway.model import Pod
from fairway.model.device_need import with_devices
from fairway.model.group import GroupKey, GroupSpec
from fairway.plugin import Refusal
from fairway.queue import QueuedGroup, QueuedPod, SchedulingQueue
from fairway.world import GroupBinding, World

__all__ = ["JobAttempts", "Shared"]

Pending = dict[str, tuple[QueuedPod, Decision]]
"""Pods about which something was decided, by uid."""


@dataclass(slots=True)
class JobPart:
    """A job that is tried, as one or as one of several: its entry, what was decided, who has a node."""

    entry: QueuedGroup
    decision: GroupDecision
    placed: list[tuple[QueuedPod, Decision]]


@dataclass(slots=True)
class _Held:
    """Jobs that start together, whose members have their nodes, and of which permit plugins hold some."""

    parts: list[JobPart]
    waits: set[str]  # uids

    @property
    def placed(self) -> list[tuple[QueuedPod, Decision]]:
        """All members with a node."""
        return [each for part in self.parts for each in part.placed]


class Shared(NamedTuple):
    """What the scheduler knows of single pods: held back, or being bound; and how it evicts."""

    held: Pending
    bound: Pending
    evict: Callable[[Pod, Pod], None]


class JobAttempts:
    """Tries jobs."""

    def __init__(
        self,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
        connections: Connections,
        world: World,
        shared: Shared,
    ) -> None:
        self._queue = queue
        self._profiles = profiles
        self._cluster = cluster = next(iter(profiles.values())).cluster
        self._connections = connections
        self._world = world
        self._shared = shared
        self.held: dict[str, _Held] = {}  # by the entries' uids
        self.tried: dict[GroupKey, GroupSpec] = {}  # by job: as what it was last tried
        self.failed: dict[GroupKey, int] = {}  # by job: the attempt in which a binding first failed, while it is short
        self.notices = StartNotices(cluster.groups, world)
        self.room = RoomMaking(queue, profiles, cluster, world, shared.evict)

    def forget(self, key: GroupKey) -> None:
        """The job has no members any more."""
        self.tried.pop(key, None)
        self.failed.pop(key, None)
        self.notices.forget(key)

    # -- one attempt -------------------------------------------------------------------------------------------------

    def attempt(self, entry: QueuedGroup) -> GroupDecision:
        """Try a job that was popped, with those that start with it, and carry out what comes of it."""
        entries = [entry, *self._companions(entry)]
        requests = [self._request(each) for each in entries]
        may_preempt = all(self.room.is_worth_it(each) for each in entries)
        decisions = decide_jobs(self._profiles[entry.profile], requests, may_preempt)
        parts = [self._part(each, decision) for each, decision in zip(entries, decisions, strict=True)]
        if all(part.decision.outcome is GroupOutcome.SCHEDULED and part.placed for part in parts):
            self._commit(parts)
        else:
            for part in parts:
                self._fail(part)
        first, *others = (part.decision for part in parts)
        first.companions = others
        return first

    def _companions(self, entry: QueuedGroup) -> list[QueuedGroup]:
        """The entries of jobs that start with this one, popped too; who has started needs no entry."""
        book = self._cluster.groups.find(entry.key)
        found = []
        for other in self._connections.companions(book) if book is not None else ():
            spec = self._cluster.groups.spec_of(other)
            waiting = self._connections.entry_of(other)
            has_started = isinstance(spec, GroupSpec) and other.num_scheduled >= spec.min_count
            if waiting is not None and not has_started and self._queue.take_group(waiting):
                found.append(waiting)
        return found

    def _request(self, entry: QueuedGroup) -> JobRequest:
        book = self._cluster.groups.find(entry.key)
        spec = None if book is None else self._cluster.groups.spec_of(book)
        assert book is not None  # or its gate had not let it in
        assert isinstance(spec, GroupSpec)
        self.tried[entry.key] = spec
        return JobRequest(book, spec, [member.pod for member in entry.ready])

    def _part(self, entry: QueuedGroup, decision: GroupDecision) -> JobPart:
        decision.attempt = entry.attempts
        placed = []
        for member in decision.members:
            member.attempt = entry.attempts
            if member.outcome is Outcome.SCHEDULED:
                placed.append((entry.members[member.pod.metadata.uid], member))
        return JobPart(entry, decision, placed)

    def _commit(self, parts: list[JobPart]) -> None:
        """Reserve all, ask permits for all, bind all."""
        placed = [each for part in parts for each in part.placed]
        holds = reserve_all(self._profiles[parts[0].entry.profile], [member for _, member in placed])
        if isinstance(holds, RefusedMember):
            self._refuse(parts, holds)
            return
        if not holds:
            self._bind(parts)
            return
        held = _Held(parts, set(holds))
        self.held.update((part.entry.uid, held) for part in parts)
        for queued, member in placed:
            self._shared.held[queued.uid] = queued, member
            if (pod := self._cluster.held.find(queued.uid)) is not None:
                self._world.hold(pod)

    def _bind(self, parts: list[JobPart]) -> None:
        placed = [each for part in parts for each in part.placed]
        before = prepare_all(self._profiles[parts[0].entry.profile], [member for _, member in placed])
        if isinstance(before, RefusedMember):
            self._refuse(parts, before)
            return
        bindings = []
        for (queued, member), steps in zip(placed, before, strict=True):
            self._queue.done(queued.uid)
            self._shared.bound[queued.uid] = queued, member
            bindings.append(GroupBinding(self._with_devices(member), member.node, steps))
        for part in parts:
            self.tried.pop(part.entry.key, None)
            self.room.forget(part.entry)
            self.notices.expect(part.decision, part.entry.first_seen)
            self._leave_rest(part.entry, part.decision)
            self._world.report_job(part.decision)
        self._world.bind_group(bindings)

    def _with_devices(self, decision: Decision) -> Pod:
        pod = decision.pod
        if decision.pod_class.devices is not None and (indices := self._cluster.devices.indices_of(pod.metadata.uid)):
            return with_devices(pod, indices)
        return pod

    def _leave_rest(self, entry: QueuedGroup, decision: GroupDecision) -> None:
        """Members beyond what it takes that got no node wait for what would help them; others are new here."""
        rest = [member for member in decision.members if member.pod.metadata.uid in entry.members]
        refused = next((member for member in rest if member.diagnosis is not None), None)
        entry.unschedulable_count = entry.consecutive_errors = 0
        if refused is None:
            self._queue.groups.end(entry)
        else:
            self._requeue(entry, refused, is_error=False)
            for member in rest:
                self._queue.nominate(member.pod, member.nomination)

    # -- back into the queue -----------------------------------------------------------------------------------------

    def _fail(self, part: JobPart) -> None:
        """Not now: wait for what helps the member in the way, and make room if a way was found."""
        decision, members = part.decision, part.decision.members
        blocking = next((each for each in members if each.pod.metadata.uid == decision.blocking), members[0])
        num_slots = self._slots_needed(decision, blocking)
        self._requeue(part.entry, blocking, decision.outcome is GroupOutcome.ERROR, num_slots)
        self._world.report_job(decision)
        self.room.carry_out(part.entry, decision)

    def _slots_needed(self, decision: GroupDecision, blocking: Decision) -> int:
        """How many members like the one in the way have to find room, even if all others do; 0: that is not known."""
        if not decision.missing or blocking.pod.metadata.uid != decision.blocking:
            return 0
        book, spec = self._cluster.groups.find(decision.job), self.tried.get(decision.job)
        if book is None or spec is None:
            return 0
        others = sum(member.pod_class is not blocking.pod_class for member in decision.members)
        return max(spec.min_count - book.num_scheduled - others, 0)

    def _requeue(self, entry: QueuedGroup, blocking: Decision, is_error: bool, num_slots: int = 0) -> None:
        pending = blocking.diagnosis.pending_plugins if blocking.diagnosis is not None else ()
        plugins = blocking.unschedulable_plugins
        self._queue.groups.requeue_failed(entry, blocking.pod, plugins, pending, error=is_error, num_slots=num_slots)

    def _refuse(self, parts: list[JobPart], refused: RefusedMember) -> None:
        """A plugin said no to one member's node; nothing is assumed any more."""
        blocking = refused.decision
        fail_at(blocking, refused.stop)
        is_error = blocking.outcome is Outcome.ERROR
        words = f"{blocking.pod.metadata.name}: {blocking.message}"
        for part in parts:
            decision = part.decision
            decision.outcome = GroupOutcome.ERROR if is_error else GroupOutcome.UNSCHEDULABLE
            decision.blocking, decision.missing = blocking.pod.metadata.uid, 1
            decision.message = f"job {decision.job}: {words}"
            decision.members = [_told(each, decision.message, each is blocking) for each in decision.members]
            self._fail(part)

    # -- permits that take their time --------------------------------------------------------------------------------

    def settled(self, queued: QueuedPod, decision: Decision, settled: Settled) -> None:
        """The wait of one member has ended: so has that of all, if it may not go or is the last."""
        held = self.held[queued.group]
        held.waits.discard(queued.uid)
        if settled.is_allowed:
            self._shared.held[queued.uid] = queued, decision  # with the others, until all may go
            self._go_on(held)
            return
        self._cluster.held.end(settled, self._world.now())
        self._call_off(held)
        stop = Stop("Permit", settled.plugin, Refusal((settled.reason,)))
        self._refuse(held.parts, RefusedMember(decision, stop))
        self._tell_others(held)

    def _go_on(self, held: _Held) -> None:
        if not held.waits:
            self._let_go(held)
            self._bind(held.parts)

    def _let_go(self, held: _Held) -> None:
        for part in held.parts:
            del self.held[part.entry.uid]
        for queued, _ in held.placed:
            self._shared.held.pop(queued.uid, None)

    def _call_off(self, held: _Held) -> None:
        """Nobody is assumed any more."""
        self._let_go(held)
        for uid in held.waits:
            self._cluster.held.forget(uid)
        release_all(self._profiles[held.parts[0].entry.profile], [member for _, member in held.placed])

    def _tell_others(self, held: _Held) -> None:
        """There is room again; what the jobs themselves held does not help them."""
        own = {queued.uid for queued, _ in held.placed}
        changes = [Change.pod_left(member.pod_there) for _, member in held.placed]
        self._queue.move(changes, only=lambda other: other.metadata.uid not in own)

    def look_after_held(self) -> None:
        """Members may have gone, or got another node, while their jobs were held back."""
        if not self.held:
            return
        for held in {id(each): each for each in self.held.values()}.values():
            gone = {queued.uid for queued, _ in held.placed if queued.uid not in self._shared.held}
            if not gone:
                continue
            held.waits -= gone
            for part in held.parts:
                part.placed = [each for each in part.placed if each[0].uid not in gone]
                members = part.decision.members
                part.decision.members = [each for each in members if each.pod.metadata.uid not in gone]
            if all(part.placed and self._is_enough(part) for part in held.parts):
                self._go_on(held)
                continue
            self._call_off(held)
            for part in held.parts:
                self._queue.groups.end(part.entry)
            self._tell_others(held)

    def _is_enough(self, part: JobPart) -> bool:
        book = self._cluster.groups.find(part.entry.key)
        spec = None if book is None else self._cluster.groups.spec_of(book)
        return book is not None and isinstance(spec, GroupSpec) and book.num_scheduled >= spec.min_count

    # -- the world refuses -------------------------------------------------------------------------------------------

    def binding_failed(self, queued: QueuedPod, decision: Decision, book: GroupBook) -> None:
        """One of many was not bound, and its room is given back: it goes back to its job."""
        self._world.report(decision)
        spec = self._cluster.groups.spec_of(book)
        is_short = isinstance(spec, GroupSpec) and book.num_scheduled < spec.min_count
        first = self.failed.setdefault(book.key, decision.attempt)
        num_errors = decision.attempt - first if is_short else decision.attempt - first + 1
        self._come_back(book, queued, decision, num_errors, is_short)
        if is_short:
            self._recall_others(book, num_errors)

    def _recall_others(self, book: GroupBook, num_errors: int) -> None:
        """Fewer are left than it takes: who is not on its way yet stays, and waits with the others."""
        waiting = [self._shared.bound[uid] for uid in book.assumed if uid in self._shared.bound]
        recalled = set(self._world.recall([member.pod for _, member in waiting]))
        for queued, member in waiting:
            if queued.uid in recalled:
                del self._shared.bound[queued.uid]
                release_all(self._profiles[queued.profile], [member])
                self._come_back(book, queued, member, num_errors, is_short=True)

    def _come_back(
        self, book: GroupBook, queued: QueuedPod, decision: Decision, num_errors: int, is_short: bool
    ) -> None:
        """Into the queue; if its job is short of it, its room is kept and it goes first, unless that failed before."""
        if queued.latest is not None:
            queued.pod, queued.latest = queued.latest, None
        self._queue.groups.come_back(book.key, queued, num_errors)
        self._queue.nominate(
            queued.pod, decision.node if is_short and decision.node in self._cluster.nodes.row_of else ""
        )
        if not num_errors:
            self._queue.groups.go_first(book.key)


def _told(member: Decision, words: str, keeps_reasons: bool) -> Decision:
    """What is said to a member whose job was refused for one of them."""
    if keeps_reasons:
        member.words = words
        return member
    return replace(
        member, outcome=Outcome.UNSCHEDULABLE, row=-1, node="", words=words, promise="", diagnosis=None, preemption=None
    )

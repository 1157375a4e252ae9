"""What people are told about jobs: the condition of a PodGroup, events about the job, conditions of its members.

In: decisions about groups and jobs, from the world. Out: `PodGroupScheduled` on Kubernetes' own PodGroups, and
`DisruptionTarget` on those that have to make room for a job, patched when they change; events on the group's object,
else on the members' owner, else on a member; and PodScheduled=False on every member that waits, when its words change,
for one job at most every ten seconds: members may be a thousand, and each attempt has other words. Only the latest
words are written. `LiveWorld` holds it and hands on.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from fairway.cluster.groups import Groups
from fairway.cycle import Outcome
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.world.conditions import StatusWriter, WantedStatus
from fairway.live.world.events import EventWriter, Subject
from fairway.live.world.group_conditions import GroupConditions, WantedCondition
from fairway.model import Pod
from fairway.model.disruption import DISRUPTION_TARGET, PREEMPTED
from fairway.model.group import GroupKey, GroupSpec
from fairway.model.pod_group import POD_GROUP_SCHEDULED
from fairway.plugin import Notice
from fairway.queue import QueuedPod, profile_name
from fairway.scheduler import Scheduler

__all__ = ["JobReports"]

PAUSE_SECONDS: Final = 10.0
MOMENT_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Words:
    """What the members of one job are to be told."""

    told_at: float = float("-inf")
    wanted: dict[str, tuple[Pod, WantedStatus]] = field(default_factory=dict)  # by uid
    is_gated: bool = False  # look at the queue, again and again: it knows what keeps the job out
    told: dict[str, str] = field(default_factory=dict)  # by uid: what members were told of that


class JobReports:
    """Tells of jobs."""

    def __init__(
        self,
        api: ApiServer,
        clock: Clock,
        statuses: StatusWriter,
        events: EventWriter,
        may_write: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._statuses = statuses
        self._events = events
        self._conditions = GroupConditions(api, clock, may_write)
        self._may_write = may_write
        self._scheduler: Scheduler | None = None
        self._jobs: dict[str, _Words] = {}  # by the job's entry
        self._news = asyncio.Event()
        self.on_missing: Callable[[], None] | None = None  # told when members name what nobody has seen

    def attach(self, scheduler: Scheduler) -> None:
        """The scheduler whose jobs these are."""
        self._scheduler = scheduler
        self._conditions.newest = self._groups.object_of

    @property
    def _groups(self) -> Groups:
        assert self._scheduler is not None
        return self._scheduler.cluster.groups

    # -- what happened -----------------------------------------------------------------------------------------------

    def report_group(self, decision: GroupDecision, now: float) -> None:
        """Say in the group's object, if it is one of Kubernetes' own, whether its pods got their nodes."""
        if self._may_write():
            self._conditions.write(
                decision.job, WantedCondition(POD_GROUP_SCHEDULED, *decision.condition, _whole_seconds(now))
            )

    def report_queued(self, job: GroupKey, message: str, now: float) -> None:
        """Say in the same place how a group's job stands in its queue."""
        if self._may_write():
            told = POD_GROUP_SCHEDULED, "False", "Unschedulable", message
            self._conditions.write(job, WantedCondition(*told, _whole_seconds(now)))

    def report_job(self, decision: GroupDecision, entry: str, now: float) -> None:
        """The same, and to every member that waits why it does; `entry` is its job's in the queue."""
        self.report_group(decision, now)
        if not self._may_write():
            return
        for other in decision.cleared:
            self._statuses.write(other, WantedStatus(nominated=""))
        if decision.victims:
            self._tell_victims(decision, now)
        waiting = [member for member in decision.members if member.outcome is not Outcome.SCHEDULED]
        if decision.outcome is not GroupOutcome.SCHEDULED:
            self.tell_group(decision.job, decision.members[0].pod, Notice("FailedGang", decision.message))
        words = self._jobs.setdefault(entry, _Words())
        words.is_gated = False
        words.told.clear()
        for member in waiting:
            reason = "SchedulerError" if member.outcome is Outcome.ERROR else "Unschedulable"
            nomination = member.nomination
            if nomination is not None and nomination != member.pod.status.nominated_node_name:
                self._statuses.write(member.pod, WantedStatus(nominated=nomination))  # others have to know at once
            words.wanted[member.pod.metadata.uid] = member.pod, WantedStatus(reason, member.message, nomination)
        self._say(words)

    def _tell_victims(self, decision: GroupDecision, now: float) -> None:
        """Groups that are no more what they should be, once the victims are gone, are told why; so is each pod."""
        leaving: dict[GroupKey, int] = {}
        for victim in decision.victims:
            book = self._groups.of(victim.pod.metadata.uid)
            if book is not None:
                leaving[book.key] = leaving.get(book.key, 0) + 1
        words = f"{profile_name(decision.members[0].pod)}: preempting to accommodate job {decision.job}"
        for key, number in leaving.items():
            book = self._groups.find(key)
            spec = None if book is None else self._groups.spec_of(book)
            if book is not None and isinstance(spec, GroupSpec) and len(book.bound) - number < max(spec.min_count, 1):
                target = DISRUPTION_TARGET, PREEMPTED.status, PREEMPTED.reason, words
                self._conditions.write(key, WantedCondition(*target, _whole_seconds(now)))

    def gated(self, queued: QueuedPod) -> None:
        """A member is kept out of the queue, for its job's sake."""
        words = self._jobs.get(queued.group)
        book = self._groups.of(queued.uid)
        if book is not None and self.on_missing is not None and self._groups.spec_of(book) is None:
            self.on_missing()
        if words is None:  # its members come one after the other: a moment later it may be complete
            words = self._jobs[queued.group] = _Words(self._clock.monotonic() - PAUSE_SECONDS + MOMENT_SECONDS)
        words.is_gated = True
        words.wanted.clear()
        self._say(words)

    def tell_group(self, job: GroupKey, member: Pod, notice: Notice) -> None:
        """Something has to be said about the job itself."""
        if self._may_write():
            kind = "Warning" if notice.is_warning else "Normal"
            self._events.about(self._subject(job, member), kind, notice.reason, notice.note)

    def _subject(self, job: GroupKey, member: Pod) -> Subject:
        group, owner = self._groups.object_of(job), member.metadata.controller
        of_pod = Subject.of(member)
        if group is not None:
            meta = group.metadata
            return of_pod._replace(
                name=meta.name,
                uid=meta.uid,
                version=meta.resource_version,
                kind=group.kind,
                api_version=group.api_version,
            )
        if owner is not None:
            return of_pod._replace(
                name=owner.name, uid=owner.uid, version="", kind=owner.kind, api_version=owner.api_version
            )
        return of_pod

    @property
    def backlog(self) -> int:
        """Groups whose conditions are to be written."""
        return self._conditions.backlog

    # -- members' conditions -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Say what had to wait, when its time has come; until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._conditions.run())
            group.create_task(self._say_later())

    async def _say_later(self) -> None:
        while True:
            due = min((words.told_at for words in self._jobs.values() if _is_news(words)), default=None)
            self._news.clear()
            if due is None:
                await self._news.wait()
                continue
            await self._clock.sleep(max(due + PAUSE_SECONDS - self._clock.monotonic(), 0.05))
            for entry, words in list(self._jobs.items()):
                if _is_news(words):
                    self._say(words)
                elif words.told_at + PAUSE_SECONDS < self._clock.monotonic():
                    del self._jobs[entry]

    def _say(self, words: _Words) -> None:
        """Write it, unless the job's members were told something a moment ago: then later."""
        now = self._clock.monotonic()
        if not _is_news(words):
            return
        if now < words.told_at + PAUSE_SECONDS:
            self._news.set()
            return
        if words.is_gated:
            self._say_gates(words, now)
            return
        words.told_at = now
        for pod, wanted in words.wanted.values():
            self._statuses.write(pod, wanted)
        words.wanted.clear()

    def _say_gates(self, words: _Words, now: float) -> None:
        """What keeps the job out, as the queue knows it by now."""
        assert self._scheduler is not None
        queue = self._scheduler.queue
        entry = next((name for name, each in self._jobs.items() if each is words), None)
        found = None if entry is None else queue.groups.find_uid(entry)
        if found is None or found.refusal is None or not self._may_write():
            words.is_gated = False
            return
        words.told_at = now
        self._news.set()  # its reason may change
        text = ", ".join(found.refusal.reasons)
        for member in found.members.values():
            if not member.is_gated and words.told.get(member.uid) != text:
                words.told[member.uid] = text
                self._statuses.write(member.pod, WantedStatus("Unschedulable", text))


def _whole_seconds(now: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(int(now), dt.UTC)


def _is_news(words: _Words) -> bool:
    return words.is_gated or bool(words.wanted)

"""Jobs that have room and are not tried, because others are before them: looked for while a simulation runs.

In: a scheduler's queue and its view of the cluster, every ten seconds. Out: for the recorder, when a job begins to be
kept from starting so, and when that is over. It is if it has stood ready since the last look without an attempt, and
all members that it takes would get a node now, by the filters, scores and domains of mode `fairway` and without the
plugin of another mode; tried by `what_if`, without using up any of the scheduler's chance. Only with
`record: {gangs: true}`, as each look costs attempts. Called by `SimScheduler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairway.cluster.groups import GroupBook
from fairway.config import Configuration
from fairway.config.gangs import Gangs, complete_gangs
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupOutcome
from fairway.cycle.groups.job_cycle import decide_job
from fairway.model.group import GroupKey, GroupSpec
from fairway.queue import Place
from fairway.record import Recorder
from fairway.record.vocabulary import BlockedNote
from fairway.scheduler import Scheduler
from fairway.sim.deadlocks import without_its_mode
from fairway.sim.timeline import Timeline

__all__ = ["BlockedWatch", "blocked_watch_of"]

PERIOD: Final = 10.0


class BlockedWatch:
    """Looks after the jobs of one scheduler."""

    def __init__(
        self,
        scheduler: Scheduler,
        trials: dict[str, Profile],
        timeline: Timeline,
        tell: Callable[[str, str, BlockedNote, str], None],
    ) -> None:
        """`trials`, by schedulerName: profiles to try with. `tell` takes an event: kind, name, reason and words."""
        self._scheduler = scheduler
        self._trials = trials
        self._timeline = timeline
        self._tell = tell
        self._ready: dict[GroupKey, int] = {}  # who stood ready at the last look, and how many attempts it had had
        self._blocked: set[GroupKey] = set()
        self._is_armed = False
        self.go_on()

    def go_on(self) -> None:
        """Something happens: look again when ten seconds are full."""
        if not self._is_armed:
            self._is_armed = True
            full = (self._timeline.now() // PERIOD + 1) * PERIOD
            self._timeline.at(full, self._look, is_idle=True)

    def _look(self) -> None:
        self._is_armed = False
        before, self._ready = self._ready, {}
        blocked = set()
        for group in self._scheduler.cluster.groups:
            attempts = self._attempts(group)
            if attempts is not None:
                self._ready[group.key] = attempts
                if before.get(group.key) == attempts and self._fits(group):
                    blocked.add(group.key)
        for key in sorted(blocked - self._blocked, key=str):
            self._tell("Job", str(key), BlockedNote.BEGUN, "it fits, and others are tried before it")
        for key in sorted(self._blocked - blocked, key=str):
            self._tell("Job", str(key), BlockedNote.OVER, "it was tried, or fits no longer")
        self._blocked = blocked
        if self._timeline.num_busy:
            self.go_on()

    def _attempts(self, group: GroupBook) -> int | None:
        """How often its members were tried, if it has not started and stands ready; else None."""
        spec = self._scheduler.cluster.groups.spec_of(group)
        if not isinstance(spec, GroupSpec) or not group.waiting or group.num_scheduled >= spec.min_count:
            return None
        found = [queued for uid in group.waiting if (queued := self._scheduler.queue.find(uid)) is not None]
        if not any(queued.place is Place.ACTIVE for queued in found):
            return None
        return sum(queued.attempts for queued in found)

    def _fits(self, group: GroupBook) -> bool:
        groups = self._scheduler.cluster.groups
        spec = groups.spec_of(group)
        pods = [pod for uid in group.waiting if not (pod := group.pods[uid]).spec.scheduling_gates]
        trial = self._trials.get(pods[0].spec.scheduler_name) if pods else None
        if trial is None or not isinstance(spec, GroupSpec):
            return False
        decision = decide_job(trial, group, spec, pods, may_preempt=False)
        return decision.outcome is GroupOutcome.SCHEDULED


def blocked_watch_of(
    scheduler: Scheduler, configuration: Configuration, recorder: Recorder, timeline: Timeline
) -> BlockedWatch | None:
    """A watch over the scheduler's jobs, if some of its profiles know jobs and a recorder listens."""
    following = [profile for profile in configuration.profiles if profile.gangs is not None]
    if not following or not recorder.is_recording:
        return None
    trials = {
        profile.scheduler_name: Profile(
            without_its_mode(profile, complete_gangs(Gangs())),
            scheduler.cluster,
            tie_break="first",
            sampling="all",
            diagnoses=False,
        )
        for profile in following
    }
    return BlockedWatch(scheduler, trials, timeline, lambda *event: recorder.event(timeline.now(), *event))

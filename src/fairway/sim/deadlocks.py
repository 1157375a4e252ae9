"""Jobs that wait for each other's room: found while a simulation runs.

In: word that permit plugins hold a pod, or no longer do, and the scheduler's view of the cluster. Out: for the
recorder, when a deadlock begins and when it is over. It is one while two jobs or more that have not started hold room,
none of them can complete now, and one of them could if the others held nothing: each tried by `what_if`, with the
filters and scores of the profile but without the plugin that holds the pods, which would have its own opinion, and
without using up any of the scheduler's chance. Looked for whenever holds have changed and no member of those jobs is
about to be tried: until then it may still turn out well. Called by `SimScheduler`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from fairway.cluster import PodClass
from fairway.cluster.groups import GroupBook
from fairway.config import Configuration, ProfileConfig
from fairway.config.gangs import MODE_PLUGINS, Gangs
from fairway.cycle import Outcome, Profile
from fairway.cycle.groups.job_slots import slots_by_row
from fairway.model.group import GroupSpec
from fairway.queue import Place
from fairway.record import Recorder
from fairway.record.vocabulary import DeadlockNote
from fairway.scheduler import Scheduler

__all__ = ["DeadlockWatch", "watch_of", "without_its_mode"]

Classes = Counter[tuple[Profile, PodClass]]


class DeadlockWatch:
    """Looks for deadlocks between the jobs of one scheduler."""

    def __init__(
        self,
        name: str,
        scheduler: Scheduler,
        trials: dict[str, Profile],
        tell: Callable[[str, str, DeadlockNote, str], None],
    ) -> None:
        """`trials`, by schedulerName: profiles to try with. `tell` takes an event: kind, name, reason and words."""
        self._name = name
        self._scheduler = scheduler
        self._trials = trials
        self._tell = tell
        self._has_changed = False
        self._is_dead = False

    def holds_changed(self) -> None:
        """Somebody is held, or no longer."""
        self._has_changed = True

    def look(self) -> None:
        """The scheduler has finished what it was at."""
        if not self._has_changed:
            return
        holders = self._holders()
        if len(holders) > 1 and any(self._is_coming(group) for group in holders):
            return
        self._has_changed = False
        is_dead = len(holders) > 1 and self._is_deadlock(holders)
        if is_dead is not self._is_dead:
            self._is_dead = is_dead
            words = f"{len(holders)} jobs hold room that another of them lacks" if is_dead else "room was given back"
            self._tell("Scheduler", self._name, DeadlockNote.BEGUN if is_dead else DeadlockNote.OVER, words)

    def _holders(self) -> list[GroupBook]:
        """Jobs that hold room and have not started."""
        groups = self._scheduler.cluster.groups
        found = {group.key: group for held in self._scheduler.cluster.held if (group := groups.of(held.uid))}
        return [group for group in found.values() if self._missing(group) > 0]

    def _missing(self, group: GroupBook) -> int:
        """How many members more have to get a node."""
        spec = self._scheduler.cluster.groups.spec_of(group)
        return spec.min_count - group.num_scheduled if isinstance(spec, GroupSpec) else 0

    def _is_coming(self, group: GroupBook) -> bool:
        queued = (self._scheduler.queue.find(uid) for uid in group.waiting)
        return any(each is not None and each.place is Place.ACTIVE for each in queued)

    def _is_deadlock(self, holders: list[GroupBook]) -> bool:
        classes = [self._classes(group) for group in holders]
        if any(self._can_complete(*each, ()) for each in zip(holders, classes, strict=True)):
            return False
        return any(
            self._can_complete(group, waiting, [other for other in holders if other is not group])
            for group, waiting in zip(holders, classes, strict=True)
        )

    def _classes(self, group: GroupBook) -> Classes:
        """How many of its members wait, by who decides about them and their class."""
        pods = (group.pods[uid] for uid in group.waiting)
        trials = ((pod, self._trials.get(pod.spec.scheduler_name)) for pod in pods)
        return Counter((trial, trial.classify(pod)) for pod, trial in trials if trial is not None)

    def _can_complete(self, group: GroupBook, classes: Classes, without: Iterable[GroupBook]) -> bool:
        """Would enough members get a node now, did these others hold nothing? Nothing changes."""
        cluster, missing = self._scheduler.cluster, self._missing(group)
        pods = [group.pods[uid] for uid in group.waiting]
        with cluster.what_if(), cluster.nominations.lifted(pods):
            for other in without:
                for uid in [uid for uid in other.assumed if uid in cluster.held]:
                    cluster.remove(uid)
            if not _may_fit(classes, missing):
                return False
            refused: set[PodClass] = set()  # since the last that got a node; others of the class are refused too
            for number, pod in enumerate(pods):
                trial = self._trials.get(pod.spec.scheduler_name)
                if trial is None or len(pods) - number < missing or trial.classify(pod) in refused:
                    continue
                decision = trial.decide(pod, makes_room=False)
                if decision.outcome is not Outcome.SCHEDULED:
                    refused.add(decision.pod_class)
                    continue
                cluster.place(pod, decision.pod_class, decision.row)
                refused.clear()
                missing -= 1
                if missing <= 0:
                    return True
        return False


def _may_fit(classes: Classes, missing: int) -> bool:
    """Is there room for so many of them by amounts alone? A no is never wrong."""
    slots = (slots_by_row(trial, pod_class, number).sum() for (trial, pod_class), number in classes.items())
    return sum(min(number, int(room)) for number, room in zip(classes.values(), slots, strict=True)) >= missing


def watch_of(
    name: str, scheduler: Scheduler, configuration: Configuration, recorder: Recorder, now: Callable[[], float]
) -> DeadlockWatch | None:
    """A watch over the scheduler's jobs, if some of its profiles hold nodes for members and a recorder listens."""
    modes = [(profile, profile.gangs) for profile in configuration.profiles]
    holding = [profile for profile, gangs in modes if gangs is not None and gangs.mode in MODE_PLUGINS]
    if not holding or not recorder.is_recording:
        return None
    trials = {
        profile.scheduler_name: Profile(
            without_its_mode(profile), scheduler.cluster, tie_break="first", sampling="all", diagnoses=False
        )
        for profile in holding
    }
    return DeadlockWatch(name, scheduler, trials, lambda *event: recorder.event(now(), *event))


def without_its_mode(profile: ProfileConfig, gangs: Gangs | None = None) -> ProfileConfig:
    """The profile without the plugin that makes up its mode; with `gangs`, which say how jobs are tried, instead."""
    assert profile.gangs is not None
    plugin = MODE_PLUGINS.get(profile.gangs.mode)
    points = {point: tuple(name for name in names if name != plugin) for point, names in profile.points.items()}
    entries = {name: entry for name, entry in profile.entries.items() if name != plugin}
    return replace(profile, points=points, entries=entries, gangs=gangs)

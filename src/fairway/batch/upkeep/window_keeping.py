"""Maintenance windows are carried out: nodes are cordoned and given back, pods leave, and those in the way are told.

In: the windows of the settings, what is written down of them, nodes and pods as they are seen. Out: views of them for
the plan, and in each pass what shall be true now, from state alone. Which nodes a window has is written down when it
begins, before anything is done to them. An eviction that was refused is asked for again after five seconds. Called by
`upkeep`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fairway.batch.accounts.charges import RefundCause
from fairway.batch.actions import Action, EvictPod, Tell
from fairway.batch.affected_jobs import AffectedJob, affected_jobs, still_there
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.ending_jobs import anew, order_end
from fairway.batch.failures import requeue_decision
from fairway.batch.job import BatchJob
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.batch.upkeep.node_sights import NodeSights
from fairway.batch.upkeep.status_book import StatusBook
from fairway.batch.windows import (
    Phase,
    Window,
    WindowView,
    requeued_jobs,
    view_window,
    window_actions,
    window_keys,
)
from fairway.model.batch import WindowSpec
from fairway.plan import WaitingJob, dates
from fairway.words import nodes_text, time_text

__all__ = ["WindowKeeping"]

RETRY: Final = 5.0
"""So many seconds after a pod was asked to leave it is asked again."""
FATES: Final = {
    "left": "it may run into it, and is left where it is",
    "evicted": "it may run into it, and is evicted then",
    "ended": "it may run into it, and is ended then; it waits again",
}


class WindowKeeping:
    """Looks after the windows of a desk."""

    def __init__(self, desk: DutyDesk, nodes: NodeSights, statuses: StatusBook) -> None:
        self._desk = desk
        self._nodes = nodes
        self._statuses = statuses
        self.views: list[WindowView] = []
        self._specs: object = None  # that the views were made of
        self._fresh_until = -math.inf
        self._asked: dict[str, float] = {}  # by uid: when it was last asked to leave
        self._came: dict[str, BatchJob] = {}  # jobs that came to nodes of a window since the last look
        self._announced: frozenset[str] = frozenset()  # nodes of windows that are told of
        self._has_waiting_news = False  # is there a window that waiting jobs were not told of?

    # -- what happens ------------------------------------------------------------------------------------------------

    def observe_member(self, job: BatchJob, node: str) -> None:
        """A pod of a job is on a node."""
        if node in self._announced:
            self._came[job.key] = job

    def cancel(self, name: str) -> None:
        """The window is called off, by order: what it closed is open from the next pass on."""
        self._statuses.put(replace(self._status(name), is_cancelled=True))
        self.look_again()
        self._desk.is_due = True

    def look_again(self) -> None:
        """In the next pass, where each of them is."""
        self._fresh_until = -math.inf

    def next_time(self, now: float) -> float:
        """When a phase begins, or somebody is asked again."""
        if not (self.views or self._asked):
            return math.inf
        return min(self._fresh_until, min(self._asked.values(), default=math.inf) + RETRY)

    def next_end(self, now: float) -> float:
        """When the next one begins or is over."""
        times = [time for view in self.views for each in view.occurrences[:1] for time in each]
        return min((time for time in times if time > now), default=math.inf)

    # -- a pass ------------------------------------------------------------------------------------------------------

    def refresh(self, now: float, have_nodes_changed: bool) -> bool:
        """See where each window is; has any changed?"""
        specs = self._desk.settings.windows
        if not (have_nodes_changed or now >= self._fresh_until or specs is not self._specs):
            return False
        self._specs = specs
        self.views = [self._view(name, spec, now) for name, spec in specs.items()]
        times = [time for view in self.views for time in view.instants() if time > now]
        self._fresh_until = min(times, default=math.inf)
        return True

    def _status(self, name: str) -> ClosingStatus:
        return self._statuses.find("maintenance", name)

    def _view(self, name: str, spec: WindowSpec, now: float) -> WindowView:
        status, nodes, epoch = self._status(name), self._nodes.all, self._desk.epoch
        window = Window(name, status.uid, spec, status.created, status.is_cancelled)
        view = view_window(window, nodes, now, epoch)
        if view.phase is Phase.ACTIVE and status.begun == view.occurrences[0].start:
            return view_window(replace(window, nodes=status.nodes), nodes, now, epoch)
        return view

    def look(self, now: float, has_changed: bool) -> list[Action]:
        """What shall be true now."""
        actions: list[Action] = []
        told = [view for view in self.views if view.is_told(now)]
        if has_changed:
            for view in self.views:
                actions += self._write(view)
            self._announced = frozenset(name for view in told for name in view.nodes)
            self._has_waiting_news = any(self._is_news(view) for view in told)
        if has_changed or self._came:
            for view in told:
                actions += self._tell_running(view, None if has_changed else self._came)
            self._came = {}
        clearing = [view for view in self.views if _clears_now(view)]
        if not clearing and self._desk.book.remade.leaving:
            self._let_stay(frozenset())
        if clearing or self._nodes.marked or any(view.phase is Phase.ACTIVE for view in self.views):
            actions += self._clear(clearing, now)
        return actions

    def _clear(self, clearing: Sequence[WindowView], now: float) -> list[Action]:
        pods = self._nodes.pods_on({name for view in clearing for name in view.nodes})
        actions = []
        for action in window_actions(self.views, self._nodes.all, pods):
            if isinstance(action, EvictPod):
                if now < self._asked.get(action.pod, -math.inf) + RETRY:
                    continue
                self._asked[action.pod] = now
                self._note_leaving(action.pod)
            actions.append(action)
        self._let_stay({pod.uid for pod in pods})
        there = {pod.uid for pod in pods if not pod.is_terminating}
        self._asked = {uid: time for uid, time in self._asked.items() if uid in there}
        for key, name in requeued_jobs(clearing, pods).items():
            job = self._desk.book.find(key)
            if job is not None:
                order_end(self._desk, job, requeue_decision(job, f"maintenance {name}", RefundCause.MAINTENANCE))
        return actions

    def _note_leaving(self, uid: str) -> None:
        """A bare pod that is evicted is made anew where it asks for that; a controller makes another one itself."""
        job = self._desk.book.of(uid)
        member = None if job is None else job.members.get(uid)
        if job is None or member is None or not job.wishes.recreates or member.metadata.controller is not None:
            return
        again = anew(member)
        others = (*job.ledger.pods, *job.ledger.leaving)
        if not self._desk.world.why_not_anew([*others, again]) and self._desk.book.remade.note_leaving(job, again):
            self._desk.world.write_record(job)  # before it is asked: whoever comes after has to know how it was

    def _let_stay(self, leaving: Collection[str]) -> None:
        """Nobody else is asked to leave any more; the uids of those who are."""
        book = self._desk.book
        for uid in [uid for uid in book.remade.leaving if uid not in leaving]:
            book.remade.stays(uid, job := book.of(uid))
            if job is not None:
                self._desk.world.write_record(job)

    # -- what is written and told ------------------------------------------------------------------------------------

    def _write(self, view: WindowView) -> list[Action]:
        """Its status, if that is another one now; and what is worth an event."""
        before = self._status(view.window.name)
        start, end = view.occurrences[0] if view.occurrences else (None, None)
        nodes = tuple(sorted(view.nodes)) if view.phase is not Phase.DONE or not before.phase else before.nodes
        status = replace(before, phase=view.phase.value, start=start, end=end, nodes=nodes)
        if view.phase is Phase.ACTIVE:
            status = replace(status, begun=start)
        if start != before.start and start is not None:
            status = replace(status, jobs=())
        actions: list[Action] = []
        if (status.phase, status.start) != (before.phase, before.start):
            if not before.phase or view.phase in (Phase.ACTIVE, Phase.DONE):
                actions += view.notes
            if before.phase == Phase.ACTIVE and before.start != start:
                actions.append(Tell(view.window.name, "MaintenanceDone", "its nodes are given back"))
            elif view.phase is not Phase.DONE:
                actions.append(Tell(view.window.name, f"Maintenance{view.phase.value}", self._window_words(view)))
        if before.begun != status.begun and view.phase is Phase.ACTIVE:
            note = still_there(view, self._nodes.pods_on(view.nodes))
            actions += [] if note is None else [note]
        self._statuses.put(status)
        return actions

    def _tell_running(self, view: WindowView, came: dict[str, BatchJob] | None) -> list[Action]:
        """Those on its nodes whose limits reach into it; all of them, or those that came."""
        names = view.nodes
        if came is not None:
            pods = (pod for job in came.values() for pod in job.members.values())
            names = frozenset(pod.spec.node_name for pod in pods if pod.spec.node_name in view.nodes)
        affected = affected_jobs(view, self._nodes.pods_on(names), {}, {}) if names else []
        return self._tell(view, affected)

    def _tell(self, view: WindowView, affected: Sequence[AffectedJob], told: float | None = None) -> list[Action]:
        status = self._status(view.window.name)
        news = [each for each in affected if each.job not in status.jobs]
        jobs = (*status.jobs, *(each.job for each in news))
        self._statuses.put(replace(status, jobs=jobs, told=status.told if told is None else told))
        return [Tell(each.job, "MaintenanceAhead", self._ahead_words(view, each)) for each in news]

    def _is_news(self, view: WindowView) -> bool:
        return view.phase is not Phase.ACTIVE and self._status(view.window.name).told != view.occurrences[0].start

    def tell_waiting(self, plans: Sequence[WaitingJob], now: float) -> list[Action]:
        """Those who wait, after a pass: whose dates are others because of a window that is told of from now on."""
        if not self._has_waiting_news:
            return []
        self._has_waiting_news = False
        actions: list[Action] = []
        calendar = self._desk.machine.calendar
        for view in self.views:
            if view.is_told(now) and self._is_news(view):
                bare = calendar.without(list(calendar.promises))  # what was promised knows of the window already
                before, after = dates(bare.without(window_keys(view)), plans), dates(bare, plans)
                affected = [each for each in affected_jobs(view, (), before, after) if each.was is not None]
                actions += self._tell(view, affected, view.occurrences[0].start)
        return actions

    def tell_stopped(self, stopped: Mapping[str, Sequence[str]], now: float) -> list[Action]:
        """Those who came since and wait because of a window that is told of; keys by its name."""
        actions: list[Action] = []
        for view in self.views if stopped else ():
            if view.is_told(now) and (keys := stopped.get(view.window.name)):
                actions += self._tell(view, [AffectedJob(key, "starts later") for key in keys])
        return actions

    # -- in words ----------------------------------------------------------------------------------------------------

    def _text(self, time: float) -> str:
        """A moment, as a clock on the wall shows it."""
        return time_text(time + self._desk.wall_offset)

    def _window_words(self, view: WindowView) -> str:
        if not view.occurrences:
            return "it is called off"
        start, end = view.occurrences[0]
        message = f": {view.window.spec.message}" if view.window.spec.message else ""
        return f"{nodes_text(len(view.nodes))} from {self._text(start)} to {self._text(end)}{message}"

    def _ahead_words(self, view: WindowView, affected: AffectedJob) -> str:
        start, end = view.occurrences[0]
        when = f"maintenance {view.window.name} from {self._text(start)} to {self._text(end)}"
        if affected.was is None:
            return f"{when}: {FATES.get(affected.fate, 'it would start now without it')}"
        if affected.date is None:
            return f"{when}: it has no date any more, and had {self._text(affected.was)}"
        return f"{when}: it starts at {self._text(affected.date)}, not at {self._text(affected.was)}"


def _clears_now(view: WindowView) -> bool:
    mode = view.window.spec.mode
    return (view.phase is Phase.ACTIVE and mode != "avoid") or (view.phase is Phase.DRAINING and mode == "drain")

"""What is closed, to whom, and until when: windows and reservations, looked after by one duty.

In: everything that happens, and time, as every duty of the desk. Out: in each pass the rows that are closed in the
machine, and actions; and answers: what is not closed to a job (`entrances`), what is closed for which cause
(`causes`), and when somebody's waiting for it ends (`awaited`). From the settings, from what is written down and from
what is seen: one who comes later does the same. Without windows, reservations and taints there is nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from fairway.batch.accounts import JobAccounts
from fairway.batch.actions import Action
from fairway.batch.closings import Closing
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.extending import Closed
from fairway.batch.job import BatchJob, RunInterval
from fairway.batch.machine import is_cordoned_by_hand, row_key
from fairway.batch.reasons import JobStanding, Reason
from fairway.batch.reservations import reservation_closings
from fairway.batch.upkeep.node_sights import NodeSights
from fairway.batch.upkeep.queue_taints import taint_actions
from fairway.batch.upkeep.reservation_keeping import ReservationKeeping
from fairway.batch.upkeep.status_book import StatusBook
from fairway.batch.upkeep.window_keeping import WindowKeeping
from fairway.batch.windows import Phase, unlimited_entrances, window_closings
from fairway.cluster import Event
from fairway.model import Pod
from fairway.plan import Entrance, WaitingJob

__all__ = ["ClosingCause", "Upkeep"]


LOOKED_AT: Final = 3
"""Of so many jobs that something closed stops is asked whether they have a date at all."""


class ClosingCause(NamedTuple):
    """Why rows are closed."""

    reason: Reason
    name: str  # of the window or reservation; "": nodes that are down
    start: float
    end: float  # infinite: nobody knows
    keys: tuple[str, ...]  # in the calendar


class Upkeep:
    """The duty that looks after windows, reservations and taints."""

    hears_members, keeps_times = True, True

    def __init__(self, desk: DutyDesk, accounts: JobAccounts) -> None:
        self._desk = desk
        self._accounts = accounts
        self._nodes = NodeSights(desk)
        self._statuses = statuses = StatusBook(desk.world)
        self.windows = WindowKeeping(desk, self._nodes, statuses)
        self.reservations = ReservationKeeping(desk, self._nodes, statuses, accounts)
        self.closings: dict[str, Closing] = {}  # by key, as the machine has them: extensions never cross them
        self.awaited = math.inf  # when something opens that somebody with a date waits for

    @property
    def wall_offset(self) -> float:
        """What the clock on the wall shows more than the world's."""
        return self._desk.wall_offset

    def follow_wall(self, step: float) -> None:
        """The clock on the wall was set forward by so much, or back: all that is closed is so much sooner."""
        self._statuses.follow_wall(step)
        self.windows.look_again()

    # -- a duty ------------------------------------------------------------------------------------------------------

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """Jobs come to nodes that a window is announced for, and leave reservations."""
        if job is None:
            return
        if isinstance(event.object, Pod) and event.object.spec.node_name:
            self.windows.observe_member(job, event.object.spec.node_name)
        if job.has_ended and self.reservations.views:
            self.reservations.observe_end(job, self._accounts_of(job))

    def next_time(self, now: float) -> float:
        """When a phase begins."""
        return min(self.windows.next_time(now), self.reservations.next_time(now))

    def look(self, now: float) -> Sequence[Action]:
        """Close and open rows, and say what shall be true now."""
        settings = self._desk.settings
        have_nodes_changed = self._nodes.refresh()
        has_changed = self.windows.refresh(now, have_nodes_changed)
        actions = taint_actions(settings.queues, self._nodes) if have_nodes_changed else []
        if settings.windows or self.windows.views or self._nodes.marked:
            actions += self.windows.look(now, has_changed)
        if has_changed and (settings.windows or self.closings):
            self._close(now)
        if settings.reservations:  # which keep out of windows
            actions += self.reservations.look(now, self._inside(), list(self.closings.values()))
            self._close(now)
        return actions

    def _inside(self) -> dict[str, list[RunInterval]]:
        """When the jobs of the book ran that may enter a reservation which is given back if nobody uses it."""
        inside: dict[str, list[RunInterval]] = {}
        if any(spec.if_unused is not None for spec in self._desk.settings.reservations.values()):
            for job in self._desk.book:
                if job.ledger.intervals:
                    for key in self._entered(job):
                        inside.setdefault(key, []).extend(job.ledger.intervals)
        return inside

    def _close(self, now: float) -> None:
        """Let the machine have closed what is closed now."""
        rows = {sight.name: sight.row for sight in self._nodes.all}
        closings = [
            *window_closings(self.windows.views, rows),
            *reservation_closings(self.reservations.views, rows),
        ]
        former, has_changed = dict(self.closings), False
        for closing in closings:
            known = former.pop(closing.key, None)
            if known is None or not known.is_same(closing):
                start = max(closing.start, now)
                self._desk.machine.close(closing.key, closing.rows, start, closing.end, clears=closing.clears)
                has_changed = True
        for key in former:
            self._desk.machine.open(key)
        self.closings = {closing.key: closing for closing in closings}
        self._desk.machine.expect(self._returns(rows), now)
        if has_changed or former:
            for job in self._desk.book:
                job.plan = None  # it may enter others now

    def _returns(self, rows: dict[str, int]) -> dict[int, float]:
        """When nodes under maintenance come back."""
        returns: dict[int, float] = {}
        for view in self.windows.views:
            if view.phase is Phase.ACTIVE:
                for name in view.nodes & rows.keys():
                    returns[rows[name]] = max(view.occurrences[0].end, returns.get(rows[name], 0.0))
        return returns

    # -- what is closed to whom --------------------------------------------------------------------------------------

    def entrances(self, job: BatchJob, duration: float) -> tuple[Entrance, ...]:
        """The closings that are none for a job that may run for so long."""
        found = [Entrance(key) for key in sorted(self._entered(job))]
        if duration == math.inf:
            found += unlimited_entrances(self.windows.views)
        return tuple(found)

    def lifted(self, job: BatchJob | None, end: float, now: float) -> list[str]:
        """The same, as keys, for one that begins now; `job` None: a pod of no queue."""
        if not self.closings:
            return []
        found = self.entrances(job, end) if job is not None else ()
        if job is None and end == math.inf:
            found = tuple(unlimited_entrances(self.windows.views))
        return [entrance.key for entrance in found if now < entrance.until]

    def closed(self, job: BatchJob) -> Closed:
        """All that a longer limit of the job may not reach into."""
        return Closed(tuple(self.closings.values()), tuple(sorted(self._entered(job))))

    def _entered(self, job: BatchJob) -> set[str]:
        if not self.reservations.views:
            return set()
        return self.reservations.entered(job.wishes.user, self._accounts_of(job), job.queue)

    def _accounts_of(self, job: BatchJob) -> list[str]:
        payer = self._accounts.payer(job)
        return [] if payer is None else self._accounts.tree.path(payer.account)

    def causes(self, until: float) -> list[ClosingCause]:
        """What is closed before that time, in the order in which causes are told."""
        found = []
        down = self._down_by_window()
        for view in self.windows.views:
            keys = [key for key, each in self.closings.items() if each.name == view.window.name
                    and each.kind == "maintenance" and each.start < until]  # fmt: skip
            if keys:
                keys += down.get(view.window.name, ())
                found.append(ClosingCause(Reason.MAINTENANCE, view.window.name, *view.occurrences[0], tuple(keys)))
        if len(found) > 1:  # a union of windows, none of which is alone in the way
            first = min(found, key=lambda cause: cause.start)
            found.append(first._replace(keys=tuple(key for cause in found for key in cause.keys)))
        found += [
            ClosingCause(Reason.RESERVED, each.reservation.name, each.start, each.end, (each.key,))
            for each in self.reservations.views
            if each.key in self.closings and each.start < until
        ]
        known = {key for keys in down.values() for key in keys}
        unknown = tuple(key for key in self._desk.machine.unusable_keys if key not in known)
        if unknown:
            found.append(ClosingCause(Reason.NODES_UNAVAILABLE, "", -math.inf, math.inf, unknown))
        return found

    def _down_by_window(self) -> dict[str, list[str]]:
        """Rows that are down because of a window, or while it lasts, by its name."""
        objects, machine = self._desk.cluster.nodes.objects, self._desk.machine
        down: dict[str, list[str]] = {}
        active = [view for view in self.windows.views if view.phase is Phase.ACTIVE]
        for row in machine.unusable_rows.tolist() if active else ():
            node = objects[row]
            if node is not None and not is_cordoned_by_hand(node):
                for view in active:
                    if node.metadata.name in view.nodes:
                        down.setdefault(view.window.name, []).append(row_key(row))
        return down

    # -- after a pass ------------------------------------------------------------------------------------------------

    def judge(self, waiting: Sequence[WaitingJob], obstructed: Mapping[str, JobStanding], now: float) -> list[Action]:
        """Tell those who wait of windows that are announced now or that stop them, and see until when they wait."""
        self.awaited = math.inf
        calendar = self._desk.machine.calendar
        stopped = islice((plan for plan in waiting if plan.key in obstructed), LOOKED_AT)
        if obstructed and any(calendar.search(plan) is not None for plan in stopped):
            times = [time for each in self.closings.values() for time in (each.start, each.end) if time > now]
            self.awaited = min(times, default=math.inf)
        by_window: dict[str, list[str]] = {}
        for key, standing in obstructed.items():
            if standing.reason is Reason.MAINTENANCE:
                by_window.setdefault(str(standing.detail["window"]), []).append(key)
        return [*self.windows.tell_waiting(waiting, now), *self.windows.tell_stopped(by_window, now)]

"""Who takes what until when: running jobs, windows, promises, over one timeline.

In: occupants (`occupy`), times at which rows are closed to everybody (`close`), waiting jobs. Out: the earliest slot
of a job (`search`), and its promise (`book`) or its start (`start`), each of which `remove` takes back. A `Calendar`
is what the disciplines work on; the desk keeps one and changes it as the cluster changes.

Beside the resources every row has one column more, *access*: `WHOLE` of it while nobody is there. Each member on a row
takes 1 of it; what wants a row for itself needs and takes all of it, and so does a window or a row that is down. So
exclusive nodes, windows and whole-node bookings are amounts like any other, add up and can be taken back in any order.

`BookingMode.NODES` lets a promise take whole rows, as Slurm's backfill does, also for a job of one core; starts take
amounts either way.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairway.plan.allowances import Allowances
from fairway.plan.entrances import stages
from fairway.plan.row_choice import RowChoice
from fairway.plan.slots import ALONE, AloneNow, MemberClass, Slot, earliest_slot, is_first_alone, slot_now
from fairway.plan.takings import Taking, give_back
from fairway.plan.timeline import FreeTimeline
from fairway.plan.waiting_job import WHOLE, WaitingJob, member_need

__all__ = [
    "HORIZON",
    "BookingMode",
    "Calendar",
    "Promise",
]

HORIZON: Final = 14 * 86400.0
"""Nothing is planned later than this from now, as in Slurm's bf_window of the recorded cases: fourteen days."""


class BookingMode(enum.Enum):
    """What a promise takes of its rows."""

    AMOUNTS = "amounts"
    NODES = "nodes"


class Promise(NamedTuple):
    """Room that is kept for a job."""

    job: WaitingJob
    slot: Slot


class Calendar:
    """Everything that is taken of rows over time, by key, and the room that is left."""

    def __init__(
        self,
        capacity: NDArray[np.int64],
        now: float,
        choice: RowChoice,
        mode: BookingMode = BookingMode.AMOUNTS,
        horizon: float = HORIZON,
    ) -> None:
        """`capacity` (num_rows, num_resources) has no column for access; `choice` sees that one as the last."""
        access = np.full((len(capacity), 1), WHOLE, np.int64)
        self.timeline = FreeTimeline(np.hstack((capacity, access)), now)
        self.promises: dict[str, Promise] = {}
        self.allowances = Allowances(now)
        self.borrowers: frozenset[str] = frozenset()  # queues whose jobs may start now without shares that may be lent
        self.has_changed = False  # something came or went since the last pass, so promises may move
        self.lacks_promises = False  # a pass took promises out, and has not put all of them back yet
        self._takings: dict[str, list[Taking]] = {}
        self.has_gained = False  # there may be room now, since the last pass, that there was not
        self.refused: set[WaitingJob] = set()  # they can not start now, until something is given back
        self._most_now: list[int] | None = None  # (num_columns,): no row has more of it now
        self._is_most_old = False  # may all rows have less, as something was taken since?
        self._alone_now: AloneNow | None = None  # of a pool: what is free of it from now on
        # For how many members of a kind there is room now, at most; with the rows that its key names by identity.
        self._room_now: dict[tuple[bytes, int, bool, float], tuple[int, NDArray[np.bool_] | None]] = {}
        self._choice = choice
        self.mode = mode
        self.horizon = horizon

    @property
    def now(self) -> float:
        """The first moment that may be planned for."""
        return self.timeline.origin

    def copy(self) -> Self:
        """Another one, for what-if."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.timeline = self.timeline.copy()
        twin.promises = dict(self.promises)
        twin.allowances = self.allowances.copy()
        twin._room_now, twin._most_now, twin._alone_now = {}, None, None
        twin.refused = set()
        twin._takings = {key: list(takings) for key, takings in self._takings.items()}
        return twin

    def without(self, keys: Iterable[str]) -> Self:
        """Another one, without what is taken under these keys."""
        twin = self.copy()
        for key in keys:
            twin.remove(key)
        return twin

    def advance(self, now: float) -> None:
        """Time has passed; what is over is forgotten."""
        is_over = self.timeline.forget_before(now)
        if self.allowances.advance(now) or is_over:
            self._gain()

    def _gain(self) -> None:
        """Somebody may have room now who had none before. Until then room only shrinks, also while time passes.

        Whoever starts later sees all the stretches that he saw, and perhaps more.
        """
        self.has_gained = True
        self.refused.clear()
        self._room_now.clear()
        self._most_now = self._alone_now = None

    def occupy(self, key: str, rows: NDArray[np.intp], amounts: NDArray[np.int64], end: float) -> None:
        """Somebody is on these rows from now until `end`; `amounts` with access (`member_need`), or 0 of it."""
        self._take(key, rows, amounts, self.now, end)
        self.has_changed = True

    def close(self, key: str, rows: NDArray[np.intp], start: float, end: float) -> None:
        """Nobody may be on these rows within [start, end); who is there stays."""
        self._take(key, rows, self._whole(), start, end)
        self.has_changed = True

    def rename(self, key: str, other: str, row: int, amounts: NDArray[np.int64], end: float) -> bool:
        """What one holds is another's now, if it is exactly this, from now on: no room changes hands. False: it is not.

        For a job that is placed where it was planned.
        """
        takings = self._takings.get(key, ())
        if len(takings) != 1 or other in self._takings or self.allowances.holds(key):
            return False
        (taking,) = takings
        if len(taking.rows) != 1 or taking.rows[0] != row or taking.start > self.now or taking.end != end:
            return False
        if not np.array_equal(taking.amounts.ravel(), amounts):
            return False
        self._takings[other] = [taking]
        del self._takings[key]
        self.promises.pop(key, None)
        return True

    def remove(self, key: str) -> None:
        """Give back all that is taken under this key, from now on."""
        is_gain = False
        for rows, amounts, start, end in self._takings.pop(key, ()):
            self.timeline.give(rows, amounts, start, end)
            is_gain = is_gain or end > self.now
        if self.allowances.give(key) or is_gain:
            self.has_changed = True
            self._gain()
        self.promises.pop(key, None)

    def shorten(self, ends: Mapping[str, float]) -> None:
        """What is taken under each key is given back from a time on, where that is earlier than was said."""
        self.allowances.shorten(ends)
        gives = []
        for key, end in ends.items():
            takings = self._takings.get(key, [])
            for index, (rows, amounts, start, former) in enumerate(takings):
                if former > end:
                    gives.append(Taking(rows, amounts, max(start, end, self.now), former))
                    takings[index] = Taking(rows, amounts, start, max(start, end))
        if not gives:
            return
        self.has_changed = True
        self._gain()
        give_back(self.timeline, gives)

    def search(self, job: WaitingJob, not_before: float = -math.inf, latest: float = math.inf) -> Slot | None:
        """The earliest slot of a job, its own promise aside; None if there is none before `latest` and the horizon."""
        not_before = max(not_before, job.begin)
        latest = min(latest, self.now + self.horizon)
        slot = self._search_rows(job, not_before, latest)
        while slot is not None and job.shares:
            start = self.allowances.first_start(job.shares, job.duration, slot.start, latest)
            if start is None:
                return None
            if start == slot.start:
                return slot
            slot = self._search_rows(job, start, latest)
        return slot

    def _search_rows(self, job: WaitingJob, not_before: float, latest: float) -> Slot | None:
        """The earliest slot by rows alone, what is closed to others and not to this job aside."""
        if not job.entrances:
            return self._search_open_rows(job, not_before, latest)
        for stage in stages(job.entrances, max(not_before, self.now), latest):
            lifted = [taking for key in stage.keys for taking in self._takings.get(key, ())]
            for taking in lifted:
                self.timeline.give(*taking)
            slot = self._search_open_rows(job, stage.begin, stage.latest)
            for taking in lifted:
                self.timeline.take(*taking)
            if slot is not None:
                return slot
        return None

    def _search_open_rows(self, job: WaitingJob, not_before: float, latest: float) -> Slot | None:
        if not job.domains:
            return earliest_slot(self.timeline, job.classes, job.duration, self._choice, not_before, latest)
        best: tuple[float, int, int] | None = None
        best_slot = None
        for index, domain in enumerate(job.domains):
            classes = [replace(one, eligible=_both(one.eligible, domain)) for one in job.classes]
            slot = earliest_slot(self.timeline, classes, job.duration, self._choice, not_before, latest)
            if slot is not None:
                rank = (slot.start, int(np.count_nonzero(domain)), index)  # ties go to the smallest domain
                if best is None or rank < best:
                    best, best_slot, latest = rank, slot, slot.start
        return best_slot

    def is_earliest(self, job: WaitingJob) -> bool:
        """Has the job's promise certainly no earlier slot, were it given up? Told without giving it up, on a pool."""
        timeline, (members, *others) = self.timeline, job.classes
        if timeline.num_rows > 1 or others or members.count > 1 or members.eligible is not None or job.shares:
            return False
        if job.domains or job.entrances or self.mode is not BookingMode.AMOUNTS:
            return False
        slot = self.promises[job.key].slot
        if slot.start < self.now or job.begin > self.now or not members.wanted:
            return False
        return is_first_alone(timeline, members, slot.start, slot.end, job.duration)

    def search_now(self, job: WaitingJob) -> Slot | None:
        """The slot of a job if it may start now, on loan too."""
        if job.is_simple and job.begin <= self.now:
            slot = self._search_now(job)
            if slot is None:
                self.refused.add(job)
            return slot
        if job.shares and not self.allowances.fit_now(
            job.shares, job.duration, self.promises if job.queue in self.borrowers else None
        ):
            return None
        if len(job.classes) > 1 or job.domains or job.entrances or job.begin > self.now:
            return self._search_rows(job, job.begin, self.now)
        slot = self._search_now(job)
        if slot is None and not job.shares:
            self.refused.add(job)
        return slot

    def _search_now(self, job: WaitingJob) -> Slot | None:
        """By rows alone, of a job of one class."""
        timeline, (members,) = self.timeline, job.classes
        if timeline.num_rows == 1 and members.eligible is None and members.count == 1:
            end = timeline.origin + job.duration
            return Slot(timeline.origin, end, (ALONE,)) if self._room_alone().fits(members, end) else None
        if self._is_too_much(members) or (self._is_most_old and self._is_too_much(members, anew=True)):
            return None
        # Who wants what others wanted in vain is not looked at.
        key = (members.need.tobytes(), id(members.eligible), members.one_per_row, job.duration)
        known = self._room_now.get(key)
        if known is not None and known[0] < members.count:
            return None
        slot, room = slot_now(timeline, members, job.duration, self._choice)
        self._room_now[key] = (room, members.eligible)
        return slot

    def _room_alone(self) -> AloneNow:
        if self._alone_now is None:
            self._alone_now = AloneNow(self.timeline)
        return self._alone_now

    def sift(self, jobs: Iterable[WaitingJob]) -> None:
        """Note of all at once who can not start now, where that is quickly seen: on a machine that is one pool."""
        if self.timeline.num_rows == 1:
            now, fits, refused = self.now, self._room_alone().fits, self.refused
            unknown = [job for job in jobs if job.is_one and job not in refused]
            refused.update([job for job in unknown if not fits(job.classes[0], now + job.duration)])

    def _is_too_much(self, members: MemberClass, *, anew: bool = False) -> bool:
        """Is it easily seen that no row has room for a member now?"""
        if self._most_now is None or anew:
            self._most_now = self.timeline.free[:, self.timeline.first[:-1]].max(axis=1, initial=0).tolist()
            self._is_most_old = False
        most = self._most_now
        return any(amount > most[column] for column, amount in members.wanted)

    def start(self, job: WaitingJob, slot: Slot) -> None:
        """The job takes its slot: from now on it is an occupant."""
        for one, placement in zip(job.classes, slot.placements, strict=True):
            self._take(job.key, placement.rows, placement.counts[:, None] * one.need, slot.start, slot.end)
        self.allowances.take(job.key, job.shares, slot.start, slot.end)

    def book(self, job: WaitingJob, slot: Slot) -> None:
        """The slot is kept for the job."""
        self.promises[job.key] = Promise(job, slot)
        if self.mode is BookingMode.AMOUNTS:
            self.start(job, slot)
            return
        for placement in slot.placements:
            self._take(job.key, placement.rows, self._whole(), slot.start, slot.end)
        self.allowances.take(job.key, job.shares, slot.start, slot.end)

    def least_free(self, key: str, end: float, lifted: Iterable[str] = ()) -> NDArray[np.int64]:
        """What is free of every row from now to `end`, (num_rows, num_columns), what `key` has taken given back.

        So is what is `lifted`: closings that are none for whoever asks.
        """
        timeline, rows = self.timeline, np.arange(self.timeline.num_rows)
        takings = self._takings.get(key, ())
        throughout = [each for each in takings if each.start <= self.now and each.end >= end]
        partly = [each for each in takings if not (each.start <= self.now and each.end >= end)]
        partly += [each for other in lifted for each in self._takings.get(other, ())]
        for each in partly:
            timeline.give(*each)
        least = timeline.least_free(rows, self.now, end)
        for each in partly:
            timeline.take(*each)
        for each in throughout:
            least[each.rows] += each.amounts
        return least

    def _whole(self) -> NDArray[np.int64]:
        return member_need([0] * (len(self.timeline.free) - 1), exclusive=True)

    def _take(self, key: str, rows: NDArray[np.intp], amounts: NDArray[np.int64], start: float, end: float) -> None:
        self.timeline.take(rows, amounts, start, end)
        self._alone_now, self._is_most_old = None, True
        self._takings.setdefault(key, []).append(Taking(rows, amounts, start, end))


def _both(eligible: NDArray[np.bool_] | None, domain: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return domain if eligible is None else eligible & domain

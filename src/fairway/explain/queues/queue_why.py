"""Why a job of a queue waits: who holds its room until when, and what would let it start earlier.

In: queues at a moment with their plan, a job's name. Out: a `QueueWhy`: the job's sheet, the slot that the limits of
others leave it, who has to go first, and changes that were tried. Called by `fairway why`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from fairway.explain.queues.job_sheet import JobSheet, job_sheet
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_moment import QueueMoment, TimeWords
from fairway.explain.queues.start_answer import EarlierStart, earlier_starts
from fairway.explain.queues.start_plan import RoomHolder, StartPlan
from fairway.model import UserError
from fairway.plan import Slot, WaitingJob
from fairway.words import count_text, nodes_text

__all__ = ["QueueWhy", "queue_why", "read_why"]

NAMED: Final = 4


class HolderWords(NamedTuple):
    """Somebody who is in the way."""

    end: float  # by its limit; infinite: nobody knows
    job: str | None  # None: it is of no queue
    size: str
    node: str

    def words(self, times: TimeWords) -> str:
        """Who, where and until when."""
        until = "for ever" if self.end == math.inf else f"until {times.clock(self.end)}"
        if self.job is None:
            return f"{self.node}: a pod of no queue is there {until}"
        return f"{self.node}: {self.job} ({self.size}) is there {until} at the latest"

    def document(self) -> dict[str, Any]:
        """In plain values."""
        end = None if self.end == math.inf else self.end
        return {"job": self.job, "size": self.size or None, "node": self.node, "untilSeconds": end}


def _holder(holder: RoomHolder) -> HolderWords:
    job = holder.job
    return HolderWords(holder.end, None if job is None else job.job, "" if job is None else job.size, holder.node)


@dataclass(frozen=True, slots=True)
class QueueWhy:
    """Why it waits."""

    sheet: JobSheet
    slot: tuple[float, tuple[str, ...]] | None = None  # when and where by limits; None: it has no place in the plan
    holders: Sequence[HolderWords] = field(default_factory=tuple)  # who has to go from there first
    changes: Sequence[EarlierStart] = field(default_factory=tuple)

    @property
    def job(self) -> QueueJob:
        """The job."""
        return self.sheet.job

    def lines(self) -> list[str]:
        """The text."""
        lines, times = self.sheet.lines(with_story=False), self.sheet.moment.times
        if self.slot is not None:
            time, nodes = self.slot
            lines.append(f"  room     by limits from {times.clock(time)} on, on {nodes_text(len(nodes))}")
            lines += [f"           {each.words(times)}" for each in self.holders[:NAMED]]
            if len(self.holders) > NAMED:
                lines.append(f"           and {count_text(len(self.holders) - NAMED)} more hold some of it until then")
        lines += [f"  fix      {each.change}: {each.starts(times)}" for each in self.changes]
        return lines

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        room = None if self.slot is None else {"fromSeconds": self.slot[0], "nodes": list(self.slot[1])}
        holders = [holder.document() for holder in self.holders]
        earlier = [each.document(self.sheet.moment.times) for each in self.changes]
        return self.sheet.document() | {"room": room, "holders": holders, "earlier": earlier}


def queue_why(moment: QueueMoment, name: str, plan_then: Callable[[], StartPlan] | None) -> QueueWhy:
    """The job then; `UserError` if there is none. Without a plan nothing is said of who is in the way."""
    sheet = job_sheet(moment, name)
    if not sheet.job.waits or plan_then is None:
        return QueueWhy(sheet)
    plan = plan_then()
    waiting: WaitingJob | None = next((each for job, each in plan.waiting if job.job == sheet.job.job), None)
    slot: Slot | None = None if waiting is None else plan.slot_of(waiting)
    if waiting is None or slot is None:
        return QueueWhy(sheet)
    return _answer(sheet, plan, waiting, slot)


def _answer(sheet: JobSheet, plan: StartPlan, waiting: WaitingJob, slot: Slot) -> QueueWhy:
    nodes = plan.node_names(int(row) for placement in slot.placements for row in placement.rows)
    changes = tuple(earlier_starts(plan, waiting, plan.place(sheet.job), sheet.job.limit, sheet.job.user))
    holders = tuple(map(_holder, plan.in_the_way(slot)))
    return QueueWhy(sheet, (slot.start, nodes), holders, changes)


def read_why(document: Mapping[str, Any], moment: QueueMoment) -> QueueWhy:
    """An answer of a scheduler, with what the moment says of the job; `UserError` if it is none of ours."""
    try:
        room = document["room"]
        return QueueWhy(
            job_sheet(moment, document["job"]),
            None if room is None else (float(room["fromSeconds"]), tuple(room["nodes"])),
            [
                HolderWords(float(each["untilSeconds"] or math.inf), each["job"], each["size"], each["node"])
                for each in document["holders"]
            ],
            [EarlierStart(each["change"], each["likelySeconds"]) for each in document["earlier"]],
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"the answer is not in the words of this version: {type(error).__name__} {error}"
        raise UserError(what, "is it `fairway run` that answers there, and of which version?") from error

"""Why a job of a queue waits: who holds its room until when, and what would let it start earlier.

In: an open run, a time, a job's name. Out: a `QueueWhy`: the job's sheet, the slot that the limits of others leave it,
who has to go first, and changes that were tried. Called by `fairway why --run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fairway.explain.queues.job_sheet import JobSheet, job_sheet
from fairway.explain.queues.past_plan import PastPlan, RoomHolder, past_plan
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.start_answer import earlier_starts
from fairway.plan import Slot, WaitingJob
from fairway.record import Run
from fairway.words import clock_text, count_text, nodes_text

__all__ = ["QueueWhy", "queue_why"]

NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class QueueWhy:
    """Why it waits."""

    sheet: JobSheet
    slot: tuple[float, tuple[str, ...]] | None = None  # when and where by limits; None: it has no place in the plan
    holders: Sequence[RoomHolder] = field(default_factory=tuple)  # who has to go from there first
    changes: Sequence[tuple[str, str]] = field(default_factory=tuple)

    @property
    def job(self) -> QueueJob:
        """The job."""
        return self.sheet.job

    def lines(self) -> list[str]:
        """The text."""
        lines = self.sheet.lines(with_story=False)
        if self.slot is not None:
            time, nodes = self.slot
            lines.append(f"  room     by limits from {clock_text(time)} on, on {nodes_text(len(nodes))}")
            lines += [f"           {_holder_words(each)}" for each in self.holders[:NAMED]]
            if len(self.holders) > NAMED:
                lines.append(f"           and {count_text(len(self.holders) - NAMED)} more hold some of it until then")
        lines += [f"  fix      {change}: {when}" for change, when in self.changes]
        return lines

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        room = None if self.slot is None else {"fromSeconds": self.slot[0], "nodes": list(self.slot[1])}
        holders = [_holder_document(holder) for holder in self.holders]
        earlier = [{"change": change, "starts": when} for change, when in self.changes]
        return self.sheet.document() | {"room": room, "holders": holders, "earlier": earlier}


def queue_why(run: Run, at: float, name: str) -> QueueWhy:
    """The job at that time; `UserError` if there is none."""
    sheet = job_sheet(run, at, name)
    if not sheet.job.waits:
        return QueueWhy(sheet)
    plan = past_plan(run, at)
    waiting: WaitingJob | None = next((each for job, each in plan.waiting if job.job == sheet.job.job), None)
    slot: Slot | None = None if waiting is None else plan.slot_of(waiting)
    if waiting is None or slot is None:
        return QueueWhy(sheet)
    return _answer(sheet, plan, waiting, slot)


def _answer(sheet: JobSheet, plan: PastPlan, waiting: WaitingJob, slot: Slot) -> QueueWhy:
    nodes = plan.node_names(int(row) for placement in slot.placements for row in placement.rows)
    changes = tuple(earlier_starts(plan, waiting, plan.place(sheet.job), sheet.job.limit, sheet.job.user))
    return QueueWhy(sheet, (slot.start, nodes), plan.in_the_way(slot), changes)


def _holder_words(holder: RoomHolder) -> str:
    end, job, node = holder
    if job is None:
        return f"{node}: a pod of no queue is there until {clock_text(end)}"
    return f"{node}: {job.job} ({job.size}) is there until {clock_text(end)} at the latest"


def _holder_document(holder: RoomHolder) -> dict[str, Any]:
    job = holder.job
    return {"job": None if job is None else job.job, "node": holder.node, "untilSeconds": holder.end}

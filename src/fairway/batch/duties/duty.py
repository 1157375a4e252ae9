"""A duty: one thing that the desk looks after besides releasing jobs, and what it sees of its desk.

In: everything that happens, after the book of jobs has heard of it (`observe`), and time. Out: what shall be true now
(`look`), which the desk hands to its world, and when a pass is wanted though nothing happens (`next_time`). A duty
computes from what is written down and seen: whatever must survive a restart is in the ledger of a job, or is written
through the world, and what it keeps besides can be made again. Limits, windows, failures and books are duties.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairway.batch.actions import Action
from fairway.batch.batch_world import BatchWorld
from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.job_order import JobOrder
from fairway.batch.machine import Machine
from fairway.batch.reasons import JobStanding
from fairway.batch.settings import BatchSettings
from fairway.cluster import Cluster, Event
from fairway.scheduler import Scheduler

__all__ = ["Duty", "DutyDesk"]


class DutyDesk(Protocol):
    """The desk, as its duties see it."""

    settings: BatchSettings  # as they are now: look again each time
    world: BatchWorld
    epoch: float  # what the time of day was when the world's clock showed 0, in seconds since 1970: look again, too
    wall_offset: float  # what the clock on the wall shows more than the world's, since somebody set it
    scheduler: Scheduler
    cluster: Cluster
    book: JobBook
    order: JobOrder  # likewise
    machine: Machine
    is_due: bool  # set it when something happened that a pass has to look at

    def stand(self, job: BatchJob, standing: JobStanding) -> None:
        """This is where the job is from now on; written down if it is another place than before."""

    def settle(self, job: BatchJob) -> None:
        """A member is gone: nothing is kept any more for a job that is over or waits again."""


class Duty(Protocol):
    """One thing that is looked after."""

    hears_members: bool  # has it to hear of what happens to pods of queues?
    keeps_times: bool  # may its `next_time` be anything but infinite?

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """Something happened, and the book knows; `job` is the one of a queue whose pod it is about, if any.

        A job whose last pod is gone has ended, and is in the book no more.
        """

    def look(self, now: float) -> Sequence[Action]:
        """A pass begins: what shall be true now. To be said again as long as it is not."""

    def next_time(self, now: float) -> float:
        """When a pass is wanted though nothing happens; infinite: never. Asked after every event, so it is quick."""

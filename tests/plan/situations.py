"""Small machines and jobs for tests of plans."""

import math

import numpy as np

from fairway.plan import (
    BookingMode,
    Calendar,
    Discipline,
    MemberClass,
    QueueRule,
    SmallestRest,
    WaitingJob,
    member_need,
)

RULES = {discipline.value: {"": QueueRule(discipline)} for discipline in Discipline}


def machine(num_nodes: int = 1, cpus: int = 4, now: float = 0.0, mode: BookingMode = BookingMode.AMOUNTS) -> Calendar:
    """Equal nodes with so many CPUs each."""
    choice = SmallestRest(np.array([1.0, 0.0]), np.arange(num_nodes))
    return Calendar(np.full((num_nodes, 1), cpus), now, choice, mode)


def job(
    key: str,
    cpus: int = 1,
    limit: float = 10.0,
    members: int = 1,
    *,
    exclusive: bool = False,
    begin: float = -math.inf,
    queue: str = "",
) -> WaitingJob:
    """A job of equal members."""
    members_class = MemberClass(member_need([cpus], exclusive=exclusive), members)
    return WaitingJob(key, (members_class,), limit, queue, begin)


def occupied(calendar: Calendar, key: str, cpus: int, until: float, row: int = 0) -> None:
    calendar.occupy(key, np.array([row]), member_need([cpus]), until)

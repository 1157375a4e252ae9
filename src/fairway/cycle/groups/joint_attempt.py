"""Several jobs that start together: can all of them start, each with what it takes?

In: jobs with their members that wait, and the nodes that are kept for some of them. Out: `start_jointly`, who would go
where, of those that they take; `try_orders`, in which order jobs are tried. Each is tried with the ones before it in
place. A job that then can not start goes first, once each, and it begins anew: so the one with the least choice need
not be known beforehand. Looks at the cluster as it is, or is imagined, and leaves it so. Called by `joint_cycle`, and
by `job_preemption` for clusters from which somebody is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from fairway.cluster.groups import GroupBook
from fairway.cycle.decision import Decision, Stop
from fairway.cycle.groups.job_attempt import StartAttempt
from fairway.cycle.groups.job_trial import Seat
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["JobRequest", "Placing", "start_jointly", "try_orders"]


class JobRequest(NamedTuple):
    """A job that wants to start."""

    book: GroupBook
    spec: GroupSpec
    pods: Sequence[Pod]


class Placing:
    """Members that have their nodes for a while; all of it is given back in the end."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._placed: list[Decision] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._placed:
            member = self._placed.pop()
            self._profile.release(member.pod, member.pod_class, member.row)

    def add(self, member: Decision) -> Stop | None:
        """The member is there from now on; or a plugin does not reserve."""
        stop = self._profile.assume(member)
        if stop is None:
            self._placed.append(member)
        return stop


def try_orders(jobs: Sequence[JobRequest], attempt: Callable[[Sequence[int]], int | None]) -> int | None:
    """Call it with the jobs' numbers in one order after the other, until it names none that can not start.

    Returns the one that could not in the end, if so it is. The widest goes first, of equals the first by name.
    """
    order = sorted(range(len(jobs)), key=lambda index: (-len(jobs[index].pods), str(jobs[index].book.key)))
    moved: set[int] = set()
    while True:
        failed = attempt(order)
        if failed is None or failed in moved or failed == order[0]:
            return failed
        moved.add(failed)
        order.remove(failed)
        order.insert(0, failed)


def start_jointly(
    profile: Profile, jobs: Sequence[JobRequest], promises: Mapping[str, str] | None = None
) -> list[Seat] | None:
    """Who of those that they take would go where, in the order in which they are let in; None: they can not start."""
    seats: list[Seat] = []

    def attempt(order: Sequence[int]) -> int | None:
        seats.clear()
        with Placing(profile) as placing:
            for index in order:
                found = StartAttempt(profile, *jobs[index], promises).start()
                if found is None or any(placing.add(seat.decision) for seat in found):
                    return index
                seats.extend(found)
        return None

    return list(seats) if try_orders(jobs, attempt) is None else None

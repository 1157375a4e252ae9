"""Members of a job on nodes, for as long as it takes to find out whether all fit.

In: the rows that come into question, and members one by one. Out: a `JobTrial`: who is where, in the order in which
they came; each was let in by the ordinary cycle with the others in place, and has all that plugins reserve. Anyone can
be taken away again, and in the end all are (`clear`): the caller holds a `what_if` open around it. Called by
`job_search` and `job_attempt`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cycle.decision import Decision, Outcome, Stop
from fairway.cycle.groups.job_members import JobNeeds, Kind
from fairway.cycle.placing import fail_at
from fairway.model import Pod
from fairway.plugin import Code

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["JobTrial", "MemberError", "Seat", "are_local"]


class MemberError(Exception):
    """Something broke while a member was tried, which is an error of the whole job; the decision says what."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.error)
        self.decision = decision


class Seat(NamedTuple):
    """A member that has a row, for now."""

    decision: Decision
    kind: Kind

    @property
    def row(self) -> int:
        """Where it is."""
        return self.decision.row


def are_local(profile: Profile, kinds: Iterable[Kind]) -> bool:
    """Does each member look at one node at a time, and not at where the others are, or at what they have taken?"""
    classes = {kind.pod_class for kind in kinds}
    return not any(pod_class.claims or profile.answers(pod_class).wide_filters for pod_class in classes)


class JobTrial:
    """Who is where."""

    def __init__(
        self,
        profile: Profile,
        needs: JobNeeds,
        rows: NDArray[np.bool_] | None = None,
        shunned: Sequence[int] | None = None,
        promises: Mapping[str, int] | None = None,
    ) -> None:
        """`rows` (num_rows,) are the only ones looked at; those in `promises`, by member's uid, are tried first.

        Where no two members may be on a node, `shunned` are the rows of those that have one; elsewhere it is None.
        """
        self.profile = profile
        self.needs = needs
        self.seats: list[Seat] = []
        self.num_of: Counter[Kind] = Counter()  # members that have a seat
        self._num_of_task: Counter[str] = Counter()
        self._promises = promises or {}
        self._is_once = shunned is not None
        self._shunned = list(shunned or ())
        self._open = rows  # (num_rows,) where members may go; None: anywhere
        if self._is_once:
            num_rows = profile.cluster.nodes.num_rows
            self._open = profile.cluster.nodes.alive[:num_rows].copy() if rows is None else rows.copy()
            self._open[self._shunned] = False

    @property
    def is_met(self) -> bool:
        """Are those that have a seat enough?"""
        return self.needs.is_met(self._num_of_task, len(self.seats))

    @property
    def num_missing(self) -> int:
        """How many more it takes."""
        return self.needs.num_missing(self._num_of_task, len(self.seats))

    def wants(self, kind: Kind) -> bool:
        """Would one more of that kind bring the job nearer to its start?"""
        if len(self.seats) < self.needs.num_needed:
            return True
        return self._num_of_task[kind.task] < self.needs.tasks.get(kind.task, 0)

    def is_enough_with(self, kinds: Iterable[Kind]) -> bool:
        """Would all members of these kinds that have no seat be enough, together with those that have one?"""
        by_task, total = self._num_of_task.copy(), len(self.seats)
        for kind in kinds:
            left = len(kind) - self.num_of[kind]
            by_task[kind.task] += left
            total += left
        return self.needs.is_met(by_task, total)

    def state(self) -> frozenset[tuple[tuple[Kind, int], int]]:
        """How many of each kind are on each row: all that matters for what can be done next."""
        return frozenset(Counter((seat.kind, seat.row) for seat in self.seats).items())

    def open_all_rows(self) -> None:
        """From now on members may go anywhere."""
        if not self._is_once:
            self._open = None
            return
        nodes = self.profile.cluster.nodes
        self._open = nodes.alive[: nodes.num_rows].copy()
        self._open[[*self._shunned, *(seat.row for seat in self.seats)]] = False

    # -- one member ----------------------------------------------------------------------------------------------------

    def decide(self, pod: Pod, tried: Iterable[int] = (), explains: bool = False) -> Decision:
        """Where would the member go, rows that were tried left out?"""
        among = self._open
        tried = list(tried)
        if tried:
            nodes = self.profile.cluster.nodes
            among = nodes.alive[: nodes.num_rows].copy() if among is None else among.copy()
            among[tried] = False
        decision = self.profile.decide(pod, among, makes_room=False, explains=explains)
        if decision.outcome is Outcome.ERROR:
            raise MemberError(decision)
        return decision

    def explain(self, pod: Pod) -> Decision:
        """Why the member fits nowhere, with all that has a seat now."""
        decision = self.decide(pod, explains=True)
        if decision.outcome is not Outcome.SCHEDULED:
            return decision
        obstacle = self.profile.assume(decision)  # no filter is in the way: some plugin did not reserve
        if obstacle is None:
            self.profile.release(decision.pod, decision.pod_class, decision.row)
        else:
            fail_at(decision, obstacle)
        decision.row, decision.node = -1, ""
        decision.outcome = Outcome.UNSCHEDULABLE
        return decision

    def place(self, pod: Pod, kind: Kind, tried: set[int] | None = None) -> Seat | None:
        """Give the member the row promised to it, else the best that was not tried; None if there is none.

        The row counts as tried then.
        """
        promised = self._promises.get(pod.metadata.uid)
        if promised is not None and not tried and (seat := self.place_at(pod, kind, promised)) is not None:
            if tried is not None:
                tried.add(promised)
            return seat
        tried = set() if tried is None else tried
        while (decision := self.decide(pod, tried)).outcome is Outcome.SCHEDULED:
            tried.add(decision.row)
            if self._assume(decision):
                return self._seat(decision, kind, len(self.seats))
        return None

    def place_at(self, pod: Pod, kind: Kind, row: int) -> Seat | None:
        """Give the member that very row, if it fits there."""
        only = np.zeros(self.profile.cluster.nodes.num_rows, bool)
        only[row] = self._open is None or self._open[row]
        decision = self.profile.decide(pod, only, makes_room=False, explains=False)
        if decision.outcome is Outcome.ERROR:
            raise MemberError(decision)
        if decision.outcome is not Outcome.SCHEDULED or not self._assume(decision):
            return None
        return self._seat(decision, kind, len(self.seats))

    def remove(self, position: int = -1) -> Seat:
        """Take a member away."""
        seat = self.seats.pop(position)
        decision = seat.decision
        self.profile.release(decision.pod, decision.pod_class, decision.row)
        self.num_of[seat.kind] -= 1
        self._num_of_task[seat.kind.task] -= 1
        if self._is_once:
            assert self._open is not None
            self._open[decision.row] = True
        return seat

    def put_back(self, seat: Seat, position: int | None = None) -> None:
        """A member that was there a moment ago is there again."""
        obstacle = self.profile.assume(seat.decision)
        if obstacle is not None:
            broken = replace(seat.decision)
            fail_at(broken, obstacle)
            broken.outcome, broken.error = Outcome.ERROR, broken.error or obstacle.error
            raise MemberError(broken)
        self._seat(seat.decision, seat.kind, len(self.seats) if position is None else position)

    def restore(self, seats: Sequence[Seat]) -> None:
        """These, and nobody else."""
        self.clear()
        for seat in seats:
            self.put_back(seat)

    def clear(self) -> None:
        """Nobody is anywhere any more."""
        while self.seats:
            self.remove()

    def holds(self) -> bool:
        """Would each be let in where it is, in the order in which they stand? Who was moved may have been needed."""
        if are_local(self.profile, self.num_of):
            return True
        seats = list(self.seats)
        self.clear()
        for seat in seats:
            if not self.profile.fits_on(seat.decision.pod, seat.row):
                self.restore(seats)
                return False
            self.put_back(seat)
        return True

    def _assume(self, decision: Decision) -> bool:
        obstacle: Stop | None = self.profile.assume(decision)
        if obstacle is not None and obstacle.refusal.code is Code.ERROR:
            fail_at(decision, obstacle)
            raise MemberError(decision)
        return obstacle is None

    def _seat(self, decision: Decision, kind: Kind, position: int) -> Seat:
        seat = Seat(decision, kind)
        self.seats.insert(position, seat)
        self.num_of[kind] += 1
        self._num_of_task[kind.task] += 1
        if self._is_once:
            assert self._open is not None
            self._open[decision.row] = False
        return seat

"""The search for a place for every member of a job that has to start: greedy first, then a little backtracking.

In: a `JobTrial`, the members in their order, and how many moves may be spent. Out: `JobSearch.run`, whether enough of
them have a seat now; if not, the most that ever had one at a time, and who was in the way (`best`).

A member that fits nowhere, and without which the job can not start, is helped in three ways, one after the other: an
earlier member moves to its next best row and leaves it its own; all begins anew with the members of its kind first;
then depth first, the last placed member takes its next best row, and so on back. Each move and each new beginning costs
one. Without that bound, every placement that exists is found. Called by `job_cycle`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fairway.cycle.groups.job_members import Kind
from fairway.cycle.groups.job_trial import JobTrial, Seat, are_local
from fairway.model import Pod

__all__ = ["Budget", "JobSearch"]


@dataclass(slots=True)
class Budget:
    """Moves that may be made."""

    left: int
    used: int = 0
    is_exhausted: bool = False  # was a move wanted that could not be paid for?

    def spend(self) -> bool:
        """Pay for a move; False if there is nothing left."""
        if not self.left:
            self.is_exhausted = True
            return False
        self.left -= 1
        self.used += 1
        return True


class WaitingMember(NamedTuple):
    """A member and what it is like."""

    pod: Pod
    kind: Kind


@dataclass(slots=True)
class SearchDepth:
    """What has been tried at one depth."""

    kinds: list[Kind]  # of which a member could come next; the first is being tried
    tried: set[int] = field(default_factory=set)  # rows, for that one


class JobSearch:
    """One search, on one set of rows."""

    def __init__(self, trial: JobTrial, order: Sequence[tuple[Pod, Kind]], budget: Budget) -> None:
        self._trial = trial
        self._order = [WaitingMember(*member) for member in order]
        self._kinds = list(dict.fromkeys(member.kind for member in self._order))
        self._budget = budget
        self.best: list[Seat] = []  # the most that had a seat at a time
        self.blocking: Pod | None = None  # who had none then

    def run(self) -> bool:
        """Do enough members have a seat? They have it still."""
        order = self._order
        been_first: set[Kind] = set()
        while (stuck := self._fill(order)) is not None:
            self._remember(stuck)
            if len(self._kinds) == 1 and self._is_local():
                return False  # they take each other's place and nobody else's: no order is better than another
            if stuck.kind in been_first or stuck.kind is order[0].kind:
                return self._deepen(order)
            if not self._budget.spend():
                return False
            been_first.add(stuck.kind)
            order = sorted(order, key=lambda member: member.kind is not stuck.kind)
            self._trial.clear()
        return True

    def _remember(self, stuck: WaitingMember) -> None:
        if self.blocking is None or len(self._trial.seats) > len(self.best):
            self.best, self.blocking = list(self._trial.seats), stuck.pod

    def _is_local(self) -> bool:
        return are_local(self._trial.profile, self._kinds)

    # -- one after the other -------------------------------------------------------------------------------------------

    def _fill(self, order: Sequence[WaitingMember]) -> WaitingMember | None:
        """Place them in this order; returns who is needed and fits nowhere, None if enough have a seat."""
        trial = self._trial
        skipped: dict[Kind, WaitingMember] = {}  # those that do without one another, with the first that did not fit
        for member in order:
            if trial.is_met:
                return None
            if member.kind in skipped or not trial.wants(member.kind) or trial.place(*member):
                continue
            others = [kind for kind in self._kinds if kind not in skipped and kind is not member.kind]
            if trial.is_enough_with(others):
                skipped[member.kind] = member
            elif not self._make_way(member):
                return member
        for kind, first in skipped.items():  # the others may have opened a node for it, and if not, may make way
            while not trial.is_met and trial.wants(kind) and (pod := self._next_of(kind)) is not None:
                if trial.place(pod, kind) is None and not self._make_way(WaitingMember(pod, kind)):
                    break
            if trial.is_met:
                return None
            skipped[kind] = first
        return None if trial.is_met else next(iter(skipped.values()), order[-1])

    def _next_of(self, kind: Kind) -> Pod | None:
        """The next member of that kind without a seat."""
        seated = {seat.decision.pod.metadata.uid for seat in self._trial.seats if seat.kind is kind}
        return next((pod for pod in kind.pods if pod.metadata.uid not in seated), None)

    # -- an earlier member makes way -----------------------------------------------------------------------------------

    def _make_way(self, member: WaitingMember) -> bool:
        """Some earlier member, the latest first, moves elsewhere, and this one takes its row."""
        trial = self._trial
        for position in list(self._rows_within_reach(member)):
            seat = trial.remove(position)
            if trial.place_at(member.pod, member.kind, seat.row) is not None:
                is_paid = self._budget.spend()
                moved = trial.place(seat.decision.pod, seat.kind, {seat.row}) if is_paid else None
                if moved is not None and trial.holds():
                    return True
                if moved is not None:
                    trial.remove()
                trial.remove()
                if not is_paid:
                    trial.put_back(seat, position)
                    return False
            trial.put_back(seat, position)
        return False

    def _rows_within_reach(self, member: WaitingMember) -> Iterator[int]:
        """Positions of seats, latest first, on whose row the member might fit if that one were away."""
        trial = self._trial
        cluster = trial.profile.cluster
        answers = trial.profile.answers(member.kind.pod_class)
        seen: set[tuple[Kind, int]] = set()
        positions = []
        for position in range(len(trial.seats) - 1, -1, -1):
            seat = trial.seats[position]
            if seat.kind.pod_class is not member.kind.pod_class and (seat.kind, seat.row) not in seen:
                seen.add((seat.kind, seat.row))
                positions.append(position)
        if not are_local(trial.profile, [member.kind]) or answers.pre_filter_refusal is not None:
            yield from positions
            return
        within: set[int] = set()
        rest = positions
        while rest:  # rows are judged together, and each with one member away: as often as kinds share a row
            by_row = {trial.seats[position].row: position for position in reversed(rest)}
            with cluster.what_if(rows_only=True):
                for position in by_row.values():
                    cluster.remove(trial.seats[position].decision.pod.metadata.uid)
                fits = answers.passes_now(np.array(list(by_row), np.intp))
            within.update(position for position, is_one in zip(by_row.values(), fits, strict=True) if is_one)
            rest = [position for position in rest if position not in by_row.values()]
        yield from (position for position in positions if position in within)

    # -- depth first ---------------------------------------------------------------------------------------------------

    def _deepen(self, order: Sequence[WaitingMember]) -> bool:
        """From the members that have a seat, step back and try what was not tried."""
        trial = self._trial
        kinds = list(dict.fromkeys(member.kind for member in order))
        is_local = self._is_local()
        if is_local:  # then it is all one in which order they came, and those of a kind may stand together
            kinds.sort(key=lambda kind: not trial.num_of[kind])
            trial.seats.sort(key=lambda seat: kinds.index(seat.kind))
        frames = [SearchDepth(self._kinds_from(seat.kind, kinds, is_local), {seat.row}) for seat in trial.seats]
        frames.append(SearchDepth(self._kinds_from(frames[-1].kinds[0] if frames else kinds[0], kinds, is_local)))
        seen = {trial.state()}
        while frames:
            frame = frames[-1]
            if len(trial.seats) == len(frames):
                is_last_kind = is_local and len(frame.kinds) == 1
                if not is_last_kind and not self._budget.spend():
                    return False
                trial.remove()
                if is_last_kind:  # where equal ones are among themselves, no row is better than another
                    frames.pop()
                    continue
            if not self._step(frame, seen, is_local):
                frames.pop()
            elif trial.is_met:
                return True
            else:
                frames.append(SearchDepth(list(frame.kinds) if is_local else list(kinds)))
        return False

    def _kinds_from(self, first: Kind, kinds: list[Kind], is_local: bool) -> list[Kind]:
        """Of which a member may be next: of this kind or, that done, of others; not of those all of whom are seated."""
        position = kinds.index(first)
        earlier = [kind for kind in kinds[:position] if not is_local or self._trial.num_of[kind] < len(kind)]
        return [*kinds[position:], *earlier]

    def _step(self, frame: SearchDepth, seen: set[frozenset[tuple[tuple[Kind, int], int]]], is_local: bool) -> bool:
        """Place the next that was not tried at this depth; False if there is nothing left to try."""
        trial = self._trial
        while frame.kinds:
            kind = frame.kinds[0]
            pod = self._next_of(kind) if trial.wants(kind) else None
            if pod is not None and trial.place(pod, kind, frame.tried) is not None:
                state = trial.state()
                if state not in seen:
                    seen.add(state)
                    return True
                trial.remove()
                continue
            if pod is not None and not frame.tried:
                self._remember(WaitingMember(pod, kind))
            frame.kinds.pop(0)
            frame.tried = set()
            # Who looks at one node at a time could as well come first: it was tried wherever it may be, so it is out.
            if is_local and pod is not None and not trial.is_enough_with(frame.kinds):
                return False
        return False

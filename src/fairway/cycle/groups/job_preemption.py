"""Room for a job that can not start, or several that start together: which less important units would have to go.

In: a failed attempt. Out: the same decisions with victims, and every member that they take promised its node; or with a
word on why nobody goes. All less important units are imagined gone. If the job can start then, as many of the most
important as it can start beside are let back, all at once; of the rest, those on none of its nodes at once, the others
one by one, and who keeps the job from starting has to go. Where a job by itself needs a domain, each is judged so, and
the one that costs least wins. Nothing is random: the same state has the same victims. Called by `job_cycle` and
`joint_cycle`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fairway.cluster import Placed
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome, GroupVictim
from fairway.cycle.groups.job_attempt import StartAttempt
from fairway.cycle.groups.job_domains import JobDomain
from fairway.cycle.groups.job_trial import MemberError, Seat, are_local
from fairway.cycle.groups.job_units import Unit, cost, in_order_of_return, job_priority, units_below
from fairway.cycle.groups.joint_attempt import JobRequest, start_jointly
from fairway.model.disruption import PREEMPTED, disruption_reason

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["preempt_for_jobs"]

USELESS: Final = "Preemption would not help."
LEAVING: Final = "Pods that are leaving make room for it."


def preempt_for_jobs(
    profile: Profile,
    jobs: Sequence[JobRequest],
    promises: Mapping[str, str],
    decisions: Sequence[GroupDecision],
    may_preempt: bool = True,
) -> None:
    """Add to the decisions who has to go, if that helps: units that are less important than each of the jobs.

    `promises` are the nodes that are kept for members already. Victims are named by the first decision.
    """
    priority = min(job_priority(job.book, job.spec) for job in jobs)
    if _wait_for_victims(profile, promises, priority):
        for decision in decisions:
            decision.waits_for_victims = True
            _promise(decision, promises)
        return
    if not (may_preempt and _is_eligible(profile, jobs)):
        return
    units, leaving = units_below(profile, priority, [job.book for job in jobs])
    if not units and not leaving:
        return
    try:
        found = _Preemption(profile, jobs, units, leaving).run()
    except MemberError as error:
        for decision in decisions:
            decision.message = f"{decision.message} {error}"
        return
    if found is not None and found.units:
        _tell_victims(profile, decisions, found, priority)
        return
    for decision in decisions:
        decision.waits_for_victims = found is not None
        _say(decision, USELESS if found is None else LEAVING)


def _is_eligible(profile: Profile, jobs: Sequence[JobRequest]) -> bool:
    has_plugin = any(plugin.name == "DefaultPreemption" for plugin in profile.post_filters)
    return has_plugin and all(pod.spec.preemption_policy != "Never" for job in jobs for pod in job.pods)


def _wait_for_victims(profile: Profile, promises: Mapping[str, str], priority: int) -> bool:
    """Are pods still there that have to go for this job?"""
    cluster = profile.cluster
    rows = {cluster.nodes.row_of[name] for name in promises.values() if name in cluster.nodes.row_of}
    return any(
        placed.terminating and placed.pod.priority < priority and disruption_reason(placed.pod) == PREEMPTED.reason
        for row in rows
        for placed in cluster.pods.on_row(row)
    )


def _say(decision: GroupDecision, words: str) -> None:
    decision.message = f"{decision.message} {words}"
    for each in decision.members:
        each.words = decision.message


def _promise(decision: GroupDecision, nodes: Mapping[str, str]) -> None:
    """Each member's node, by uid, is kept for it; nothing is for the others."""
    for each in decision.members:
        each.promise = nodes.get(each.pod.metadata.uid, "")


def _tell_victims(profile: Profile, decisions: Sequence[GroupDecision], found: _Solution, priority: int) -> None:
    victims = [placed.pod for unit in found.units for placed in unit.placed]
    nodes = {seat.decision.pod.metadata.uid: seat.decision.node for seat in found.seats}
    nominations = profile.cluster.nominations
    waiting = {pod.metadata.uid: pod for name in dict.fromkeys(nodes.values()) for pod in nominations.on(name)}
    decisions[0].victims = [GroupVictim(pod, None) for pod in victims]
    decisions[0].cleared = [pod for pod in waiting.values() if pod.priority < priority]
    number = "1 less important pod has" if len(victims) == 1 else f"{len(victims)} less important pods have"
    for decision in decisions:
        decision.outcome = GroupOutcome.PREEMPTING
        _promise(decision, nodes)
        _say(decision, f"{number} to make room for it.")


@dataclass(slots=True)
class _Solution:
    """Who has to go, and where the members go then."""

    units: list[Unit]
    seats: list[Seat]


class _Preemption:
    """One search for victims."""

    def __init__(
        self,
        profile: Profile,
        jobs: Sequence[JobRequest],
        units: list[Unit],
        leaving: list[Placed],
    ) -> None:
        self._profile = profile
        self._cluster = profile.cluster
        self._jobs = jobs
        self._units = units
        self._leaving = leaving

    def run(self) -> _Solution | None:
        """The cheapest way to make room; None if there is none."""
        topology = self._jobs[0].spec.topology
        if len(self._jobs) > 1 or topology is None or not topology.is_required:
            return self._solve(None, self._units)
        found: list[_Solution] = []
        for domain in self._domains():
            assert domain.rows is not None
            rows = set(domain.rows.nonzero()[0].tolist())
            solution = self._solve(domain.name, [unit for unit in self._units if not rows.isdisjoint(unit.rows)])
            if solution is not None and not solution.units:
                return solution
            if solution is not None:
                found.append(solution)
        return min(found, key=lambda solution: cost(solution.units), default=None)

    def _domains(self) -> list[JobDomain]:
        """Where there would be room by amounts with everybody less important gone."""
        with self._cluster.what_if():
            self._remove([*self._leaving, *(placed for unit in self._units for placed in unit.placed)])
            return [domain for _, domain in StartAttempt(self._profile, *self._jobs[0]).places()]

    def _start(self, only: str | None, promises: Mapping[str, str] | None = None) -> list[Seat] | None:
        """Who would go where now; None if they can not start."""
        if len(self._jobs) > 1:
            return start_jointly(self._profile, self._jobs, promises)
        return StartAttempt(self._profile, *self._jobs[0], promises).start(only)

    def _remove(self, pods: Sequence[Placed]) -> None:
        for placed in pods:
            self._cluster.remove(placed.pod.metadata.uid)

    def _remove_units(self, units: Sequence[Unit]) -> None:
        self._remove([placed for unit in units for placed in unit.placed])

    def _put_back(self, units: Sequence[Unit]) -> None:
        for unit in units:
            for placed in unit.placed:
                self._cluster.place(placed.pod, placed.pod_class, placed.row)

    # -- who may stay --------------------------------------------------------------------------------------------------

    def _solve(self, only: str | None, units: Sequence[Unit]) -> _Solution | None:
        """Who of these units has to go, so that the job can start in that domain."""
        order = in_order_of_return(self._profile, units)
        with self._cluster.what_if():
            self._remove(self._leaving)
            self._remove_units(order)
            seats = self._start(only)
            if seats is None:
                return None
            number, seats = self._let_back_most(only, order, seats)
            going, seats = self._let_back_others(only, order[number:], seats)
            if len(self._jobs) > 1:
                going, seats = self._let_back_needless(going, seats)
            nodes = {seat.decision.pod.metadata.uid: seat.decision.node for seat in seats}
            final = self._start(only, nodes)
        if final is None:
            return None
        in_order_of_return(self._profile, going)  # what is violated by those who really go
        return _Solution(going, final)

    def _let_back_most(self, only: str | None, order: Sequence[Unit], seats: list[Seat]) -> tuple[int, list[Seat]]:
        """How many of the most important may all stay; they are let back. Halving tells, as the more the worse."""
        now = low = 0
        high = len(order) if self._leaving else len(order) - 1  # with all of them there it does not fit
        while low < high:
            middle = (low + high + 1) // 2
            self._put_back(order[now:middle])
            self._remove_units(order[middle:now])
            now = middle
            found = self._start(only)
            if found is None:
                high = middle - 1
            else:
                low, seats = middle, found
        self._put_back(order[now:low])
        self._remove_units(order[low:now])
        return low, seats

    def _let_back_others(
        self, only: str | None, order: Sequence[Unit], seats: list[Seat]
    ) -> tuple[list[Unit], list[Seat]]:
        """At once whoever is on none of the members' nodes, the others one by one; returns those that have to go."""
        rows = {seat.row for seat in seats}
        near = {unit for unit in order if not rows.isdisjoint(unit.rows)}
        others = [unit for unit in order if unit not in near and unit.core not in near]
        self._put_back(others)
        if self._holds(seats):
            order = [unit for unit in order if unit in near or unit.core in near]
        else:  # one of them is in the way from afar: then it is one by one for all
            self._remove_units(others)
        going: list[Unit] = []
        for unit in order:
            if unit.core not in going:
                self._put_back([unit])
                if self._holds(seats, unit.rows):
                    continue
                if (found := self._start(only)) is not None:
                    seats = found
                    continue
                self._remove_units([unit])
            going.append(unit)
        return going, seats

    def _let_back_needless(self, going: list[Unit], seats: list[Seat]) -> tuple[list[Unit], list[Seat]]:
        """Who is not needed after all: jobs one after the other may have found another way with others back."""
        is_new = True
        while is_new:
            is_new = False
            for unit in list(going):
                if unit.core in going:
                    continue
                self._put_back([unit])
                found = self._start(None)
                if found is None:
                    self._remove_units([unit])
                    continue
                going.remove(unit)
                seats, is_new = found, True
        return going, seats

    def _holds(self, seats: Sequence[Seat], rows: set[int] | None = None) -> bool:
        """Would each still be let in where it is, if something changed on these rows (anywhere, if none are named)?"""
        profile = self._profile
        if rows is not None and are_local(profile, [seat.kind for seat in seats]):
            seats = [seat for seat in seats if seat.row in rows]
        with self._cluster.what_if():
            for seat in seats:
                decision = seat.decision
                if not profile.fits_on(decision.pod, seat.row):
                    return False
                self._cluster.place(decision.pod, decision.pod_class, seat.row)
        return True

"""The attempt itself: domain by domain, level by level, until the members that it takes have a node.

In: a profile, a job's book and spec, its members that wait, and the nodes that are kept for some of them. Out:
`StartAttempt.run`, what is decided about all of them; `start`, the transaction alone: who would go where, of those that
it takes. Both look at the cluster as it is, or is imagined, when the attempt is made, and leave it so. Called by
`job_cycle`, and by `job_preemption` for clusters from which somebody is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fairway.cluster.groups import GroupBook
from fairway.cycle.decision import Decision
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_domains import JobDomain, Level, levels_of
from fairway.cycle.groups.job_members import JobNeeds, Kind, kinds_of, order_members
from fairway.cycle.groups.job_room import JobRoom
from fairway.cycle.groups.job_search import Budget, JobSearch
from fairway.cycle.groups.job_trial import JobTrial, MemberError, Seat
from fairway.cycle.groups.job_words import JobFailure, fail_job, refuse_job, wait_as_surplus, wait_for_members
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["StartAttempt"]


class _Nearest(NamedTuple):
    """The attempt that came nearest to a start."""

    seats: list[Seat]
    blocking: Pod
    level: Level
    domain: JobDomain


class StartAttempt:
    """The attempt, while it lasts."""

    def __init__(
        self,
        profile: Profile,
        group: GroupBook,
        spec: GroupSpec,
        pods: Sequence[Pod],
        promises: Mapping[str, str] | None = None,
        *,
        with_surplus: bool = True,
    ) -> None:
        """`promises` are nodes, by member's uid, that are kept for them: they are tried first.

        Without `with_surplus`, members beyond what it takes wait until the others have started.
        """
        assert profile.gangs is not None
        self._profile = profile
        self._gangs = profile.gangs
        self._waits_with_surplus = not with_surplus or profile.gangs.surplus == "wait"
        self._group = group
        self._spec = spec
        self._needs = JobNeeds.of(group, spec)
        self._kinds = kinds_of(profile, pods, spec.one_per_node)
        self._order = order_members(self._kinds, self._needs)
        self._promises = _rows_of_nodes(profile, promises or {})
        self._rows = _rows_of_members(profile, group)
        self._levels = levels_of(profile, spec.topology, self._rows)
        self._room = JobRoom(profile, self._wanted_at_once(), self._kinds, spec.one_per_node, self._rows)
        self._budget = Budget(profile.gangs.backtracks or 0)
        self._num_domains = 0
        self._nearest: _Nearest | None = None

    def _wanted_at_once(self) -> JobNeeds:
        """What a domain has to have room for: where nobody is yet and nobody is needed, all of them."""
        if self._needs.num_needed > 0 or self._rows or self._spec.topology is None:
            return self._needs
        return JobNeeds(len(self._order))

    def run(self) -> GroupDecision:
        """What becomes of all members."""
        if not JobTrial(self._profile, self._needs).is_enough_with(self._kinds):
            return wait_for_members(self._group, self._spec, self._order)
        try:
            for level, domain in self.places():
                trial = self._search(level, domain)
                if trial is not None:
                    return self._succeed(level, domain, trial)
            return fail_job(self._profile, self._group, self._spec, self._order, self._failure())
        except MemberError as error:
            return refuse_job(self._profile, self._group, [pod for pod, _ in self._order], str(error), error.decision)

    def start(self, only: str | None = None) -> list[Seat] | None:
        """Who of those that it takes would go where; None if they can not start. `only`: in the domain of that name."""
        for level, domain in self.places(only):
            trial = self._search(level, domain)
            if trial is not None:
                seats = list(trial.seats)
                trial.clear()
                return seats
        return None

    def places(self, only: str | None = None) -> Iterator[tuple[Level, JobDomain]]:
        """The domains with room by amounts, in the order in which they are tried."""
        for level in self._levels:
            at = level if only is None else level._replace(value=only)
            for domain in self._room.domains(at, self._gangs.domains or 1):
                yield level, domain
        nearest = self._room.nearest(self._levels[-1]) if self._needs.num_needed <= 0 else None
        if nearest is not None:  # not all have room together, and nobody has to wait for the others
            yield self._levels[-1], nearest

    def _search(self, level: Level, domain: JobDomain) -> JobTrial | None:
        """A trial on these nodes in which all have a seat that it takes; None if there is none, and nothing is left."""
        self._num_domains += bool(level.key)
        trial = self._trial(domain)
        search = JobSearch(trial, self._order, self._budget)
        is_found = False
        try:
            is_found = search.run()
        finally:
            if not is_found:
                trial.clear()
        if is_found:
            return trial
        assert search.blocking is not None
        if self._nearest is None or len(search.best) > len(self._nearest.seats):
            self._nearest = _Nearest(search.best, search.blocking, level, domain)
        return None

    def _trial(self, domain: JobDomain) -> JobTrial:
        return JobTrial(
            self._profile, self._needs, domain.rows, self._rows if self._spec.one_per_node else None, self._promises
        )

    def _succeed(self, level: Level, domain: JobDomain, trial: JobTrial) -> GroupDecision:
        try:
            unplaced = self._place_surplus(trial)
            decision = GroupDecision(self._group.key, GroupOutcome.SCHEDULED, [])
            decision.members = [*(seat.decision for seat in trial.seats), *unplaced]
        finally:
            trial.clear()
        decision.level, decision.domain = level.key, domain.name
        decision.num_domains, decision.num_backtracks = self._num_domains, self._budget.used
        return decision

    def _failure(self) -> JobFailure:
        """What stood in the way where the job came nearest to a start."""
        if self._nearest is None:
            failure = self._room.fail(self._levels[-1])
        else:
            seats, pod, level, domain = self._nearest
            trial = self._trial(domain)
            try:
                trial.restore(seats)
                blocking = trial.explain(pod)
                failure = JobFailure(blocking, max(trial.num_missing, 1), level=level.key, domain=domain.name)
            finally:
                trial.clear()
        failure.num_domains, failure.num_backtracks = self._num_domains, self._budget.used
        failure.is_exhausted = self._budget.is_exhausted
        return failure

    def _place_surplus(self, trial: JobTrial) -> list[Decision]:
        """Those beyond what it takes, one by one; returns what is said to those that fit nowhere, or wait."""
        seated = {seat.decision.pod.metadata.uid for seat in trial.seats}
        rest = [(pod, kind) for pod, kind in self._order if pod.metadata.uid not in seated]
        if self._needs.num_needed > 0 and self._waits_with_surplus:
            return [wait_as_surplus(self._group, pod, kind.pod_class) for pod, kind in rest]
        rest = [(pod, kind) for pod, kind in rest if trial.place(pod, kind) is None]
        if rest and self._spec.topology is not None and not self._spec.topology.is_required:
            trial.open_all_rows()
            rest = [(pod, kind) for pod, kind in rest if trial.place(pod, kind) is None]
        told: dict[Kind, Decision] = {}
        for pod, kind in rest:
            if kind not in told:
                told[kind] = trial.explain(pod)
        return [replace(told[kind], pod=pod) for pod, kind in rest]


def _rows_of_members(profile: Profile, group: GroupBook) -> tuple[int, ...]:
    """Where members are that have a node."""
    placed = (profile.cluster.pods.by_uid.get(uid) for uid in (*group.bound, *group.assumed))
    return tuple(each.row for each in placed if each is not None)


def _rows_of_nodes(profile: Profile, promises: Mapping[str, str]) -> dict[str, int]:
    row_of = profile.cluster.nodes.row_of
    return {uid: row_of[name] for uid, name in promises.items() if name in row_of}

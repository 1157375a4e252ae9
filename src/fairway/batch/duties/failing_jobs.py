"""Failure rules are carried out: jobs whose pods fail, whose nodes are lost, or that never come to run.

In: what happens to pods and nodes. Out: a decision (`failures`) for each job that needs one, written down and carried
out by the duty of ending jobs: restarted, requeued, failed, completed, or going on with fewer. Only jobs are looked at
to which something has happened, or that start; what is kept of them here can be seen again: pods that are missing,
nodes that do not answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairway.batch.actions import Action
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.ending_jobs import order_end
from fairway.batch.duties.incidents import incident_of, tasks_done
from fairway.batch.duties.lost_nodes import LostNodes
from fairway.batch.failures import START_WITHIN, WAIT_FOR_NODE, Incident, JobSight, failure_decision
from fairway.batch.job import BatchJob
from fairway.cluster import Event, Verb
from fairway.model import Node, Pod
from fairway.model.batch import FailureRules

__all__ = ["FailingJobs"]


class FailingJobs:
    """Looks after jobs to which something has happened."""

    hears_members, keeps_times = True, True

    def __init__(self, desk: DutyDesk, lost: LostNodes) -> None:
        self._desk = desk
        self._lost = lost
        self._watched: dict[str, BatchJob] = {}  # by key
        self._incidents: dict[str, list[Incident]] = {}  # by key of a watched job
        self._next = math.inf
        for job in desk.book:  # written down by whoever was here before: something may have happened to any of them
            self._watched[job.key], self._next = job, -math.inf
            self._incidents[job.key] = self._remembered(job)

    def _remembered(self, job: BatchJob) -> list[Incident]:
        """What happened to a job, as it was written down; and what nobody had the time to look at."""
        incidents = [*job.ledger.incidents]
        decided = {pod.metadata.name for pod in job.ledger.pods}
        known = {each.pod for each in incidents}
        for name, pod in job.failed.items():
            if name not in decided and pod.metadata.uid not in known and job.ledger.ending is None:
                incident = incident_of(pod, False, self._desk.world.now())
                incidents += [] if incident is None else [incident]
        return incidents

    # -- what happens ------------------------------------------------------------------------------------------------

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """Whoever something happened to is looked at in the next pass."""
        item, gone = event.object, event.verb is Verb.DELETED
        if isinstance(item, Pod):
            if job is not None:
                self._observe_member(job, item, gone, self._desk.world.now())
        elif isinstance(item, Node) and self._lost.observe(item, gone, self._desk.world.now()):
            name = item.metadata.name
            for each in self._desk.book:
                if any(pod.spec.node_name == name for pod in each.members.values()):
                    self._watch(each)

    def _observe_member(self, job: BatchJob, pod: Pod, gone: bool, now: float) -> None:
        uid = pod.metadata.uid
        if gone or pod.is_finished:
            is_ours = uid in self._desk.book.dismissed
            self._desk.book.dismissed.discard(uid)
            if job.has_ended:
                self._forget(job)
                return
            incident = None if is_ours else incident_of(pod, gone, now)
            done = tasks_done(pod, job.members.values(), now)
            for each in (incident, done):
                if each is not None and not any(other.pod == uid != "" for other in self._incidents.get(job.key, ())):
                    self._incidents.setdefault(job.key, []).append(each)
            self._write_down(job)
            self._watch(job)
        elif pod.spec.node_name in self._lost.by_name or (job.started is None and pod.spec.node_name):
            self._watch(job)
        elif job.started is not None and job.group is None and not (self._lost.by_name or job.key in self._incidents):
            self._watched.pop(job.key, None)  # it has begun, which was all there was to wait for

    def _write_down(self, job: BatchJob) -> None:
        """Rules that apply after a time count from what happened, whoever looks; nodes say themselves since when."""
        rules, incidents = self._rules(job), tuple(self._incidents.get(job.key, ()))
        if rules is not None and incidents != job.ledger.incidents and any(rule.after for rule in rules.rules):
            job.ledger.incidents = incidents
            self._desk.world.write_record(job)

    def _watch(self, job: BatchJob) -> None:
        self._watched[job.key] = job
        self._next = -math.inf
        self._desk.is_due |= job.started is not None or job.key in self._incidents

    def _forget(self, job: BatchJob) -> None:
        self._watched.pop(job.key, None)
        self._incidents.pop(job.key, None)

    # -- what follows ------------------------------------------------------------------------------------------------

    def next_time(self, now: float) -> float:
        """When a patience ends."""
        if not self._watched:
            return math.inf
        if self._next == -math.inf:
            self._next = min(
                (time for job in self._watched.values() for time in self._instants(job, now)), default=math.inf
            )
        return self._next

    def awaited_time(self, now: float) -> float:
        """Something comes of each of them."""
        return self.next_time(now)

    def look(self, now: float) -> Sequence[Action]:
        """Decide about everybody that is watched."""
        for job in list(self._watched.values()):
            rules = self._rules(job)
            if job.has_ended or job.is_ending or rules is None:
                self._forget(job)
                continue
            decision = failure_decision(job, self._sight(job), rules, now)
            if decision is not None:
                job.ledger.incidents = ()
                order_end(self._desk, job, decision)
                self._incidents.pop(job.key, None)
            elif next(self._instants(job, now), None) is None:
                self._forget(job)
        self._next = -math.inf
        return ()

    def _rules(self, job: BatchJob) -> FailureRules | None:
        settings = self._desk.settings
        return settings.spec_of(job.queue).failure if settings.binds(job) else None

    def _sight(self, job: BatchJob) -> JobSight:
        lost = self._lost.by_name
        running = sum(job.members[uid].spec.node_name not in lost for uid in job.running)
        nodes = {pod.spec.node_name for pod in job.members.values()}
        is_starting = job.started is None and any(pod.spec.node_name for pod in job.members.values())
        return JobSight(
            num_running=running + job.num_done,
            since=self._since(job),
            is_starting=is_starting,
            incidents=tuple(self._incidents.get(job.key, ())),
            lost=tuple(node for name, node in sorted(lost.items()) if name in nodes),
        )

    def _since(self, job: BatchJob) -> float:
        """Since when too few run; of a job that starts, when it was released; of one that waits, never."""
        if job.started is None:
            return math.inf if job.ledger.released is None else job.ledger.released
        ends = [each.end for each in job.ledger.intervals[-1:] if each.end < math.inf]
        return ends[0] if ends else self._desk.world.now()

    def _instants(self, job: BatchJob, now: float) -> Iterator[float]:
        """When something may have to be done, if nothing happens until then."""
        rules = self._rules(job)
        if rules is None:
            return
        if job.started is None and not self._lost.by_name and job.key not in self._incidents:  # as of all who begin
            time = self._since(job) + START_WITHIN
            if time > now and any(pod.spec.node_name for pod in job.members.values()):
                yield time
            return
        sight = self._sight(job)
        times = [each.since + float(rule.after) for rule in rules.rules for each in sight.incidents]
        for node in sight.lost:
            after = [0.0, *(float(rule.after) for rule in rules.rules if rule.on == "NodeLost"), WAIT_FOR_NODE]
            times += [node.since + max(float(rules.lost_after), each) for each in after]
        if sight.is_starting:
            times.append(sight.since + START_WITHIN)
        elif job.started is not None and sight.num_running < job.min_count and job.group is not None:
            times.append(sight.since + float(rules.broken_after))
        yield from sorted(time for time in times if time > now)

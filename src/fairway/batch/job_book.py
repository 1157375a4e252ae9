"""The book of jobs: which pods are a job of a queue, and where each job is in its life.

In: pods as they come, change and go, and the objects they belong to. Out: a `Job` for each that names a queue, with its
members, and whether they wait, run or are over. Nothing is decided here; the desk does that. A pod outside of queues
costs one look at its labels and annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fairway.batch.accounts.charges import close_interval, open_interval
from fairway.batch.accounts.unwatched import Unwatched
from fairway.batch.job import BatchJob, JobLedger, JobWishes
from fairway.batch.job_sayings import JobSayings
from fairway.batch.limits import owning_job
from fairway.batch.reasons import JobOutcome, JobStanding, JobState
from fairway.batch.upkeep.remade_pods import RemadePods
from fairway.cluster import Cluster
from fairway.model import Job as JobController
from fairway.model import Pod
from fairway.model.group import After, GroupKey, GroupSpec, Misconfigured
from fairway.model.meta import OwnerReference
from fairway.model.owned import COMPLETION_INDEX

__all__ = ["EndedJob", "JobBook"]


class EndedJob(NamedTuple):
    """What others may want to know of a job that is over."""

    started: float | None
    ended: float
    outcome: JobOutcome


def _nothing(job: BatchJob) -> float:
    """Nobody keeps accounts."""
    return 0.0


class JobBook:
    """All jobs that are not over, and how the others ended."""

    def __init__(self, cluster: Cluster, aliases: Mapping[str, str], start: float = 0.0) -> None:
        """`aliases`: queues by the names that Kueue's users know them by; `start`: see `wishes`."""
        self.cluster = cluster
        self.sayings = JobSayings(cluster, aliases, start)
        self.start = start
        self._number = 0
        self.unwatched: Unwatched | None = None  # while it is heard what happened when nobody led
        self.bill: Callable[[BatchJob], float] = _nothing  # notes who pays for a job that starts, and says its rate
        self.jobs: dict[str, BatchJob] = {}  # by key
        self.ended: dict[str, EndedJob] = {}  # by key: the latest of that name
        self.awaited: set[str] = set()  # keys of jobs that others come after
        self._of: dict[str, BatchJob] = {}  # by member's uid
        self.makers: dict[str, JobController] = {}  # by uid: Jobs that are not done
        self.decided: dict[str, BatchJob] = {}  # by key: jobs about whose pods something was decided
        self.dismissed: set[str] = set()  # uids of pods that end because of that
        self.remade = RemadePods()
        self._made_by: dict[str, dict[str, BatchJob]] = {}  # by controller's uid, then key: jobs whose pods it makes
        self._timed_out: dict[str, list[JobLedger]] = {}  # by controller's uid: of jobs of which it makes pods anew

    def __iter__(self) -> Iterator[BatchJob]:
        return iter(self.jobs.values())

    def of(self, uid: str) -> BatchJob | None:
        """The job of a pod."""
        return self._of.get(uid)

    def find(self, key: str) -> BatchJob | None:
        """The job of that name."""
        return self.jobs.get(key)

    # -- pods --------------------------------------------------------------------------------------------------------

    def observe(self, pod: Pod, gone: bool, now: float) -> BatchJob | None:
        """A pod came, changed or went; returns its job, if it has one."""
        uid = pod.metadata.uid
        job = self._of.get(uid)
        if job is None:
            if (gone or pod.is_finished or pod.is_terminating) and not self.remade.is_awaited(
                pod, self.decided.values()
            ):
                return None
            queue = self.sayings.queue_of(pod)
            if queue is None:
                return None
            job = self._job_of(pod, queue, now)
            self._of[uid] = job
        before = job.members.get(uid)
        if before is None:
            self.remade.came(job, pod)
        if gone or pod.is_finished:
            self.drop(job, pod, now)
            return job
        job.members[uid] = pod
        if before is None and job.imagined:
            job.imagined = job.imagined[1:]
        if before is None or (not pod.spec.node_name and before is not pod):
            self.reread(job, is_read=before is None and len(job.members) == 1)
        if pod.status.phase == "Running" and uid not in job.running:
            job.running.add(uid)
            self._count_running(job, now)
        return job

    def _count_running(self, job: BatchJob, now: float) -> None:
        """Its time counts while as many run as it takes; who is done is not missing."""
        if not job.running or len(job.running) + job.num_done < job.min_count:
            is_uncertain = self.unwatched is not None
            job.ledger.intervals = close_interval(job.ledger.intervals, now, is_uncertain=is_uncertain)
            return
        if not job.is_counting:
            nodes = tuple(sorted({each.spec.node_name for each in job.members.values() if each.spec.node_name}))
            job.ledger.intervals = open_interval(job.ledger.intervals, now, self.bill(job), nodes)
        if job.started is None:
            job.started = now
            job.standing = JobStanding(JobState.RUNNING)

    def recount(self, job: BatchJob, now: float) -> None:
        """It runs, and all that is there was heard of: do as many run as it takes?"""
        self.learn_group(job)
        self._count_running(job, now)

    def drop(self, job: BatchJob, pod: Pod, now: float) -> None:
        """A member is over or gone, or nobody waits any more for its node to say so."""
        uid = pod.metadata.uid
        self._of.pop(uid, None)
        job.members.pop(uid, None)
        job.running.discard(uid)
        job.plan = None
        job.is_clear = False
        if pod.is_finished and pod.status.phase == "Failed":
            job.has_failed = True
            job.failed[pod.metadata.name] = pod
        if self.remade.left(job, pod):
            self.decided[job.key] = job
            self.dismissed.add(uid)
        job.num_done += pod.is_finished and pod.status.phase == "Succeeded"
        if job.started is not None:
            self._count_running(job, self.end_of(pod, now))
        self.settle(job, now, not pod.is_finished)

    def end_of(self, pod: Pod, now: float) -> float:
        """When the end of a pod that is over or gone counts: now, unless nobody led when it ended."""
        return now if self.unwatched is None else self.unwatched.end_of(pod, now)

    def settle(self, job: BatchJob, now: float, is_deleted: bool = False) -> None:
        """Is the job over, or does it wait again? It is neither as long as somebody has a node."""
        ending = job.ledger.ending
        if ending is not None and not job.members.keys().isdisjoint(ending.pods):
            return
        if ending is not None and not ending.ends_job:
            job.ledger.ending = ending = None
        if ending is not None and ending.outcome is not None:
            if not self._makes_more(job.ledger.owner, now):
                self._end(job, ending.outcome, now)
        elif ending is not None or self._comes_again(job, is_deleted):
            self._wait_again(job)
        elif not job.members:
            outcome = JobOutcome.FAILED if job.has_failed else JobOutcome.SUCCEEDED
            self._end(job, JobOutcome.CANCELLED if is_deleted else outcome, now)

    def _makes_more(self, owner: str, now: float) -> bool:
        """Does the controller make more pods of a job that shall be over? A Job does until its deadline."""
        maker = self.makers.get(owner)
        if maker is None or maker.spec.suspend:
            return False
        job = owning_job(maker, self.start)
        return job.active_deadline is None or now < job.started + job.active_deadline

    def _comes_again(self, job: BatchJob, is_deleted: bool) -> bool:
        """Has everybody left who had a node, and does somebody come in their place, or is there already?"""
        if job.members:
            return job.started is not None and not any(pod.spec.node_name for pod in job.members.values())
        if job.ledger.owner:
            # A Job says when it is done; of others nobody knows whether they make another one.
            return job.ledger.owner_kind == "Job" and not job.has_no_maker and (job.has_failed or is_deleted)
        return job.wishes.recreates and (bool(job.ledger.pods) or (job.has_failed and not is_deleted))

    def _wait_again(self, job: BatchJob) -> None:
        """It goes back to where it came from: its time, its counts and its place in the queue are kept."""
        job.ledger.ending = job.ledger.released = None
        # What was granted by order stays so; else it asks anew.
        if job.ledger.granted_limit == job.ledger.first_limit and job.ledger.answered_limit is None:
            job.ledger.granted_limit = None
        job.started, job.is_released = None, False
        job.has_failed = False
        job.plan = None
        job.is_clear = job.is_vain = False
        job.eligible_since = None
        job.standing = JobStanding(JobState.QUEUED)

    def _end(self, job: BatchJob, outcome: JobOutcome, now: float) -> None:
        """It is over; pods that came meanwhile are another job's."""
        job.standing = JobStanding(JobState.FINISHED, outcome, words=job.ledger.ending.why if job.ledger.ending else "")
        job.ledger.ending, job.ledger.pods, job.ledger.leaving, job.imagined = None, (), (), ()
        job.ledger.intervals = close_interval(job.ledger.intervals, now)
        job.ledger.ended = now
        job.ledger.is_final = True
        job.ledger.is_settled = job.ledger.billed is None  # who never ran owes nothing
        self.ended[job.key] = EndedJob(job.started, now, outcome)
        del self.jobs[job.key]
        if (made := self._made_by.get(job.ledger.owner)) is not None:
            made.pop(job.key, None)
            if not made:
                del self._made_by[job.ledger.owner]
        for pod in list(job.members.values()):
            del self._of[pod.metadata.uid]
            self.observe(pod, False, now)
        job.members = {}

    # -- who is a job ------------------------------------------------------------------------------------------------

    def _job_of(self, pod: Pod, queue: str, now: float) -> BatchJob:
        groups = self.cluster.groups
        membership = groups.membership(pod) if groups.reading is not None else None
        group: GroupKey | None = None if membership is None else membership.key
        key = pod.key if group is None else str(group)
        owner = pod.metadata.controller
        known = self.jobs.get(key) or (self._heir(pod, owner.uid) if group is None and owner is not None else None)
        if known is not None:
            return known
        self._number += 1
        wishes = self.sayings.wishes(pod, queue, now)
        ledger = self._new_ledger(owner, now)
        index = pod.metadata.annotations.get(COMPLETION_INDEX)
        job = BatchJob(key, pod.metadata.uid, group, wishes, ledger, number=self._number, index=index)
        self.jobs[key] = job
        if ledger.owner:
            self._made_by.setdefault(ledger.owner, {})[key] = job
        return job

    def enter(self, job: BatchJob) -> None:
        """A job that has no pods yet."""
        job.number = self._number + 1
        self.adopt(job)

    def adopt(self, job: BatchJob) -> None:
        """A job that was written down is here again."""
        self._number = max(self._number, job.number)
        self.jobs[job.key] = job
        self._of.update(dict.fromkeys(job.members, job))
        if job.ledger.owner:
            self._made_by.setdefault(job.ledger.owner, {})[job.key] = job
            if job.group is not None and job.ledger.owner_kind == "Job":
                self.sayings.makers[job.ledger.owner] = None
        self.remade.adopt(job)
        if job.ledger.ending is not None or job.ledger.pods:
            self.note_decision(job)

    def _heir(self, pod: Pod, owner: str) -> BatchJob | None:
        """The job of its controller that lost its pod: the new one is in its place."""
        index = pod.metadata.annotations.get(COMPLETION_INDEX)
        for job in self._made_by.get(owner, {}).values():
            leaves = all(member.is_terminating for member in job.members.values())
            is_over = job.ledger.ending is not None and job.ledger.ending.outcome is not None
            if job.group is None and leaves and job.index == index and not is_over:
                return job
        return None

    def _new_ledger(self, owner: OwnerReference | None, now: float) -> JobLedger:
        """That of a new job; what a controller makes anew of one that ran out of time goes on with its time."""
        if owner is None:
            return JobLedger(now)
        timed_out = self._timed_out.get(owner.uid)
        if not timed_out:
            return JobLedger(now, owner=owner.uid, owner_kind=owner.kind)
        former = timed_out.pop(0)
        intervals = close_interval(former.intervals, now)
        return JobLedger(former.submitted, intervals=intervals, owner=owner.uid, owner_kind=owner.kind)

    def leave_no_time(self, job: BatchJob) -> None:
        """Its time is over: what its controller makes anew is no other job."""
        if job.ledger.owner:
            self._timed_out.setdefault(job.ledger.owner, []).append(job.ledger)

    def reread(self, job: BatchJob, *, is_read: bool = False) -> None:
        """Members, or what is said of it, are others than before; `is_read`: what it says was read just now."""
        if not is_read:
            job.wishes = self.wishes_now(job)
        job.priority_class = max((each.priority for each in job.pods), default=job.priority_class)
        job.plan = None
        job.is_clear = job.is_vain = False
        job.num_vain = 0

    def wishes_now(self, job: BatchJob) -> JobWishes:
        """What its objects say at this moment."""
        pod = next(iter(job.pods), None)
        if pod is None:  # all have gone, and others are still to come
            return job.wishes
        return self.sayings.wishes(pod, self.sayings.queue_of(pod) or job.wishes.queue, job.ledger.submitted)

    def spoken_for(self, item: Any) -> list[BatchJob]:
        """The jobs that a group's object or a controller speaks for."""
        jobs = list(self._made_by.get(item.metadata.uid, {}).values())
        named = self.jobs.get(f"{item.metadata.namespace}/{item.metadata.name}")
        return jobs if named is None or named in jobs else [*jobs, named]

    def spec_of(self, group: GroupKey) -> GroupSpec | Misconfigured | None:
        """How its members start together: the same one as long as nobody says otherwise; None: nobody says."""
        return self.cluster.groups.spec_at(group)

    def learn_group(self, job: BatchJob) -> str:
        """How many members start together; why that is not known, if it is not."""
        if job.group is None:
            return ""
        spec = self.spec_of(job.group)
        if spec is None:
            return f"no object for {job.key}"
        if not isinstance(spec, GroupSpec):
            return spec.message
        job.min_count, job.size = max(spec.min_count, 1), spec.size
        return ""

    def after_of(self, job: BatchJob) -> tuple[After, ...]:
        """The jobs that come before it, and how far they have to have got."""
        if job.group is None:
            return job.wishes.after
        spec = self.spec_of(job.group)
        return spec.after if isinstance(spec, GroupSpec) else ()

    def observe_maker(self, item: Any, gone: bool, now: float) -> list[BatchJob]:
        """A controller changed or went; returns the jobs that are over with it, as nobody makes their pods anew."""
        uid = item.metadata.uid
        finish = item.finish if isinstance(item, JobController) else None
        if isinstance(item, JobController) and not gone and finish is None:
            self.makers[uid] = item
            return []
        self.makers.pop(uid, None)
        if uid not in self._made_by or not (gone or finish is not None):
            return []
        self._timed_out.pop(uid, None)
        jobs = list(self._made_by[uid].values())
        for job in jobs:
            job.has_no_maker = True
        over = [job for job in jobs if not job.members]
        ended_well = finish is not None and finish.type == "Complete"
        outcome = JobOutcome.SUCCEEDED if ended_well else JobOutcome.CANCELLED if gone else JobOutcome.FAILED
        for job in over:
            ending = job.ledger.ending
            self._end(job, outcome if ending is None or ending.outcome is None else ending.outcome, now)
        return over

    def note_decision(self, job: BatchJob) -> None:
        """Something was decided about its pods."""
        self.decided[job.key] = job
        if job.ledger.ending is not None:
            self.dismissed.update(uid for uid in job.ledger.ending.pods if uid in job.members)

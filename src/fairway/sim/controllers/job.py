"""The Job controller: pods until enough of them have succeeded, or too many have failed.

In: Jobs and the events of their pods. Out: pods, at most `parallelism` at a time; after a failure a back-off of 10 s
that doubles; and in the end the condition Complete or Failed, and the Job removed when its time to live is over. A
pod that was deleted by somebody else (preempted, evicted) has failed. Matches `pkg/controller/job` of Kubernetes
1.36.
"""

from __future__ import annotations

import datetime as dt
from itertools import islice
from typing import Any

import msgspec

from fairway.model import Job, Pod, PodGroup
from fairway.model.controllers import JobCondition
from fairway.model.owned import index_labels, job_labels
from fairway.sim.controllers.deletion_order import by_progress
from fairway.sim.controllers.job_pod_group import ensure_pod_group, in_group, is_gang, remove_pod_group
from fairway.sim.controllers.job_progress import Ending, Failures, JobProgress, index_of, intervals, parse_intervals
from fairway.sim.controllers.pod_failure_policy import judge
from fairway.sim.controllers.reconciler import Reconciler
from fairway.sim.controllers.success_policy import first_rule

__all__ = ["JobController"]


class JobController(Reconciler[JobProgress]):
    """Runs pods to completion."""

    kinds = frozenset(("Job",))

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._finished: dict[tuple[str, str], None] = {}  # namespace and name of jobs that nobody else removes

    def _make_state(self, uid: str) -> JobProgress:
        return JobProgress(uid)

    # -- events ------------------------------------------------------------------------------------------------------

    def _owner_changed(self, owned: JobProgress, before: Any) -> None:
        job: Job = owned.thing
        if before is None and not job.spec.is_ours:
            words = f"managed by {job.spec.managed_by}, which is not simulated: nobody makes its pods"
            self._report("Job", f"{job.metadata.namespace}/{job.metadata.name}", "ManagedBy", words)
        if before is None:
            owned.succeeded, owned.failed = job.status.succeeded, job.status.failed
            owned.succeeded_indexes = set(parse_intervals(job.status.completed_indexes))
            owned.failed_indexes = set(parse_intervals(job.status.failed_indexes or ""))
            if job.finish is not None:
                owned.finished_at = self._timeline.now()
            for pod in owned.book.active.values():
                owned.occupy(pod)
        elif job.spec.is_indexed and job.spec.completions != before.spec.completions:
            completions = job.spec.completions or 0
            owned.succeeded_indexes = {one for one in owned.succeeded_indexes if one < completions}
            owned.succeeded = len(owned.succeeded_indexes)
            for pod in list(owned.book.active.values()):
                if (index_of(pod) or 0) >= completions:
                    self._dismiss(owned, pod)

    def _pod_changed(self, owned: JobProgress, pod: Pod, before: Pod | None) -> None:
        if before is None and not pod.is_terminating:
            owned.occupy(pod)
        if pod.is_terminating and not (before is not None and before.is_terminating):
            if pod.metadata.uid not in owned.dismissed and not _waits_for_end(owned):
                owned.counted.add(pod.metadata.uid)
                self._count_failure(owned, pod)
            self.wake(owned)

    def _pod_ended(self, owned: JobProgress, pod: Pod, *, is_gone: bool) -> None:
        uid = pod.metadata.uid
        is_settled = uid in owned.counted or uid in owned.dismissed
        owned.counted.discard(uid)
        owned.dismissed.discard(uid)
        if pod.status.phase == "Succeeded":
            self._count_success(owned, pod)
        elif not is_settled and owned.finished_at is None:
            self._count_failure(owned, pod)
        owned.release(pod)
        self.wake(owned)

    def _count_success(self, owned: JobProgress, pod: Pod) -> None:
        index = index_of(pod)
        if owned.thing.spec.is_indexed:
            if index is not None and index < owned.thing.spec.completions:
                owned.succeeded_indexes.add(index)
                owned.index_failures.pop(index, None)
            owned.succeeded = len(owned.succeeded_indexes)
        else:
            owned.succeeded += 1
        owned.failures = Failures()

    def _count_failure(self, owned: JobProgress, pod: Pod) -> None:
        spec = owned.thing.spec
        verdict = judge(spec.pod_failure_policy, pod)
        is_counted = verdict.action != "Ignore"
        now = self._timeline.now()
        owned.failed += is_counted
        owned.failures.add(now, is_counted=is_counted)
        if verdict.action == "FailJob" and owned.ending is None:
            owned.ending = Ending("PodFailurePolicy", verdict.message)
        index = index_of(pod)
        if spec.backoff_limit_per_index is not None and index is not None:
            failures = owned.index_failures.setdefault(index, Failures())
            failures.add(now, is_counted=is_counted)
            if verdict.action == "FailIndex" or failures.counted > spec.backoff_limit_per_index:
                owned.failed_indexes.add(index)
        if not _waits_for_end(owned):
            owned.release(pod)

    # -- what to do --------------------------------------------------------------------------------------------------

    def reconcile(self, owned: JobProgress) -> None:
        """Start or end pods, or end the job."""
        if not owned.thing.spec.is_ours:
            return
        if owned.finished_at is not None:
            self._expire(owned)
            return
        spec = owned.thing.spec
        if owned.ending is None:
            owned.ending = self._failure(owned) or self._success(owned)
        if owned.ending is not None:
            owned.failed += 0 if owned.ending.is_success else len(owned.book.active)
            self._dismiss_all(owned, len(owned.book.active))
            if not owned.book:
                self._finish(owned, owned.ending)
        elif spec.suspend:
            owned.started = None
            self._dismiss_all(owned, len(owned.book.active))
        else:
            if owned.started is None:
                owned.started = self._timeline.now()
            if spec.active_deadline_seconds is not None:
                self.alarm(owned, owned.started + spec.active_deadline_seconds)
            self._run(owned)
            enough = 1 if spec.completions is None else spec.completions
            if owned.succeeded >= enough and not owned.book:
                message = "Reached expected number of succeeded pods"
                self._finish(owned, Ending("CompletionsReached", message, is_success=True))

    def _success(self, owned: JobProgress) -> Ending | None:
        """Has enough succeeded, though not everything has? Pods that still run are of no use then."""
        spec = owned.thing.spec
        if spec.success_policy is None:
            return None
        rule = first_rule(spec.success_policy, owned.succeeded_indexes, spec.completions)
        return None if rule is None else Ending("SuccessPolicy", f"Matched rules at index {rule}", is_success=True)

    def _failure(self, owned: JobProgress) -> Ending | None:
        """Why the job has to fail, if it has to."""
        spec = owned.thing.spec
        if owned.failed > spec.backoff_limit:
            return Ending("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        deadline = spec.active_deadline_seconds
        begun = None if spec.suspend else owned.started
        if deadline is not None and begun is not None and self._timeline.now() >= begun + deadline:
            return Ending("DeadlineExceeded", "Job was active longer than specified deadline")
        if owned.failed_indexes:
            if spec.max_failed_indexes is not None and len(owned.failed_indexes) > spec.max_failed_indexes:
                message = "Job has exceeded the specified maximal number of failed indexes"
                return Ending("MaxFailedIndexesExceeded", message)
            if len(owned.failed_indexes) + len(owned.succeeded_indexes) >= spec.completions:
                return Ending("FailedIndexes", "Job has failed indexes")
        return None

    def _run(self, owned: JobProgress) -> None:
        """Have as many active pods as there should be."""
        spec, active = owned.thing.spec, len(owned.book.active)
        if spec.completions is None:
            wanted = active if owned.succeeded else spec.parallelism
        else:
            wanted = max(0, min(spec.parallelism, spec.completions - owned.succeeded))
        if active > wanted:
            self._dismiss_all(owned, active - wanted)
            return
        missing = wanted - active - (len(owned.book.going) if _waits_for_end(owned) else 0)
        if missing <= 0:
            return
        if spec.backoff_limit_per_index is None:
            time = owned.failures.until(self._settings)
            if time > self._timeline.now():
                self.alarm(owned, time)
                return
        self._create(owned, missing)

    def _create(self, owned: JobProgress, number: int) -> None:
        job: Job = owned.thing
        stencil = self._stencil(owned, job.spec.template)
        if stencil is None:
            return
        labels, name = job_labels(job), job.metadata.name
        group = self._group_of(owned)
        if not job.spec.is_indexed:
            for _ in range(number):
                self._api.create(stencil.pod(self._free_name(owned, f"{name}-"), labels))
            return
        now = self._timeline.now()
        waiting = []
        for index in list(islice(owned.pending_indexes(job.spec.completions or 0), number)):
            failures = owned.index_failures.get(index)
            time = failures.until(self._settings) if failures is not None else 0.0
            if time > now:
                waiting.append(time)
                continue
            own = index_labels(index)
            pod = stencil.pod(self._free_name(owned, f"{name}-{index}-"), labels | own, own)
            spec = msgspec.structs.replace(pod.spec, hostname=f"{name}-{index}")
            pod = msgspec.structs.replace(pod, spec=spec)
            self._api.create(pod if group is None else in_group(pod, group))
        if waiting:
            self.alarm(owned, min(waiting))

    def _group_of(self, owned: JobProgress) -> PodGroup | None:
        """What its pods belong to, where Jobs make such groups."""
        if not self._settings.pod_groups or not is_gang(owned.thing):
            return None
        is_new = not (owned.serial or owned.book or owned.succeeded or owned.failed)
        return ensure_pod_group(self._api, owned.thing, is_new)

    def _owner_gone(self, owned: JobProgress) -> None:
        if self._settings.pod_groups:
            remove_pod_group(self._api, owned.thing)

    def _dismiss_all(self, owned: JobProgress, number: int) -> None:
        for pod in by_progress(owned.book.active.values())[:number]:
            self._dismiss(owned, pod)

    def _dismiss(self, owned: JobProgress, pod: Pod) -> None:
        """End a pod that did nothing wrong: it does not count as failed."""
        owned.dismissed.add(pod.metadata.uid)
        if not _waits_for_end(owned):
            owned.release(pod)
        self._api.delete(pod)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _finish(self, owned: JobProgress, ending: Ending) -> None:
        job: Job = owned.thing
        reason, message = ending.reason, ending.message
        kinds = ("SuccessCriteriaMet", "Complete") if ending.is_success else ("FailureTarget", "Failed")
        now = self._api.calendar()
        started = now if owned.started is None else now - dt.timedelta(seconds=self._timeline.now() - owned.started)
        conditions = (
            JobCondition(type=kind, status="True", reason=reason, message=message, last_transition_time=now)
            for kind in kinds
        )
        status = msgspec.structs.replace(
            job.status,
            conditions=(*job.status.conditions, *conditions),
            start_time=started,
            completion_time=now if ending.is_success else None,
            active=0,
            succeeded=owned.succeeded,
            failed=owned.failed,
            completed_indexes=intervals(owned.succeeded_indexes),
            failed_indexes=None if job.spec.backoff_limit_per_index is None else intervals(owned.failed_indexes),
        )
        owned.finished_at = self._timeline.now()
        owned.stencil = None
        self._report("Job", f"{job.metadata.namespace}/{job.metadata.name}", reason, message)
        self._api.update(msgspec.structs.replace(job, status=status))
        self._expire(owned)

    def _expire(self, owned: JobProgress) -> None:
        """Remove the job when its time has come; of those without a time, keep the latest."""
        job: Job = owned.thing
        if job.spec.ttl_seconds_after_finished is not None and owned.finished_at is not None:
            time = owned.finished_at + job.spec.ttl_seconds_after_finished
            if time > self._timeline.now():
                self.alarm(owned, time, is_idle=True)
            else:
                self._api.remove(job)
        elif job.metadata.controller is None:
            self._finished[job.metadata.namespace, job.metadata.name] = None
            while len(self._finished) > self._settings.finished_jobs:
                key = next(iter(self._finished))
                del self._finished[key]
                oldest = self._api.find("Job", *key)
                if oldest is not None and oldest.finish is not None:
                    self._api.remove(oldest)


def _waits_for_end(owned: JobProgress) -> bool:
    """Is a pod on its way out replaced only when it is gone?"""
    return bool(owned.thing.spec.pod_replacement_policy == "Failed")

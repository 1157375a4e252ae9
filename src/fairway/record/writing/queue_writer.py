"""What queues make of jobs, as rows: where each stands, the dates it is given, plans, and the lines of the books.

In: the calls of `Recorder` that tell of queues. Out: rows of `job_states`, `estimates`, `plans`, `closings` and
`charges`, and what `jobs` has of queues. A job that is one pod has a row there only because a queue has it. `RunWriter`
is one of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from fairway.batch.accounts import ChargeLine
from fairway.batch.accounts.charges import total_charge
from fairway.batch.batch_world import PassReport
from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobState, Reason
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.plan import StartEstimate
from fairway.record.options import RecordOptions
from fairway.record.vocabulary import PlanKind, PodEnd
from fairway.record.writing.buffer import RowChange
from fairway.record.writing.decision_writer import DecisionWriter
from fairway.record.writing.live_jobs import LiveJob, QueuedPart
from fairway.record.writing.live_pods import LivePod

__all__ = ["QueueWriter"]

JSON: Final = msgspec.json.Encoder()
NUM_REMEMBERED: Final = 65_536
"""Jobs that are over and may still be charged."""


class QueueWriter(DecisionWriter):
    """Writes what a desk says of its jobs."""

    def __init__(
        self, path: Path, options: RecordOptions, prefixes: tuple[str, ...], change: RowChange | None = None
    ) -> None:
        super().__init__(path, options, prefixes, change)
        self._queued: dict[str, LiveJob] = {}  # by uid of the job, in the order of their coming
        self._num_over = 0  # of these

    @property
    def keeps_estimates(self) -> bool:
        """Are dates to be worked out for it?"""
        return self.options.keeps_estimates

    def job_stands(self, t: float, job: BatchJob, account: str, limit: float) -> None:
        """A job of a queue is somewhere else in its life, or something else that is written of it is."""
        live = self._queued.get(job.uid)
        if live is None:
            live = self._joined(t, job)
            if live is None:
                return
        state, reason, detail, words = job.standing
        if reason is None and state is JobState.QUEUED:
            reason = Reason.PLANNING
        before = live.queued
        is_over = state is JobState.FINISHED
        part = QueuedPart(
            job.queue,
            account,
            limit if limit < math.inf else None,
            state._value_,
            None if reason is None else reason._value_,
            job.priority,
            job.ledger.num_requeues,
            job.consumed(t),
            total_charge(job.ledger.intervals, t),
            is_over,
        )
        if before is None or _place(before) != _place(part):
            text = JSON.encode(detail).decode() if detail else None
            row = (live.number, t, part.state, part.reason, text, words or None, part.limit, part.queue)
            self._append("job_states", row)
        self._jobs.queue(t, live, part, job.group)
        if is_over and (before is None or not before.is_over):
            self._forget_some()

    def _joined(self, t: float, job: BatchJob) -> LiveJob | None:
        """A job is told of for the first time."""
        live = self._jobs.find(job.group) if job.group is not None else self._lone(t, job)
        if live is not None:
            self._queued[job.uid] = live
        return live

    def _lone(self, t: float, job: BatchJob) -> LiveJob | None:
        for uid, pod in job.members.items():
            known = self._pods.by_uid.get(uid)
            if known is not None:
                known.lone = live = self._jobs.add_lone(known.created, job.key, known.namespace, known.user)
                live.pod, live.priority = known.number, known.priority
                live.complete = None if pod.spec.scheduling_gates else t
                return live
        return None

    def _forget_some(self) -> None:
        self._num_over += 1
        if self._num_over > 2 * NUM_REMEMBERED:
            over = (uid for uid, live in self._queued.items() if not live.is_kept)
            for uid in list(islice(over, NUM_REMEMBERED)):
                del self._queued[uid]
            self._num_over -= NUM_REMEMBERED

    def _lone_bound(self, t: float, job: LiveJob) -> None:
        if job.started is None:
            job.started = t
            job.complete = t if job.complete is None else job.complete

    def _lone_ended(self, live: LivePod, reason: PodEnd) -> None:
        job = live.lone
        assert job is not None
        job.num_attempts = max(job.num_attempts, live.attempts)
        if reason is not PodEnd.SUCCEEDED and job.end is None:
            job.end = reason._value_

    # -- dates, plans and books --------------------------------------------------------------------------------------

    def job_dated(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        """A waiting job is told when it will start, and where if nothing changes; `factors` are its priority's."""
        live = self._queued.get(job.uid)
        if live is None or not self.options.keeps_estimates:
            return
        basis = estimate.basis
        row = (
            live.number,
            estimate.as_of,
            _date(estimate.likely),
            _date(estimate.safe),
            _date(estimate.by_limits),
            estimate.is_promised,
            job.num_vain > 0,
            basis.way._value_,
            basis.num_starts,
            basis.safe_held,
            estimate.ahead_jobs,
            estimate.ahead_cpu,
            estimate.ahead_gpu,
            JSON.encode(list(nodes)).decode() if nodes else None,
            job.priority,
            JSON.encode(factors).decode() if factors is not None else None,
        )
        self._append("estimates", row)

    def planned(self, t: float, scheduler: str, kind: PlanKind, report: PassReport) -> None:
        """Queues were planned; that nobody waited is not written down."""
        if report.num_jobs and self.options.decisions != "none":
            self._append("plans", (t, scheduler, kind._value_, *report))

    def closing_stands(self, t: float, scheduler: str, status: ClosingStatus) -> None:
        """A maintenance window or a reservation is in another phase, or something else that is written of it is."""
        row = (
            t,
            scheduler,
            status.kind,
            status.name,
            status.phase,
            status.start,
            status.end,
            JSON.encode(status.nodes).decode(),
            JSON.encode(status.jobs).decode(),
            status.words or None,
        )
        self._append("closings", row)

    def charged(self, line: ChargeLine) -> None:
        """A line of the books, of a job that is or was in a queue; each is told once."""
        live = self._queued.get(line.job.uid)
        if live is None:
            return
        row = (
            live.number,
            line.number,
            line.job.key,
            line.job.account,
            line.job.user,
            line.job.queue,
            line.start,
            line.end,
            line.rate,
            line.charge,
            line.kind._value_,
            line.reason or None,
            line.is_uncertain,
            self._file.resources.vector(dict(line.job.amounts)),
        )
        self._append("charges", row)


def _place(part: QueuedPart) -> tuple[str, str | None, float | None, str]:
    """What makes a row of `job_states` when it becomes another."""
    return part.state, part.reason, part.limit, part.queue


def _date(time: float) -> float | None:
    return time if time < math.inf else None

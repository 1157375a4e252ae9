"""What schedulers do, as rows: attempts with their refusals, victims and scores, and what they keep for pods.

In: the calls of `Recorder` that tell of attempts, of moves in the queue and of room that is kept. Out: rows of
`decisions` and the tables around it, of `job_decisions`, `holds`, `queue_moves` and `plugin_times`. `RunWriter` is one
of these, and tells it of nodes, pods and jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from fairway.cycle import Decision, Diagnosis, Outcome, Spent
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.queue import Place
from fairway.record.options import RecordOptions
from fairway.record.recorder import Scored
from fairway.record.vocabulary import HoldEnd, HoldWhy
from fairway.record.writing.buffer import RowChange
from fairway.record.writing.decision_rows import data_rows, score_rows
from fairway.record.writing.job_rows import attempt_parts, blocking_member
from fairway.record.writing.live_jobs import LiveJobs
from fairway.record.writing.live_pods import LivePod, LivePods, OpenHold
from fairway.record.writing.node_states import NodeStates
from fairway.record.writing.refusals import failure_message, refusal_counts
from fairway.record.writing.row_writer import RowWriter

__all__ = ["DecisionWriter"]

SCHEDULED = Outcome.SCHEDULED  # looking up a member of an enum is slow, and this is in the hot path


class DecisionWriter(RowWriter):
    """Writes what schedulers decide about the pods and jobs that it knows."""

    def __init__(
        self, path: Path, options: RecordOptions, prefixes: tuple[str, ...], change: RowChange | None = None
    ) -> None:
        """`prefixes` are those of pfnet's annotations."""
        super().__init__(path, options.chunk_rows, change)
        self.options = options
        self._pods = LivePods()
        self._nodes = NodeStates(self._file.resources)
        self._jobs = LiveJobs(prefixes)
        self._num_decisions = self._num_job_decisions = 0
        self._job_decision: int | None = None  # the attempt for a whole job whose members are being told
        self._keeps_placed = options.decisions in ("all", "placed")
        self._keeps_failed = options.decisions in ("all", "failed")
        self._keeps_moves = options.queue
        self._decisions = self._buffers["decisions"].rows
        self._refusals = self._buffers["filter_counts"].rows
        self._last_diagnosis: Diagnosis | None = None
        self._last_refusals: list[tuple[int, str, str, str, int]] = []  # its rows, but for the number
        self._scores = self._buffers["scores"].rows
        self._moves = self._buffers["queue_moves"].rows

    # -- attempts ----------------------------------------------------------------------------------------------------

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        """An attempt was made: its row, and the refusals, victims and best scores that belong to it."""
        number = self._num_decisions
        self._num_decisions = number + 1
        uid = decision.pod.metadata.uid
        live = self._pods.find(uid)
        if live is None:
            pod_id, key = self._pods.number_of(uid), decision.pod.key
        else:
            live.attempts += 1
            pod_id, key = live.number, live.key
            if live.job is not None:
                self._decided_member(t, live, attempt, decision)
        if decision.outcome is SCHEDULED:
            if not self._keeps_placed:
                return
            node: str | None = decision.node
            via: str | None = decision.via
            num_nodes = nominated = message = None
            num_victims = 0
        else:
            if not self._keeps_failed:
                return
            node = via = None
            num_nodes = self._refused(number, decision)
            nominated, num_victims = self._preempted(number, decision)
            message = failure_message(decision)
        rows = self._decisions
        rows.append(
            (
                number,
                t,
                scheduler,
                pod_id,
                key,
                attempt,
                decision.outcome._value_,
                node,
                via,
                num_nodes,
                decision.num_feasible,
                decision.score,
                decision.num_best,
                cycle_seconds,
                nominated,
                num_victims,
                message,
                None if live is None or live.job is None else live.job.number,
                self._job_decision,
            )
        )
        if best:
            self._scores.extend(score_rows(number, best[: self.options.scores]))
        if decision.data:
            self._buffers["data"].rows.extend(data_rows(number, decision.data))
        # After the whole decision: a reader never finds one without its refusals.
        if len(rows) >= self._chunk or len(self._refusals) >= self._chunk or len(self._scores) >= self._chunk:
            self.flush()

    def group_decided(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        """An attempt was made for a job, and for those that start with it, which share in the time that it took."""
        seconds = cycle_seconds / (1 + len(decision.companions))
        for one in (decision, *decision.companions):
            self._group_decided(t, scheduler, one, seconds)

    def _group_decided(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        """Its row, and the members' or that of the one that kept it waiting."""
        number = self._num_job_decisions
        self._num_job_decisions = number + 1
        is_placed = decision.outcome is GroupOutcome.SCHEDULED
        job, blocking = self._jobs.find(decision.job), blocking_member(decision)
        if job is not None:
            job.num_attempts += 1
        before, after = attempt_parts(decision, job)
        if self._keeps_placed if is_placed else self._keeps_failed:
            job_id = None if job is None else job.number
            blocking_id = None if blocking is None else self._pods.number_of(blocking.pod.metadata.uid)
            words = (cycle_seconds, decision.message or None)
            self._append("job_decisions", (number, t, scheduler, job_id, *before, blocking_id, *after, *words))
        self._job_decision = number
        seconds = cycle_seconds / max(len(decision.members), 1)
        for member in decision.members:
            if is_placed:
                self.decided(t, scheduler, member.attempt, member, seconds)
            elif member is not blocking:
                self._pass_over(t, member)
        if blocking is not None:  # the last: what plugins used in the attempt is noted with it
            self.decided(t, scheduler, blocking.attempt, blocking, seconds)
            self._evicted_for(self._num_decisions - 1, decision, blocking)
        self._job_decision = None

    def _pass_over(self, t: float, member: Decision) -> None:
        """A member of a job that has to wait because of another: it was tried, and has no row."""
        self._num_decisions += 1
        live = self._pods.find(member.pod.metadata.uid)
        if live is not None:
            live.attempts += 1
            if live.job is not None:
                self._decided_member(t, live, member.attempt, member)

    def _evicted_for(self, number: int, decision: GroupDecision, blocking: Decision) -> None:
        """Victims for the whole job, or for members without a row, are noted with the member that has one."""
        if not self._keeps_failed:
            return
        own = blocking.preemption.chosen if blocking.preemption is not None else None
        told = {victim.metadata.uid for victim in own.victims} if own is not None else set()
        others = [victim.pod for victim in decision.victims if victim.pod.metadata.uid not in told]
        rows = self._buffers["preemptions"].rows
        for place, victim in enumerate(others, len(told)):
            rows.append((number, place, victim.spec.node_name, self._pods.number_of(victim.metadata.uid), victim.key))

    def _refused(self, number: int, decision: Decision) -> int | None:
        diagnosis = decision.diagnosis
        if diagnosis is None:
            return None if decision.gate or decision.error else 0
        if diagnosis is not self._last_diagnosis:  # pods of a class that fail one after the other share theirs
            self._last_diagnosis = diagnosis
            self._last_refusals = [
                (place, plugin, refusal.code.value, ", ".join(refusal.reasons), count)
                for place, (plugin, refusal, count) in enumerate(refusal_counts(diagnosis))
            ]
        for row in self._last_refusals:
            self._refusals.append((number, *row))
        return diagnosis.num_nodes

    def _preempted(self, number: int, decision: Decision) -> tuple[str | None, int]:
        preemption = decision.preemption
        if preemption is None or preemption.chosen is None:
            return None, 0
        victims, rows = preemption.chosen.victims, self._buffers["preemptions"].rows
        for place, victim in enumerate(victims):
            victim_id = self._pods.number_of(victim.metadata.uid)
            rows.append((number, place, preemption.nominated_node, victim_id, victim.key))
        return preemption.nominated_node, len(victims)

    # -- room that is kept -------------------------------------------------------------------------------------------

    def _decided_member(self, t: float, live: LivePod, attempt: int, decision: Decision) -> None:
        """A member of a job holds its node until it is bound, and one that waits may be promised a node."""
        if self._job_decision is None and live.job is not None:
            live.job.num_attempts = max(live.job.num_attempts, attempt)
        if decision.outcome is SCHEDULED:
            if live.bound is None and (live.hold is None or live.hold.why is HoldWhy.EARMARK):
                self.held(t, live.uid, decision.node, HoldWhy.BINDING)
        elif decision.nomination:
            self.held(t, live.uid, decision.nomination, HoldWhy.EARMARK)
        elif decision.nomination == "" and live.hold is not None and live.hold.why is HoldWhy.EARMARK:
            self._end_hold(t, live, HoldEnd.REJECTED)

    def held(self, t: float, uid: str, node: str, why: HoldWhy) -> None:
        """Room on a node is kept for a pod that is not bound."""
        live, node_id = self._pods.by_uid.get(uid), self._nodes.find(node)
        if live is None or node_id is None:
            return
        if live.hold is not None:
            if live.hold.node_id == node_id and live.hold.why is why:
                return
            self._end_hold(t, live, HoldEnd.BOUND if live.hold.node_id == node_id else HoldEnd.REJECTED)
        live.hold = OpenHold(node_id, t, why)

    def released(self, t: float, uid: str, ended: HoldEnd) -> None:
        """It is kept no longer; what a job is promised stays until its next attempt."""
        live = self._pods.by_uid.get(uid)
        if live is not None and live.hold is not None and live.hold.why is not HoldWhy.EARMARK:
            self._end_hold(t, live, ended)

    def _end_hold(self, t: float, live: LivePod, ended: HoldEnd) -> None:
        assert live.hold is not None
        if t > live.hold.since:  # a binding at once held nothing
            self._append("holds", live.kept_room(t, ended))
        live.hold = None

    # -- the queue, and what it all cost -----------------------------------------------------------------------------

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None:
        """A waiting pod moved within, into (no origin) or out of (no place) the queue."""
        if not self._keeps_moves:
            return
        live = self._pods.by_uid.get(uid)  # nearly always: a short cut
        number = self._pods.number_of(uid) if live is None else live.number
        before = None if origin is None else origin._value_  # `value` takes five times as long
        after = None if place is None else place._value_
        rows = self._moves
        rows.append((t, scheduler, number, before, after, event))
        if len(rows) >= self._chunk:
            self.flush()

    def plugin_times(self, t: float, scheduler: str, times: Iterable[Spent], *, is_of_attempt: bool = True) -> None:
        """What plugins used in the attempt that was told last, or else between attempts, of all of the run."""
        number = self._num_decisions - 1 if is_of_attempt else None
        for spent in times:
            self._append("plugin_times", (number, t, scheduler, *spent))

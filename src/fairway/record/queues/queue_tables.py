"""The tables of a run that tell of queues: where jobs stood, when they were to start, passes, and the books.

In: nothing. Out: five of the `TableSchema` that `schema` lists, and the columns that jobs of queues fill in `jobs`.
Filled by `writing.queue_writer`; read by `queue_metrics`, and by whoever asks when a job starts or what it cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairway.batch.accounts import LineKind, RefundCause
from fairway.batch.reasons import JobOutcome, JobState, Reason, Refused
from fairway.batch.reservations import ReservationPhase
from fairway.batch.windows import Phase
from fairway.plan import Way
from fairway.record.table_schema import Field, TableSchema
from fairway.record.vocabulary import PlanKind

__all__ = ["CHARGES", "CLOSINGS", "ESTIMATES", "JOB_STATES", "LONE", "PLANS", "QUEUE_COLUMNS"]

LONE: Final = "pod"
"""How a job is spelt that is one pod, and a job only because it is in a queue."""

OLDER: Final = "Runs that older versions wrote lack the table."
LATER: Final = "null: later than the plan looks ahead"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


REASONS: Final = (
    f"why it waits ({_listed(Reason)}), why it is refused ({_listed(Refused)}) or how it ended ({_listed(JobOutcome)})"
)

QUEUE_COLUMNS: Final = (
    Field("pod_id", "INTEGER", "of a job that is one pod: which", is_nullable=True),
    Field("queue", "VARCHAR", "the queue it is in; null: in none, and so in all that follows", is_nullable=True),
    Field("account", "VARCHAR", "who pays for it; empty: nobody", is_nullable=True),
    Field("limit_seconds", "DOUBLE", "how long it may run; null: for ever", is_nullable=True),
    Field("state", "VARCHAR", f"where it was in its life at the end: {_listed(JobState)}", is_nullable=True),
    Field("reason", "VARCHAR", f"and {REASONS}", is_nullable=True),
    Field("queue_priority", "BIGINT", "its place in the order of its queue, as it was worked out last; higher is first",
          is_nullable=True),
    Field("requeues", "INTEGER", "how often it went back to its queue after it had started", is_nullable=True),
    Field("run_seconds", "DOUBLE", "how long as many members ran as it takes, in all its runs", is_nullable=True),
    Field("charge_milli", "BIGINT", "what it cost, in thousandths of a unit, refunds taken off", is_nullable=True),
)  # fmt: skip
"""The last columns of `jobs`. Runs that older versions wrote lack them."""

JOB_STATES = TableSchema(
    "job_states",
    "Where each job of a queue was in its life: one row whenever its state, reason, limit or queue became "
    f"another. How many are before it is in `estimates`. {OLDER}",
    "rowid",
    (
        Field("job_id", "INTEGER", "job"),
        Field("time_seconds", "DOUBLE", "from when on"),
        Field("state", "VARCHAR", _listed(JobState)),
        Field("reason", "VARCHAR", f"{REASONS}; null: nothing has to be said", is_nullable=True),
        Field("detail", "VARCHAR", "the numbers, names and times behind the reason, as JSON; null: none", True),
        Field("message", "VARCHAR", "the same as words; null: none", is_nullable=True),
        Field("limit_seconds", "DOUBLE", "how long it might run, as it was then; null: for ever", is_nullable=True),
        Field("queue", "VARCHAR", "the queue it was in then", is_nullable=True),
    ),
)
ESTIMATES = TableSchema(
    "estimates",
    "Every date that a waiting job was given: its first, and each that moved by more than a minute and a tenth of the "
    f"lead. `record: {{estimates: false}}` leaves them out. {OLDER}",
    "rowid",
    (
        Field("job_id", "INTEGER", "job"),
        Field("as_of_seconds", "DOUBLE", "when it was told"),
        Field("likely_seconds", "DOUBLE", f"when it will start, likely; {LATER}", is_nullable=True),
        Field("safe_seconds", "DOUBLE", f"by when it will have started, nearly always; {LATER}", is_nullable=True),
        Field("by_limits_seconds", "DOUBLE", f"when it starts if nobody ends before the limit; {LATER}", True),
        Field("is_promised", "BOOLEAN", "that is a bound that later arrivals can not move"),
        Field("is_rough", "BOOLEAN", "plugins that the plan does not see have refused it before"),
        Field("way", "VARCHAR", f"how the likely date was found: {_listed(Way)}"),
        Field("num_starts", "INTEGER", "starts of its queue that the safe date rests on"),
        Field("safe_held", "DOUBLE", "the share of these that had started by their safe dates", is_nullable=True),
        Field("ahead", "INTEGER", "jobs before it in its queue"),
        Field("ahead_cpu_milli", "BIGINT", "what they ask for"),
        Field("ahead_gpu", "BIGINT", "what they ask for"),
        Field("nodes", "VARCHAR", "where it would be, if nothing changes: names, as JSON", is_nullable=True),
        Field("queue_priority", "BIGINT", "its place in the order then; higher is first"),
        Field("factors", "VARCHAR", "what that is made of, each 0 to 1 and before it is weighed, as JSON; null: its "
              "queue goes by submission alone", is_nullable=True),
    ),
)  # fmt: skip
PLANS = TableSchema(
    "plans",
    f"One row for each time that a scheduler planned its queues while jobs waited; kept with decisions. {OLDER}",
    "rowid",
    (
        Field("time_seconds", "DOUBLE", "when"),
        Field("scheduler", "VARCHAR", "whose queues"),
        Field("kind", "VARCHAR", "what for", words=(PlanKind,)),
        Field("num_jobs", "INTEGER", "how many were waiting"),
        Field("num_released", "INTEGER", "how many were let go"),
        Field("num_promised", "INTEGER", "how many have a promise afterwards; of a forecast: were told a date"),
        Field("cpu_seconds", "DOUBLE", "processor time that it took; different in every run"),
    ),
)
CLOSINGS = TableSchema(
    "closings",
    "Maintenance windows and reservations: one row whenever the phase, the nodes or the jobs in the way of one became "
    f"others. {OLDER}",
    "rowid",
    (
        Field("time_seconds", "DOUBLE", "from when on"),
        Field("scheduler", "VARCHAR", "whose queues know it"),
        Field("kind", "VARCHAR", "`maintenance` or `reservation`"),
        Field("name", "VARCHAR", "which"),
        Field("phase", "VARCHAR", f"{_listed(Phase)}; of reservations {_listed(ReservationPhase)}"),
        Field("start_seconds", "DOUBLE", "when it begins or began, or comes next; null: it is over", is_nullable=True),
        Field("end_seconds", "DOUBLE", "when it is over", is_nullable=True),
        Field("nodes", "VARCHAR", "its nodes, as JSON; they are fixed when a window begins, or a reservation has them"),
        Field("jobs", "VARCHAR", "jobs that were told that it is in their way, as JSON"),
        Field("message", "VARCHAR", "what is in the way of a reservation that has no nodes", is_nullable=True),
    ),
)  # fmt: skip
CHARGES = TableSchema(
    "charges",
    "The books: one row for each stretch that a job ran, or was given back. The sum of a job's rows is what it cost. "
    f"{OLDER}",
    "job_id, number",
    (
        Field("job_id", "INTEGER", "job"),
        Field("number", "INTEGER", "of the line among the job's, from 0"),
        Field("job", "VARCHAR", "`namespace/name`"),
        Field("account", "VARCHAR", "who pays"),
        Field("user_name", "VARCHAR", "whose job it was"),
        Field("queue", "VARCHAR", "in which queue"),
        Field("from_seconds", "DOUBLE", "from when on"),
        Field("to_seconds", "DOUBLE", "until when"),
        Field("rate", "DOUBLE", "units a second"),
        Field("charge_milli", "BIGINT", "thousandths of a unit; negative: given back"),
        Field("kind", "VARCHAR", _listed(LineKind)),
        Field("reason", "VARCHAR", f"why it was given back: {_listed(RefundCause)}", is_nullable=True),
        Field("is_uncertain", "BOOLEAN", "its end is not known for sure, and taken in the user's favour"),
    ),
    amounts="what was charged for: requests, or the nodes' if it had them to itself",
)

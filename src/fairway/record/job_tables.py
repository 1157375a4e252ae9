"""The tables of a run that tell of jobs: pods that belong together, attempts for all of them, and what they held.

In: nothing. Out: three of the `TableSchema` that `schema` lists. Filled by `writing.decision_writer` and
`writing.live_jobs`; read by `job_metrics` and by whoever asks why a job waits.
"""

from __future__ import annotations

from typing import Final

from fairway.record.queues.queue_tables import QUEUE_COLUMNS
from fairway.record.table_schema import Field, TableSchema
from fairway.record.vocabulary import HoldEnd, HoldWhy, PodEnd

__all__ = ["HOLDS", "JOBS", "JOB_DECISIONS"]

OLDER: Final = "Runs that older versions wrote lack the table."

JOBS = TableSchema(
    "jobs",
    "One row a job: pods that say, in whichever spelling, that they belong together; or one that is in a queue. "
    "Written when its last member has ended or the run does; a job whose members are all gone and come again is "
    f"another one, unless its queue still has it. {OLDER}",
    "job_id",
    (
        Field("job_id", "INTEGER", "number of the job in this run, in order of its first member's creation, from 0"),
        Field("job", "VARCHAR", "`namespace/name`"),
        Field("namespace", "VARCHAR", "namespace"),
        Field("spelling", "VARCHAR", "how its members say so: `scheduling.k8s.io`, `scheduling.x-k8s.io`, "
              "`scheduling.volcano.sh`, `gang.scheduling.koordinator.sh`, `pfnet`, `fairway.dev` or `controller`; "
              "`pod`: it is one pod of a queue"),
        Field("user_name", "VARCHAR", "of its first member"),
        Field("priority", "INTEGER", "its own, or else its most important member's"),
        Field("min_count", "INTEGER", "how many have to start together, 0 if each may for itself; null: nobody says, "
              "or not in a way that can be meant", is_nullable=True),
        Field("size", "INTEGER", "how many are expected, if that is known", is_nullable=True),
        Field("created_seconds", "DOUBLE", "when its first member was created"),
        Field("complete_seconds", "DOUBLE", "when enough members were there that are not gated", is_nullable=True),
        Field("started_seconds", "DOUBLE", "when enough of them were bound", is_nullable=True),
        Field("ended_seconds", "DOUBLE", "when its last member ended; null: it was there at the end of the run",
              is_nullable=True),
        Field("ended", "VARCHAR", "how its members ended: well if all did, else as the first did that did not; null: "
              "it did not", True, (PodEnd,)),
        Field("num_attempts", "INTEGER", "how often it was tried as a whole; where members are tried one by one, how "
              "often the one was that was tried most"),
        *QUEUE_COLUMNS,
    ),
)  # fmt: skip
JOB_DECISIONS = TableSchema(
    "job_decisions",
    "One row for each attempt to place a job as a whole. One that placed it has all members' rows in `decisions`; one "
    f"that failed that of the member that kept it from starting. {OLDER}",
    "job_decision_id",
    (
        Field("job_decision_id", "BIGINT", "number of the attempt in this run, from 0; left-out attempts count"),
        Field("time_seconds", "DOUBLE", "when it was made"),
        Field("scheduler", "VARCHAR", "by whom"),
        Field("job_id", "INTEGER", "for which job; null if it was long gone", is_nullable=True),
        Field("attempt", "INTEGER", "which attempt for this job, from 1"),
        Field("outcome", "VARCHAR", "`scheduled`, `unschedulable`, `preempting` (room is being made) or `error`"),
        Field("num_members", "INTEGER", "how many members were tried"),
        Field("num_placed", "INTEGER", "how many got a node, or could have had one"),
        Field("blocking_pod_id", "INTEGER", "the member that kept it from starting", is_nullable=True),
        Field("missing", "INTEGER", "how many more it would have taken", is_nullable=True),
        Field("resource", "VARCHAR", "what that member lacks on most nodes, if it can be counted", is_nullable=True),
        Field("domain_key", "VARCHAR", "the label whose values were the domains", is_nullable=True),
        Field("domain", "VARCHAR", "the value that all members' nodes share", is_nullable=True),
        Field("num_domains", "INTEGER", "how many domains were tried; null: it had not to be one", is_nullable=True),
        Field("num_backtracks", "INTEGER", "how many moves of members the search took"),
        Field("is_exhausted", "BOOLEAN", "the search was ended before everything was tried"),
        Field("num_victims", "INTEGER", "how many pods it evicts"),
        Field("cycle_seconds", "DOUBLE", "time that the attempt took the scheduler; different in every run"),
        Field("message", "VARCHAR", "why it was not placed", is_nullable=True),
    ),
)  # fmt: skip
HOLDS = TableSchema(
    "holds",
    "Room on a node that was kept for a pod before it was bound: while permit plugins held it, while it was being "
    "bound (members of jobs, and pods that permit plugins let go), or while room was made for its job. What took no "
    f"time has no row. {OLDER}",
    "from_seconds, pod_id, rowid",
    (
        Field("pod_id", "INTEGER", "pod"),
        Field("job_id", "INTEGER", "its job; null: it belongs to none", is_nullable=True),
        Field("node_id", "INTEGER", "node"),
        Field("from_seconds", "DOUBLE", "from when on"),
        Field("to_seconds", "DOUBLE", "until when; null: until the end of the run", is_nullable=True),
        Field("why", "VARCHAR", "what for", words=(HoldWhy,)),
        Field("ended", "VARCHAR", "how it ended; null: it did not", True, (HoldEnd,)),
    ),
    amounts="kept",
)

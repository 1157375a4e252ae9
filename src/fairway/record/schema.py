"""The tables of a run, by name, column and meaning.

One definition serves all: `RunWriter` creates the tables from it and fills them in this order of columns, `Run` checks
the version, `schema_page` makes `docs/run-schema.md` of it. Amounts of resources are columns of their own, added as
resources appear: `cpu_milli`, `memory_bytes`, `nvidia_com_gpu`; the table `resources` says which is which.
Times are seconds of the run's clock.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal

from fairway.record.job_tables import HOLDS, JOB_DECISIONS, JOBS
from fairway.record.queues.queue_tables import CHARGES, CLOSINGS, ESTIMATES, JOB_STATES, PLANS
from fairway.record.table_schema import Field, TableSchema
from fairway.record.vocabulary import IntervalEnd, NodeChange, NodeEnd, ObjectVerb, PodEnd

__all__ = ["SCHEMA_VERSION", "TABLES", "Origin", "amount_column", "unit_of"]

SCHEMA_VERSION: Final = 2
"""Raised when a table or column changes its name or meaning; a reader refuses versions that are newer than its own.

1: no `schedulers`, `origin` and `anonymous` in `meta`; nodes that simulations changed or removed say `updated` and
`removed` in `nodes`. 2: schedulers are kept whole; one vocabulary for what happens to nodes and pods;
`start_seconds` and `leaving_seconds` in `pods`.
"""

Origin = Literal["simulated", "live"]
"""Who made what happened: a simulation, which can be run again, or a cluster."""

META = TableSchema(
    "meta",
    "What the run is: `schema_version`, `fairway_version`, `origin` (`simulated` or `live`), `anonymous` (are names "
    "replaced by pseudonyms?), `scenario` (completed; of a live cluster and of an anonymous run only a title), "
    "`schedulers` (each with its whole configuration, every default filled in, its latencies in seconds, package "
    "or file and digest of each plugin that is not built in, and as `batch` the queues that its jobs wait in), `seed`, "
    "`policies` (the name of the one that was "
    "simulated; of a live cluster its schedulers'), `options` (what was kept), `source` (of a run made from messages: "
    "`origin` on a real clock, `format`, `lines_read`, `lines_skipped`), `complete` (false: "
    "interrupted; `interruption` says by what), `end_seconds`, `num_rows` of each table, and `began` "
    "of a live run (the date at 0 seconds, in seconds since 1970; that of a simulation is 2030-01-01).",
    "key",
    (Field("key", "VARCHAR", "name"), Field("value", "VARCHAR", "JSON")),
)
RESOURCES = TableSchema(
    "resources",
    "Which column holds which resource.",
    "number",
    (
        Field("number", "INTEGER", "order of appearance, from 0"),
        Field("resource", "VARCHAR", "the name Kubernetes has for it: `cpu`, `nvidia.com/gpu`"),
        Field("amount_column", "VARCHAR", "its column in `nodes`, `pods`, `holds`, `occupancy` and `charges`"),
        Field("unit", "VARCHAR", "`milli` (thousandths), `bytes` or `count`"),
    ),
)
NODES = TableSchema(
    "nodes",
    "One row for each state a node was in; its last row ends when the node goes.",
    "node_id, rowid",
    (
        Field(
            "node_id", "INTEGER", "number of the node in this run; one that is deleted and made again gets a new one"
        ),
        Field("node", "VARCHAR", "name"),
        Field("uid", "VARCHAR", "uid"),
        Field("from_seconds", "DOUBLE", "from when on this state held"),
        Field("to_seconds", "DOUBLE", "until when; null: until the end of the run", is_nullable=True),
        Field("change", "VARCHAR", "what led to this state", words=(NodeChange,)),
        Field("gone", "VARCHAR", "why the node went at `to_seconds`; null: it did not", True, (NodeEnd,)),
        Field("is_ready", "BOOLEAN", "its condition Ready was True, or it had no such condition"),
        Field("is_unschedulable", "BOOLEAN", "it was cordoned"),
        Field("pods", "BIGINT", "how many pods it has room for"),
        Field("manifest", "VARCHAR", "the node, as JSON"),
    ),
    amounts="allocatable",
)
PODS = TableSchema(
    "pods",
    "One row a pod; written when the pod ends or the run does.",
    "pod_id",
    (
        Field("pod_id", "INTEGER", "number of the pod in this run, in order of creation, from 0"),
        Field("pod", "VARCHAR", "`namespace/name`"),
        Field("namespace", "VARCHAR", "namespace"),
        Field("uid", "VARCHAR", "uid"),
        Field("scheduler", "VARCHAR", "the scheduler it asked for"),
        Field("user_name", "VARCHAR", "annotation `fairway.dev/user`, or else the namespace"),
        Field("owner", "VARCHAR", "`Kind/name` of its controller", is_nullable=True),
        Field("priority", "INTEGER", "priority"),
        Field("template_id", "INTEGER", "its manifest, in `templates`"),
        Field("annotations", "VARCHAR", "its annotations under `fairway.dev/` and those of its group, as JSON",
              is_nullable=True),
        Field("attempts", "INTEGER", "how often a scheduler tried to place it"),
        Field("created_seconds", "DOUBLE", "when it was created"),
        Field("bound_seconds", "DOUBLE", "when it was bound to a node", is_nullable=True),
        Field("started_seconds", "DOUBLE", "when it began to run", is_nullable=True),
        Field("ended_seconds", "DOUBLE", "when it ended; null: it was there at the end of the run", is_nullable=True),
        Field("reason", "VARCHAR", "how it ended; null: it did not", True, (PodEnd,)),
        Field("node_id", "INTEGER", "the node it was bound to", is_nullable=True),
        Field("node", "VARCHAR", "and its name", is_nullable=True),
        Field("gpu_index", "VARCHAR", "the GPU devices it got there: `3`, or `0-1-2`", is_nullable=True),
        Field("start_seconds", "DOUBLE", "its `status.startTime`: when its kubelet took it, possibly before the run "
              "began; preemption compares it", is_nullable=True),
        Field("leaving_seconds", "DOUBLE", "when it was asked to go; from then on until it ended it was terminating",
              is_nullable=True),
        Field("job_id", "INTEGER", "the job it belongs to; runs that older versions wrote do not say",
              is_nullable=True),
    ),
    amounts="requests, the last ones in force",
)  # fmt: skip
TEMPLATES = TableSchema(
    "templates",
    "Manifests of pods without what is a pod's own (name, uid, node, times, annotations under `fairway.dev/` or "
    "of its group, status).",
    "template_id",
    (
        Field("template_id", "INTEGER", "number"),
        Field("manifest", "VARCHAR", "the pod, as JSON"),
    ),
)
DECISIONS = TableSchema(
    "decisions",
    "One row for each attempt to place a pod.",
    "decision_id",
    (
        Field("decision_id", "BIGINT", "number of the decision in this run, from 0; left-out decisions count"),
        Field("time_seconds", "DOUBLE", "when it was made"),
        Field("scheduler", "VARCHAR", "by whom"),
        Field("pod_id", "INTEGER", "for which pod; null if the pod was long gone", is_nullable=True),
        Field("pod", "VARCHAR", "`namespace/name`"),
        Field("attempt", "INTEGER", "which attempt for this pod, from 1"),
        Field("outcome", "VARCHAR", "`scheduled`, `unschedulable`, `gated` or `error`"),
        Field("node", "VARCHAR", "the node chosen", is_nullable=True),
        Field("via", "VARCHAR", "how it was chosen: by `scores`, as the `single` or the `nominated` node",
              is_nullable=True),
        Field("num_nodes", "INTEGER", "how many nodes there were, if none fitted", is_nullable=True),
        Field("num_feasible", "INTEGER", "how many nodes fitted, of those looked at"),
        Field("score", "BIGINT", "the best total score, if nodes were scored", is_nullable=True),
        Field("num_best", "INTEGER", "how many nodes had it"),
        Field("cycle_seconds", "DOUBLE",
              "time that the attempt took the scheduler: CPU time where plugins were timed, else on a real clock; "
              "different in every run"),
        Field("nominated_node", "VARCHAR", "the node that preemption makes room on", is_nullable=True),
        Field("num_victims", "INTEGER", "how many pods it evicts there"),
        Field("message", "VARCHAR", "why the pod was not placed", is_nullable=True),
        Field("job_id", "INTEGER", "the pod's job; runs that older versions wrote do not say", is_nullable=True),
        Field("job_decision_id", "BIGINT", "the attempt for the whole job that it is part of", is_nullable=True),
    ),
)  # fmt: skip
FILTER_COUNTS = TableSchema(
    "filter_counts",
    "For each decision that placed nothing: how many nodes each plugin refused. A node counts once, for the first "
    "plugin that refused it, so the rows of a decision add up to its `num_nodes`.",
    "decision_id, number",
    (
        Field("decision_id", "BIGINT", "decision"),
        Field("number", "INTEGER", "order within the decision, from 0"),
        Field("plugin", "VARCHAR", "who refused"),
        Field("code", "VARCHAR", "`Unschedulable`, `UnschedulableAndUnresolvable`, `Error` or `Pending`"),
        Field("reason", "VARCHAR", "why; several reasons of one node are joined by `, `"),
        Field("num_nodes", "INTEGER", "how many nodes"),
    ),
)
SCORES = TableSchema(
    "scores",
    "The best nodes of a decision, as many as were asked for, with each plugin's share.",
    "decision_id, rank, plugin",
    (
        Field("decision_id", "BIGINT", "decision"),
        Field("rank", "INTEGER", "1 is the best; equals are in the order of their names"),
        Field("node", "VARCHAR", "node"),
        Field("total", "BIGINT", "its total score"),
        Field("plugin", "VARCHAR", "plugin"),
        Field("score", "BIGINT", "that plugin's share, normalised and weighted"),
    ),
)
DATA = TableSchema(
    "data",
    "Of decisions that placed a pod which uses datasets: which copy of each is the nearest. Runs that older versions "
    "wrote lack the table.",
    "decision_id, number",
    (
        Field("decision_id", "BIGINT", "decision"),
        Field("number", "INTEGER", "in the order in which the pod names them, from 0"),
        Field("dataset", "VARCHAR", "name of the dataset, in the pod's namespace"),
        Field("node", "VARCHAR", "the node whose copy counts; null: none is near at all", is_nullable=True),
        Field("is_gateway", "BOOLEAN", "it serves the data; false: it holds it"),
        Field("rung", "VARCHAR", "the label that both nodes have in common", is_nullable=True),
        Field("load", "DOUBLE", "how busy the copy's node was, 0 to 1", is_nullable=True),
        Field("points", "DOUBLE", "what the dataset gave to the pod's node, 0 to 100"),
        Field("missing", "VARCHAR", "why the data was not there, or not yet", is_nullable=True),
    ),
)
PREEMPTIONS = TableSchema(
    "preemptions",
    "The pods a decision evicts to make room.",
    "decision_id, number",
    (
        Field("decision_id", "BIGINT", "decision"),
        Field("number", "INTEGER", "order within the decision, from 0"),
        Field("node", "VARCHAR", "node"),
        Field("victim_id", "INTEGER", "the pod evicted; null if it was long gone", is_nullable=True),
        Field("victim", "VARCHAR", "its `namespace/name`"),
    ),
)
QUEUE_MOVES = TableSchema(
    "queue_moves",
    "Every move of a waiting pod.",
    "rowid",
    (
        Field("time_seconds", "DOUBLE", "when"),
        Field("scheduler", "VARCHAR", "in whose queue"),
        Field("pod_id", "INTEGER", "which pod; null if the pod was long gone", is_nullable=True),
        Field("origin", "VARCHAR", "from where: `active`, `backoff`, `unschedulable`, `gated`, `in_flight`; null: "
              "it was not in the queue", is_nullable=True),
        Field("place", "VARCHAR", "to where; null: it left the queue", is_nullable=True),
        Field("event", "VARCHAR", "upon what"),
    ),
)  # fmt: skip
OCCUPANCY = TableSchema(
    "occupancy",
    "Who held what on which node, and when: an interval opens when a pod is bound, closes when the pod has succeeded, "
    "has failed, is deleted or its node is lost, and is split when the pod is resized. A node's load at an instant is "
    "the sum over its intervals with `from_seconds` <= instant < `to_seconds`.",
    "from_seconds, pod_id, rowid",
    (
        Field("pod_id", "INTEGER", "pod"),
        Field("pod", "VARCHAR", "`namespace/name`"),
        Field("node_id", "INTEGER", "node"),
        Field("node", "VARCHAR", "its name"),
        Field("from_seconds", "DOUBLE", "from when on"),
        Field("to_seconds", "DOUBLE", "until when; null: it was open at the end of the run", is_nullable=True),
        Field("reason", "VARCHAR", "why it closed; null: it did not", True, (PodEnd, IntervalEnd)),
    ),
    amounts="held",
)
DATA_READS = TableSchema(
    "data_reads",
    "From where pods read their datasets, in simulations: one row for each dataset of a pod that begins to run. Runs "
    "that older versions wrote lack the table.",
    "rowid",
    (
        Field("time_seconds", "DOUBLE", "when the pod began to run"),
        Field("pod_id", "INTEGER", "pod"),
        Field("pod", "VARCHAR", "`namespace/name`"),
        Field("node", "VARCHAR", "the node it runs on", is_nullable=True),
        Field("dataset", "VARCHAR", "`namespace/name` of the dataset"),
        Field("source_node", "VARCHAR", "the node with the nearest copy; null: there is none", is_nullable=True),
        Field("rung", "VARCHAR", "the nearest label of the ladder that both nodes share; null: none", is_nullable=True),
        Field("size_bytes", "BIGINT", "how much data it is; null: nobody says", is_nullable=True),
        Field("factor", "DOUBLE", "how many times as long a pod runs that reads at this distance"),
        Field("extra_share", "DOUBLE", "the part of this pod's run that is only due to this distance"),
    ),
)
EVENTS = TableSchema(
    "events",
    "What the world and the schedulers told people.",
    "rowid",
    (
        Field("time_seconds", "DOUBLE", "when"),
        Field("kind", "VARCHAR", "kind of the object it is about"),
        Field("subject", "VARCHAR", "its name, with the namespace if it has one"),
        Field("reason", "VARCHAR", "one word"),
        Field("message", "VARCHAR", "a sentence"),
    ),
)
OBJECTS = TableSchema(
    "objects",
    "Everything that is no pod and no node, as it came, changed and went.",
    "rowid",
    (
        Field("time_seconds", "DOUBLE", "when"),
        Field("verb", "VARCHAR", "what happened to it", words=(ObjectVerb,)),
        Field("kind", "VARCHAR", "kind"),
        Field("namespace", "VARCHAR", "namespace, empty if it has none"),
        Field("name", "VARCHAR", "name"),
        Field("manifest", "VARCHAR", "the object, as JSON"),
    ),
)
PLUGIN_TIMES = TableSchema(
    "plugin_times",
    "CPU time by plugin, where it was measured (`record: {pluginTimes: true}`): what each used in an attempt, not "
    "counting other plugins that it asked.",
    "rowid",
    (
        Field(
            "decision_id", "BIGINT", "in which attempt; null: between attempts, since the run began", is_nullable=True
        ),
        Field("time_seconds", "DOUBLE", "when it was noted down"),
        Field("scheduler", "VARCHAR", "scheduler"),
        Field("plugin", "VARCHAR", "plugin"),
        Field("point", "VARCHAR", "extension point, as kube-scheduler's metrics name it: `Filter`, `Score`, ..."),
        Field("num_calls", "BIGINT", "calls"),
        Field("cpu_seconds", "DOUBLE", "time used"),
    ),
)
GAPS = TableSchema(
    "gaps",
    "Rows that are missing, because the file could not be written for too long (a full disk) and memory is bounded: "
    "one row for each table and gap. Runs without a gap have none; runs that older versions wrote lack the table.",
    "rowid",
    (
        Field("from_seconds", "DOUBLE", "the first time that the missing rows tell of"),
        Field("to_seconds", "DOUBLE", "the last"),
        Field("table_name", "VARCHAR", "which table lacks them"),
        Field("num_rows", "BIGINT", "how many"),
        Field("reason", "VARCHAR", "why they could not be written"),
    ),
)

ALL: Final = (
    META, RESOURCES, NODES, PODS, TEMPLATES, DECISIONS, FILTER_COUNTS, SCORES, DATA, PREEMPTIONS, JOBS, JOB_DECISIONS,
    HOLDS, JOB_STATES, ESTIMATES, PLANS, CLOSINGS, CHARGES, QUEUE_MOVES, OCCUPANCY, DATA_READS, EVENTS, OBJECTS,
    PLUGIN_TIMES,
    GAPS,
)  # fmt: skip
TABLES: Final = {table.name: table for table in ALL}

UNITS = {"cpu": "milli", "memory": "bytes", "ephemeral-storage": "bytes"}


def unit_of(resource: str) -> str:
    """What an amount of this resource counts."""
    return "bytes" if resource.startswith("hugepages-") else UNITS.get(resource, "count")


def amount_column(resource: str, taken: Collection[str]) -> str:
    """The name of a resource's column, different from those taken: `cpu_milli`, `nvidia_com_gpu`."""
    unit = unit_of(resource)
    name = re.sub(r"[^a-z0-9]+", "_", resource.lower()).strip("_")
    name = name if unit == "count" else f"{name}_{unit}"
    if not name or name[0].isdigit():
        name = f"resource_{name}"
    known = {column.name for table in TABLES.values() if table.amounts for column in table.columns} | set(taken)
    return next(
        free for free in (name, *(f"{name}_{number}" for number in range(2, len(known) + 3))) if free not in known
    )

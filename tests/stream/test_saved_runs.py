"""A stream that is kept has the rows of the run that was recorded beside it: gangs, jobs in queues, preemption, faults.

Whole simulations of random small clusters, told over the wire; what a stream does not tell (manifests, objects, what
people were told, the books of queues, what plugins took between attempts) is named here.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import RecordOptions, Run, RunWriter
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.stream.decoding import decode_event
from fairway.stream.encoding import encode_event
from fairway.stream.saving import StreamSaver
from fairway.stream.stream_recorder import StreamRecorder

TOLD = (
    "decisions",
    "filter_counts",
    "scores",
    "preemptions",
    "queue_moves",
    "occupancy",
    "pods",
    "nodes",
    "holds",
    "jobs",
    "job_decisions",
    "plugin_times",
)
MANIFESTS = ("manifest", "template_id")
QUEUED = ("queue", "account", "limit_seconds", "state", "reason", "queue_priority", "requeues", "run_seconds")
LONE = "pod"
"""How a run spells a job of a queue that is one pod; the stream tells of the pod."""


def scenario(
    mode: str, num_nodes: int, gangs: list[tuple[int, int, int]], num_small: int, is_queued: bool, is_lossy: bool
) -> dict[str, Any]:
    """Gangs of (size, cpu, priority), and small pods; nodes of four cpus."""
    template = {"metadata": {"labels": {"fairway.dev/queue": "batch"}}} if is_queued else {}
    classes = [
        {"name": f"gang-{number}", "cpu": cpu, "gang": size, "priority": priority, "duration": "3m"}
        for number, (size, cpu, priority) in enumerate(gangs)
    ]
    workload: list[dict[str, Any]] = [
        {
            "synthetic": {
                "name": f"job-{number}",
                "arrivals": {"pattern": "even", "count": 2, "over": "4m", "start": f"{30 * number}s"},
                "classes": [{**one, "template": template} if template else one],
            }
        }
        for number, one in enumerate(classes)
    ]
    small = {"name": "pod", "cpu": 1, "duration": "2m", "failProbability": 0.2}
    arrivals = {"pattern": "even", "count": num_small, "over": "5m"}
    workload.append({"synthetic": {"name": "small", "arrivals": arrivals, "classes": [small]}})
    profile = {"fairway": {"gangs": {"mode": mode}}}
    spec: dict[str, Any] = {
        "end": "12m",
        "cluster": {"nodes": [{"name": "n-{}", "count": num_nodes, "cpu": 4, "memory": "8Gi"}]},
        "workload": workload,
        "schedulers": [{"name": "default-scheduler", "decisionLatency": "10ms", "config": {"profiles": [profile]}}],
        "record": {"scores": 3, "pluginTimes": True},
    }
    if is_queued:
        spec["batch"] = {"queues": {"batch": {"discipline": "easy", "limits": {"default": "1h", "max": "8h"}}}}
    if is_lossy:
        spec["faults"] = [{"at": "4m", "node": "n-0", "action": "lose"}]
    return {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}


def keep(path: Path, recorder: StreamRecorder, end: float, num_scores: int) -> None:
    """What `fairway watch --save` does with what comes over the wire."""
    with RunWriter(path, scenario={}, seed=0, options=RecordOptions(scores=num_scores)) as kept:
        saver = StreamSaver(kept)
        saver.begin(recorder.stream_id, None)
        for number, event in enumerate(recorder.ring.read(1, 10**6).events, 1):
            told = decode_event(encode_event(event, number, None, num_scores))
            assert told == event
            saver.take(told)
        saver.finish()
        kept.close(end)


def tables_of(path: Path, *, is_queued: bool) -> dict[str, list[dict[str, Any]]]:
    """Rows, with names in the place of numbers of jobs: queues number jobs that are a lone pod as well."""
    with Run.open(path) as run:
        tables = {name: list(run.tables[name].rows()) for name in TOLD}
    tables["plugin_times"] = [row for row in tables["plugin_times"] if row["decision_id"] is not None]
    names = {row["job_id"]: (row["job"], row["spelling"], row["created_seconds"]) for row in tables["jobs"]}
    for rows in tables.values():
        for row in rows:
            for column in MANIFESTS:
                row.pop(column, None)
            if "job_id" in row:
                row["job_id"] = names.get(row["job_id"])
            if row.get("annotations"):
                row["annotations"] = json.loads(row["annotations"])  # a document: the order of names is nobody's
    if is_queued:
        tables["jobs"] = [row for row in tables["jobs"] if row["spelling"] != LONE]
        for row in tables["jobs"]:
            for column in (*QUEUED, "charge_milli", "priority", "num_attempts"):
                del row[column]
    return tables


@settings(max_examples=10, deadline=None)
@given(
    mode=st.sampled_from(["fairway", "kube"]),
    num_nodes=st.integers(1, 4),
    gangs=st.lists(st.tuples(st.integers(2, 5), st.integers(1, 3), st.sampled_from([0, 100])), min_size=1, max_size=3),
    num_small=st.integers(1, 12),
    is_queued=st.booleans(),
    is_lossy=st.booleans(),
)
def test_what_is_kept_is_what_was_recorded(
    mode: str, num_nodes: int, gangs: list[tuple[int, int, int]], num_small: int, is_queued: bool, is_lossy: bool
) -> None:
    is_queued = is_queued and mode == "fairway"
    document = scenario(mode, num_nodes, gangs, num_small, is_queued, is_lossy)
    with TemporaryDirectory() as folder:
        there, here = Path(folder) / "there", Path(folder) / "here"
        stream = StreamRecorder("s")
        stream.is_timed = True
        simulate(decode_scenario(document, "test"), record=there, follower=stream)
        stream.close(720.0)
        with Run.open(there) as run:
            end = run.end_seconds
        keep(here, stream, end, 3)
        recorded, kept = tables_of(there, is_queued=is_queued), tables_of(here, is_queued=is_queued)
    for name in TOLD:
        assert kept[name] == recorded[name], name
    assert len(recorded["decisions"]) > 0

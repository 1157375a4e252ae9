"""A run with queues for the tests of what is asked about them: two queues that are full for a while.

In: a folder. Out: the recorded run. Limits of `exact_run` are the run times, so that what the plan says can be held
against what happens when a job is really submitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairway.explain.queues.past_plan import past_plan
from fairway.explain.queues.queue_light import light
from fairway.explain.queues.queue_table import QueueTable, queue_table
from fairway.explain.queues.queue_why import QueueWhy, queue_why
from fairway.explain.queues.run_moment import RunMoment
from fairway.record import Run
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate

__all__ = ["ExactJob", "exact_run", "queue_run", "table_then", "why_then"]

SCENARIO = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: queues}
spec:
  seed: 3
  end: 6h
  cluster:
    nodes: [{name: "n-{}", count: 3, cpu: 16, memory: 64Gi}]
  workload:
    - synthetic:
        name: batch
        arrivals: {pattern: poisson, count: 40, over: 2h}
        classes:
          - name: job
            cpu: {kind: choices, values: [4, 8, 16]}
            duration: {kind: uniform, low: 12m, high: 50m}
            users: 4
            template: {metadata: {labels: {fairway.dev/queue: batch}, annotations: {fairway.dev/time-limit: 1h}}}
    - synthetic:
        name: inter
        arrivals: {pattern: poisson, count: 6, over: 2h}
        classes:
          - name: notebook
            cpu: 2
            duration: {kind: uniform, low: 12m, high: 1h}
            template: {metadata: {labels: {fairway.dev/queue: inter}, annotations: {fairway.dev/time-limit: 1h}}}
    - synthetic:
        name: long
        arrivals: {pattern: poisson, count: 1, over: 10m}
        classes:
          - name: job
            cpu: 1
            duration: 10m
            template: {metadata: {labels: {fairway.dev/queue: batch}, annotations: {fairway.dev/time-limit: 9h}}}
  batch:
    queues:
      batch: {limits: {default: 30m, max: 8h}}
      inter: {policy: interactive}
    accounts:
      physics: {shares: 3}
"""


def queue_run(folder: Path, *, are_tiers_equal: bool = False) -> str:
    """Simulate; the file's name. With equal tiers both queues promise dates."""
    path = folder / "queues.duckdb"
    text = SCENARIO.replace("policy: interactive", "policy: interactive, tier: 0") if are_tiers_equal else SCENARIO
    simulate(decode_scenario(text.encode(), "queues.yaml"), record=path)
    return str(path)


EXACT = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {{name: exact}}
spec:
  kubelet: {{startLatency: 0s, terminationLatency: 0s}}
  workload:
    - swf: {{file: "{log}", machine: pool, queues: {{"*": q}}, limits: log}}
  batch:
    queues:
      q:
        discipline: {discipline}
        weights: {{age: 0, fairShare: 0, queue: 0, class: 0}}
        limits: {{killGrace: 0s, max: 1000h}}
"""


class ExactJob(NamedTuple):
    """A job that runs for as long as it says."""

    submit: int
    processors: int
    run: int


def table_then(run: Run, at: float) -> QueueTable:
    """Its queues, with their lights."""
    moment = RunMoment(run, at)
    plan = past_plan(moment)
    return queue_table(moment, light=lambda queue: light(plan, queue))


def why_then(run: Run, at: float, name: str) -> QueueWhy:
    """Why a job waits, with who is in its way."""
    moment = RunMoment(run, at)
    return queue_why(moment, name, lambda: past_plan(moment))


def exact_run(folder: Path, discipline: str, jobs: Sequence[ExactJob], name: str = "exact", closed: str = "") -> str:
    """A log of such jobs on a pool of sixteen processors; `closed`: one line more of `spec.batch`."""
    log = folder / f"{name}.swf"
    lines = [
        f"{number} {job.submit} -1 {job.run} {job.processors} -1 -1 {job.processors} {job.run} -1 1 1 1 -1 1 1 -1 -1"
        for number, job in enumerate(jobs, 1)
    ]
    log.write_text("; MaxProcs: 16\n" + "\n".join(lines) + "\n")
    path = folder / f"{name}.duckdb"
    path.unlink(missing_ok=True)
    text = EXACT.format(log=log, discipline=discipline) + (f"    {closed}\n" if closed else "")
    simulate(decode_scenario(text.encode(), "exact.yaml"), record=path)
    return str(path)

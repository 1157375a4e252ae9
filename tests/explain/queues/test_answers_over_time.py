"""What was ordered in the course of a run: answers about a moment know the orders that were given by then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.explain.queues.queue_jobs import QueueJob, find_queue_job
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.share_table import share_table
from fairway.explain.queues.usage_table import usage_table
from fairway.record import Run
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from tests.explain.queues.queue_runs import table_then

SCENARIO = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: orders}
spec:
  end: 3h
  cluster:
    nodes: [{name: "n-{}", count: 1, cpu: 4, memory: 16Gi}]
  workload:
    - synthetic:
        name: long
        arrivals: {pattern: even, count: 1, over: 1s}
        classes: [{name: job, cpu: 3, duration: 90m, queue: batch, account: physics, users: 1,
                   template: {metadata: {annotations: {fairway.dev/time-limit: 1h}}}}]
    - synthetic:
        name: moved
        arrivals: {pattern: even, count: 1, over: 1s}
        classes: [{name: job, cpu: 4, duration: 10m, queue: shut, account: bio, users: 1,
                   template: {metadata: {annotations: {fairway.dev/time-limit: 30m}}}}]
  batch:
    queues:
      batch: {limits: {max: 8h}}
      shut: {state: Paused}
    accounts:
      physics: {shares: 1, weights: {cpu: 1}, budget: {amount: 100000, period: month}}
      bio: {shares: 1}
    orders:
      - {at: 33m, move: default/moved-job-0, to: batch}
      - {at: 30m, extend: default/long-job-0, by: 1h}
      - {at: 40m, queue: batch, state: Draining}
      - {at: 50m, account: physics, change: {shares: 3, budget: {amount: 50000}}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    path: Path = tmp_path_factory.mktemp("orders") / "orders.duckdb"
    simulate(decode_scenario(SCENARIO.encode(), "orders.yaml"), record=path)
    with Run.open(path) as opened:
        yield opened


def job_at(run: Run, name: str, minutes: float) -> QueueJob:
    return find_queue_job(RunMoment(run, minutes * 60).jobs, name, minutes * 60)


@pytest.mark.parametrize(("minutes", "limit", "left"), [(29, 3600, 31 * 60), (31, 7200, 89 * 60)])
def test_a_limit_is_what_it_was_then(run: Run, minutes: float, limit: float, left: float) -> None:
    job = job_at(run, "long-job-0", minutes)
    assert job.limit == limit
    assert job.left == pytest.approx(left, abs=5)
    assert job.story.num_requeues == 0
    assert len(job.story.runs) == 1


@pytest.mark.parametrize(("minutes", "queue"), [(32, "shut"), (34, "batch")])
def test_a_job_is_in_the_queue_that_it_was_in_then(run: Run, minutes: float, queue: str) -> None:
    assert job_at(run, "moved-job-0", minutes).queue == queue
    listed = job_list(RunMoment(run, minutes * 60), JobChoice(queue=queue)).jobs
    assert "default/moved-job-0" in {job.job for job in listed}
    waiting = {row["queue"]: row["waiting"] for row in table_then(run, minutes * 60).rows()}
    assert waiting[queue] == 1


@pytest.mark.parametrize(("minutes", "state"), [(39, "Open"), (41, "Draining")])
def test_a_queue_is_in_the_state_that_it_was_in_then(run: Run, minutes: float, state: str) -> None:
    assert {row["queue"]: row["state"] for row in table_then(run, minutes * 60).rows()}["batch"] == state


@pytest.mark.parametrize(("minutes", "shares", "amount"), [(49, 1, 100000), (51, 3, 50000)])
def test_shares_and_budgets_are_what_they_were_then(run: Run, minutes: float, shares: int, amount: float) -> None:
    moment = RunMoment(run, minutes * 60)
    assert {row["name"]: row["shares"] for row in share_table(moment).rows(exact=True)}["physics"] == shares
    table = usage_table(moment, 0.0, minutes * 60, "account", None)
    (row,) = [row for row in table.rows(exact=True) if row["name"] == "physics"]
    assert row["budget"] == pytest.approx(row["used"] / amount)
    assert row["used"] > 0

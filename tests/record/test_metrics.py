"""Metrics of runs small enough to work out by hand, and of large ones against a naive loop."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fairway.record import Metrics, Run
from fairway.record.distribution import Distribution, jain_index
from fairway.record.load import LoadHistory, Spans
from fairway.record.metric_definitions import DEFINITIONS, QUEUE_METRICS, definition_of
from fairway.record.placement import fragmentation, imbalance, nodes_used
from fairway.record.vocabulary import NodeEnd, PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, lives, placed, small_run, writer

JOBS = ("job_", "jobs_", "partial_hold_", "deadlock", "pooled_", "blocked_ahead")  # what a run has that has jobs


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    with small_run(tmp_path_factory.mktemp("runs") / "small") as run:
        yield run.metrics()


# The small run: on a, one holds 4 cpus in [0, 10) and two 2 in [5, 20); on b, three holds 8 in [10, 30) and four 1 in
# [35, 40). Two nodes of 8 cpus for 40 s are 640 cpu seconds.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pods_created", 4),
        ("pods_placed", 4),
        ("pods_succeeded", 3),
        ("pods_waiting", 0),
        ("wait_count", 4),
        ("wait_mean", 2.5),  # 0, 5, 0, 5
        ("wait_p50", 2.5),
        ("wait_max", 5.0),
        ("slowdown_count", 3),
        ("slowdown_mean", (10 / 10 + 20 / 15 + 20 / 20) / 3),
        ("makespan_seconds", 40.0),
        ("throughput_per_hour", 3 * 3600 / 40),
        ("utilisation_cpu", (40 + 30 + 160 + 5) / 640),
        ("utilisation_peak_cpu", 10 / 16),
        # a: .5 [0,5) .75 [5,10) .25 [10,20) 0; b: 0 [0,10) 1 [10,30) 0 [30,35) .125 [35,40)
        ("imbalance_cpu_spread", (0.5 * 5 + 0.75 * 5 + 0.75 * 10 + 1 * 10 + 0.125 * 5) / 40),
        ("imbalance_cpu_std", (0.25 * 5 + 0.375 * 5 + 0.375 * 10 + 0.5 * 10 + 0.0625 * 5) / 40),
        ("imbalance_cpu_cv", (1 * 5 + 1 * 5 + 0.6 * 10 + 1 * 10 + 1 * 5) / 40),
        ("nodes_used_mean", (20 + 20 + 5) / 40),
        ("nodes_used_peak", 2),
        ("nodes_used_ever", 2),
        ("attempts", 4),
        ("preemptions", 0),
        ("wasted_seconds_cpu", 0.0),
        ("timing_cycle_seconds_mean", 0.001),
        ("timing_decisions_per_second", 1000.0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_worked_out_by_hand(metrics: Metrics, name: str, expected: float) -> None:
    assert metrics.flat()[name] == pytest.approx(expected)


def test_users_and_fairness(metrics: Metrics) -> None:
    assert metrics.users["team"].pods == 1
    assert metrics.users["default"].wait_mean == pytest.approx(10 / 3)
    # Dominant shares of what there was: default held 75 of 640 cpu seconds, team 160.
    assert metrics.users["default"].service == pytest.approx(75 / 640 * 40)
    assert metrics.fairness_service == pytest.approx((75 + 160) ** 2 / (2 * (75**2 + 160**2)))
    slowdowns = (1 + 20 / 15) / 2, 1.0
    assert metrics.fairness_slowdown == pytest.approx(sum(slowdowns) ** 2 / (2 * sum(one**2 for one in slowdowns)))


def test_every_metric_is_defined_and_every_definition_is_met(metrics: Metrics) -> None:
    found = {definition_of(name) for name in metrics.flat()}
    assert None not in found
    of_devices = {one.name for one in DEFINITIONS if one.name.startswith("gpu_")}  # test_gpu_history has those
    of_prices = {one.name for one in DEFINITIONS if one.name.startswith("cost_")}  # and test_cost these
    of_data = {one.name for one in DEFINITIONS if one.name.startswith("data_")}  # and test_data_metrics these
    of_jobs = {one.name for one in DEFINITIONS if one.name.startswith(JOBS)}  # and test_job_metrics these
    missing = {one.name for one in DEFINITIONS} - {one.name for one in found if one}
    of_queues = {one.name for one in QUEUE_METRICS} | {one.name for one in DEFINITIONS if one.name.startswith("queue_")}
    missing -= of_devices | of_prices | of_data | of_jobs | of_queues  # the last: test_queue_metrics
    elsewhere = {"timing_plugin_seconds_{}", "utilisation_allocated_{}"}  # the second: test_exclusive_load
    assert missing <= elsewhere | {f"waiting_age_{part}" for part in ("mean", "p50", "p95", "p99", "max")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("utilisation_cpu", "utilisation_{}"),
        ("utilisation_peak_nvidia.com/gpu", "utilisation_peak_{}"),
        ("imbalance_cpu_std", "imbalance_{}_std"),
        ("wait_p95", "wait_p95"),
        ("wait_p96", None),
        ("utilisation_", None),
    ],
    ids=str,
)
def test_definitions_are_found_by_name(name: str, expected: str | None) -> None:
    found = definition_of(name)
    assert (found.name if found else None) == expected


def test_metrics_are_json(metrics: Metrics) -> None:
    assert json.loads(json.dumps(metrics.to_dict()))["wait"]["p50"] == 2.5


def test_a_run_in_which_nothing_happens_has_no_numbers_but_no_errors(tmp_path: Path) -> None:
    writer(tmp_path / "run").close(0.0)
    with Run.open(tmp_path / "run") as run:
        found = run.metrics()
    assert (found.wait.mean, found.utilisation, found.fairness_service) == (None, {}, None)
    assert "wait_mean" not in found.flat()


def test_ends_are_counted_by_their_reason_and_what_they_wasted(tmp_path: Path) -> None:
    reasons = [reason for reason in PodEnd if reason is not PodEnd.REJECTED]
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a", cpu=100))
        for reason in reasons:
            one = pod(reason.lower(), cpu=1)
            made.pod_created(0.0, one, SCHEDULER)
            made.decided(0.0, SCHEDULER, 1, placed(one, "a"), 0.0)
            made.bound(0.0, one.metadata.uid, "a")
            made.ended(10.0, one.metadata.uid, reason)
        made.pod_created(5.0, pod("waits"), SCHEDULER)
        made.pod_created(0.0, pod("system", cpu=50, node="a"), "")
        made.bound(0.0, "default/system", "a")
        made.close(20.0)
    with Run.open(tmp_path / "run") as run:
        found = run.metrics()
    assert (found.pods.created, found.pods.placed, found.pods.waiting) == (7, 6, 1)  # not the one nobody scheduled
    assert (found.pods.failed, found.pods.evicted, found.pods.preempted) == (1, 2, 1)
    assert found.wasted_seconds["cpu"] == 4 * 10 * 1000
    assert found.waiting_age.max == 15.0
    assert found.utilisation["cpu"] == pytest.approx((6 * 10 + 50 * 20) / (100 * 20))


def test_a_node_that_is_not_ready_is_no_capacity(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a", cpu=4))
        made.node_added(0.0, node("b", cpu=4))
        made.pod_created(0.0, pod("one", cpu=4), SCHEDULER)
        made.bound(0.0, "default/one", "a")
        made.node_gone(5.0, "b", NodeEnd.DELETED)
        made.close(10.0)
    with Run.open(tmp_path / "run") as run:
        assert run.metrics().utilisation["cpu"] == pytest.approx(4 * 10 / (4 * 10 + 4 * 5))


# -- parts -------------------------------------------------------------------------------------------------------------


def test_percentiles_are_interpolated() -> None:
    found = Distribution.of(np.arange(101.0))
    assert (found.count, found.mean, found.p50, found.p95, found.p99, found.max) == (101, 50, 50, 95, 99, 100)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [([5.0, 5.0, 5.0], 1.0), ([9.0, 0.0, 0.0], 1 / 3), ([1.0, 2.0, 3.0], 36 / 42), ([0.0, 0.0], None), ([], None)],
    ids=["equal", "one has all", "in between", "nothing", "nobody"],
)
def test_jains_index(shares: list[float], expected: float | None) -> None:
    found = jain_index(np.array(shares))
    assert found == (None if expected is None else pytest.approx(expected))


def history_of(
    capacity: list[list[float]], held: list[tuple[int, float, float, list[float]]], end: float
) -> LoadHistory:
    """Nodes of these capacities, and (node, begin, end, amounts)."""
    count = len(capacity)
    there = Spans(np.arange(count, dtype=np.int32), np.zeros(count), np.full(count, end), np.array(capacity))
    spans = Spans(
        np.array([one[0] for one in held], np.int32),
        np.array([one[1] for one in held]),
        np.array([one[2] for one in held]),
        np.array([one[3] for one in held]).reshape(len(held), len(capacity[0])),
    )
    return LoadHistory(("cpu", "memory")[: len(capacity[0])], count, 0.0, end, spans, there)


def test_fragmentation_is_what_is_free_where_it_is_of_no_use() -> None:
    history = history_of([[8, 16], [8, 16]], [(0, 0, 10, [6, 0]), (1, 0, 5, [0, 15])], 10.0)
    requests, counts = np.array([[4, 2], [1, 0]]), np.array([3, 1])
    # 4 cpus and 2 of memory fit on neither node before 5 (2 cpus free; 1 of memory free), on the second after; 1 cpu
    # fits always. Free cpus: 2 and 8. Free memory: 16 and 1, then 16 and 16.
    found = fragmentation(history, requests, counts)
    assert found["cpu"] == pytest.approx(0.75 * (0.5 * 1 + 0.5 * 2 / 10))
    assert found["memory"] == pytest.approx(0.5 * 1 + 0.5 * 16 / 32)


def test_nothing_free_is_not_fragmented() -> None:
    assert fragmentation(history_of([[4]], [(0, 0, 1, [4])], 1.0), np.array([[1]]), np.array([1])) == {"cpu": 0.0}


def test_nodes_used_when_pods_follow_each_other() -> None:
    history = history_of([[4]] * 3, [(0, 0, 2, [1]), (0, 2, 4, [1]), (1, 4, 6, [1]), (2, 1, 1, [1])], 10.0)
    used = nodes_used(history)
    assert used.mean == pytest.approx(0.6)
    assert (used.peak, used.ever) == (1, 2)


def test_long_runs_are_sampled_near_the_truth() -> None:
    generator = np.random.default_rng(3)
    begins = generator.uniform(0, 900, 4000)
    held = [
        (int(where), float(begin), float(begin + length), [1.0])
        for where, begin, length in zip(
            generator.integers(0, 50, 4000), begins, generator.uniform(1, 100, 4000), strict=True
        )
    ]
    history = history_of([[200.0]] * 50, held, 1000.0)
    exact_times, exact_weights = history.instants(10**9)
    rough_times, rough_weights = history.instants(50 * 200)
    assert (len(exact_times), len(rough_times)) == (8001, 200)
    assert exact_weights.sum() == pytest.approx(1)
    exact = history.held.sums_at(exact_times, 50, 0).std(axis=1) @ exact_weights
    rough = history.held.sums_at(rough_times, 50, 0).std(axis=1) @ rough_weights
    assert rough == pytest.approx(exact, rel=0.02)
    assert imbalance(history)["cpu"].std == pytest.approx(exact / 200, rel=0.02)


def test_sums_at_equal_a_naive_loop() -> None:
    generator = np.random.default_rng(5)
    held = [
        (
            int(generator.integers(0, 4)),
            float(begin),
            float(begin + generator.integers(0, 5)),
            [float(generator.integers(1, 9))],
        )
        for begin in generator.integers(0, 20, 60)
    ]
    history = history_of([[9.0]] * 4, held, 30.0)
    instants = np.arange(0.0, 30.0, 0.5)
    naive = [
        [
            sum(amount for where, begin, end, (amount,) in held if where == number and begin <= at < end)
            for number in range(4)
        ]
        for at in instants
    ]
    assert history.held.sums_at(instants, 4, 0).tolist() == naive


def test_the_same_run_has_the_same_metrics(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        rows = [(pod(f"p{i}", cpu=i % 5 + 1), f"n{i % 7}", i * 0.3, i * 0.3 + i % 3, i + 10.1) for i in range(200)]
        with lives(tmp_path / name, [node(f"n{i}", cpu=64) for i in range(7)], *rows, end=300.0) as run:
            found.append(run.metrics())
    assert found[0] == found[1]
    assert math.isfinite(found[0].imbalance["cpu"].std)

"""Every metric of random runs against a count by hand: loops over the lines of the history, one metric at a time."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings

from fairway.record import Metrics
from fairway.record.distribution import Distribution
from fairway.record.metrics import SHORTEST_RUN
from fairway.record.vocabulary import PodEnd
from tests.record.lifetimes import CYCLE_SECONDS, HISTORIES, History, Life, Machine, tell


def scheduled(history: History) -> list[Life]:
    """The pods that count in waits."""
    return [life for life in history.lives if life.is_of_a_scheduler]


def percentile(numbers: list[float], percent: float) -> float:
    """Between the two nearest numbers, in a straight line."""
    ordered = sorted(numbers)
    place = (len(ordered) - 1) * percent / 100
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def check_distribution(found: Distribution, numbers: list[float]) -> None:
    assert found.count == len(numbers)
    if not numbers:
        assert (found.mean, found.p50, found.p95, found.p99, found.max) == (None,) * 5
        return
    assert found.mean == pytest.approx(sum(numbers) / len(numbers))
    assert found.max == max(numbers)
    for percent, value in ((50, found.p50), (95, found.p95), (99, found.p99)):
        assert value == pytest.approx(percentile(numbers, percent))


def slowdown(life: Life) -> float | None:
    """How much longer a pod took than it ran, if it ran to its own end."""
    if life.reason not in (PodEnd.SUCCEEDED, PodEnd.FAILED) or life.started is None or life.ended is None:
        return None
    return max((life.ended - life.created) / max(life.ended - life.started, SHORTEST_RUN), 1.0)


def jain(shares: list[float]) -> float | None:
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


def check_pods(history: History, found: Metrics) -> None:
    pods = scheduled(history)
    ends = {reason: sum(life.reason is reason for life in pods) for reason in PodEnd}
    assert found.pods.created == len(pods)
    assert found.pods.placed == sum(life.bound is not None for life in pods)
    assert found.pods.waiting == sum(life.bound is None and life.ended is None for life in pods)
    assert found.pods.succeeded == ends[PodEnd.SUCCEEDED]
    assert found.pods.failed == ends[PodEnd.FAILED]
    assert found.pods.evicted == ends[PodEnd.EVICTED] + ends[PodEnd.NODE_LOST] + ends[PodEnd.REJECTED]
    assert found.pods.preempted == ends[PodEnd.PREEMPTED]
    assert found.attempts == sum(life.attempts for life in pods)
    assert found.preemptions == 0


def check_waits(history: History, found: Metrics) -> None:
    pods = scheduled(history)
    check_distribution(found.wait, [life.bound - life.created for life in pods if life.bound is not None])
    waiting = [history.end - life.created for life in pods if life.bound is None and life.ended is None]
    check_distribution(found.waiting_age, waiting)
    check_distribution(found.slowdown, [slowed for life in pods if (slowed := slowdown(life)) is not None])


def check_pace(history: History, found: Metrics) -> None:
    pods = scheduled(history)
    ends = [history.end if life.ended is None else life.ended for life in pods]
    makespan = max(ends) - min(life.created for life in pods) if pods else 0.0
    assert found.makespan_seconds == makespan
    succeeded = sum(life.reason is PodEnd.SUCCEEDED for life in pods)
    assert found.throughput_per_hour == (pytest.approx(succeeded * 3600 / makespan) if makespan else None)
    attempts = sum(life.attempts for life in history.lives)
    check_distribution(found.timing.cycle_seconds, [CYCLE_SECONDS] * attempts)
    assert found.timing.decisions_per_second == (pytest.approx(1 / CYCLE_SECONDS) if attempts else None)
    assert found.timing.plugin_seconds == {}


def total_held(history: History, resource: str, at: float) -> int:
    return sum(history.held(machine, resource, at) for machine in history.machines)


def total_there(history: History, resource: str, at: float) -> int:
    return sum(history.there(machine, resource, at) for machine in history.machines)


def check_utilisation(history: History, found: Metrics) -> None:
    for resource in history.resources:
        held, there = partial(total_held, history, resource), partial(total_there, history, resource)
        capacity = history.mean(there)
        if not capacity:
            assert resource not in found.utilisation
            continue
        assert found.utilisation[resource] == pytest.approx(history.mean(held) / capacity)
        shares = [held(at) / there(at) for at in history.changes() if there(at)]
        assert found.utilisation_peak[resource] == pytest.approx(max(shares))


def check_nodes_used(history: History, found: Metrics) -> None:
    def used(at: float) -> int:
        return sum(
            any(life.node == machine.name and life.holds(at, history.end) for life in history.lives)
            for machine in history.machines
        )

    assert found.nodes_used.mean == pytest.approx(history.mean(used))
    assert found.nodes_used.peak == max(map(used, history.changes()))
    held = [(life.node, life.held(history.end)) for life in history.lives]
    assert found.nodes_used.ever == len({name for name, stretch in held if stretch and stretch[1] > stretch[0]})


def shares_at(history: History, resource: str, at: float) -> list[float]:
    """How full each ready node is."""
    counted = [machine for machine in history.machines if history.there(machine, resource, at)]
    return [history.held(machine, resource, at) / machine.amount(resource) for machine in counted]


def deviation(shares: list[float]) -> float:
    mean = sum(shares) / len(shares)
    return math.sqrt(sum((share - mean) ** 2 for share in shares) / len(shares))


def is_measured(history: History, resource: str, at: float) -> bool:
    return bool(shares_at(history, resource, at))


def check_imbalance(history: History, found: Metrics) -> None:
    measures: dict[str, Callable[[list[float]], float]] = {
        "spread": lambda shares: max(shares) - min(shares),
        "std": deviation,
        "cv": lambda shares: deviation(shares) * len(shares) / sum(shares) if sum(shares) else 0.0,
    }
    for resource in history.resources:
        measured = history.mean(partial(is_measured, history, resource))
        if not measured:
            assert resource not in found.imbalance
            continue
        for name, measure in measures.items():

            def value(at: float, resource: str = resource, measure: Callable[[list[float]], float] = measure) -> float:
                shares = shares_at(history, resource, at)
                return measure(shares) if shares else 0.0

            expected = history.mean(value) / measured  # while no node is ready, nothing is measured
            assert getattr(found.imbalance[resource], name) == pytest.approx(expected, abs=1e-9), (resource, name)


def check_fragmentation(history: History, found: Metrics) -> None:
    """The share of what is free that lies where a pod does not fit, seen by each pod that asks for it."""

    def free(machine: Machine, resource: str, at: float) -> int:
        return max(history.there(machine, resource, at) - history.held(machine, resource, at), 0)

    def fits(life: Life, machine: Machine, at: float) -> bool:
        return all(
            not life.amount(resource) or free(machine, resource, at) >= life.amount(resource)
            for resource in history.resources
        )

    def lost(life: Life, resource: str, at: float) -> float:
        total = sum(free(machine, resource, at) for machine in history.machines)
        useless = sum(free(machine, resource, at) for machine in history.machines if not fits(life, machine, at))
        return useless / total if total else 0.0

    tried = [life for life in history.lives if life.attempts]
    for resource in history.resources:
        asking = [life for life in tried if life.amount(resource)]
        if not asking:
            assert resource not in found.fragmentation
            continue
        shares = [history.mean(partial(lost, life, resource)) for life in asking]
        assert found.fragmentation[resource] == pytest.approx(sum(shares) / len(shares), abs=1e-9)


def check_waste(history: History, found: Metrics) -> None:
    wasted = (PodEnd.PREEMPTED, PodEnd.EVICTED, PodEnd.NODE_LOST, PodEnd.FAILED, PodEnd.REJECTED)
    for resource in history.resources:
        expected = 0.0
        for life in history.lives:
            stretch = life.held(history.end)
            if stretch is not None and life.reason in wasted:
                expected += (stretch[1] - stretch[0]) * life.amount(resource)
        assert found.wasted_seconds[resource] == pytest.approx(expected)


def check_users(history: History, found: Metrics) -> None:
    pods = scheduled(history)
    assert list(found.users) == sorted({life.user for life in pods})
    length = history.end - history.begin
    services, slowdowns = [], []
    for user, said in found.users.items():
        own = [life for life in pods if life.user == user]
        waits = [life.bound - life.created for life in own if life.bound is not None]
        slowed = [value for life in own if (value := slowdown(life)) is not None]
        assert said.pods == len(own)
        assert said.wait_mean == (pytest.approx(sum(waits) / len(waits)) if waits else None)
        assert said.slowdown_mean == (pytest.approx(sum(slowed) / len(slowed)) if slowed else None)
        shares = [0.0]
        for resource in history.resources:
            capacity = length * history.mean(partial(total_there, history, resource))
            held = sum(
                (stretch[1] - stretch[0]) * life.amount(resource)
                for life in own
                if (stretch := life.held(history.end)) is not None
            )
            shares.append(held / capacity * length if capacity else 0.0)
        assert said.service == pytest.approx(max(shares))
        services.append(max(shares))
        slowdowns += [sum(slowed) / len(slowed)] if slowed else []
    for value, expected in ((found.fairness_service, jain(services)), (found.fairness_slowdown, jain(slowdowns))):
        assert value == (None if expected is None else pytest.approx(expected))


@given(HISTORIES)
@settings(max_examples=30)
def test_every_metric_is_what_loops_over_the_history_come_to(history: History) -> None:
    with tempfile.TemporaryDirectory() as folder, tell(history, Path(folder) / "run") as run:
        found = run.metrics()
    check_pods(history, found)
    check_waits(history, found)
    check_pace(history, found)
    check_utilisation(history, found)
    check_nodes_used(history, found)
    check_imbalance(history, found)
    check_fragmentation(history, found)
    check_waste(history, found)
    check_users(history, found)
    assert found.gpu is None

"""Fragmentation: by hand, by a naive loop to the last bit, and brought up to date row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import CPU, Cause, Cluster, Event, Shape, TypicalPods, Verb
from fairway.testing import cluster, node
from fairway.testing.situations import Dice
from tests.plugins.gpu_world import MODELS, gpu_node, gpu_pod, random_gpu_node, random_gpu_pod

WHOLE, HALF, PLAIN = Shape(4000, 1000, 1, ""), Shape(1000, 500, 1, ""), Shape(2000, 0, 0, "")
TYPICAL = TypicalPods((WHOLE, HALF, PLAIN, Shape(1000, 500, 1, "P100")), (0.4, 0.3, 0.2, 0.1))


def naive(where: Cluster, typical: TypicalPods, row: int) -> list[float]:
    """The definition, one typical pod after the other."""
    table, devices = where.nodes, where.devices
    cpu = int(table.allocatable[row, CPU] - table.requested[row, CPU])
    free = devices.free[row, : devices.count[row]].tolist()
    model = devices.models[devices.model[row]] if devices.model[row] >= 0 else ""
    found = [0.0] * len(Cause)
    for shape, share in zip(typical.shapes, typical.shares, strict=True):
        has_cpu = cpu >= shape.milli_cpu
        has_gpu = sum(amount >= shape.gpu_milli for amount in free) >= shape.num_gpu
        if not shape.num_gpu:
            found[Cause.NO_GPU_TASK if has_cpu else Cause.NO_GPU_TASK_LACKS_CPU] += share * sum(free)
        elif shape.models and model not in shape.models.split("|"):
            found[Cause.NO_ACCESS] += share * sum(free)
        elif has_cpu and has_gpu:
            small = sum(amount for amount in free if amount < shape.gpu_milli)
            found[Cause.LACKS_GPU] += share * small
            found[Cause.USABLE] += share * (sum(free) - small)
        elif has_cpu:
            found[Cause.LACKS_GPU] += share * sum(free)
        else:
            found[Cause.LACKS_CPU if has_gpu else Cause.LACKS_BOTH] += share * sum(free)
    return found


def added(found: list[float]) -> float:
    total = found[Cause.LACKS_BOTH]
    for cause in (Cause.LACKS_GPU, Cause.LACKS_CPU, Cause.NO_GPU_TASK, Cause.NO_GPU_TASK_LACKS_CPU, Cause.NO_ACCESS):
        total += found[cause]
    return total


def test_by_hand() -> None:
    here = cluster(gpu_node("n", 2, cpu=8), gpu_pod("a", 600, cpu=3, index="0", node="n"))  # free: 400, 1000; 5 CPU
    measure = here.fragmentation(TYPICAL)
    assert measure.total == pytest.approx(0.4 * 400 + 0.3 * 400 + 0.2 * 1400 + 0.1 * 1400)
    assert dict(zip(Cause, measure.breakdown.tolist(), strict=True)) == pytest.approx(
        {
            Cause.LACKS_BOTH: 0,
            Cause.LACKS_GPU: 0.7 * 400,
            Cause.USABLE: 0.7 * 1000,
            Cause.LACKS_CPU: 0,
            Cause.NO_GPU_TASK: 0.2 * 1400,
            Cause.NO_GPU_TASK_LACKS_CPU: 0,
            Cause.NO_ACCESS: 0.1 * 1400,
        }
    )
    assert measure.breakdown.sum() == pytest.approx(1400)
    here.apply(Event(Verb.ADDED, gpu_pod("b", cpu="4500m", node="n")))  # takes CPU alone: 500m are left
    assert measure.breakdown[Cause.LACKS_CPU] == pytest.approx(0.7 * 1400)
    assert measure.breakdown[Cause.NO_GPU_TASK_LACKS_CPU] == pytest.approx(0.2 * 1400)
    here.apply(Event(Verb.ADDED, gpu_pod("c", 700, index="1", node="n")))
    assert measure.breakdown[Cause.LACKS_BOTH] == pytest.approx(0.7 * 700)


def test_nodes_without_devices_have_nothing_to_fragment() -> None:
    here = cluster([node("plain"), gpu_node("n", 1)])
    measure = here.fragmentation(TYPICAL)
    measure.refresh()
    assert measure.amount[here.nodes.row_of["plain"]] == 0
    assert measure.total == measure.amount[here.nodes.row_of["n"]] > 0


def test_the_measure_is_shared_by_all_who_ask() -> None:
    here = cluster(gpu_node("n", 2))
    assert here.fragmentation(TYPICAL) is here.fragmentation(TYPICAL)
    here.learn_typical_pods()
    assert here.typical_pods is not None
    assert here.typical_pods.shapes == (Shape(0, 1000, 1, ""),)  # nothing runs
    here.apply(Event(Verb.ADDED, gpu_pod("a", 300, cpu=1, node="n")))
    here.learn_typical_pods()
    assert here.typical_pods.shapes == (Shape(1000, 300, 1, ""),)


shapes = st.builds(
    Shape,
    st.sampled_from((0, 500, 1000, 4000, 20000)),
    st.sampled_from((100, 470, 500, 999, 1000)),
    st.just(1),
    st.sampled_from(("", *MODELS, "T4|P100")),
) | st.sampled_from((Shape(1000, 1000, 2, ""), Shape(8000, 1000, 8, "G2"), Shape(2000, 0, 0, ""), Shape(0, 0, 0, "")))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(shapes, st.floats(0.001, 1)), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_the_same_as_a_naive_loop_to_the_last_bit_whatever_happens(
    typical_pods: list[tuple[Shape, float]], seed: int
) -> None:
    typical = TypicalPods(tuple(shape for shape, _ in typical_pods), tuple(share for _, share in typical_pods))
    dice = Dice(np.random.default_rng(seed))
    here = Cluster()
    measure = here.fragmentation(typical)
    for step in range(25):
        if step % 6 == 0:
            here.apply(Event(Verb.ADDED, random_gpu_node(dice, f"n{step % 4}")))
        elif dice.flip(15) and here.pods.by_uid:
            here.apply(Event(Verb.DELETED, dice.pick([placed.pod for placed in here.pods.by_uid.values()])))
        else:
            here.apply(Event(Verb.ADDED, random_gpu_pod(dice, f"p{step}", f"n{dice.pick((0, 1, 2, 3))}")))
        if dice.flip(60):
            measure.refresh()
            for row in range(here.nodes.num_rows):
                expected = naive(here, typical, row)
                assert measure.amount[row] == added(expected)
                assert measure.by_cause[row].tolist() == pytest.approx(expected)

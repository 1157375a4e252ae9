"""BestFit, DotProduct, GpuPacking, GpuClustering, Random and PWR: scores by hand, and the rules of the plugin API."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from fairway.cluster import Cluster
from fairway.model import Pod
from fairway.plugin import Plugin
from fairway.plugins.best_fit import BestFit, BestFitArgs
from fairway.plugins.dot_product import DotProduct, DotProductArgs
from fairway.plugins.gpu_clustering import GpuClustering, GpuClusteringArgs
from fairway.plugins.gpu_packing import GpuPacking
from fairway.plugins.pwr import PWR, PWRArgs, WattsArgs
from fairway.plugins.random_policy import Random, RandomArgs
from fairway.testing import check_plugin, cluster, node, pod
from tests.plugins.gpu_world import final_scores, gpu_node, gpu_pod, gpu_situations, raw_scores


def three() -> Cluster:
    """`used` has 700 and 1000 left of two devices and 6 CPU, `idle` all of two and 8 CPU, `big` all of eight and 32."""
    return cluster(
        [gpu_node("used", 2), gpu_node("idle", 2), gpu_node("big", 8, model="G2", cpu=32)],
        gpu_pod("a", 300, cpu=2, index="0", node="used"),
    )


# -- BestFit -----------------------------------------------------------------------------------------------------------


def test_best_fit_measures_what_is_left_in_parts_of_the_largest_node() -> None:
    plugin = BestFit(three())
    wanted = gpu_pod(milli=500, cpu=1)
    raw = {
        name: int(100 * (1 - (0.5 * cpu / 128 + 0.5 * gpu / 8)))
        for name, cpu, gpu in (("used", 5, 1.2), ("idle", 7, 1.5), ("big", 31, 7.5))
    }
    assert raw_scores(plugin, wanted) == raw == {"used": 90, "idle": 87, "big": 41}
    assert final_scores(plugin, wanted) == {"used": 100, "idle": 46 * 100 // 49, "big": 0}
    assert raw_scores(BestFit(three(), BestFitArgs(largest_milli_cpu=32000)), wanted) != raw


def test_best_fit_has_no_favourite_among_equals() -> None:
    assert final_scores(BestFit(cluster([gpu_node("a"), gpu_node("b")])), gpu_pod(milli=5)) == {"a": 0, "b": 0}


# -- DotProduct --------------------------------------------------------------------------------------------------------


def dot(cpu: float, gpu: float, pod_cpu: float, pod_gpu: float) -> int:
    return int(100 * (1 - (cpu / 128 * pod_cpu / 128 + gpu / 8 * pod_gpu / 8) / 2))


@pytest.mark.parametrize(
    ("args", "wanted", "expected"),
    [
        pytest.param(
            DotProductArgs(),
            gpu_pod(milli=500, cpu=64),
            {"used": dot(6, 1.7, 64, 0.5), "idle": dot(8, 2, 64, 0.5), "big": dot(32, 8, 64, 0.5)},
            id="merge",
        ),
        pytest.param(
            DotProductArgs(),
            pod(cpu=64),
            {"used": dot(6, 0, 64, 0), "idle": dot(8, 0, 64, 0), "big": dot(32, 0, 64, 0)},
            id="no devices",
        ),
        pytest.param(
            DotProductArgs(mode="share"),
            gpu_pod(milli=500, cpu=64),
            {"used": dot(6, 0.7, 64, 0.5), "idle": dot(8, 2, 64, 0.5), "big": dot(32, 8, 64, 0.5)},
            id="share: the device in use is the least aligned",
        ),
        pytest.param(
            DotProductArgs(mode="share"),
            gpu_pod(milli=800, cpu=64),
            {"used": dot(6, 1, 64, 0.8), "idle": dot(8, 2, 64, 0.8), "big": dot(32, 8, 64, 0.8)},
            id="share: it has no room",
        ),
        pytest.param(
            DotProductArgs(mode="divide"),
            gpu_pod(milli=500, cpu=64),
            {"used": dot(6 * 0.7 / 1.7, 0.7, 64, 0.5), "idle": dot(8, 2, 64, 0.5), "big": dot(32, 8, 64, 0.5)},
            id="divide",
        ),
        pytest.param(
            DotProductArgs(mode="extend"),
            gpu_pod(count=2, cpu=64),
            {"used": 0, "idle": dot(8, 2, 64, 2), "big": dot(32, 2, 64, 2)},
            id="extend: the devices it would take",
        ),
        pytest.param(
            DotProductArgs(norm="node"),
            gpu_pod(milli=500, cpu=4),
            {
                "used": int(100 * (1 - (6 / 8 * 4 / 8 + 1.7 / 2 * 0.5 / 2) / 2)),
                "idle": int(100 * (1 - (1 * 4 / 8 + 1 * 0.5 / 2) / 2)),
                "big": int(100 * (1 - (1 * 4 / 32 + 1 * 0.5 / 8) / 2)),
            },
            id="norm by node",
        ),
        pytest.param(
            DotProductArgs(norm="pod"),
            gpu_pod(milli=500, cpu=4),
            {
                "used": int(100 * (1 - math.tanh((6 / 4 + 1.7 / 0.5) / 2 / 10))),
                "idle": int(100 * (1 - math.tanh((8 / 4 + 2 / 0.5) / 2 / 10))),
                "big": int(100 * (1 - math.tanh((32 / 4 + 8 / 0.5) / 2 / 10))),
            },
            id="norm by pod",
        ),
    ],
)
def test_dot_product_prefers_what_is_least_aligned(args: DotProductArgs, wanted: Pod, expected: dict[str, int]) -> None:
    assert raw_scores(DotProduct(three(), args), wanted) == expected


# -- GpuPacking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(pod(cpu=1), "skip", id="no devices"),
        pytest.param(gpu_pod(milli=500), {"used": 100 - 70 // 10, "idle": 31, "big": 25}, id="a device in use"),
        pytest.param(gpu_pod(milli=800), {"used": 49, "idle": 31, "big": 25}, id="an idle one of a node in use"),
        pytest.param(gpu_pod(count=1), {"used": 49, "idle": 31, "big": 25}, id="a whole one"),
    ],
)
def test_gpu_packing_fills_what_is_open(wanted: Pod, expected: object) -> None:
    assert raw_scores(GpuPacking(three()), wanted) == expected


def test_gpu_packing_opens_as_few_as_it_can() -> None:
    here = cluster(gpu_node("n", 8), gpu_pod("a", 999, index="0", node="n"))
    for count, expected in ((1, 49), (4, 46), (7, 43)):
        assert raw_scores(GpuPacking(here), gpu_pod(count=count)) == {"n": expected}


# -- GpuClustering -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(pod(cpu=1), "skip", id="no devices"),
        pytest.param(gpu_pod(milli=1), {"empty": 25, "ones": 0, "shares": 75, "both": 50}, id="a share"),
        pytest.param(gpu_pod(count=1), {"empty": 25, "ones": 75, "shares": 0, "both": 50}, id="one"),
        pytest.param(gpu_pod(count=2), {"empty": 25, "ones": 0, "shares": 0, "both": 0}, id="two: nobody else does"),
    ],
)
def test_gpu_clustering_keeps_kinds_together(wanted: Pod, expected: object) -> None:
    placed = [
        gpu_pod("a", count=1, node="ones"),
        gpu_pod("b", 300, node="shares"),
        gpu_pod("c", 300, node="both"),
        gpu_pod("d", count=1, node="both"),
    ]
    here = cluster([gpu_node(name, 2) for name in ("empty", "ones", "shares", "both")], placed)
    left = {"empty": 2000, "ones": 1000, "shares": 1700, "both": 700}
    if isinstance(expected, dict):
        expected = {name: score + 25 * (8000 - left[name]) // 8000 for name, score in expected.items()}
    assert raw_scores(GpuClustering(here), wanted) == expected


# -- PWR ---------------------------------------------------------------------------------------------------------------


def test_pwr_counts_what_would_be_switched_on() -> None:
    plugin = PWR(three())
    assert raw_scores(plugin, gpu_pod(milli=500)) == {"used": 0, "idle": -60, "big": -120}
    assert raw_scores(plugin, gpu_pod(milli=800)) == {"used": -60, "idle": -60, "big": -120}
    assert raw_scores(plugin, gpu_pod(count=2)) == {"used": -120, "idle": -120, "big": -240}
    assert raw_scores(plugin, pod(cpu="500m")) == {"used": 0, "idle": -105, "big": -105}  # the first package
    assert final_scores(plugin, gpu_pod(milli=500)) == {"used": 100, "idle": 50, "big": 0}


def test_pwr_knows_packages_by_their_label_and_models_by_its_arguments() -> None:
    labels = {"alibabacloud.com/cpu-model": "Intel Xeon 8163"}
    here = cluster([node("n", cpu=96, labels=labels), gpu_node("x", 1, model="X9")])
    assert raw_scores(PWR(here), pod(cpu=2)) == {"n": -145, "x": -105}
    assert raw_scores(PWR(here), pod(cpu=50)) == {"n": -290, "x": -105 * 2}  # 25 of 48 cores: both packages
    assert raw_scores(PWR(here), gpu_pod(milli=5)) == {"n": -220, "x": -220}  # an unknown model
    watts = PWRArgs(gpu_watts={"X9": WattsArgs(idle=1, full=3)})
    assert raw_scores(PWR(here, watts), gpu_pod(milli=5)) == {"n": -220, "x": -2}


def test_pwr_puts_a_share_on_a_device_that_is_on_already() -> None:
    here = cluster(gpu_node("n", 4), [gpu_pod("a", 100, index="2", node="n"), gpu_pod("b", 500, index="3", node="n")])
    for name, milli, expected in (("new", 300, 2), ("large", 950, 0)):
        wanted = gpu_pod(name, milli)
        here.assume(wanted, here.classify(wanted), 0)
        PWR(here).reserve(wanted, here.classify(wanted), 0)
        assert here.devices.indices_of(f"default/{name}") == (expected,)


def test_pwr_is_content_if_nothing_is_switched_on() -> None:
    here = cluster([gpu_node("a"), gpu_node("b")])
    assert final_scores(PWR(here), gpu_pod(milli=5)) == {"a": 100, "b": 100}


# -- Random ------------------------------------------------------------------------------------------------------------


def test_random_takes_each_node_about_as_often_and_can_be_repeated() -> None:
    def chosen(seed: int) -> str:
        here = cluster([gpu_node(f"n{number}") for number in range(5)])
        scores = raw_scores(Random(here, RandomArgs(seed=seed)), gpu_pod(milli=300))
        assert isinstance(scores, dict)
        assert sorted(scores.values()) == [0, 0, 0, 0, 100]
        return max(scores, key=scores.__getitem__)

    tally = Counter(chosen(seed) for seed in range(500))
    assert len(tally) == 5
    assert min(tally.values()) > 60
    assert chosen(7) == chosen(7)


def test_random_draws_again_when_something_was_placed() -> None:
    here = cluster([gpu_node(f"n{number}", 8, cpu=64) for number in range(9)])
    plugin, chosen = Random(here), []
    for number in range(20):
        wanted = gpu_pod(f"p{number}", 10)
        scores = raw_scores(plugin, wanted)
        assert isinstance(scores, dict)
        chosen.append(max(scores, key=scores.__getitem__))
        here.assume(wanted, here.classify(wanted), here.nodes.row_of[chosen[-1]])
    assert len(set(chosen)) > 4


# -- the rules ---------------------------------------------------------------------------------------------------------

RULES: dict[str, tuple[type[Plugin], Any]] = {
    "BestFit": (BestFit, None),
    "DotProduct merge": (DotProduct, None),
    "DotProduct share by node": (DotProduct, DotProductArgs(mode="share", norm="node")),
    "DotProduct divide by pod": (DotProduct, DotProductArgs(mode="divide", norm="pod")),
    "DotProduct extend": (DotProduct, DotProductArgs(mode="extend", largest_milli_cpu=1000)),
    "GpuPacking": (GpuPacking, None),
    "GpuClustering": (GpuClustering, GpuClusteringArgs(largest_gpu_milli=2000)),
    "PWR": (PWR, None),
    "Random": (Random, RandomArgs(seed=5)),
}


@pytest.mark.parametrize(("plugin", "args"), RULES.values(), ids=RULES.keys())
def test_they_keep_their_word(plugin: type[Plugin], args: Any) -> None:
    check_plugin(plugin, args=args, examples=gpu_situations(12, seed=9))

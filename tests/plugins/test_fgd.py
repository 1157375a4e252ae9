"""FGD: scores by hand, the device it chooses, and the words it has for a score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fairway.cluster import Cluster, Nodes, Shape, TypicalPods
from fairway.config import ConfigError
from fairway.plugins.fgd import FGD, FGDArgs, TypicalPodArgs
from fairway.testing import check_plugin, cluster, pod
from tests.cycle.profiles import profile
from tests.plugins.gpu_world import gpu_node, gpu_pod, gpu_situations, raw_scores

HALVES = FGDArgs(typical_pods=(TypicalPodArgs(milli_cpu=1000, gpu_milli=500, gpu_count=1),))
MIXED = FGDArgs(
    typical_pods=(
        TypicalPodArgs(milli_cpu=1000, gpu_milli=500, gpu_count=1, count=3),
        TypicalPodArgs(milli_cpu=2000, gpu_milli=1000, gpu_count=2, count=1, gpu_models=("T4",)),
        TypicalPodArgs(milli_cpu=2000, count=1),
    )
)


def sigmoid(devices: float) -> int:
    return int(100 / (1 + math.exp(-devices)))


def test_a_share_where_it_fits_exactly_fragments_nothing() -> None:
    """Typical pods want halves: 500 more on an idle device leave a half, 300 leave 700 that is still good for one."""
    placed = [gpu_pod("a", 500, index="0", node="half"), gpu_pod("b", 700, index="0", node="scrap")]
    here = cluster([gpu_node("half", 1), gpu_node("scrap", 1), gpu_node("idle", 1)], placed)
    assert raw_scores(FGD(here, HALVES), gpu_pod(milli=300)) == {
        "half": sigmoid((0 - 200) / 1000),  # 200 would be left, of no use
        "scrap": sigmoid((300 - 0) / 1000),  # 300 that were of no use are used
        "idle": 50,  # 700 are left, still good for a half
    }
    assert raw_scores(FGD(here, HALVES), gpu_pod(milli=500)) == {"half": 50, "scrap": 0, "idle": 50}


def test_cpu_that_runs_out_strands_devices() -> None:
    here = cluster([gpu_node("n", 2, cpu=4), gpu_node("roomy", 2, cpu=16)])
    assert raw_scores(FGD(here, HALVES), pod(cpu="3500m")) == {"n": sigmoid(-2), "roomy": 50}
    assert raw_scores(FGD(here, HALVES), gpu_pod(count=1, cpu="3500m")) == {"n": sigmoid(-1), "roomy": 50}


def test_the_best_device_counts_and_is_chosen() -> None:
    placed = [gpu_pod("a", 550, index="0", node="n"), gpu_pod("b", 500, index="2", node="n")]
    here = cluster(gpu_node("n", 3), placed)  # 450, 1000, 500 left
    plugin, wanted = FGD(here, HALVES), gpu_pod("new", 450)
    assert raw_scores(plugin, wanted) == {"n": sigmoid(0.45)}  # the scrap of 450 is used up
    wanted = gpu_pod("other", 400)
    before = raw_scores(plugin, wanted)
    here.assume(wanted, here.classify(wanted), 0)
    plugin.reserve(wanted, here.classify(wanted), 0)
    assert before == {"n": sigmoid(0.4)}
    assert here.devices.indices_of("default/other") == (0,)


def test_the_first_of_equal_devices_and_never_against_a_pin() -> None:
    here = cluster(gpu_node("n", 4), gpu_pod("a", 300, index="3", node="n"))
    plugin = FGD(here, HALVES)
    for name, index, expected in (("free", "", (0,)), ("pinned", "2", (2,))):
        wanted = gpu_pod(name, 500, index=index)  # 500 of an idle device, or of the 700: the latter leaves 200
        here.assume(wanted, here.classify(wanted), 0)
        plugin.reserve(wanted, here.classify(wanted), 0)
        assert here.devices.indices_of(f"default/{name}") == expected


def test_nodes_where_the_pod_does_not_fit_score_nothing() -> None:
    here = cluster([gpu_node("small", 1), gpu_node("big", 4, model="P100")], gpu_pod("a", 10, index="0", node="small"))
    assert raw_scores(FGD(here, MIXED), gpu_pod(count=1, cpu=2)) == {
        "small": 0,
        "big": sigmoid((4000 * 0.4 - 3000 * 0.4) / 1000),  # what two of five typical pods can not use anyway
    }


def words_of(plugin: FGD, wanted: Any) -> dict[str, list[str]]:
    pod_class = plugin.cluster.classify(wanted)
    nodes = Nodes(plugin.cluster)
    state = plugin.pre_score(pod_class, nodes)
    lines = plugin.explain_score(pod_class, nodes, state)
    return {name: list(each) for name, each in zip(nodes.names, lines, strict=True)}


def test_the_words_say_which_typical_pods_would_be_stranded() -> None:
    here = cluster([gpu_node("n", 2), gpu_node("full", 1)], gpu_pod("a", count=1, index="0", node="full"))
    plugin = FGD(here, MIXED)
    assert words_of(plugin, gpu_pod(milli=600)) == {
        "n": [
            "on GPU 0, fragmentation goes from 0.400 to 0.800 GPUs, of 1.400 idle then",
            "strands 1 of 3 typical pods, 20.0 % of arrivals:",
            "  2 CPU, 2 GPUs T4 (20.0 %) then lacks GPU",
        ],
        "full": [],
    }
    assert words_of(plugin, pod(cpu=1))["n"] == [
        "fragmentation stays at 0.400 GPUs, of 2.000 idle then",
        "strands no typical pod",
    ]
    (_, second, *stranded) = words_of(plugin, pod(cpu="7500m"))["n"]
    assert second == "strands 2 of 3 typical pods, 80.0 % of arrivals:"
    assert stranded == [
        "  1 CPU, 500m of a GPU (60.0 %) then lacks CPU",
        "  2 CPU, 2 GPUs T4 (20.0 %) then lacks CPU",
    ]


def test_typical_pods_come_from_the_arguments_the_cluster_or_what_runs() -> None:
    here = cluster(gpu_node("n", 2), gpu_pod("a", 300, cpu=1, node="n"))
    assert FGD(here, HALVES).typical_pods().shapes == (Shape(1000, 500, 1, ""),)
    assert FGD(here).typical_pods().shapes == (Shape(1000, 300, 1, ""),)
    here.typical_pods = TypicalPods((Shape(5, 5, 1, ""),), (1.0,))
    assert FGD(here).typical_pods().shapes == (Shape(5, 5, 1, ""),)


def test_new_typical_pods_change_remembered_scores() -> None:
    here = Cluster()
    here.load([gpu_node("n", 2)])
    position = here.node_journal.end
    here.typical_pods = TypicalPods((Shape(5, 5, 1, ""),), (1.0,))
    assert here.node_journal.since(position) is None


@pytest.mark.parametrize(
    ("typical", "path", "words"),
    [
        pytest.param({"gpuMilli": 500}, "gpuCount", "allowed: 1 or more", id="a share of no device"),
        pytest.param({"gpuCount": 1}, "gpuMilli", "allowed: 1 to 1000", id="nothing of a device"),
        pytest.param({"gpuCount": 2, "gpuMilli": 500}, "gpuMilli", "allowed: 1000", id="shares of several"),
        pytest.param({"gpuCount": 1, "gpuMilli": 1500}, "gpuMilli", "1000", id="more than a device"),
        pytest.param({"count": 0}, "count", "0", id="as many as none"),
    ],
)
def test_arguments_that_make_no_sense(typical: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        profile(cluster(), "FGD", args={"FGD": {"typicalPods": [typical]}})
    assert f"typicalPods[0].{path}" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("args", [HALVES, MIXED], ids=["one shape", "three"])
def test_it_keeps_its_word(args: FGDArgs) -> None:
    check_plugin(FGD, args=args, examples=gpu_situations(15, seed=3))


def test_equal_states_give_equal_numbers() -> None:
    """A node and its twin that came to the same state by another way do not differ in the last bit."""
    here = cluster([gpu_node("n", 2), gpu_node("twin", 2)], [gpu_pod("a", 310, index="1", node="n")])
    here.load([gpu_pod("b", 310, index="1", node="twin"), gpu_pod("c", 470, index="0", node="twin")])
    wanted = gpu_pod("x", 470)
    scores = raw_scores(FGD(here, MIXED), wanted)
    measure = here.fragmentation(FGD(here, MIXED).typical_pods())
    measure.refresh()
    assert isinstance(scores, dict)
    row = here.nodes.row_of["n"]
    after = measure.amounts_if(
        measure.tallies[[row]] + measure.per_device[530] - measure.per_device[1000],
        here.devices.left[[row]] - 470,
        measure.free_cpu(np.array([row])),
        here.devices.model[[row]],
    )
    assert after[0] == measure.amount[here.nodes.row_of["twin"]]

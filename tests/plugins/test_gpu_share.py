"""GpuShare: room on devices, which one a share gets, and what may help a pod it refused."""

from __future__ import annotations

from collections import Counter

import pytest

from fairway.cluster import Action, Resource
from fairway.model import Pod
from fairway.model.device_need import GPU_RESOURCE
from fairway.plugins.gpu_share import GpuShare, GpuShareArgs
from fairway.testing import check_plugin, cluster, node, pod
from tests.plugins.gpu_world import gpu_node, gpu_pod, gpu_situations
from tests.plugins.volume_verdicts import OK, helps, judge

NEVER, NOT_NOW = "UnschedulableAndUnresolvable", "Unschedulable"
BUSY = (NOT_NOW, "Insufficient idle GPUs")


def never(words: str) -> tuple[str, str]:
    return NEVER, f"node(s) {words}"


def short(words: str) -> tuple[str, str]:
    return NOT_NOW, f"node(s) had {words}"


@pytest.mark.parametrize(
    ("wanted", "full", "t4", "p100"),
    [
        pytest.param(gpu_pod(milli=300), short("no GPU with 300m left"), OK, OK, id="a share"),
        pytest.param(
            gpu_pod(milli=600),
            short("no GPU with 600m left"),
            short("no GPU with 600m left"),
            OK,
            id="shares do not add up",
        ),
        pytest.param(gpu_pod(count=2), BUSY, BUSY, OK, id="whole devices"),
        pytest.param(gpu_pod(count=4), *[never("had fewer than 4 GPUs")] * 3, id="more than any node has"),
        pytest.param(
            gpu_pod(milli=100, models="P100|A10"),
            never("didn't have GPU model P100 or A10"),
            never("didn't have GPU model P100 or A10"),
            OK,
            id="models",
        ),
        pytest.param(
            gpu_pod(milli=9, models="H100"), *[never("didn't have GPU model H100")] * 3, id="a model no node has"
        ),
        pytest.param(gpu_pod(milli=400, index="1"), short("too little left of GPU 1"), OK, OK, id="pinned"),
        pytest.param(
            gpu_pod(milli=450, index="0"),
            short("too little left of GPU 0"),
            short("too little left of GPU 0"),
            OK,
            id="pinned to what is too full",
        ),
        pytest.param(
            gpu_pod(milli=100, index="7"), *[never("had fewer than 8 GPUs")] * 3, id="pinned to what is not there"
        ),
    ],
)
def test_room_on_devices(wanted: Pod, full: object, t4: object, p100: object) -> None:
    placed = [gpu_pod(f"a{number}", 600, index=str(number), node="t4") for number in (0, 1)]
    placed.append(gpu_pod("b", count=2, index="0-1", node="full"))
    here = cluster([gpu_node("full"), gpu_node("t4"), gpu_node("p100", model="P100"), node("plain")], placed)
    expected = {"full": full, "t4": t4, "p100": p100, "plain": never("had no GPU")}
    assert judge(GpuShare(here), wanted) == expected


def test_pods_that_need_no_devices_or_make_no_sense() -> None:
    plugin = GpuShare(cluster(gpu_node("n")))
    assert judge(plugin, pod()) == "skip"
    words = (
        "the pod's alibabacloud.com/gpu-milli must be 1000 for 2 devices, not 500: only a single device can be shared"
    )
    assert judge(plugin, gpu_pod(milli=500, count=2)) == (NEVER, words)


def test_whole_gpus_of_either_kind_need_idle_devices() -> None:
    here = cluster(node("n", resources={GPU_RESOURCE: 2}), [gpu_pod("share", 10, index="0", node="n")])
    assert judge(GpuShare(here), pod(requests={GPU_RESOURCE: 1})) == {"n": OK}
    assert judge(GpuShare(here), pod(requests={GPU_RESOURCE: 2})) == {"n": (NOT_NOW, "Insufficient idle GPUs")}
    assert judge(GpuShare(here), gpu_pod(milli=995)) == {"n": OK}


@pytest.mark.parametrize(("choice", "expected"), [("best", 1), ("worst", 2)], ids=["least that is enough", "most"])
def test_the_device_of_a_share(choice: str, expected: int) -> None:
    placed = [gpu_pod("a", 600, index="0", node="n"), gpu_pod("b", 100, index="1", node="n")]
    here = cluster(gpu_node("n", 4), placed)
    plugin = GpuShare(here, GpuShareArgs(device_choice=choice))  # type: ignore[arg-type]
    wanted = gpu_pod("new", 500)
    here.assume(wanted, here.classify(wanted), 0)
    plugin.reserve(wanted, here.classify(wanted), 0)
    assert here.devices.indices_of("default/new") == (expected,)


def test_random_devices_are_all_tried_and_can_be_repeated() -> None:
    def chosen(name: str, seed: int) -> int:
        here = cluster(gpu_node("n", 4), gpu_pod("a", 900, index="2", node="n"))
        wanted = gpu_pod(name, 500)
        here.assume(wanted, here.classify(wanted), 0)
        GpuShare(here, GpuShareArgs(device_choice="random", seed=seed)).reserve(wanted, here.classify(wanted), 0)
        return here.devices.indices_of(wanted.metadata.uid)[0]

    tally = Counter(chosen(f"p{number}", 1) for number in range(300))
    assert tally.keys() == {0, 1, 3}
    assert min(tally.values()) > 60
    assert [chosen(f"p{number}", 1) for number in range(9)] == [chosen(f"p{number}", 1) for number in range(9)]
    assert [chosen(f"p{number}", 1) for number in range(9)] != [chosen(f"p{number}", 2) for number in range(9)]


@pytest.mark.parametrize("choice", ["worst", "random"])
def test_whole_and_pinned_pods_stay_where_they_are(choice: str) -> None:
    here = cluster(gpu_node("n", 4))
    plugin = GpuShare(here, GpuShareArgs(device_choice=choice))  # type: ignore[arg-type]
    for name, wanted in {"whole": gpu_pod("whole", count=2), "pinned": gpu_pod("pinned", 5, index="3")}.items():
        here.assume(wanted, here.classify(wanted), 0)
        plugin.reserve(wanted, here.classify(wanted), 0)
        assert here.devices.indices_of(f"default/{name}") == ((0, 1) if name == "whole" else (3,))


def test_what_may_help() -> None:
    plugin, wanted = GpuShare(cluster(gpu_node("n"))), gpu_pod(milli=300)
    assert helps(plugin, wanted, Resource.ASSIGNED_POD, Action.DELETE, gpu_pod("a", 5, node="n"))
    assert not helps(plugin, wanted, Resource.ASSIGNED_POD, Action.DELETE, pod("a", node="n"))
    held = gpu_pod("a", 900, node="n")
    assert helps(plugin, wanted, Resource.ASSIGNED_POD, Action.UPDATE, held, gpu_pod("a", 5, node="n"))
    assert not helps(plugin, wanted, Resource.ASSIGNED_POD, Action.UPDATE, held, gpu_pod("a", 900, node="n"))
    assert helps(plugin, wanted, Resource.NODE, Action.ADD, None, gpu_node("m"))
    assert not helps(plugin, wanted, Resource.NODE, Action.ADD, None, node("m"))
    assert helps(plugin, wanted, Resource.UNSCHEDULED_POD, Action.UPDATE, wanted, gpu_pod(milli=200))
    assert not helps(plugin, wanted, Resource.UNSCHEDULED_POD, Action.UPDATE, wanted, wanted)
    assert not helps(plugin, wanted, Resource.UNSCHEDULED_POD, Action.UPDATE, wanted, gpu_pod("another", 200))


@pytest.mark.parametrize("choice", ["best", "worst", "random"])
def test_it_keeps_its_word(choice: str) -> None:
    check_plugin(GpuShare, args=GpuShareArgs(device_choice=choice), examples=gpu_situations(15))  # type: ignore[arg-type]

"""The device table: booking, giving back, and what the world says against it."""

from __future__ import annotations

import pytest

from fairway.cluster import Cluster, Event, Verb, default_choice
from fairway.model import Pod
from fairway.model.device_need import GPU_RESOURCE, DeviceNeed, with_devices
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.plugins.gpu_world import gpu_node, gpu_pod


def place(where: Cluster, wanted: Pod, name: str) -> tuple[int, ...]:
    where.assume(wanted, where.classify(wanted), where.nodes.row_of[name])
    return where.devices.indices_of(wanted.metadata.uid)


def free(where: Cluster, name: str) -> list[int]:
    row = where.nodes.row_of[name]
    table = where.devices
    left: list[int] = table.free[row, : table.count[row]].tolist()
    assert table.left[row] == sum(left)
    assert table.most[row] == max(left, default=0)
    assert table.idle[row] == left.count(1000)
    assert all(0 <= amount <= 1000 for amount in left)
    assert not table.free[row, table.count[row] :].any()
    return left


@pytest.mark.parametrize(
    ("left", "need", "expected"),
    [
        pytest.param([1000, 400, 600], DeviceNeed(1, 400), (1,), id="least that is enough"),
        pytest.param([1000, 600, 600], DeviceNeed(1, 500), (1,), id="the first of equals"),
        pytest.param([1000, 300, 1000], DeviceNeed(1, 400), (0,), id="an idle one if need be"),
        pytest.param([1000, 300, 1000], DeviceNeed(2, 1000), (0, 2), id="whole ones are idle ones"),
        pytest.param([999, 1000], DeviceNeed(1, 1000), (1,), id="one whole"),
        pytest.param([300, 300], DeviceNeed(1, 400), None, id="shares do not add up"),
        pytest.param([1000], DeviceNeed(2, 1000), None, id="too few"),
        pytest.param([1000, 500], DeviceNeed(1, 400, (), (0,)), (0,), id="pinned"),
        pytest.param([1000, 300], DeviceNeed(1, 400, (), (1,)), None, id="pinned to what is full"),
        pytest.param([1000], DeviceNeed(1, 400, (), (4,)), None, id="pinned to what is not there"),
        pytest.param([], DeviceNeed(1, 400), None, id="no devices"),
    ],
)
def test_the_default_rule(left: list[int], need: DeviceNeed, expected: tuple[int, ...] | None) -> None:
    assert default_choice(left, need) == expected


def test_shares_and_whole_devices_on_one_node() -> None:
    here = cluster(gpu_node("n", 4))
    assert place(here, gpu_pod("a", 300), "n") == (0,)
    assert place(here, gpu_pod("b", 700), "n") == (0,)
    assert place(here, gpu_pod("c", count=2), "n") == (1, 2)
    assert free(here, "n") == [0, 0, 0, 1000]
    assert here.devices.used_milli == 3000
    here.forget("default/b")
    assert free(here, "n") == [700, 0, 0, 1000]
    assert here.devices.num_pods[0].sum() == 2


def test_whole_gpus_as_a_resource_and_shares_are_booked_alike() -> None:
    here = cluster(node("n", resources={GPU_RESOURCE: 2}))
    assert place(here, pod("whole", requests={GPU_RESOURCE: 1}), "n") == (0,)
    assert place(here, gpu_pod("share", 250), "n") == (1,)
    assert free(here, "n") == [0, 750]


def test_a_node_may_have_no_devices_and_pods_none_either() -> None:
    here = cluster([node("plain"), gpu_node("n", 2)])
    assert place(here, gpu_pod("lost", 300), "plain") == ()
    assert place(here, pod("modest"), "n") == ()
    assert free(here, "plain") == []
    assert free(here, "n") == [1000, 1000]
    assert here.devices.num_devices == 2


def test_pods_that_are_there_have_the_devices_they_name() -> None:
    here = cluster(gpu_node("n", 4), [gpu_pod("a", 300, index="2", node="n"), gpu_pod("b", 300, node="n")])
    assert here.devices.indices_of("default/a") == (2,)
    assert here.devices.indices_of("default/b") in ((2,), (0,))  # whoever was loaded first
    assert sum(free(here, "n")) == 3400


def test_too_many_on_a_device_are_booked_and_given_back() -> None:
    here = cluster(gpu_node("n", 2))
    for name in "abc":
        here.apply(Event(Verb.ADDED, gpu_pod(name, 600, index="1", node="n")))
    assert free(here, "n") == [1000, 0]
    here.apply(Event(Verb.DELETED, gpu_pod("b", 600, index="1", node="n")))
    assert free(here, "n") == [1000, 0]
    here.apply(Event(Verb.DELETED, gpu_pod("a", 600, index="1", node="n")))
    assert free(here, "n") == [1000, 400]


def test_the_world_has_the_last_word_on_devices() -> None:
    here = cluster(gpu_node("n", 2))
    wanted = gpu_pod("a", 300)
    assert place(here, wanted, "n") == (0,)
    here.apply(Event(Verb.MODIFIED, with_devices(gpu_pod("a", 300, node="n"), (1,))))
    assert here.devices.indices_of("default/a") == (1,)
    assert free(here, "n") == [1000, 700]
    here.apply(Event(Verb.MODIFIED, gpu_pod("a", 300, node="n", labels={"x": "y"})))  # says nothing: it stays there
    assert here.devices.indices_of("default/a") == (1,)


def test_a_node_gains_and_loses_devices() -> None:
    here = cluster(gpu_node("n", 2), gpu_pod("a", 300, index="1", node="n"))
    here.apply(Event(Verb.MODIFIED, gpu_node("n", 4)))
    assert free(here, "n") == [1000, 700, 1000, 1000]
    here.apply(Event(Verb.MODIFIED, gpu_node("n", 1)))
    assert free(here, "n") == [1000]
    here.apply(Event(Verb.MODIFIED, node("n")))
    assert here.devices.num_devices == here.devices.left_milli == 0
    here.apply(Event(Verb.MODIFIED, gpu_node("n", 2)))
    assert free(here, "n") == [1000, 700]


def test_pods_find_their_devices_again_when_their_node_comes_back() -> None:
    here = cluster(gpu_node("n", 2))
    place(here, gpu_pod("a", 300), "n")
    here.give_devices("default/a", (1,))
    here.apply(Event(Verb.DELETED, gpu_node("n", 2)))
    assert len(here.devices) == 0
    here.apply(Event(Verb.ADDED, gpu_node("n", 2)))
    assert here.devices.indices_of("default/a") == (1,)


def test_what_if_gives_everybody_back_the_devices_they_had() -> None:
    here = cluster(gpu_node("n", 3))
    for name, index in (("a", 2), ("b", 1), ("c", 0)):
        place(here, gpu_pod(name, 400), "n")
        here.give_devices(f"default/{name}", (index,))
    before = fingerprint(here)
    with here.what_if(rows_only=True):
        for name in "abc":
            here.remove(f"default/{name}")
        assert free(here, "n") == [1000, 1000, 1000]
        again = gpu_pod("b", 400)
        here.place(again, here.classify(again), 0)
        assert here.devices.indices_of("default/b") == (1,)  # where it was
        with here.what_if(rows_only=True):
            here.place(other := gpu_pod("new", count=2), here.classify(other), 0)
            assert free(here, "n") == [0, 600, 0]
        assert free(here, "n") == [1000, 600, 1000]
    assert differences(before, fingerprint(here)) == []


def test_the_class_of_a_bound_pod_does_not_depend_on_its_devices() -> None:
    here = cluster(gpu_node("n", 2))
    waiting = here.classify(gpu_pod("a", 300))
    assert here.classify(gpu_pod("b", 300, index="1", node="n"), bound=True) is waiting
    assert here.classify(gpu_pod("c", 300, index="1")) is not waiting  # it wants that very device
    assert waiting.devices == DeviceNeed(1, 300)


def test_absurd_wishes_of_bound_pods_take_no_room() -> None:
    made = cluster(node("a", resources={"nvidia.com/gpu": 2}))
    for number, index in enumerate(("900000000", "0-5000", "1024")):
        annotations = {"alibabacloud.com/gpu-index": index}
        requests = {"nvidia.com/gpu": 2_000_000 + number}
        made.apply(Event(Verb.ADDED, pod(f"p{number}", node="a", requests=requests, annotations=annotations)))
    assert made.devices.free.shape[1] == 2
    assert made.devices.num_pods.shape[1] <= 2

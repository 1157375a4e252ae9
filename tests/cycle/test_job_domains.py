"""Jobs whose members have to be near each other: which domain is taken, and what is said if none will do."""

from __future__ import annotations

import random  # noqa: TID251 - made-up cases
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import Pod
from fairway.testing import node, pod
from fairway.testing.group_builders import members, pod_group
from tests.cycle.job_worlds import attempt, places, world

RACK, ZONE = "example.com/rack", "example.com/zone"


def racked(name: str, rack: str, zone: str = "", **settings_: Any) -> Any:
    labels = {key: value for key, value in ((RACK, rack), (ZONE, zone)) if value}
    return node(name, labels=labels, **settings_)


def wishing(number: int, wish: str, **settings_: Any) -> list[Pod]:
    """So many members of a job of that topology."""
    told = {"fairway.dev/gang": "train", "fairway.dev/gang-size": str(number), "fairway.dev/gang-topology": wish}
    return [pod(f"train-{index}", annotations=told, **settings_) for index in range(number)]


def two_racks() -> list[Any]:
    return [
        *(racked(f"a{number}", "a", "z1", cpu=4) for number in range(3)),
        *(racked(f"b{number}", "b", "z1", cpu=4) for number in range(2)),
        racked("c0", "c", "z2", cpu=4),
        node("nowhere", cpu=64),
    ]


def told(decision: GroupDecision) -> tuple[GroupOutcome, str, str]:
    return decision.outcome, decision.level, decision.domain


def test_the_smallest_domain_with_room_is_taken() -> None:
    decision = attempt(world(*two_racks()), wishing(2, f"required={RACK}", cpu=4))
    assert told(decision) == (GroupOutcome.SCHEDULED, RACK, "b")
    assert set(places(decision).values()) == {"b0", "b1"}
    decision = attempt(world(*two_racks()), wishing(3, f"required={RACK}", cpu=4))
    assert told(decision) == (GroupOutcome.SCHEDULED, RACK, "a")
    assert decision.num_domains == 1


def test_the_label_of_a_pod_group_is_required() -> None:
    decision = attempt(world(*two_racks(), pod_group("train", 2, topology=RACK)), members(2, cpu=4))
    assert told(decision) == (GroupOutcome.SCHEDULED, RACK, "b")


def test_of_equal_domains_the_most_used_is_taken() -> None:
    busy = [pod("x", node="a2", cpu=4)]  # two more have room in either
    assert attempt(world(*two_racks(), *busy), wishing(2, f"required={RACK}", cpu=4)).domain == "a"
    busy += [pod("y", node="b0"), pod("z", node="b0")]
    assert attempt(world(*two_racks(), *busy), wishing(2, f"required={RACK}", cpu=4)).domain == "b"


def test_a_required_domain_that_is_nowhere_large_enough() -> None:
    profile = world(*two_racks(), pod("x", node="a0", cpu=3))
    decision = attempt(profile, wishing(3, f"required={RACK}", cpu=4))
    assert told(decision) == (GroupOutcome.UNSCHEDULABLE, RACK, "a")
    assert decision.message == (
        f"job default/train: 2 of 3 members fit in {RACK}=a; train-2 is short of cpu: "
        "0/3 nodes are available: 3 Insufficient cpu."
    )
    decision = attempt(profile, wishing(4, f"required={RACK}", cpu=4))
    assert decision.never_fits
    assert f"can never fit on these nodes: 3 of 4 members would fit in {RACK}=a if they were empty" in decision.message


def test_a_label_that_no_node_has() -> None:
    decision = attempt(world(*two_racks()), wishing(2, "required=nope"))
    assert decision.message == "job default/train: 0 of 2 members fit; train-0 fits nowhere: no node has the label nope"
    blocking = next(each for each in decision.members if each.pod.metadata.uid == decision.blocking)
    assert "NodeResourcesFit" in blocking.unschedulable_plugins


def test_what_is_preferred_gives_way_level_by_level() -> None:
    wish = f"preferred={RACK},{ZONE}"
    for number, expected in ((3, (RACK, "a")), (5, (ZONE, "z1")), (6, ("", ""))):
        decision = attempt(world(*two_racks()), wishing(number, wish, cpu=4))
        assert told(decision) == (GroupOutcome.SCHEDULED, *expected), number
    decision = attempt(world(*two_racks()), wishing(30, wish, cpu=4))
    assert told(decision) == (GroupOutcome.UNSCHEDULABLE, "", "")


def test_members_that_have_a_node_fix_the_domain() -> None:
    wish = f"required={RACK}"
    first, second, third = wishing(3, wish, cpu=4)
    told_ = dict(first.metadata.annotations)
    running = pod("train-9", annotations=told_, node="a0", cpu=1)
    decision = attempt(world(*two_racks(), running), [first, second])
    assert (decision.domain, sorted(places(decision).values())) == ("a", ["a1", "a2"])
    decision = attempt(world(*two_racks(), running, pod("x", node="a1", cpu=1)), [first, second, third])
    assert told(decision) == (GroupOutcome.UNSCHEDULABLE, RACK, "a")
    elsewhere = pod("train-8", annotations=told_, node="b0", cpu=1)
    decision = attempt(world(*two_racks(), running, elsewhere), [first])
    assert f"members run in more than one {RACK}: a, b" in decision.message
    lost = pod("train-7", annotations=told_, node="nowhere", cpu=1)
    assert (
        f"members run on nodes without the label {RACK}" in attempt(world(*two_racks(), lost), wishing(3, wish)).message
    )


def test_members_beyond_the_minimum_stay_in_the_domain_where_that_is_required() -> None:
    profile = world(*two_racks(), pod_group("train", 2, topology=RACK))
    decision = attempt(profile, members(4, cpu=4))
    assert list(places(decision).values()) == ["b0", "b1", "", ""]
    assert decision.members[-1].message == "0/2 nodes are available: 2 Insufficient cpu."
    annotations = {**wishing(2, f"preferred={RACK}")[0].metadata.annotations, "fairway.dev/gang-min": "2"}
    annotations["fairway.dev/gang-size"] = "4"
    pods = [pod(f"train-{number}", annotations=annotations, cpu=4) for number in range(4)]
    decision = attempt(world(*two_racks()), pods)
    assert (decision.domain, places(decision)["train-3"]) == ("b", "nowhere")


def test_so_many_domains_are_tried_and_no_more() -> None:
    """By amounts every rack will do; the port is taken in the small ones."""
    nodes = [racked(f"n{rack}{number}", f"r{rack}", cpu=rack + 2) for rack in range(4) for number in range(2)]
    taken = [pod(f"p{rack}", node=f"n{rack}0", ports=80) for rack in range(3)]
    pods = wishing(2, f"required={RACK}", cpu=1, ports=80)
    assert attempt(world(*nodes, *taken), pods).domain == "r3"
    decision = attempt(world(*nodes, *taken, domains=3), pods)
    assert (decision.outcome, decision.num_domains) == (GroupOutcome.UNSCHEDULABLE, 3)


# -- against a naive re-statement --------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_chosen_domain_is_the_smallest_that_works(seed: int) -> None:
    luck = random.Random(seed)
    free = {f"n{number}": luck.randint(1, 8) for number in range(luck.randint(2, 8))}
    racks = {name: f"r{luck.randint(0, 3)}" for name in free}
    cpu, number = luck.randint(1, 3), luck.randint(1, 6)
    taken = {name for name in free if luck.random() < 0.2}  # the port: what amounts do not tell
    objects: list[Any] = [racked(name, racks[name], cpu=free[name]) for name in free]
    objects += [pod(f"p-{name}", node=name, ports=80) for name in taken]
    decision = attempt(world(*objects), wishing(number, f"required={RACK}", cpu=cpu, ports=80))
    sums = {rack: sum(free[name] // cpu for name in free if racks[name] == rack) for rack in set(racks.values())}
    used = {rack: sum(racks[name] == rack for name in taken) for rack in sums}
    tried = sorted((rack for rack in sums if sums[rack] >= number), key=lambda rack: (sums[rack], -used[rack], rack))
    open_ = {rack: [n for n in free if racks[n] == rack and n not in taken and free[n] >= cpu] for rack in sums}
    expected = next((rack for rack in tried if len(open_[rack]) >= number), None)
    if expected is None:
        assert decision.outcome is GroupOutcome.UNSCHEDULABLE
        return
    assert (decision.outcome, decision.domain) == (GroupOutcome.SCHEDULED, expected)
    assert {racks[where] for where in places(decision).values()} == {expected}

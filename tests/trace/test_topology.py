"""Racks and servers: always the same, never across zones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.testing import node
from fairway.trace import RACK, SERVER, assign_racks
from fairway.trace.topology import places


def test_racks_are_filled_in_the_order_of_names() -> None:
    nodes = [node(f"n{index}") for index in (10, 2, 1, 9, 3)]
    placed = {one.name: one.metadata.labels for one in assign_racks(nodes, 2)}
    assert {name: labels[RACK] for name, labels in placed.items()} == {
        "n1": "rack-0",
        "n2": "rack-0",
        "n3": "rack-1",
        "n9": "rack-1",
        "n10": "rack-2",
    }
    assert placed["n2"][SERVER] == "rack-0-server-1"
    assert [one.name for one in assign_racks(nodes, 2)] == ["n10", "n2", "n1", "n9", "n3"]


def test_no_rack_stands_in_two_zones() -> None:
    zone = "topology.kubernetes.io/zone"
    found = places([("a", {zone: "z2"}), ("b", {zone: "z1"}), ("c", {zone: "z2"}), ("d", {})], 8)
    assert {name: place.rack for name, place in found.items()} == {
        "d": "rack-0",
        "b": "rack-1",
        "a": "rack-2",
        "c": "rack-2",
    }


names = st.lists(st.from_regex(r"[a-c]{0,2}[0-9]{0,3}-?[0-9]{0,2}", fullmatch=True), unique=True, max_size=30)


@given(names, st.randoms(use_true_random=False), st.integers(1, 5))
def test_the_order_of_the_nodes_does_not_matter(found: list[str], random: "st.Random", size: int) -> None:  # type: ignore[name-defined]
    shuffled = list(found)
    random.shuffle(shuffled)
    first = places([(name, {}) for name in found], size)
    assert places([(name, {}) for name in shuffled], size) == first
    racks = [place.rack for place in first.values()]
    assert all(racks.count(rack) <= size for rack in racks)
    assert len(set(racks)) == -(-len(found) // size)
    assert len({place.server for place in first.values()}) == len(found)


def test_a_rack_holds_something() -> None:
    with pytest.raises(ValueError, match="at least one server"):
        assign_racks([node("a")], 0)

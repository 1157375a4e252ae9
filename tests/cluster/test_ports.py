"""Host ports: a wildcard address collides with every address; a row's ports are a set."""

import pytest

from fairway.cluster import HostPort
from fairway.cluster.ports import PortTable

ANY = "0.0.0.0"


@pytest.mark.parametrize(
    ("taken", "wanted", "conflict"),
    [
        ((ANY, "TCP", 80), (ANY, "TCP", 80), True),
        ((ANY, "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), (ANY, "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        ((ANY, "TCP", 80), (ANY, "UDP", 80), False),
        ((ANY, "TCP", 80), (ANY, "TCP", 81), False),
    ],
    ids=["same", "wildcard taken", "wildcard wanted", "same address", "other address", "other protocol", "other port"],
)
def test_which_ports_collide(taken: tuple[str, str, int], wanted: tuple[str, str, int], conflict: bool) -> None:
    table = PortTable()
    table.add(3, [HostPort(*taken)])
    assert table.conflicts(3, [HostPort(*wanted)]) is conflict
    assert table.conflicts(3, [HostPort(ANY, "SCTP", 1), HostPort(*wanted)]) is conflict
    assert not table.conflicts(4, [HostPort(*wanted)])
    table.remove(3, [HostPort(*taken)])
    assert not table.conflicts(3, [HostPort(*wanted)])


def test_rows_are_found_by_protocol_and_number_at_any_address() -> None:
    table = PortTable()
    web, local = HostPort(ANY, "TCP", 80), HostPort("10.0.0.1", "TCP", 80)
    table.add(1, [web])
    table.add(2, [local])
    assert sorted(table.rows_using(web)) == sorted(table.rows_using(local)) == [1, 2]
    table.remove(1, [web])
    assert sorted(table.rows_using(web)) == [2]
    assert list(table.rows_using(HostPort(ANY, "UDP", 80))) == []


def test_a_port_held_twice_is_free_once_one_holder_leaves() -> None:
    table = PortTable()
    web = HostPort(ANY, "TCP", 80)
    table.add(1, [web])
    table.add(1, [web])
    table.remove(1, [web])
    assert not table.conflicts(1, [web])
    assert list(table.rows_using(web)) == []


def test_a_rows_ports_can_be_put_back() -> None:
    table = PortTable()
    web, dns = HostPort(ANY, "TCP", 80), HostPort(ANY, "UDP", 53)
    table.add(1, [web])
    before = table.taken(1)
    table.remove(1, [web])
    table.add(1, [dns])
    table.set(1, before)
    assert table.taken(1) == {web}
    assert (list(table.rows_using(web)), list(table.rows_using(dns))) == ([1], [])
    table.set(1, ())
    assert (table.taken(1), list(table.rows_using(web))) == (frozenset(), [])

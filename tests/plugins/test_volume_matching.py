"""The vectorised matching of claims equals the loop over nodes, claims and volumes that kube-scheduler runs."""

from __future__ import annotations

from time import process_time
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Nodes, Verb
from fairway.cluster.volumes.volume_columns import claim_class, volume_class
from fairway.model import Node, PersistentVolume, PersistentVolumeClaim
from fairway.model.selector import compile_node_selector
from fairway.plugins.volume_matching import match_claims
from fairway.plugins.volume_stock import NO_VOLUME
from fairway.testing import claim, node, volume

CLASSES = ("one", "two")
AFFINITIES = (
    (),
    ("disk=d1",),
    ("disk=d2",),
    ("disk in (d1,d3)",),
    ("zone=z1",),
    ("zone=z1", "disk=d2"),
    ("zone=z2,disk=d1",),
    ("!disk",),
    ("disk=never-seen",),
)
SIZES = ("1Gi", "2Gi", "3Gi", "1073741824500m", "1500m")

labels = st.fixed_dictionaries(
    {}, optional={"disk": st.sampled_from(("d1", "d2", "d3")), "zone": st.sampled_from(("z1", "z2"))}
)


@st.composite
def volumes(draw: st.DrawFn) -> PersistentVolume:
    return volume(
        f"v{draw(st.integers(0, 9))}",
        size=draw(st.sampled_from(SIZES)),
        storage_class=draw(st.sampled_from((CLASSES[0], *CLASSES))),
        claim=draw(st.sampled_from(("", "", "", "c0", "else"))),
        access=draw(st.sampled_from(("ReadWriteOnce", ("ReadWriteOnce", "ReadWriteMany")))),
        nodes=draw(st.sampled_from(AFFINITIES)),
    )


@st.composite
def claims(draw: st.DrawFn, number: int = 0) -> PersistentVolumeClaim:
    return claim(
        f"c{draw(st.integers(0, 3))}",
        size=draw(st.sampled_from(SIZES)),
        storage_class=draw(st.sampled_from(CLASSES)),
        access=draw(st.sampled_from(("ReadWriteOnce", "ReadWriteMany"))),
    )


def reaches(one: PersistentVolume, where: Node) -> bool:
    affinity = one.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return compile_node_selector(affinity.required).matches(where.metadata.labels, "")


def naive_choice(
    want: PersistentVolumeClaim, known: list[PersistentVolume], where: Node, taken: set[str]
) -> PersistentVolume | None:
    """One claim, one node: the volume that points at the claim, else the smallest that is free and fits."""
    request = want.spec.resources.requests["storage"]
    best: PersistentVolume | None = None
    for one in known:
        ref = one.spec.claim_ref
        points_here = ref is not None and (ref.namespace, ref.name) == (want.metadata.namespace, want.metadata.name)
        if (
            one.metadata.name in taken
            or volume_class(one) != claim_class(want)
            or (ref is not None and not points_here)
            or one.spec.capacity["storage"] < request
        ):
            continue
        if points_here:
            return one if reaches(one, where) else None
        if (
            reaches(one, where)
            and set(want.spec.access_modes) <= set(one.spec.access_modes)
            and (best is None or one.spec.capacity["storage"] < best.spec.capacity["storage"])
        ):
            best = one
    return best


def put(what: Cluster, known: dict[str, PersistentVolume], one: PersistentVolume, gone: bool) -> None:
    """Tell the cluster, and keep a plain list of what there is in the order it came."""
    name = one.metadata.name
    if gone:
        if known.pop(name, None) is not None:
            what.apply(Event(Verb.DELETED, one))
        return
    before = known.get(name)
    if before is not None and (
        volume_class(before) != volume_class(one) or before.spec.node_affinity != one.spec.node_affinity
    ):
        del known[name]  # comes to the end of the line, as one that is new
    known[name] = one
    what.apply(Event(Verb.MODIFIED if before is not None else Verb.ADDED, one))


@given(
    st.lists(labels, min_size=1, max_size=5),
    st.lists(st.tuples(volumes(), st.sampled_from((False, False, False, True))), max_size=40),
    st.lists(claims(), min_size=1, max_size=4),
)
def test_matching_equals_the_naive_loop(
    nodes: list[dict[str, str]], history: list[tuple[PersistentVolume, bool]], wants: list[PersistentVolumeClaim]
) -> None:
    what = Cluster()
    for number, own in enumerate(nodes):
        what.apply(Event(Verb.ADDED, node(f"n{number}", labels=own)))
    known: dict[str, PersistentVolume] = {}
    for one, gone in history:
        put(what, known, one, gone)
    view = Nodes(what)
    slots = match_claims(wants, view)
    for row in range(len(nodes)):
        taken: dict[str, set[str]] = {name: set() for name in CLASSES}
        for index, want in enumerate(wants):
            chosen = naive_choice(want, list(known.values()), view.objects[row], taken[claim_class(want)])
            expected = "" if chosen is None else chosen.metadata.name
            if chosen is not None:
                taken[claim_class(want)].add(chosen.metadata.name)
            assert found_name(what, want, int(slots[index][row])) == expected
        alone = match_claims(wants, Nodes(what, np.array([row], np.intp)))
        assert [int(found[0]) for found in alone] == [int(found[row]) for found in slots]


def found_name(what: Cluster, want: PersistentVolumeClaim, slot: int) -> str:
    if slot == NO_VOLUME:
        return ""
    found = what.storage.by_class[claim_class(want)].volumes[slot]
    assert found is not None
    return found.metadata.name


def test_local_disks_of_many_nodes_are_found_by_label() -> None:
    what = Cluster()
    for number in range(40):
        what.apply(Event(Verb.ADDED, node(f"n{number}")))
        for size in (2, 1):
            one: Any = volume(f"v{number}-{size}", size=f"{size}Gi", nodes=f"kubernetes.io/hostname=n{number}")
            what.apply(Event(Verb.ADDED, one))
    wants = [claim("c1"), claim("c2"), claim("c3")]
    slots = match_claims(wants, Nodes(what))
    for row, name in enumerate(what.nodes.names):
        suffix = name.removeprefix("n")
        found = [found_name(what, want, int(slots[index][row])) for index, want in enumerate(wants)]
        assert found == [f"v{suffix}-1", f"v{suffix}-2", ""]
    bound = msgspec.structs.replace(volume("v7-1", claim="else", nodes="kubernetes.io/hostname=n7"))
    what.apply(Event(Verb.MODIFIED, bound))
    row = what.nodes.row_of["n7"]
    assert found_name(what, wants[0], int(match_claims(wants[:1], Nodes(what))[0][row])) == "v7-2"


def test_many_claims_cost_what_each_costs() -> None:
    what = Cluster()
    for number in range(20):
        what.apply(Event(Verb.ADDED, node(f"n{number}", labels={"zone": f"z{number % 2}"})))
    for number in range(2000):
        what.apply(Event(Verb.ADDED, volume(f"v{number}", nodes=("", "zone=z0", "zone=z0,zone")[number % 3] or ())))
    spent = []
    for num_claims in (150, 1500):
        wants = [claim(f"c{number}") for number in range(num_claims)]
        begun = process_time()
        slots = match_claims(wants, Nodes(what))
        spent.append(process_time() - begun)
        found = [int(each[0]) for each in slots]
        assert len(set(found)) == num_claims
    assert spent[1] < 40 * spent[0]  # ten times as many; each beside each would be a hundred times as much


def test_volumes_that_come_and_go_leave_no_empty_slots_behind() -> None:
    what = Cluster()
    what.apply(Event(Verb.ADDED, node("n")))
    what.apply(Event(Verb.ADDED, volume("stays", size="9Gi", claim="else")))
    for number in range(1000):
        what.apply(Event(Verb.ADDED, volume(f"v{number}")))
        what.apply(Event(Verb.DELETED, volume(f"v{number}")))
    columns = what.storage.by_class["standard"]
    assert len(columns.volumes) < 20
    assert columns.bound_to(claim("else")) == [columns.slot_of["stays"]]


def test_a_volume_that_moves_is_found_in_its_new_place_only() -> None:
    what = Cluster()
    for name in ("n1", "n2"):
        what.apply(Event(Verb.ADDED, node(name)))
    want = claim("c")
    for name in ("n1", "n2", "n1"):
        what.apply(Event(Verb.MODIFIED, volume("v", nodes=f"kubernetes.io/hostname={name}")))
        slots = match_claims([want], Nodes(what))[0]
        found = {what.nodes.names[row] for row in range(2) if found_name(what, want, int(slots[row])) == "v"}
        assert found == {name}

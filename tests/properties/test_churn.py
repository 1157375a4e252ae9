"""Labels, resources, taints and pods come and go; a scheduler that saw all of it judges as one that just arrived.

Keys and resources are few, so that each is often had by no node at all, then by one again: columns, values, counters
and topologies end and begin anew under a profile that remembers. The naive other side is a cluster loaded afresh from
the objects that are there, with a profile that remembers nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Verb
from fairway.model import ApiObject, Node, Pod
from fairway.testing import node, pod
from fairway.testing.notation import near
from tests.cycle.profiles import profile
from tests.properties.test_caches import decided, inspected

KEYS = ("k0", "k1", "k2", "k3")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("", "1", "2")), max_size=3)
resources = st.dictionaries(st.sampled_from(("example.com/a", "example.com/b")), st.integers(1, 3), max_size=2)
taints = st.lists(st.sampled_from(("t0", "t1")), max_size=2, unique=True)
topologies = st.sampled_from((*KEYS, "node"))
selectors = st.sampled_from(("app=x", "app=y", "app", "job!=1"))


@st.composite
def nodes(draw: Any) -> Node:
    return node(
        f"n{draw(st.integers(0, 3))}",
        labels=draw(labels),
        resources=draw(resources),
        taints=[f"{key}=x:{draw(st.sampled_from(('NoSchedule', 'PreferNoSchedule')))}" for key in draw(taints)],
        features=draw(st.sampled_from(((), "RestartAllContainersOnContainerExits"))),
    )


@st.composite
def pods(draw: Any, name: str = "") -> Pod:
    terms = st.builds(near, selectors, topologies, weight=st.sampled_from((0, 0, 3)))
    wanted: dict[str, Any] = {
        "labels": draw(st.sampled_from(({}, {"app": "x"}, {"app": "y"}, {"app": "x", "job": "1"}))),
        "requests": draw(resources),
        "priority": draw(st.integers(0, 1)),
        "tolerates": draw(taints),
    }
    match draw(st.integers(0, 6)):
        case 0:
            wanted["node_selector"] = draw(labels)
        case 1:
            wanted["node_affinity"] = draw(st.sampled_from(("k0=1", "!k1", "k2,k3!=1", "k0 in (1,2),!k3", "k1>1")))
        case 2:
            wanted["affinity"] = draw(st.lists(terms, max_size=2))
        case 3:
            wanted["anti_affinity"] = draw(st.lists(terms, max_size=3))
        case 4:
            wanted["spread"] = draw(st.lists(topologies, max_size=2, unique=True))
        case 5:
            wanted["prefers_nodes"] = {"k0=1": 2, "k1": 1}
    if not name:
        name = f"p{draw(st.integers(0, 5))}"
        wanted["node"] = f"n{draw(st.integers(0, 3))}"
    return pod(name, **wanted)


def loaded(things: dict[tuple[str, str], ApiObject]) -> Cluster:
    made = Cluster()
    made.load(list(things.values()))
    return made


@settings(max_examples=80)
@given(st.data())
def test_whatever_came_and_went_it_is_judged_as_if_it_had_always_been_so(data: st.DataObject) -> None:
    live = Cluster()
    remembering = profile(live, defaults=True)
    judged = [data.draw(pods(f"judged-{number}")) for number in range(3)]
    there: dict[tuple[str, str], ApiObject] = {}
    for _ in range(data.draw(st.integers(3, 8))):
        for _ in range(data.draw(st.integers(1, 3))):
            thing = data.draw(st.one_of(nodes(), pods()))
            key = (thing.kind, thing.metadata.name)
            if key in there and data.draw(st.booleans()):
                live.apply(Event(Verb.DELETED, there.pop(key)))
                continue
            known = there.get(key)
            if isinstance(known, Pod) and isinstance(thing, Pod):  # a pod never changes its node
                thing = msgspec.structs.replace(
                    thing, spec=msgspec.structs.replace(thing.spec, node_name=known.spec.node_name)
                )
            live.apply(Event(Verb.ADDED if known is None else Verb.MODIFIED, thing))
            there[key] = thing
        for one in judged:
            fresh = profile(loaded(there), defaults=True, caching=False)
            assert inspected(remembering, one) == inspected(fresh, one)
            assert decided(remembering.decide(one)) == decided(fresh.decide(one))
    present = {key for thing in there.values() if isinstance(thing, Node) for key in thing.metadata.labels}
    assert all((key in live.nodes.labels) == (key in present) for key in KEYS)
    assert live.nodes.taint_values.num_held <= 1 + len(there)
    assert len(live.classes.label_sets) <= len(there) + len(judged)

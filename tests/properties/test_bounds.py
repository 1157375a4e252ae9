"""Memory follows what is there now, whatever came and went: nothing that people can name grows for ever.

Pods, nodes and everything else come and go, each unlike all others in all that it can say; afterwards no container that
the scheduler holds is larger than it was.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.cycle.answer_cache import MOST_DIGESTS
from fairway.model import Namespace, ObjectMeta, Pod, ReplicaSet, Service
from fairway.scheduler import Scheduler
from fairway.testing import cluster, node, pod
from fairway.testing.notation import near
from fairway.testing.storage_builders import claim, storage_class, volume
from tests.containers import sizes
from tests.test_scheduler import scheduler

JOURNAL_BYTES = 2 * 65_536 * 8
BOUNDED = {
    "AnswerCache._forgotten": MOST_DIGESTS,
    "Journal._rows": JOURNAL_BYTES,
    "LatestJournal._rows": JOURNAL_BYTES,
}
"""Containers that grow up to a limit of their own."""

NUM_NODES = 1500
"""Answers over so many rows are large, so that the room for them is full early."""


def told(made: Scheduler, *things: Any, verb: Verb = Verb.ADDED) -> None:
    for thing in things:
        made.observe(Event(verb, thing))


def everything(number: int) -> dict[str, Any]:
    """What makes a pod unlike all others."""
    return {
        "labels": {f"key-{number}": "x", "job": f"job-{number}", "app": "web"},
        "owner": f"ReplicaSet/owner-{number}",
        "annotations": {f"example.com/a{number}": "x"},
        "node_affinity": f"!absent-{number},disk!=disk-{number}",
        "tolerates": f"taint-{number}",
        "prefers_nodes": {f"rack=rack-{number}": 3},
        "affinity": near(f"app=web-{number}", f"topology-{number}", weight=2),
        "anti_affinity": [near(f"job=job-{number}", "node"), near(f"app=web,job=x-{number}", "zone")],
        "ports": 10_000 + number % 50_000,
        "images": f"image-{number}",
        "spread": "zone",
        "cpu": f"{1 + number}m",
    }


PECULIAR: dict[str, Any] = {
    "nothing": lambda number: {"labels": {"job": f"job-{number}"}},
    "a selector": lambda number: {"node_selector": {f"nobody-{number}": "x"}},
    "resources": lambda number: {"requests": {f"example.com/r{number}": 1}},
    "spread constraints": lambda number: {"spread": f"topology-{number}"},
    "required affinity": lambda number: {"affinity": near(f"app=a{number}", f"topology-{number}")},
    "claims": lambda number: {"claims": f"claim-{number}"},
    "a priority": lambda number: {"priority": number, "cpu": 1000},
    "gates": lambda number: {"gates": f"gate-{number}"},
    "everything": everything,
}


def come_and_go(made: Scheduler, number: int, peculiarity: str) -> None:
    """One pod with all that belongs to it, bound if it can be, and gone again."""
    name, space = f"p{number}", f"space-{number}"
    others = [
        Namespace(metadata=ObjectMeta(name=space, uid=space, labels={f"team-{number}": "x"})),
        Service(metadata=ObjectMeta(name=name, namespace=space, uid=f"service-{number}")),
        ReplicaSet(metadata=ObjectMeta(name=f"owner-{number}", namespace=space, uid=f"owner-{number}")),
        storage_class(f"class-{number}"),
        claim(f"claim-{number}"),
        volume(f"volume-{number}", storage_class=f"class-{number}"),
    ]
    passing = node(
        f"passing-{number}",
        zone=f"zone-{number}",
        labels={f"label-{number}": "x", "disk": f"disk-{number}"},
        resources={f"example.com/n{number}": 1},
        taints=[f"taint-{number}", "keep-out"],
        features=f"feature-{number}",
        images={f"image-{number}": 1},
    )
    told(made, *others, passing)
    one = pod(name, namespace=space, uid=name, **PECULIAR[peculiarity](number))
    told(made, one)
    made.run_until_idle()
    placed = made.cluster.pods.by_uid.get(name)
    last: Pod = one if placed is None else placed.pod
    told(made, last, passing, *reversed(others), verb=Verb.DELETED)
    world: Any = made.world
    world.bindings.clear()
    world.reports.clear()


@pytest.mark.parametrize("peculiarity", PECULIAR)
def test_what_came_and_went_leaves_nothing_behind(peculiarity: str) -> None:
    made = scheduler(*(node(f"n{number}", zone=f"z{number % 3}") for number in range(NUM_NODES)))
    told(made, *(pod(f"stays-{number}", uid=f"stays-{number}", labels={"app": "web"}) for number in range(3)))
    made.run_until_idle()
    taken = []
    for turn in range(4):
        for number in range(160):
            come_and_go(made, 1000 * turn + number, peculiarity)
        told(made, pod(f"again-{turn}", uid=f"again-{turn}", labels={"app": "web"}))  # who has to hear of all that
        made.run_until_idle()
        taken.append(sizes(made))
    before, after = taken[0], taken[-1]
    # What is swept now and then may be larger than at its smallest; what grows for ever is four times as large.
    grown = {
        name: tuple(each[name] for each in taken)
        for name in after
        if after[name] > 2.5 * before[name] + 40 and after[name] > BOUNDED.get(name, 0)
    }
    assert not grown


def test_classes_and_label_sets_end_with_their_pods() -> None:
    made = cluster(node("n"))
    pods = [pod(f"p{number}", node="n", labels={"job": str(number)}, anti_affinity="node") for number in range(50)]
    for one in pods:
        made.apply(Event(Verb.ADDED, one))
    assert (len(made.classes), len(made.classes.label_sets)) == (50, 50)
    assert made.counters.num_terms("anti_required") == 50
    for one in pods:
        made.apply(Event(Verb.DELETED, one))
    assert (len(made.classes), len(made.classes.label_sets)) == (0, 0)
    assert made.counters.num_terms("anti_required") == 0


def test_a_label_set_is_numbered_as_low_as_it_can_be() -> None:
    made = scheduler(node("n"))
    for number in range(20):
        one = pod(f"p{number}", uid=f"p{number}", node="n", labels={"job": str(number)})
        told(made, one)
        slot = made.cluster.pods.by_uid[f"p{number}"].slot
        assert made.cluster.pods.label_set[slot] <= 1
        told(made, msgspec.structs.replace(one), verb=Verb.DELETED)

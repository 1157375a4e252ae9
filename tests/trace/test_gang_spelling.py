"""Gangs of a synthetic workload, as their own users would write them: each is read back as the same gang."""

from __future__ import annotations

import msgspec
import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.model import Pod
from fairway.model.codec import convert
from fairway.model.group import GroupReading, GroupSpec
from fairway.trace import synthetic
from fairway.trace.synthetic_spec import SyntheticSpec, spec_problems

SPELLINGS = ("fairway", "kube", "coscheduling", "volcano", "koordinator", "pfnet")


def spec(spelling: str, prefix: str = "gang.example.com") -> SyntheticSpec:
    one = {"name": "train", "cpu": 1, "gang": 3, "gangSpelling": spelling, "gangPrefix": prefix}
    return convert({"arrivals": {"pattern": "even", "count": 2, "over": "2s"}, "classes": [one]}, SyntheticSpec)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_gang_is_read_back_in_every_spelling(spelling: str) -> None:
    workload = synthetic(spec(spelling), 0)
    cluster = Cluster()
    cluster.follow_groups(GroupReading(("gang.example.com",)))
    things = [arrival.object for arrival in workload.arrivals]
    assert workload.num_arrivals == len(things)
    for number, thing in enumerate(things):
        if isinstance(thing, Pod):
            meta = msgspec.structs.replace(thing.metadata, uid=str(number))
            cluster.groups.observe(msgspec.structs.replace(thing, metadata=meta))
        else:
            cluster.apply(Event(Verb.ADDED, thing))
    found = [cluster.groups.spec_of(group) for group in cluster.groups]
    assert [(one.min_count, one.key.name) for one in found if isinstance(one, GroupSpec)] == [
        (3, "pod-train-0"),
        (3, "pod-train-1"),
    ]
    assert [len(group) for group in cluster.groups] == [3, 3]


def test_pfnet_needs_to_know_what_its_annotations_begin_with() -> None:
    assert list(spec_problems(spec("pfnet", ""))) == [
        ("classes[0].gangPrefix", "missing; gangs of spelling pfnet are named by an annotation PREFIX-name")
    ]

"""What a cluster knows of datasets, and which of two groups it believes."""

from __future__ import annotations

import msgspec

from fairway.cluster import Action, Aspect, ClusterEvent, Event, Resource, Verb
from fairway.model.dataset import DataPlacement
from fairway.testing import cluster, dataset, dataset_internal


def test_objects_of_both_kinds_tell_of_one_dataset() -> None:
    what = cluster(objects=[dataset("a"), dataset_internal("a", gateways="n1", copies=["n1", "n2"])])
    known = what.datasets.find("default", "a")
    assert known is not None
    assert known.group == "datashim.io"
    assert known.gateways == (DataPlacement(key="kubernetes.io/hostname", value="n1"),)
    assert len(known.data_locations) == 2
    assert what.datasets.find("other", "a") is None
    assert list(what.datasets.keys()) == [("default", "a")]


def test_the_newer_group_wins_whoever_comes_first() -> None:
    old, new = dataset("a", provision="Failed", old_group=True), dataset("a")
    places = dataset_internal("a", gateways="n1", old_group=True)
    for order in ([old, new, places], [places, new, old]):
        known = cluster(objects=order).datasets.find("default", "a")
        assert known is not None
        assert known.dataset == new
        assert known.internal == places  # nobody newer tells where it is
        assert known.overruled == ("Dataset com.ie.ibm.hpsys",)


def test_when_the_newer_one_goes_the_older_one_is_believed_again() -> None:
    old, new = dataset("a", old_group=True), dataset("a")
    what = cluster(objects=[old, new])
    assert what.apply(Event(Verb.DELETED, new)) == [(ClusterEvent(Resource.DATASET, Action.DELETE), new, None)]
    known = what.datasets.find("default", "a")
    assert known is not None
    assert known.group == "com.ie.ibm.hpsys"
    what.apply(Event(Verb.DELETED, old))
    assert what.datasets.find("default", "a") is None
    what.apply(Event(Verb.DELETED, old))  # told twice


def test_changes_are_told_and_counted_and_repetitions_are_not() -> None:
    what = cluster()
    first, second = dataset_internal("a", gateways="n1"), dataset_internal("a", gateways="n2")
    counted = what.versions.of(Aspect.DATA)
    assert what.apply(Event(Verb.ADDED, first)) == [(ClusterEvent(Resource.DATASET_INTERNAL, Action.ADD), None, first)]
    again = msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, resource_version="7"))
    assert what.apply(Event(Verb.MODIFIED, again)) == []
    assert what.versions.of(Aspect.DATA) == counted + 1
    version = what.datasets.find("default", "a")
    assert what.apply(Event(Verb.MODIFIED, second))[0].event.action is Action.UPDATE
    after = what.datasets.find("default", "a")
    assert version is not None
    assert after is not None
    assert version.version != after.version
    assert what.versions.of(Aspect.DATA) == counted + 2


def test_five_thousand_datasets_are_found_by_name() -> None:
    names = [f"d{number}" for number in range(5000)]
    what = cluster(objects=[thing for name in names for thing in (dataset(name), dataset_internal(name, copies="n1"))])
    assert len(list(what.datasets.keys())) == 5000
    assert all(what.datasets.find("default", name) is not None for name in names)

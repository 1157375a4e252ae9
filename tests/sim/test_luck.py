"""Luck: independent, even, and the same every time."""

import datetime as dt

import msgspec
import numpy as np

from fairway.model import Pod
from fairway.sim.lifetime import lifetime_of
from fairway.sim.luck import Luck
from fairway.testing import pod

PARTS = Luck(1, "kubelets"), Luck(2, "kubelets"), Luck(1, "others")


def born(item: Pod, second: int) -> Pod:
    time = dt.datetime(2030, 1, 1, 0, 0, second, tzinfo=dt.UTC)
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, creation_timestamp=time))


def test_it_follows_from_the_seed_the_part_and_the_name() -> None:
    drawn = {luck.of(pod(name)) for luck in PARTS for name in ("a", "b")}
    assert len(drawn) == 6
    assert Luck(1, "kubelets").of(pod("a")) == PARTS[0].of(pod("a", cpu=7, priority=3))


def test_it_is_even_and_its_two_numbers_are_independent() -> None:
    numbers = np.array([PARTS[0].of(pod(f"p{number}")) for number in range(4000)])
    assert 0 <= numbers.min() < numbers.max() < 1
    for column in numbers.T:
        counts, _ = np.histogram(column, bins=10, range=(0, 1))
        assert counts.min() > 320
    assert abs(np.corrcoef(numbers.T)[0, 1]) < 0.05


def test_a_stateful_pod_that_comes_again_has_other_luck() -> None:
    stateful, other = (pod("db-0", owner=f"{kind}/db") for kind in ("StatefulSet", "ReplicaSet"))
    luck = PARTS[0]
    assert luck.of(born(stateful, 1)) == luck.of(born(stateful, 1))
    assert luck.of(born(stateful, 1)) != luck.of(born(stateful, 2))
    assert luck.of(born(other, 1)) == luck.of(born(other, 2))


def test_the_fates_of_pods_are_as_likely_as_they_say() -> None:
    notes = {"fairway.dev/fail-probability": "0.25", "fairway.dev/duration": "100"}
    lives = [lifetime_of(pod(f"p{number}", annotations=notes), PARTS[0]) for number in range(2000)]
    failed = [life.seconds for life in lives if life.fails]
    assert 420 < len(failed) < 580
    assert 40 < float(np.mean(failed)) < 60
    assert {life.seconds for life in lives if not life.fails} == {100.0}

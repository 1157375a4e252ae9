"""Workloads combined, scaled, cut and copied."""

import math
from collections.abc import Iterator

import pytest

from fairway.model import DecodeError, Namespace, ObjectMeta, PodTemplateSpec, ReplicaSet, ReplicaSetSpec
from fairway.testing import node, pod
from fairway.trace import Arrival, Arrivals, Workload, combine


def workload(name: str, *times: float, duration: str = "") -> Workload:
    annotations = {"fairway.dev/duration": duration, "fairway.dev/gang": name} if duration else {}
    arrivals = [Arrival(time, pod(f"{name}-{index}", annotations=annotations)) for index, time in enumerate(times)]
    return Workload(name=name, arrivals=arrivals, num_arrivals=len(arrivals))


def schedule(load: Workload) -> list[tuple[float, str]]:
    return [(one.time, one.object.metadata.name) for one in load.arrivals]


def test_combined_arrivals_are_in_order_and_ties_go_to_the_first() -> None:
    both = combine([workload("a", 0, 5, 9), workload("b", 0, 4, 9, 10)])
    expected = [(0, "a-0"), (0, "b-0"), (4, "b-1"), (5, "a-1"), (9, "a-2"), (9, "b-2"), (10, "b-3")]
    assert schedule(both) == expected
    assert schedule(both) == expected  # again
    assert both.num_arrivals == 7
    assert both.name == "a+b"


def test_combined_things_are_there_once() -> None:
    namespace = Namespace(metadata=ObjectMeta(name="x"))
    one = Workload(name="one", nodes=[node("n1")], objects=[namespace], problems=["p"], notes=["m"])
    two = Workload(name="two", nodes=[node("n1"), node("n2")], objects=[namespace], problems=["q"], num_arrivals=0)
    both = combine([one, two], name="both")
    assert [thing.metadata.name for thing in both.nodes] == ["n1", "n2"]
    assert both.objects == [namespace]
    assert (both.problems, both.notes, both.num_arrivals) == (["p", "q"], ["m"], None)


def test_two_nodes_of_one_name_are_an_error() -> None:
    one = Workload(name="one", nodes=[node("n1", cpu="1")])
    two = Workload(name="two", nodes=[node("n1", cpu="2")])
    with pytest.raises(DecodeError, match="two: Node n1: is another one than in one"):
        combine([one, two])


def test_scaled_in_time_and_duration() -> None:
    scaled = workload("a", 0, 10, duration="5m").scaled(time=0.1, durations=2)
    assert [one.time for one in scaled.arrivals] == [0, 1]
    assert {one.object.metadata.annotations["fairway.dev/duration"] for one in scaled.arrivals} == {"600"}


def test_durations_are_scaled_in_the_templates_of_controllers() -> None:
    template = PodTemplateSpec(metadata=ObjectMeta(annotations={"fairway.dev/duration": "10"}))
    owner = ReplicaSet(metadata=ObjectMeta(name="r"), spec=ReplicaSetSpec(template=template))
    (arrival,) = Workload(name="w", arrivals=[Arrival(0, owner)]).scaled(durations=3).arrivals
    assert arrival.object.spec.template.metadata.annotations == {"fairway.dev/duration": "30"}


@pytest.mark.parametrize("factor", [-1, math.nan, math.inf])
def test_factors_are_finite(factor: float) -> None:
    with pytest.raises(ValueError, match="factor"):
        workload("a", 0).scaled(time=factor)


def test_limited_takes_no_more_than_it_gives() -> None:
    taken = []

    def endless() -> Iterator[Arrival]:
        number = 0
        while True:
            taken.append(number)
            yield Arrival(number, pod(f"p{number}"))
            number += 1

    limited = Workload(name="w", arrivals=Arrivals(endless)).limited(3)
    assert schedule(limited) == [(0, "p0"), (1, "p1"), (2, "p2")]
    assert taken == [0, 1, 2]
    assert workload("a", 1, 2, 3).limited(2).num_arrivals == 2


def test_between_moves_the_beginning_of_time() -> None:
    assert schedule(workload("a", 0, 5, 7, 10).between(5, 10)) == [(0, "a-1"), (2, "a-2")]


def test_delayed() -> None:
    assert schedule(workload("a", 0, 5).delayed(3)) == [(3, "a-0"), (8, "a-1")]


def test_replicated_copies_have_names_and_gangs_of_their_own() -> None:
    copies = workload("a", 4, duration="1").replicated(3)
    assert schedule(copies) == [(4, "a-0"), (4, "a-0-copy-1"), (4, "a-0-copy-2")]
    gangs = [one.object.metadata.annotations["fairway.dev/gang"] for one in copies.arrivals]
    assert gangs == ["a", "a-copy-1", "a-copy-2"]
    assert copies.num_arrivals == 3

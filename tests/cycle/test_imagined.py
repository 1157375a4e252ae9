"""Imagining: pods on a row that are not there, or gone that are; and everything as before afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cluster import Cluster, PodClass
from fairway.cycle import Profile
from fairway.cycle.answers import Answers
from fairway.cycle.imagined import first_refusal, fits, imagined
from fairway.model import Pod
from fairway.plugin import Plugin, Refusal, Shortage
from fairway.testing import cluster, near, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import profile

NODES = (node("a", cpu=2, zone="z"), node("b", cpu=2, zone="z"))


def short_of_cpu(needed: int) -> Refusal:
    return Refusal(("Insufficient cpu",), shortages=(Shortage("cpu", needed),))


def answers_of(made: Profile, waiting: Pod) -> Answers:
    return made.answers(made.classify(waiting))


def made_of(what: Cluster, *pods: str | type[Plugin]) -> Profile:
    return profile(what, "NodePorts", "NodeResourcesFit", "InterPodAffinity", *pods)


def test_an_imagined_pod_takes_room_and_a_removed_one_gives_it() -> None:
    there = pod("there", node="a", cpu=1)
    what = cluster(NODES, there)
    answers = answers_of(made_of(what), pod(cpu=1))
    before = fingerprint(what)
    with imagined(answers, 0, added=[pod("ghost", cpu=1)]):
        assert first_refusal(answers, 0) == ("NodeResourcesFit", short_of_cpu(1000))
        assert not fits(answers, 0)
        assert fits(answers, 1)  # the other node is as it was
    assert first_refusal(answers, 0) is None
    with imagined(answers, 0, removed=[what.pods.by_uid[there.metadata.uid]]) as imagination:
        ghost = pod("ghost", cpu=1)
        imagination.add(ghost, what.classify(ghost))
        assert fits(answers, 0)
        imagination.add(there, what.classify(there, bound=True))
        assert not fits(answers, 0)
        imagination.remove(ghost, what.classify(ghost))
        assert fits(answers, 0)
    assert differences(before, fingerprint(what)) == []


def test_the_first_plugin_in_order_refuses() -> None:
    answers = answers_of(made_of(cluster(NODES)), pod(cpu=2, ports=80))
    with imagined(answers, 0, added=[pod("ghost", cpu=1, ports=80)]):
        assert first_refusal(answers, 0) == (
            "NodePorts",
            Refusal(("node(s) didn't have free ports for the requested pod ports",)),
        )
    with imagined(answers, 0, added=[pod("ghost", cpu=1)]):
        assert first_refusal(answers, 0) == ("NodeResourcesFit", short_of_cpu(2000))


def test_plugins_that_look_further_are_told() -> None:
    lonely = pod("lonely", labels={"app": "web"}, anti_affinity=near("app=web", "zone"))
    what = cluster(NODES)
    answers = answers_of(made_of(what), lonely)
    assert fits(answers, 1)
    with imagined(answers, 0, added=[pod("ghost", labels={"app": "web"})]):
        assert not fits(answers, 0)
        assert not fits(answers, 1)  # the same zone
    assert fits(answers, 0)
    assert fits(answers, 1)


class Diary(Plugin):
    """Writes down what it is told."""

    def pre_filter(self, pod: PodClass, nodes: Any) -> list[str]:
        return []

    def filter(self, pod: PodClass, nodes: Any, state: Any) -> Any:
        return super().filter(pod, nodes, state)

    def add_pod(self, pod: PodClass, state: list[str], other: Pod, other_class: PodClass, row: int) -> None:
        state.append(f"+{other.metadata.name}@{row}")

    def remove_pod(self, pod: PodClass, state: list[str], other: Pod, other_class: PodClass, row: int) -> None:
        state.append(f"-{other.metadata.name}@{row}")


def test_what_was_told_is_taken_back_in_the_reverse_order() -> None:
    there = pod("there", node="b", cpu=1)
    what = cluster(NODES, there)
    answers = answers_of(profile(what, Diary), pod())
    with imagined(answers, 1, [pod("x"), pod("y")], [what.pods.by_uid[there.metadata.uid]]) as imagination:
        imagination.remove(pod("x"), what.classify(pod("x")))
    told, taken_back = ["-there@1", "+x@1", "+y@1", "-x@1"], ["+x@1", "-y@1", "-x@1", "+there@1"]
    (part,) = answers.filters
    assert part.state == told + taken_back


def test_everything_is_as_before_even_if_something_breaks() -> None:
    there = pod("there", node="a", cpu=1, ports=80, labels={"app": "web"})
    what = cluster(NODES, there)
    answers = answers_of(made_of(what), pod(labels={"app": "web"}, anti_affinity="node"))
    before = fingerprint(what)
    with (
        pytest.raises(RuntimeError, match="broken"),
        imagined(answers, 0, [pod("x", ports=80)], [what.pods.by_uid[there.metadata.uid]]),
    ):
        raise RuntimeError("broken")
    assert differences(before, fingerprint(what)) == []
    assert not fits(answers, 0)
    assert fits(answers, 1)

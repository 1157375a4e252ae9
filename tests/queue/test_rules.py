from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from fairway.cluster import Cluster
from fairway.model import Pod
from fairway.plugin import Code, Hint, Plugin, Refusal
from fairway.queue import PreEnqueue, QueuedPod, QueueRules, priority_order, profile_name
from fairway.queue.rules import admit, common_order
from tests.queue.builders import NODE_ADDED, pod, waiting


def newest_first(queued: QueuedPod) -> tuple[float]:
    return (-queued.timestamp,)


def test_who_may_enter_is_asked_in_order_and_the_first_no_counts() -> None:
    asked: list[str] = []
    answers: dict[str, Refusal | None] = {"A": None, "B": Refusal(("not yet",)), "C": None}

    def asking(name: str) -> PreEnqueue:
        def answer(_: Pod) -> Refusal | None:
            asked.append(name)
            return answers[name]

        return answer

    rules = QueueRules(pre_enqueue={name: asking(name) for name in answers})
    queued = waiting(refused=["Fit"])

    assert not admit(queued, rules)
    assert asked == ["A", "B"]
    assert (queued.gating_plugin, queued.refusal) == ("B", Refusal(("not yet",)))
    assert queued.unschedulable_plugins == {"Fit", "B"}

    asked.clear()
    assert not admit(queued, rules)
    assert asked == ["B"]  # it is the one to ask first

    asked.clear()
    answers["B"], answers["C"] = None, Refusal(("nor now",))
    assert not admit(queued, rules)
    assert asked == ["B", "A", "C"]
    assert queued.gating_plugin == "C"
    assert queued.unschedulable_plugins == {"Fit", "B", "C"}

    answers["C"] = None
    assert admit(queued, rules)
    assert (queued.gating_plugin, queued.refusal) == ("", None)
    assert queued.unschedulable_plugins == {"Fit", "B", "C"}  # until the next attempt


def test_a_broken_plugin_keeps_the_pod_out_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(_: Pod) -> Refusal | None:
        raise LookupError("no such quota")

    queued = waiting("web")
    with caplog.at_level(logging.ERROR):
        assert not admit(queued, QueueRules(pre_enqueue={"Quota": breaks}))
    assert queued.refusal == Refusal(("LookupError: no such quota",), Code.ERROR)
    assert "Quota: pre_enqueue of pod default/web broke" in caplog.text


def test_rules_of_plugins() -> None:
    class Gate(Plugin):
        def pre_enqueue(self, pod: Pod) -> Refusal | None:
            return Refusal(("closed",))

        def events(self) -> Sequence[Hint]:
            return (Hint(NODE_ADDED),)

    class Scorer(Plugin):
        def events(self) -> Sequence[Hint]:
            return ()

    cluster = Cluster()
    rules = QueueRules.of([Gate(cluster), Scorer(cluster)])
    assert list(rules.pre_enqueue) == ["Gate"]
    assert rules.pre_enqueue["Gate"](pod("a")) == Refusal(("closed",))
    assert rules.hints == {"Gate": (Hint(NODE_ADDED),), "Scorer": ()}
    assert rules.sort_key is priority_order


@pytest.mark.parametrize(
    ("asked_for", "name"), [("", "default-scheduler"), ("batch", "batch")], ids=["the default", "by name"]
)
def test_profile_name(asked_for: str, name: str) -> None:
    assert profile_name(pod("a", profile=asked_for)) == name


def test_all_profiles_sort_alike() -> None:
    alike = {"a": QueueRules(sort_key=newest_first), "b": QueueRules(sort_key=newest_first)}
    assert common_order(alike) is newest_first
    with pytest.raises(ValueError, match="these do not: a, c"):
        common_order({"a": QueueRules(sort_key=newest_first), "c": QueueRules()})
    with pytest.raises(ValueError, match="at least one profile"):
        common_order({})

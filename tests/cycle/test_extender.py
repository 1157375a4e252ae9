"""Extenders in the cycle: who is asked what, and what their answers and failures lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.config import default_configuration
from fairway.config.configuration import ProfileConfig
from fairway.cycle import Decision, Extender, ExtenderError, Filtered, Outcome, Profile, Victims
from fairway.model import Node, Pod
from fairway.plugins.registry import REGISTRY
from fairway.queue.hints import Hints, Strategy
from fairway.queue.queued_pod import QueuedPod
from fairway.queue.rules import QueueRules
from fairway.testing import cluster, node, pod

Names = list[str]


@dataclass
class Service:
    """An extender of this process: says what the test wants, and notes what it was asked."""

    name: str = "http://extender"
    ignorable: bool = False
    keeps: Callable[[Names], Filtered] | None = None
    scores: Mapping[str, int] | None = None
    evicts: Callable[[Mapping[str, Victims]], dict[str, tuple[tuple[str, ...], int]]] | None = None
    broken: str = ""
    interest: bool = True
    asked: list[tuple[str, Names]] = field(default_factory=list)
    binds: bool = False

    @property
    def filters(self) -> bool:
        return self.keeps is not None

    @property
    def prioritizes(self) -> bool:
        return self.scores is not None

    @property
    def preempts(self) -> bool:
        return self.evicts is not None

    def is_interested(self, pod: Pod) -> bool:
        return self.interest

    def _ask(self, what: str, names: Names) -> None:
        self.asked.append((what, sorted(names)))
        if self.broken:
            raise ExtenderError(self.broken)

    def ask_filter(self, pod: Pod, nodes: Sequence[Node]) -> Filtered:
        names = [each.metadata.name for each in nodes]
        self._ask("filter", names)
        assert self.keeps is not None
        return self.keeps(names)

    def ask_prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, int]:
        self._ask("prioritize", [each.metadata.name for each in nodes])
        return self.scores or {}

    def ask_preempt(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, tuple[tuple[str, ...], int]]:
        self._ask("preempt", list(victims))
        assert self.evicts is not None
        return self.evicts(victims)

    def ask_bind(self, pod: Pod, node: str) -> None:
        raise AssertionError("the cycle does not bind")


def only(*names: str, **reasons: Mapping[str, str]) -> Callable[[Names], Filtered]:
    return lambda asked: Filtered(tuple(name for name in asked if name in names), **reasons)


def config() -> ProfileConfig:
    return default_configuration(REGISTRY).profiles[0]


def decide(what: Cluster, incoming: Pod, *extenders: Extender) -> Decision:
    return Profile(config(), what, tie_break="first", extenders=extenders).decide(incoming)


def three() -> Cluster:
    return cluster([node(name, cpu="4") for name in ("a", "b", "c")])


def test_nodes_that_remain_are_chosen_from() -> None:
    service = Service(keeps=only("b"))
    decision = decide(three(), pod(cpu="1"), service)
    assert (decision.outcome, decision.node, decision.via) == (Outcome.SCHEDULED, "b", "single")
    assert service.asked == [("filter", ["a", "b", "c"])]


def test_each_is_asked_about_what_the_one_before_left() -> None:
    one, two = Service(keeps=only("a", "b")), Service(keeps=only("b", "c"))
    assert decide(three(), pod(), one, two).node == "b"
    assert two.asked == [("filter", ["a", "b"])]


def test_nobody_is_asked_about_nothing() -> None:
    one, two = Service(keeps=only()), Service(keeps=only("a"))
    assert decide(three(), pod(), one, two).outcome is Outcome.UNSCHEDULABLE
    assert two.asked == []
    assert Service(keeps=only("a")).asked == []
    unfit = Service(keeps=only("a"))
    assert decide(three(), pod(cpu="9"), unfit).outcome is Outcome.UNSCHEDULABLE
    assert unfit.asked == []


def test_refusals_join_the_histogram_in_the_extenders_words() -> None:
    service = Service(
        keeps=only(failed={"a": "extender says no", "b": "extender says no"}, unresolvable={"c": "never"})
    )
    message = decide(three(), pod(), service).message
    assert message.startswith("0/3 nodes are available: 1 never, 2 extender says no.")
    assert message.endswith(
        "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
        "2 No preemption victims found for incoming pod."
    )


def test_reason_that_no_eviction_cures_takes_precedence() -> None:
    service = Service(keeps=only(failed={"a": "perhaps"}, unresolvable={"a": "never"}))
    message = decide(cluster([node("a")]), pod(), service).message
    assert message.startswith("0/1 nodes are available: 1 never.")


def test_refusals_of_plugins_and_extenders_stand_side_by_side() -> None:
    what = cluster([node("a", cpu="4"), node("b", cpu="1")])
    message = decide(what, pod(cpu="2"), Service(keeps=only(failed={"a": "no licence"}))).message
    assert message.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 no licence.")


def test_node_dropped_without_a_word_is_not_counted() -> None:
    decision = decide(three(), pod(), Service(keeps=only()))
    assert decision.message.startswith("0/3 nodes are available:")
    assert decision.unschedulable_plugins == {"Extender"}


@pytest.mark.parametrize(
    ("names", "blamed"), [((), True), (("a", "b", "c"), False)], ids=["refused all", "refused none"]
)
def test_extenders_are_blamed_only_for_what_they_refused(names: tuple[str, ...], blamed: bool) -> None:
    keeps = only(*names, failed={name: "no" for name in "abc" if name not in names})
    decision = decide(three(), pod(cpu="1" if blamed else "9"), Service(keeps=keeps))
    assert ("Extender" in decision.unschedulable_plugins) is blamed


def test_failure_of_an_extender_is_the_attempts() -> None:
    words = "failed filter with extender at URL http://h:1/filter, code 500"
    decision = decide(three(), pod(), Service(keeps=only("a"), broken=words))
    assert (decision.outcome, decision.message) == (Outcome.ERROR, words)
    assert decision.unschedulable_plugins == frozenset()


def test_ignorable_extender_that_fails_is_skipped() -> None:
    broken = Service(keeps=only("a"), broken="boom", ignorable=True)
    assert decide(three(), pod(), Service(keeps=only("c")), broken).node == "c"
    assert broken.asked == [("filter", ["c"])]


def test_extender_that_does_not_care_is_not_asked() -> None:
    service = Service(keeps=only(), scores={"b": 100}, interest=False)
    assert decide(three(), pod(), service).node == "a"
    assert service.asked == []


def test_scores_are_added() -> None:
    service = Service(scores={"c": 10})
    decision = decide(three(), pod(), service)
    assert decision.node == "c"
    assert service.asked == [("prioritize", ["a", "b", "c"])]
    assert decide(three(), pod(), Service(scores={"c": 10}), Service(scores={"b": 11})).node == "b"


def test_score_is_the_plugins_total_and_the_extenders() -> None:
    plain = decide(three(), pod()).score
    assert plain is not None
    assert decide(three(), pod(), Service(scores={"c": 10})).score == plain + 10


def test_a_single_node_is_not_scored() -> None:
    service = Service(keeps=only("b"), scores={"b": 1})
    decide(three(), pod(), service)
    assert [what for what, _ in service.asked] == ["filter"]


def test_failing_prioritizer_has_no_say() -> None:
    decision = decide(three(), pod(), Service(scores={"c": 10}, broken="boom"))
    assert (decision.outcome, decision.node) == (Outcome.SCHEDULED, "a")


def test_nominated_node_needs_the_extenders_consent() -> None:
    incoming = pod("p", nominated_node="b")
    assert decide(three(), incoming, Service(keeps=only("b"))).via == "nominated"
    decision = decide(three(), incoming, Service(keeps=only("a", "c")))
    assert (decision.node, decision.via) == ("a", "scores")


def test_failure_about_the_nominated_node_looks_at_the_others() -> None:
    service = Service(keeps=only("b"))
    seen = []

    def keeps(names: Names) -> Filtered:
        seen.append(names)
        if len(names) == 1:
            raise ExtenderError("busy")
        return Filtered(tuple(names))

    service.keeps = keeps
    assert decide(three(), pod("p", nominated_node="b"), service).outcome is Outcome.SCHEDULED
    assert seen == [["b"], ["a", "b", "c"]]


def test_pods_of_a_class_are_asked_about_each_time() -> None:
    service = Service(keeps=only())
    profile = Profile(config(), three(), extenders=(service,))
    for name in ("p", "q"):
        assert profile.decide(pod(name)).outcome is Outcome.UNSCHEDULABLE
    assert len(service.asked) == 2


def test_any_event_may_help_a_pod_that_an_extender_refused() -> None:
    what = three()
    profile = Profile(config(), what, extenders=(Service(keeps=only()),))
    hints = Hints({"default-scheduler": QueueRules({}, profile.hints())})
    queued = QueuedPod(pod=pod("p"), profile="default-scheduler", timestamp=0.0, sequence=1)
    queued.unschedulable_plugins = frozenset(("Extender",))
    for change in cluster().apply(Event(Verb.ADDED, node("z"))):
        assert hints.judge(queued, change) is Strategy.AFTER_BACKOFF
    assert "Extender" not in Profile(config(), what).hints()


# -- preemption --------------------------------------------------------------------------------------------------------


def crowded() -> Cluster:
    nodes = [node(name, cpu="1") for name in ("a", "b")]
    return cluster(nodes, [pod(f"low-{each.metadata.name}", cpu="1", node=each.metadata.name) for each in nodes])


def high() -> Pod:
    return pod("high", cpu="1", priority=10)


def chosen(decision: Decision) -> tuple[str, list[str]]:
    assert decision.preemption is not None
    victims = decision.preemption.chosen.victims if decision.preemption.chosen else ()
    return decision.preemption.nominated_node, [victim.metadata.name for victim in victims]


def test_candidates_may_be_struck_out() -> None:
    service = Service(evicts=lambda found: {"b": (tuple(each.metadata.uid for each in found["b"].pods), 0)})
    assert chosen(decide(crowded(), high(), service)) == ("b", ["low-b"])
    assert service.asked == [("preempt", ["a", "b"])]


def test_no_candidate_left_is_told() -> None:
    decision = decide(crowded(), high(), Service(evicts=lambda _: {}))
    assert chosen(decision) == ("", [])
    assert decision.message.endswith("preemption: no candidate node for preemption")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"a": ((), 0)}, 'preemption: expected at least one victim pod on node "a"'),
        ({"z": (("x",), 0)}, 'preemption: nodeinfo not found for node name "z"'),
        (
            {"a": (("x",), 0)},
            "preemption: extender: http://extender claims to preempt pod (UID: &{x}) on node: a, "
            "but the pod is not found on that node",
        ),
    ],
    ids=["no victims", "unknown node", "unknown pod"],
)
def test_nonsense_about_victims_is_told(answer: dict[str, tuple[tuple[str, ...], int]], words: str) -> None:
    decision = decide(crowded(), high(), Service(evicts=lambda _: answer))
    assert chosen(decision) == ("", [])
    assert decision.message.endswith(words)
    ignored = decide(crowded(), high(), Service(evicts=lambda _: answer, ignorable=True))
    assert chosen(ignored)[0] == ("" if "expected" in words else "a")


def test_failing_extender_ends_preemption_unless_ignorable() -> None:
    def evicts(found: Mapping[str, Victims]) -> dict[str, tuple[tuple[str, ...], int]]:
        return {}

    assert decide(crowded(), high(), Service(evicts=evicts, broken="boom")).message.endswith("preemption: boom")
    assert chosen(decide(crowded(), high(), Service(evicts=evicts, broken="boom", ignorable=True)))[0] == "a"

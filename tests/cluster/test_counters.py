"""Counters are exact whatever happens, shared while somebody refers to them, and gone afterwards."""

import gc

import pytest

from fairway.cluster import Cluster, Counter, Event, Requirement, Verb
from fairway.model import EVERYTHING, LabelSelector, LabelSelectorRequirement, PodAffinityTerm, parse_label_selector
from fairway.testing import cluster, near, node, pod

WEB: tuple[Requirement, ...] = ((frozenset({"default"}), parse_label_selector("app=web")),)
ZONE = "topology.kubernetes.io/zone"


def rows(counter: Counter, made: Cluster) -> dict[str, int]:
    return {name: int(counter.rows[row]) for name, row in made.nodes.row_of.items()}


def by_zone(counter: Counter, made: Cluster) -> dict[str, int]:
    zones: dict[str, int] = {}
    for row in made.nodes.row_of.values():
        labels = made.nodes.objects[row].metadata.labels  # type: ignore[union-attr]
        if ZONE in labels:
            zones[labels[ZONE]] = zones.get(labels[ZONE], 0) + int(counter.rows[row])
    return zones


def web(name: str, on: str, terminating: bool = False) -> Event:
    return Event(Verb.ADDED, pod(name, node=on, labels={"app": "web"}, terminating=terminating))


def test_pods_there_already_are_counted_at_once() -> None:
    made = cluster(
        [node("a", zone="x"), node("b", zone="y")],
        [
            pod("1", node="a", labels={"app": "web"}),
            pod("2", node="b", labels={"app": "web", "tier": "front"}),
            pod("3", node="b", labels={"app": "db"}),
            pod("4", node="b", labels={"app": "web"}, namespace="other"),
        ],
    )
    counter = made.counters.of_labels(WEB, skip_terminating=False)
    assert (rows(counter, made), counter.total) == ({"a": 1, "b": 1}, 2)
    assert by_zone(counter, made) == {"x": 1, "y": 1}
    anywhere = made.counters.of_labels(((None, parse_label_selector("app=web")),), skip_terminating=False)
    assert rows(anywhere, made) == {"a": 1, "b": 2}


def test_all_requirements_have_to_be_met() -> None:
    both = (*WEB, (None, parse_label_selector("tier")))
    made = cluster(
        node("a"), [pod("1", node="a", labels={"app": "web"}), pod("2", node="a", labels={"app": "web", "tier": "x"})]
    )
    assert made.counters.of_labels(both, skip_terminating=False).total == 1
    assert made.counters.of_labels((), skip_terminating=False).total == 2


def test_comings_and_goings_are_counted_and_marked() -> None:
    made = cluster([node("a", zone="x"), node("b", zone="y")])
    counter = made.counters.of_labels(WEB, skip_terminating=False)
    assert by_zone(counter, made) == {"x": 0, "y": 0}
    position = counter.journal.end
    made.apply(web("1", "a"))
    made.apply(web("2", "a"))
    made.apply(Event(Verb.ADDED, pod("3", node="b", labels={"app": "db"})))
    assert (rows(counter, made), by_zone(counter, made), counter.total) == ({"a": 2, "b": 0}, {"x": 2, "y": 0}, 2)
    changed = counter.journal.since(position)
    assert changed is not None
    assert changed.tolist() == [made.nodes.row_of["a"]]
    made.apply(Event(Verb.DELETED, pod("1", node="a")))
    assert (rows(counter, made), by_zone(counter, made), counter.total) == ({"a": 1, "b": 0}, {"x": 1, "y": 0}, 1)


def test_terminating_pods_are_left_out_where_asked() -> None:
    made = cluster(node("a"))
    every = made.counters.of_labels(WEB, skip_terminating=False)
    staying = made.counters.of_labels(WEB, skip_terminating=True)
    assert every is not staying
    made.apply(web("1", "a"))
    made.apply(web("1", "a", terminating=True))
    assert (every.total, staying.total) == (1, 0)
    made.apply(Event(Verb.DELETED, pod("1", node="a", terminating=True)))
    assert (every.total, staying.total) == (0, 0)
    made.apply(web("2", "a", terminating=True))
    assert (every.total, staying.total) == (1, 0)


def test_domains_follow_the_labels_of_nodes() -> None:
    made = cluster([node("a", zone="x"), node("b")])
    counter = made.counters.of_labels(WEB, skip_terminating=False)
    made.apply(web("1", "a"))
    made.apply(web("2", "b"))
    assert by_zone(counter, made) == {"x": 1}  # a node without the label is in no domain
    made.apply(Event(Verb.MODIFIED, node("b", zone="new")))
    assert by_zone(counter, made) == {"x": 1, "new": 1}
    made.apply(Event(Verb.MODIFIED, node("a", zone="new")))
    assert by_zone(counter, made) == {"new": 2}
    made.apply(Event(Verb.DELETED, node("b")))
    assert by_zone(counter, made) == {"new": 1}
    made.apply(Event(Verb.ADDED, node("b", zone="x")))
    assert by_zone(counter, made) == {"x": 1, "new": 1}


def test_a_pod_that_changes_its_labels_moves_from_counter_to_counter() -> None:
    made = cluster(node("a"), pod("1", node="a", labels={"app": "db"}))
    counter = made.counters.of_labels(WEB, skip_terminating=False)
    made.apply(Event(Verb.MODIFIED, pod("1", node="a", labels={"app": "web"})))
    assert counter.total == 1
    made.apply(Event(Verb.MODIFIED, pod("1", node="a")))
    assert counter.total == 0


def test_equal_questions_share_one_counter_while_anybody_holds_it() -> None:
    made = cluster(node("a"), pod("1", node="a", labels={"app": "web"}))
    first = made.counters.of_labels(WEB, skip_terminating=False)
    assert made.counters.of_labels(WEB, skip_terminating=False) is first
    assert first in made.counters.in_use()
    del first
    gc.collect()
    assert made.counters.in_use() == []
    made.apply(web("2", "a"))
    assert made.counters.of_labels(WEB, skip_terminating=False).total == 2


def test_counters_grow_with_the_cluster() -> None:
    made = cluster(1)
    counter = made.counters.of_labels(WEB, skip_terminating=False)
    for number in range(40):
        made.apply(Event(Verb.ADDED, node(f"n{number}", zone=f"z{number % 3}")))
        made.apply(web(f"p{number}", f"n{number}"))
    assert len(counter.rows) == made.nodes.capacity
    assert by_zone(counter, made) == {"z0": 14, "z1": 13, "z2": 13}


def test_pods_are_counted_by_the_terms_they_carry() -> None:
    made = cluster(
        [node("a"), node("b")],
        [
            pod("1", node="a", labels={"app": "web"}, anti_affinity="node"),
            pod("2", node="b", labels={"app": "web"}, anti_affinity="node"),
            pod("3", node="b", labels={"app": "web"}, affinity=near("app=db", "zone", weight=5)),
        ],
    )
    ((term, counter),) = made.counters.terms("anti_required")
    assert term.selector.matches({"app": "web"})
    assert (rows(counter, made), counter.total) == ({"a": 1, "b": 1}, 2)
    ((preferred, other),) = made.counters.terms("affinity_preferred")
    assert (preferred.weight, rows(other, made)) == (5, {"a": 0, "b": 1})
    assert made.counters.terms("affinity_required") == made.counters.terms("anti_preferred") == []


def test_new_terms_are_noticed() -> None:
    made = cluster(node("a"), pod("1", node="a", anti_affinity="node"))
    version = made.counters.terms_version
    made.apply(Event(Verb.ADDED, pod("2", node="a", anti_affinity="node", cpu=1)))  # another class, the same term
    assert made.counters.terms_version == version
    made.apply(Event(Verb.ADDED, pod("3", node="a", anti_affinity="zone")))
    assert made.counters.terms_version > version


def test_a_pod_that_can_not_be_read_does_not_upset_the_counting_of_others() -> None:
    made = cluster(node("a"))
    counter = made.counters.of_labels(((None, EVERYTHING),), skip_terminating=False)
    unreadable = LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="Near"),))
    term = PodAffinityTerm(topology_key="zone", label_selector=unreadable)
    with pytest.raises(ValueError, match="'Near' is not one of"):
        made.classify(pod("broken", labels={"app": "new"}, affinity=term))
    for number, labels in enumerate(({"app": "new"}, {"app": "newer"}, {"app": "newest"})):
        made.apply(Event(Verb.ADDED, pod(f"p{number}", node="a", labels=labels)))
        assert counter.total == number + 1

"""Selectors and label sets that find each other, beside two loops that compare each with each."""

from __future__ import annotations

from collections import Counter as Tally
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Requirement, Verb
from fairway.cluster.counters import MANY_TERMS, Counter
from fairway.cluster.label_set_index import MANY_LABELS, LabelSetIndex
from fairway.cluster.pod_class import LabelSet
from fairway.cluster.selector_index import SelectorIndex
from fairway.model import Pod
from fairway.model.selector import Requirement as Line
from fairway.model.selector import Selector
from fairway.testing import node, pod
from tests.containers import sizes

KEYS, VALUES = ("a", "b", "c"), ("", "1", "2", "30")
HUGE = {f"k{number}": "x" for number in range(MANY_LABELS)}
lines = st.one_of(
    st.builds(
        Line,
        st.sampled_from(KEYS),
        st.sampled_from(("In", "In", "NotIn")),
        st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True).map(lambda found: tuple(sorted(found))),
    ),
    st.builds(Line, st.sampled_from((*KEYS, "k7")), st.sampled_from(("Exists", "DoesNotExist"))),
    st.builds(Line, st.sampled_from(KEYS), st.sampled_from(("Gt", "Lt")), st.just(("2",))),
)
selectors = st.builds(Selector, st.lists(lines, max_size=3, unique=True).map(lambda found: tuple(sorted(found))))
label_maps = st.builds(
    lambda few, more: {**few, **more},
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
    st.sampled_from(({}, {}, {}, HUGE)),
)
spaces = st.sampled_from(("x", "y"))
requirements = st.tuples(st.none() | st.frozensets(spaces), selectors)


def naive(line: Line, labels: dict[str, str]) -> bool:
    value = labels.get(line.key)
    match line.operator:
        case "In":
            return value in line.values
        case "NotIn":
            return value not in line.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    if not value:
        return False
    return int(value) > int(line.values[0]) if line.operator == "Gt" else int(value) < int(line.values[0])


def selected(selector: Selector, labels: dict[str, str]) -> bool:
    return all(naive(line, labels) for line in selector.requirements)


@given(st.lists(selectors, max_size=12), label_maps)
def test_labels_find_every_selector_that_selects_them_once(known: list[Selector], labels: dict[str, str]) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for number, selector in enumerate(known):
        index.add(selector.requirements, number)
    found = index.find(labels)
    assert len(set(found)) == len(found)
    wanted = [number for number, selector in enumerate(known) if selected(selector, labels)]
    assert sorted(number for number in found if selected(known[number], labels)) == wanted
    assert all(numbers == sorted(numbers) for numbers in index.lists(labels))


@given(st.lists(label_maps, max_size=12), selectors)
def test_a_selector_finds_every_label_set_that_it_selects_once(known: list[Any], selector: Selector) -> None:
    index = LabelSetIndex()
    alive = [LabelSet(number, "x", labels, []) for number, labels in enumerate(known)]
    for each in alive:
        index.add(each, len(alive))
    found = [each.id for each in index.find(selector.requirements)]
    assert len(set(found)) == len(found)
    wanted = [number for number, labels in enumerate(known) if selected(selector, labels)]
    assert sorted(number for number in found if selected(selector, known[number])) == wanted


def test_only_what_has_something_in_common_is_looked_at() -> None:
    index: SelectorIndex[int] = SelectorIndex()
    sets = LabelSetIndex()
    alive = [LabelSet(number, "x", {"app": "web", "job": str(number)}, []) for number in range(100)]
    for number, each in enumerate(alive):
        index.add((Line("app", "In", ("web",)), Line("job", "In", (str(number),))), number)
        sets.add(each, len(alive))
    assert len(index.find({"app": "web", "job": "7"})) <= 2  # the first one is found by whatever it says first
    assert index.find({"app": "db"}) == []
    wanted = (Line("app", "Exists"), Line("job", "In", ("7", "8")))
    assert [each.id for each in sets.find(wanted)] == [7, 8]
    assert sets.find((Line("nobody", "Exists"),)) == []


def test_label_sets_that_are_no_more_are_forgotten() -> None:
    sets = LabelSetIndex()
    for number in range(1000):
        sets.add(LabelSet(number, "x", {f"k{number}": "x"}, []), 1)
    assert 0 < sizes(sets)["LabelSetIndex._all"] < 100
    assert 0 < sizes(sets)["LabelSetIndex._by_key"] < 400  # keys, values and lists of one each


def expected(counted: Any, pods: dict[str, Pod]) -> Tally[str]:
    """By node, how often pods count."""
    tally: Tally[str] = Tally()
    for one in pods.values():
        tally[one.spec.node_name] += counted(one)
    return +tally


def counts(made: Cluster, counters: list[Counter]) -> Tally[str]:
    return +Tally({name: sum(int(each.rows[row]) for each in counters) for name, row in made.nodes.row_of.items()})


def times(one: Pod, wanted: list[Requirement]) -> int:
    return sum(
        (spaces is None or one.metadata.namespace in spaces) and selected(selector, dict(one.metadata.labels))
        for spaces, selector in wanted
    )


@given(st.data())
def test_counters_agree_with_a_loop_over_all_pods(data: st.DataObject) -> None:
    made = Cluster()
    made.load([node("n0"), node("n1")])
    filler: Requirement = (None, Selector((Line("nobody", "Exists"),)))
    pods: dict[str, Pod] = {}
    sums: list[tuple[list[Requirement], list[Counter]]] = []
    every: list[tuple[list[Requirement], Counter]] = []
    for number in range(data.draw(st.integers(1, 12))):
        match data.draw(st.integers(0, 4)):
            case 0:
                wanted = data.draw(st.lists(requirements, min_size=1, max_size=4))
                wanted += [filler] * data.draw(st.sampled_from((0, MANY_TERMS)))
                sums.append((wanted, made.counters.of_each(tuple(wanted))))
            case 1:
                wanted = data.draw(st.lists(requirements, max_size=3))
                every.append((wanted, made.counters.of_labels(tuple(wanted), skip_terminating=False)))
            case 2 if pods:
                made.apply(Event(Verb.DELETED, pods.pop(data.draw(st.sampled_from(sorted(pods))))))
            case _:
                name, space = f"p{number}", data.draw(spaces)
                place = data.draw(st.sampled_from(("n0", "n1")))
                pods[name] = pod(name, namespace=space, labels=data.draw(label_maps), node=place)
                made.apply(Event(Verb.ADDED, pods[name]))
    for wanted, counters in sums:
        assert counts(made, counters) == expected(lambda one, w=wanted: times(one, w), pods)
    for wanted, counter in every:
        assert counts(made, [counter]) == expected(lambda one, w=wanted: times(one, w) == len(w), pods)

"""What `why` says of random pods on random clusters, against each node asked alone by plain rules."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.config import default_configuration
from fairway.explain.explanation import Explanation
from fairway.explain.explanation_text import SHOWN, answer_lines, node_lines
from fairway.explain.fixes import fix_document, fix_line
from fairway.explain.manifests import Manifests
from fairway.explain.relaxations import relaxations
from fairway.explain.trial import Trial
from fairway.kinds.controllers import wanted_by
from fairway.model import ApiObject, Loaded, Node, ObjectMeta, Pod, PriorityClass, Source
from fairway.plugins.registry import REGISTRY
from fairway.testing import node, pod

CONFIGURATION = default_configuration(REGISTRY)
SOURCE = Source("test")
CORDON = "node.kubernetes.io/unschedulable"

NODES = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.integers(1, 6),
            "cordoned": st.sampled_from([False, False, False, True]),
            "taint": st.sampled_from(["", "", "", "team=red:NoSchedule", "gpu:NoSchedule"]),
            "disk": st.sampled_from(["ssd", "hdd", "nvme"]),
            "load": st.integers(0, 4),  # cpus of a pod that runs there
        }
    ),
    min_size=1,
    max_size=14,
)
WISHES = st.fixed_dictionaries(
    {
        "cpu": st.integers(1, 7),
        "disk": st.sampled_from([None, None, "ssd", "tape"]),
        "tolerates": st.sampled_from([(), (), "team=red:NoSchedule"]),
        "priority": st.sampled_from([0, 0, 100]),
    }
)
Drawn = dict[str, Any]


def nodes_of(drawn: list[Drawn]) -> list[Node]:
    return [
        node(
            f"n{number}",
            cpu=one["cpu"],
            unschedulable=one["cordoned"],
            taints=one["taint"] or (),
            labels={"disk": one["disk"]},
        )
        for number, one in enumerate(drawn)
    ]


def explain(drawn: list[Drawn], wish: Drawn) -> tuple[Trial, Explanation]:
    """A cluster in which some run already, and one pod to place."""
    running = [
        pod(f"running-{number}", cpu=min(one["load"], one["cpu"]), node=f"n{number}", priority=5)
        for number, one in enumerate(drawn)
        if one["load"]
    ]
    asked = pod(
        "asked",
        cpu=wish["cpu"],
        node_selector={} if wish["disk"] is None else {"disk": wish["disk"]},
        tolerates=wish["tolerates"],
        priority=wish["priority"],
    )
    important = PriorityClass(metadata=ObjectMeta(name="important"), value=1000)
    things: list[ApiObject] = [*nodes_of(drawn), *running, important]
    objects = [Loaded(thing, SOURCE) for thing in things]
    trial = Trial(Manifests(objects, [wanted_by(asked, SOURCE, ())], ()), CONFIGURATION, seed=1)
    ((first, wanted),) = trial.queue()
    return trial, Explanation.of_trial(trial, first, wanted)


def is_tolerated(asked: Pod, key: str, value: str, effect: str) -> bool:
    return any(
        one.key in ("", key) and one.effect in ("", effect) and (one.operator == "Exists" or one.value == value)
        for one in asked.spec.tolerations
    )


def is_chosen(asked: Pod, labels: dict[str, str]) -> bool:
    """By its selector, and by one of the terms of its affinity."""
    if any(labels.get(key) != value for key, value in asked.spec.node_selector.items()):
        return False
    affinity = asked.spec.affinity.node_affinity if asked.spec.affinity else None
    if affinity is None or affinity.required_during_scheduling_ignored_during_execution is None:
        return True
    terms = affinity.required_during_scheduling_ignored_during_execution.node_selector_terms
    for term in terms:
        assert all(one.operator == "In" for one in term.match_expressions)
        if all(labels.get(one.key) in one.values for one in term.match_expressions):
            return True
    return False


def fitting(drawn: list[Drawn], asked: Pod) -> set[str]:
    """The nodes that a pod fits on, each looked at alone."""
    found = set()
    for number, (one, thing) in enumerate(zip(drawn, nodes_of(drawn), strict=True)):
        needed = asked.spec.containers[0].resources.requests["cpu"].milli
        free = (one["cpu"] - min(one["load"], one["cpu"])) * 1000
        bears_cordon = not one["cordoned"] or is_tolerated(asked, CORDON, "", "NoSchedule")
        bears_taints = all(is_tolerated(asked, taint.key, taint.value, taint.effect) for taint in thing.spec.taints)
        if bears_cordon and bears_taints and is_chosen(asked, thing.metadata.labels) and needed <= free:
            found.add(f"n{number}")
    return found


@given(NODES, WISHES)
@settings(max_examples=80)
def test_the_answer_is_what_nodes_asked_alone_say(drawn: list[Drawn], wish: Drawn) -> None:
    _, about = explain(drawn, wish)
    expected = fitting(drawn, about.pod)
    assert set(about.inspection.feasible) == expected
    assert (about.verdict.result == "scheduled") == bool(expected)
    if expected:
        assert about.verdict.node in expected
    rows = about.node_rows()
    assert {row["node"] for row in rows if row["fits"]} == expected
    assert len(rows) == len(drawn)
    assert sum(step.num_refused for step in about.funnel) == len(drawn) - len(expected)
    document = about.document(rows)
    assert (document["nodes"], document["feasible"]) == (len(drawn), len(expected))
    for row, node_document in zip(rows, document["perNode"], strict=True):
        one = drawn[int(row["node"][1:])]
        amounts = {part["name"]: part for part in node_document["resources"]}
        held = min(one["load"], one["cpu"])
        assert amounts["cpu"]["free"] == (one["cpu"] - held) * 1000
        assert amounts["cpu"]["needed"] == wish["cpu"] * 1000
        assert amounts["pods"]["free"] == 110 - bool(one["load"])
        if row["fits"] and about.inspection.totals:
            assert sum(node_document["scores"].values()) == row["total"]
        assert bool(row["reasons"]) == (not row["fits"])
        assert (node_document["group"] is None) == row["fits"]
    for number, step in enumerate(document["funnel"]):
        for place, group in enumerate(step["reasons"]):
            there = [one["node"] for one in document["perNode"] if one["group"] == (number, place)]
            assert len(there) == group["nodes"]
            assert all(one["plugin"] == step["plugin"] for one in document["perNode"] if one["node"] in there)


@given(NODES, WISHES)
@settings(max_examples=80)
def test_every_fix_works_and_none_is_left_out(drawn: list[Drawn], wish: Drawn) -> None:
    trial, about = explain(drawn, wish | {"priority": 0})
    if about.verdict.result != "unschedulable":
        assert about.fixes == []
        return
    profile = trial.profile_of(about.pod)
    assert profile is not None
    assert about.inspection.diagnosis is not None
    proposed = list(relaxations(profile, about.pod, about.inspection.diagnosis))
    assert len({one.words for one in proposed}) == len(proposed)
    helping = {one.words: nodes for one in proposed if (nodes := fitting(drawn, one.pod))}
    single = {
        fix.words[0]: set(fix.nodes) for fix in about.fixes if len(fix.words) == 1 and fix.nodes and not fix.evicts
    }
    assert single == helping
    pairs = [fix for fix in about.fixes if len(fix.words) == 2]
    assert not (pairs and helping)  # two changes only where no single one helps
    assert all((fix.joins is None) == bool(fix.nodes) for fix in about.fixes)
    like = {
        f"n{number}" for number, one in enumerate(drawn) if fitting([one | {"cordoned": False, "load": 0}], about.pod)
    }
    joining = [fix.joins for fix in about.fixes if fix.joins is not None]
    assert len(joining) == bool(like)  # a new node of a kind on which it fits when it is empty
    assert all(joins.number == 1 and joins.like in like for joins in joining)
    for fix in about.fixes:
        if fix.evicts:  # by a class that is more important than those who run
            assert fix.words == ("priorityClassName: important",)
            assert set(fix.evicts) <= {f"default/running-{number}" for number in range(len(drawn))}
    order = [(bool(fix.evicts), fix.joins is not None, -len(fix.nodes)) for fix in about.fixes]
    assert order == sorted(order)


@given(NODES, WISHES)
@settings(max_examples=80)
def test_the_text_says_what_the_explanation_has(drawn: list[Drawn], wish: Drawn) -> None:
    _, about = explain(drawn, wish)
    lines, everything = answer_lines(about, all_nodes=False), answer_lines(about, all_nodes=True)
    assert lines[0].startswith("default/asked ")
    assert lines[0] == everything[0]
    assert not any(line != line.rstrip() for line in everything)
    fits = len(about.inspection.feasible)
    match about.verdict.result:
        case "scheduled":
            assert f"goes to {about.verdict.node}" in lines[0]
            if about.inspection.totals:
                check_scores(about, lines, everything)
        case "preempts":
            assert f"fits on none of {len(drawn)} node" in lines[0]
            for victim in about.verdict.victims:
                assert victim.key in lines[0]
            assert about.verdict.decision is not None
            assert about.verdict.decision.preemption is not None
            could = len(about.verdict.decision.preemption.candidates)
            assert sum(" without " in line for line in everything) == could
            assert sum(" without " in line for line in lines) == min(could, SHOWN)
        case _:
            assert fits == 0
            shown = [line for line in everything if line.startswith(("  fix  ", "       "))]
            expected = [fix_line(fix) for fix in about.fixes]
            assert [line[7:] for line in shown] == (expected or [shown[0][7:]])
            if not expected:
                assert shown[0].startswith("  fix  none found")
    left = [int(found[1]) for line in everything if (found := re.match(r"  +(\d+)  (?:node|\S)", line))]
    if about.funnel:
        numbers = [len(drawn), *(step.num_left for step in about.funnel)]
        assert left[: len(numbers)] == numbers


def check_scores(about: Explanation, lines: list[str], everything: list[str]) -> None:
    """Every node has its line, the chosen one first, or is counted as left out."""
    ranked = about.ranked
    assert ranked[0] == about.verdict.node
    totals = about.inspection.totals
    assert [totals[name] for name in ranked[1:]] == sorted((totals[name] for name in ranked[1:]), reverse=True)
    if len(ranked) < 2:
        return
    shown = [line.split() for line in everything if re.match(r"  n\d+ ", line)]
    assert [(words[0], int(words[1])) for words in shown] == [(name, totals[name]) for name in ranked]
    few = [line for line in lines if re.match(r"  n\d+ ", line)]
    assert len(few) == min(len(ranked), SHOWN)
    left = len(ranked) - len(few)
    assert any(line.startswith(f"  and {left} node") for line in lines) == (left > 0)


@given(NODES, WISHES)
@settings(max_examples=40)
def test_every_node_can_be_asked_about(drawn: list[Drawn], wish: Drawn) -> None:
    _, about = explain(drawn, wish)
    for row in about.node_rows():
        lines = node_lines(about, row["node"])
        if row["fits"]:
            goes = " · it goes there" if row["node"] == about.verdict.node else ""
            assert lines[0] == f"default/asked fits on {row['node']}{goes}"
        else:
            detail = f" ({about.details[row['node']]})" if row["node"] in about.details else ""
            assert lines[0] == (
                f"default/asked does not fit on {row['node']} · {row['plugin']}: {', '.join(row['reasons'])}{detail}"
            )
        one = drawn[int(row["node"][1:])]
        (cpu,) = (line.split() for line in lines if line.split()[:1] == ["cpu"])
        free = one["cpu"] - min(one["load"], one["cpu"])
        assert cpu[:4] == ["cpu", str(wish["cpu"]), str(free), str(one["cpu"])]
        assert ("short" in cpu) == (wish["cpu"] > free)
    other = about.other_node()
    names = {row["node"] for row in about.node_rows()}
    if about.verdict.result == "scheduled":  # the runner-up, if there is one
        others = [name for name in about.ranked if name != about.verdict.node]
        assert other == (others[0] if others else None)
    else:
        assert other in names


def test_fixes_for_people_and_for_programs() -> None:
    drawn = [{"cpu": 4, "cordoned": False, "taint": "", "disk": "hdd", "load": 3}]
    _, about = explain(drawn, {"cpu": 2, "disk": "ssd", "tolerates": (), "priority": 0})
    assert [fix.words[0] for fix in about.fixes] == ["disk=hdd as well", "without nodeSelector disk=ssd"]
    assert all(fix_line(fix) == f"{fix.words[0]} and {fix.words[1]} → 1 node fits now" for fix in about.fixes)
    _, about = explain(drawn, {"cpu": 2, "disk": None, "tolerates": (), "priority": 0})
    less, more, evicting = about.fixes
    assert fix_line(less) == "ask for 1 cpu instead of 2 → 1 node fits now"
    assert fix_line(more) == "1 node more like n0 → fits"
    assert fix_line(evicting) == "priorityClassName: important → fits on n0 after evicting default/running-0"
    assert fix_document(less) == {
        "words": fix_line(less),
        "changes": list(less.words),
        "nodes": ["n0"],
        "evicts": [],
    }
    assert fix_document(more)["moreNodes"] == {"number": 1, "like": "n0"}
    assert fix_document(evicting)["evicts"] == ["default/running-0"]


def test_of_many_nodes_the_best_are_shown_and_the_others_counted() -> None:
    drawn = [
        {"cpu": 6, "cordoned": False, "taint": "", "disk": "ssd", "load": number % 5} for number in range(SHOWN + 3)
    ]
    _, about = explain(drawn, {"cpu": 1, "disk": None, "tolerates": (), "priority": 0})
    assert len(about.ranked) == len(drawn)
    check_scores(about, answer_lines(about, all_nodes=False), answer_lines(about, all_nodes=True))

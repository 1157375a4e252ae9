"""An inspection tells all about the attempt that `decide` would make."""

from __future__ import annotations

from fairway.cluster import Aspect
from fairway.cycle import Inspection
from fairway.plugin import Code, Locality, Refusal, Restriction, Shortage
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import pre_filtering, profile, refusing, scoring

NO, NEVER = Refusal(("no",)), Refusal(("never",), Code.UNRESOLVABLE)
NODES = tuple(node(name) for name in ("b", "e", "Z", "c", "a", "d"))


def test_everything_about_every_node() -> None:
    made = profile(
        cluster(NODES),
        refusing("R", {"e": NO, "b": NEVER, "a": NO}),
        scoring("S", {"c": 7, "d": 9, "Z": 9, "a": 100}),
        scoring("T", {"c": 1, "Z": 0}, normalize="default"),
        weights={"S": 10, "T": 2},
    )
    found = made.inspect(pod())
    assert found.num_nodes == 6
    assert found.feasible == ["Z", "c", "d"]
    assert found.rejected == [("R", NEVER, ["b"]), ("R", NO, ["a", "e"])]
    assert found.scores == {"S": {"Z": 90, "c": 70, "d": 90}, "T": {"Z": 0, "c": 200, "d": 0}}
    assert found.totals == {"Z": 90, "c": 270, "d": 90}
    assert found.best == ["c"]
    assert found.diagnosis is not None
    assert made.decide(pod()).node == "c"


def test_scores_come_in_the_order_of_the_profile() -> None:
    wide = scoring("Wide", {}, reads=Aspect.PODS, locality=Locality.CLUSTER)
    made = profile(cluster(NODES), scoring("First", {}), wide, scoring("Last", {}, normalize="reverse"))
    assert list(made.inspect(pod()).scores) == ["First", "Wide", "Last"]


def test_a_single_feasible_node_is_scored_all_the_same() -> None:
    made = profile(cluster(node("a")), scoring("S", {"a": 3}))
    assert made.inspect(pod()).totals == {"a": 3}
    assert made.decide(pod()).score is None


def test_a_pre_filter_that_refuses_leaves_nothing_to_see() -> None:
    found = profile(cluster(NODES), pre_filtering("P", NEVER), scoring("S", {})).inspect(pod())
    assert (found.feasible, found.rejected, found.scores, found.totals, found.best) == ([], [], {}, {}, [])
    assert found.diagnosis is not None
    assert found.diagnosis.pre_filter == ("P", NEVER)


def test_a_pod_that_is_confined() -> None:
    kinds = (pre_filtering("P", Restriction(frozenset({"a", "b"}))), refusing("R", {"a": NO, "c": NO}))
    found = profile(cluster(NODES), *kinds).inspect(pod())
    assert found.feasible == ["b"]
    assert found.rejected == [("R", NO, ["a"])]  # what it would say about others is not asked
    assert found.diagnosis is not None
    assert found.diagnosis.restricted_to == frozenset({"a", "b"})
    assert found.diagnosis.restricted_by == ("P",)


def test_waiting_pods_are_seen() -> None:
    what = cluster([node("a", cpu=1), node("b", cpu=1)])
    what.nominations.add(pod("waiting", cpu=1, priority=5), "a")
    found = profile(what, "NodeResourcesFit").inspect(pod(cpu=1))
    assert found.feasible == ["b"]
    assert found.rejected == [
        ("NodeResourcesFit", Refusal(("Insufficient cpu",), shortages=(Shortage("cpu", 1000),)), ["a"])
    ]


def test_looking_changes_nothing() -> None:
    what = cluster(NODES, pod("there", node="a", cpu=1))
    what.nominations.add(pod("waiting", cpu=1, priority=5), "b")
    made = profile(what, defaults=True)
    incoming = pod(cpu=1, anti_affinity="node", spread="zone")
    made.inspect(incoming)
    before = fingerprint(what)
    made.inspect(incoming)
    made.decide(incoming)
    assert differences(before, fingerprint(what)) == []


def test_the_funnel_goes_in_the_order_of_the_plugins() -> None:
    rejected = [("B", NO, ["a"]), ("A", NO, ["b", "c"]), ("B", NEVER, ["d"]), ("", NO, ["e"])]
    assert Inspection(pod(), 10, rejected=rejected).funnel(["A", "B", "C"]) == [
        ("", 1, 9),
        ("A", 2, 7),
        ("B", 2, 5),
    ]

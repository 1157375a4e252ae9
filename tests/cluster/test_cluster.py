"""The one door: what the world says, what was decided here, and what is only tried."""

from typing import Any

import msgspec
import pytest

from fairway.cluster import Action, Aspect, Change, Cluster, Event, Resource, Verb
from fairway.model import Namespace, NodeCondition, ObjectMeta, Pod, Service
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint

POD_ADDED = (Resource.ASSIGNED_POD, Action.ADD)
POD_DELETED = (Resource.ASSIGNED_POD, Action.DELETE)


def tell(made: Cluster, verb: Verb, thing: Any) -> list[Change]:
    return made.apply(Event(verb, thing))


def added(made: Cluster, thing: Any) -> list[tuple[Resource, Action]]:
    return [change.event for change in tell(made, Verb.ADDED, thing)]


def changed(made: Cluster, thing: Any) -> list[tuple[Resource, Action]]:
    return [change.event for change in tell(made, Verb.MODIFIED, thing)]


def deleted(made: Cluster, thing: Any) -> list[tuple[Resource, Action]]:
    return [change.event for change in tell(made, Verb.DELETED, thing)]


def used(made: Cluster) -> dict[str, tuple[int, int]]:
    """Per node: cpu asked for, and pods."""
    view = made.view()
    return {name: (int(view.requested("cpu")[row]), int(view.num_pods[row])) for name, row in made.nodes.row_of.items()}


# -- nodes -----------------------------------------------------------------------------------------------------------


def test_a_node_comes_changes_and_goes() -> None:
    made = Cluster()
    assert added(made, node("a")) == [(Resource.NODE, Action.ADD)]
    assert added(made, node("a")) == []
    position = made.node_journal.end
    assert changed(made, node("a", cpu=1)) == [(Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE)]
    assert made.node_journal.since(position) is not None
    assert made.node_journal.end > position
    assert deleted(made, node("a")) == [(Resource.NODE, Action.DELETE)]
    assert deleted(made, node("a")) == []
    assert made.nodes.num_alive == 0


def test_a_heartbeat_marks_no_row() -> None:
    made = cluster(node("a", conditions=(NodeCondition(type="Ready", status="True"),)))
    position = made.node_journal.end
    beat = node("a", conditions=(NodeCondition(type="Ready", status="True", message="still here"),))
    assert changed(made, beat) == []
    assert made.node_journal.end == position
    assert made.nodes.objects[0] is beat


def test_changes_carry_the_objects_before_and_after() -> None:
    made = Cluster()
    old, new = node("a"), node("a", taints="x")
    assert [(change.old, change.new) for change in tell(made, Verb.ADDED, old)] == [(None, old)]
    assert [(change.old, change.new) for change in tell(made, Verb.MODIFIED, new)] == [(old, new)]
    assert [(change.old, change.new) for change in tell(made, Verb.DELETED, new)] == [(new, None)]


# -- pods ------------------------------------------------------------------------------------------------------------


def test_a_bound_pod_takes_its_place_and_gives_it_back() -> None:
    made = cluster([node("a"), node("b")])
    assert added(made, pod("p", node="a", cpu=1)) == [POD_ADDED]
    assert used(made) == {"a": (1000, 1), "b": (0, 0)}
    assert made.nodes.nonzero[0].tolist() == [1000, 200 * 2**20]
    assert changed(made, pod("p", node="a", cpu=2)) == [(Resource.ASSIGNED_POD, Action.UPDATE)]
    assert used(made)["a"] == (2000, 1)
    assert deleted(made, pod("p", node="a")) == [POD_DELETED]
    assert used(made)["a"] == (0, 0)
    assert made.nodes.nonzero[0].tolist() == [0, 0]


def test_a_finished_pod_holds_no_place() -> None:
    made = cluster(node("a"), pod("p", node="a", cpu=1))
    assert changed(made, pod("p", node="a", cpu=1, phase="Succeeded")) == [POD_DELETED]
    assert used(made)["a"] == (0, 0)
    assert changed(made, pod("p", node="a", cpu=1, phase="Succeeded")) == []
    assert added(made, pod("q", node="a", cpu=1, phase="Failed")) == []
    assert deleted(made, pod("p", node="a", cpu=1, phase="Succeeded")) == []


def test_a_waiting_pod_changes_nothing_but_nominations() -> None:
    made = cluster(node("a"))
    before = fingerprint(made)
    assert added(made, pod("p", cpu=1)) == []
    assert differences(before, fingerprint(made)) == []
    added(made, pod("p", cpu=1, nominated_node="a"))
    assert made.nominations.node_of("default/p") == "a"
    deleted(made, pod("p"))
    assert made.nominations.node_of("default/p") is None


def test_the_same_word_twice_counts_once() -> None:
    made = cluster(node("a"), pod("p", node="a", cpu=1))
    before = fingerprint(made)
    added(made, pod("p", node="a", cpu=1))
    changed(made, pod("p", node="a", cpu=1))
    added(made, node("a"))
    assert differences(before, fingerprint(made)) == []


def test_an_old_word_that_the_pod_has_no_node_is_ignored() -> None:
    made = cluster(node("a"), pod("p", node="a", cpu=1))
    assert changed(made, pod("p", cpu=1)) == []
    assert used(made)["a"] == (1000, 1)


def test_pods_may_be_heard_of_before_their_node() -> None:
    made = Cluster()
    assert added(made, pod("p", node="a", cpu=1)) == [POD_ADDED]
    assert added(made, pod("q", node="a", cpu=1)) == [POD_ADDED]
    assert changed(made, pod("q", node="a", cpu=2)) == [(Resource.ASSIGNED_POD, Action.UPDATE)]
    assert deleted(made, pod("p", node="a")) == [POD_DELETED]
    added(made, node("a"))
    assert used(made) == {"a": (2000, 1)}


def test_pods_of_a_deleted_node_come_back_with_it() -> None:
    made = cluster([node("a"), node("b")], [pod("p", node="a", cpu=1), pod("q", node="a", cpu=1)])
    deleted(made, node("a"))
    assert (len(made.pods), used(made)) == (0, {"b": (0, 0)})
    assert deleted(made, pod("q", node="a")) == [POD_DELETED]
    added(made, node("new"))  # takes the dead row
    assert used(made) == {"b": (0, 0), "new": (0, 0)}
    added(made, node("a"))
    assert used(made)["a"] == (1000, 1)


def test_a_relabelled_pod_counts_under_its_new_labels() -> None:
    made = cluster(node("a"), pod("p", node="a", labels={"x": "1"}))
    assert changed(made, pod("p", node="a", labels={"x": "2"})) == [(Resource.ASSIGNED_POD, Action.UPDATE_POD_LABEL)]
    (placed,) = made.pods.on_row(0)
    assert placed.pod_class.labels == {"x": "2"}
    assert used(made)["a"] == (0, 1)


def test_objects_may_be_loaded_in_any_order() -> None:
    things = [pod("p", node="a", cpu=1), node("a"), Namespace(metadata=ObjectMeta(name="default")), node("b")]
    one, other = Cluster(), Cluster()
    one.load(things)
    other.load([things[1], things[3], things[2], things[0]])
    assert fingerprint(one) == fingerprint(other)


def test_what_has_no_rows_is_counted_in_versions() -> None:
    made = Cluster()
    versions = made.versions
    service = Service(metadata=ObjectMeta(name="s", namespace="default"))
    assert added(made, service) == [(Resource.OTHER, Action.ADD)]
    assert changed(made, service) == [(Resource.OTHER, Action.UPDATE)]
    assert (versions.of(Aspect.WORKLOADS), versions.of(Aspect.NAMESPACES), versions.of(Aspect.STORAGE)) == (2, 0, 0)
    assert added(made, Namespace(metadata=ObjectMeta(name="n"))) == [(Resource.NAMESPACE, Action.ADD)]
    assert versions.of(Aspect.NAMESPACES) == 1


def test_a_cluster_has_no_use_for_other_things() -> None:
    with pytest.raises(TypeError, match="no use for a int"):
        Cluster().apply(Event(Verb.ADDED, 7))


# -- decisions -------------------------------------------------------------------------------------------------------


def assumed(made: Cluster, thing: Pod, name: str) -> None:
    made.assume(thing, made.classify(thing), made.nodes.row_of[name])


def test_an_assumed_pod_counts_until_it_is_forgotten() -> None:
    made = cluster(node("a"))
    before = fingerprint(made)
    waiting = pod("p", cpu=1)
    assumed(made, waiting, "a")
    assert used(made)["a"] == (1000, 1)
    assert made.forget("default/p") is waiting
    assert differences(before, fingerprint(made)) == []


def test_an_assumed_pod_waits_for_no_node_any_more() -> None:
    made = cluster(node("a"))
    made.nominations.add(pod("p"), "a")
    assumed(made, pod("p"), "a")
    assert made.nominations.node_of("default/p") is None


def test_the_world_confirms_an_assumption() -> None:
    made = cluster(node("a"))
    assumed(made, pod("p", cpu=1), "a")
    assert changed(made, pod("p", cpu=1)) == []  # still unbound there
    assert changed(made, pod("p", cpu=1, node="a")) == [POD_ADDED]
    assert used(made)["a"] == (1000, 1)
    with pytest.raises(ValueError, match="default/p is bound, not assumed"):
        made.forget("default/p")


def test_the_world_may_know_better_where_the_pod_went() -> None:
    made = cluster([node("a"), node("b")])
    assumed(made, pod("p", cpu=1), "a")
    assert changed(made, pod("p", cpu=1, node="b")) == [POD_DELETED, POD_ADDED]
    assert used(made) == {"a": (0, 0), "b": (1000, 1)}
    assumed(made, pod("q", cpu=1), "a")
    assert changed(made, pod("q", cpu=1, node="unheard-of")) == [POD_DELETED, POD_ADDED]
    assert used(made)["a"] == (0, 0)


def test_a_deleted_pod_is_no_longer_assumed() -> None:
    made = cluster(node("a"))
    assumed(made, pod("p", cpu=1), "a")
    assert deleted(made, pod("p", cpu=1)) == [POD_DELETED]
    assert used(made)["a"] == (0, 0)
    with pytest.raises(KeyError):
        made.forget("default/p")


def test_a_pod_can_not_be_in_two_places() -> None:
    made = cluster([node("a"), node("b")])
    assumed(made, pod("p"), "a")
    with pytest.raises(ValueError, match="default/p has a node already"):
        assumed(made, pod("p"), "b")


def test_an_assumption_survives_its_node() -> None:
    made = cluster(node("a"))
    assumed(made, pod("p", cpu=1), "a")
    deleted(made, node("a"))
    added(made, node("a"))
    assert used(made)["a"] == (1000, 1)
    made.forget("default/p")
    assert used(made)["a"] == (0, 0)


def test_an_assumption_can_be_forgotten_after_its_node_is_gone() -> None:
    made = cluster([node("a"), node("b")])
    assumed(made, pod("p", cpu=1), "a")
    assumed(made, pod("q", cpu=1), "a")
    deleted(made, node("a"))
    assert made.forget("default/p").key == "default/p"
    assert changed(made, pod("q", cpu=1, node="b")) == [POD_ADDED]
    added(made, node("a"))
    assert used(made) == {"a": (0, 0), "b": (1000, 1)}


# -- what if ---------------------------------------------------------------------------------------------------------


def crowded() -> Cluster:
    return cluster(
        [node("a"), node("b")],
        [
            pod("1", node="a", cpu=1, labels={"app": "web"}, ports=80),
            pod("2", node="a", anti_affinity="node"),
            pod("3", node="a", cpu=2, terminating=True),
        ],
    )


def test_what_if_changes_the_tables_and_leaves_no_trace() -> None:
    made = crowded()
    before = fingerprint(made)
    other = pod("new", cpu=3, ports=80)
    with made.what_if():
        assert made.remove("default/1").pod.key == "default/1"
        made.place(other, made.classify(other), 0)
        assert used(made) == {"a": (5000, 3), "b": (0, 0)}
        assert [placed.pod.key for placed in made.pods.on_row(0)] == ["default/2", "default/3", "default/new"]
        made.remove("default/3")
    assert differences(before, fingerprint(made)) == []


def test_what_if_may_be_nested() -> None:
    made = crowded()
    before = fingerprint(made)
    with made.what_if():
        made.remove("default/2")
        middle = fingerprint(made)
        with made.what_if():
            made.remove("default/1")
            made.place(pod("2"), made.classify(pod("2")), 1)
        assert differences(middle, fingerprint(made)) == []
        made.remove("default/3")
        assert used(made)["a"] == (1000, 1)
    assert differences(before, fingerprint(made)) == []


def test_what_if_is_undone_when_something_goes_wrong() -> None:
    made = crowded()
    before = fingerprint(made)

    def fail() -> None:
        with made.what_if():
            made.remove("default/1")
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail()
    assert differences(before, fingerprint(made)) == []
    with pytest.raises(RuntimeError, match=r"remove\(\) is for what_if\(\)"):
        made.remove("default/1")


def test_a_port_held_twice_is_as_it_was_after_what_if() -> None:
    made = cluster(node("a"), [pod("1", node="a", ports=80), pod("2", node="a", ports=80)])
    before = fingerprint(made)
    with made.what_if():
        made.remove("default/1")
    assert differences(before, fingerprint(made)) == []


def test_only_what_if_may_place_and_remove() -> None:
    made = cluster(node("a"), pod("p", node="a"))
    with pytest.raises(RuntimeError, match=r"place\(\) is for what_if\(\); use assume\(\)"):
        made.place(pod("q"), made.classify(pod("q")), 0)
    with pytest.raises(RuntimeError, match=r"remove\(\) is for what_if\(\); use forget\(\)"):
        made.remove("default/p")


def test_an_update_keeps_the_pod_that_the_world_last_spoke_of() -> None:
    made = cluster(node("a"), pod("p", node="a"))
    (before,) = made.pods.on_row(0)
    again = msgspec.structs.replace(pod("p", node="a"), status=msgspec.structs.replace(before.pod.status, message="x"))
    changed(made, again)
    (placed,) = made.pods.on_row(0)
    assert placed.pod is again

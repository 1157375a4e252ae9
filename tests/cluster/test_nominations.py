"""Who waits for which node."""

from fairway.cluster.intents.nominations import Nominations
from fairway.testing import pod


def on(nominations: Nominations, node: str) -> list[str]:
    return [waiting.metadata.name for waiting in nominations.on(node)]


def test_a_pod_waits_for_one_node_at_a_time() -> None:
    nominations = Nominations()
    nominations.add(pod("a"), "n1")
    nominations.add(pod("b"), "n1")
    nominations.add(pod("a"), "n2")
    assert (on(nominations, "n1"), on(nominations, "n2"), len(nominations)) == (["b"], ["a"], 2)
    assert nominations.node_of("default/a") == "n2"
    assert set(nominations.nodes()) == {"n1", "n2"}


def test_a_pod_that_waits_no_more_is_forgotten() -> None:
    nominations = Nominations()
    nominations.add(pod("a"), "n1")
    nominations.remove("default/a")
    nominations.remove("default/a")
    assert (on(nominations, "n1"), list(nominations.nodes()), len(nominations)) == ([], [], 0)
    assert nominations.node_of("default/a") is None


def test_the_highest_priority_is_known() -> None:
    nominations = Nominations()
    assert nominations.highest_priority is None
    nominations.add(pod("a", priority=5), "n1")
    nominations.add(pod("b", priority=9), "n2")
    assert nominations.highest_priority == 9
    nominations.remove("default/b")
    assert nominations.highest_priority == 5
    nominations.remove("default/a")
    assert nominations.highest_priority is None


def test_what_the_pods_status_says_counts_before_what_was_decided() -> None:
    nominations = Nominations()
    nominations.add(pod("a"), "n1")
    nominations.update(pod("a", labels={"new": "yes"}))  # the decision is not written to the pod yet
    assert [waiting.metadata.labels for waiting in nominations.on("n1")] == [{"new": "yes"}]
    nominations.update(pod("a", nominated_node="n2"))
    assert (on(nominations, "n1"), on(nominations, "n2")) == ([], ["a"])
    nominations.update(pod("b"))
    assert nominations.node_of("default/b") is None


def test_every_change_is_counted() -> None:
    nominations = Nominations()
    versions = [nominations.version]
    nominations.add(pod("a"), "n1")
    versions.append(nominations.version)
    nominations.remove("default/a")
    versions.append(nominations.version)
    assert versions == sorted(set(versions))
    nominations.remove("default/a")
    assert nominations.version == versions[-1]

from __future__ import annotations

import pytest

from fairway.cluster.intents.nominations import Nominations
from fairway.model import Pod
from fairway.queue.nominator import Nominator
from tests.queue.builders import VirtualClock, pod, popped, queue_of


@pytest.mark.parametrize(
    ("promised", "old", "new", "node"),
    [
        pytest.param("n1", pod("a"), pod("a"), "n1", id="never in the status: the promise holds"),
        pytest.param("", pod("a"), pod("a"), None, id="nothing promised, nothing said"),
        pytest.param("n1", pod("a"), pod("a", nominated="n2"), "n2", id="the status speaks up"),
        pytest.param("n1", pod("a", nominated="n1"), pod("a", nominated="n2"), "n2", id="the status changes"),
        pytest.param("n1", pod("a", nominated="n1"), pod("a"), None, id="the status takes it back"),
        pytest.param("n2", pod("a", nominated="n1"), pod("a", nominated="n1"), "n1", id="the status insists"),
    ],
)
def test_update(promised: str, old: Pod, new: Pod, node: str | None) -> None:
    nominations = Nominations()
    nominator = Nominator(nominations)
    nominator.override(old, promised)
    nominator.update(old, new)
    assert nominations.node_of("a") == node
    assert list(nominations.on(node or "")) == ([new] if node else [])  # the new version stands there


def test_a_promise_is_for_one_node() -> None:
    nominations = Nominations()
    nominator = Nominator(nominations)
    nominator.override(pod("a"), "n1")
    nominator.override(pod("a"), "n2")
    assert (len(nominations), nominations.node_of("a")) == (1, "n2")
    nominator.override(pod("a"), "")
    assert len(nominations) == 0


def test_pods_come_with_the_promise_of_their_status() -> None:
    nominations = Nominations()
    queue = queue_of(VirtualClock(), nominations=nominations)
    queue.add(pod("a", nominated="n1"))
    queue.add(pod("gated", nominated="n1", gates=["wait"]))
    assert nominations.node_of("a") == "n1"
    assert nominations.node_of("gated") is None


def test_a_promise_ends_with_the_pod() -> None:
    nominations = Nominations()
    queue = queue_of(VirtualClock(), nominations=nominations)
    queue.add(pod("a", nominated="n1"))
    queue.delete(pod("a"))
    assert len(nominations) == 0


def test_a_pod_that_was_deleted_in_flight_gets_no_promise() -> None:
    nominations = Nominations()
    queue = queue_of(VirtualClock(), nominations=nominations)
    queue.add(pod("a"))
    queued = popped(queue)
    queue.delete(queued.pod)
    queue.nominate(queued.pod, "n1")
    assert len(nominations) == 0
    queue.requeue_failed(queued, ["Fit"])
    queue.nominate(queued.pod, "n1")
    assert len(nominations) == 0


def test_promises_of_the_scheduler() -> None:
    nominations = Nominations()
    queue = queue_of(VirtualClock(), nominations=nominations)
    queue.add(pod("a", nominated="n1"))
    queued = popped(queue)
    queue.nominate(queued.pod, "n2")
    assert nominations.node_of("a") == "n2"
    queue.nominate(queued.pod, None)
    assert nominations.node_of("a") == "n1"
    queue.nominate(queued.pod, "")
    assert nominations.node_of("a") is None


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
def test_a_promise_outlives_an_update_that_does_not_mention_it(place: str) -> None:
    nominations = Nominations()
    queue = queue_of(VirtualClock(), nominations=nominations)
    queue.add(pod("a"))
    if place != "active":
        queue.requeue_failed(popped(queue), ["Fit"] if place == "unschedulable" else [])
    assert [waits.name.lower() for waits, pods in queue.counts().items() if pods] == [place]
    queue.nominate(pod("a"), "n1")
    queue.update(pod("a"), pod("a", labels={"new": "label"}))
    assert nominations.node_of("a") == "n1"
    queue.update(pod("a", nominated="n1"), pod("a"))
    assert nominations.node_of("a") is None

"""The truth: versions, watches, bindings and their conflicts."""

from __future__ import annotations

import msgspec
import pytest

from fairway.cluster import Event
from fairway.model import Pod
from fairway.sim.api_server import ApiServer, ConflictError, NotFoundError
from fairway.sim.timeline import Timeline
from fairway.testing import node, pod


def server() -> tuple[ApiServer, Timeline, list[str]]:
    timeline = Timeline()
    api = ApiServer(timeline)
    heard: list[str] = []
    api.watch(lambda event: heard.append(f"{event.verb.value} {event.object.metadata.name}"))
    return api, timeline, heard


def test_created_objects_get_identity_version_and_birthday() -> None:
    api, timeline, heard = server()
    timeline.run(until=90)
    made = api.create(msgspec.structs.replace(pod("a"), metadata=msgspec.structs.replace(pod("a").metadata, uid="")))
    assert made.metadata.uid
    assert made.metadata.resource_version
    assert made.metadata.creation_timestamp == api.calendar()
    assert api.pod(made.metadata.uid) is made
    assert heard == ["ADDED a"]
    with pytest.raises(ConflictError, match="exists already"):
        api.create(pod("a"))


def test_a_pod_is_bound_once() -> None:
    api, _, heard = server()
    uid = api.create(pod("a")).metadata.uid
    assert api.bind(uid, "n1").spec.node_name == "n1"
    with pytest.raises(ConflictError, match='already assigned to node "n1"'):
        api.bind(uid, "n2")
    api.remove(api.pod(uid))
    with pytest.raises(NotFoundError):
        api.bind(uid, "n2")
    assert heard == ["ADDED a", "MODIFIED a", "DELETED a"]


def test_deletion_waits_for_the_kubelet_only_where_there_is_one() -> None:
    api, _, _ = server()
    waiting = api.create(pod("waiting"))
    running = api.create(pod("running", node="n1"))
    api.delete(waiting)
    assert api.pod(waiting.metadata.uid) is None
    api.delete(running)
    current = api.pod(running.metadata.uid)
    assert current is not None
    assert current.is_terminating
    with pytest.raises(ConflictError, match="is being deleted"):
        api.bind(api.create(pod("going", terminating=True)).metadata.uid, "n1")


def test_a_late_watcher_sees_the_same_order_later() -> None:
    api, timeline, heard = server()
    late: list[tuple[float, str]] = []
    api.watch(lambda event: late.append((timeline.now(), event.object.metadata.name)), lag=2.5)
    timeline.at(1, lambda: api.create(node("n1")))
    timeline.at(2, lambda: api.create(node("n2")))
    timeline.run()
    assert heard == ["ADDED n1", "ADDED n2"]
    assert late == [(3.5, "n1"), (4.5, "n2")]


def test_what_a_watcher_causes_comes_after_what_it_heard() -> None:
    timeline = Timeline()
    api = ApiServer(timeline)
    seen: list[str] = []

    def binds(event: Event) -> None:
        if isinstance(event.object, Pod) and not event.object.spec.node_name:
            api.bind(event.object.metadata.uid, "n1")

    api.watch(binds)
    api.watch(lambda event: seen.append(f"{event.verb.value} {event.object.spec.node_name}"))
    api.create(pod("a"))
    assert seen == ["ADDED ", "MODIFIED n1"]

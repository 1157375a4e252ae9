"""The whole scheduler against an API server that can be made to misbehave."""

from __future__ import annotations

import asyncio

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import bindings, condition, node, play, pod


def test_pods_are_bound_and_people_told() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: len(bindings(api)) == 2)
        api.put("pods", pod("late"))
        await api.until(lambda: len(bindings(api)) == 3)
        await api.until(lambda: len(api.sent("POST", "/events$")) == 3)

    api = play(story, ("nodes", node("n1")), ("pods", pod("a")), ("pods", pod("b")))
    assert bindings(api) == {"a": "n1", "b": "n1", "late": "n1"}
    sent = api.sent("POST", "/api/v1/namespaces/default/pods/a/binding")
    assert sent == [
        {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": "a", "namespace": "default", "uid": api.pod("a")["metadata"]["uid"]},
            "target": {"kind": "Node", "name": "n1"},
        }
    ]
    notes = {one["note"]: one for one in api.sent("POST", "/events$")}
    event = notes["Successfully assigned default/a to n1"]
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Scheduled", "Binding")
    assert event["reportingController"] == "default-scheduler"
    assert condition(api, "a") == {"type": "PodScheduled", "status": "True"}


def test_a_pod_that_does_not_fit_is_told_why_and_comes_in_when_there_is_room() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: condition(api, "big"))
        assert condition(api, "big")["reason"] == "Unschedulable"
        words = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
        words += "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        assert condition(api, "big")["message"] == words
        await api.until(lambda: api.sent("POST", "/events$"))
        assert api.sent("POST", "/events$")[0]["note"] == words
        api.put("nodes", node("n2", cpu="16"))
        await api.until(lambda: bindings(api) == {"big": "n2"})

    api = play(story, ("nodes", node("n1")), ("pods", pod("big", cpu="8")))
    assert len(api.sent("PATCH", "/pods/big/status")) == 1


def test_a_thousand_pods_are_bound_once_each_and_no_node_is_overfull() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        for number in range(1000):
            api.put("pods", pod(f"p{number}", cpu="100m"))
        await api.until(lambda: len(bindings(api)) == 1000)

    api = play(story, *[("nodes", node(f"n{number}")) for number in range(30)])
    assert len(api.sent("POST", "/binding")) == 1000
    placed = list(bindings(api).values())
    assert max(placed.count(name) for name in set(placed)) <= 40


def test_preemption_deletes_the_victim_and_says_why() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api) == {"low": "n1"})
        api.put("pods", pod("high", cpu="3", priority=1000))
        await api.until(lambda: bindings(api) == {"high": "n1"})
        await api.until(lambda: any(one["reason"] == "Preempted" for one in api.sent("POST", "/events$")))

    api = play(story, ("nodes", node("n1")), ("pods", pod("low", cpu="3")))
    told = api.sent("PATCH", "/pods/low/status")
    assert [one["status"]["conditions"][0]["reason"] for one in told] == ["PreemptionByScheduler"]
    order = [(method, path) for method, path, _ in api.requests if path.endswith(("/low/status", "/pods/low"))]
    assert [method for method, _ in order] == ["PATCH", "DELETE"]
    nominated = api.sent("PATCH", "/pods/high/status")[0]["status"]
    assert nominated["nominatedNodeName"] == "n1"


def test_stopping_finishes_what_is_under_way() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        for number in range(50):
            api.put("pods", pod(f"p{number}", cpu="1m"))
        await api.until(lambda: len(api.sent("POST", "/binding")) >= 10)
        await asyncio.sleep(0)

    api = play(story, ("nodes", node("n1")))
    assert len(api.sent("POST", "/events$")) == len(bindings(api))

"""Bindings that go wrong: whatever the API server answers, no pod is lost, bound twice or called failed in error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from fairway.live.service import LiveScheduler, ServiceSettings
from fairway.live.world.binding import BindingSettings
from fairway.live.world.live_world import LiveWorld, WorldSettings
from tests.live.fake_api_server import FakeApiServer, Tree, status
from tests.live.live_cluster import bindings, condition, node, play, pod

HASTY = ServiceSettings(world=WorldSettings(binding=BindingSettings(timeout_seconds=0.3), confirm_seconds=0.5))
GoOn = Callable[[], Awaitable[web.StreamResponse]]
NO_BACKOFF: Tree = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}


def assumed(live: LiveScheduler) -> list[str]:
    """Pods that the scheduler only believes to be on a node."""
    return [placed.pod.metadata.name for placed in live.cluster.pods.by_uid.values() if placed.assumed]


async def settled(api: FakeApiServer, live: LiveScheduler) -> None:
    """Nothing is under way, and nothing is only assumed."""
    world = live.world
    assert isinstance(world, LiveWorld)
    await api.until(lambda: not (world.backlog or len(world.assumed) or assumed(live) or world.statuses.backlog))


@pytest.mark.parametrize("code", [500, 503, 409, 404, 422], ids=str)
def test_a_refused_binding_is_reported_and_tried_again(code: int) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("POST", "/pods/p/binding", code, "etcd is tired")
        api.put("pods", pod("p"))
        await api.until(lambda: condition(api, "p"))
        assert condition(api, "p")["reason"] == "SchedulerError"
        assert condition(api, "p")["message"] == 'running Bind plugin "DefaultBinder": etcd is tired'
        await api.until(lambda: bindings(api) == {"p": "n1"})
        await settled(api, live)

    api = play(story, ("nodes", node("n1")), configuration=NO_BACKOFF)
    assert len(api.sent("POST", "/binding")) == 2
    assert condition(api, "p")["status"] == "True"


@pytest.mark.parametrize("code", [500, 409, 404], ids=str)
def test_a_binding_that_took_effect_but_was_answered_otherwise_is_a_binding(code: int) -> None:
    async def lie(request: web.Request, go_on: GoOn) -> web.StreamResponse:
        await go_on()
        return status(code, "something else")

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.fault("POST", "/pods/p/binding", lie)
        api.put("pods", pod("p"))
        await api.until(lambda: any(one["reason"] == "Scheduled" for one in api.sent("POST", "/events$")))
        await settled(api, live)

    api = play(story, ("nodes", node("n1")))
    assert bindings(api) == {"p": "n1"}
    assert not api.sent("PATCH", "/pods/p/status")
    assert len(api.sent("POST", "/binding")) == 1


def test_a_binding_whose_answer_is_lost_is_found_out_by_reading() -> None:
    async def hang(request: web.Request, go_on: GoOn) -> web.StreamResponse:
        await go_on()
        await asyncio.Event().wait()
        raise AssertionError

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.fault("POST", "/pods/p/binding", hang)
        api.put("pods", pod("p"))
        await api.until(lambda: any(one["reason"] == "Scheduled" for one in api.sent("POST", "/events$")))
        await settled(api, live)

    api = play(story, ("nodes", node("n1")), settings=HASTY)
    assert bindings(api) == {"p": "n1"}
    assert len(api.sent("POST", "/binding")) == 1
    assert not api.sent("PATCH", "/pods/p/status")


def test_a_binding_that_never_arrived_is_sent_again_for_the_same_node() -> None:
    async def swallow(request: web.Request, go_on: GoOn) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.fault("POST", "/pods/p/binding", swallow)
        api.put("pods", pod("p"))
        await api.until(lambda: bindings(api))
        await settled(api, live)

    api = play(story, *[("nodes", node(f"n{number}")) for number in range(20)], settings=HASTY)
    targets = [one["target"]["name"] for one in api.sent("POST", "/binding")]
    assert len(targets) == 2
    assert targets[0] == targets[1] == bindings(api)["p"]


def test_a_busy_server_is_left_alone_for_as_long_as_it_wants() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("POST", "/pods/p/binding", 429, "too many", times=3, Retry_After="0.1")
        begun = asyncio.get_running_loop().time()
        api.put("pods", pod("p"))
        await api.until(lambda: bindings(api))
        assert asyncio.get_running_loop().time() - begun >= 0.3
        await settled(api, live)

    api = play(story, ("nodes", node("n1")))
    assert not api.sent("PATCH", "/pods/p/status")
    assert [one["reason"] for one in api.sent("POST", "/events$")] == ["Scheduled"]


def test_a_lost_race_leaves_the_pod_to_the_winner() -> None:
    async def overtake(request: web.Request, go_on: GoOn) -> web.StreamResponse | None:
        api = holder[0]
        tree = api.pod("p")
        api.put("pods", tree | {"spec": tree["spec"] | {"nodeName": "n2"}})
        return None

    holder: list[FakeApiServer] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        holder.append(api)
        api.fault("POST", "/pods/p/binding", overtake)
        api.put("pods", pod("p"))
        await api.until(lambda: bindings(api))
        await settled(api, live)
        row = live.cluster.nodes.row_of["n2"]
        assert [placed.pod.metadata.name for placed in live.cluster.pods.on_row(row)] == ["p"]
        api.put("pods", pod("full", cpu="3500m"))
        await api.until(lambda: "full" in bindings(api))
        await settled(api, live)

    api = play(story, ("nodes", node("n1")), ("nodes", node("n2") | {"spec": {"unschedulable": True}}))
    assert bindings(api) == {"p": "n2", "full": "n1"}
    assert not api.sent("PATCH", "/pods/p/status")
    assert all(one["reason"] == "Scheduled" for one in api.sent("POST", "/events$"))


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "recreated"])
def test_a_pod_deleted_under_its_binding_is_forgotten(again: bool) -> None:
    async def vanish(request: web.Request, go_on: GoOn) -> web.StreamResponse | None:
        holder[0].delete("pods", "default/p")
        if again:
            holder[0].put("pods", pod("p", cpu="2"))
        return None

    holder: list[FakeApiServer] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        holder.append(api)
        api.fault("POST", "/pods/p/binding", vanish)
        api.put("pods", pod("p"))
        await api.until(lambda: len(api.sent("GET", "/pods/p$")) == 1)
        if again:
            await api.until(lambda: bindings(api) == {"p": "n1"})
        await settled(api, live)
        row = live.cluster.nodes.row_of["n1"]
        assert live.cluster.nodes.requested[row, 0] == (2000 if again else 0)
        assert len(live.scheduler.queue) == 0

    api = play(story, ("nodes", node("n1")))
    assert not api.sent("PATCH", "/status")


def test_a_bound_pod_read_as_gone_before_the_watch_says_so_gives_its_room_back() -> None:
    async def lose(request: web.Request, go_on: GoOn) -> web.StreamResponse:
        api, live = holder[0]
        await go_on()
        await api.until(lambda: live.cluster.pods.by_uid and not assumed(live))
        for stream in api.streams:
            stream.mute()
        api.delete("pods", "default/p")
        assert request.transport is not None
        request.transport.abort()
        return status(500, "nobody hears this")

    holder: list[tuple[FakeApiServer, LiveScheduler]] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        holder.append((api, live))
        api.fault("POST", "/pods/p/binding", lose)
        api.put("pods", pod("p", cpu="3"))
        await api.until(lambda: len(api.sent("GET", "/pods/p$")) == 1)
        await settled(api, live)
        for stream in api.streams:
            stream.unmute()
        api.put("pods", pod("next", cpu="3"))
        await api.until(lambda: bindings(api) == {"next": "n1"})
        await settled(api, live)
        assert [placed.pod.metadata.name for placed in live.cluster.pods.by_uid.values()] == ["next"]
        assert live.cluster.nodes.requested[live.cluster.nodes.row_of["n1"], 0] == 3000

    play(story, ("nodes", node("n1")))


def test_a_node_deleted_before_the_binding_is_not_bound_to() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("POST", "/pods/p/binding", 429, "too many", Retry_After="0.2")
        api.put("pods", pod("p"))
        await api.until(lambda: api.sent("POST", "/binding"))
        api.delete("nodes", "n1")
        await api.until(lambda: condition(api, "p"))
        assert condition(api, "p")["message"] == 'binding rejected: node "n1" is gone'
        api.put("nodes", node("n2"))
        await api.until(lambda: bindings(api) == {"p": "n2"})
        await settled(api, live)

    play(story, ("nodes", node("n1")), configuration=NO_BACKOFF)


def test_a_bound_pod_that_the_watch_does_not_show_is_read() -> None:
    async def silence(request: web.Request, go_on: GoOn) -> web.StreamResponse | None:
        for stream in holder[0].streams:
            stream.mute()
        return None

    holder: list[FakeApiServer] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        holder.append(api)
        api.fault("POST", "/pods/p/binding", silence)
        await api.until(lambda: live.is_synced)
        api.put("pods", pod("p"))
        await api.until(lambda: api.sent("GET", "/pods/p$"))
        await settled(api, live)

    api = play(story, ("nodes", node("n1")), settings=HASTY)
    assert bindings(api) == {"p": "n1"}


def test_a_victim_that_can_not_be_deleted_is_not_hammered() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api) == {"low": "n1"})
        api.answer("DELETE", "/pods/low$", 500, "no", times=2)
        begun = asyncio.get_running_loop().time()
        api.put("pods", pod("high", cpu="3", priority=1000))
        await api.until(lambda: bindings(api) == {"high": "n1"})
        assert asyncio.get_running_loop().time() - begun >= 1.0

    api = play(story, ("nodes", node("n1")), ("pods", pod("low", cpu="3")))
    assert len(api.sent("DELETE", "/pods/low$")) == 3
    assert len(api.sent("PATCH", "/pods/low/status")) == 1


def test_a_watch_that_breaks_while_pods_come_loses_none() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: live.is_synced)
        for number in range(100):
            api.put("pods", pod(f"p{number}", cpu="10m"))
            if number % 20 == 10:
                for stream in list(api.streams):
                    stream.cut()
                if number % 40 == 10:
                    api.compact()
            await asyncio.sleep(0)
        await api.until(lambda: len(bindings(api)) == 100)
        await settled(api, live)

    api = play(story, ("nodes", node("n1")))
    names = [path for method, path, _ in api.requests if method == "POST" and path.endswith("/binding")]
    assert len(names) == len(set(names)) == 100


def test_what_happened_to_a_pod_during_its_binding_counts_afterwards() -> None:
    async def doom(request: web.Request, go_on: GoOn) -> web.StreamResponse | None:
        api = holder[0]
        tree = api.pod("p")
        api.put("pods", tree | {"metadata": tree["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        return status(500, "no")

    holder: list[FakeApiServer] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        holder.append(api)
        api.fault("POST", "/pods/p/binding", doom)
        api.put("pods", pod("p"))
        words = "skip schedule deleting pod: default/p"
        await api.until(lambda: any(one["note"] == words for one in api.sent("POST", "/events$")))
        await settled(api, live)
        assert len(live.scheduler.queue) == 0

    api = play(story, ("nodes", node("n1")), configuration=NO_BACKOFF)
    assert len(api.sent("POST", "/binding")) == 1

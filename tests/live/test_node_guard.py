"""Exclusive nodes on an API server: the taint comes before the first pod and goes with the last, whatever happens."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.live.api.connection import Answer
from fairway.live.service import LiveScheduler
from fairway.live.world.events import EventWriter
from fairway.live.world.node_guard import SWEEP_SECONDS, NodeGuard
from fairway.testing import cluster
from fairway.testing import node as made_node
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play, pod
from tests.live.virtual_loop import LoopClock, run_virtually

KEY = "fairway.dev/exclusive"
OTHER = {"key": "dedicated", "value": "db", "effect": "PreferNoSchedule"}


def configuration(**own: Any) -> Tree:
    profile = {"schedulerName": "default-scheduler", "fairway": {"exclusive": True, **own}}
    return {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1, "profiles": [profile]}


GUARDED, UNGUARDED = configuration(exclusiveGuard="taint"), configuration()


def exclusive(name: str, scope: str = "node", gang: str = "", on: str = "", **spec: Any) -> Tree:
    wanted = pod(name, **spec)
    wanted["metadata"]["annotations"] = {KEY: scope} | ({"fairway.dev/gang": gang} if gang else {})
    if on:
        wanted["spec"]["nodeName"] = on
        wanted["status"] = {"phase": "Running"}
    return wanted


def plain(name: str, on: str, **spec: Any) -> Tree:
    wanted = pod(name, **spec)
    wanted["spec"]["nodeName"] = on
    wanted["status"] = {"phase": "Running"}
    return wanted


def tainted(name: str, *taints: Tree) -> Tree:
    there = node(name)
    there["spec"]["taints"] = list(taints)
    return there


def guard_taint(value: str) -> Tree:
    return {"key": KEY, "value": value, "effect": "NoSchedule"}


def taints(api: FakeApiServer, name: str = "a") -> list[Tree]:
    found: list[Tree] = api.objects["nodes"][name]["spec"].get("taints", [])
    return found


def own(api: FakeApiServer, name: str = "a") -> list[str]:
    return [taint["value"] for taint in taints(api, name) if taint["key"] == KEY]


def order(api: FakeApiServer) -> list[str]:
    """What was written about nodes and bindings, in order."""
    return [
        "taint" if "/nodes/" in path else "bind"
        for verb, path, _ in api.requests
        if (verb, "/nodes/" in path) == ("PATCH", True) or (verb == "POST" and path.endswith("/binding"))
    ]


def told(api: FakeApiServer) -> list[tuple[str, str]]:
    events = api.objects.get("events", {}).values()
    return [(one["regarding"]["name"], one["note"]) for one in events if one["reason"] == "ExclusivityBroken"]


def test_the_taint_is_there_before_the_first_pod_and_goes_with_the_last() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: len(bindings(api)) == 3)
        assert order(api) == ["taint", "bind", "bind", "bind"]  # those who come at once wait for the first one's
        (value,) = own(api)
        assert taints(api) == [OTHER, guard_taint(value)]
        api.delete("pods", "default/m-0")
        api.put("pods", copy.deepcopy(api.pod("m-1")) | {"status": {"phase": "Succeeded"}})
        await api.until(lambda: len(live.cluster.pods) == 1)
        assert own(api) == [value]
        api.delete("pods", "default/m-2")
        await api.until(lambda: not own(api))
        assert taints(api) == [OTHER]

    members = [("pods", exclusive(f"m-{number}", gang="train")) for number in range(3)]
    play(story, ("nodes", tainted("a", OTHER)), *members, configuration=GUARDED)


def test_a_pod_of_a_controller_has_the_controllers_uid_on_its_node() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api))
        assert own(api) == ["job-uid-7"]

    wanted = exclusive("p")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "job-uid-7", "controller": True}
    wanted["metadata"]["ownerReferences"] = [owner]
    play(story, ("nodes", node("a")), ("pods", wanted), configuration=GUARDED)


def test_our_own_profiles_do_not_look_at_the_taint() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api).get("first"))
        api.put("pods", exclusive("second", gang="train"))
        await api.until(lambda: bindings(api).get("second") == "a")

    play(story, ("nodes", node("a")), ("pods", exclusive("first", gang="train")), configuration=GUARDED)


@pytest.mark.parametrize(
    ("before", "pods", "after"),
    [
        pytest.param([OTHER, guard_taint("gone")], [], [OTHER], id="a stale taint goes"),
        pytest.param([OTHER], [exclusive("p", on="a")], [OTHER, guard_taint("uid-p")], id="a missing taint comes"),
        pytest.param(
            [guard_taint("gone"), OTHER],
            [exclusive("p", on="a")],
            [OTHER, guard_taint("uid-p")],
            id="another job's taint is replaced",
        ),
        pytest.param(
            [guard_taint("uid-p") | {"effect": "NoExecute"}],
            [exclusive("p", on="a")],
            [guard_taint("uid-p")],
            id="another effect is replaced",
        ),
        pytest.param([guard_taint("gone")], [plain("p", "a")], [], id="pods that share need none"),
    ],
)
def test_whoever_starts_makes_taints_agree_with_pods(before: list[Tree], pods: list[Tree], after: list[Tree]) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: taints(api) == after)
        await api.until(lambda: live.is_synced)
        assert len(order(api)) == 1

    for one in pods:
        one["metadata"]["uid"] = f"uid-{one['metadata']['name']}"
    play(story, ("nodes", tainted("a", *before)), *(("pods", one) for one in pods), configuration=GUARDED)


def test_what_agrees_is_not_written() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        api.put("pods", pod("probe"))
        await api.until(lambda: bindings(api).get("probe") == "b")
        assert order(api) == ["bind"]

    there = exclusive("p", on="a")
    there["metadata"]["uid"] = "uid-p"
    play(
        story,
        ("nodes", tainted("a", guard_taint("uid-p"))),
        ("nodes", node("b")),
        ("pods", there),
        configuration=GUARDED,
    )


def test_a_scheduler_that_dies_before_the_binding_leaves_nothing_that_the_next_one_does_not_put_right() -> None:
    async def first(api: FakeApiServer, live: LiveScheduler) -> None:
        api.answer("POST", "/binding", 500, times=1000)
        await api.until(lambda: own(api))

    async def second(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: not own(api))  # the pod was deleted meanwhile: the taint is stale

    async def third(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api) == {"p": "a"})
        assert len(own(api)) == 1

    left = play(first, ("nodes", node("a")), ("pods", exclusive("p")), configuration=GUARDED)
    there = left.objects["nodes"]["a"]
    play(second, ("nodes", copy.deepcopy(there)), configuration=GUARDED)
    waiting = left.objects["pods"]["default/p"]
    assert not waiting["spec"].get("nodeName")
    play(third, ("nodes", copy.deepcopy(there)), ("pods", copy.deepcopy(waiting)), configuration=GUARDED)


def test_a_node_that_changed_meanwhile_is_tried_again() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api) == {"p": "a"})
        assert order(api)[:2] == ["taint", "taint"]
        api.answer("PATCH", "/nodes/a", 409, "the object has been modified")
        api.delete("pods", "default/p")
        await api.until(lambda: not own(api))

    def refuse(api: FakeApiServer) -> None:
        api.answer("PATCH", "/nodes/a", 409, "the object has been modified")

    async def begin(api: FakeApiServer, live: LiveScheduler) -> None:
        refuse(api)
        api.put("pods", exclusive("p"))
        await story(api, live)

    play(begin, ("nodes", node("a")), configuration=GUARDED)


def test_a_taint_that_somebody_takes_away_comes_back() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api))
        (value,) = own(api)
        there = copy.deepcopy(api.objects["nodes"]["a"])
        there["spec"]["taints"] = []
        api.put("nodes", there)
        await api.until(lambda: own(api) == [value])

    play(story, ("nodes", node("a")), ("pods", exclusive("p")), configuration=GUARDED)


def test_without_the_guard_no_node_is_written() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api))
        assert order(api) == ["bind"]

    play(story, ("nodes", node("a")), ("pods", exclusive("p")), configuration=UNGUARDED)


@pytest.mark.parametrize("configured", [GUARDED, UNGUARDED], ids=["guarded", "not guarded"])
def test_who_gets_there_all_the_same_is_told_of_and_stays(configured: Tree) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api))
        api.put("pods", plain("stranger", "a", schedulerName="other"))
        await api.until(lambda: told(api))
        words = "pod default/stranger of other is on node a too, which default/train has exclusively"
        assert told(api) == [("p", words)]
        api.put("pods", copy.deepcopy(api.pod("stranger")))  # again: it is no news
        api.put("pods", pod("probe"))
        await api.until(lambda: live.scheduler.queue.find(api.pod("probe")["metadata"]["uid"]) is not None)
        assert len(told(api)) == 1
        assert api.pod("stranger")["status"]["phase"] == "Running"

    play(story, ("nodes", node("a")), ("pods", exclusive("p", gang="train")), configuration=configured)


def test_a_shadow_writes_nothing() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: live.world.num_assumed == 1)
        api.put("pods", plain("stranger", "b"))
        await api.until(lambda: len(live.cluster.pods) == 3)
        assert [verb for verb, _, _ in api.requests if verb != "GET"] == []

    there = exclusive("there", on="b")
    play(
        story,
        ("nodes", tainted("a", guard_taint("gone"))),
        ("nodes", node("b")),
        ("pods", there),
        ("pods", exclusive("p")),
        configuration=GUARDED,
        is_shadow=True,
    )


def test_it_looks_again_without_any_news() -> None:
    """What nobody tells of is seen at the latest half a minute later."""

    class Patched:
        """An API server that keeps what it is asked to write."""

        def __init__(self) -> None:
            self.written: list[list[Tree]] = []

        async def request(self, method: str, path: str, *, body: bytes | None = None, **_: Any) -> Answer:
            assert (method, path, body is None) == ("PATCH", "/api/v1/nodes/a", False)
            document = json.loads(body or b"")
            self.written.append(document["spec"]["taints"])
            return Answer(200, {}, json.dumps({"metadata": {"resourceVersion": "8"}}).encode())

    async def story() -> None:
        api, clock, here = Patched(), LoopClock(), cluster([])
        events = EventWriter(api, clock, may_write=lambda: True, is_busy=lambda: False)
        guard = NodeGuard(api, here, clock, events, lambda: True, is_tainting=True)
        working = asyncio.ensure_future(guard.run())
        await clock.sleep(1)
        there = made_node("a", taints="fairway.dev/exclusive=gone:NoSchedule")
        meta = msgspec.structs.replace(there.metadata, resource_version="7")
        here.apply(Event(Verb.ADDED, msgspec.structs.replace(there, metadata=meta)))  # and the guard is not told
        await clock.sleep(SWEEP_SECONDS - 2)
        assert api.written == []
        await clock.sleep(2)
        assert api.written == [[]]
        await clock.sleep(2 * SWEEP_SECONDS)
        assert api.written == [[]]  # until the watch shows what was written
        assert not working.done()
        working.cancel()

    run_virtually(story())

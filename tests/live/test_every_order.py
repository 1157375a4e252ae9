"""Whatever comes when: once everything has been said, the scheduler believes what the API server has.

An adversary orders requests, answers, watch events, relists, users' doings and time as hypothesis likes. Afterwards
nobody is lost, no room is taken by a pod that is no more, and every pod without a node waits in the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairway.config.configuration import decode_configuration
from fairway.live.api.connection import Connection
from fairway.live.election import Election
from fairway.live.service import LiveScheduler, ServiceSettings
from fairway.live.watches.belief import differences
from fairway.live.watches.watched_kinds import PODS, WatchedKind
from fairway.model import Node, Pod
from fairway.plugin import Cluster, Plugin, PodClass, Wait
from fairway.plugins.registry import REGISTRY
from tests.live.adversary import Adversary, settle
from tests.live.live_cluster import HEADER, node
from tests.live.model_server import ModelServer
from tests.live.virtual_loop import LoopClock, run_virtually

SETTINGS = ServiceSettings(watched=(WatchedKind(Node, "/api/v1/nodes"), PODS))
WAITS = ["0.2", "2", "25"]  # seconds: a moment, a retry, longer than any request is waited for
TURNS = [*["network"] * 5, *["watches"] * 3, *["users"] * 2, "time", "owner"]
Choose = Callable[[list[str]], str]


class Hesitation(Plugin):
    """Holds pods that ask for it back for some seconds, refuses them then, and lets them go the next time."""

    def __init__(self, cluster: Cluster, args: object = None) -> None:
        super().__init__(cluster, args)
        self._known: set[str] = set()

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait | None:
        if pod.metadata.labels["held"] != "True" or pod.metadata.uid in self._known:
            return None
        self._known.add(pod.metadata.uid)
        return Wait(3.0)


CONFIGURATION: dict[str, Any] = HEADER | {
    "profiles": [{"plugins": {"permit": {"enabled": [{"name": f"{__name__}:Hesitation"}]}}}],
}


STORIES = {
    "bound, and read as gone before the watch says so": (
        "create a, tell pods, serve POST a, tell pods, delete a, lose POST a, serve GET a, answer GET a, tell pods"
    ),
    "read as bound, told so late": (
        "create a, tell pods, serve POST a, lose POST a, serve GET a, tell pods, delete a, tell pods, answer GET a"
    ),
    "read when it had finished": (
        "create a, tell pods, serve POST a, lose POST a, finish a, tell all pods, label a, serve GET a, answer GET a"
    ),
    "held, and bound by somebody else": "create c, tell pods, bind c to n1, tell pods, wait 25",
    "held, and bound to another node": "add n2, create c, tell pods, bind c to n2, tell all nodes, tell pods, wait 25",
    "held, and deleted": "create c, tell pods, delete c, tell pods, wait 25",
    "held, and finished": "create c, tell pods, finish c, tell pods, wait 25",
    "held on a node that goes": "create c, tell pods, remove n1, tell nodes, label c, tell pods, wait 25",
    "changed while its binding is under way and its node has gone": (
        "add n2, tell nodes, create a, tell pods, remove n1, remove n2, tell all nodes, label a, tell pods, "
        "add n1, add n2, tell all nodes, wait 2"
    ),
    "made again under the same name": (
        "create a, tell pods, serve POST a, delete a, create a, lose POST a, serve GET a, answer GET a, tell all pods"
    ),
}


class Doubtful:
    """An election whose winner is not always sure of it."""

    def __init__(self) -> None:
        self.is_sure = True

    async def run(self, stop: asyncio.Event, on_started: Callable[[], None]) -> bool:
        on_started()
        return await stop.wait()

    async def release(self) -> None:
        pass

    @property
    def last_led(self) -> float | None:
        return None

    def is_leading(self) -> bool:
        return self.is_sure

    def fault(self) -> str | None:
        return None


async def scheduling(
    server: ModelServer,
    names: str,
    story: Callable[[Adversary], Awaitable[None]],
    election: Election | None = None,
) -> None:
    """Play a story with a scheduler, let everything come to its end, and compare."""
    server.put("nodes", node("n1"))
    configuration = decode_configuration(CONFIGURATION, "test", REGISTRY)
    live = LiveScheduler(cast(Connection, server), configuration, LoopClock(), settings=SETTINGS, election=election)
    adversary = Adversary(server, live, names)
    synced = asyncio.Event()
    live.on_synced = synced.set
    running = asyncio.ensure_future(live.run(asyncio.Event()))
    try:
        await synced.wait()
        await story(adversary)
        await adversary.drain()
        assert not running.done()
        assert adversary.differences() == []
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def told(story: str) -> Callable[[Adversary], Awaitable[None]]:
    """These moves, one after the other."""

    async def tell(adversary: Adversary) -> None:
        for name in story.split(", "):
            moves = {name: move for moves in adversary.moves().values() for name, move in moves.items()}
            if name.startswith("wait "):
                await asyncio.sleep(float(name[5:]))
            else:
                moves[name]()
            await settle()

    return tell


@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
def test_a_story_that_could_end_badly(story: str) -> None:
    run_virtually(scheduling(ModelServer(streams_lists=True), "abc", told(story)))


def test_a_pod_that_a_doubtful_leader_did_not_bind_is_tried_again() -> None:
    election = Doubtful()

    async def tell(adversary: Adversary) -> None:
        await told("create a, tell pods, lose POST a, serve GET a")(adversary)
        election.is_sure = False
        await told("answer GET a, wait 2")(adversary)
        election.is_sure = True

    server = ModelServer(streams_lists=True)
    run_virtually(scheduling(server, "a", tell, election))
    assert server.requests == ["POST a", "GET a", "POST a"]


async def play_out(choose: Choose, streams_lists: bool, num_moves: int) -> None:
    names, turns = choose(["a", "ab", "abc"]), TURNS[: -int(choose(["0", "1"])) or None]

    async def improvise(adversary: Adversary) -> None:
        for _ in range(num_moves):
            moves = adversary.moves()
            who = choose([who for who in turns if who in (*moves, "time")])
            if who == "time":
                await asyncio.sleep(float(choose(WAITS)))
            else:
                moves[who][choose(list(moves[who]))]()
            await settle()
            reflectors = adversary.live.watch.reflectors
            assert not any(differences(adversary.live.scheduler, reflectors[Pod].store, reflectors[Node].store))

    await scheduling(ModelServer(streams_lists), names, improvise)


@pytest.mark.parametrize("streams_lists", [True, False], ids=["streamed lists", "stale lists"])
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(data=st.data(), num_moves=st.integers(1, 60))
def test_the_cache_is_equal_to_the_api_server(streams_lists: bool, data: st.DataObject, num_moves: int) -> None:
    run_virtually(play_out(lambda moves: data.draw(st.sampled_from(moves)), streams_lists, num_moves))


FULL = (  # a and c are on the only node
    "create a, tell pods, serve POST a, answer POST a, create c, tell all pods, bind c to n1, tell all pods, "
    "create b, tell pods, tell all pods"
)
DELETIONS = {
    "tried again while the victim is being deleted": (
        "delete c, tell all pods, wait 25, serve DELETE a, answer DELETE a, tell all pods",
        1,
    ),
    "tried again before the watch shows the deletion": (
        "delete c, serve DELETE a, answer DELETE a, tell pods, wait 25, tell all pods",
        1,
    ),
    "the answer was lost, and the watch shows the deletion": (
        "serve DELETE a, tell all pods, lose DELETE a, wait 25, delete a, tell all pods",
        1,
    ),
    "the last victim leaves before the answer comes": (
        "serve DELETE a, delete a, tell all pods, serve POST b, answer POST b, answer DELETE a, tell all pods",
        1,
    ),
    "it failed": ("refuse DELETE a 500, answer DELETE a, wait 2, serve DELETE a, answer DELETE a, tell all pods", 2),
    "it failed, and there is room elsewhere": (
        "refuse DELETE a 500, answer DELETE a, add n2, tell nodes, wait 2, serve POST b, answer POST b, tell all pods",
        1,
    ),
}


@pytest.mark.parametrize(("story", "num_deletions"), DELETIONS.values(), ids=list(DELETIONS))
def test_a_victim_is_deleted_once_unless_that_failed(story: str, num_deletions: int) -> None:
    server = ModelServer(streams_lists=True)
    run_virtually(scheduling(server, "abc", told(f"{FULL}, {story}")))
    assert server.requests.count("DELETE a") == num_deletions
    assert server.objects["pods"]["default/b"]["spec"]["nodeName"]

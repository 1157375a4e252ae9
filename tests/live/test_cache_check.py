"""The comparison of the cache with the API server: what is wrong is named, counted and mended, and nothing else is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.live.watches.belief import differences
from fairway.live.watches.object_store import ObjectStore
from fairway.model import Node, Pod
from tests.live.adversary import Adversary
from tests.live.model_server import ModelServer
from tests.live.test_every_order import scheduling, told
from tests.live.virtual_loop import run_virtually

BOUND = "create a, tell pods, serve POST a, answer POST a, tell all pods"  # a is on n1, and d does not fit beside it
WAITING = f"{BOUND}, create d, tell pods, tell all pods"


def known(adversary: Adversary, name: str) -> Pod:
    found = adversary.live.watch.reflectors[Pod].store.find(f"default/{name}")
    assert isinstance(found, Pod)
    return found


def on(pod: Pod, node: str, uid: str = "") -> Pod:
    meta = msgspec.structs.replace(pod.metadata, uid=uid or pod.metadata.uid, name=uid or pod.metadata.name)
    return msgspec.structs.replace(pod, metadata=meta, spec=msgspec.structs.replace(pod.spec, node_name=node))


def add_ghost(adversary: Adversary) -> None:
    adversary.live.cluster.apply(Event(Verb.ADDED, on(known(adversary, "a"), "n1", "ghost")))


def lose_pod(adversary: Adversary) -> None:
    adversary.live.cluster.apply(Event(Verb.DELETED, known(adversary, "a")))


def misplace_pod(adversary: Adversary) -> None:
    adversary.live.cluster.apply(Event(Verb.MODIFIED, on(known(adversary, "a"), "n2")))


def drop_from_queue(adversary: Adversary) -> None:
    adversary.live.scheduler.queue.delete(known(adversary, "d"))


def place_waiting(adversary: Adversary) -> None:
    adversary.live.scheduler.queue.delete(known(adversary, "d"))
    adversary.live.cluster.apply(Event(Verb.ADDED, on(known(adversary, "d"), "n1")))


def lose_node(adversary: Adversary) -> None:
    found = adversary.live.watch.reflectors[Node].store.find("n1")
    adversary.live.cluster.apply(Event(Verb.DELETED, found))


def add_node(adversary: Adversary) -> None:
    found = adversary.live.watch.reflectors[Node].store.find("n1")
    assert found is not None
    other = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, name="n9"))
    adversary.live.cluster.apply(Event(Verb.ADDED, other))


def lose_events(adversary: Adversary) -> None:
    """The watches go on as if they had told of everything."""
    for watch in adversary.server.watches:
        watch.since = adversary.server.version


Break = Callable[[Adversary], None]
CASES: dict[str, tuple[str, Break, list[str]]] = {
    "a pod that is no more": (BOUND, add_ghost, ["pod_redundant"]),
    "a pod on no node": (BOUND, lose_pod, ["pod_missing"]),
    "a pod on another node": (f"{BOUND}, add n2, tell nodes", misplace_pod, ["pod_misplaced"]),
    "a pod that is not in the queue": (
        WAITING,
        drop_from_queue,
        ["pod_not_queued"],
    ),
    "a waiting pod on a node": (WAITING, place_waiting, ["pod_misplaced"]),
    "a node that is missing": (BOUND, lose_node, ["node_missing"]),
    "a node that is no more": (BOUND, add_node, ["node_redundant"]),
    "the watch lost a new pod": ("create a", lose_events, ["pod_missing"]),
    "the watch lost a binding": ("create c, tell pods, bind c to n1", lose_events, ["pod_outdated"]),
    "the watch lost a deletion": (f"{BOUND}, delete a", lose_events, ["pod_redundant"]),
    "the watch lost a pod of the same name": (f"{BOUND}, delete a, create a", lose_events, ["pod_redundant"]),
    "the watch lost a node": ("add n2", lose_events, ["node_missing"]),
}


async def served(adversary: Adversary, seconds: float) -> None:
    """Requests are answered at once, for so long."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        for call in list(adversary.server.calls):
            adversary.server.serve(call)
            adversary.server.answer(call)
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(("story", "damage", "kinds"), CASES.values(), ids=list(CASES))
def test_what_is_wrong_is_named_counted_and_mended(
    story: str, damage: Break, kinds: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def tell(adversary: Adversary) -> None:
        await told(story)(adversary)
        damage(adversary)
        with caplog.at_level(logging.WARNING, "fairway.live.cache_check"):
            looking = asyncio.ensure_future(adversary.live.check.compare())
            await served(adversary, 40)
            assert await looking == len(kinds)
        assert [vars(record)["difference"] for record in caplog.records if "difference" in vars(record)] == kinds
        text = adversary.live.metrics.render().decode()
        assert f'fairway_cache_differences_total{{difference="{kinds[0]}"}} 1.0' in text
        assert "fairway_cache_comparisons_total 1.0" in text
        assert not any(differences(adversary.live.scheduler, *stores(adversary)))

    run_virtually(scheduling(ModelServer(streams_lists=True), "abcd", tell))


def stores(adversary: Adversary) -> tuple[ObjectStore, ObjectStore]:
    reflectors = adversary.live.watch.reflectors
    return reflectors[Pod].store, reflectors[Node].store


def test_a_busy_cluster_gives_no_false_alarm() -> None:
    """Pods come, are bound, change and go while lists are made; the watch is some seconds late all the time."""

    async def tell(adversary: Adversary) -> None:
        server, live = adversary.server, adversary.live
        looking: asyncio.Task[int] | None = None
        num_compared = 0
        for turn in range(1500):
            name = "acd"[turn % 3]
            moves = adversary.moves()
            for move in (f"delete {name}", f"create {name}", f"label {name}"):
                if turn % 5 == 0 and move in moves["users"]:
                    moves["users"][move]()
                    break
            for call in list(server.calls):
                server.serve(call)
                server.answer(call)
            for watch in server.watches:
                while turn % 40 > 25 and server.untold(watch):
                    server.tell(watch)
            await asyncio.sleep(0.1)
            assert not any(differences(live.scheduler, *stores(adversary)))
            if looking is None or looking.done():
                assert looking is None or looking.result() == 0
                num_compared += 1
                looking = asyncio.ensure_future(live.check.compare())
        assert num_compared > 3
        assert looking is not None
        looking.cancel()

    run_virtually(scheduling(ModelServer(streams_lists=True), "acd", tell))


def test_it_looks_now_and_then_and_when_asked(caplog: pytest.LogCaptureFixture) -> None:
    async def tell(adversary: Adversary) -> None:
        add_node(adversary)
        await asyncio.sleep(290)
        assert "n9" in adversary.live.cluster.nodes.row_of
        await asyncio.sleep(20)
        assert "n9" not in adversary.live.cluster.nodes.row_of
        add_node(adversary)
        with caplog.at_level(logging.INFO, "fairway.live.cache_check"):
            adversary.live.check.look_now()
            await asyncio.sleep(1)
        assert "n9" not in adversary.live.cluster.nodes.row_of
        (record,) = [record for record in caplog.records if record.message == "in memory"]
        assert (vars(record)["nodes"], vars(record)["pods"]) == (2, 0)

    run_virtually(scheduling(ModelServer(streams_lists=True), "a", tell))

"""What is kept of waiting pods and of nodes, as a server wrote them, and for how long."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairway.config.config_file import Extender
from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.raw_objects import RawStore
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import node, pod


def spec_of(raw: bytes | None) -> object:
    return None if raw is None else msgspec.json.decode(raw)["spec"].get("unheardOf")


@pytest.mark.parametrize("streams_lists", [True, False], ids=["streamed list", "pages"])
def test_waiting_pods_and_nodes_are_kept_whole(streams_lists: bool) -> None:
    async def story() -> None:
        api = FakeApiServer(streams_lists)
        await api.start()
        waiting, running = pod("waiting", unheardOf=1), pod("running", nodeName="n", unheardOf=2)
        api.put("pods", waiting)
        api.put("pods", running)
        machine = node("n")
        machine["spec"]["unheardOf"] = 3
        api.put("nodes", machine)
        connection = await Connection.open(master=api.url)
        told = asyncio.Event()
        watch = ClusterWatch(connection, SystemClock(), lambda _: told.set())
        store = RawStore([Extender(url_prefix="http://x")])
        store.listen_to(watch)

        async def look() -> None:
            await watch.sync(asyncio.Event())
            pods = {each.metadata.name: each for each in watch.pods()}
            uid = pods["waiting"].metadata.uid
            assert spec_of(store.raw_pod(uid)) == 1
            assert store.raw_pod(pods["running"].metadata.uid) is None
            assert spec_of(store.raw_node("n")) == 3
            assert store.raw_node("m") is None
            told.clear()
            bound = api.objects["pods"]["default/waiting"]
            api.put("pods", {**bound, "spec": {**bound["spec"], "nodeName": "n"}})
            await told.wait()
            assert store.raw_pod(uid) is None
            told.clear()
            api.put("pods", pod("brief"))
            await told.wait()
            brief = next(each.metadata.uid for each in watch.pods() if each.metadata.name == "brief")
            assert store.raw_pod(brief) is not None
            told.clear()
            for stream in list(api.streams):
                stream.cut()
            api.delete("pods", "default/brief")  # while nobody watches, and nobody remembers
            api.compact()
            await told.wait()
            assert store.raw_pod(brief) is None
            told.clear()
            api.delete("nodes", "n")
            await told.wait()
            assert store.raw_node("n") is None

        try:
            async with asyncio.timeout(60):
                await watch.run_with(look())
        finally:
            await connection.close()
            await api.stop()

    asyncio.run(story())


@pytest.mark.parametrize("knows", [True, False])
def test_nodes_are_kept_only_for_who_does_not_know_them(knows: bool) -> None:
    async def story() -> None:
        api = FakeApiServer()
        await api.start()
        api.put("nodes", node("n"))
        connection = await Connection.open(master=api.url)
        watch = ClusterWatch(connection, SystemClock(), lambda _: None)
        store = RawStore([Extender(url_prefix="http://x", node_cache_capable=knows)])
        store.listen_to(watch)
        try:
            async with asyncio.timeout(60):
                await watch.run_with(watch.sync(asyncio.Event()))
        finally:
            await connection.close()
            await api.stop()
        assert (store.raw_node("n") is None) is knows

    asyncio.run(story())

"""A `LiveScheduler` against the fake API server, for tests that tell a story.

In: objects put before or during the story. Out: what the API server has afterwards, and what was asked of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fairway.config.configuration import decode_configuration
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.api.connection import Connection
from fairway.live.service import LiveScheduler, ServiceSettings
from fairway.live.shadow import ShadowWorld
from fairway.plugins.registry import REGISTRY
from tests.live.fake_api_server import FakeApiServer, Tree

Story = Callable[[FakeApiServer, LiveScheduler], Awaitable[None]]
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def node(name: str, cpu: str = "4", pods: str = "110", **labels: str) -> Tree:
    amounts = {"cpu": cpu, "memory": "16Gi", "pods": pods}
    labels = {"kubernetes.io/hostname": name, **labels}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": amounts}}


def pod(name: str, cpu: str = "1", **spec: Any) -> Tree:
    requests = {"cpu": cpu, "memory": "100Mi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def play(
    story: Story,
    *objects: tuple[str, Tree],
    settings: ServiceSettings | None = None,
    configuration: Tree | None = None,
    clock: Clock | None = None,
    is_shadow: bool = False,
    prepare: Callable[[FakeApiServer], None] = lambda api: None,
) -> FakeApiServer:
    """Run a scheduler beside the story; both end with the story. `prepare` is done before there are any objects."""

    async def run() -> FakeApiServer:
        api = FakeApiServer()
        await api.start()
        prepare(api)
        for resource, tree in objects:
            api.put(resource, tree)
        connection = await Connection.open(master=api.url)
        configured = decode_configuration(HEADER | (configuration or {}), "test", REGISTRY)
        time = clock or SystemClock()
        shadow = ShadowWorld(time) if is_shadow else None
        live = LiveScheduler(connection, configured, time, settings=settings, shadow=shadow)
        stop = asyncio.Event()
        running = asyncio.ensure_future(live.run(stop))
        telling = asyncio.ensure_future(story(api, live))
        try:
            await asyncio.wait([running, telling], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()  # it failed
            await telling
            stop.set()
            await running
        finally:
            for task in (running, telling):
                task.cancel()
            await asyncio.gather(running, telling, return_exceptions=True)
            await connection.close()
            await api.stop()
        return api

    return asyncio.run(run())


def bindings(api: FakeApiServer) -> dict[str, str]:
    """Pods with a node, by name."""
    pods = api.objects.get("pods", {}).values()
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods if one["spec"].get("nodeName")}


def condition(api: FakeApiServer, name: str, kind: str = "PodScheduled") -> Tree:
    found: list[Tree] = [one for one in api.pod(name)["status"].get("conditions", ()) if one["type"] == kind]
    return found[0] if found else {}

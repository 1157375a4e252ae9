"""A process that only advises: what `fairway run --extender ADDRESS` starts.

In: `RunOptions` and an address. Out: an `ExtenderServer` whose profiles know the cluster from watches, until a signal.
Nothing is queued, decided, bound or written, so there is no lease either: any number of replicas may answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from fairway.cluster import Cluster, Event
from fairway.cycle import Profile
from fairway.live.clock import SystemClock
from fairway.live.cluster_watch import ClusterWatch
from fairway.live.extender_server import ExtenderServer
from fairway.live.problems import LiveProblem
from fairway.live.process import RunOptions, open_connection, read_configuration, stop_upon_signals
from fairway.model import Pod

__all__ = ["AddressProblem", "parse_address", "run_extender"]

logger = logging.getLogger(__name__)


class AddressProblem(LiveProblem):
    """An address that can not be listened on."""

    exit_code = 2

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"can not serve on {address!r}", why, "write HOST:PORT, or :PORT for all of this machine's")


def parse_address(address: str) -> tuple[str, int]:
    """`:8888`, `127.0.0.1:8888`, `[::1]:8888`."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise AddressProblem(address, "that is not an address with a port")
    return host.strip("[]") or "0.0.0.0", int(port)


async def run_extender(options: RunOptions, address: str, stop: asyncio.Event | None = None) -> int:
    """Serve until a signal; returns the exit code."""
    host, port = parse_address(address)
    configuration = read_configuration(options)
    clock = SystemClock()
    stop = stop or asyncio.Event()
    connection = await open_connection(options, configuration, clock, "extender")
    cluster = Cluster()

    def take_in(events: Sequence[Event]) -> None:
        for event in events:
            item = event.object
            if not isinstance(item, Pod) or item.spec.node_name:  # waiting pods are kube-scheduler's business
                cluster.apply(event)

    watch = ClusterWatch(connection, clock, take_in)
    profiles = {profile.scheduler_name: Profile(profile, cluster, now=clock.now) for profile in configuration.profiles}
    stop_upon_signals(stop)
    try:
        await watch.reach_server(stop)
        await watch.run_with(_serve(watch, ExtenderServer(profiles), (host, port), stop))
        return 0
    finally:
        await connection.close()


async def _serve(watch: ClusterWatch, server: ExtenderServer, address: tuple[str, int], stop: asyncio.Event) -> None:
    """Answer from when everything is known."""
    await watch.sync(stop)
    if stop.is_set():
        return
    host, port = address
    try:
        runner = await server.start(host, port)
    except OSError as error:
        raise AddressProblem(f"{host}:{port}", error.strerror or str(error)) from None
    logger.info("serving as an extender", extra={"address": host, "port": port})
    try:
        await stop.wait()
    finally:
        await runner.cleanup()

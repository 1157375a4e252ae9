"""A process that only advises: what `fairway run --extender ADDRESS` starts.

In: `RunOptions` and an address. Out: an `ExtenderServer` whose profiles know the cluster from watches, until a signal.
Nothing is queued, decided, bound or written, so there is no lease either: any number of replicas may answer.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Sequence
from pathlib import Path

from fairway.cluster import Cluster, Event
from fairway.cycle import Profile
from fairway.exit_codes import FAILED, USAGE
from fairway.live.api.certificates import serving_context
from fairway.live.api.clock import SystemClock
from fairway.live.api.problems import LiveProblem
from fairway.live.extender_service.server import Callers, ExtenderServer
from fairway.live.process import LOOPBACK, RunOptions, open_connection, read_configuration, stop_upon_signals
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.optional_kinds import optional_kinds
from fairway.model import Pod

__all__ = ["AddressProblem", "UnusableFile", "callers_of", "parse_address", "run_extender"]

logger = logging.getLogger(__name__)
SHORTEST_TOKEN = 16


class AddressProblem(LiveProblem):
    """An address that can not be listened on."""

    exit_code = USAGE

    def __init__(
        self, address: str, why: str, fix: str = "write HOST:PORT, or :PORT for programs of this machine"
    ) -> None:
        super().__init__(f"can not serve on {address!r}", why, fix)


def parse_address(address: str) -> tuple[str, int]:
    """`:8888` (of loopback), `127.0.0.1:8888`, `[::1]:8888`, `0.0.0.0:8888`."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise AddressProblem(address, "that is not an address with a port")
    return host.strip("[]") or "127.0.0.1", int(port)


def callers_of(options: RunOptions, host: str) -> Callers:
    """How callers are told from strangers; raises if others than this machine's programs would not be."""
    token = ""
    if options.token_file:
        try:
            token = Path(options.token_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UnusableFile("--token-file", options.token_file, str(error)) from None
        if len(token) < SHORTEST_TOKEN:
            why = f"it has {len(token)} characters, which is soon guessed"
            raise UnusableFile("--token-file", options.token_file, why)
    if host not in LOOPBACK and not (options.client_ca_file or token):
        raise AddressProblem(
            host,
            "everybody who reaches that address could ask, and nobody would know who they are",
            "give --client-ca-file (kube-scheduler shows its tlsConfig's certificate) or --token-file; "
            "or listen on loopback, beside kube-scheduler",
        )
    if host in LOOPBACK and not (options.tls_cert_file or options.client_ca_file):
        return Callers(None, token)
    context = serving_context(options.tls_cert_file, options.tls_private_key_file)
    if options.client_ca_file:
        try:
            context.load_verify_locations(options.client_ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UnusableFile("--client-ca-file", options.client_ca_file, str(error)) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return Callers(context, token)


class UnusableFile(LiveProblem):
    """A file of the command line that can not be used."""

    exit_code = FAILED

    def __init__(self, option: str, path: str, why: str) -> None:
        super().__init__(f"{option} {path} can not be used", why, "give another file")


async def run_extender(options: RunOptions, address: str, stop: asyncio.Event | None = None) -> int:
    """Serve until a signal; returns the exit code."""
    host, port = parse_address(address)
    callers = callers_of(options, host)
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

    watch = ClusterWatch(connection, clock, take_in, optional=optional_kinds(configuration))
    profiles = {profile.scheduler_name: Profile(profile, cluster, now=clock.now) for profile in configuration.profiles}
    stop_upon_signals(stop)
    try:
        await watch.reach_server(stop)
        await watch.run_with(_serve(watch, ExtenderServer(profiles, clock=clock), (host, port), callers, stop))
        return 0
    finally:
        await connection.close()


async def _serve(
    watch: ClusterWatch, server: ExtenderServer, address: tuple[str, int], callers: Callers, stop: asyncio.Event
) -> None:
    """Answer from when everything is known."""
    await watch.sync(stop)
    if stop.is_set():
        return
    host, port = address
    try:
        await server.start(host, port, callers)
    except OSError as error:
        raise AddressProblem(f"{host}:{port}", error.strerror or str(error)) from None
    logger.info("serving as an extender", extra={"address": host, "port": port})
    try:
        await stop.wait()
    finally:
        await server.stop()

"""A scheduler process: everything `fairway run` starts around the `LiveScheduler`, and in which order it ends.

In: `RunOptions`, what a user gave on the command line. Out: the exit code: 0 after a clean end, 1 when leadership was
lost; `LiveProblem` for what a user has to see to, at the end also if the recording is not whole. First the HTTP server,
so that probes have something to ask; then the scheduler; signals ask it to stop.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from fairway.config import Configuration
from fairway.config.configuration import decode_configuration, load_configuration
from fairway.config.document import configuration_document
from fairway.config.feature_gates import gangs_of
from fairway.config.gangs import needs_leave
from fairway.config.plugin_folders import FOLDERS
from fairway.exit_codes import USAGE
from fairway.live.api.certificates import serving
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.api.connection import Connection
from fairway.live.api.late_connection import LateConnection
from fairway.live.api.problems import LiveProblem
from fairway.live.api.rate_limit import RateLimit
from fairway.live.api_routes import api_routes, explained, pod_why
from fairway.live.asked_answer import AskedAnswers, Explain
from fairway.live.asked_queues import AskedQueues
from fairway.live.election_thread import ElectionThread
from fairway.live.extenders.http_extender import http_extenders
from fairway.live.followers import Follower, start_followers
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.service import LiveScheduler, ServiceSettings
from fairway.live.serving.authorization import Access, DelegatedAccess, LoopbackAccess
from fairway.live.serving.health import checks_of
from fairway.live.serving.http_server import HttpServer, Routes, keep_certificate_fresh
from fairway.live.serving.own_address import own_url
from fairway.live.serving.serving_thread import ServingThread, at_home
from fairway.live.shadow import ShadowWorld
from fairway.live.watches.raw_objects import RawStore
from fairway.live.watches.watched_kinds import WATCHED_TO_THE_END
from fairway.live.world.live_world import LiveWorld
from fairway.plugins.registry import REGISTRY

if TYPE_CHECKING:
    from fairway.live.ledger.address import LedgerAddress
    from fairway.live.recording_file import FileSettings

__all__ = ["RunOptions", "open_connection", "read_configuration", "run_scheduler", "stop_upon_signals"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
DEFAULT_SCHEDULER = "default-scheduler"
"""The name that pods have which say nothing."""
COLLECT_AFTER = 10_000, 10, 5
"""How many new objects a collection waits for. Python's 700 are few: a single pod may be read into a hundred thousand,
all of which stay, and next to nothing here is garbage that refers to itself."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The command line of `fairway run`; None: as the configuration says."""

    config: str | None = None
    scheduler_name: str | None = None
    feature_gates: str = ""  # kube-scheduler's: for profiles that do not say how they treat groups of pods
    kubeconfig: str | None = None
    context: str | None = None
    master: str | None = None
    secure_port: int = 10259
    bind_address: str = "0.0.0.0"
    client_ca_file: str = ""  # extender mode: who may have signed the callers' certificates
    token_file: str = ""  # extender mode: what callers have to know
    trust_loopback: bool = False  # on a loopback address, answer everybody
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    api_qps: float = 0.0
    api_burst: int = 0
    shadow: bool = False  # decide, bind nothing, compare
    batch: bool | None = None  # queues of jobs, where the cluster has them; None: they are served
    ledger: LedgerAddress | None = None  # where lines of their books go
    record: str | None = None  # a run to write
    record_settings: FileSettings | None = None
    anonymise: bool = False  # the run names nobody
    followers: tuple[Follower, ...] = ()  # who else is told of everything
    stream_scores: int = 0  # and of so many of the best nodes of each decision
    explain: Explain | None = None  # how it answers in words why a pod waits
    queues: Callable[[], AskedQueues] | None = None  # makes whoever answers questions about queues of jobs
    leader_election: dict[str, Any] = field(default_factory=dict)  # fields of LeaderElection that were given
    settings: ServiceSettings = field(default_factory=ServiceSettings)


class OpenToAll(LiveProblem):
    """Nobody would be asked who they are, on an address that others reach."""

    exit_code = USAGE

    def __init__(self, address: str) -> None:
        super().__init__(
            f"--trust-loopback with --bind-address {address}",
            "everybody who reaches that address would be answered",
            f"give a loopback address, such as {LOOPBACK[0]}, or leave --trust-loopback out",
        )


class DeletesUnasked(LiveProblem):
    """Pods would be deleted that nobody said may be."""

    exit_code = USAGE

    def __init__(self, config: str) -> None:
        super().__init__(
            f"{config}: profiles[].fairway.gangs: mode pfnet without deleteTogether",
            "it deletes all members of a gang as soon as one of them is being deleted",
            "allow that with deleteTogether: true, choose another mode, or simulate",
        )


def read_configuration(options: RunOptions) -> Configuration:
    """The configuration in force; raises `ConfigError` and `FeatureGatesError`."""
    if options.trust_loopback and options.bind_address not in LOOPBACK:
        raise OpenToAll(options.bind_address)
    gangs = gangs_of(options.feature_gates)
    if options.config is not None:
        FOLDERS.offer(options.config)
        read = load_configuration(options.config, REGISTRY, gangs)
        modes = [profile.gangs for profile in read.profiles if profile.gangs is not None]
        if not options.shadow and any(map(needs_leave, modes)):
            raise DeletesUnasked(options.config)
        return read
    tree: dict[str, Any] = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    if options.scheduler_name is not None:
        tree["profiles"] = [{"schedulerName": options.scheduler_name}]
        if options.scheduler_name != DEFAULT_SCHEDULER:
            # A lease of its own: with kube-scheduler's it would wait for that one to go away.
            tree["leaderElection"] = {"resourceName": options.scheduler_name}
    return decode_configuration(tree, "--scheduler-name", REGISTRY, gangs)


async def open_connection(options: RunOptions, configuration: Configuration, clock: Clock, suffix: str) -> Connection:
    """A connection with the limits that were asked for."""
    client = configuration.client_connection
    limit = RateLimit(options.api_qps, options.api_burst or 1, clock) if options.api_qps > 0 else None
    return await Connection.open(
        options.kubeconfig or client.kubeconfig or None,
        options.context,
        master=options.master,
        user_agent_suffix=suffix,
        rate_limit=limit,
        clock=clock,
    )


async def run_scheduler(options: RunOptions, stop: asyncio.Event | None = None, clock: Clock | None = None) -> int:
    """Run until a signal, or until leadership is lost; returns the exit code."""
    configuration = read_configuration(options)
    clock = clock or SystemClock()
    stop = stop or asyncio.Event()
    metrics = SchedulerMetrics()
    async with AsyncExitStack() as stack:
        connection = await _connect(stack, options, configuration, clock, "scheduler")
        election: ElectionThread | None = None
        settings = msgspec.structs.replace(configuration.leader_election, **options.leader_election)
        if settings.leader_elect and not options.shadow:
            component = configuration.profiles[0].scheduler_name
            leases = partial(open_connection, options, configuration, clock, "leader-election")
            election = ElectionThread(leases, settings, clock, component=component, metrics=metrics)
        raw = RawStore(configuration.extenders) if configuration.extenders else None
        live = LiveScheduler(
            connection,
            configuration,
            clock,
            metrics=metrics,
            election=election,
            extenders=http_extenders(configuration.extenders, raw),
            settings=_service_settings(options),
            shadow=ShadowWorld(clock) if options.shadow else None,
        )
        if raw is not None:
            raw.listen_to(live.watch)
        answers = None if options.explain is None else AskedAnswers(options.explain, clock)
        queues = None if options.queues is None else cache(options.queues)
        recording = _record(stack, live, configuration, clock, options, partial(pod_why, live, answers, queues))
        if options.secure_port:
            server = _http_server(live, configuration, clock, options, stop, api_routes(live, answers, queues))
            context, digest = serving(options.tls_cert_file, options.tls_private_key_file)
            port = await server.start(options.bind_address, options.secure_port, context)
            if live.batch is not None:
                url = own_url(options.bind_address, port, connection.url)
                live.batch.place = lambda: {"scheduler": url, "fingerprint": digest()} if url else {}
            stack.push_async_callback(server.stop)
            if options.tls_cert_file:
                fresh = keep_certificate_fresh(context, options.tls_cert_file, options.tls_private_key_file, clock)
                stack.callback(asyncio.ensure_future(fresh).cancel)
        live.on_synced = _settle_memory
        stack.callback(gc.set_threshold, *gc.get_threshold())
        stack.callback(gc.unfreeze)
        stop_upon_signals(stop)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, live.check.look_now)
        is_clean = await live.run(stop)
        if isinstance(live.world, ShadowWorld):
            live.world.tell_counts()
        problem = recording()
        if problem is not None and is_clean:
            raise problem
        return 0 if is_clean else 1


def _service_settings(options: RunOptions) -> ServiceSettings:
    settings = options.settings._replace(has_queues=options.batch is not False)
    if (address := options.ledger) is not None:
        from fairway.live.ledger.ledger_thread import LedgerThread  # noqa: PLC0415 - an extra

        settings = settings._replace(ledger=partial(LedgerThread, address))
    if options.record is None and not options.followers:
        return settings
    return settings._replace(watched=WATCHED_TO_THE_END, scores=options.stream_scores)


def _settle_memory() -> None:
    """What is there once everything was listed stays for long: collections need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


async def _connect(
    stack: AsyncExitStack, options: RunOptions, configuration: Configuration, clock: Clock, suffix: str
) -> Connection:
    connection = await open_connection(options, configuration, clock, suffix)
    stack.push_async_callback(connection.close)
    return connection


def _record(
    stack: AsyncExitStack,
    live: LiveScheduler,
    configuration: Configuration,
    clock: Clock,
    options: RunOptions,
    why: Callable[[str, str | None, bool], Coroutine[Any, Any, tuple[int, dict[str, Any]]]],
) -> Callable[[], LiveProblem | None]:
    """Record the run, and tell followers; what is returned ends the recording and says what is wrong with it."""
    told = [follower.recorder for follower in options.followers if follower.recorder is not None]
    live.listeners += [follower.listener for follower in options.followers if follower.listener is not None]
    if options.record is None and not told:
        _start_followers(stack, live, configuration, clock, options, live.world.now(), why)
        return lambda: None
    from fairway.live.recording import LiveRecorder, live_title  # noqa: PLC0415 - loads DuckDB
    from fairway.live.recording_file import RecordingFile  # noqa: PLC0415
    from fairway.record.several_recorders import SeveralRecorders  # noqa: PLC0415

    file: RecordingFile | None = None
    if options.record is not None:
        file = RecordingFile(
            options.record,
            clock,
            title=live_title("live"),
            configuration=configuration,
            metrics=live.metrics,
            settings=options.record_settings,
            anonymous=options.anonymise,
        )
        stack.enter_context(file)
        told.insert(0, file.writer)
    recorder = LiveRecorder(told[0] if len(told) == 1 else SeveralRecorders(*told), live.world.now)
    live.listeners.append(recorder)
    _start_followers(stack, live, configuration, clock, options, recorder.begun, why)
    if isinstance(live.world, ShadowWorld):
        live.world.on_compared = lambda found: recorder.note(
            found.pod, "ShadowDecision", f"fairway: {found.here or 'no node'}, cluster: {found.there}"
        )
    else:
        live.world.on_note = recorder.note
        live.world.on_held, live.world.on_settled = recorder.held, recorder.settled
    if file is None:
        return lambda: None
    recording = file
    recording.start()
    return lambda: recording.close(recorder.time)


def _start_followers(
    stack: AsyncExitStack,
    live: LiveScheduler,
    configuration: Configuration,
    clock: Clock,
    options: RunOptions,
    origin: float,
    why: Callable[[str, str | None, bool], Coroutine[Any, Any, tuple[int, dict[str, Any]]]],
) -> None:
    home_loop = at_home(asyncio.get_running_loop())
    start_followers(
        stack,
        options.followers,
        partial(open_connection, options, configuration, clock, "stream"),
        clock,
        live.metrics,
        origin,
        tls_files=(options.tls_cert_file, options.tls_private_key_file),
        is_leading=live.is_leading,
        explain=lambda pod: home_loop(explained(live, pod)),
        why=lambda *about: home_loop(why(*about)),
        trusts_loopback=options.trust_loopback,
    )
    if isinstance(live.world, LiveWorld):
        live.world.on_bound.extend(follower.bound for follower in options.followers)


def _http_server(
    live: LiveScheduler,
    configuration: Configuration,
    clock: Clock,
    options: RunOptions,
    stop: asyncio.Event,
    routes: Routes,
) -> ServingThread:
    """In a thread of its own, with a connection of its own for asking who may ask."""
    reviews = LateConnection(partial(open_connection, options, configuration, clock, "authorization"))
    access: Access = LoopbackAccess() if options.trust_loopback else DelegatedAccess(reviews, clock)
    checks = checks_of(live.election, lambda: live.is_synced, stop.is_set)
    server = HttpServer(
        checks,
        live.metrics,
        access,
        configz=lambda: configuration_document(configuration),
        pods=live.watch.pods,
        routes=routes,
        clock=clock,
        at_home=at_home(asyncio.get_running_loop()),
    )
    return ServingThread(server, reviews.close)


def stop_upon_signals(stop: asyncio.Event) -> None:
    """Set `stop` when somebody asks the process to end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

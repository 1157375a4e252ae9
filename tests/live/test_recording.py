"""Recording a live cluster, and shadowing its scheduler."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fairway.config import decode_configuration
from fairway.config.config_file import API_VERSION, KIND
from fairway.explain.run_schedulers import run_schedulers
from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection
from fairway.live.recording import LiveRecorder, live_title, record_cluster, wall_clock
from fairway.live.recording_file import RecordingFile
from fairway.live.service import LiveScheduler, ServiceSettings
from fairway.live.shadow import ShadowedPod, ShadowWorld
from fairway.live.watches.watched_kinds import WATCHED_TO_THE_END
from fairway.model import Pod
from fairway.plugins.registry import REGISTRY
from fairway.record import Run, RunWriter
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.told import Attempt
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import bindings, node, play, pod


class NoticingWriter(RunWriter):
    """Lets a test know how far the recording is."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.created: list[str] = []

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        self.created.append(pod.key)
        return super().pod_created(t, pod, scheduler)


def bind(api: FakeApiServer, name: str, target: str, **status: object) -> None:
    """Somebody else binds a pod."""
    tree = api.pod(name)
    api.put("pods", tree | {"spec": tree["spec"] | {"nodeName": target}, "status": {"phase": "Running", **status}})


def test_a_cluster_is_recorded_whoever_schedules(tmp_path: Path) -> None:
    async def run() -> None:
        api = FakeApiServer()
        await api.start()
        api.put("nodes", node("n1"))
        api.put("pods", pod("old", nodeName="n1"))
        api.put("pods", pod("done", nodeName="n1") | {"status": {"phase": "Succeeded"}})
        connection = await Connection.open(master=api.url)
        stop = asyncio.Event()
        with NoticingWriter(tmp_path / "run.duckdb", scenario={}, seed=0) as writer:
            recording = asyncio.ensure_future(
                record_cluster(connection, LiveRecorder(writer, wall_clock(SystemClock())), SystemClock(), stop)
            )
            await api.until(lambda: len(api.streams) == len(WATCHED_TO_THE_END))
            api.put("pods", pod("new"))
            bind(api, "new", "n1")
            given = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
            bind(api, "new", "n1", containerStatuses=given)  # more than it asks for: it is being made smaller
            bind(api, "new", "n1")
            api.put("nodes", node("n1") | {"spec": {"unschedulable": True}})
            bind(api, "new", "n1", phase="Succeeded")
            api.put("pods", pod("victim", nodeName="n1"))
            gone = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
            bind(api, "victim", "n1", conditions=gone)
            api.delete("pods", "default/victim")
            api.put("pods", pod("last"))
            await api.until(lambda: "default/last" in writer.created)
            stop.set()
            writer.close(await recording)
        await connection.close()
        await api.stop()

    asyncio.run(run())
    with Run.open(tmp_path / "run.duckdb") as found:
        pods = found.sql("SELECT pod, node, reason FROM pods ORDER BY pod").rows()
        assert [tuple(row.values()) for row in pods] == [
            ("default/last", None, None),
            ("default/new", "n1", "Succeeded"),
            ("default/old", "n1", None),
            ("default/victim", "n1", "Preempted"),
        ]
        held = found.sql("SELECT cpu_milli, reason FROM occupancy WHERE pod = 'default/new' ORDER BY rowid").rows()
        assert [tuple(row.values()) for row in held] == [
            (1000, "Resized"),
            (3000, "Resized"),
            (1000, "Succeeded"),
        ]
        changes = [row["change"] for row in found.sql("SELECT change FROM nodes ORDER BY from_seconds").rows()]
        assert changes == ["Added", "Cordoned"]


def test_a_run_of_the_scheduler_has_its_decisions(tmp_path: Path) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        writer = RunWriter(tmp_path / "run.duckdb", scenario={}, seed=0)
        recorder = LiveRecorder(writer, live.world.now)
        live.listeners.append(recorder)
        await api.until(lambda: live.is_synced)
        api.put("nodes", node("n2", cpu="1"))
        api.put("pods", pod("a"))
        api.put("pods", pod("b", cpu="100"))
        await api.until(lambda: bindings(api) and api.sent("PATCH", "/pods/b/status"))
        writer.close(recorder.time)

    play(story, settings=ServiceSettings(watched=WATCHED_TO_THE_END))
    with Run.open(tmp_path / "run.duckdb") as found:
        rows = found.sql("SELECT pod, outcome, node FROM decisions ORDER BY decision_id").rows()
        assert [tuple(row.values()) for row in rows] == [
            ("default/a", "scheduled", "n2"),
            ("default/b", "unschedulable", None),
        ]


def test_a_stream_has_the_scores_that_were_asked_for() -> None:
    stream = StreamRecorder("s")

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        live.listeners.append(LiveRecorder(stream, live.world.now))
        await api.until(lambda: live.is_synced)
        for number in range(3):
            api.put("nodes", node(f"n{number}", cpu=str(2 + number)))
        api.put("pods", pod("a"))
        api.put("pods", pod("b", cpu="100"))
        await api.until(lambda: bindings(api) and api.sent("PATCH", "/pods/b/status"))

    play(story, settings=ServiceSettings(watched=WATCHED_TO_THE_END, scores=2))
    told = [event.what for event in stream.ring.read(1, 1000).events]
    placed, failed = (what for what in told if isinstance(what, Attempt))
    assert [(one.rank, one.node) for one in placed.best] == [(1, placed.node), (2, placed.best[1].node)]
    assert placed.best[0].total == placed.score
    assert placed.best[0].total >= placed.best[1].total
    assert all(sum(one.by_plugin.values()) == one.total for one in placed.best)
    assert "NodeResourcesFit" in placed.best[0].by_plugin
    assert failed.best == ()


def test_the_shadow_decides_binds_nothing_and_compares() -> None:
    compared: list[ShadowedPod] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        world = live.world
        assert isinstance(world, ShadowWorld)
        world.on_compared = compared.append
        await api.until(lambda: live.is_synced)
        for name in ("same", "other", "big"):
            api.put("pods", pod(name, cpu="8" if name == "big" else "1"))
        await api.until(lambda: world.num_assumed == 2)
        bind(api, "same", "n1")
        bind(api, "other", "small")
        bind(api, "big", "small")
        await api.until(lambda: len(compared) == 3)
        assert (world.counts.num_equal, world.counts.num_different, world.counts.num_only_there) == (1, 1, 1)
        row = live.cluster.nodes.row_of["small"]
        assert {placed.pod.metadata.name for placed in live.cluster.pods.on_row(row)} == {"other", "big"}

    api = play(story, ("nodes", node("n1")), ("nodes", node("small", cpu="100m")), is_shadow=True)
    assert [(found.pod.metadata.name, found.here, found.there) for found in compared] == [
        ("same", "n1", "n1"),
        ("other", "n1", "small"),
        ("big", "", "small"),
    ]
    assert {method for method, _, _ in api.requests} == {"GET"}


def test_a_live_run_says_how_it_was_configured(tmp_path: Path) -> None:
    """Also what is switched off, which kube-scheduler's defaults would switch on again."""
    off = {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}
    plain = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [{"schedulerName": "lab", "plugins": off}]}
    configuration = decode_configuration(plain, "test", REGISTRY)
    path = tmp_path / "run.duckdb"
    with RecordingFile(str(path), SystemClock(), title=live_title("lab"), configuration=configuration) as recording:
        assert recording.close(1.0) is None
    with Run.open(path) as run:
        assert (run.origin, run.is_anonymous, run.scenario["kind"]) == ("live", False, "LiveCluster")
        (scheduler,) = run_schedulers(run)
    assert scheduler.serves("lab")
    assert scheduler.configuration.profiles[0].points == configuration.profiles[0].points
    assert "InterPodAffinity" not in scheduler.configuration.profiles[0].points["filter"]

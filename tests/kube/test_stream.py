"""The stream and the sniffer on a real API server with KWOK's nodes: pods are chosen a node, bound, and leave."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fairway.record import Run
from fairway.stream.address import Address
from fairway.stream.told import Attempt, Bound, Told, Unbound
from fairway.stream.watch_client import (
    CannotWatchError,
    StreamAddress,
    explain,
    follow,
    trusted_certificate,
    watch_request,
)
from tests.kube.api import Json
from tests.kube.build import program
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port, wait_until
from tests.kube.test_control_plane import make_node, make_pod
from tests.stream.go_sniffer import GoServer, go_server

pytestmark = pytest.mark.slow
UNSCHEDULABLE = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"}'
FAIRWAY = (sys.executable, "-m", "fairway")


def make_job(namespace: str, pods: int, scheduler: str = "default-scheduler") -> Json:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "schedulerName": scheduler, "containers": [container]}
    template = {"metadata": {"annotations": {"fairway.test/runs-for": "1s"}}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": namespace},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }


def start_job_controller(control_plane: ControlPlane) -> Program:
    kubeconfig = control_plane.kubeconfig()
    flags = [f"--{name}kubeconfig={kubeconfig}" for name in ("", "authentication-", "authorization-")]
    command: list[str | Path] = [program("kube-controller-manager"), *flags]
    command += ["--controllers=job-controller", "--leader-elect=false"]
    command += ["--use-service-account-credentials=false", f"--secure-port={free_port()}", "--bind-address=127.0.0.1"]
    return Program(command, control_plane.directory / "job-controller.log")


def steps_of(server: GoServer, number: int) -> dict[str, list[str]]:
    """What a sniffer was told of each pod, in order of time, each on one node."""
    steps: dict[str, list[tuple[str, str, str]]] = {}
    nodes: dict[str, set[str]] = {}
    for message in server.wait_for(number):
        steps.setdefault(message["pod"], []).append((message["timestamp"], message["endpoint"], message["event"]))
        nodes.setdefault(message["pod"], set()).add(message["node"])
    assert all(len(names) == 1 for names in nodes.values())
    return {pod: [f"{endpoint}/{event}" for _, endpoint, event in sorted(told)] for pod, told in steps.items()}


LIFE = ["schedulePod/ScheduleSuccess", "bindingCycle/BindingSuccess", "podUpdate/Succeeded"]


def occupancy_of(path: Path) -> list[tuple[Any, ...]]:
    columns = ("pod", "node", "from_seconds", "to_seconds", "reason", "cpu_milli")
    with Run.open(path) as run:
        return sorted(tuple(row[column] for column in columns) for row in run.occupancy.rows())


def test_a_jobs_pods_are_told_to_a_sniffer_a_stream_and_a_run(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    api = control_plane.api()
    api.create_all(make_node(f"node-{number}") for number in range(2))
    control_plane.start_kubelet()
    jobs = start_job_controller(control_plane)
    recorded, watched = tmp_path / "recorded.duckdb", tmp_path / "watched.duckdb"
    stream = f"127.0.0.1:{free_port()}"
    try:
        with go_server() as sniffer:
            flags = [f"--stream={stream}", f"--sniffer={sniffer.address}", f"--record={recorded}"]
            fairway = control_plane.start_fairway(flags=flags)
            watch = Program([*FAIRWAY, "watch", stream, "--save", str(watched)], tmp_path / "watch.log")
            metric = "fairway_stream_readers"
            wait_until(lambda: control_plane.metrics(fairway)[metric] == 1, "somebody reads along")
            api.create(make_job(namespace, pods=3))
            steps = steps_of(sniffer, 9)
            sent = 'fairway_sniffer_sent_total{result="sent"}'
            wait_until(lambda: control_plane.metrics(fairway).get(sent) == 9, "all messages were answered")
        assert len(steps) == 3
        assert all(told == LIFE for told in steps.values()), steps
        wait_until(lambda: watch.output().count("unbound") == 3, "the reader has seen all pods leave")
        events, kept = "fairway_stream_events_total", "fairway_stream_ring_events"
        wait_until(lambda: control_plane.metrics(fairway)[events] > 20, "they are counted")
        metrics = control_plane.metrics(fairway)
        assert metrics[events] == metrics[kept]
        assert watch.stop() == 0, watch.output()
        assert fairway.stop() == 0
    finally:
        jobs.stop()
    rows = occupancy_of(recorded)
    assert len(rows) == 3
    assert rows == occupancy_of(watched)
    assert all(row[4] == "Succeeded" for row in rows)


def test_beyond_this_machine_a_stream_is_for_those_whom_the_api_server_lets(
    control_plane: ControlPlane, namespace: str
) -> None:
    api = control_plane.api()
    api.create(make_node("node-1"))
    port = free_port()
    fairway = control_plane.start_fairway(flags=[f"--stream=0.0.0.0:{port}"])
    line = next(line for line in fairway.output().splitlines() if "streaming with a self-signed" in line)
    certificate = trusted_certificate("127.0.0.1", port, json.loads(line)["sha256"])
    with pytest.raises(ValueError, match="its certificate has the fingerprint"):
        trusted_certificate("127.0.0.1", port, "0" * 64)
    at = f"localhost:{port}"

    def first(token: str) -> str:
        address = StreamAddress(at, token, certificate)
        return next(follow(address, watch_request(), lambda seconds: False)).resume

    assert first(control_plane.token()) != ""
    with pytest.raises(CannotWatchError, match="UNAUTHENTICATED"):
        first("nonsense")
    with pytest.raises(CannotWatchError, match=r'PERMISSION_DENIED.*cannot get path "/fairway/stream/v1"'):
        first("")
    with pytest.raises(CannotWatchError, match="UNAVAILABLE"):
        next(follow(StreamAddress(at, control_plane.token()), watch_request(), lambda seconds: False))
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "99"}}}
    api.create(make_pod("big", namespace, containers=[container]))
    address = StreamAddress(at, control_plane.token(), certificate)

    def why() -> dict[str, Any] | None:
        try:
            answer: dict[str, Any] = json.loads(explain(address, f"{namespace}/big"))
        except CannotWatchError:
            return None  # it is not known yet
        return answer

    wait_until(lambda: why() is not None, "the pod is known")
    explained = why()
    assert explained is not None
    assert "Insufficient cpu" in explained["message"]


def test_a_scheduler_that_can_not_send_is_told_of_by_somebody_who_watches(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    api = control_plane.api()
    api.create(make_node("node-1"))
    control_plane.start_kubelet()
    kube_scheduler = control_plane.start_kube_scheduler()
    stream = Address("127.0.0.1", free_port())
    with go_server() as sniffer:
        command = [*FAIRWAY, "record", f"--stream={stream}", f"--sniffer={sniffer.address}"]
        record = Program([*command, f"--kubeconfig={control_plane.kubeconfig()}"], tmp_path / "record.log")
        wait_until(lambda: "recording" in record.output(), "it watches")
        followed = follow(StreamAddress(str(stream)), watch_request([Attempt, Bound, Unbound]), wait_a_little)
        record.wait_until(lambda: is_listening(stream), "it listens")
        assert next(followed).resume != ""  # from here on everything is told
        api.create(make_pod("first", namespace))
        assert any(isinstance(event.what, Bound) for batch in followed for _, event in batch.events)
        container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "99"}}}
        api.create(make_pod("big", namespace, containers=[container]))
        api.create(make_pod("small", namespace, {"fairway.test/runs-for": "1s"}))
        told: dict[str, list[Told]] = {"first": [], "big": [], "small": []}
        while len(told["small"]) < 3 or not told["big"]:
            for _, event in next(followed).events:
                assert isinstance(event.what, Attempt | Bound | Unbound)
                told[event.what.pod.name].append(event.what)
        wait_until(lambda: steps_of(sniffer, 3).get("small") == LIFE, "the sniffer knows")
        followed.close()
        tried = control_plane.metrics(kube_scheduler)[UNSCHEDULABLE]
        assert record.stop() == 0, record.output()
    assert [type(what) for what in told["small"]] == [Attempt, Bound, Unbound]
    assert all(isinstance(what, Attempt) and "Insufficient cpu" in what.message for what in told["big"])
    numbers = [(what.outcome, what.attempt) for what in told["big"] if isinstance(what, Attempt)]
    assert numbers == [("unschedulable", number) for number in range(1, len(numbers) + 1)]
    assert len(numbers) <= tried, "more attempts were told of than the scheduler counts"


def wait_a_little(seconds: float) -> bool:
    return False


def is_listening(stream: Address) -> bool:
    followed = follow(StreamAddress(str(stream)), watch_request(), wait_a_little)
    try:
        next(followed)
    except CannotWatchError:
        return False
    followed.close()
    return True

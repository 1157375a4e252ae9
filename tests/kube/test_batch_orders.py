"""Commands that change something about jobs on a real API server: what they say, what is so then, how they end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kube.api import Api, Json
from tests.kube.batch import batch_kinds, events_of, job, later, node, ours, queue, start, state_of, status_of, until
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import PATIENCE, bound
from tests.kube.people import READS, Person, allow, rule
from tests.kube.processes import wait_until


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        yield api


def window(name: str, seconds: float, **spec: Any) -> Json:
    return ours("MaintenanceWindow", name, start=later(seconds), **spec)


def test_a_job_is_extended_up_to_what_is_in_its_way(
    control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.create(node("a", "2"))
    api.create(queue(limits={"default": "1h", "max": "8h"}))
    api.create(window("rack-r7", 7200, duration="1h"))
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("it", namespace, cpu="2"))
    until(api, "it", namespace, "Running")
    admin = Person(control_plane, capsys)

    granted = admin.run("extend", f"{namespace}/it", "+10m")
    assert granted.code == 0, granted.err
    assert granted.out.startswith(f"{namespace}/it has a limit of 1h 10m now: until ")
    assert granted.out.endswith("it was 1h\n")
    assert status_of(api, "it", namespace)["limit"] == "4200s"
    again = admin.run("extend", f"{namespace}/it", "70m")
    assert (again.code, again.out.partition(":")[0]) == (0, f"{namespace}/it has a limit of 1h 10m already")

    for _ in range(2):  # whoever asks again is answered again
        refused = admin.run("extend", "it", "+4h", "-n", namespace)
        assert refused.code == 3, refused.err
        assert refused.out.startswith("refused: 4h would reach into maintenance rack-r7 at ")
        assert "  longest possible: +4" in refused.out
        assert f"→ fairway extend {namespace}/it +4" in refused.err
        assert api.get("JobRecord", "it", namespace)["spec"]["timeLimit"] == "1h10m"
    assert len(events_of(api, namespace, "LimitRefused")) >= 1
    assert admin.take(refused.err).code == 0
    assert admin.run("extend", f"{namespace}/it", "+1m").code == 3, "that was the longest"
    shorter = admin.run("extend", f"{namespace}/it", "30m", "-o", "json")
    assert (shorter.code, json.loads(shorter.out)["limitSeconds"]) == (0, 1800.0)

    allow(api, "stranger", namespace, READS)
    stranger = Person(control_plane, capsys, "stranger").run("extend", f"{namespace}/it", "+1m")
    assert stranger.code == 4
    assert f"stranger may not patch jobrecords.fairway.dev in namespace {namespace}" in stranger.err
    allow(api, "ada", namespace, READS, rule("", "pods", "get", "patch"))
    ada = Person(control_plane, capsys, "ada")
    owned = ada.run("extend", "it", "45m", "-n", namespace)
    assert owned.code == 0, owned.err
    assert "has a limit of 45m now" in owned.out
    assert api.get("Pod", "it", namespace)["metadata"]["annotations"]["fairway.dev/time-limit"] == "45m"
    longer = ada.run("extend", "it", "7h", "-n", namespace)
    assert longer.code == 3
    assert "longest possible" in longer.out
    assert api.get("Pod", "it", namespace)["metadata"]["annotations"]["fairway.dev/time-limit"] == "45m"

    misnamed = admin.run("extend", f"{namespace}/its", "+1h")
    assert misnamed.code == 2
    assert f"no job “{namespace}/its”; there are {namespace}/it" in misnamed.err
    assert f"→ fairway extend {namespace}/it" in misnamed.err


def test_jobs_are_held_released_requeued_and_cancelled(
    control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.create(node("a", "2"))
    api.create(queue(limits={"killGrace": "1s"}))
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("it", namespace, cpu="2"))
    until(api, "it", namespace, "Running")
    api.create(job("next", namespace, cpu="2"))
    until(api, "next", namespace, "Queued", "Resources")
    admin = Person(control_plane, capsys)

    held = admin.run("hold", f"{namespace}/next")
    assert (held.code, held.out) == (
        0,
        f"{namespace}/next is held, by an operator: it does not start until it is released\n",
    )
    until(api, "next", namespace, "Queued", "Held")
    assert "is held already" in admin.run("hold", f"{namespace}/next").out
    refused = admin.run("requeue", f"{namespace}/it")
    assert (refused.code, refused.out.startswith(f"refused: {namespace}/it: it goes on: ")) == (3, True)
    assert admin.run("requeue", f"{namespace}/it").code == 3, "asked again, answered again"
    assert "waits already" in admin.run("requeue", f"{namespace}/next").out
    cancelled = admin.run("cancel", f"{namespace}/it")
    assert (cancelled.code, cancelled.out.startswith(f"{namespace}/it is cancelled")) == (0, True)
    until(api, "it", namespace, "Finished", "Cancelled")
    assert admin.run("extend", f"{namespace}/it", "+1h").code == 3, "it is over"
    assert state_of(api, "next", namespace) == ("Queued", "Held")

    allow(api, "ada", namespace, READS, rule("", "pods", "get", "patch"))
    ada = Person(control_plane, capsys, "ada")
    not_hers = ada.run("release", f"{namespace}/next")
    assert (not_hers.code, "ada may not patch jobrecords.fairway.dev" in not_hers.err) == (4, True)
    assert "kubectl delete pod next" in ada.run("cancel", f"{namespace}/next").err
    assert admin.take(held.err).code == 0
    until(api, "next", namespace, "Running")
    api.create(job("third", namespace, cpu="2"))
    until(api, "third", namespace, "Queued", "Resources")
    assert "is held, by its owner" in ada.run("hold", f"{namespace}/third").out
    until(api, "third", namespace, "Queued", "Held")
    assert "is not held any more" in ada.run("release", f"{namespace}/third").out
    until(api, "third", namespace, "Queued", "Resources")


def test_without_a_scheduler_what_is_said_is_written_and_nobody_answers(
    control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.create(node("a", "2"))
    api.create(queue())
    control_plane.start_kubelet()
    scheduler = start(control_plane)
    api.create(job("it", namespace, cpu="2"))
    until(api, "it", namespace, "Running")
    scheduler.kill()
    admin = Person(control_plane, capsys)
    silent = admin.run("extend", f"{namespace}/it", "+10m")
    assert silent.code == 4
    assert "no answer of the scheduler within 10 s" in silent.err
    assert api.get("JobRecord", "it", namespace)["spec"]["timeLimit"] == "1h10m"
    start(control_plane)
    wait_until(lambda: status_of(api, "it", namespace)["limit"] == "4200s", "it is granted later", PATIENCE)
    assert bound(api, namespace) == {"it": "a"}


def test_a_cluster_without_queues_says_how_to_have_some(
    control_plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = Person(control_plane, capsys)
    for words in (("extend", "it", "+1h"), ("hold", "it")):
        said = admin.run(*words)
        assert said.code == 1
        assert "this cluster has no queues of jobs" in said.err
        assert "crds.yaml" in said.err

"""The pages of a scheduler on a real API server: followed from elsewhere, with the rights of whoever looks at them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.cli.test_ui import Shown, shown
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port, wait_until
from tests.kube.test_control_plane import make_node, make_pod

pytestmark = pytest.mark.slow


def pods(page: Shown, namespace: str) -> Mapping[str, Any]:
    """By name: the state."""
    status, answer = page.ask(f"/runs/live/pods?namespace={namespace}")
    assert status == 200
    columns = answer["columns"]
    return dict(zip(columns["pod"], zip(columns["state"], columns["node"], strict=True), strict=True))


def certificate_of(fairway: Program, words: str) -> str:
    line = next(line for line in fairway.output().splitlines() if words in line)
    match = re.search(r'"sha256": ?"([0-9a-f]{64})"', line)
    assert match is not None, line
    return match[1]


def test_a_scheduler_is_seen_at_work_and_asked_why(control_plane: ControlPlane, namespace: str) -> None:
    api = control_plane.api()
    api.create_all(make_node(f"node-{number}") for number in range(2))
    api.create(make_pod("before", namespace))
    port = free_port()
    fairway = control_plane.start_fairway(flags=[f"--stream=0.0.0.0:{port}"])
    fingerprint = certificate_of(fairway, "streaming with a self-signed")
    asked = ["--scheduler", fairway.url, "--insecure-skip-tls-verify", "--stream", f"127.0.0.1:{port}"]
    asked += ["--stream-fingerprint", fingerprint]
    with shown(*asked, "--kubeconfig", str(control_plane.kubeconfig("admin"))) as page:
        assert page.url.startswith("http://127.0.0.1:"), page.process.communicate(timeout=30)[1]
        wait_until(lambda: f"{namespace}/before" in pods(page, namespace), "how things stood is known")
        container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "99"}}}
        api.create(make_pod("small", namespace))
        api.create(make_pod("big", namespace, containers=[container]))
        wait_until(lambda: pods(page, namespace).get(f"{namespace}/small", ("",))[0] == "running", "a pod is bound")
        wait_until(lambda: page.ask("/runs/live/queue")[1]["total"] == 1, "the other one waits")
        (run,) = page.ask("/runs")[1]["runs"]
        assert (run["state"], run["nodes"]) == ("live", 2)
        assert abs(run["began"] + run["end"] - time.time()) < 60
        _, decisions = page.ask(f"/runs/live/decisions?pod={namespace}/big")
        assert decisions["columns"]["outcome"][0] == "unschedulable"
        status, why = page.ask(f"/runs/live/why/{namespace}/big")
        assert (status, why["result"], why["feasible"], why["nodes"]) == (200, "unschedulable", 0, 2)
        assert why["story"]["pod"] == f"{namespace}/big"
        assert why["queue"]["place"] in {"unschedulable", "backoff", "active"}
        api.delete("Pod", "big", namespace)
        wait_until(lambda: page.ask("/runs/live/queue")[1]["total"] == 0, "it is gone")


def test_the_next_scheduler_is_followed_when_one_ends(control_plane: ControlPlane, namespace: str) -> None:
    api = control_plane.api()
    api.create(make_node("node-1"))
    stream = f"127.0.0.1:{free_port()}"
    fairway = control_plane.start_fairway(flags=["--stream", stream])
    asked = ["--scheduler", fairway.url, "--insecure-skip-tls-verify", "--stream", stream]
    with shown(*asked, "--kubeconfig", str(control_plane.kubeconfig("admin"))) as page:

        def notes() -> str:
            return " ".join(page.ask("/runs")[1]["runs"][0]["notes"])

        api.create(make_pod("first", namespace))
        wait_until(lambda: pods(page, namespace).get(f"{namespace}/first", ("",))[0] == "running", "a pod is bound")
        assert fairway.stop() == 0
        wait_until(lambda: "nothing was heard for" in notes(), "it is told that nothing comes")
        control_plane.start_fairway(flags=["--stream", stream])
        wait_until(lambda: "nothing was heard for" not in notes(), "the next one is followed")
        api.create(make_pod("second", namespace))
        wait_until(lambda: pods(page, namespace).get(f"{namespace}/second", ("",))[0] == "running", "a pod is bound")
        assert set(pods(page, namespace).values()) == {("running", "node-1")}


def test_who_may_not_read_the_stream_sees_nothing(control_plane: ControlPlane) -> None:
    port = free_port()
    fairway = control_plane.start_fairway(flags=[f"--stream=0.0.0.0:{port}"])
    asked = ["--scheduler", fairway.url, "--insecure-skip-tls-verify", "--stream", f"127.0.0.1:{port}"]
    asked += ["--stream-fingerprint", certificate_of(fairway, "streaming with a self-signed")]
    with shown(*asked, "--kubeconfig", str(control_plane.kubeconfig(token="nonsense"))) as page:
        out, err = page.process.communicate(timeout=60)
    assert (page.process.returncode, page.url, out) == (4, "", "")
    assert "UNAUTHENTICATED" in err

"""The pages of a scheduler on a real API server: followed from elsewhere, beside it, with the rights of who asks."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

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


# -- beside the scheduler ----------------------------------------------------------------------------------------------


class Beside(NamedTuple):
    """Pages of `fairway run --web`, as somebody with a token asks for them."""

    port: int

    def ask(self, path: str, token: str = "") -> tuple[int, Any]:
        """Status and document; 0 while nobody is there."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        try:
            connection.request("GET", f"/fairway/api/v1{path}", headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            return 0, None
        finally:
            connection.close()

    def states(self, token: str) -> dict[str, str]:
        status, answer = self.ask("/runs/live/pods", token)
        assert status == 200, answer
        return dict(zip(answer["columns"]["pod"], answer["columns"]["state"], strict=True))


def allow_pages(api: Any, user: str, *paths: str) -> None:
    """As the page of the pages says."""
    meta = {"name": f"see-fairway-{user}"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": meta}
    api.apply(role | {"rules": [{"nonResourceURLs": list(paths), "verbs": ["get"]}]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": meta["name"]}
    subject = {"kind": "ServiceAccount", "name": user, "namespace": "default"}
    api.apply(role | {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]})


def child_of(fairway: Program) -> int:
    """The process that serves pages."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"page_process" in words and int(parent) == fairway.pid:
            return int(folder.name)
    return 0


def test_pages_beside_a_scheduler_are_for_those_whom_the_cluster_lets(
    control_plane: ControlPlane, namespace: str
) -> None:
    api = control_plane.api()
    api.create(make_node("node-1"))
    pages = Beside(free_port())
    fairway = control_plane.start_fairway(flags=[f"--web=127.0.0.1:{pages.port}"])
    viewer = control_plane.service_account_token("default", "viewer")
    guest = control_plane.service_account_token("default", "guest")
    allow_pages(api, "viewer", "/fairway/api/v1/*")
    allow_pages(api, "guest", "/fairway/api/v1/runs")
    wait_until(lambda: pages.ask("/runs", viewer)[0] == 200, "who has the role is let in")
    for token in ("", "nonsense"):
        status, refused = pages.ask("/runs", token)
        assert (status, refused["error"]["code"]) == (401, "unauthorized")
    wait_until(lambda: pages.ask("/runs", guest)[0] == 200, "a path may be allowed by itself")
    status, refused = pages.ask("/runs/live/pods", guest)
    assert (status, refused["error"]["code"]) == (403, "forbidden")
    assert "system:serviceaccount:default:guest" in refused["error"]["message"]
    assert "kubectl create clusterrole see-fairway" in refused["error"]["hint"]

    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "99"}}}
    api.create(make_pod("small", namespace))
    api.create(make_pod("big", namespace, containers=[container]))
    small, big = f"{namespace}/small", f"{namespace}/big"
    wait_until(lambda: pages.states(viewer).get(small) == "running", "a pod is bound")
    wait_until(lambda: pages.states(viewer).get(big) == "waiting", "the other one waits")
    status, why = pages.ask(f"/runs/live/why/{big}", viewer)
    assert (status, why["result"], why["feasible"], why["nodes"]) == (200, "unschedulable", 0, 1)

    before = child_of(fairway)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: child_of(fairway) not in (0, before), "another process serves")
    wait_until(lambda: pages.ask("/runs", viewer)[0] == 200, "on the same port")
    assert pages.states(viewer) == {small: "running", big: "waiting"}
    api.delete("Pod", "big", namespace)
    wait_until(lambda: pages.states(viewer).get(big, "ended") == "ended", "it is told what happens next")
    child = child_of(fairway)
    assert fairway.stop() == 0
    wait_until(lambda: not Path(f"/proc/{child}").exists(), "the process ends with the scheduler")


def test_who_leads_shows_pages_and_the_other_one_says_that_it_does_not(
    control_plane: ControlPlane, namespace: str
) -> None:
    api, token = control_plane.api(), control_plane.token()
    api.create(make_node("node-1"))
    lease = ["--leader-elect=true", "--leader-elect-resource-name", f"lease-{namespace}"]
    first, second = Beside(free_port()), Beside(free_port())
    leader = control_plane.start_fairway(flags=[*lease, f"--web=127.0.0.1:{first.port}"])
    wait_until(lambda: first.ask("/runs", token)[0] == 200, "the first leads")
    control_plane.start_fairway(flags=[*lease, f"--web=127.0.0.1:{second.port}"])
    status, refused = second.ask("/runs", token)
    assert (status, refused["error"]["code"]) == (503, "not_leading")
    api.create(make_pod("one", namespace))
    wait_until(lambda: first.states(token).get(f"{namespace}/one") == "running", "a pod is bound")
    assert leader.stop() == 0
    assert first.ask("/runs", token)[0] == 0
    wait_until(lambda: second.ask("/runs", token)[0] == 200, "the other one leads")
    wait_until(lambda: second.states(token).get(f"{namespace}/one") == "running", "it has seen that pod, too")


def test_a_port_for_pages_that_is_taken_ends_the_scheduler_at_once(control_plane: ControlPlane) -> None:
    pages = Beside(free_port())
    control_plane.start_fairway(flags=[f"--web=127.0.0.1:{pages.port}"])
    with pytest.raises(RuntimeError, match=f"cannot listen on 127.0.0.1:{pages.port}: Address already in use"):
        control_plane.start_fairway(flags=[f"--web=127.0.0.1:{pages.port}"])

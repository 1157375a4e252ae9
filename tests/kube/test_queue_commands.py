"""The commands that ask about queues, on a real API server: with an operator's rights, with a user's, with none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from tests.kube.api import Api, Json
from tests.kube.batch import batch_kinds, job, later, node, ours, queue, start, until
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import PATIENCE
from tests.kube.processes import wait_until

RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    """Of a server that has our kinds."""
    with batch_kinds(control_plane) as api:
        yield api


class Asker:
    """Runs commands as one user."""

    def __init__(self, capsys: pytest.CaptureFixture[str], kubeconfig: Path, *more: str) -> None:
        self._capsys = capsys
        self._options = ("--kubeconfig", str(kubeconfig), *more)

    def ask(self, *words: str) -> tuple[int, str, str]:
        code = main([*words, *self._options])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def document(self, *words: str) -> Any:
        code, out, err = self.ask(*words, "-o", "json")
        assert out, (code, err)
        return json.loads(out)


def allow(api: Api, user: str, namespace: str, *rules: Json) -> None:
    """A role in a namespace, bound to the user."""
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": user, "namespace": namespace}}
    api.apply(role | {"rules": list(rules)})
    subject = {"apiGroup": RBAC, "kind": "User", "name": user}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": user}
    api.apply(role | {"kind": "RoleBinding", "roleRef": reference, "subjects": [subject]})


def test_whoever_asks_about_queues_is_answered_from_the_cluster(
    control_plane: ControlPlane, api: Api, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.create(node("a", "2"))
    api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}, shares=3))
    api.create(queue(quota={"cpu": "2"}, nodes={}))
    control_plane.start_kubelet()
    fairway = start(control_plane, "--bind-address=0.0.0.0")
    api.create(job("runs", namespace, cpu="2", time_limit="3h"))
    until(api, "runs", namespace, "Running")
    api.create(ours("MaintenanceWindow", "works", start=later(7200), duration="1h", mode="avoid"))
    api.create(job("waits", namespace, cpu="2", time_limit="10m"))
    until(api, "waits", namespace, "Queued", "Resources")
    me = Asker(capsys, control_plane.kubeconfig("admin"))

    def is_dated() -> bool:
        return me.document("jobs", f"{namespace}/waits").get("dates") is not None

    wait_until(is_dated, "it was told a date", PATIENCE, every=0.5)
    listed = me.document("jobs")
    assert {(each["job"], each["state"], each["reason"]) for each in listed["jobs"]} == {
        (f"{namespace}/runs", "Running", None),
        (f"{namespace}/waits", "Queued", "Resources"),
    }
    code, out, err = me.ask("jobs", "-n", namespace)
    assert code == 0
    assert out.splitlines()[0].split()[:4] == ["QUEUE", "JOB", "STATE", "REASON"]
    assert "running 1 · queued 1" in out
    assert f"→ fairway jobs {namespace}/waits" in err
    code, out, _ = me.ask("jobs", f"{namespace}/waits")
    assert code == 0
    assert out.startswith(f"{namespace}/waits is queued for ")
    assert "asks for 1 × 2 cpu · account physics/" in out
    code, out, err = me.ask("jobs", f"{namespace}/wait")
    assert (code, "did you mean" in err) == (2, True)
    assert me.document("queue")["queues"][0]["held"]["cpu"] == 2000
    (window,) = me.document("maintenance")["windows"]
    assert (window["phase"], window["nodes"], window["jobs"]) == ("Draining", ["a"], [f"{namespace}/runs"])
    (used,) = me.document("usage")["usage"]
    assert (used["name"], used["jobs"]) == ("physics", 1)
    assert used["used"] > 0
    code, _, err = me.ask("usage", "--export", str(tmp_path / "books.csv"))
    assert (code, "1 line of the books" in err) == (0, True)
    code, out, _ = me.ask("when", f"{namespace}/waits")
    assert (code, "would start likely" in out) == (0, True)
    code, out, err = me.ask("why", f"{namespace}/waits", "--live")
    assert (code, out.startswith(f"{namespace}/waits is queued for ")) == (3, True)
    assert "--scheduler URL" in err
    asks_when(me, namespace, tmp_path)  # of the scheduler that the queue names
    asks_scheduler(Asker(capsys, control_plane.kubeconfig("admin"), "--scheduler", fairway.url,
                         "--insecure-skip-tls-verify"), namespace, tmp_path)  # fmt: skip


def asks_scheduler(me: Asker, namespace: str, tmp_path: Path) -> None:
    """What only the scheduler knows."""
    assert me.document("queue")["queues"][0]["light"] == "full"
    names = {each["name"]: each for each in me.document("shares")["shares"]}
    assert names["physics"]["shares"] == 3
    assert names[f"physics/{namespace}"]["used"] > 0
    asks_when(me, namespace, tmp_path)
    code, out, _ = me.ask("why", f"{namespace}/waits")
    assert code == 3
    assert f"a: {namespace}/runs (1 × 2 cpu) is there until" in out


def asks_when(me: Asker, namespace: str, tmp_path: Path) -> None:
    """Of jobs that nobody has submitted."""
    (asked,) = me.document("when", "--cpu", "1", "--limit", "5m", "--queue", "batch")["jobs"]
    assert not asked["startsNow"]
    assert asked["dates"]["ahead"]["jobs"] == 1
    code, out, err = me.ask("when", "--cpu", "9", "--queue", "batch")
    assert (code, "NeverFits" in out) == (3, True), err
    code, _, err = me.ask("when", "--cpu", "1", "--queue", "bacth")
    assert (code, "→ --queue batch" in err) == (2, True)
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps(job("new", namespace, cpu="2", time_limit="5m")))
    code, out, err = me.ask("when", "-f", str(file))
    assert (code, out.startswith(f"{namespace}/new (1 × 2 cpu, limit 5m, queue batch) would start likely")) == (0, True)


def test_a_user_sees_what_roles_allow(
    control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.create(queue())
    nobody = Asker(capsys, control_plane.kubeconfig("nobody"))
    code, _, err = nobody.ask("jobs")
    assert code == 4
    assert "not allowed: nobody may not list jobrecords.fairway.dev" in err
    allow(api, "guest", namespace, {"apiGroups": ["fairway.dev"], "resources": ["jobrecords"], "verbs": ["list"]})
    guest = Asker(capsys, control_plane.kubeconfig("guest"))
    code, out, err = guest.ask("jobs", "-n", namespace)
    assert (code, out.splitlines()[-1]) == (0, "running 0 · queued 0")
    assert "told without its queues: not allowed: guest may not list queues.fairway.dev" in err
    assert guest.ask("jobs", "-A")[0] == 4
    code, _, err = guest.ask("queue", "-n", namespace)
    assert (code, "list queues.fairway.dev" in err) == (4, True)


def test_a_cluster_without_our_kinds_says_how_to_have_them(
    control_plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    me = Asker(capsys, control_plane.kubeconfig("admin"))
    for command in ("jobs", "queue", "shares", "usage", "maintenance"):
        code, _, err = me.ask(command)
        assert (code, "has no queues of jobs" in err) == (1, True)
        assert "kubectl apply -f deploy/manifests/crds.yaml" in err

"""Commands about a real cluster: shadowing its scheduler, recording it, asking Fairway's own HTTP API."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from fairway.cli.main import main
from fairway.record import Run
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import wait_until
from tests.kube.test_control_plane import make_node, make_pod


def bound_pods(control_plane: ControlPlane, namespace: str) -> dict[str, str]:
    pods = control_plane.api().items("Pod", namespace, fieldSelector="spec.nodeName!=")
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods}


def test_the_shadow_only_watches_and_records_what_the_other_decides(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    api = control_plane.api()
    api.create_all(make_node(f"node-{number}") for number in range(4))
    run = tmp_path / "run.duckdb"
    kubeconfig = control_plane.kubeconfig("shadow-only")
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "shadow"}}
    api.apply(role | {"rules": rules})
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "shadow-only"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "shadow"}
    api.apply(role | {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]})
    # The right to list and watch is all it has: any other request would be refused, and seen in its log.
    shadow = control_plane.start_fairway(
        kubeconfig=kubeconfig, flags=["--shadow", "--trust-loopback", f"--record={run}"]
    )
    control_plane.start_kube_scheduler()
    api.create_all(make_pod(f"pod-{number}", namespace) for number in range(12))
    wait_until(lambda: len(bound_pods(control_plane, namespace)) == 12, "kube-scheduler has bound all pods")
    known = 'scheduler_cache_size{type="%s"}'
    wait_until(
        lambda: (
            control_plane.metrics(shadow)[known % "pods"] == 12
            and control_plane.metrics(shadow)[known % "assumed_pods"] == 0
        ),
        "the shadow has seen all of it",
    )
    assert shadow.stop() == 0
    with Run.open(run) as found:
        assert found.meta["complete"]
        pods = {row["pod"]: row["node"] for row in found.sql("SELECT pod, node FROM pods").rows()}
        told = [row["message"] for row in found.sql("SELECT message FROM events").rows()]
        decided = {row["pod"] for row in found.sql("SELECT pod FROM decisions").rows()}
    assert pods == {f"{namespace}/{name}": node for name, node in bound_pods(control_plane, namespace).items()}
    assert len(told) == len(decided) <= 12  # kube-scheduler may have been faster
    assert len(decided) > 0
    # An API server's refusal is told in its own words (a number such as 403 may stand in any time or name).
    assert "forbidden" not in shadow.output()
    assert "not allowed" not in shadow.output()


def test_the_scheduler_answers_those_who_may_ask(
    control_plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api = control_plane.api()
    api.create(make_node("node-0", cpu="1"))
    fairway = control_plane.start_fairway(flags=["--bind-address=0.0.0.0"])
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "8"}}}
    api.create(make_pod("big", namespace, containers=[container]))
    admin = str(control_plane.kubeconfig("admin"))
    assert main(["status", "--scheduler", fairway.url, "--kubeconfig", admin]) == 4  # its certificate is its own
    assert "is not trusted" in capsys.readouterr().err
    asked = ["--scheduler", fairway.url, "--insecure-skip-tls-verify", "--kubeconfig"]

    def waits() -> bool:
        assert main(["status", *asked, admin, "-o", "json"]) == 0
        return [one["pod"] for one in json.loads(capsys.readouterr().out)["waiting"]] == [f"{namespace}/big"]

    wait_until(waits, "the pod is in the queue", every=0.3)
    assert main(["why", f"{namespace}/big", *asked, admin]) == 3
    shown = capsys.readouterr()
    assert f"{namespace}/big is waiting (" in shown.err
    assert shown.out.startswith(f"{namespace}/big fits on none of 1 node\n")
    assert "Insufficient cpu" in shown.out
    assert "1 short: cpu 1 (needs 8, most free 1)" in shown.out
    assert "fix  ask for 1 cpu instead of 8" in shown.out
    (named,) = [line for line in shown.err.splitlines() if line.startswith("→ ")]
    assert main(shlex.split(named.removeprefix("→ fairway "))) == 3  # as it stands there
    assert f"{namespace}/big does not fit on node-0 · NodeResourcesFit: Insufficient cpu" in capsys.readouterr().out
    assert main(["why", f"{namespace}/big", "--live", "--kubeconfig", admin]) == 3
    assert capsys.readouterr().out == shown.out  # who reads the cluster says the same
    assert main(["why", f"{namespace}/nobody", *asked, admin]) == 2
    assert main(["status", *asked, str(control_plane.kubeconfig("nobody"))]) == 4
    assert "forbidden" in capsys.readouterr().err


def test_the_cluster_is_read_directly(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = control_plane.api()
    api.create_all(make_node(f"node-{number}", cpu="2") for number in range(2))
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1500m"}}}
    api.create(make_pod("there", namespace, containers=[container]))
    api.bind("there", namespace, "node-0")
    api.create(make_pod("waiting", namespace, containers=[container]))
    live = ["--kubeconfig", str(control_plane.kubeconfig("admin"))]
    assert main(["status", *live, "--nodes", "-o", "json"]) == 0
    nodes = {one["node"]: one["cpu"] for one in json.loads(capsys.readouterr().out)["perNode"]}
    assert nodes == {"node-0": 1500, "node-1": 0}
    assert main(["why", f"{namespace}/waiting", *live]) == 0
    assert "goes to node-1" in capsys.readouterr().out
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(make_pod("new", namespace, containers=[container])))
    assert main(["try", "-f", str(file), *live]) == 0
    assert "the only node that fits" in capsys.readouterr().out
    run = tmp_path / "run.duckdb"
    assert main(["record", str(run), *live, "--for", "1s"]) == 0
    with Run.open(run) as found:
        assert {row["pod"] for row in found.sql("SELECT pod FROM pods").rows()} == {
            f"{namespace}/there",
            f"{namespace}/waiting",
        }

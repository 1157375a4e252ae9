"""What people give to read: folders with other files, Helm templates, kustomizations."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fairway.testing import node, pod
from tests.cli.trial_files import Folder
from tests.explain.workloads.fleets import workload

NODES = [node("n1", cpu=16)]
HELM = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "chart.fullname" . }}
spec:
  {{- if .Values.replicas }}
  replicas: {{ .Values.replicas }}
  {{- end }}
"""
KUSTOMIZATION = "resources: [web.json]\n"


@pytest.fixture
def mixed(folder: Folder) -> Folder:
    """A folder as repositories have them."""
    (folder.path / "app" / "templates").mkdir(parents=True)
    folder.write("app/web.json", workload("Deployment", replicas=2))
    folder.write("app/kustomization.yaml", KUSTOMIZATION)
    folder.write("app/values.yaml", "image: {tag: v1}\nreplicas: 3\n")
    folder.write("app/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n")
    folder.write("app/templates/web.yaml", HELM)
    folder.write("app/templates/empty.yaml", "# nothing\n")
    folder.write("nodes.json", *NODES)
    return folder


def test_a_folder_is_read_without_what_is_no_manifest(mixed: Folder) -> None:
    printed = mixed.run("try", "-f", str(mixed.path / "app"), "--cluster", str(mixed.path / "nodes.json"), "-o", "name")
    assert printed.code == 0
    assert printed.out.split() == ["default/web-0", "default/web-1"]
    app = mixed.path / "app"
    assert f"skipped, being no manifests: {app}/Chart.yaml, {app}/values.yaml\n" in printed.err
    assert f"skipped kustomizations: {app}/kustomization.yaml (-k {app} reads what they make)\n" in printed.err
    helm = (
        f"skipped, looking like Helm templates: {app}/templates/web.yaml (helm template {app} | fairway try -f - ...)"
    )
    assert helm in printed.err


def test_a_folder_that_is_all_chart_says_how_it_is_read(mixed: Folder) -> None:
    app = mixed.path / "app"
    (app / "web.json").unlink()
    (app / "kustomization.yaml").unlink()
    printed = mixed.run("try", "-f", str(app), "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 1
    assert "nothing at all" not in printed.err
    assert f"{app}/templates/web.yaml (helm template {app} | fairway try -f - ...)" in printed.err


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ("Pending", "found 1 Pod (with spec.nodeName: no scheduler is asked about it)"),
        ("Succeeded", "found 1 Pod (having ended already)"),
    ],
    ids=["on a node", "ended"],
)
def test_pods_that_nobody_schedules_are_told_of(phase: str, told: str, mixed: Folder) -> None:
    mixed.write("pod.json", pod("p", node="n1", phase=phase))
    printed = mixed.run("try", "-f", str(mixed.path / "pod.json"), "--cluster", str(mixed.path / "nodes.json"))
    assert (printed.code, told in printed.err) == (1, True)


def test_a_broken_manifest_in_a_folder_is_still_an_error(mixed: Folder) -> None:
    mixed.write("app/broken.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n")
    printed = mixed.run("try", "-f", str(mixed.path / "app"), "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 1
    assert "broken.yaml: YAML is malformed at line 3" in printed.err
    mixed.write("app/broken.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: {}}\n")
    printed = mixed.run("try", "-f", str(mixed.path / "app"), "--cluster", str(mixed.path / "nodes.json"))
    assert "broken.yaml: Pod p: spec.containers: expected a list, found an object" in printed.err


def test_braces_in_texts_make_no_helm_template(mixed: Folder) -> None:
    one = workload("Deployment", "alerts")
    one["metadata"]["annotations"] = {"summary": "{{ $labels.instance }} is down"}
    mixed.write("app/web.json", one)
    printed = mixed.run("try", "-f", str(mixed.path / "app"), "--cluster", str(mixed.path / "nodes.json"), "-o", "name")
    assert printed.out.split() == ["default/alerts-0"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("templates/web.yaml", "looks like a Helm template\n→ helm template {app} | fairway try -f - ..."),
        ("kustomization.yaml", "is no manifest but a list of them for kustomize\n→ give its folder: -k {app}"),
        ("values.yaml", "apiVersion: must be there"),
    ],
)
def test_a_file_that_is_no_manifest_says_what_to_do(name: str, told: str, mixed: Folder) -> None:
    app = mixed.path / "app"
    printed = mixed.run("try", "-f", str(app / name), "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 1
    assert told.format(app=app) in printed.err


PROGRAM = """#!{python}
import sys
if sys.argv[1:] == {arguments!r}:
    print({output!r})
else:
    print("Error: unexpected", sys.argv[1:], file=sys.stderr)
    sys.exit(7)
"""


def install(folder: Path, name: str, arguments: list[str], output: str) -> None:
    """A program of that name that prints this when called so."""
    path = folder / name
    path.write_text(PROGRAM.format(python=sys.executable, arguments=arguments, output=output))
    path.chmod(0o755)


BUILT = "apiVersion: v1\nkind: Pod\nmetadata: {name: built}\nspec: {containers: [{name: c}]}\n"


@pytest.mark.parametrize(("name", "verb"), [("kustomize", "build"), ("kubectl", "kustomize")])
def test_kustomize_is_run_where_it_is(name: str, verb: str, mixed: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = mixed.path / "bin"
    programs.mkdir()
    app, nodes = str(mixed.path / "app"), mixed.write("nodes.json", *NODES, pod("big", cpu=15, node="n1"))
    install(programs, name, [verb, app], BUILT)
    monkeypatch.setenv("PATH", str(programs))
    printed = mixed.run("try", "-k", app, "--cluster", nodes, "-o", "name")
    assert (printed.code, printed.out.split()) == (0, ["default/built"])
    install(programs, name, [verb, app], BUILT.replace("{name: c}", "{name: c, resources: {requests: {cpu: 9}}}"))
    printed = mixed.run("try", "-k", app, "--cluster", nodes)
    assert printed.code == 3
    assert f"→ fairway why default/built -k {app} --cluster {nodes}" in printed.err
    assert mixed.run("why", "built", "-k", app, "--cluster", nodes).code == 3


def test_what_kustomize_complains_about_is_told(mixed: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = mixed.path / "bin"
    programs.mkdir()
    install(programs, "kustomize", ["nothing"], "")
    monkeypatch.setenv("PATH", str(programs))
    printed = mixed.run("try", "-k", "app", "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 1
    assert "kustomize build app failed with exit code 7: Error: unexpected ['build', 'app']" in printed.err


def test_without_kustomize_it_says_what_is_missing(mixed: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    printed = mixed.run("try", "-k", "app", "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 1
    assert "-k needs kustomize or kubectl, and neither is on the path" in printed.err
    assert "kustomize build app | fairway try -f - ..." in printed.err


def test_one_of_f_and_k_is_needed(mixed: Folder) -> None:
    printed = mixed.run("try", "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 2
    assert "Missing option '-f'" in printed.err


@pytest.mark.parametrize("replicas", [2, 0])
def test_what_is_wrong_with_a_deployment_is_said_once_and_of_it(replicas: int, mixed: Folder) -> None:
    """Its ReplicaSet, which nobody wrote, has the same fault."""
    wrong = workload("Deployment", replicas=replicas)
    limits = {"requests": {"memory": "64Mi"}, "limits": {"memory": "64M"}}
    wrong["spec"]["template"]["spec"]["containers"][0]["resources"] = limits
    mixed.write("wrong.json", wrong)
    printed = mixed.run("try", "-f", str(mixed.path / "wrong.json"), "--cluster", str(mixed.path / "nodes.json"))
    assert printed.code == 1
    assert printed.err.count("64Mi is more than the limit, 64M") == 1
    assert "Deployment default/web: spec.template.spec.containers[0]" in printed.err
    assert "ReplicaSet" not in printed.err

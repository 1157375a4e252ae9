"""Changes that a scheduler does not read: environment, commands, mounts. They replace pods all the same."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cli.main import main
from fairway.explain.workloads.template_changes import template_changes
from fairway.testing import node
from tests.cli.trial_files import Folder
from tests.explain.workloads.fleets import deployment_pods, replica_set, running, workload
from tests.live.live_cluster import node as served_node
from tests.live.served import served

NAMES = ["n1", "n2"]
NODES = [node("n1", cpu=4), node("n2", cpu=4)]
MAIN: dict[str, Any] = {
    "env": [{"name": "LEVEL", "value": "info"}, {"name": "EMPTY", "value": ""}],
    "command": ["serve"],
    "args": ["--port", "80"],
    "volumeMounts": [{"name": "conf", "mountPath": "/etc/conf"}],
    "readinessProbe": {"httpGet": {"port": 80}},
}
VOLUMES = [
    {"name": "conf", "configMap": {"name": "conf"}},
    {"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}},
]
FILLED_IN: dict[str, Any] = {
    "imagePullPolicy": "Always",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def told(thing: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A workload whose container has everything in `MAIN`, with these changes; None takes a field out."""
    made = copy.deepcopy(thing)
    spec = made["spec"]["template"]["spec"]
    fields = copy.deepcopy(MAIN) | changes
    spec["containers"][0] |= {key: value for key, value in fields.items() if value is not None}
    spec["volumes"] = copy.deepcopy(VOLUMES)
    return made


def stored(thing: dict[str, Any]) -> dict[str, Any]:
    """The same, as an API server gives it out: what it fills in is there, what is nothing is not."""
    made = copy.deepcopy(thing)
    spec = made["spec"]["template"]["spec"] if "template" in made["spec"] else made["spec"]
    spec |= {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "securityContext": {}}
    for container in spec["containers"]:
        container.update(FILLED_IN)
        container.setdefault("env", [])
        for variable in container["env"]:
            if variable.get("value") == "":
                del variable["value"]
        if not container["env"]:
            del container["env"]
        if "readinessProbe" in container:
            container["readinessProbe"] |= {"timeoutSeconds": 1, "periodSeconds": 10, "failureThreshold": 3}
            container["readinessProbe"]["httpGet"] |= {"path": "/", "scheme": "HTTP"}
    for volume in spec.get("volumes", ()):
        if "configMap" in volume:
            volume["configMap"]["defaultMode"] = 420
        if "sizeLimit" in volume.get("emptyDir", {}):
            volume["emptyDir"]["sizeLimit"] = "1Gi"
    return made


def of_template(pod: dict[str, Any], thing: dict[str, Any]) -> dict[str, Any]:
    """The pod, with what its template says and what admission adds to pods."""
    made = copy.deepcopy(pod)
    spec = copy.deepcopy(thing["spec"]["template"]["spec"])
    mount = {"name": "kube-api-access", "mountPath": "/var/run/secrets"}
    for container in spec["containers"]:
        container["volumeMounts"] = [*container.get("volumeMounts", ()), mount]
    spec["volumes"] = [*spec.get("volumes", ()), {"name": "kube-api-access", "emptyDir": {}}]
    made["spec"] |= spec | {"serviceAccountName": "default"}
    return stored(made)


def plain_pods(number: int = 4, mark: str = "abc") -> list[Any]:
    """Pods as a run keeps them: what schedulers read of them, and no more."""
    pods = deployment_pods(number, NAMES, mark=mark)
    for pod in pods:
        pod["spec"]["volumes"] += copy.deepcopy(VOLUMES)
    return pods


def fleet(source: str) -> list[Any]:
    """Four pods of the Deployment, and in a cluster's files also what this says."""
    own = told(workload("Deployment", replicas=4))
    pods = [of_template(one, own) for one in deployment_pods(4, NAMES)]
    match source:
        case "replica sets":
            return [*plain_pods(), stored(told(replica_set(4)))]
        case "the deployment":
            own["metadata"] |= {"namespace": "default", "uid": "d"}
            return [*plain_pods(), stored(own)]
        case "pods":
            return pods
    raise AssertionError(source)


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "a value": ({"env": [{"name": "LEVEL", "value": "debug"}, {"name": "EMPTY"}]}, "containers[c].env[LEVEL].value"),
    "a variable more": ({"env": [*MAIN["env"], {"name": "NEW", "value": "1"}]}, "containers[c].env[NEW]"),
    "a value from elsewhere": (
        {"env": [{"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]},
        "containers[c].env[LEVEL].valueFrom",
    ),
    "the command": ({"command": ["serve", "now"]}, "containers[c].command"),
    "the arguments": ({"args": ["--port", "81"]}, "containers[c].args"),
    "no arguments": ({"args": None}, "containers[c].args"),
    "a mount elsewhere": (
        {"volumeMounts": [{"name": "conf", "mountPath": "/elsewhere"}]},
        "containers[c].volumeMounts[/elsewhere]",
    ),
    "a probe": ({"readinessProbe": {"httpGet": {"port": 81}}}, "containers[c].readinessProbe.httpGet.port"),
    "a probe more": ({"livenessProbe": {"exec": {"command": ["true"]}}}, "containers[c].livenessProbe"),
    "who it runs as": ({"securityContext": {"runAsUser": 1}}, "containers[c].securityContext"),
    "another policy": ({"imagePullPolicy": "Never"}, "containers[c].imagePullPolicy"),
}


@pytest.mark.parametrize("source", ["replica sets", "the deployment", "pods"])
@pytest.mark.parametrize(("changes", "place"), CHANGES.values(), ids=CHANGES)
def test_a_change_that_no_scheduler_reads_is_rolled_out(
    changes: dict[str, Any], place: str, source: str, folder: Folder
) -> None:
    wanted = told(workload("Deployment", replicas=4), **changes)
    printed = folder.attempt([*NODES, *fleet(source)], [wanted], "-o", "json")
    (rollout,) = printed.document["rollouts"]
    assert (rollout["complete"], rollout["new"], rollout["steps"][-1]["old"]) == (True, 4, 0)
    assert f"Deployment default/web differs from what runs in {place}" in printed.err


@pytest.mark.parametrize("source", ["replica sets", "the deployment", "pods"])
def test_what_an_api_server_fills_in_is_no_change(source: str, folder: Folder) -> None:
    wanted = told(workload("Deployment", replicas=4), securityContext={}, livenessProbe=None, stdin=False)
    printed = folder.attempt([*NODES, *fleet(source)], [wanted])
    assert printed.code == 0
    assert "nothing to place: what is asked for is there already" in printed.out
    assert "differs" not in printed.err
    assert "could not be compared" not in printed.err


@pytest.mark.parametrize("source", ["replica sets", "the deployment"])
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"env": None}, "containers[c].env"),
        ({"env": [{"name": "LEVEL", "value": "info"}]}, "containers[c].env[EMPTY]"),
        ({"volumeMounts": None}, "containers[c].volumeMounts"),
    ],
    ids=["the environment", "a variable", "the mounts"],
)
def test_what_was_taken_out_is_rolled_out(changes: dict[str, Any], place: str, source: str, folder: Folder) -> None:
    wanted = told(workload("Deployment", replicas=4), **changes)
    printed = folder.attempt([*NODES, *fleet(source)], [wanted], "-o", "json")
    assert len(printed.document["rollouts"]) == 1
    assert f"differs from what runs in {place}\n" in printed.err


def test_what_somebody_else_added_stays(folder: Folder) -> None:
    """What kubectl applied last it takes out if it is not written any more; the rest it leaves alone."""
    wanted = told(workload("Deployment", replicas=4))
    there = copy.deepcopy(wanted)
    there["metadata"] |= {
        "namespace": "default",
        "uid": "d",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(wanted)},
    }
    there["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "ADDED", "value": "by hand"})
    there["spec"]["template"]["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["true"]}}
    cluster = [*NODES, *plain_pods(), stored(there)]
    assert folder.attempt(cluster, [wanted], "-o", "json").document["rollouts"] == []
    without = told(workload("Deployment", replicas=4), args=None, env=MAIN["env"][:1], readinessProbe=None)
    printed = folder.attempt(cluster, [without], "-o", "json")
    places = "containers[c].env[EMPTY], containers[c].args and containers[c].readinessProbe"
    assert f"differs from what runs in {places}" in printed.err


def test_secrets_that_a_support_bundle_hides_are_no_change(folder: Folder) -> None:
    hidden = stored(told(replica_set(4), env=[{"name": "LEVEL", "value": "***HIDDEN***"}, {"name": "EMPTY"}]))
    cluster = [*NODES, *plain_pods(), hidden]
    printed = folder.attempt(cluster, [told(workload("Deployment", replicas=4))], "-o", "json")
    assert printed.document["rollouts"] == []


def test_values_are_not_shown(folder: Folder) -> None:
    wanted = told(workload("Deployment", replicas=4), env=[{"name": "LEVEL", "value": "hunter2"}])
    printed = folder.attempt([*NODES, *fleet("replica sets")], [wanted])
    assert "env[LEVEL]" in printed.err
    assert "hunter2" not in printed.err + printed.out


def test_pods_without_their_environment_can_not_be_compared(folder: Folder) -> None:
    printed = folder.attempt([*NODES, *plain_pods()], [told(workload("Deployment", replicas=4))])
    assert printed.code == 0
    unknown = "no env, command, args, volumeMounts or 1 more is known"
    assert f"Deployment default/web: of 4 pods there {unknown}" in printed.err
    assert "taken for unchanged; --rollout plays the roll-out all the same" in printed.err
    printed = folder.attempt([*NODES, *plain_pods()], [workload("Deployment", replicas=4)])
    assert "could not be compared" not in printed.err  # it says nothing of the kind


def test_only_the_replica_set_that_differs_is_replaced(folder: Folder) -> None:
    """A roll-out that is under way: two pods are through."""
    old = stored(told(replica_set(2, mark="old"), args=["--old"]))
    new = stored(told(replica_set(2, mark="new")))
    pods = [*plain_pods(2, "old"), *plain_pods(2, "new")]
    wanted = told(workload("Deployment", replicas=4))
    printed = folder.attempt([*NODES, old, new, *pods], [wanted], "-o", "json")
    (rollout,) = printed.document["rollouts"]
    assert (rollout["complete"], rollout["new"]) == (True, 4)
    assert sum(step["made"] for step in rollout["steps"]) == 2


def revision(name: str, thing: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "data": {"spec": {"template": stored(thing)["spec"]["template"] | {"$patch": "replace"}}},
        "revision": 1,
    }


@pytest.mark.parametrize("is_changed", [True, False])
@pytest.mark.parametrize(("kind", "mark", "name"), [("StatefulSet", "web-55", "web-55"), ("DaemonSet", "55", "web-55")])
def test_revisions_tell_what_pods_were_made_from(
    kind: str, mark: str, name: str, is_changed: bool, folder: Folder
) -> None:
    labels = {"controller-revision-hash": mark}
    pods = [running(f"web-{index}", NAMES[index], f"{kind}/web", labels=labels) for index in range(2)]
    for pod in pods:
        pod["spec"]["volumes"] += copy.deepcopy(VOLUMES)
    number: dict[str, Any] = {"replicas": 2} if kind == "StatefulSet" else {}
    there = revision(name, told(workload(kind, **number)))
    wanted = told(workload(kind, **number), **({"args": ["--new"]} if is_changed else {}))
    printed = folder.attempt([*NODES, *pods, there], [wanted], "-o", "json")
    assert [one["new"] for one in printed.document["rollouts"]] == ([2] if is_changed else [])
    assert "could not be compared" not in printed.err


def test_yaml_lists_and_old_versions_are_read_as_well(folder: Folder) -> None:
    own = told(workload("Deployment", replicas=4))
    wanted = own | {"apiVersion": "extensions/v1beta1"}
    wanted["spec"]["template"]["spec"]["containers"][0]["args"] = ["--new"]
    items = "".join(f"- {json.dumps(one)}\n" for one in fleet("replica sets"))
    cluster = folder.write("there.yaml", f"apiVersion: v1\nkind: List\nitems:\n{items}")
    nodes = folder.write("nodes.json", *NODES)
    asked = folder.write("asked.yaml", json.dumps(wanted))
    printed = folder.run("try", "-f", asked, "--cluster", cluster, "--cluster", nodes, "-o", "json")
    assert len(printed.document["rollouts"]) == 1


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
@pytest.mark.parametrize("is_changed", [True, False])
def test_a_live_cluster_is_asked_for_its_templates(
    kind: str, is_changed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [("nodes", served_node(name)) for name in NAMES]
    if kind == "Deployment":
        pods = plain_pods(2)
        there = [("replicasets", stored(told(replica_set(2))))]
    else:  # whose controller is not among what schedulers watch
        labels = {"controller-revision-hash": "55"}
        pods = [running(f"web-{name}", name, "DaemonSet/web", labels=labels) for name in NAMES]
        for pod in pods:
            pod["spec"]["volumes"] += copy.deepcopy(VOLUMES)
        there = [("controllerrevisions", revision("web-55", told(workload(kind))))]
    number: dict[str, Any] = {"replicas": 2} if kind == "Deployment" else {}
    file = tmp_path / "asked.json"
    changes = {"env": [{"name": "LEVEL", "value": "debug"}]} if is_changed else {}
    file.write_text(json.dumps(told(workload(kind, **number), **changes)))
    with served(tmp_path, *nodes, *there, *(("pods", one) for one in pods)) as kubeconfig:
        assert main(["try", "-f", str(file), "--kubeconfig", str(kubeconfig), "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert [one["new"] for one in json.loads(printed.out)["rollouts"]] == ([2] if is_changed else [])
    assert ("differs from what runs" in printed.err) == is_changed


# -- by the rules, re-stated -------------------------------------------------------------------------------------------

values = st.sampled_from(["", "a", "b"])
names = st.sampled_from(["A", "B", "C"])
environments = st.dictionaries(names, values).map(lambda one: [{"name": k, "value": v} for k, v in one.items()])
containers = st.fixed_dictionaries(
    {},
    optional={
        "env": environments,
        "command": st.lists(values, max_size=2),
        "args": st.lists(values, max_size=2),
        "workingDir": values,
        "stdin": st.booleans(),
        "volumeMounts": st.dictionaries(names, values).map(
            lambda one: [{"mountPath": f"/{k}", "name": k.lower(), "subPath": v} for k, v in one.items()]
        ),
    },
)


def bare(value: Any) -> Any:
    """As a server stores it: without what is nothing, items of lists in their order of names."""
    if isinstance(value, dict):
        kept = {key: bare(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in ("", [], {}, False, None)}
    if isinstance(value, list):
        items = [bare(one) for one in value]
        return sorted(items, key=str) if items and isinstance(items[0], dict) else items
    return value


@given(before=containers, after=containers)
def test_two_templates_differ_if_and_only_if_a_server_stores_them_otherwise(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    there = {"spec": {"containers": [{"name": "c", **bare(before), **FILLED_IN}]}}
    wanted = {"spec": {"containers": [{"name": "c", **after}]}}
    assert bool(template_changes(wanted, there)) == (bare(before) != bare(after))
    # Whoever applied it last with kubectl is told the same.
    applied = {"spec": {"containers": [{"name": "c", **before}]}}
    assert bool(template_changes(wanted, there, applied)) == (bare(before) != bare(after))

"""Volumes that are made for pods: the same answer as in a simulation, and notes about what the files leave out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairway.testing import node, pod
from tests.cli.trial_files import Folder, controller

NODES = [node("n1", cpu=4, labels={"zone": "a"}), node("n2", cpu=4, labels={"zone": "b"})]


def storage_class(mode: str, *, provisioner: str = "example.com/disk", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def claim(name: str = "data", **spec: Any) -> dict[str, Any]:
    body = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": body | spec}


def volume(name: str, zone: str, size: str = "1Gi") -> dict[str, Any]:
    line = {"key": "zone", "operator": "In", "values": [zone]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "csi": {"driver": "d", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [line]}]}},
        },
    }


TOPOLOGY = [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]
CLUSTERS: dict[str, tuple[list[Any], str | None]] = {
    "made when the pod has a node": ([storage_class("WaitForFirstConsumer")], "n1 n2"),
    "made at once": ([storage_class("Immediate")], "n1 n2"),
    "made at once, in one zone": ([storage_class("Immediate", allowedTopologies=TOPOLOGY)], "n2"),
    "there, and bound at once": ([storage_class("Immediate"), volume("v", "b")], "n2"),
    "the smallest that is there": (
        [storage_class("Immediate"), volume("large", "a", "9Gi"), volume("small", "b", "2Gi")],
        "n2",
    ),
    "there, too small, so one is made": ([storage_class("Immediate"), volume("v", "b", "1Mi")], "n1 n2"),
    "made by hand, and missing": ([storage_class("Immediate", provisioner="kubernetes.io/no-provisioner")], None),
    "made by hand, and there": (
        [storage_class("WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner"), volume("v", "a")],
        "n1",
    ),
}


@pytest.mark.parametrize(("storage", "where"), CLUSTERS.values(), ids=CLUSTERS)
def test_try_answers_as_a_simulation_does(storage: list[Any], where: str | None, folder: Folder) -> None:
    user = pod("user", cpu=1, claims="data")
    printed = folder.attempt([*NODES, *storage], [claim(), user], "-o", "json")
    (row,) = printed.document["pods"]
    assert (row["node"] in where.split()) if where else row["node"] is None
    files = [folder.write("storage.json", *storage, *NODES), folder.write("work.json", claim(), user)]
    scenario = {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        "spec": {"end": "10m", "cluster": {"files": files[:1]}, "workload": [{"files": files[1:]}]},
    }
    run = str(folder.path / "run.duckdb")
    assert folder.run("sim", folder.write("scenario.yaml", json.dumps(scenario)), "--save", run).code == 0
    shown = folder.run("why", "user", "--run", run)
    assert (shown.code == 0) == (where is not None)


def test_two_claims_do_not_get_one_volume(folder: Folder) -> None:
    by_hand = storage_class("Immediate", provisioner="kubernetes.io/no-provisioner")
    database = controller(
        "StatefulSet", "db", replicas=2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": claim()["spec"]}]
    )
    printed = folder.attempt([*NODES, by_hand, volume("v", "b")], [database], "-o", "json")
    assert [row["node"] for row in printed.document["pods"]] == ["n2", None]
    why = folder.attempt([*NODES, by_hand, volume("v", "b")], [database], command="why db-0")
    assert why.code == 0  # asked again, it is the same


def test_a_class_that_is_not_in_the_files_is_a_note(folder: Folder) -> None:
    printed = folder.attempt(NODES, [claim(), pod("user", claims="data")])
    assert printed.code == 0
    note = "no StorageClass fast in the cluster's files: took one that makes volumes, WaitForFirstConsumer\n"
    assert note in printed.err
    printed = folder.attempt(NODES, [claim(storageClassName=None), pod("user", claims="data")])
    assert printed.code == 0
    assert "no StorageClass in the cluster's files: took one that makes volumes" in printed.err


def test_nothing_is_taken_for_granted_where_classes_are_known(folder: Folder) -> None:
    other = storage_class("Immediate") | {"metadata": {"name": "slow"}}
    printed = folder.attempt([*NODES, other], [claim(storageClassName=None), pod("user", claims="data")], "-o", "json")
    assert printed.code == 3
    assert "unbound immediate PersistentVolumeClaims" in printed.document["pods"][0]["message"]
    assert "took" not in printed.err


def test_claims_that_are_not_in_the_files_are_a_note(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("user", claims="data")])
    assert printed.code == 3
    assert "no PersistentVolumeClaim in the files, and pods use some: data" in printed.err
    assert "no PersistentVolumeClaim" not in folder.attempt([*NODES, claim("b")], [pod("user", claims="data")]).err


def test_a_bound_claim_whose_volume_is_not_in_the_files_stays_bound(folder: Folder) -> None:
    bound = claim(volumeName="v") | {"status": {"phase": "Bound"}}
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    message = folder.attempt([*NODES, bound], [pod("user", claims="data")], "-o", "json").document["pods"][0]["message"]
    assert 'persistentvolume "v" not found' in (message or "")


def test_an_unknown_priority_of_a_running_pod_is_a_note(folder: Folder) -> None:
    running: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old"},
        "spec": {"nodeName": "n1", "priorityClassName": "gold", "containers": [{"name": "c"}]},
    }
    running["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    printed = folder.attempt([*NODES[:1], running], [pod("new", cpu=1)])
    assert printed.code == 3  # it has its room
    assert "no PriorityClass gold in the files: 1 pod of the cluster counts with priority 0" in printed.err

"""A run keeps what scheduling reads, and nothing that should not travel."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from fairway.model import decode_object
from fairway.record import Run
from fairway.record.snapshot import nodes_at, objects_at, pods_at
from tests.record.runs import SCHEDULER, writer

SECRET = "hunter2"
APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"env": "{SECRET}"}}', "example.com/note": SECRET}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "default",
        "uid": "u",
        "annotations": {**APPLIED, "alibabacloud.com/gpu-count": "1", "alibabacloud.com/gpu-milli": "500",
                        "fairway.dev/user": "ann"},
    },
    "spec": {
        "hostname": SECRET,
        "containers": [{"name": "c", "image": "i", "command": [SECRET], "args": [SECRET],
                        "env": [{"name": "PASSWORD", "value": SECRET}]}],
        "volumes": [
            {"name": "a", "csi": {"driver": "d", "volumeAttributes": {"token": SECRET}}},
            {"name": "b", "hostPath": {"path": f"/{SECRET}"}},
        ],
    },
}  # fmt: skip
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "annotations": APPLIED, "labels": {"zone": "a"}},
    "spec": {"providerID": SECRET, "podCIDR": SECRET},
    "status": {
        "allocatable": {"cpu": "4", "pods": "10"},
        "addresses": [{"type": "InternalIP", "address": SECRET}],
        "nodeInfo": {"osImage": SECRET},
        "conditions": [{"type": "Ready", "status": "True", "message": SECRET}],
    },
}
OBJECTS = [
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "s", "annotations": {**APPLIED, "storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "d",
        "parameters": {"adminSecret": SECRET},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v", "annotations": APPLIED},
        "spec": {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"server": SECRET}}},
    },
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, decode_object(json.dumps(NODE).encode(), "node"))  # type: ignore[arg-type]
        made.pod_created(0.0, decode_object(json.dumps(POD).encode(), "pod"), SCHEDULER)  # type: ignore[arg-type]
        for thing in OBJECTS:
            made.object_applied(0.0, decode_object(json.dumps(thing).encode(), "object"))
        made.close(1.0)
    return tmp_path / "run"


def test_nothing_that_should_not_travel_is_in_the_file(path: Path) -> None:
    with Run.open(path) as run:
        cells = [str(cell) for table in run.tables.values() for row in table for cell in row.values()]
    assert not [cell for cell in cells if SECRET in cell]
    assert SECRET.encode() not in path.read_bytes()


def test_what_scheduling_reads_is_there(path: Path) -> None:
    with Run.open(path) as run:
        (pod,), (node,), (storage, volume) = pods_at(run, 0.5), nodes_at(run, 0.5), objects_at(run, 0.5)
    assert pod.metadata.annotations == {
        "alibabacloud.com/gpu-count": "1",
        "alibabacloud.com/gpu-milli": "500",
        "fairway.dev/user": "ann",
    }
    assert [one.csi.driver for one in pod.spec.volumes if one.csi] == ["d"]
    assert (node.metadata.labels, str(node.status.allocatable["cpu"].text)) == ({"zone": "a"}, "4")
    assert [(one.type, one.status) for one in node.status.conditions] == [("Ready", "True")]
    assert storage.metadata.annotations == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert volume.spec.csi.volume_handle == "h"  # type: ignore[union-attr]


def test_a_run_and_its_log_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        made = writer(tmp_path / "run")
        made.flush()
        assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {
            "run.partial": 0o600,
            "run.partial.wal": 0o600,
        }
        made.close(1.0)
        assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o600
        (tmp_path / "other").touch()
        assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o644
    finally:
        os.umask(before)

"""Where data is, who uses it and why a pod went where it did: `status --data`, `why` and the table of a run."""

from __future__ import annotations

import json
from typing import Any

from fairway.explain.data_status import data_standings
from fairway.model import ApiObject
from fairway.model.node import NodeCondition
from fairway.record import Run
from fairway.record.writing.anonymous_rows import anonymise_run
from fairway.testing import dataset, dataset_internal, node, pod
from tests.cli.trial_files import Folder

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "DataLocality", "weight": 5}]}}}],
}
NODES = [node("n1", cpu=4, zone="a"), node("n2", cpu=4, zone="a"), node("n3", cpu=4, zone="b")]
DATA: list[ApiObject] = [
    dataset("images", size="10Gi", old_group=True),
    dataset_internal("images", gateways=["n2", "old"], old_group=True),
    dataset("late", provision="Pending", info="soon"),
]


def user(name: str, *names: str, **more: Any) -> Any:
    labels = {f"dataset.{number}.id": one for number, one in enumerate(names)}
    return pod(name, labels=labels, cpu=1, **more)


def recorded(folder: Folder, *pods: Any) -> str:
    """A run with these pods."""
    scenario = {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "data"},
        "spec": {
            "end": "1h",
            "cluster": {"files": [folder.write("cluster.json", *NODES, *DATA)]},
            "workload": {"files": [folder.write("pods.json", *pods)]},
            "schedulers": [{"name": "default-scheduler", "config": CONFIG}],
        },
    }
    run = str(folder.path / "run.duckdb")
    printed = folder.run("sim", folder.write("scenario.json", json.dumps(scenario)), "--save", run)
    assert printed.code == 0, printed.err
    return run


def test_every_dataset_that_anybody_speaks_of_is_listed() -> None:
    not_ready = (NodeCondition(type="Ready", status="False"),)
    down = node("n4", labels={"data.fairway.dev/held": "copy"}, conditions=not_ready)
    pods = [user("on", "images", node="n2"), user("off", "images", "nowhere"), user("over", "images", phase="Failed")]
    both: list[ApiObject] = [dataset("images"), dataset_internal("images", gateways="n3", copies=["n3", "n1"])]
    found = {one.key: one for one in data_standings([*NODES, down, *DATA, *both, *pods])}
    assert list(found) == ["held", "default/images", "default/late", "default/nowhere"]
    images = found["default/images"]
    assert (images.state, images.group) == ("ready", "datashim.io")
    assert images.overruled == ("Dataset com.ie.ibm.hpsys", "DatasetInternal com.ie.ibm.hpsys")
    assert (images.gateways, images.copies) == ({"n3": 0.0}, {"n1": 0.0, "n3": 0.0})
    assert (images.using, images.waiting) == (["default/on"], ["default/off"])
    assert found["default/late"].state == "Pending, soon"
    assert (found["default/nowhere"].state, found["default/nowhere"].waiting) == ("missing", ["default/off"])
    assert [one.why for one in found["held"].stale] == ["not ready"]


def test_status_of_a_run(folder: Folder) -> None:
    run = recorded(folder, user("train", "images"), user("big", "images", node_selector={"no": "node"}))
    printed = folder.run("status", "--run", run, "--data")
    assert printed.code == 0
    first, _, header, *rows = printed.out.splitlines()
    assert first == "01:00:00 · 2 datasets · 1 not ready · 1 stale copies · 1 pods waiting that use them"
    assert header.split() == ["DATASET", "STATE", "SIZE", "COPIES", "GATEWAYS", "LOAD", "PODS", "WAITING", "STALE"]
    assert rows[0].split() == ["default/images", "ready", "10Gi", "0", "1", "25%", "1", "1", "1"]
    document = folder.run("status", "--run", run, "--data", "-o", "json").document
    assert document["datasets"][0]["gateways"] == [{"node": "n2", "load": 0.25}]
    assert document["datasets"][0]["stale"] == [{"where": "kubernetes.io/hostname=old", "why": "no such node"}]
    assert document["datasets"][0]["podsWaiting"] == ["default/big"]
    assert folder.run("status", "--run", run, "--data", "--nodes").code == 2


def test_a_run_keeps_which_copy_counted(folder: Folder) -> None:
    run = recorded(folder, user("train", "images", "late"), user("plain"))
    with Run.open(run) as opened:
        rows = list(opened.data.rows())
        decisions = {row["decision_id"]: row for row in opened.decisions}
        told = [(row["reason"], row["message"]) for row in opened.events if row["reason"] == "DataMissing"]
    assert [row["dataset"] for row in rows] == ["images", "late"]
    images, late = rows
    assert decisions[images["decision_id"]]["pod"] == "default/train"
    assert (images["node"], images["is_gateway"], images["rung"]) == ("n2", True, "kubernetes.io/hostname")
    assert (images["load"], images["points"], images["missing"]) == (0.0, 100.0, None)
    assert (late["node"], late["points"], late["missing"]) == (None, 0.0, "is not ready: Pending, soon")
    assert told == [("DataMissing", 'Placed on n2 though dataset "late" is not ready: Pending, soon')]


def test_why_shows_the_ladder_from_files_and_from_a_run(folder: Folder) -> None:
    run = recorded(folder, user("train", "images"))
    config = folder.write("config.json", json.dumps(CONFIG))
    files = folder.attempt([*NODES, *DATA], [user("train", "images")], "--config", config, command="why train")
    for printed in (files, folder.run("why", "train", "--run", run)):
        assert "DataLocality on n2: images: gateway on n2, its own host, load 0%, 100 points" in printed.out
        assert "stale: kubernetes.io/hostname=old (no such node)" in printed.out


def test_why_shows_it_where_one_node_fits_and_proposes_what_would_help_where_none_does(folder: Folder) -> None:
    config = folder.write("config.json", json.dumps(CONFIG))
    near = user("train", "images", annotations={"fairway.dev/data-mode": "require"})
    printed = folder.attempt([*NODES, *DATA], [near], "--config", config, command="why train")
    assert "the only node that fits" in printed.out
    assert "its own host" in printed.out
    full = [*NODES, *DATA, pod("load", cpu=4, node="n2")]
    nowhere = folder.attempt(full, [near], "--config", config, command="why train")
    assert nowhere.code == 3
    assert 'had no copy of dataset "images" near enough' in nowhere.out
    assert "with fairway.dev/data-mode: prefer" in nowhere.out


def test_an_anonymous_run_tells_the_same_about_data(folder: Folder) -> None:
    run = recorded(folder, user("train", "images"))
    anonymise_run(run, folder.path / "nobody.duckdb")
    with Run.open(folder.path / "nobody.duckdb") as opened:
        (row,) = opened.data.rows()
        text = json.dumps([list(opened.data.rows()), list(opened.objects.rows()), list(opened.templates.rows())])
    assert (row["rung"], row["points"]) == ("kubernetes.io/hostname", 100.0)
    assert row["node"] not in ("n2", None)
    assert "images" not in text
    document = folder.run("status", "--run", str(folder.path / "nobody.duckdb"), "--data", "-o", "json").document
    used = next(one for one in document["datasets"] if one["podsUsing"])
    assert [one["node"] for one in used["gateways"]] == [row["node"]]

"""The cluster of a run at one time decides as the cluster did then."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.model import Namespace, ObjectMeta, decode_object
from fairway.record import Run
from fairway.record.snapshot import nodes_at, objects_at, pods_at
from fairway.record.vocabulary import NodeEnd, PodEnd
from fairway.record.writing.anonymous_rows import anonymise_run
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, placed, profile, writer


def test_nodes_pods_and_objects_come_back_as_they_were(tmp_path: Path) -> None:
    nodes = [node("a", cpu=4, zone="z1", taints="gpu"), node("b", cpu=8, labels={"disk": "ssd"})]
    first = pod(
        "first", cpu=2, labels={"app": "x"}, tolerates="gpu", owner="Job/j", annotations={"fairway.dev/user": "ada"}
    )
    later = pod("later", cpu="500m", node_selector={"disk": "ssd"}, annotations={"alibabacloud.com/gpu-count": "1"})
    team = Namespace(metadata=ObjectMeta(name="team", labels={"tier": "gold"}))
    with writer(tmp_path / "run") as made:
        for one in nodes:
            made.node_added(0.0, one)
        made.object_applied(0.0, team)
        made.pod_created(1.0, first, SCHEDULER)
        made.bound(2.0, first.metadata.uid, "a")
        made.started(3.0, first.metadata.uid)
        made.pod_created(4.0, later, SCHEDULER)
        made.node_gone(6.0, "b", NodeEnd.DELETED)
        made.object_deleted(6.0, team)
        made.ended(7.0, first.metadata.uid, PodEnd.SUCCEEDED)
        made.close(9.0)
    with Run.open(tmp_path / "run") as run:
        assert (nodes_at(run, 5.0), objects_at(run, 5.0)) == (nodes, [team])
        assert ([one.name for one in nodes_at(run, 6.0)], objects_at(run, 6.0)) == (["a"], [])
        on_a, waiting = pods_at(run, 5.0)
        assert (on_a.key, on_a.spec.node_name, on_a.status.phase) == ("default/first", "a", "Running")
        assert on_a.metadata.annotations == {"fairway.dev/user": "ada"}
        assert on_a.metadata.owner_references == first.metadata.owner_references
        assert (waiting.spec, waiting.metadata.annotations) == (later.spec, {"alibabacloud.com/gpu-count": "1"})
        assert [(one.key, one.spec.node_name) for one in pods_at(run, 1.5)] == [("default/first", "")]
        assert [one.key for one in pods_at(run, 7.0)] == ["default/later"]


def test_a_failed_decision_can_be_made_again(tmp_path: Path) -> None:
    nodes = [node("a", cpu=4), node("b", cpu=2)]
    running, big = pod("running", cpu=3), pod("big", cpu=3)
    engine = profile(nodes)
    engine.cluster.assume(running, engine.classify(running), 0)
    decision = engine.decide(big)
    with writer(tmp_path / "run") as made:
        for one in nodes:
            made.node_added(0.0, one)
        for what in (running, big):
            made.pod_created(0.0, what, SCHEDULER)
        made.decided(0.0, SCHEDULER, 1, placed(running, "a"), 0.0)
        made.bound(0.0, running.metadata.uid, "a")
        made.decided(1.0, SCHEDULER, 1, decision, 0.0)
        made.ended(5.0, running.metadata.uid, PodEnd.SUCCEEDED)
        made.close(9.0)
    with Run.open(tmp_path / "run") as run:
        there = pods_at(run, 1.0)
        again = profile(nodes_at(run, 1.0), [one for one in there if one.spec.node_name])
        (waiting,) = (one for one in there if not one.spec.node_name)
        (row,) = run.decisions_of("big")
        assert again.decide(waiting).message == row["message"] == decision.message


TOLD = {
    "JobSet": ("jobset.x-k8s.io/v1alpha2", {"replicatedJobs": [{"name": "w", "replicas": 2, "template": None}]}),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", {"replicas": 2, "leaderWorkerTemplate": {"size": 4}}),
}


@pytest.mark.parametrize("is_anonymous", [False, True], ids=["as it is", "anonymous"])
@pytest.mark.parametrize("kind", TOLD)
def test_what_only_api_servers_tell_of_comes_back(tmp_path: Path, kind: str, is_anonymous: bool) -> None:
    version, spec = TOLD[kind]
    metadata = {"name": "x", "namespace": "ml", "annotations": {"fairway.dev/exclusive": "node"}}
    thing = decode_object({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    with writer(tmp_path / "run") as made:
        made.object_applied(0.0, thing)
        made.close(2.0)
    path = tmp_path / "run"
    if is_anonymous:
        path = tmp_path / "other"
        anonymise_run(tmp_path / "run", path)
    with Run.open(path) as run:
        (found,) = objects_at(run, 1.0)
    assert type(found) is type(thing)
    assert is_anonymous or found.metadata == thing.metadata
    assert found.metadata.annotations == thing.metadata.annotations

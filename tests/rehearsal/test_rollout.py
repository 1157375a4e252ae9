"""Roll-outs: does the new version fit while the old one leaves?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.config import default_configuration
from fairway.explain.manifests import Manifests
from fairway.explain.trial import Trial
from fairway.explain.workloads.standing import StandingObjects
from fairway.kinds.controllers import wanted_by
from fairway.model import DaemonSet, Deployment, Loaded, Node, Source, StatefulSet, decode_object
from fairway.plugins.registry import REGISTRY
from fairway.rehearsal.rollout_play import RolloutAnswer, play_rollouts
from fairway.testing import node, pod
from tests.cli.trial_files import Folder
from tests.explain.workloads.fleets import deployment_pods, replica_set, running, workload
from tests.rehearsal import naive_rollout
from tests.rehearsal.naive_rollout import End

ROLLING = {"maxSurge": "25%", "maxUnavailable": 0}


def strategy(surge: int | str, unavailable: int | str) -> dict[str, Any]:
    return {"strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}


def play(
    nodes: list[Node], pods: list[dict[str, Any]], thing: dict[str, Any], *, forced: bool = False
) -> RolloutAnswer:
    """The only roll-out that comes of this."""
    objects = [*nodes, *(decode_object(one) for one in pods)]
    wanted_thing = decode_object(thing)
    assert isinstance(wanted_thing, Deployment | StatefulSet | DaemonSet)
    standing = StandingObjects(objects, [], is_rollout=False)
    wanted = standing.settled(wanted_thing, wanted_by(wanted_thing, Source(), nodes))
    manifests = Manifests([Loaded(one, Source()) for one in objects], [wanted], [], rollouts=standing.rollouts)
    (answer,) = play_rollouts(Trial(manifests, default_configuration(REGISTRY), 0), [])
    return answer


def end(answer: RolloutAnswer) -> End:
    last = answer.steps[-1]
    return End(last.old, last.new, last.waiting, answer.most_pods, answer.least_available)


# -- by the rules, re-stated -------------------------------------------------------------------------------------------

amounts = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "10%", "25%", "30%", "50%", "100%"]))


@settings(max_examples=60, deadline=None)
@given(
    replicas=st.integers(1, 9),
    surge=amounts,
    unavailable=amounts,
    spare=st.integers(0, 12),
    new_size=st.integers(1, 3),
)
def test_a_deployment_rolls_out_by_the_rules(
    replicas: int, surge: int | str, unavailable: int | str, spare: int, new_size: int
) -> None:
    capacity = 2 * replicas + spare
    pods = [
        running(f"web-abc-{index}", "n1", "ReplicaSet/web-abc", cpu="2", labels={"pod-template-hash": "abc"})
        for index in range(replicas)
    ]
    thing = workload("Deployment", image="v2", cpu=str(new_size), replicas=replicas, **strategy(surge, unavailable))
    answer = play([node("n1", cpu=capacity)], pods, thing)
    expected = naive_rollout.deployment(
        replicas=replicas, surge=surge, unavailable=unavailable, capacity=capacity, old_size=2, new_size=new_size
    )
    found = end(answer)
    assert (found.old, found.new, found.waiting) == (expected.old, expected.new, expected.waiting)
    assert found.least >= expected.least
    assert found.most <= expected.most
    assert answer.is_complete == (expected.old == 0 and expected.waiting == 0)


@settings(max_examples=25, deadline=None)
@given(replicas=st.integers(1, 6), spare=st.integers(0, 4), new_size=st.integers(1, 4))
def test_recreate_goes_by_the_rules(replicas: int, spare: int, new_size: int) -> None:
    thing = workload("Deployment", image="v2", cpu=str(new_size), replicas=replicas, strategy={"type": "Recreate"})
    answer = play([node("n1", cpu=replicas + spare)], deployment_pods(replicas, ["n1"]), thing)
    expected = naive_rollout.recreate(replicas=replicas, capacity=replicas + spare, new_size=new_size)
    found = end(answer)
    assert (found.old, found.new, found.waiting, found.least) == (0, expected.new, expected.waiting, 0)


@settings(max_examples=25, deadline=None)
@given(replicas=st.integers(1, 5), partition=st.integers(0, 5), spare=st.integers(0, 4), new_size=st.integers(1, 3))
def test_a_stateful_set_rolls_out_by_the_rules(replicas: int, partition: int, spare: int, new_size: int) -> None:
    capacity = 2 * replicas + spare
    pods = [running(f"web-{index}", "n1", "StatefulSet/web", cpu="2") for index in range(replicas)]
    update: dict[str, Any] = {"updateStrategy": {"rollingUpdate": {"partition": partition}}}
    thing = workload("StatefulSet", image="v2", cpu=str(new_size), replicas=replicas, **update)
    answer = play([node("n1", cpu=capacity)], pods, thing)
    expected = naive_rollout.stateful_set(
        replicas=replicas, partition=partition, capacity=capacity, old_size=2, new_size=new_size
    )
    if partition >= replicas:
        assert (answer.steps, answer.is_complete) == ([], True)
        return
    found = end(answer)
    assert (found.old, found.new, found.waiting) == (expected.old, expected.new, expected.waiting)
    assert answer.is_complete == (expected.waiting == 0)


@settings(max_examples=30, deadline=None)
@given(
    capacities=st.lists(st.integers(2, 6), min_size=1, max_size=6),
    rolling=st.one_of(
        st.tuples(st.just(0), st.sampled_from([1, 2, "10%", "50%"])), st.tuples(st.sampled_from([1, "50%"]), st.just(0))
    ),
    new_size=st.integers(1, 4),
)
def test_a_daemon_set_rolls_out_by_the_rules(
    capacities: list[int], rolling: tuple[int | str, int | str], new_size: int
) -> None:
    surge, unavailable = rolling
    nodes = [node(f"n{index}", cpu=capacity) for index, capacity in enumerate(capacities)]
    pods = [running(f"web-{index}", f"n{index}", "DaemonSet/web", cpu="2") for index in range(len(capacities))]
    update: dict[str, Any] = {"updateStrategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}
    answer = play(nodes, pods, workload("DaemonSet", image="v2", cpu=str(new_size), **update))
    expected = naive_rollout.daemon_set(
        capacities=capacities, unavailable=unavailable, surge=surge, old_size=2, new_size=new_size
    )
    found = end(answer)
    assert (found.old, found.new, found.waiting) == (expected.old, expected.new, expected.waiting)
    assert found.least >= expected.least


# -- as people ask -----------------------------------------------------------------------------------------------------

NAMES = ["n1", "n2"]
FULL = [node("n1", cpu=5), node("n2", cpu=5), *deployment_pods(10, NAMES)]


def test_a_surge_that_does_not_fit_gets_stuck(folder: Folder) -> None:
    printed = folder.attempt(FULL, [workload("Deployment", image="v2", replicas=10, **strategy("25%", 0))])
    assert printed.code == 3
    assert "roll-out of Deployment default/web: maxSurge 25%, maxUnavailable 0" in printed.out
    assert "it gets stuck: 0 of 10 pods are new" in printed.out
    assert "0/2 nodes are available: 2 Insufficient cpu." in printed.out
    assert "0  NodeResourcesFit   2 short: cpu 2 (needs 1, most free 0)" in printed.out
    assert "fix  maxSurge 0, maxUnavailable 1 → it comes through" in printed.out
    assert printed.out.endswith("\nDeployment default/web gets stuck\n")


def test_without_surge_it_comes_through(folder: Folder) -> None:
    printed = folder.attempt(FULL, [workload("Deployment", image="v2", replicas=10, **strategy(0, "25%"))])
    assert printed.code == 0
    assert "it comes through: 10 new pods, at most 10 at a time, never fewer than 8 available" in printed.out
    assert "made" not in printed.err


def test_programs_get_every_step(folder: Folder) -> None:
    thing = workload("Deployment", image="v2", replicas=10, **strategy(0, 5))
    document = folder.attempt(FULL, [thing], "-o", "json").document
    (rollout,) = document["rollouts"]
    assert document["pods"] == []
    assert (rollout["complete"], rollout["new"], rollout["waiting"]) == (True, 10, [])
    assert [step["made"] for step in rollout["steps"] if step["made"]] == [5, 5]
    assert sum(step["gone"] for step in rollout["steps"]) == 10


def test_the_same_template_is_no_roll_out_unless_asked_for(folder: Folder) -> None:
    thing = workload("Deployment", replicas=10)
    for cluster in (FULL, [*FULL, replica_set(10)]):
        assert folder.attempt(cluster, [thing], "-o", "json").document["rollouts"] == []
        (rollout,) = folder.attempt(cluster, [thing], "--rollout", "-o", "json").document["rollouts"]
        assert (rollout["new"], rollout["complete"]) == (10, True)


CHANGES: dict[str, dict[str, Any]] = {
    "image": {"containers": [{"name": "c", "image": "v2", "resources": {"requests": {"cpu": "1"}}}]},
    "requests": {"containers": [{"name": "c", "image": "v1", "resources": {"requests": {"cpu": "2"}}}]},
    "a selector": {"nodeSelector": {"kubernetes.io/hostname": "n1"}},
    "a toleration": {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    "spreading": {
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]
    },
}


@pytest.mark.parametrize("cluster", [FULL, [*FULL, replica_set(10)]], ids=["pods alone", "with the ReplicaSet"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_template_is_seen(change: dict[str, Any], cluster: list[Any], folder: Folder) -> None:
    thing = workload("Deployment", replicas=10)
    thing["spec"]["template"]["spec"] |= change
    assert len(folder.attempt(cluster, [thing], "-o", "json").document["rollouts"]) == 1


def test_other_pods_are_placed_first_and_take_their_room(folder: Folder) -> None:
    nodes = [node("n1", cpu=4), *deployment_pods(2, ["n1"])]
    thing = workload("Deployment", image="v2", replicas=2, **strategy(1, 0))
    assert folder.attempt(nodes, [thing]).code == 0
    printed = folder.attempt(nodes, [thing, pod("other", cpu=2)])
    assert printed.code == 3
    assert "1 of 1 pod gets a node\nDeployment default/web gets stuck" in printed.out


def test_roll_outs_are_played_one_after_the_other(folder: Folder) -> None:
    """The second finds what the first left."""
    nodes = [node("n1", cpu=3), *deployment_pods(1, ["n1"]), *deployment_pods(1, ["n1"], name="db")]
    first = workload("Deployment", image="v2", replicas=1, cpu="2", **strategy(0, 1))
    second = workload("Deployment", "db", image="v2", replicas=1, **strategy(1, 0))
    rollouts = folder.attempt(nodes, [first, second], "-o", "json").document["rollouts"]
    assert [one["complete"] for one in rollouts] == [True, False]
    rollouts = folder.attempt(nodes, [second, first], "-o", "json").document["rollouts"]
    assert [one["complete"] for one in rollouts] == [True, True]


def test_an_important_version_evicts_others(folder: Folder) -> None:
    cluster = [node("n1", cpu=3), *deployment_pods(2, ["n1"]), pod("victim", cpu=1, node="n1", priority=-9)]
    thing = workload("Deployment", image="v2", replicas=2, **strategy(1, 0))
    thing["spec"]["template"]["spec"]["priorityClassName"] = "system-node-critical"
    printed = folder.attempt(cluster, [thing])
    assert printed.code == 0
    assert "it evicts default/victim" in printed.out


def test_scaling_and_a_new_version_at_once(folder: Folder) -> None:
    """As Kubernetes does: the old version grows first, then it is replaced."""
    cluster = [node("n1", cpu=9), *deployment_pods(2, ["n1"]), replica_set(2)]
    printed = folder.attempt(cluster, [workload("Deployment", image="v2", replicas=6)], "-o", "json")
    (rollout,) = printed.document["rollouts"]
    assert (rollout["complete"], rollout["new"]) == (True, 6)
    assert max(step["old"] for step in rollout["steps"]) > 2


def test_a_roll_out_that_is_under_way_goes_on(folder: Folder) -> None:
    cluster = [
        node("n1", cpu=5),
        *deployment_pods(3, ["n1"]),
        *deployment_pods(1, ["n1"], image="v2", mark="def"),
        replica_set(3),
        replica_set(1, image="v2", mark="def"),
    ]
    thing = workload("Deployment", image="v2", replicas=4, **strategy(1, 0))
    (rollout,) = folder.attempt(cluster, [thing], "-o", "json").document["rollouts"]
    assert (rollout["complete"], rollout["new"]) == (True, 4)
    assert sum(step["made"] for step in rollout["steps"]) == 3


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        (workload("Deployment", image="v2", replicas=10, paused=True), "it is paused: nothing is replaced"),
        (
            workload("StatefulSet", image="v2", replicas=1, updateStrategy={"type": "OnDelete"}),
            "OnDelete: each pod stays",
        ),
        (workload("DaemonSet", image="v2", updateStrategy={"type": "OnDelete"}), "OnDelete: each pod stays"),
    ],
    ids=["paused", "StatefulSet", "DaemonSet"],
)
def test_what_replaces_nothing_says_why(thing: dict[str, Any], told: str, folder: Folder) -> None:
    pods = [running("web-0", "n1", f"{thing['kind']}/web")] if thing["kind"] != "Deployment" else []
    cluster = [node("n1", cpu=9), *pods] if pods else FULL
    printed = folder.attempt(cluster, [thing])
    assert told in printed.out
    assert printed.code == 0


def test_a_stateful_set_that_is_at_it_goes_on(folder: Folder) -> None:
    pods = [
        running(f"web-{index}", "n1", "StatefulSet/web", image=image, labels={"controller-revision-hash": image})
        for index, image in enumerate(["v1", "v1", "v2"])
    ]
    there = workload("StatefulSet", image="v2", replicas=3)
    for cluster in (pods, [*pods, there]):
        printed = folder.attempt([node("n1", cpu=3), *cluster], [there], "-o", "json")
        (rollout,) = printed.document["rollouts"]
        assert (rollout["complete"], sum(step["made"] for step in rollout["steps"])) == (True, 2)


def test_a_stateful_set_keeps_its_claims(folder: Folder) -> None:
    """A pod that is replaced goes back to where its volume is, and may find it occupied."""
    claim: dict[str, Any] = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"},
    }
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "claimRef": {"namespace": "default", "name": "data-web-0", "uid": "c"},
            "csi": {"driver": "d", "volumeHandle": "h"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
                }
            },
        },
        "status": {"phase": "Bound"},
    }
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data-web-0",
            "namespace": "default",
            "uid": "c",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": claim["spec"] | {"volumeName": "v"},
        "status": {"phase": "Bound"},
    }
    nodes = [node("n1", cpu=2, labels={"zone": "a"}), node("n2", cpu=9, labels={"zone": "b"})]
    old = running("web-0", "n1", "StatefulSet/web")
    cluster = [*nodes, old, volume, bound, pod("other", cpu=1, node="n1")]
    fits = workload("StatefulSet", image="v2", replicas=1, volumeClaimTemplates=[claim])
    assert folder.attempt(cluster, [fits]).code == 0
    too_big = workload("StatefulSet", image="v2", cpu="2", replicas=1, volumeClaimTemplates=[claim])
    printed = folder.attempt(cluster, [too_big], "-o", "json")
    assert printed.code == 3
    (rollout,) = printed.document["rollouts"]
    assert rollout["waiting"] == ["default/web-0"]


def test_many_steps_are_folded(folder: Folder) -> None:
    cluster = [node("n1", cpu=40), *deployment_pods(20, ["n1"])]
    printed = folder.attempt(cluster, [workload("Deployment", image="v2", replicas=20, **strategy(0, 1))])
    assert "steps more (-o json has all)" in printed.out
    assert printed.code == 0

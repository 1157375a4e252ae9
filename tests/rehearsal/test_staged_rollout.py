"""Roll-outs of controllers that are not Kubernetes' own: Argo Rollouts, CloneSets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.config import default_configuration
from fairway.explain.manifests import Manifests
from fairway.explain.trial import Trial
from fairway.explain.workloads.standing import StandingObjects
from fairway.kinds.custom_kinds import wanted_by_table
from fairway.kinds.kind_table import open_table
from fairway.kinds.rolling_plan import canary_counts
from fairway.model import Loaded, ObjectMeta, Skipped, Source, decode_object
from fairway.plugins.registry import REGISTRY
from fairway.rehearsal.rollout_play import RolloutAnswer, play_rollouts
from fairway.testing import node
from tests.cli.trial_files import Folder
from tests.explain.workloads.fleets import running, template
from tests.rehearsal import naive_rollout

ARGO = "rollouts-pod-template-hash"


def argo(replicas: int, strategy: dict[str, Any], *, image: str = "v2", cpu: str = "1") -> dict[str, Any]:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("web", image, cpu),
        "strategy": strategy,
    }
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": meta, "spec": spec}


def argo_pods(number: int, *, image: str = "v1", cpu: str = "1", mark: str = "abc", on: str = "n1") -> list[Any]:
    return [
        running(f"web-{mark}-{index}", on, f"ReplicaSet/web-{mark}", image=image, cpu=cpu, labels={ARGO: mark})
        for index in range(number)
    ]


def clone_set(replicas: int, image: str = "v2", cpu: str = "1", **update: Any) -> dict[str, Any]:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("web", image, cpu),
        "updateStrategy": update,
    }
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": meta, "spec": spec}


def clones(number: int, *, image: str = "v1", cpu: str = "1") -> list[Any]:
    labels = {"controller-revision-hash": "web-55", "apps.kruise.io/cloneset-instance-id": "x"}
    return [
        running(f"web-{index}", "n1", "CloneSet/web", image=image, cpu=cpu, labels=labels) for index in range(number)
    ]


def play(capacity: int, pods: list[dict[str, Any]], thing: dict[str, Any]) -> RolloutAnswer:
    """The only roll-out that comes of this, on one node."""
    objects = [node("n1", cpu=capacity), *(decode_object(one) for one in pods)]
    one = Skipped(thing["apiVersion"], thing["kind"], "web", Source(), thing)
    entry = open_table().find(one.api_version, one.kind)
    assert entry is not None
    (wanted,) = wanted_by_table(one, entry, ObjectMeta(name="web", namespace="default"), [])
    standing = StandingObjects(objects, [], is_rollout=False)
    settled = standing.settled(None, wanted)
    manifests = Manifests([Loaded(one, Source()) for one in objects], [settled], [], rollouts=standing.rollouts)
    (answer,) = play_rollouts(Trial(manifests, default_configuration(REGISTRY), 0), [])
    return answer


def check(answer: RolloutAnswer, expected: naive_rollout.End) -> None:
    if answer.steps:
        last = answer.steps[-1]
        assert (last.old, last.new, last.waiting) == (expected.old, expected.new, expected.waiting)
        assert answer.most_pods <= expected.most
        assert answer.least_available >= expected.least
    else:
        assert (expected.new, expected.waiting) == (0, 0)
    assert answer.is_complete == (not expected.waiting and expected.new >= answer.num_wanted)


# -- by the rules, re-stated -------------------------------------------------------------------------------------------

share = naive_rollout.share
amounts = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "20%", "25%", "50%", "100%"]))


@settings(max_examples=60, deadline=None)
@given(
    replicas=st.integers(1, 8),
    surge=amounts,
    unavailable=amounts,
    partition=amounts,
    spare=st.integers(0, 10),
    new_size=st.integers(1, 3),
)
def test_a_clone_set_rolls_out_by_the_rules(
    replicas: int, surge: int | str, unavailable: int | str, partition: int | str, spare: int, new_size: int
) -> None:
    capacity = 2 * replicas + spare
    thing = clone_set(replicas, cpu=str(new_size), maxSurge=surge, maxUnavailable=unavailable, partition=partition)
    more = share(surge, replicas, up=True)
    fewer = share(unavailable, replicas, up=more == 0)
    kept = min(replicas, share(partition, replicas, up=True))
    expected = naive_rollout.staged(
        replicas=replicas,
        stages=[(replicas - kept, kept)],
        surge=more,
        unavailable=min(replicas, fewer if more or fewer else 1),
        capacity=capacity,
        old_size=2,
        new_size=new_size,
    )
    check(play(capacity, clones(replicas, cpu="2"), thing), expected)


@settings(max_examples=60, deadline=None)
@given(
    replicas=st.integers(1, 8),
    surge=amounts,
    unavailable=amounts,
    weights=st.lists(st.integers(0, 100), max_size=3).map(sorted),
    spare=st.integers(0, 10),
    new_size=st.integers(1, 3),
)
def test_a_canary_rolls_out_by_the_rules(
    replicas: int, surge: int | str, unavailable: int | str, weights: list[int], spare: int, new_size: int
) -> None:
    capacity = 2 * replicas + spare
    steps = [{"setWeight": weight} for weight in weights]
    canary = {"maxSurge": surge, "maxUnavailable": unavailable, "steps": steps}
    more, fewer = share(surge, replicas, up=True), min(replicas, share(unavailable, replicas, up=False))
    counts = [canary_counts(replicas, weight, more) for weight in weights]
    expected = naive_rollout.staged(
        replicas=replicas,
        stages=[*((new, min(old, replicas)) for new, old in counts), (replicas, 0)],
        surge=more,
        unavailable=fewer if more or fewer else 1,
        capacity=capacity,
        old_size=2,
        new_size=new_size,
    )
    check(play(capacity, argo_pods(replicas, cpu="2"), argo(replicas, {"canary": canary}, cpu=str(new_size))), expected)


@settings(max_examples=40, deadline=None)
@given(
    replicas=st.integers(1, 6),
    preview=st.integers(0, 6),
    is_routed=st.booleans(),
    weights=st.lists(st.integers(0, 100), max_size=3).map(sorted),
    spare=st.integers(0, 12),
)
def test_a_version_beside_the_other_goes_by_the_rules(
    replicas: int, preview: int, is_routed: bool, weights: list[int], spare: int
) -> None:
    preview = min(preview, replicas)
    steps = [{"setWeight": weight} for weight in weights]
    canary = {"canary": {"trafficRouting": {"nginx": {}}, "steps": steps}}
    blue_green = {"blueGreen": {"activeService": "a"} | ({"previewReplicaCount": preview} if preview else {})}
    sizes = [share(f"{weight}%", replicas, up=True) for weight in weights] if is_routed else [preview] * bool(preview)
    expected = naive_rollout.staged(
        replicas=replicas,
        stages=[*((size, replicas) for size in sizes), (replicas, replicas), (replicas, 0)],
        surge=None,
        unavailable=0,
        capacity=replicas + spare,
        old_size=1,
        new_size=1,
    )
    check(play(replicas + spare, argo_pods(replicas), argo(replicas, canary if is_routed else blue_green)), expected)


@pytest.mark.parametrize(
    ("replicas", "weight", "surge", "counts"),
    [
        (10, 10, 1, (1, 9)),
        (10, 5, 1, (1, 10)),  # one in eleven is nearer to 5 % than one in ten
        (1, 5, 1, (1, 1)),
        (1, 95, 1, (1, 1)),
        (3, 50, 0, (2, 1)),
        (3, 50, 1, (2, 2)),
        (4, 99, 0, (3, 1)),
        (5, 0, 2, (0, 5)),
        (5, 100, 2, (5, 0)),
        (0, 50, 1, (0, 0)),
    ],
)
def test_weights_become_pods(replicas: int, weight: int, surge: int, counts: tuple[int, int]) -> None:
    assert canary_counts(replicas, weight, surge) == counts


# -- as people ask -----------------------------------------------------------------------------------------------------


def test_a_canary_is_shown_stage_by_stage(folder: Folder) -> None:
    thing = argo(5, {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}, {"setWeight": 60}]}})
    printed = folder.attempt([node("n1", cpu=8), *argo_pods(5)], [thing])
    assert printed.code == 0, printed.err
    assert "roll-out of Rollout default/web: canary, maxSurge 25%, maxUnavailable 25%; pauses and" in printed.out
    assert "setWeight 20: 1 new made" in printed.out
    assert "setWeight 60: " in printed.out
    assert "promoted: " in printed.out
    assert "it comes through: 5 new pods, at most 8 at a time, never fewer than 4 available" in printed.out


def test_blue_green_needs_room_for_both(folder: Folder) -> None:
    thing = argo(4, {"blueGreen": {"activeService": "web"}})
    printed = folder.attempt([node("n1", cpu=6), *argo_pods(4)], [thing], "-o", "json")
    (rollout,) = printed.document["rollouts"]
    assert (printed.code, rollout["complete"], rollout["new"], len(rollout["waiting"])) == (3, False, 2, 2)
    assert rollout["steps"][-1]["old"] == 4  # the old version stays whole
    assert folder.attempt([node("n1", cpu=8), *argo_pods(4)], [thing]).code == 0


def test_a_canary_without_surge_comes_through_where_one_with_it_does_not(folder: Folder) -> None:
    thing = argo(4, {"canary": {"maxSurge": 1, "maxUnavailable": 0}})
    printed = folder.attempt([node("n1", cpu=4), *argo_pods(4)], [thing])
    assert printed.code == 3
    assert "fix  maxSurge 0, maxUnavailable 1 → it comes through" in printed.out


def test_pods_of_an_argo_rollout_are_there_already(folder: Folder) -> None:
    thing = argo(5, {"canary": {}}, image="v1")
    printed = folder.attempt([node("n1", cpu=8), *argo_pods(3)], [thing], "-o", "json")
    assert printed.document["there"] == {"Rollout default/web": 3}
    assert (len(printed.document["pods"]), printed.document["rollouts"]) == (2, [])


def test_a_partition_leaves_old_pods(folder: Folder) -> None:
    printed = folder.attempt([node("n1", cpu=8), *clones(5)], [clone_set(5, partition=2)], "-o", "json")
    (rollout,) = printed.document["rollouts"]
    assert (rollout["complete"], rollout["new"], rollout["steps"][-1]["old"]) == (True, 3, 2)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (clone_set(5, type="InPlaceIfPossible"), "only images differ, and they change in place"),
        (clone_set(5, paused=True), "it is paused: nothing is replaced"),
        (argo(5, {"canary": {}}) | {"spec": argo(5, {})["spec"] | {"paused": True}}, "it is paused"),
    ],
    ids=["in place", "a paused CloneSet", "a paused Rollout"],
)
def test_nothing_is_replaced(thing: dict[str, Any], words: str, folder: Folder) -> None:
    pods = clones(5) if thing["kind"] == "CloneSet" else argo_pods(5)
    printed = folder.attempt([node("n1", cpu=5), *pods], [thing])
    assert printed.code == 0
    assert words in printed.out


def test_in_place_is_not_possible_for_another_size(folder: Folder) -> None:
    thing = clone_set(5, cpu="2", type="InPlaceIfPossible")
    printed = folder.attempt([node("n1", cpu=10), *clones(5)], [thing], "-o", "json")
    (rollout,) = printed.document["rollouts"]
    assert (rollout["complete"], rollout["new"]) == (True, 5)


def test_a_change_that_no_scheduler_reads_is_rolled_out(folder: Folder) -> None:
    thing = argo(2, {"canary": {}}, image="v1")
    there = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"template": template("web")},
    }
    thing["spec"]["template"]["spec"]["containers"][0]["args"] = ["--new"]
    printed = folder.attempt([node("n1", cpu=4), *argo_pods(2), there], [thing], "-o", "json")
    assert [one["new"] for one in printed.document["rollouts"]] == [2]
    assert "Rollout default/web differs from what runs in containers[c].args" in printed.err


def test_a_surge_that_is_no_number_is_named(folder: Folder) -> None:
    printed = folder.attempt([node("n1", cpu=4)], [argo(2, {"canary": {"maxSurge": "many"}})])
    assert printed.code == 1
    assert "spec.strategy.canary.maxSurge: 'many' is not a number of pods" in printed.err


def test_restarts_are_played_when_asked_for(folder: Folder) -> None:
    thing = argo(3, {"canary": {}}, image="v1")
    printed = folder.attempt([node("n1", cpu=8), *argo_pods(3)], [thing], "--rollout", "-o", "json")
    assert [one["new"] for one in printed.document["rollouts"]] == [3]

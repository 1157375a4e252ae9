"""Argo Workflows: the pods of their widest moment, and what can not be told; objects that hold other objects."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.kinds.custom_kinds import CannotCount
from fairway.kinds.workflow import with_widest
from fairway.model import Skipped, Source
from tests.cli.trial_files import Folder, controller
from tests.explain.workloads.custom_objects import template, thing
from tests.explain.workloads.test_custom_kinds import NODES, pods_of

Tree = dict[str, Any]
ARGO = "argoproj.io/v1alpha1"


def runs(name: str, cpu: str = "1", **more: Any) -> Tree:
    return {"name": name, "container": {"image": "i", "resources": {"requests": {"cpu": cpu}}}, **more}


def step(template: str, **more: Any) -> Tree:
    return {"name": f"do-{template}", "template": template, **more}


def workflow(*templates: Tree, **spec: Any) -> Tree:
    return thing(ARGO, "Workflow", entrypoint=templates[0]["name"], templates=list(templates), **spec)


A, B = runs("a"), runs("b", "2")
WORKERS = {"workerTemplate": template()}
DAG = {
    "name": "main",
    "dag": {
        "tasks": [
            step("a", name="one"),
            step("b", name="two", dependencies=["one"]),
            step("b", name="three", depends="one.Succeeded"),
            step("a", name="four", depends="two && three"),
        ]
    },
}
WIDTHS: dict[str, tuple[Tree, dict[str, int]]] = {
    "one container": (workflow(A), {"a": 1}),
    "a script": (workflow({"name": "a", "script": {"image": "i", "source": "echo"}}), {"a": 1}),
    "one after the other": (workflow({"name": "main", "steps": [[step("a")], [step("b")]]}, A, B), {"a": 1}),
    "two together": (
        workflow({"name": "main", "steps": [[step("a")], [step("a"), step("b")]]}, A, B),
        {"a": 1, "b": 1},
    ),
    "a list": (workflow({"name": "main", "steps": [[step("a", withItems=[1, 2, 3])]]}, A), {"a": 3}),
    "a sequence": (workflow({"name": "main", "steps": [[step("a", withSequence={"count": "4"})]]}, A), {"a": 4}),
    "from here to there": (
        workflow({"name": "main", "steps": [[step("a", withSequence={"start": 2, "end": "5"})]]}, A),
        {"a": 4},
    ),
    "a list that comes later": (workflow({"name": "main", "steps": [[step("a", withParam="{{x}}")]]}, A), {"a": 1}),
    "a graph": (workflow(DAG, A, B), {"b": 2}),
    "not so many at once": (
        workflow({"name": "main", "steps": [[step("a", withItems=[1] * 9)]]}, A, parallelism=2),
        {"a": 2},
    ),
    "itself again": (workflow({"name": "main", "steps": [[step("a")], [step("main")]]}, A), {"a": 1}),
    "held by the step": (
        workflow({"name": "main", "steps": [[{"name": "s", "inline": {"container": {"image": "i"}}}]]}),
        {"s": 1},
    ),
    "nobody": (workflow({"name": "main", "suspend": {}}), {}),
}


@pytest.mark.parametrize(("tree", "widest"), WIDTHS.values(), ids=WIDTHS)
def test_the_pods_of_the_widest_moment_count(tree: Tree, widest: dict[str, int]) -> None:
    told = with_widest(Skipped(ARGO, "Workflow", "x", Source(), tree), [])
    assert {part["name"]: part["count"] for part in told.tree["widest"]} == widest


UNTOLD = {
    "no such template": (workflow({"name": "main", "steps": [[step("c")]]}), "it has no template c"),
    "one elsewhere": (
        workflow({"name": "main", "steps": [[{"name": "s", "templateRef": {"name": "w", "template": "a"}}]]}),
        "its WorkflowTemplate w is not in the files",
    ),
    "a demand that comes later": (
        workflow(runs("a", nodeSelector={"arch": "{{inputs.parameters.arch}}"})),
        "what the pods of a need is known when it runs",
    ),
}


@pytest.mark.parametrize(("tree", "reason"), UNTOLD.values(), ids=UNTOLD)
def test_what_can_not_be_told_is_said(tree: Tree, reason: str, folder: Folder) -> None:
    with pytest.raises(CannotCount, match=reason):
        with_widest(Skipped(ARGO, "Workflow", "x", Source(), tree), [])
    printed = folder.attempt(NODES, [tree, controller("Deployment", "web")])
    assert printed.code == 5
    assert f"not counted: Workflow default/x ({reason}" in printed.out


Plan = list[list[Any]]  # groups of steps; a step is a Plan, or a number of pods
PLANS: st.SearchStrategy[Any] = st.recursive(
    st.integers(1, 3),
    lambda inner: st.lists(st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=2),
    max_leaves=7,
)


def templates_of(plan: Any, names: itertools.count[int], found: list[Tree]) -> Tree:
    """The step that runs the plan; its templates are added."""
    if isinstance(plan, int):
        return step("pod", withItems=[0] * plan)
    name = f"t{next(names)}"
    found.append({"name": name, "steps": [[templates_of(one, names, found) for one in group] for group in plan]})
    return step(name)


def all_moments(plan: Any) -> list[int]:
    """How many pods there are, for every choice of a group in each list of steps."""
    if isinstance(plan, int):
        return [plan]
    return [sum(choice) for group in plan for choice in itertools.product(*(all_moments(one) for one in group))]


@given(plan=PLANS)
def test_no_moment_is_wider(plan: Any) -> None:
    found: list[Tree] = []
    main = {"name": "main", "steps": [[templates_of(plan, itertools.count(), found)]]}
    told = with_widest(Skipped(ARGO, "Workflow", "x", Source(), workflow(main, runs("pod"), *found)), [])
    assert sum(part["count"] for part in told.tree["widest"]) == max(all_moments(plan))


def test_pods_of_a_workflow_are_placed_with_what_they_need(folder: Folder) -> None:
    pods = pods_of(folder, workflow({"name": "Main", "steps": [[step("B", withItems=[1, 2])]]}, runs("B", "2")))
    assert list(pods) == ["x-b-0", "x-b-1"]
    printed = folder.attempt(NODES, [workflow(DAG, A, B, nodeSelector={"disk": "none"})])
    assert printed.code == 3
    assert "2 of Workflow default/x (b) (as many as may run at the same time" in printed.err


def test_a_workflow_may_be_made_of_templates_in_the_files(folder: Folder) -> None:
    kept = thing(ARGO, "WorkflowTemplate", "w", entrypoint="a", templates=[A, B])
    there = {"name": "main", "steps": [[{"name": "s", "templateRef": {"name": "w", "template": "b"}}]]}
    assert list(pods_of(folder, workflow(there), kept)) == ["x-b-0"]
    assert list(pods_of(folder, thing(ARGO, "Workflow", workflowTemplateRef={"name": "w"}), kept)) == ["x-a-0"]


HOLDERS: dict[str, tuple[Tree, list[str]]] = {
    "AppWrapper": (
        thing(
            "workload.codeflare.dev/v1beta2",
            "AppWrapper",
            components=[
                {"template": controller("Deployment", "web", replicas=2)},
                {"template": workflow(A) | {"metadata": {"name": "flow"}}},
                {"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}},
            ],
        ),
        ["web-0", "web-1", "flow-a-0"],
    ),
    "CronWorkflow": (thing(ARGO, "CronWorkflow", workflowSpec=workflow(A)["spec"]), ["x-a-0"]),
    "RayCronJob": (
        thing(
            "ray.io/v1",
            "RayCronJob",
            schedule="@daily",
            jobTemplate={"submissionMode": "HTTPMode", "rayClusterSpec": {"headGroupSpec": {"template": template()}}},
        ),
        ["x-head"],
    ),
    "ScheduledSparkApplication": (
        thing(
            "sparkoperator.k8s.io/v1beta2",
            "ScheduledSparkApplication",
            schedule="@daily",
            template={"driver": {"cores": 1, "memory": "1g"}, "executor": {"cores": 1, "instances": 1, "memory": "1g"}},
        ),
        ["x-driver", "x-exec-1"],
    ),
    "DisaggregatedSet": (
        thing(
            "disaggregatedset.x-k8s.io/v1",
            "DisaggregatedSet",
            roles=[
                {
                    "name": "p",
                    "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}},
                },
                {
                    "name": "d",
                    "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 1, "workerTemplate": template()}},
                },
            ],
        ),
        ["x-p-0", "x-p-0-1", "x-d-0", "x-d-1"],
    ),
}


@pytest.mark.parametrize(("tree", "names"), HOLDERS.values(), ids=HOLDERS)
def test_objects_that_hold_others_make_what_those_make(tree: Tree, names: list[str], folder: Folder) -> None:
    assert sorted(pods_of(folder, tree)) == sorted(names)


def test_what_holds_nothing_was_not_counted(folder: Folder) -> None:
    empty = thing("workload.codeflare.dev/v1beta2", "AppWrapper", components=[])
    printed = folder.attempt(NODES, [empty, controller("Deployment", "web")])
    assert printed.code == 5
    assert "not counted: AppWrapper default/x (it has nothing at item.template)" in printed.out
    nameless = thing("workload.codeflare.dev/v1beta2", "AppWrapper", components=[{"template": {"spec": {}}}])
    printed = folder.attempt(NODES, [nameless])
    assert printed.code == 1
    assert "AppWrapper default/x: item.template: needs apiVersion and kind" in printed.err


def test_a_patch_is_told_from_a_workload(folder: Folder) -> None:
    patch = thing("apps/v1", "Deployment", replicas=3, template={"spec": {"containers": [{"name": "a", "image": "i"}]}})
    printed = folder.attempt(NODES, [patch])
    assert printed.code == 1
    assert "spec.selector: must not be empty; a patch for kustomize is given with its folder: -k DIR" in printed.err

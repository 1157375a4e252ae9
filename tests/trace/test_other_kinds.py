"""Kinds that are not decoded, in a workload: the table of kinds counts in simulations as it does in trials."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import CronJob, DaemonSet, DecodeError, Deployment, Pod, StatefulSet
from fairway.testing import node, pod
from fairway.trace import read_manifests
from fairway.trace.workload import Workload
from tests.cli.conftest import folder
from tests.cli.trial_files import Folder
from tests.explain.workloads.custom_objects import CASES, template, thing

__all__ = ["folder"]

SIMULATED = (CronJob, DaemonSet, Deployment, StatefulSet)
REACTOR = thing("lab.example.com/v1", "Reactor", "fusion", replicas=2, template=template())
TABLE = """\
kinds:
  - group: lab.example.com
    kind: Reactor
    pods: [{template: spec.template, count: [{path: spec.replicas}], name: $(name)-$(index)}]
"""


def job_set(name: str, **jobs: tuple[int, int]) -> dict[str, Any]:
    """Of each of its jobs so many, with so many pods each."""
    made = [
        {"name": job, "replicas": number, "template": {"spec": {"parallelism": size, "template": template()}}}
        for job, (number, size) in jobs.items()
    ]
    return thing("jobset.x-k8s.io/v1alpha2", "JobSet", name, replicatedJobs=made)


def read(path: Path, *things: Any, **options: Any) -> Workload:
    file = path / "things.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
    return read_manifests(file, **options)


def pods_of(workload: Workload) -> dict[str, int]:
    """CPUs in thousandths, by name, of pods that arrive."""
    return {
        one.object.metadata.name: int(container.resources.requests["cpu"].milli)
        for one in workload.arrivals
        for container in one.object.spec.containers
    }


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_the_table_makes_its_pods(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    workload = read(tmp_path, case.thing)
    names = {one.object.metadata.name for one in workload.arrivals if isinstance(one.object, Pod)}
    if controllers := [one for one in workload.objects if isinstance(one, SIMULATED)]:
        assert [(one.metadata.name, names) for one in controllers] == [("x", set())]  # which is simulated
    else:
        assert names == set(case.pods)
    assert workload.not_counted == []
    assert workload.problems == []


def test_what_is_not_counted_is_named_and_no_longer_of_no_concern(tmp_path: Path) -> None:
    policy = thing("networking.k8s.io/v1", "NetworkPolicy")
    workload = read(tmp_path, REACTOR, policy)
    assert workload.not_counted == [
        "Reactor default/fusion (it holds a pod template, and its kind is not in the table (--kinds))"
    ]
    assert workload.notes == ["skipped what is of no concern to a scheduler: 1 NetworkPolicy"]


def test_a_helm_template_is_called_one(tmp_path: Path) -> None:
    chart = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n"
    (tmp_path / "pod.yaml").write_text(chart)
    workload = read_manifests(tmp_path / "pod.yaml")
    told = "looks like a Helm template; give what helm template CHART prints instead"
    assert workload.problems == [f"{tmp_path / 'pod.yaml'}: {told}"]


def test_tables_of_users_are_read(tmp_path: Path) -> None:
    (tmp_path / "kinds.yaml").write_text(TABLE)
    workload = read(tmp_path, REACTOR, kinds=[str(tmp_path / "kinds.yaml")])
    assert pods_of(workload) == {"fusion-0": 1000, "fusion-1": 1000}
    assert workload.notes == ["made 2 pods, which nobody replaces: 2 of Reactor default/fusion"]


def test_apis_that_are_gone_are_read_and_named(tmp_path: Path) -> None:
    old = thing("extensions/v1beta1", "Deployment", replicas=2, template=template())
    workload = read(tmp_path, old)
    assert [(one.kind, one.spec.replicas) for one in workload.objects] == [("Deployment", 2)]
    assert workload.notes == [
        "of an API version that is gone, read as the present one: 1 extensions/v1beta1 Deployment"
    ]


def test_pods_arrive_when_their_object_does(tmp_path: Path) -> None:
    late = job_set("late", w=(1, 2))
    late["metadata"]["annotations"] = {"fairway.dev/arrival": "90"}
    workload = read(tmp_path, late, job_set("early", w=(1, 1)))
    assert [(one.time, one.object.metadata.name) for one in workload.arrivals] == [
        (0.0, "early-w-0-0"),
        (90.0, "late-w-0-0"),
        (90.0, "late-w-0-1"),
    ]


def test_what_is_in_the_cluster_has_its_pods_already(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [job_set("a", w=(2, 2)), REACTOR]}))
    workload = read(tmp_path, job_set("b", w=(1, 1)), cluster=[str(cluster)])
    assert pods_of(workload) == {"b-w-0-0": 1000}
    assert workload.not_counted == []


@given(
    jobs=st.dictionaries(st.sampled_from("uvw"), st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1),
    num_there=st.integers(0, 12),
)
def test_only_what_is_missing_is_made(
    jobs: dict[str, tuple[int, int]], num_there: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Some pods of the first job run under names of their own: so many fewer are made, and all others."""
    first = next(iter(jobs))
    labels = {"jobset.sigs.k8s.io/jobset-name": "s", "jobset.sigs.k8s.io/replicatedjob-name": first}
    there = [pod(f"there-{number}", node="n1", labels=labels) for number in range(num_there)]
    workload = read(tmp_path_factory.mktemp("files"), job_set("s", **jobs), there=there)
    made = list(pods_of(workload))
    for job, (number, size) in jobs.items():
        wanted = number * size - (num_there if job == first else 0)
        assert sum(name.startswith(f"s-{job}-") for name in made) == max(wanted, 0)
    assert len(made) == len(set(made))


def test_what_no_server_would_take_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    wrong = copy.deepcopy(job_set("wrong", w=(1, 1)))
    wrong["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"a": 8}
    workload = read(tmp_path, wrong, job_set("right", w=(1, 1)))
    assert pods_of(workload) == {"right-w-0-0": 1000}
    (problem,) = workload.problems
    assert "JobSet default/wrong" in problem
    assert "nodeSelector.a: expected text, found 8" in problem.replace("['a']", ".a")
    with pytest.raises(DecodeError):
        read(tmp_path, wrong, strict=True)


@pytest.mark.parametrize(("command", "ends"), [("sim", 5), ("compare", 5)], ids=["a simulation", "a comparison"])
def test_commands_say_what_they_did_not_count(command: str, ends: int, folder: Folder) -> None:
    folder.write("nodes.json", node("n1", cpu=8))
    folder.write("things.json", json.dumps(REACTOR))
    folder.write("kinds.yaml", TABLE)
    folder.write(
        "scenario.yaml",
        "{apiVersion: fairway.dev/v1alpha1, kind: Scenario, spec: {end: 1m, cluster: {files: [nodes.json]}, "
        "workload: {files: [things.json]}}}",
    )
    scenario = str(folder.path / "scenario.yaml")
    printed = folder.run(command, scenario)
    assert printed.code == ends
    assert "not counted: Reactor default/fusion" in printed.out
    assert "of no concern" not in printed.err
    printed = folder.run(command, scenario, "--kinds", str(folder.path / "kinds.yaml"))
    assert (printed.code, "not counted" in printed.out) == (0, False)
    assert "made 2 pods" in printed.err


def test_a_scenario_names_its_tables(folder: Folder) -> None:
    folder.write("nodes.json", node("n1", cpu=8))
    folder.write("things.json", json.dumps(REACTOR))
    folder.write("kinds.yaml", TABLE)
    folder.write(
        "scenario.yaml",
        "{apiVersion: fairway.dev/v1alpha1, kind: Scenario, spec: {end: 1m, cluster: {files: [nodes.json]}, "
        "kinds: [kinds.yaml], workload: {files: [things.json]}}}",
    )
    printed = folder.run("sim", str(folder.path / "scenario.yaml"), "-o", "json")
    document = json.loads(printed.out)
    assert (printed.code, document["notCounted"], document["metrics"]["pods"]["placed"]) == (0, [], 2)

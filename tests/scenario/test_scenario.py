from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.model import Node, Pod
from fairway.record import NullRecorder, RecordOptions
from fairway.scenario.scenario import (
    Scenario,
    ScenarioError,
    complete,
    decode_scenario,
    load_scenario,
    to_yaml,
)
from fairway.scenario.scenario_file import API_VERSION, KIND
from fairway.scenario.text import duration_text
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Simulation
from fairway.trace import RACK

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))
each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)

PACKED = {
    "profiles": [
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
    ]
}
BATCH = {
    "synthetic": {
        "arrivals": {"pattern": "poisson", "count": 50, "over": "1h"},
        "classes": [{"name": "a", "cpu": {"kind": "uniform", "low": 1, "high": 4}, "duration": "10m"}],
    }
}


def scenario(folder: Path | str = "", **spec: Any) -> Scenario:
    return decode_scenario({"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, str(Path(folder) / "s.yaml"))


# -- examples and round trips ------------------------------------------------------------------------------------------


@each_example
def test_every_example_is_ready_to_run(path: Path) -> None:
    loaded = load_scenario(path)
    workload = loaded.workload()
    assert loaded.name == path.stem
    assert workload.nodes
    assert workload.problems == []
    assert loaded.end is not None
    for policy in (None, *loaded.policy_names):
        assert [each.name for each in loaded.configurations(policy)] == [each.name for each in loaded.spec.schedulers]
    assert all(fault.at < loaded.end for fault in loaded.faults())


@each_example
def test_a_completed_scenario_reads_back_as_itself_from_anywhere(path: Path) -> None:
    completed = complete(load_scenario(path))
    again = decode_scenario(to_yaml(completed).encode(), "/elsewhere/other.yaml")
    assert again == completed
    assert complete(again) == completed


@each_example
def test_a_completed_scenario_runs_identically(path: Path) -> None:
    first = load_scenario(path)
    again = decode_scenario(to_yaml(complete(first)).encode(), "/elsewhere/other.yaml")
    assert again.name == first.name
    assert again.kubelet_settings == first.kubelet_settings
    assert again.record_options == first.record_options
    assert again.faults() == first.faults()
    for policy in first.policy_names:
        assert again.configurations(policy) == first.configurations(policy)
    one, other = first.workload(), again.workload()
    assert (one.name, one.nodes, one.objects) == (other.name, other.nodes, other.objects)
    assert list(one.arrivals) == list(other.arrivals)


@each_example
def test_what_is_written_reads_back_without_completion_too(path: Path) -> None:
    loaded = load_scenario(path)
    assert decode_scenario(to_yaml(loaded).encode(), str(path)) == loaded
    assert decode_scenario(loaded.as_dict(), str(path)) == loaded


def test_the_demo_is_a_thousand_nodes_and_twenty_thousand_pods() -> None:
    day = load_scenario(ROOT / "examples" / "scenarios" / "day.yaml")
    workload = day.workload()
    assert (len(workload.nodes), workload.num_arrivals) == (1000, 20000)
    assert day.policy_names == ["default", "packed"]


@pytest.mark.parametrize(
    "text", ["1e3", "0x10", "12:30", "yes", "null", "1_000", ".5", "007", "+1", "2024-01-01", "~", ""]
)
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    made = scenario(cluster={"nodes": [{"count": 1, "name": "a"}], "files": [text]})
    assert decode_scenario(to_yaml(made).encode(), "s.yaml") == made


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (86400.0, "24h"),
        (5400.0, "1h30m"),
        (90.5, "1m30s500ms"),
        (0.057, "57ms"),
        (1 / 3, 1 / 3),
        (1e300, 1e300),
        (1e-9, 1e-9),
    ],
)
def test_durations_are_written_exactly(seconds: float, text: str | float) -> None:
    assert duration_text(seconds) == text
    assert scenario(workload={"files": ["a"], "delay": text}).spec.workloads[0].delay == seconds


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90s", 90), (90, 90), ("90", 90), ("1.5h", 5400), ("2d", 172800), ("1w", 604800), ("100us", 1e-4), (0.25, 0.25)],
)
def test_durations_are_seconds_or_words(written: Any, seconds: float) -> None:
    assert scenario(end=written).end == seconds


def test_a_plan_runs_and_two_late_schedulers_do_want_the_same_place() -> None:
    plan = load_scenario(ROOT / "examples" / "scenarios" / "two-schedulers.yaml").plan()
    result = Simulation(plan, NullRecorder()).run()
    assert (result.end, result.arrived) == (7200.0, 100)
    assert result.failed > 0  # no pod fails by itself there: the kubelets turned them away
    assert result.succeeded + result.failed + result.waiting <= 100


# -- schedulers --------------------------------------------------------------------------------------------------------


def test_without_schedulers_there_is_kube_scheduler_with_its_defaults() -> None:
    (only,) = scenario().configurations()
    (profile,) = only.configuration.profiles
    assert (only.name, profile.scheduler_name) == ("default-scheduler", "default-scheduler")
    assert profile.sampling == "kube"
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == "LeastAllocated"
    assert (only.settings, only.pauses) == (SchedulerSettings(), ())


def test_schedulers_have_their_own_names_speeds_and_pauses() -> None:
    made = scenario(
        schedulers=[
            {"name": "one", "decisionLatency": "10ms", "viewDelay": 2, "pause": [{"from": "1h", "for": "5m"}]},
            {"name": "two", "config": {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}},
        ]
    )
    one, two = made.configurations()
    assert one.settings == SchedulerSettings(decision_latency=0.01, view_delay=2.0)
    assert [(pause.at, pause.seconds) for pause in one.pauses] == [(3600.0, 300.0)]
    assert [profile.scheduler_name for profile in one.configuration.profiles] == ["one"]
    assert [profile.scheduler_name for profile in two.configuration.profiles] == ["a", "b"]


def test_a_profile_takes_the_place_of_the_first_config() -> None:
    made = scenario(schedulers=[{"name": "one"}, {"name": "two"}], policies={"packed": {"config": PACKED}})

    def strategies(policy: str | None) -> list[str]:
        configured = made.configurations(policy)
        return [each.configuration.profiles[0].args["NodeResourcesFit"].scoring_strategy.type for each in configured]

    assert made.policy_names == ["default", "packed"]
    assert strategies(None) == strategies("default") == ["LeastAllocated", "LeastAllocated"]
    assert strategies("packed") == ["MostAllocated", "LeastAllocated"]
    assert made.configurations("packed")[0].configuration.profiles[0].scheduler_name == "one"


def test_a_profile_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(policies={"packed": {}}).configurations("pakced")
    expected = 's.yaml: spec.policies: "pakced" is unknown; did you mean packed? Allowed: default, packed'
    assert str(caught.value) == expected


def test_config_files_are_found_beside_the_scenario_and_written_out_when_completed(tmp_path: Path) -> None:
    whole = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **PACKED}
    (tmp_path / "packed.yaml").write_text(yaml.safe_dump(whole))
    made = scenario(tmp_path, schedulers=[{"config": "packed.yaml"}])
    (only,) = made.configurations()
    assert only.configuration.profiles[0].args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"
    completed = complete(made)
    (tmp_path / "packed.yaml").unlink()
    assert completed.configurations() == [only]


def test_ties_are_broken_by_the_scenarios_seed_unless_a_profile_has_its_own() -> None:
    def seeds(**spec: Any) -> list[int]:
        return [profile.seed for each in scenario(**spec).configurations() for profile in each.configuration.profiles]

    two: list[dict[str, Any]] = [{"name": "one"}, {"name": "two"}]
    assert seeds(seed=1, schedulers=two) == seeds(seed=1, schedulers=two)
    assert len({*seeds(seed=1, schedulers=two), *seeds(seed=2, schedulers=two)}) == 4
    assert seeds(seed=1, schedulers=[{"config": {"profiles": [{"fairway": {"seed": 5}}]}}]) == [5]


# -- cluster and workload ----------------------------------------------------------------------------------------------


def test_groups_become_nodes() -> None:
    group = {
        "count": 4,
        "name": "n-{}",
        "cpu": "16",
        "memory": "64Gi",
        "resources": {"nvidia.com/gpu": 2},
        "labels": {"disk": "ssd"},
        "taints": [{"key": "gpu"}],
        "images": {"registry.example/app:1": "200Mi"},
        "zones": 2,
        "racks": {"serversPerRack": 2},
    }
    nodes = scenario(cluster={"nodes": [group]}).workload().nodes
    assert [node.name for node in nodes] == ["n-0", "n-1", "n-2", "n-3"]
    first = nodes[0]
    amounts = {name: amount.text for name, amount in first.status.allocatable.items()}
    assert amounts == {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"}
    assert first.metadata.labels["disk"] == "ssd"
    assert {node.metadata.labels["topology.kubernetes.io/zone"] for node in nodes} == {"zone-0", "zone-1"}
    assert all(RACK in node.metadata.labels for node in nodes)
    assert [(taint.key, taint.effect) for taint in first.spec.taints] == [("gpu", "NoSchedule")]
    assert [(image.names, image.size_bytes) for image in first.status.images] == [
        (("registry.example/app:1",), 200 * 2**20)
    ]


def test_nodes_may_join_later() -> None:
    made = scenario(
        cluster={"nodes": [{"count": 1, "name": "old"}, {"count": 2, "name": "new-{}", "joins": "1h"}]},
        faults=[{"at": "2h", "node": "new-*", "action": "lose"}],
    )
    workload = made.workload()
    assert [node.name for node in workload.nodes] == ["old"]
    assert [(time, thing.metadata.name) for time, thing in workload.arrivals] == [(3600, "new-0"), (3600, "new-1")]
    assert workload.num_arrivals == 2
    assert [fault.node for fault in made.faults()] == ["new-0", "new-1"]


def test_racks_of_the_cluster_are_for_nodes_that_have_none() -> None:
    groups = [{"count": 2, "name": "a-{}", "racks": {"serversPerRack": 1}}, {"count": 2, "name": "b-{}"}]
    nodes = scenario(cluster={"nodes": groups, "racks": {"serversPerRack": 2}}).workload().nodes
    assert [node.name for node in nodes] == ["a-0", "a-1", "b-0", "b-1"]
    assert len({node.metadata.labels[RACK] for node in nodes}) == 3


MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {fairway.dev/arrival: 30s, fairway.dev/duration: 60s}}
spec: {priorityClassName: high, containers: [{name: c, image: i}]}
"""


def test_manifests_of_cluster_and_workload_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(MANIFESTS)
    (tmp_path / "pods.yaml").write_text(POD)
    made = scenario(tmp_path, strict=True, cluster={"files": ["cluster.yaml"]}, workload={"files": ["pods.yaml"]})
    workload = made.workload()
    assert [node.name for node in workload.nodes] == ["n"]
    ((time, pod),) = workload.arrivals
    assert (time, pod.priority) == (30.0, 100)


def test_a_source_is_cut_copied_scaled_and_delayed_in_this_order(tmp_path: Path) -> None:
    pods = [POD.replace("name: p,", f"name: p{n},").replace("30s", f"{n}0s") for n in range(5)]
    (tmp_path / "pods.yaml").write_text("---".join(pods).replace("priorityClassName: high, ", ""))
    source = {
        "files": ["pods.yaml"],
        "start": 10,
        "stop": 40,
        "limit": 2,
        "copies": 2,
        "timeScale": 2,
        "durationScale": 0.5,
        "delay": "1m",
    }
    arrivals = list(
        scenario(tmp_path, cluster={"nodes": [{"count": 1, "name": "n"}]}, workload=source).workload().arrivals
    )
    assert [(time, pod.metadata.name) for time, pod in arrivals] == [
        (60, "p1"),
        (60, "p1-copy-1"),
        (80, "p2"),
        (80, "p2-copy-1"),
    ]
    assert {pod.metadata.annotations["fairway.dev/duration"] for _, pod in arrivals} == {"30"}


def test_synthetic_arrivals_follow_from_the_seed_and_differ_between_sources() -> None:
    def pods(seed: int) -> list[tuple[float, Pod]]:
        two = [BATCH, {"synthetic": {**BATCH["synthetic"], "name": "other"}}]
        made = scenario(seed=seed, cluster={"nodes": [{"count": 1, "name": "n"}]}, workload=two)
        return [(time, pod) for time, pod in made.workload().arrivals]

    first = pods(1)
    assert len(first) == 100
    assert first == pods(1)
    assert [time for time, _ in first] != [time for time, _ in pods(2)]
    names: dict[str, list[float]] = {"pod": [], "other": []}
    for time, pod in first:
        names[pod.metadata.name.split("-")[0]].append(time)
    assert names["pod"] != names["other"]


def test_openb_and_swf_are_read(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nnode-0,64000,262144,2,P100\n")
    header = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    )
    (tmp_path / "pods.csv").write_text(f"{header}\npod-0,12000,16384,1,1000,,LS,Running,0,100,0\n")
    (tmp_path / "log.swf").write_text("; Version: 2.2\n" + " ".join(["1", "0", "5", "100", "4"] + ["-1"] * 13) + "\n")
    made = scenario(
        tmp_path,
        cluster={"openb": {"nodes": "nodes.csv"}},
        workload=[{"openb": {"pods": "pods.csv"}}, {"swf": {"file": "log.swf"}, "delay": 10}],
    )
    parts: list[float] = []
    workload = made.workload(parts.append)
    assert [node.name for node in workload.nodes] == ["node-0"]
    assert [time for time, _ in workload.arrivals] == [0.0, 10.0]
    assert sum(parts) == pytest.approx(1.0)


# -- the other parts ---------------------------------------------------------------------------------------------------


def test_kubelets_and_recording_are_as_the_file_says() -> None:
    assert scenario().kubelet_settings == KubeletSettings()
    assert scenario().record_options == RecordOptions()
    made = scenario(kubelet={"startLatency": "3s", "imagePullLatency": 20}, record={"decisions": "failed", "scores": 3})
    assert made.kubelet_settings == KubeletSettings(start_latency=3.0, image_pull_latency=20.0)
    assert made.record_options == RecordOptions(decisions="failed", scores=3)


def test_each_purpose_has_its_own_chance() -> None:
    one = scenario(seed=1)
    assert one.generator("kubelets").random() == one.generator("kubelets").random()
    draws = [one.generator("kubelets"), one.generator("controllers"), scenario(seed=2).generator("kubelets")]
    assert len({generator.random() for generator in draws}) == 3


def test_nothing_in_a_file_is_lost(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"apiVersion: {API_VERSION}\nkind: {KIND}\n")
    loaded = load_scenario(tmp_path / "s.yaml")
    assert (loaded.name, loaded.seed, loaded.end, loaded.faults([Node()])) == ("s", 0, None, [])

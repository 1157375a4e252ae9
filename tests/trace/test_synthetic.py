"""Synthetic workloads: determinism, known distributions, patterns in time, and the words for wrong specs."""

import tracemalloc
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairway.model import DecodeError, ObjectMeta, PriorityClass, encode_json, pod_requests
from fairway.scenario.fields import Problem, ScenarioError, decode_struct
from fairway.trace import NodeGroup, NodeTaint, Racks, SyntheticSpec, Workload, make_nodes, spec_problems, synthetic

CLASSES: list[dict[str, Any]] = [
    {"name": "web", "weight": 3, "cpu": "500m", "memory": "1Gi"},
    {
        "name": "batch",
        "cpu": {"kind": "choices", "values": [1, 2, 4], "weights": [3, 2, 1]},
        "memory": {"kind": "lognormal", "median": "2Gi", "sigma": 0.5, "step": "1Gi", "max": "16Gi"},
        "duration": {"kind": "lognormal", "median": "10m", "sigma": 1, "max": "6h"},
        "users": 3,
        "userSkew": 1,
    },
]


def decode(tree: dict[str, Any], field: str = "") -> SyntheticSpec:
    """As a scenario is decoded."""
    problems: list[Problem] = []
    spec = decode_struct(tree, SyntheticSpec, field, problems)
    if spec is not None:
        problems += [Problem(*problem) for problem in spec_problems(spec, field)]
    if spec is None or problems:
        raise ScenarioError("day.yaml", problems)
    return spec


def make(arrivals: dict[str, Any], classes: list[dict[str, Any]] | None = None, seed: int = 1, **spec: Any) -> Workload:
    tree = {"arrivals": arrivals, "classes": CLASSES if classes is None else classes} | spec
    return synthetic(decode(tree), seed)


def times(load: Workload) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([one.time for one in load.arrivals])


def test_the_same_seed_gives_the_same_bytes() -> None:
    def content(seed: int) -> list[tuple[float, bytes]]:
        load = make({"pattern": "poisson", "count": 300, "over": "1h"}, seed=seed)
        first = [(one.time, encode_json(one.object)) for one in load.arrivals]
        assert first == [(one.time, encode_json(one.object)) for one in load.arrivals]
        return first

    assert content(7) == content(7)
    assert content(7) != content(8)


@pytest.mark.parametrize("pattern", ["even", "poisson", "diurnal", "bursts"])
def test_count_and_over_are_exact(pattern: str) -> None:
    load = make({"pattern": pattern, "count": 10_000, "over": "24h", "start": "1h"})
    found = times(load)
    assert load.num_arrivals == len(found) == 10_000
    assert np.all(np.diff(found) >= 0)
    assert found[0] >= 3600
    assert found[-1] <= 3600 + 86400


def test_counting_pods_does_not_draw_them() -> None:
    load = make({"pattern": "poisson", "count": 100_000_000, "over": "1w"}, [{"name": "a", "gang": 3}])
    assert load.num_arrivals == 300_000_000  # at once


@given(
    count=st.none() | st.integers(0, 300),
    over=st.none() | st.integers(1, 500),
    rate=st.none() | st.floats(0.01, 2),
    gangs=st.lists(st.sampled_from([1, 2, {"kind": "uniform", "low": 1, "high": 3}]), min_size=1, max_size=3),
    seed=st.integers(0, 9),
)
def test_the_number_is_that_of_the_pods(
    count: int | None, over: int | None, rate: float | None, gangs: list[Any], seed: int
) -> None:
    given_two = sum(value is not None for value in (count, over, rate)) >= 2
    assume(given_two)
    arrivals = {"pattern": "poisson", "count": count, "over": over, "rate": rate}
    classes = [{"name": f"c{number}", "gang": gang} for number, gang in enumerate(gangs)]
    load = make({name: value for name, value in arrivals.items() if value is not None}, classes, seed)
    assert load.num_arrivals == len(list(load.arrivals))


@pytest.mark.parametrize("pattern", ["even", "poisson", "diurnal", "bursts"])
def test_rate_and_over(pattern: str) -> None:
    found = times(make({"pattern": pattern, "rate": 0.1, "over": "24h"}))
    assert len(found) == pytest.approx(8640, rel=0.05)
    assert found[-1] < 86400


def test_even_times() -> None:
    assert times(make({"pattern": "even", "count": 4, "over": 8})).tolist() == [0, 2, 4, 6]
    assert times(make({"pattern": "even", "rate": 0.5, "over": 8})).tolist() == [0, 2, 4, 6]
    assert times(make({"pattern": "even", "rate": 2, "count": 3})).tolist() == [0, 0.5, 1]
    assert times(make({"pattern": "even", "count": 0, "over": 8})).tolist() == []


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.diff(times(make({"pattern": "poisson", "rate": 2, "count": 20_000})))
    assert gaps.mean() == pytest.approx(0.5, rel=0.03)
    assert gaps.std() == pytest.approx(0.5, rel=0.03)


def test_diurnal_arrivals_follow_the_day() -> None:
    found = times(make({"pattern": "diurnal", "count": 50_000, "over": "48h", "peak": "14h", "amplitude": 0.8}))
    hours = np.bincount((found % 86400 // 3600).astype(int), minlength=24)
    expected = 50_000 / 24 * (1 + 0.8 * np.cos(2 * np.pi * (np.arange(24) + 0.5 - 14) / 24))
    assert np.all(np.abs(hours - expected) < 6 * np.sqrt(expected))


def test_bursts_hold_their_share() -> None:
    found = times(
        make({"pattern": "bursts", "count": 20_000, "over": "10h", "every": "1h", "lasting": "6m", "share": 0.7})
    )
    in_bursts = np.mean(found % 3600 < 360)
    assert in_bursts == pytest.approx(0.7 + 0.3 * 0.1, abs=0.02)


def test_classes_sizes_durations_and_users() -> None:
    pods = [one.object for one in make({"pattern": "poisson", "count": 20_000, "over": "1d"}).arrivals]
    batch = [pod for pod in pods if "-batch-" in pod.metadata.name]
    assert len(batch) == pytest.approx(5000, rel=0.05)
    cpus = np.bincount([pod_requests(pod)["cpu"] // 1000 for pod in batch], minlength=5)
    assert cpus[[1, 2, 4]] / len(batch) == pytest.approx([3 / 6, 2 / 6, 1 / 6], abs=0.03)
    memory = np.array([pod_requests(pod)["memory"] for pod in batch])
    assert np.all(memory % 2**30 == 0)
    assert memory.max() <= 16 * 2**30
    durations = np.array([float(pod.metadata.annotations["fairway.dev/duration"]) for pod in batch])
    assert np.median(durations) == pytest.approx(600, rel=0.06)
    assert np.log(durations).std() == pytest.approx(1, rel=0.06)
    users = [pod.metadata.annotations["fairway.dev/user"] for pod in batch]
    shares = [users.count(f"user-{rank}") / len(batch) for rank in (1, 2, 3)]
    assert shares == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.03)
    web = next(pod for pod in pods if "-web-" in pod.metadata.name)
    assert web.metadata.annotations == {}
    assert pod_requests(web) == {"cpu": 500, "memory": 2**30}


@pytest.mark.parametrize(
    ("distribution", "mean", "low", "high"),
    [
        pytest.param({"kind": "exponential", "mean": "100s"}, 100, 0, 1e6, id="exponential"),
        pytest.param({"kind": "uniform", "low": 10, "high": "30s"}, 20, 10, 30, id="uniform"),
        pytest.param({"kind": "lognormal", "median": 50, "sigma": 0}, 50, 50, 50, id="no spread"),
        pytest.param({"kind": "choices", "values": ["1m", 120]}, 90, 60, 120, id="choices"),
        pytest.param("90s", 90, 90, 90, id="fixed"),
        pytest.param({"kind": "exponential", "mean": 100, "min": 99, "max": 101}, 100, 99, 101, id="clipped"),
    ],
)
def test_durations(distribution: Any, mean: float, low: float, high: float) -> None:
    load = make({"pattern": "even", "rate": 1, "count": 5000}, [{"name": "a", "duration": distribution}])
    drawn = np.array([float(one.object.metadata.annotations["fairway.dev/duration"]) for one in load.arrivals])
    assert drawn.mean() == pytest.approx(mean, rel=0.05)
    assert drawn.min() >= low
    assert drawn.max() <= high


def test_gangs_arrive_together() -> None:
    gang = {"name": "mpi", "cpu": 8, "gang": {"kind": "choices", "values": [2, 3]}, "requests": {"nvidia.com/gpu": 1}}
    load = make({"pattern": "poisson", "count": 100, "over": "1h"}, [gang])
    groups: dict[str, list[Any]] = {}
    for one in load.arrivals:
        groups.setdefault(one.object.metadata.annotations["fairway.dev/gang"], []).append(one)
    assert len(groups) == 100
    assert sum(map(len, groups.values())) == load.num_arrivals
    for members in groups.values():
        assert len(members) in {2, 3}
        assert {one.object.metadata.annotations["fairway.dev/gang-size"] for one in members} == {str(len(members))}
        assert len({one.time for one in members}) == 1
        assert pod_requests(members[0].object)["nvidia.com/gpu"] == 1


def test_templates_and_priorities() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}},
        "spec": {
            "priorityClassName": "high",
            "containers": [{"name": "main", "resources": {"requests": {"memory": "1Gi"}}}, {"name": "side"}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        },
    }
    one = {
        "name": "t",
        "cpu": 2,
        "labels": {"c": "d"},
        "namespace": "team",
        "template": template,
        "failProbability": 0.5,
    }
    spec = decode({"arrivals": {"pattern": "even", "count": 1, "rate": 1}, "classes": [one]})
    with pytest.raises(
        DecodeError, match=r"^classes\[0\]\.template\.spec\.priorityClassName: there is no PriorityClass"
    ):
        synthetic(spec, 1)
    high = PriorityClass(metadata=ObjectMeta(name="high"), value=9)
    (arrival,) = synthetic(spec, 1, priority_classes={"high": high}).arrivals
    pod = arrival.object
    assert pod.priority == 9
    assert pod.metadata.labels == {"a": "b", "c": "d"}
    assert pod.metadata.namespace == "team"
    assert pod.metadata.annotations == {"x": "y", "fairway.dev/fail-probability": "0.5"}
    assert pod_requests(pod) == {"cpu": 2000, "memory": 2**30}
    assert [container.name for container in pod.spec.containers] == ["main", "side"]
    assert pod.spec.tolerations[0].key == "gpu"
    assert pod.spec.scheduler_name == "default-scheduler"


def test_pods_are_made_while_they_are_asked_for() -> None:
    load = make({"pattern": "poisson", "count": 1_000_000, "over": "24h"})
    tracemalloc.start()
    for _ in islice(load.arrivals, 20_000):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert load.num_arrivals == 1_000_000
    assert peak < 10 * 2**20


WRONG: list[Any] = [
    ({"pattern": "even", "count": 1}, {}, "arrivals", "must give two of count, over and rate"),
    ({"pattern": "never"}, {}, "arrivals.pattern", "never"),
    ({"pattern": "even", "rate": 1, "count": -1}, {}, "arrivals.count", "from 0 to 100000000"),
    ({"pattern": "even", "rate": 1, "count": 99_999_999_999}, {}, "arrivals.count", "100000000"),
    ({"pattern": "even", "rate": 1e6, "over": "1d"}, {}, "arrivals", "8.64e+10 arrivals; allowed: at most 100000000"),
    ({"pattern": "even", "rate": 0, "count": 1}, {}, "arrivals.rate", "0"),
    ({"pattern": "even", "rate": 1, "over": "long"}, {}, "arrivals.over", "'long' is not a number of seconds"),
    ({"pattern": "diurnal", "rate": 1, "count": 1, "period": 0}, {}, "arrivals.period", "must be more than 0"),
    ({"pattern": "bursts", "rate": 1, "count": 1, "lasting": "2h"}, {}, "arrivals.lasting", "must not be longer"),
    (None, {"cpu": "x"}, "classes[0].cpu", "quantity 'x'"),
    (None, {"cpu": -1}, "classes[0].cpu", "must not be negative"),
    (None, {"gang": 0}, "classes[0].gang", "whole number from 1"),
    (None, {"duration": {"kind": "lognormal", "median": 0, "sigma": 1}}, "classes[0].duration.median", "more than 0"),
    (None, {"duration": {"kind": "lognormal", "median": 1, "sigma": -1}}, "classes[0].duration.sigma", "from 0 to 20"),
    (None, {"duration": {"kind": "uniform", "low": 2, "high": 1}}, "classes[0].duration", "is above its highest"),
    (None, {"duration": {"kind": "choices", "values": []}}, "classes[0].duration.values", "at least one"),
    (None, {"cpu": {"kind": "choices", "values": [1], "weights": [1, 2]}}, "classes[0].cpu.weights", "2 weights for 1"),
    (None, {"cpu": {"kind": "choices", "values": [1], "weights": [0]}}, "classes[0].cpu.weights", "not all be 0"),
    (None, {"requests": {"cpu": 1}}, "classes[0].requests.cpu", "belongs into cpu itself"),
    (None, {"requests": {"a b": 1}}, "classes[0].requests['a b']", "must be letters"),
    (None, {"weight": 0}, "classes", "must not all be 0"),
    (None, {"weight": -1}, "classes[0].weight", "not negative"),
    (None, {"name": "A B"}, "classes[0].name", "'A B'"),
    (None, {"labels": {"a": "b c"}}, "classes[0].labels['a']", "'b c'"),
    (None, {"cpus": 1}, "classes[0].cpus", "unknown field; did you mean cpu?"),
    (None, {"template": {"spec": {"priority": "x"}}}, "classes[0].template.spec.priority", "expected an integer"),
    (
        None,
        {"template": {"spec": {"tolerations": [{"key": "a", "operator": "Is"}]}}},
        "classes[0].template.spec.tolerations[0].operator",
        "Exists",
    ),
    (
        None,
        {"template": {"metadata": {"annotations": {"fairway.dev/duration": "x"}}}},
        "classes[0].template.metadata.annotations['fairway.dev/duration']",
        "'x'",
    ),
]


@pytest.mark.parametrize(
    ("arrivals", "change", "field", "problem"), WRONG, ids=[case[2] + " " + case[3] for case in WRONG]
)
def test_wrong_specs_name_the_field(arrivals: Any, change: dict[str, Any], field: str, problem: str) -> None:
    tree = {"arrivals": arrivals or {"pattern": "even", "count": 1, "rate": 1}, "classes": [{"name": "a"} | change]}
    with pytest.raises(ScenarioError) as caught:
        decode(tree, "spec.workload.synthetic")
    assert str(caught.value).startswith(f"day.yaml: spec.workload.synthetic.{field}: ")
    assert problem in str(caught.value)


def test_a_sound_spec_has_no_problems_and_two_classes_need_two_names() -> None:
    tree = {"arrivals": {"pattern": "even", "count": 1, "rate": 1}, "classes": CLASSES}
    assert list(spec_problems(decode(tree))) == []
    with pytest.raises(ScenarioError, match=r"classes\[1\]\.name: 'web' is the name of classes\[0\] already"):
        decode(tree | {"classes": [CLASSES[0], CLASSES[0]]})


def test_nodes_by_the_group() -> None:
    groups = [
        NodeGroup(count=4, zones=2, racks=Racks(servers_per_rack=1), labels={"a": "b"}),
        NodeGroup(
            count=2,
            name="gpu-{}",
            cpu="500m",
            memory="1Gi",
            pods=5,
            resources={"nvidia.com/gpu": 8},
            taints=(NodeTaint(key="gpu"),),
            racks=Racks(servers_per_rack=2),
        ),
    ]
    nodes = make_nodes(groups)
    assert [node.name for node in nodes] == ["node-0", "node-1", "node-2", "node-3", "gpu-0", "gpu-1"]
    labels = nodes[1].metadata.labels
    assert labels["topology.kubernetes.io/zone"] == "zone-1"
    assert (labels["kubernetes.io/hostname"], labels["a"]) == ("node-1", "b")
    racks = [node.metadata.labels["fairway.dev/rack"] for node in nodes]
    assert racks == ["rack-0", "rack-2", "rack-1", "rack-3", "rack-4", "rack-4"]
    gpu = nodes[-1]
    assert {name: amount.text for name, amount in gpu.status.allocatable.items()} == {
        "cpu": "500m",
        "memory": "1Gi",
        "pods": "5",
        "nvidia.com/gpu": "8",
    }
    assert gpu.spec.taints[0].effect == "NoSchedule"


@pytest.mark.parametrize(
    ("group", "field"),
    [
        (NodeGroup(count=2, name="a"), "nodes[0].name"),
        (NodeGroup(count=1, name="A{}"), "nodes[0].name"),
        (NodeGroup(count=1, cpu="many"), "nodes[0].cpu"),
        (NodeGroup(count=1, memory=-1), "nodes[0].memory"),
        (NodeGroup(count=1, resources={"x/y": "z"}), "nodes[0].resources['x/y']"),
        (NodeGroup(count=1, labels={"a": "b c"}), "nodes[0].labels['a']"),
        (NodeGroup(count=1, taints=(NodeTaint(key=""),)), "nodes[0].taints[0].key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_groups_name_the_field(group: NodeGroup, field: str) -> None:
    with pytest.raises(DecodeError) as caught:
        make_nodes([group], "nodes")
    assert caught.value.field == field


def test_two_groups_need_two_names() -> None:
    with pytest.raises(DecodeError, match=r"\[1\]\.name: 'node-\{\}' is the name of nodes of \[0\] already"):
        make_nodes([NodeGroup(count=1), NodeGroup(count=1)])


# -- queues ------------------------------------------------------------------------------------------------------------

QUEUED: list[dict[str, Any]] = [
    {"name": "prepare", "cpu": 1, "duration": "10m", "queue": "batch", "account": "physics", "limit": "30m"},
    {
        "name": "train",
        "cpu": 1,
        "duration": {"kind": "uniform", "low": "10m", "high": "1h"},
        "gang": 2,
        "queue": "batch",
        "limit": {"factor": {"kind": "uniform", "low": 1, "high": 5}},
        "begin": "5m",
        "after": {"class": "prepare"},
        "exclusive": "node",
    },
]


def test_classes_say_what_their_jobs_want_of_queues() -> None:
    pods = [one.object for one in make({"pattern": "even", "count": 40, "over": "1h"}, QUEUED).arrivals]
    latest, factors = None, []
    for pod in pods:
        said = pod.metadata.annotations
        assert pod.metadata.labels["fairway.dev/queue"] == "batch"
        if "prepare" in pod.metadata.name:
            latest = pod.metadata.name
            assert (said["fairway.dev/account"], said["fairway.dev/time-limit"]) == ("physics", "1800")
            assert "fairway.dev/connect-to" not in said
            continue
        assert (said["fairway.dev/begin"], said["fairway.dev/exclusive"]) == ("+300", "node")
        assert said.get("fairway.dev/connect-to") == latest
        assert said.get("fairway.dev/connect-mode") == (None if latest is None else "after-ok")
        factors.append(float(said["fairway.dev/time-limit"]) / float(said["fairway.dev/duration"]))
    assert latest is not None
    assert all(1 <= factor <= 5.001 for factor in factors)
    assert len({round(factor, 2) for factor in factors}) > 5


def test_what_classes_say_of_queues_changes_nothing_else() -> None:
    plain = [
        {key: value for key, value in each.items() if key in ("name", "cpu", "duration", "gang")} for each in QUEUED
    ]
    arrivals = {"pattern": "poisson", "count": 50, "over": "1h"}
    one = [(each.time, each.object.metadata.name) for each in make(arrivals, plain).arrivals]
    without_draws = [{**each, "limit": "1h"} for each in QUEUED]
    assert one == [(each.time, each.object.metadata.name) for each in make(arrivals, without_draws).arrivals]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"limit": {"factor": 0}}, "classes[0].limit.factor: must be more than 0 and at most 1000000, not 0"),
        ({"limit": {"factor": 2}, "duration": None}, "classes[0].limit.factor: is of the duration, which is missing"),
        ({"limit": "soon"}, "classes[0].limit: duration 'soon' is not a number of seconds"),
        ({"begin": "-1h"}, "classes[0].begin: "),
        (
            {"after": {"class": "trian"}},
            "classes[0].after.class: 'trian' is no class of this source; did you mean train?",
        ),
        ({"queue": "not a name"}, "classes[0].queue: "),
        ({"exclusive": "rack"}, "classes[0].exclusive: "),
        ({"limit": {"factr": 1}}, "classes[0].limit"),
    ],
)
def test_wishes_that_can_not_be_meant_name_the_field(change: dict[str, Any], told: str) -> None:
    classes = [{key: value for key, value in {**QUEUED[0], **change}.items() if value is not None}, QUEUED[1]]
    with pytest.raises(ScenarioError) as wrong:
        make({"pattern": "even", "count": 4, "over": "1h"}, classes)
    assert told in str(wrong.value)

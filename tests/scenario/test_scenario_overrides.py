import contextlib
from pathlib import Path
from typing import Any

import pytest

from fairway.scenario.scenario import Scenario, ScenarioError, decode_scenario
from fairway.scenario.scenario_file import API_VERSION, KIND

GROUPS = [{"count": 90, "name": "a-{}"}, {"count": 10, "name": "b-{}"}]


def scenario(**spec: Any) -> Scenario:
    return decode_scenario({"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, "folder/s.yaml")


@pytest.mark.parametrize(
    ("total", "counts"),
    [(100, [90, 10]), (1000, [900, 100]), (11, [9, 2]), (1, [1]), (3, [2, 1])],
)
def test_nodes_are_scaled_in_proportion(total: int, counts: list[int]) -> None:
    made = scenario(cluster={"nodes": GROUPS}).with_overrides(nodes=total)
    assert sum(counts) == total
    assert [group.count for group in made.spec.cluster.nodes] == counts
    assert scenario(cluster={"nodes": GROUPS}).with_overrides(nodes=str(total)) == made


def test_paths_begin_where_the_user_is(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        made = scenario(cluster={"nodes": GROUPS}).with_overrides(
            nodes=["nodes.yaml", "list.csv.gz"], workload=["pods/", "log.swf.gz", "pods.csv"]
        )
    cluster = made.spec.cluster
    assert (cluster.nodes, cluster.files) == ((), (str(tmp_path / "nodes.yaml"),))
    assert cluster.openb is not None
    assert cluster.openb.nodes == str(tmp_path / "list.csv.gz")
    manifests, swf, openb = made.spec.workloads
    assert manifests.files == (str(tmp_path / "pods"),)
    assert swf.swf is not None
    assert swf.swf.file == str(tmp_path / "log.swf.gz")
    assert openb.openb is not None
    assert openb.openb.pods == str(tmp_path / "pods.csv")


def test_seed_end_strictness_and_profile_are_replaced() -> None:
    before = scenario(cluster={"nodes": GROUPS}, policies={"other": {"config": {"parallelism": 3}}})
    made = before.with_overrides(seed=9, until="90m", strict=True, policy="other")
    assert (made.seed, made.end, made.spec.strict) == (9, 5400.0, True)
    assert made.configurations()[0].configuration.parallelism == 3
    assert made.configurations() == before.with_overrides(seed=9).configurations("other")


def test_nothing_wanted_changes_nothing() -> None:
    made = scenario(cluster={"nodes": GROUPS})
    assert made.with_overrides(nodes=None, workload=None, policy=None, seed=None, until=None) == made
    assert made.with_overrides(policy="default") == made


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"nodes": 0}, "--nodes: 0 is out of range; allowed: 1 to 10000000, or a file of nodes"),
        ({"nodes": ["a.csv", "b.csv"]}, "--nodes: 2 openb node lists; allowed: one"),
        ({"seed": -1}, "--seed: -1 is out of range; allowed: 0 to 9223372036854775807"),
        ({"until": "x"}, '--until: "x" is no time; allowed: seconds, or text such as "90s", "1h30m" or "2d"'),
        ({"until": 0}, "--until: it ends before it begins; allowed: more than 0s"),
        ({"policy": "x"}, 'folder/s.yaml: spec.policies: "x" is unknown; allowed: default'),
    ],
    ids=["nodes", "lists", "seed", "until", "no time", "policy"],
)
def test_wrong_options_are_named(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(cluster={"nodes": GROUPS}).with_overrides(**wanted)
    assert str(caught.value) == message


def test_only_generated_nodes_can_be_counted() -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(cluster={"files": ["a.yaml"]}).with_overrides(nodes=5)
    words = "the scenario generates no nodes (spec.cluster.nodes) that could be more or fewer"
    assert str(caught.value) == f"--nodes: {words}"

"""Data in scenario files: datasets that are made up, changes of copies, ladders, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairway.model import Dataset, DatasetInternal, to_builtins
from fairway.scenario.scenario import Scenario, ScenarioError, complete, decode_scenario
from fairway.scenario.scenario_file import API_VERSION, KIND
from fairway.scenario.simulate import simulate
from fairway.sim.data_changes import DataChange
from fairway.sim.data_reads import Distance
from fairway.testing import dataset, dataset_internal

CLUSTER = {"nodes": [{"count": 6, "zones": 3}], "datasets": [{"name": "d", "count": 3, "copies": 2, "size": "10Gi"}]}


def scenario(**spec: Any) -> Scenario:
    return decode_scenario({"apiVersion": API_VERSION, "kind": KIND, "spec": {"cluster": CLUSTER} | spec}, "s.yaml")


def copies(made: Scenario) -> dict[str, tuple[list[str], list[str]]]:
    """Gateways and data locations by dataset."""
    found = {}
    for thing in made.workload().objects:
        if isinstance(thing, DatasetInternal):
            told = thing.status.caching.placements
            found[thing.metadata.name] = (
                [one.value for one in told.gateways],
                [one.value for one in told.data_locations],
            )
    return found


def test_datasets_are_ready_and_have_their_copies_on_different_nodes() -> None:
    made = scenario()
    things = [thing for thing in made.workload().objects if isinstance(thing, Dataset)]
    assert [(one.metadata.name, one.size, one.unready) for one in things] == [
        (f"d-{number}", 10 * 2**30, "") for number in range(3)
    ]
    for gateways, held in copies(made).values():
        assert gateways == held
        assert len(set(held)) == 2


def test_copies_follow_from_the_seed_and_the_name_alone() -> None:
    more = {**CLUSTER, "datasets": [{"name": "other"}, {"name": "d", "count": 2, "copies": 2}]}
    assert copies(scenario()) == copies(complete(scenario()))
    assert copies(scenario()) != copies(scenario(seed=1))
    assert copies(scenario(cluster=more))["d-1"] == copies(scenario())["d-1"]


def test_some_serve_some_hold_and_some_are_only_on_some_nodes() -> None:
    groups = [
        {"name": "a", "copies": 3, "gateways": 1},
        {"name": "b", "copies": 2, "gateways": 0, "labels": {"topology.kubernetes.io/zone": "zone-1"}},
        {"name": "c", "copies": 0},
    ]
    found = copies(scenario(cluster={**CLUSTER, "datasets": groups}))
    gateways, held = found["a-0"]
    assert (len(held), gateways) == (3, held[:1])
    assert (found["b-0"][0], set(found["b-0"][1])) == ([], {"node-1", "node-4"})
    assert found["c-0"] == ([], [])


def test_changes_come_in_order_of_time() -> None:
    changes = [
        {"at": "2h", "action": "dataMoved", "dataset": "default/d-1", "from": "node-1", "node": "node-?"},
        {"at": "1h", "action": "dataCopied", "dataset": "*/d-*", "copies": 2},
    ]
    assert scenario(dataChanges=changes).data_changes() == [
        DataChange(3600.0, "dataCopied", "*/d-*", copies=2, number=1),
        DataChange(7200.0, "dataMoved", "default/d-1", node="node-?", origin="node-1", number=0),
    ]


@pytest.mark.parametrize(
    ("reads", "ladder"),
    [
        ({"ladder": [{"key": "z", "factor": 1.5}]}, (Distance("z", 1.5), Distance("", 1.5))),
        ({"ladder": [{"key": "z", "factor": 1.5}], "elsewhere": 3}, (Distance("z", 1.5), Distance("", 3.0))),
        ({"ladder": []}, (Distance("", 1.0),)),
    ],
    ids=["beyond the last rung as on it", "elsewhere", "none"],
)
def test_the_ladder_ends_beyond_its_last_rung(reads: dict[str, Any], ladder: tuple[Distance, ...]) -> None:
    assert scenario(dataReads=reads).plan().read_ladder == ladder


MOVED = {"at": 1, "action": "dataMoved", "dataset": "default/d-0"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"cluster": {**CLUSTER, "datasets": [{"name": "d", "copies": 7}]}},
            "spec.cluster.datasets[0].copies: 7, but there are 6 nodes",
            id="more copies than nodes",
        ),
        pytest.param(
            {"cluster": {**CLUSTER, "datasets": [{"name": "d", "labels": {"disk": "ssd"}}]}},
            "spec.cluster.datasets[0].copies: 1, but there are 0 nodes with these labels",
            id="no such nodes",
        ),
        pytest.param(
            {"cluster": {**CLUSTER, "datasets": [{"name": "d", "copies": 1, "gateways": 2}]}},
            "spec.cluster.datasets[0].gateways: 2 of 1 copies; allowed: as many, or fewer",
            id="more gateways than copies",
        ),
        pytest.param(
            {"cluster": {**CLUSTER, "datasets": [{"name": "d"}, {"name": "d"}]}},
            "spec.cluster.datasets[1].name: spec.cluster.datasets[0] has datasets called d-0, ... already; "
            "give another",
            id="twice",
        ),
        pytest.param(
            {"cluster": {**CLUSTER, "datasets": [{"name": "d", "size": "-1"}]}},
            "spec.cluster.datasets[0].size: must be more than 0: -1",
            id="size",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "dataset": "default/e-*"}]},
            'spec.dataChanges[0].dataset: no dataset is called "default/e-*"; there are 3, such as '
            "default/d-0, default/d-1, default/d-2",
            id="no such dataset",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "node": "x-*"}]},
            'spec.dataChanges[0]: no node has the name "x-*"; there are 6, such as node-0, node-1, node-2',
            id="no such node",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "labels": {"disk": "ssd"}}]},
            "spec.dataChanges[0]: no node has the labels disk=ssd; there are 6, such as node-0, node-1, node-2",
            id="no such labels",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "dataset": "d-0"}]},
            "spec.dataChanges[0].dataset: d-0 has no namespace; write NAMESPACE/d-0",
            id="no namespace",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "copies": 2}]},
            "spec.dataChanges[0].copies: dataMoved adds no copies; allowed with: dataCopied",
            id="copies of what moves",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "action": "dataLost", "from": "node-1"}]},
            "spec.dataChanges[0].from: dataLost moves nothing; allowed with: dataMoved",
            id="from where it is lost",
        ),
        pytest.param(
            {"dataChanges": [{**MOVED, "action": "lost"}]},
            'spec.dataChanges[0].action: "lost" is unknown; did you mean dataLost? Allowed: dataCopied, dataMoved, '
            "dataLost",
            id="action",
        ),
        pytest.param(
            {"dataReads": {"ladder": [{"key": "a", "factor": 2}, {"key": "b", "factor": 1.5}]}},
            "spec.dataReads.ladder[1].factor: 1.5 is less than nearer rungs have; allowed: 2 or more",
            id="cheaper from farther",
        ),
        pytest.param(
            {"dataReads": {"ladder": [{"key": "a", "factor": 2}], "elsewhere": 1.5}},
            "spec.dataReads.elsewhere: 1.5 is less than nearer rungs have; allowed: 2 or more",
            id="cheaper from elsewhere",
        ),
        pytest.param(
            {"dataReads": {"ladder": [{"key": "a"}, {"key": "a"}]}},
            "spec.dataReads.ladder[1].key: a is a rung already; allowed: once",
            id="rung twice",
        ),
    ],
)
def test_what_makes_no_sense_is_told_by_its_field(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(**spec).plan()
    assert str(caught.value) == f"s.yaml: {message}"


SYNTHETIC = {
    "arrivals": {"pattern": "even", "count": 30, "over": "1h"},
    "classes": [
        {"name": "reader", "duration": "10m", "datasets": {"name": "d", "count": 3, "each": 2, "skew": 1}},
        {"name": "plain", "duration": "10m"},
    ],
}


def test_pods_that_are_drawn_read_datasets_that_are_drawn() -> None:
    pods = [arrival.object for arrival in scenario(workload={"synthetic": SYNTHETIC}).workload().arrivals]
    used = {one.metadata.name: one.metadata.annotations.get("fairway.dev/data") for one in pods}
    for name, datasets in used.items():
        assert datasets in ({"d-0,d-1", "d-0,d-2", "d-1,d-2"} if "reader" in name else {None})
    assert len({datasets for datasets in used.values() if datasets}) > 1
    without = json.loads(json.dumps(SYNTHETIC))
    del without["classes"][0]["datasets"]
    others = [arrival.object for arrival in scenario(workload={"synthetic": without}).workload().arrivals]
    assert [one.metadata.name for one in others] == [one.metadata.name for one in pods]


def test_datasets_of_manifests_and_snapshots_are_there(tmp_path: Path) -> None:
    things = [dataset("mine"), dataset_internal("mine", gateways="node-1"), dataset("old", old_group=True)]
    items = {"apiVersion": "v1", "kind": "List", "items": [to_builtins(thing) for thing in things]}
    (tmp_path / "data.json").write_text(json.dumps(items))
    made = decode_scenario(
        {"apiVersion": API_VERSION, "kind": KIND, "spec": {"cluster": {**CLUSTER, "files": ["data.json"]}}},
        str(tmp_path / "s.yaml"),
    )
    assert copies(made)["mine"] == (["node-1"], [])
    run = simulate(made, record=tmp_path / "run")
    with run.open() as opened:
        names = [row["name"] for row in opened.objects.where("split_part(kind, '.', 1) = 'Dataset'").rows()]
    assert sorted(names) == ["d-0", "d-1", "d-2", "mine", "old"]


def test_the_same_seed_reads_the_same_and_reads_cost_time(tmp_path: Path) -> None:
    reads = {"ladder": [{"key": "kubernetes.io/hostname"}], "elsewhere": 3}
    runs = [
        simulate(scenario(workload={"synthetic": SYNTHETIC}, dataReads=costs), record=tmp_path / f"run-{number}")
        for number, costs in enumerate((reads, reads, {}))
    ]
    metrics = []
    for run in runs:
        with run.open() as opened:
            metrics.append({k: v for k, v in opened.metrics().flat().items() if not k.startswith("timing")})
    assert metrics[0] == metrics[1]
    assert metrics[0]["data_extra_hours"] > 0 == metrics[2]["data_extra_hours"]
    assert metrics[0]["data_reads"] == metrics[2]["data_reads"]

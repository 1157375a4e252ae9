"""Data in simulations: from how far pods read it, what that costs them, and copies that come, move and are lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DatasetInternal, Node, Pod, kind_title
from fairway.record.vocabulary import DataRead
from fairway.sim.data_changes import DataChange
from fairway.sim.data_reads import Distance
from fairway.sim.simulation import Fault, Plan, SchedulerPlan, Simulation
from fairway.testing import dataset, dataset_internal, node
from fairway.trace.workload import Arrival
from tests.sim.diary import Diary, configuration, lasting, simulate

HOST, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
COSTS = (Distance(HOST, 1.0), Distance(ZONE, 1.5), Distance(REGION, 2.0), Distance("", 4.0))
PLACES = {"a1": ("a", "r"), "a2": ("a", "r"), "b1": ("b", "r"), "far": ("x", "q")}
NODES = [node(name, labels={ZONE: zone, REGION: region}) for name, (zone, region) in PLACES.items()]


class Reader(Diary):
    """Keeps what was read, too."""

    simulation: Simulation  # set by `play`

    def __init__(self) -> None:
        super().__init__()
        self.reads: dict[str, list[DataRead]] = {}

    def data_read(self, t: float, uid: str, reads: Sequence[DataRead]) -> None:
        self.reads.setdefault(uid.rsplit("/", 1)[-1], []).extend(reads)


def play(arrivals: Sequence[tuple[float, Any]], *objects: Any, nodes: Sequence[Node] = NODES, **rest: Any) -> Reader:
    reader = Reader()
    plan = Plan(
        nodes,
        objects,
        [Arrival(time, thing) for time, thing in arrivals],
        [SchedulerPlan("default-scheduler", configuration())],
        **({"read_ladder": COSTS} | rest),
    )
    reader.simulation = Simulation(plan, reader)
    reader.simulation.run()
    return reader


def reading(name: str, on: str, *names: str, seconds: float = 100) -> Pod:
    labels = {f"dataset.{number}.id": one for number, one in enumerate(names)}
    return lasting(name, seconds, labels=labels, node_selector={HOST: on})


def ran(reader: Reader, name: str) -> float:
    times = {what: time for time, what in reader.of(name)}
    return times["Succeeded"] - times["started"]


def placements(reader: Reader, name: str = "data", group: str = "datashim.io") -> tuple[list[str], list[str]]:
    """Gateways and data locations, at the end."""
    api = reader.simulation.api
    found = api.find(kind_title(f"{group}/v1alpha1", "DatasetInternal"), "default", name)
    assert isinstance(found, DatasetInternal)
    told = found.status.caching.placements
    return [one.value for one in told.gateways], [one.value for one in told.data_locations]


@pytest.mark.parametrize(
    ("on", "factor", "rung", "source"),
    [("a1", 1.0, HOST, "a1"), ("a2", 1.5, ZONE, "a1"), ("b1", 2.0, REGION, "a1"), ("far", 4.0, "", "a1")],
)
def test_a_pod_runs_longer_the_farther_its_data_is(on: str, factor: float, rung: str, source: str) -> None:
    objects = dataset(size="10Gi"), dataset_internal(gateways="a1")
    reader = play([(0, reading("p", on, "data"))], *objects)
    assert ran(reader, "p") == pytest.approx(100 * factor)
    (read,) = reader.reads["p"]
    assert read[:5] == ("default/data", source, rung, 10 * 2**30, factor)
    assert read.extra_share == pytest.approx(1 - 1 / factor)


def test_pods_without_data_run_as_long_as_they_say() -> None:
    reader = play([(0, reading("p", "far"))], dataset(), dataset_internal(gateways="a1"))
    assert ran(reader, "p") == 100
    assert reader.reads == {}


def test_what_is_nowhere_is_far() -> None:
    reader = play([(0, reading("p", "a1", "data", "unheard-of"))], dataset())
    assert ran(reader, "p") == 400
    assert [read.source for read in reader.reads["p"]] == ["", ""]


@pytest.mark.parametrize(
    ("sizes", "factor"),
    [(("1Gi", "3Gi"), (1 * 1.0 + 3 * 2.0) / 4), (("1Gi", None), 1.5)],
    ids=["by size", "alike where a size is missing"],
)
def test_several_datasets_count_by_their_size(sizes: tuple[str | None, str | None], factor: float) -> None:
    objects = [
        *(dataset(name, size=size) for name, size in zip(("near", "away"), sizes, strict=True)),
        dataset_internal("near", gateways="b1"),
        dataset_internal("away", gateways="a1"),
    ]
    reader = play([(0, reading("p", "b1", "near", "away"))], *objects)
    assert ran(reader, "p") == pytest.approx(100 * factor)
    assert sum(read.extra_share for read in reader.reads["p"]) == pytest.approx(1 - 1 / factor)


def test_gateways_serve_if_there_are_any_and_copies_on_lost_nodes_do_not() -> None:
    objects = dataset(), dataset_internal(gateways="b1", copies=["a1", "b1"])
    arrivals = [(0, reading("served", "a1", "data")), (200, reading("local", "a1", "data"))]
    reader = play(arrivals, *objects, faults=[Fault(10.0, "b1", "lose")])
    assert [reader.reads[name][0].source for name in ("served", "local")] == ["b1", "a1"]


def test_nodes_may_say_themselves_what_they_have() -> None:
    nodes = [*NODES, node("own", labels={"data.fairway.dev/data": "copy", ZONE: "a", REGION: "r"})]
    reader = play([(0, reading("p", "own", "data")), (0, reading("q", "a1", "data"))], nodes=nodes)
    assert [reader.reads[name][0][1:3] for name in ("p", "q")] == [("own", HOST), ("own", ZONE)]


def test_the_newer_group_is_believed() -> None:
    objects = dataset_internal(gateways="far", old_group=True), dataset_internal(gateways="a1")
    assert play([(0, reading("p", "a1", "data"))], *objects).reads["p"][0].source == "a1"


def test_a_pod_that_begins_anew_reads_anew() -> None:
    change = DataChange(at=20, action="dataMoved", dataset="default/data", node="a1")
    back = [Fault(30.0, "a1", "lose"), Fault(40.0, "a1", "return")]
    pod = lasting("p", 100, labels={"dataset.0.id": "data"}, node_selector={HOST: "a1"}, restart_policy="Always")
    reader = play([(0, pod)], dataset(), dataset_internal(gateways="b1"), faults=back, data_changes=[change])
    assert [read.source for read in reader.reads["p"]] == ["b1", "a1"]
    assert reader.of("p")[-1] == (140, "Succeeded")


# -- a naive count -----------------------------------------------------------------------------------------------------

NAMES = st.lists(st.sampled_from(sorted(PLACES)), max_size=3, unique=True)


@given(
    copies=st.dictionaries(st.sampled_from(["x", "y", "z"]), st.tuples(NAMES, NAMES, st.sampled_from([None, 1, 7]))),
    used=st.lists(st.sampled_from(["x", "y", "z"]), max_size=3, unique=True),
    on=st.sampled_from(sorted(PLACES)),
)
def test_the_stretch_is_what_a_loop_over_copies_gives(
    copies: dict[str, tuple[list[str], list[str], int | None]], used: list[str], on: str
) -> None:
    objects: list[Any] = []
    for name, (gateways, held, size) in copies.items():
        objects += [dataset(name, size=size), dataset_internal(name, gateways=gateways, copies=held)]
    reader = play([(0, reading("p", on, *used))], *objects)

    def factor(name: str) -> float:
        gateways, held, _ = copies.get(name, ([], [], None))
        best = 4.0
        for source in gateways or held:
            same = source == on, PLACES[source][0] == PLACES[on][0], PLACES[source][1] == PLACES[on][1]
            best = min([best, *(cost.factor for cost, is_same in zip(COSTS, same, strict=False) if is_same)])
        return best

    sizes = [copies[name][2] if name in copies else None for name in used]
    weights = [size or 1 for size in sizes] if all(sizes) else [1] * len(used)
    expected = math.fsum(w * factor(name) for w, name in zip(weights, used, strict=True)) / (sum(weights) or 1)
    assert ran(reader, "p") == pytest.approx(100 * (expected if used else 1.0))


# -- changes -----------------------------------------------------------------------------------------------------------


def change(action: Any, **rest: Any) -> DataChange:
    return DataChange(**({"at": 10.0, "action": action, "dataset": "default/data"} | rest))


@pytest.mark.parametrize(
    ("what", "gateways", "held"),
    [
        pytest.param(change("dataCopied", node="far"), ["a1", "far"], ["a1", "b1", "far"], id="copied"),
        pytest.param(change("dataCopied", copies=9), 3, 4, id="copied to all that is free"),
        pytest.param(change("dataCopied", node="a1"), ["a1"], ["a1", "b1"], id="there already"),
        pytest.param(change("dataMoved", origin="a1", node="far"), ["far"], ["far", "b1"], id="a gateway moves"),
        pytest.param(change("dataMoved", origin="b1", node="far"), ["a1"], ["a1", "far"], id="a copy moves"),
        pytest.param(change("dataMoved", node="far"), ["far"], ["far", "b1"], id="what finds no place stays"),
        pytest.param(change("dataLost", node="b*"), ["a1"], ["a1"], id="lost"),
        pytest.param(change("dataLost", labels={ZONE: "a"}), [], ["b1"], id="lost with a zone"),
        pytest.param(change("dataLost"), [], [], id="lost everywhere"),
        pytest.param(change("dataLost", dataset="other/*"), ["a1"], ["a1", "b1"], id="another namespace"),
    ],
)
def test_copies_come_move_and_are_lost(what: DataChange, gateways: Any, held: Any) -> None:
    objects = dataset(), dataset_internal(gateways="a1", copies=["a1", "b1"])
    found = placements(play([(0, reading("p", "a1"))], *objects, data_changes=[what]))
    assert (found if isinstance(gateways, list) else tuple(map(len, found))) == (gateways, held)


def test_a_copy_of_a_dataset_that_nobody_placed_is_its_first() -> None:
    first = change("dataCopied", node="b1", dataset="default/*")
    reader = play([(0, reading("p", "a1"))], dataset(old_group=True), data_changes=[first])
    assert placements(reader, group="com.ie.ibm.hpsys") == ([], ["b1"])


def test_what_happened_to_copies_is_told() -> None:
    moved = change("dataMoved", origin="a1", node="far")
    reader = play([(0, reading("p", "a1"))], dataset_internal(gateways="a1"), data_changes=[moved, change("dataLost")])
    assert [event for event in reader.events if event[2].startswith("data")] == [
        (10.0, "default/data", "dataMoved", "from a1 to far"),
        (10.0, "default/data", "dataLost", "from far"),
    ]


def test_where_copies_go_follows_from_the_seed_and_the_change() -> None:
    nodes = [node(f"n{number}") for number in range(50)]
    changes = [change("dataCopied", copies=3, number=number, dataset=f"default/d{number}") for number in range(2)]
    objects = [dataset("d0"), dataset("d1")]

    def drawn(seed: int, changes: Sequence[DataChange]) -> list[list[str]]:
        pod = lasting("p", 20)
        reader = play([(0, pod)], *objects, nodes=nodes, data_changes=changes, seed=seed)
        numbers = sorted(one.number for one in changes)
        return [placements(reader, f"d{number}")[1] for number in numbers]

    both = drawn(1, changes)
    assert both == drawn(1, changes)
    assert both != drawn(2, changes)
    assert both[1:] == drawn(1, changes[1:])  # one change less leaves the other as it was
    assert both[0] != both[1]


def test_without_a_ladder_distances_cost_nothing() -> None:
    _, diary = simulate(NODES, [(0, reading("p", "far", "data"))], objects=[dataset_internal(gateways="a1")])
    assert diary.of("p")[-1][0] - diary.of("p")[1][0] == 100

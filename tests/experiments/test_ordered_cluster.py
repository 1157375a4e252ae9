"""The order-only protocol, on a look-alike; and on the real trace where it is at hand."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from fairway.cluster import Cause, TypicalPods
from fairway.experiments.gpu_policies import POLICIES, policy_config, policy_profile
from fairway.experiments.openb_check import compare_placements
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.ordered_cluster import OrderedCluster, run_in_order
from fairway.model import DecodeError
from tests.experiments.lookalike_runs import recorded_lookalike

REAL = Path(__file__).parents[3] / "shared" / "traces"
needs_real = pytest.mark.skipif(
    not (REAL / "openb-expected").is_dir(), reason="the openb trace is not beside the checkout"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> OpenbData:
    return recorded_lookalike(tmp_path_factory.mktemp("openb"))


@pytest.mark.parametrize("policy", POLICIES)
def test_books_balance(data: OpenbData, policy: str) -> None:
    workload = data.recorded("gpuspec33", 42)
    ordered = OrderedCluster(workload, policy_profile(policy, 5), TypicalPods.of_pods(workload.pods), 5)
    run = ordered.fill()
    devices = ordered.cluster.devices
    assert len(run.names) == len(workload.order)
    assert run.used[-1] == devices.used_milli
    assert run.arrived[-1] >= run.used[-1]
    assert (np.diff(run.used) >= 0).all()
    assert ((devices.free >= 0) & (devices.free <= 1000)).all()
    assert run.causes.sum() == pytest.approx(run.capacity - run.used[-1])
    assert run.frag[-1] == pytest.approx(run.causes.sum() - run.causes[Cause.USABLE])
    placed = [place for place in run.placements() if place[1]]
    assert len(placed) == len(run.rows) - run.num_failed
    assert run.num_failed > 0  # more was asked for than there is


def test_fragmentation_is_that_of_the_cluster_after_each_arrival(data: OpenbData) -> None:
    workload = data.recorded("gpuspec33", 43)
    typical = TypicalPods.of_pods(workload.pods)
    run = run_in_order(workload, policy_profile("FGD"), typical)
    again = OrderedCluster(workload, policy_profile("FGD"), typical, 0)
    pods = {pod.metadata.name: pod for pod in workload.pods}
    seen = []
    for name in run.names:
        if "-tuned-" in name:
            break
        pod = pods[name]
        again.place(replace(pod, metadata=replace(pod.metadata, uid=name)))
        seen.append(again.fragmentation.total)
    assert len(seen) == len(workload.pods)
    assert run.frag[: len(seen)].tolist() == pytest.approx(seen, rel=1e-12)


def test_the_same_seed_gives_the_same_run(data: OpenbData) -> None:
    workload = data.drawn("default", 7, 1.1)
    runs = [list(run_in_order(workload, policy_profile("Random", seed)).placements()) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_ties_go_to_the_node_that_is_listed_first(data: OpenbData) -> None:
    workload = data.recorded("default", 42)
    first = next(
        number
        for number, pod in enumerate(workload.pods)
        if "alibabacloud.com/gpu-milli" not in pod.metadata.annotations
    )
    workload.order[0] = first  # GpuClustering scores all nodes alike for a pod without GPU
    run = run_in_order(workload, policy_profile("GpuClustering"))
    assert run.rows[0] == 0
    assert run.nodes[0] == workload.nodes[0].metadata.name


def test_what_cannot_be_run_is_told(data: OpenbData, tmp_path: Path) -> None:
    assert data.missing("default", 42) == ""
    assert "has no column seed44" in data.missing("default", 44)
    assert "no openb_pod_list_other.csv" in data.missing("other", 42)
    with pytest.raises(DecodeError, match="it has default, gpuspec33"):
        data.pods("other")
    with pytest.raises(DecodeError, match=r"there is no such folder; the openb trace is at https://github.com/alibaba"):
        OpenbData(tmp_path / "nowhere").pods("default")
    with pytest.raises(DecodeError, match=r"has no openb_node_list_gpu_node.csv"):
        OpenbData(tmp_path).nodes()
    order = tmp_path / "mine.csv"
    order.write_text("pod\nopenb-pod-0001\nopenb-pod-9999\n")
    with pytest.raises(DecodeError, match=r"mine.csv:3: names pod 'openb-pod-9999', which is not in the list"):
        data.from_file("default", 1, order)


def test_configurations_can_be_written_down() -> None:
    assert policy_config("Random", 3)["profiles"][0]["pluginConfig"] == [
        {"name": "GpuShare", "args": {"deviceChoice": "random", "seed": 3}},
        {"name": "Random", "args": {"seed": 3}},
    ]
    assert policy_profile("PWR+FGD").weights == {"PWR": 500, "FGD": 500}
    assert policy_profile("FGD").points["postFilter"] == ()


@needs_real
@pytest.mark.slow
def test_a_published_run_is_reproduced_device_by_device() -> None:
    workload = OpenbData(REAL / "openb").recorded("default", 42)
    run = run_in_order(workload, policy_profile("FGD"))
    found = compare_placements(REAL / "openb-expected" / "placements_default_FGD_seed42.csv.gz", run)
    assert found.num_arrivals == 10_866
    assert found.difference is None
    assert run.num_failed == 2_532
    assert run.causes.round(-1).tolist() == [138430, 85860, 1230, 27280, 6060, 33730, 0]

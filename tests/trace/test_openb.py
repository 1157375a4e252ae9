"""The openb CSVs, on small files that look like them; and on the real ones where they are at hand."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DecodeError, Pod, pod_requests
from fairway.trace import OpenbOptions, Workload, read_openb

NODES = """sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,64000,262144,2,P100
openb-node-0001,32500,262144,0,
"""
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = f"""{HEADER}
openb-pod-0000,12000,16384,1,1000,,LS,Running,100,1100,150
openb-pod-0001,6000,12288,1,460,V100M16|V100M32,BE,Failed,400,500,410
openb-pod-0002,2000,0,0,0,,Burstable,Succeeded,200,210,200
openb-pod-0003,8000,30517,8,1000,,Guaranteed,Pending,90000,90050,
"""
REAL = Path(__file__).parents[3] / "shared" / "traces" / "openb"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the openb trace is not beside the checkout")


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    (tmp_path / "nodes.csv").write_text(NODES)
    return tmp_path / "nodes.csv"


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    (tmp_path / "pods.csv").write_text(PODS)
    return tmp_path / "pods.csv"


def by_name(load: Workload) -> dict[str, Pod]:
    return {one.object.metadata.name: one.object for one in load.arrivals}


def test_nodes(nodes: Path) -> None:
    load = read_openb(nodes)
    gpu, plain = load.nodes
    assert gpu.metadata.labels["alibabacloud.com/gpu-card-model"] == "P100"
    assert {name: amount.text for name, amount in gpu.status.allocatable.items()} == {
        "cpu": "64",
        "memory": "256Gi",
        "pods": "1001",
        "alibabacloud.com/gpu-count": "2",
        "alibabacloud.com/gpu-milli": "2000",
    }
    assert gpu.status.capacity == gpu.status.allocatable
    assert "alibabacloud.com/gpu-card-model" not in plain.metadata.labels
    assert set(plain.status.allocatable) == {"cpu", "memory", "pods"}
    assert plain.status.allocatable["cpu"].milli == 32500
    assert (load.num_arrivals, list(load.arrivals), load.problems) == (0, [], [])


def test_pods_in_recorded_time(nodes: Path, pods: Path) -> None:
    load = read_openb(nodes, pods)
    assert [(one.time, one.object.metadata.name[-1]) for one in load.arrivals] == [
        (0, "0"),
        (100, "2"),
        (300, "1"),
        (89900, "3"),
    ]
    made = by_name(load)
    first = made["openb-pod-0000"]
    assert first.metadata.namespace == "paib-gpu"
    assert first.metadata.annotations == {
        "alibabacloud.com/gpu-milli": "1000",
        "alibabacloud.com/gpu-count": "1",
        "fairway.dev/qos": "LS",
        "fairway.dev/duration": "950",
    }
    assert pod_requests(first) == {"cpu": 12000, "memory": 16384 * 2**20}
    (container,) = first.spec.containers
    assert container.resources.limits == container.resources.requests
    assert first.spec.restart_policy == "Never"
    failed = made["openb-pod-0001"].metadata.annotations
    assert failed["alibabacloud.com/gpu-card-model"] == "V100M16|V100M32"
    assert failed["fairway.dev/fail-after"] == "90"
    assert "fairway.dev/duration" not in failed
    assert made["openb-pod-0002"].metadata.annotations == {"fairway.dev/qos": "Burstable", "fairway.dev/duration": "10"}
    assert pod_requests(made["openb-pod-0002"]) == {"cpu": 2000}
    assert made["openb-pod-0003"].metadata.annotations["fairway.dev/duration"] == "50"
    assert load.num_arrivals == 4


@pytest.mark.parametrize(
    ("options", "times"),
    [
        pytest.param(OpenbOptions(compression=100), [0, 1, 3, 899], id="compressed"),
        pytest.param(OpenbOptions(longest_gap=150), [0, 100, 250, 400], id="long gaps shortened"),
        pytest.param(OpenbOptions(longest_gap=150, compression=10), [0, 10, 25, 40], id="both"),
        pytest.param(OpenbOptions(pending=False), [0, 100, 300], id="without pending pods"),
        pytest.param(OpenbOptions(times="order", interval=2), [0, 2, 4, 6], id="order"),
    ],
)
def test_time_options(pods: Path, options: OpenbOptions, times: list[float]) -> None:
    load = read_openb(None, pods, options)
    assert [one.time for one in load.arrivals] == pytest.approx(times)
    assert load.num_arrivals == len(times)


def test_order_is_the_order_of_the_file_and_forever(pods: Path) -> None:
    load = read_openb(None, pods, OpenbOptions(times="order"))
    assert [one.object.metadata.name[-1] for one in load.arrivals] == list("0123")
    assert not any("fairway.dev/duration" in made.metadata.annotations for made in by_name(load).values())


def test_devices_as_a_resource(pods: Path) -> None:
    made = by_name(read_openb(None, pods, OpenbOptions(gpu_requests=True)))
    assert pod_requests(made["openb-pod-0003"])["alibabacloud.com/gpu-milli"] == 8000
    affinity = made["openb-pod-0001"].spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    assert required.node_selector_terms[0].match_expressions[0].values == ("V100M16", "V100M32")
    assert made["openb-pod-0000"].spec.affinity is None


def test_pods_of_one_shape_share_one_spec(tmp_path: Path) -> None:
    rows = "\n".join(f"p{index},1000,1024,1,500,,LS,Running,{index},{index + 5},{index}" for index in range(9))
    (tmp_path / "pods.csv").write_text(f"{HEADER}\n{rows}\n")
    specs = [one.object.spec for one in read_openb(None, tmp_path / "pods.csv").arrivals]
    assert all(spec is specs[0] for spec in specs)


def test_a_list_of_five_columns_has_an_order_only(tmp_path: Path) -> None:
    (tmp_path / "pods.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,1,0,0\n")
    with pytest.raises(DecodeError, match=r"pods.csv:1: the header lacks creation_time.* with times: order"):
        read_openb(None, tmp_path / "pods.csv")
    assert read_openb(None, tmp_path / "pods.csv", OpenbOptions(times="order")).num_arrivals == 1


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        pytest.param("p,1000,1,0,0", "has 5 cells, where the header has 11", id="short"),
        pytest.param("p,1k,1,0,0,,LS,Running,1,2,1", "cpu_milli must be a whole number, not '1k'", id="no number"),
        pytest.param("p,-5,1,0,0,,LS,Running,1,2,1", "cpu_milli must be a whole number, not '-5'", id="negative"),
        pytest.param("p,1,1,1,1001,,LS,Running,1,2,1", "gpu_milli must be from 1 to 1000", id="too much of a device"),
        pytest.param("p,1,1,2,500,,LS,Running,1,2,1", "gpu_milli must be 1000 for 2 devices", id="two halves"),
        pytest.param("p,1,1,0,0,,LS,Running,9,2,1", "created at 9, scheduled at 1, deleted at 2", id="backwards"),
        pytest.param("P Q,1,1,0,0,,LS,Running,1,2,1", "name 'P Q'", id="no name"),
        pytest.param("openb-pod-0000,1,1,0,0,,LS,Running,1,2,1", "is there twice; first in line 2", id="twice"),
        pytest.param('"p,1,1,0,0,,LS,Running,1,2,1', "is not a row of CSV", id="open quote"),
    ],
)
def test_a_wrong_row_is_reported_and_the_rest_kept(tmp_path: Path, row: str, problem: str) -> None:
    file = tmp_path / "pods.csv"
    lines = PODS.splitlines()
    file.write_text("\n".join([*lines[:2], row, *lines[2:]]) + "\n")
    load = read_openb(None, file)
    assert load.num_arrivals == 4
    (text,) = load.problems
    assert text.startswith(f"{file}:3: ")
    assert problem in text
    with pytest.raises(DecodeError, match=r"pods.csv:3: "):
        read_openb(None, file, strict=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param(NODES, "the header lacks name, num_gpu", id="a node list"),
        pytest.param("\x1b[2J\x07\n", "the header lacks name.*; it has [^\x1b]*$", id="bytes"),
        pytest.param(HEADER, "holds no row that can be used, only a header", id="header only"),
        pytest.param(f"{HEADER}\nx\n", "holds no row that can be used; the first problem: .*pods.csv:2", id="no row"),
        pytest.param(f"name,{HEADER}\n", "the header names 'name' twice", id="column twice"),
    ],
)
def test_files_of_no_use_are_errors(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "pods.csv").write_text(text)
    with pytest.raises(DecodeError, match=problem):
        read_openb(None, tmp_path / "pods.csv")


def test_gzip_and_truncated_gzip(tmp_path: Path) -> None:
    rows = "\n".join(f"p{index},1000,{index},1,500,,LS,Running,{index},{index + 5},{index}" for index in range(5000))
    data = gzip.compress(f"{HEADER}\n{rows}\n".encode())
    (tmp_path / "pods.csv.gz").write_bytes(data)
    load = read_openb(None, tmp_path / "pods.csv.gz")
    assert (load.num_arrivals, load.name) == (5000, "pods")
    (tmp_path / "pods.csv.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DecodeError, match=r"pods.csv.gz: is cut off: the compressed data ends after line \d+"):
        read_openb(None, tmp_path / "pods.csv.gz")


def test_progress_is_over_both_files(nodes: Path, pods: Path) -> None:
    told: list[float] = []
    read_openb(nodes, pods, progress=told.append)
    assert sum(told) == pytest.approx(1)


cell = st.one_of(st.integers(-5, 10**6).map(str), st.sampled_from(["", "LS", '"', "p-1", "p-2", "1.0", "٣", "nan"]))
junk = st.one_of(st.lists(cell, max_size=13).map(",".join), st.text(max_size=30))


@given(st.lists(junk, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_any_text_is_a_workload_or_a_decode_error(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], end: str
) -> None:
    file = tmp_path_factory.mktemp("fuzz") / "pods.csv"
    file.write_text(end.join([HEADER, "p-0,1,1,0,0,,LS,Running,1,2,1", *rows]), newline="", errors="replace")
    load = read_openb(None, file)
    arrivals = list(load.arrivals)
    assert len(arrivals) == load.num_arrivals
    assert [one.time for one in arrivals] == sorted(one.time for one in arrivals)
    assert all(text.startswith(f"{file}:") for text in load.problems)
    names = [one.object.metadata.name for one in arrivals]
    assert len(names) == len(set(names))


@needs_real
def test_real_node_lists() -> None:
    load = read_openb(REAL / "openb_node_list_all_node.csv", strict=True)
    gpus = [node for node in load.nodes if "alibabacloud.com/gpu-count" in node.status.allocatable]
    assert (len(load.nodes), len(gpus)) == (1523, 1213)
    assert sum(node.status.allocatable["alibabacloud.com/gpu-count"].value for node in gpus) == 6212
    assert sum(node.status.allocatable["cpu"].milli for node in gpus) == 107_018_000


@needs_real
@pytest.mark.parametrize(
    ("name", "times", "num_pods", "gpu_milli"),
    [
        ("default", "recorded", 8152, 6_086_800),
        ("gpushare100", "recorded", 8152, 3_952_670),
        ("multigpu50", "order", 9061, 11_358_800),
    ],
)
def test_real_pod_lists(name: str, times: str, num_pods: int, gpu_milli: int) -> None:
    options = OpenbOptions(times="order" if times == "order" else "recorded")
    load = read_openb(None, REAL / f"openb_pod_list_{name}.csv", options, strict=True)
    asked = [one.object.metadata.annotations for one in load.arrivals]
    assert len(asked) == load.num_arrivals == num_pods
    total = sum(
        int(said["alibabacloud.com/gpu-milli"]) * int(said["alibabacloud.com/gpu-count"])
        for said in asked
        if "alibabacloud.com/gpu-count" in said
    )
    assert total == pytest.approx(gpu_milli, abs=10)  # published in whole devices to two places

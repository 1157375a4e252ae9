"""The synthetic look-alike of the openb trace."""

from pathlib import Path

import pytest

from fairway.model.device_need import device_need
from fairway.trace import read_openb
from fairway.trace.openb_lookalike import write_lookalike


def test_files_are_read_like_the_real_ones(tmp_path: Path) -> None:
    files = {path.name: path for path in write_lookalike(tmp_path, num_nodes=30, num_pods=200)}
    nodes = read_openb(files["openb_node_list_gpu_node.csv"], strict=True).nodes
    assert len(nodes) == 30
    assert {node.metadata.labels["alibabacloud.com/gpu-card-model"] for node in nodes} >= {"G2", "T4", "P100"}
    for name, is_particular in (("default", False), ("gpuspec33", True)):
        load = read_openb(None, files[f"openb_pod_list_{name}.csv"], strict=True)
        needs = [device_need(one.object) for one in load.arrivals]
        assert len(needs) == 200
        assert any(need is None for need in needs)
        assert any(need is not None and need.is_share for need in needs)
        assert any(need is not None and need.count > 1 for need in needs)
        assert any(need is not None and need.models for need in needs) == is_particular


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_lookalike(tmp_path / "a", seed=3)]
    assert first == [path.read_bytes() for path in write_lookalike(tmp_path / "b", seed=3)]
    assert first != [path.read_bytes() for path in write_lookalike(tmp_path / "c", seed=4)]


def test_it_needs_somebody(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs nodes and pods"):
        write_lookalike(tmp_path, num_pods=0)

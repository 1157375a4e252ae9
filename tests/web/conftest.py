"""A server of five runs for the tests of the API: busy, slow, with queues, with GPUs, with hostile names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.testing import node, pod
from fairway.trace.openb_lookalike import write_lookalike
from tests.explain.queues.queue_runs import queue_run
from tests.explain.run_files import SLOW, busy_run
from tests.record.runs import lives
from tests.web.served import Served, served

HOSTILE = ("<img src=x onerror=alert(1)>", "'; DROP TABLE pods; --", 'a\u202eb%2F..%2f"&?#', "n" * 253)
"""Names of nodes, pods and owners in the run `hostile`."""
GPU_CONFIG = {
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "GpuShare"}, {"name": "FGD"}]},
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "FGD"}]},
            }
        }
    ]
}


def gpu_run(folder: Path) -> str:
    """Six nodes with GPUs, sixty pods; with what plugins took, and the best three nodes."""
    write_lookalike(folder, num_nodes=6, num_pods=60)
    spec = {
        "cluster": {"openb": {"nodes": "openb_node_list_gpu_node.csv"}},
        "workload": {"openb": {"pods": "openb_pod_list_gpuspec33.csv", "load": 0.6}},
        "schedulers": [{"config": GPU_CONFIG}],
        "record": {"pluginTimes": True, "scores": 3},
    }
    file = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    simulate(decode_scenario(file, str(folder / "scenario.yaml")), record=folder / "gpu.duckdb")
    return str(folder / "gpu.duckdb")


def hostile_run(folder: Path) -> str:
    """Names that would be markup, SQL, paths."""
    rows = [(pod(name, cpu=1), name, 0.0, 1.0, None) for name in HOSTILE]
    path = folder / "hostile.duckdb"
    lives(path, [node(name, cpu=4) for name in HOSTILE], *rows, end=10.0).close()
    return str(path)


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "slow").mkdir()
    slow = Path(busy_run(folder / "slow", SLOW)).rename(folder / "slow.duckdb")
    paths = [busy_run(folder), str(slow), queue_run(folder), gpu_run(folder), hostile_run(folder)]
    with served(paths) as server:
        yield server

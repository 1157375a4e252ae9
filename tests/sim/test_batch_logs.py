"""Two logs of some five thousand jobs each through the whole engine: pods, queues, the cycle and kubelets.

Every start is that of independent simulators. Where nobody passes anybody, later jobs change nothing for earlier ones:
of the long queue of one log the first two thousand are enough here; `fairway conformance --slurm` plays all of it. The
logs are not part of this project: they are read where they lie, beside the checkout, and where they do not, this is
skipped.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from fairway.cluster import Event
from fairway.model import Pod
from fairway.record import NullRecorder
from fairway.record.options import NOTHING
from fairway.scenario.scenario import decode_scenario
from fairway.sim.simulation import Simulation
from tests.plan.pool_log import read_starts

LOGS = Path(__file__).parents[3] / "shared" / "batch"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="the logs (shared/batch) are not beside this checkout")

PLAIN = {"age": 0, "size": 0, "fairShare": 0, "queue": 0, "class": 0}


def scenario(log: Path, discipline: str, ties: str) -> dict[str, Any]:
    queue = {"discipline": discipline, "weights": PLAIN, "limits": {"max": "1000d", "killGrace": "0s"}}
    batch = {"queues": {"all": queue}, "ties": ties, "horizon": "10000d", "maxJobs": 1_000_000}
    swf = {"file": str(log), "machine": "pool", "queues": {"*": "all"}}
    return {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {
            "batch": batch,
            "workload": [{"swf": swf}],
            "kubelet": {"startLatency": "0s", "terminationLatency": "0s"},
        },
    }


def starts_of(tree: dict[str, Any]) -> dict[str, float]:
    """When each pod was bound, by the number of its job."""
    simulation = Simulation(decode_scenario(tree, "test").plan(), NullRecorder(), NOTHING)
    starts: dict[str, float] = {}

    def watch(event: Event) -> None:
        pod = event.object
        if isinstance(pod, Pod) and pod.spec.node_name:
            starts.setdefault(pod.metadata.name.removeprefix("job-"), simulation.timeline.now())

    simulation.api.watch(watch)
    assert simulation.run().waiting == 0
    return starts


@needs_logs
@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "policy", "discipline", "ties", "most"),
    [
        ("sdsc-sp2-5k", "fcfs", "fifo", "ends-first", None),
        ("lublin-256-5k", "fcfs", "fifo", "ends-first", 2000),
        ("sdsc-sp2-5k", "easy", "easy", "each", None),
        ("lublin-256-5k", "easy", "easy", "ends-first", None),
        ("sdsc-sp2-5k", "conservative", "conservative", "each", None),
    ],
)
def test_every_start_of_a_log_is_as_expected(
    tmp_path: Path, log: str, policy: str, discipline: str, ties: str, most: int | None
) -> None:
    """`most`: so many jobs of it, from the beginning."""
    lines = gzip.decompress((LOGS / "swf" / f"{log}.swf.gz").read_bytes()).decode().splitlines()
    header = [line for line in lines if line.startswith(";")]
    jobs = [line for line in lines if line and not line.startswith(";")][:most]
    file = tmp_path / f"{log}.swf"
    file.write_text("\n".join((*header, *jobs, "")))
    first = min(float(line.split()[1]) for line in jobs)
    expected = read_starts(LOGS / "swf-expected" / f"{log}.{policy}.starts.gz")
    found = starts_of(scenario(file, discipline, ties))
    numbers = {line.split()[0] for line in jobs}
    assert found == {job: start - first for job, start in expected.items() if job in numbers}

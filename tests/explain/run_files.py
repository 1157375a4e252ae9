"""A run for the tests of what is asked about runs: a small cluster under pressure, with evictions and a slow scheduler.

In: a folder, and how fast the scheduler is. Out: the recorded run, in which `default/never-huge-0` waits to the end.
"""

import tempfile
from functools import cache
from pathlib import Path

from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate

SCENARIO = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {{name: busy}}
spec:
  seed: 4
  end: 30m
  cluster:
    nodes: [{{name: "n-{{}}", count: 5, cpu: 4, memory: 16Gi, zones: 2}}]
  workload:
    - synthetic:
        name: low
        arrivals: {{pattern: poisson, count: 60, over: 20m}}
        classes: [{{name: s, cpu: 1, memory: 2Gi, duration: {{kind: exponential, mean: 6m}}}}]
    - synthetic:
        name: high
        arrivals: {{pattern: poisson, count: 8, over: 20m}}
        classes: [{{name: b, cpu: 3, memory: 2Gi, duration: 5m, priority: 100}}]
    - synthetic:
        name: never
        arrivals: {{pattern: poisson, count: 1, over: 1m}}
        classes: [{{name: huge, cpu: 6, memory: 2Gi, duration: 5m, priority: -1}}]
  schedulers:
    - {scheduler}
  record: {{decisions: {decisions}}}
"""

QUICK = "{name: default-scheduler}"
SLOW = "{name: default-scheduler, decisionLatency: 500ms, bindLatency: 300ms}"
LATE = "{name: default-scheduler, decisionLatency: 500ms, bindLatency: 300ms, viewDelay: 200ms}"


def busy_run(folder: Path, scheduler: str = QUICK, decisions: str = "all") -> str:
    """A copy of that run; the file's name."""
    path = folder / "busy.duckdb"
    path.write_bytes(_simulated(scheduler, decisions))
    return str(path)


@cache
def _simulated(scheduler: str, decisions: str) -> bytes:
    """Once for all tests of this process."""
    text = SCENARIO.format(scheduler=scheduler, decisions=decisions)
    with tempfile.TemporaryDirectory(prefix="fairway-busy-") as folder:
        path = Path(folder) / "busy.duckdb"
        simulate(decode_scenario(text.encode(), "busy.yaml"), record=path)
        return path.read_bytes()

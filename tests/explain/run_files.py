"""A run for the tests of what is asked about runs: a small cluster under pressure, with evictions and a slow scheduler.

In: a folder, and how fast the scheduler is. Out: the recorded run, in which `default/never-huge-0` waits to the end.
"""

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
    """Simulate; the file's name."""
    path = folder / "busy.duckdb"
    text = SCENARIO.format(scheduler=scheduler, decisions=decisions)
    simulate(decode_scenario(text.encode(), "busy.yaml"), record=path)
    return str(path)

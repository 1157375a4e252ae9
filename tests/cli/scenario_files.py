"""A small scenario for the tests of `sim` and `compare`: two policies that differ, chance that differs by seed."""

from pathlib import Path

SCENARIO = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  seed: 4
  end: 2h
  cluster:
    nodes: [{name: "n-{}", count: 6, cpu: 8, memory: 32Gi}]
  workload:
    synthetic:
      name: load
      arrivals: {pattern: poisson, count: 120, over: 1h}
      classes:
        - {name: small, weight: 3, cpu: 1, memory: 2Gi, duration: {kind: exponential, mean: 10m}, users: 3}
        - {name: big, weight: 1, cpu: 6, memory: 8Gi, duration: 5m}
  policies:
    packed:
      config:
        profiles:
          - pluginConfig:
              - name: NodeResourcesFit
                args: {scoringStrategy: {type: MostAllocated}}
"""

POLICY = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated}}
"""


def small_scenario(folder: Path) -> Path:
    path = folder / "small.yaml"
    path.write_text(SCENARIO)
    return path

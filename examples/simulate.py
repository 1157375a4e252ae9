"""A cluster's morning under two policies: simulated, measured, and asked who waited.

Run it with `python examples/simulate.py`; it prints what simulate.txt shows.
"""

import numpy as np

import fairway

PACKED = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
SCENARIO = {
    "apiVersion": "fairway.dev/v1alpha1",
    "kind": "Scenario",
    "metadata": {"name": "morning"},
    "spec": {
        "seed": 1,
        "end": "3h",
        "cluster": {"nodes": [{"name": "node-{}", "count": 24, "cpu": 16, "memory": "64Gi", "zones": 3}]},
        "workload": {
            "synthetic": {
                "name": "job",
                "arrivals": {"pattern": "poisson", "count": 300, "over": "3h"},
                "classes": [
                    {"name": "small", "weight": 9, "cpu": 2, "memory": "4Gi", "duration": "1h"},
                    {"name": "whole", "weight": 1, "cpu": 15, "memory": "32Gi", "duration": "30m"},
                ],
            }
        },
        "policies": {
            "packed": {
                "config": {
                    "profiles": [
                        {
                            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": PACKED}}],
                            "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
                        }
                    ]
                }
            }
        },
    },
}

for policy in ("default", "packed"):
    run = fairway.simulate(SCENARIO, policy=policy)

    # Everything that `fairway sim` prints, and more.
    metrics = run.metrics()
    print(f"{policy}: {metrics.pods.placed} of {metrics.pods.created} pods placed, {metrics.attempts} attempts")
    print(f"  nodes used, on average  {metrics.nodes_used.mean:.1f}")
    print(f"  utilisation of CPU      {metrics.utilisation['cpu']:.1%}")

    # Each table as arrays; .pandas(), .polars() and .arrow() are there too.
    pods = run.pods.numpy("pod", "created_seconds", "bound_seconds")
    waits = pods["bound_seconds"] - pods["created_seconds"]  # NaN for those still waiting
    slowest = int(np.nanargmax(waits))
    print(f"  waited longest          {pods['pod'][slowest]}, {waits[slowest]:.0f} s")

    # Or any question, in SQL.
    small_and_whole = run.sql(
        """
        SELECT split_part(pod, '-', 2) AS kind, count(*) AS pods, avg(bound_seconds - created_seconds) AS wait
        FROM pods GROUP BY kind ORDER BY kind
        """
    )
    for row in small_and_whole.rows():
        print(f"  {row['kind']:<22}  {row['pods']} pods, waited {row['wait']:.1f} s on average")

    # Why did it wait? What its first attempt found, and what would have helped.
    if waits[slowest] > 0:
        print(f"\n{run.why(pods['pod'][slowest], attempt=1)}\n")

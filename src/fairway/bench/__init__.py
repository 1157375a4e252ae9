"""Is it fast? Workloads of the decision loop, and measuring it: decisions a second, latency, memory.

`workloads` makes them up, `measurement` runs them. The command `bench` prints; `benchmarks/` has floors.
"""

"""The engine on a virtual clock: a heap of events, and a world that answers bindings with events.

`simulate` runs a scenario. `timeline` is the kernel; `api_server` the truth; `kubelets`, `node_lifecycle` and
`controllers` what lives in the world; `sim_scheduler` connects the real scheduler to it.
"""

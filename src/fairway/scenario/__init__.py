"""Scenario files: a cluster, a workload, schedulers and what goes wrong, read strictly and made into a simulation.

`scenario` reads one and puts its parts together, `simulate` runs it. The other modules have a section each; `schema`
is the JSON Schema made from the types of `scenario_file`.
"""

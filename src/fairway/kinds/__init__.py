"""What makes pods, and which: Kubernetes' own controllers, and by a table all others.

`kind_table` reads the table of kinds (`kinds.yaml`, users' files, annotations of CRDs), `expansion` sorts objects of
kinds that Fairway does not decode, `custom_kinds` makes pods by the table, `old_versions` reads APIs that are gone,
`not_counted` names what may make pods and was not counted. Called by `fairway.explain.manifest_files` for the commands
`try` and `why`, and by `fairway.trace.other_kinds` for workloads of simulations.
"""

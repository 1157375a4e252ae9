"""What makes pods, and what of it is there already.

`kind_table` reads the table of kinds (`kinds.yaml`, users' files, annotations of CRDs), `custom_kinds` makes pods by
it, `old_versions` reads APIs that are gone, `not_counted` names what may make pods and was not counted, `there`
finds the pods that a controller has already, `rollout` says what a changed template replaces (`fairway.rehearsal`
plays it), `cluster_gaps` takes something for what a cluster's files leave out. Called by
`fairway.explain.manifest_files` for the commands `try` and `why`.
"""

"""What people give to be tried, and what of it is there already.

`inputs` reads files, folders and kustomizations, `there` finds the pods that a controller has already, `rollout` says
what a changed template replaces (`fairway.rehearsal` plays it), `cluster_gaps` takes something for what a cluster's
files leave out. Called by `fairway.explain.manifest_files` for the commands `try` and `why`; what makes which pods is
told by `fairway.kinds`.
"""

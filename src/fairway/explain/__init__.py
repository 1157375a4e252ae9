"""Why? Answers about one moment of a run, a live cluster or files: why here, why not there, what would fix it.

`trial` places pods as the scheduler would; `explanation` says why one is where it is, with the `funnel` of nodes and
the `fixes` that were tried; `run_answer`, `run_status` and `run_story` read a recorded run, `live_cluster` a real
one. Out come values and lines of text; printing is for `cli`, and pages are for those who serve them. What can not be
answered is a `fairway.model.UserError`: what, and what would help.
"""

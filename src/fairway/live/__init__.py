"""A real cluster: an API server and a wall clock.

In: list-and-watch streams, decoded into `fairway.model` values. Out: bindings, evictions, conditions, events, metrics.
`service` puts the parts together around `fairway.scheduler.Scheduler`; `cli/run.py` starts it. The only room that
knows what time it is.
"""

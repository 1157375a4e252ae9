"""Pods that belong together, on their way through the scheduler.

`pod_groups`: as kube-scheduler takes them along. `job_members`, `job_rules`, `job_attempts`: as one, in mode `fairway`.
"""

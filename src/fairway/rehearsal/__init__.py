"""What would happen in time: the simulation's controllers, kubelets and scheduler, on the cluster of a trial.

`claims` lets volumes be made and bound as they would be before a pod is looked at; `rollout_play` plays what a
controller does when its template changes, and `rollout_watch` looks on. Everything else about a trial is in
`fairway.explain`, which knows nothing of the simulator. Called by the commands `try` and `why`.
"""

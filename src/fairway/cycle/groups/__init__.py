"""One attempt for a whole group of pods: `pod_group_cycle` as kube-scheduler makes it."""

"""What a monitoring system may ask: kube-scheduler's metric families and ours, cheap to write to and to read."""

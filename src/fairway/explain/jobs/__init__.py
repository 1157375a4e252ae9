"""Questions about pods that belong together: why a job waits, whether it would fit, what would let it start."""

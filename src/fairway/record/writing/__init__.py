"""Writing a run: what a recorder is told becomes rows, and rows go, a chunk at a time, into the file of a run."""

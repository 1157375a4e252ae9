"""A scheduler at work as a run: what its stream tells, kept and asked."""

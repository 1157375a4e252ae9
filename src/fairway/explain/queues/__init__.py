"""Answers about jobs in queues, at any moment of a run: who waits and why, who starts when, who used how much."""

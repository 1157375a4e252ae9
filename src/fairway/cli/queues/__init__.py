"""Commands about jobs in queues: who waits, who starts when, who used how much."""

"""The process beside a scheduler that serves what it notes, and the socket between the two."""

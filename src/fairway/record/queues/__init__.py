"""What a run keeps of jobs in queues: where they stood, what they were told, planned and charged."""

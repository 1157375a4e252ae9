"""What is meant to happen with pods, and has not yet: who is held, promised a node, making room, to be tried again."""

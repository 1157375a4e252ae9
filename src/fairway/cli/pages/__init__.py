"""The command of the pages: recorded runs, and schedulers at work."""

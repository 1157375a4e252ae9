"""Fairway: a Kubernetes scheduler you program in Python, try on a trace, and run on a real cluster.

In: nothing. Out: the version, and a package that costs nothing to import: each room is imported by whoever needs it,
so that `fairway --help` answers at once. Start reading at `fairway.scheduler`; write plugins against `fairway.plugin`.
"""

__version__ = "0.1.0"

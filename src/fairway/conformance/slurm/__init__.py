"""Plans, shares and priorities that a real Slurm made, made again by `plan/` and `batch/`, and compared.

`cases` reads the recorded files, `planned_case` turns a case into a calendar and its jobs, the modules whose names end
in `_check` compare, `report` adds up and holds it against the bounds. Called by `fairway conformance --slurm` and the
tests.
"""

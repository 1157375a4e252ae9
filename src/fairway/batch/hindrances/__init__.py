"""What keeps a job from running that takes more than a look at the job: nodes too small, jobs before it, a date missed.

Each module answers one question for `standings`: could it ever run (`feasibility`), whom does it wait for
(`dependencies`), would it start too late (`lateness`).
"""

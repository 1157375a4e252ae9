"""What is said to somebody who may change a job neither as an operator nor as its owner.

In: the two refusals. Out: one problem with the right that is missing, whose exit code is that of any other. Called by
orders that both may give.
"""

from __future__ import annotations

from fairway.live.api.problems import Forbidden, LiveProblem

__all__ = ["neither"]


def neither(as_operator: Forbidden, as_owner: Forbidden) -> LiveProblem:
    """Neither the record nor what the job is made of may be written."""
    what = f"{as_operator.what}, nor {as_owner.target}"
    return LiveProblem(what, as_operator.why, f"as an operator, {as_operator.fix.removeprefix('allow it: ')}")

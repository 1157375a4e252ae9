"""When a Job's successPolicy says that it has succeeded.

In: the policy, and the indexes that have succeeded. Out: the first rule that holds. Called by the Job controller after
each success. Matches `pkg/controller/job/success_policy.go` of Kubernetes 1.36.
"""

from __future__ import annotations

from fairway.model.controllers import SuccessPolicy, SuccessPolicyRule
from fairway.sim.controllers.job_progress import parse_intervals

__all__ = ["first_rule"]


def first_rule(policy: SuccessPolicy, succeeded: set[int], completions: int) -> int | None:
    """The number of the first rule that holds; None if none does, as long as nothing has succeeded in any case."""
    if not succeeded:
        return None
    return next((number for number, rule in enumerate(policy.rules) if _holds(rule, succeeded, completions)), None)


def _holds(rule: SuccessPolicyRule, succeeded: set[int], completions: int) -> bool:
    count = rule.succeeded_count
    if rule.succeeded_indexes is None:
        return count is not None and len(succeeded) >= count
    wanted = {index for index in parse_intervals(rule.succeeded_indexes) if index < completions}
    if not wanted:
        return False
    done = len(wanted & succeeded)
    return done == len(wanted) or (count is not None and done >= count)

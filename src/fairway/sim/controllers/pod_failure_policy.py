"""What a Job's podFailurePolicy says about a pod that failed.

In: the policy and the pod. Out: the action of the first rule that matches, and a message. The simulation has no
container statuses: a pod that failed by itself ended with the exit code in its annotation `fairway.dev/exit-code`, 1
without one. Matches `pkg/controller/job/pod_failure_policy.go` of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairway.model import Pod
from fairway.model.controllers import PodFailurePolicy, PodFailurePolicyOnExitCodes
from fairway.trace.annotations import EXIT_CODE

__all__ = ["FailureVerdict", "judge"]


class FailureVerdict(NamedTuple):
    """What to do about a failure: "" (nobody says), Count, Ignore, FailIndex or FailJob; and why."""

    action: str
    message: str


COUNTED = FailureVerdict("", "")


def judge(policy: PodFailurePolicy | None, pod: Pod) -> FailureVerdict:
    """The verdict of the first rule that matches."""
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        if rule.on_exit_codes is not None:
            for container, code in _exit_codes(pod):
                if _matches(rule.on_exit_codes, container, code):
                    what = f"Container {container} for pod {pod.key} failed with exit code {code}"
                    return FailureVerdict(rule.action, f"{what} matching {rule.action} rule at index {number}")
            continue
        wanted = {(one.type, one.status or "True") for one in rule.on_pod_conditions}
        for condition in pod.status.conditions:
            if (condition.type, condition.status) in wanted:
                what = f"Pod {pod.key} has condition {condition.type}"
                return FailureVerdict(rule.action, f"{what} matching {rule.action} rule at index {number}")
    return COUNTED


def _exit_codes(pod: Pod) -> Iterator[tuple[str, int]]:
    """Containers that ended badly, and how."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    if statuses:
        for status in statuses:
            if status.state.terminated is not None and status.state.terminated.exit_code:
                yield status.name, status.state.terminated.exit_code
    elif pod.status.phase == "Failed" and not pod.status.reason and pod.spec.containers:
        text = pod.metadata.annotations.get(EXIT_CODE, "1")
        if text.isdigit() and int(text):
            yield pod.spec.containers[0].name, int(text)


def _matches(wanted: PodFailurePolicyOnExitCodes, container: str, code: int) -> bool:
    if wanted.container_name not in (None, container):
        return False
    return (code in wanted.values) == (wanted.operator == "In")

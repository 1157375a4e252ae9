"""What a policy says about failed pods."""

import msgspec
import pytest

from fairway.model import Container, Pod, PodCondition
from fairway.model.controllers import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodes,
    PodFailurePolicyOnPodCondition,
    PodFailurePolicyRule,
)
from fairway.model.pod import ContainerState, ContainerStateTerminated, ContainerStatus
from fairway.sim.controllers.pod_failure_policy import judge
from fairway.testing import pod


def failed(*, reason: str = "", condition: str = "", codes: dict[str, int] | None = None, note: str = "") -> Pod:
    made = pod("p", images=[Container(name="main"), Container(name="side")], phase="Failed")
    statuses = tuple(
        ContainerStatus(name=name, state=ContainerState(terminated=ContainerStateTerminated(exit_code=code)))
        for name, code in (codes or {}).items()
    )
    conditions = (PodCondition(type=condition, status="True"),) if condition else ()
    status = msgspec.structs.replace(made.status, reason=reason, conditions=conditions, container_statuses=statuses)
    notes = {"fairway.dev/exit-code": note} if note else {}
    meta = msgspec.structs.replace(made.metadata, annotations=notes)
    return msgspec.structs.replace(made, metadata=meta, status=status)


def code(action: str, *values: int, operator: str = "In", container: str | None = None) -> PodFailurePolicyRule:
    wanted = PodFailurePolicyOnExitCodes(operator=operator, values=values, container_name=container)
    return PodFailurePolicyRule(action=action, on_exit_codes=wanted)


def condition(action: str, kind: str, status: str = "") -> PodFailurePolicyRule:
    return PodFailurePolicyRule(
        action=action, on_pod_conditions=(PodFailurePolicyOnPodCondition(type=kind, status=status),)
    )


CASES = {
    "no rules": ((), failed(), ""),
    "a code": ((code("FailJob", 3),), failed(codes={"main": 3}), "FailJob"),
    "another code": ((code("FailJob", 3),), failed(codes={"main": 4}), ""),
    "not this code": ((code("FailJob", 3, operator="NotIn"),), failed(codes={"main": 4}), "FailJob"),
    "a container that did well": ((code("Ignore", 3, operator="NotIn"),), failed(codes={"main": 0}), ""),
    "any container": ((code("Ignore", 3),), failed(codes={"main": 0, "side": 3}), "Ignore"),
    "that container": ((code("Ignore", 3, container="main"),), failed(codes={"side": 3}), ""),
    "the first rule that matches": (
        (code("Count", 9), code("Ignore", 3), code("FailJob", 3)),
        failed(note="3"),
        "Ignore",
    ),
    "a code by annotation": ((code("FailJob", 3),), failed(note="3"), "FailJob"),
    "1 without one": ((code("FailJob", 1),), failed(), "FailJob"),
    "no code if the kubelet rejected it": ((code("FailJob", 1),), failed(reason="OutOfcpu"), ""),
    "a condition": ((condition("Ignore", "DisruptionTarget"),), failed(condition="DisruptionTarget"), "Ignore"),
    "another condition": ((condition("Ignore", "DisruptionTarget"),), failed(condition="Ready"), ""),
    "a condition that is not so": (
        (condition("Ignore", "DisruptionTarget", "False"),),
        failed(condition="DisruptionTarget"),
        "",
    ),
}


@pytest.mark.parametrize(("rules", "thing", "action"), CASES.values(), ids=CASES)
def test_the_verdict(rules: tuple[PodFailurePolicyRule, ...], thing: Pod, action: str) -> None:
    assert judge(PodFailurePolicy(rules=rules), thing).action == action


def test_without_a_policy_failures_count() -> None:
    assert judge(None, failed()).action == ""


def test_the_message_says_which_rule() -> None:
    rules = (condition("Ignore", "Other"), code("FailJob", 42))
    expected = "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 1"
    assert judge(PodFailurePolicy(rules=rules), failed(note="42")).message == expected

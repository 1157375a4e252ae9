"""Whose a pod is, and with whom it shares a node: its job, its user, and whether it wants nodes to itself.

In: a pod's annotations, group, controller and namespace. Out: its `Tenant`, and `are_foreign`, the one rule by which
exclusive nodes are judged: pods of one job may be together, so may pods of one user that say `exclusive: user`, and
nobody else where either wants the node to itself. `cluster.tallies.tenants` counts them by row, for `ExclusiveNode`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from fairway.model.field_problem import shown
from fairway.model.group import (
    FAIRWAY,
    KOORDINATOR,
    START_TOGETHER,
    VOLCANO_NAMES,
    GroupKey,
    GroupReading,
    membership,
)
from fairway.model.names import label_value_problem
from fairway.model.pod import Pod

__all__ = [
    "EXCLUSIVE",
    "GROUP_ANNOTATIONS",
    "MIRROR",
    "ONE_PER_NODE",
    "USER",
    "Scope",
    "Tenant",
    "are_foreign",
    "exclusive_scope",
    "group_of",
    "is_aside",
    "is_lone",
    "job_name",
    "job_of",
    "job_uid",
    "one_per_node",
    "tenant_of",
    "user_of",
]

EXCLUSIVE: Final = "fairway.dev/exclusive"
ONE_PER_NODE: Final = "fairway.dev/gang-one-per-node"
USER: Final = "fairway.dev/user"
MIRROR: Final = "kubernetes.io/config.mirror"
"""What the API server's copies of static pods have; their kubelet runs them, whoever else is there."""

Scope = Literal["", "node", "user"]
"""With whom a pod shares its node: with anybody; with its own job; with jobs of its user that say so too."""

GROUP_ANNOTATIONS: Final = (f"{FAIRWAY}gang", *VOLCANO_NAMES, f"{KOORDINATOR}name", START_TOGETHER)
"""Annotations by which a pod may say which group it belongs to; labels and its spec may say so, too."""

AS_PODS_SAY: Final = GroupReading()
SCOPES: Final[Mapping[str, Scope]] = {"node": "node", "user": "user"}
SWITCHES: Final = {"true": True, "false": False}
JOBS: Final = uuid.UUID("0d6f4b3c-6f0e-5c59-9f0a-6b2f6d1c8f11")
"""Under this, names of jobs that have no uid are made into one."""


class Tenant(NamedTuple):
    """What matters about a pod to those who might be on its node."""

    scope: Scope
    user: str
    job: str


def group_of(pod: Pod) -> GroupKey | None:
    """The group that the pod itself says it belongs to, in any spelling."""
    found = membership(pod, AS_PODS_SAY, _nobody_asks)
    return None if found is None else found.key


def _nobody_asks(pod: Pod) -> bool:
    """What a controller says may change while its pods stay; here pods alone are read."""
    return False


def job_of(pod: Pod) -> str:
    """What tells the pod's job from all others: its group, or else its controller, or else the pod itself."""
    if (group := group_of(pod)) is not None:
        return f"group {group}"
    meta = pod.metadata
    owner = meta.controller if meta.owner_references else None
    return f"uid {meta.uid if owner is None else owner.uid or f'{meta.namespace}/{owner.kind}/{owner.name}'}"


def is_lone(pod: Pod) -> bool:
    """Is the pod a job by itself?"""
    return pod.metadata.controller is None and group_of(pod) is None


def job_name(pod: Pod) -> str:
    """What people call the pod's job: `namespace/name` of its group, its controller, or the pod."""
    if (group := group_of(pod)) is not None:
        return str(group)
    owner = pod.metadata.controller
    return f"{pod.metadata.namespace}/{pod.metadata.name if owner is None else owner.name}"


def job_uid(job: str) -> str:
    """A job as a label value: the uid of what it is named after, or one made from its name."""
    kind, _, name = job.partition(" ")
    return name if kind == "uid" and label_value_problem(name) is None else str(uuid.uuid5(JOBS, job))


def user_of(annotations: Mapping[str, str], namespace: str) -> str:
    """Whose pods these are; users who are named are told from namespaces of the same name."""
    return f"user {named}" if (named := annotations.get(USER)) else f"namespace {namespace}"


def exclusive_scope(annotations: Mapping[str, str]) -> tuple[Scope, str]:
    """What `fairway.dev/exclusive` says, and what is wrong with it, if anything is."""
    text = annotations.get(EXCLUSIVE)
    if text is None or text in SCOPES:
        return SCOPES.get(text or "", ""), ""
    return "", f"the pod's {EXCLUSIVE} is {shown(text)}; allowed: node, user"


def one_per_node(annotations: Mapping[str, str]) -> tuple[bool, str]:
    """What `fairway.dev/gang-one-per-node` says, and what is wrong with it, if anything is."""
    text = annotations.get(ONE_PER_NODE, "false")
    if text in SWITCHES:
        return SWITCHES[text], ""
    return False, f'the pod\'s {ONE_PER_NODE} is {shown(text)}; allowed: "true", "false"'


def is_aside(pod: Pod) -> bool:
    """Does it belong to the node, so that nobody minds it: of a DaemonSet, or the copy of a static pod?"""
    meta = pod.metadata
    owner = meta.controller if meta.owner_references else None
    return (owner is not None and owner.kind == "DaemonSet") or MIRROR in meta.annotations


def tenant_of(pod: Pod) -> Tenant:
    """The pod as others on its node see it; an `exclusive` that makes no sense is none."""
    annotations, namespace = pod.metadata.annotations, pod.metadata.namespace
    return Tenant(exclusive_scope(annotations)[0], user_of(annotations, namespace), job_of(pod))


def are_foreign(one: Tenant, other: Tenant) -> bool:
    """Are they of different jobs, and not both of one user who shares?"""
    if one.job == other.job:
        return False
    return not (one.scope == other.scope == "user" and one.user == other.user)

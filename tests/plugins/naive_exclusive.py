"""Exclusive nodes once more, by a loop over the pods of a node; and worlds of pods that want nodes to themselves.

In: pods as API objects. Out: the words with which a pod is refused on a node, or None. Nothing of the program is used
but the objects. `tenant_situations` and `random_tenant` are for those who compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fairway.cluster import Event, Verb
from fairway.model import OwnerReference, Pod
from fairway.model.pod import PodSchedulingGroup
from fairway.testing import node, pod
from fairway.testing.situations import Dice, Situation

OTHERS = "node(s) had pods of others"
TAKEN = "node(s) were taken exclusively"
MEMBER = "node(s) had another member of the job"


def belongs_to_node(one: Pod) -> bool:
    by_daemon_set = any(owner.controller and owner.kind == "DaemonSet" for owner in one.metadata.owner_references)
    return by_daemon_set or "kubernetes.io/config.mirror" in one.metadata.annotations


def group(one: Pod) -> str:
    own = one.spec.scheduling_group
    if own is not None and own.pod_group_name:
        return str(own.pod_group_name)
    return one.metadata.labels.get("scheduling.x-k8s.io/pod-group") or one.metadata.annotations.get(
        "fairway.dev/gang", ""
    )


def same_job(one: Pod, other: Pod) -> bool:
    if one.metadata.uid == other.metadata.uid:
        return True
    gangs = [group(each) for each in (one, other)]
    if any(gangs):
        return gangs[0] == gangs[1] and one.metadata.namespace == other.metadata.namespace
    owners = [[ref.uid for ref in each.metadata.owner_references if ref.controller] for each in (one, other)]
    return bool(owners[0]) and owners[0] == owners[1]


def user(one: Pod) -> tuple[str, str]:
    named = one.metadata.annotations.get("fairway.dev/user", "")
    return ("user", named) if named else ("namespace", one.metadata.namespace)


def wants(one: Pod) -> str:
    return one.metadata.annotations.get("fairway.dev/exclusive", "")


def may_meet(one: Pod, other: Pod) -> bool:
    if same_job(one, other) or belongs_to_node(one) or belongs_to_node(other):
        return True
    if wants(one) == wants(other) == "user" and user(one) == user(other):
        return True
    return wants(one) not in ("node", "user") and wants(other) not in ("node", "user")


def naive_refusal(wanted: Pod, residents: Iterable[Pod]) -> str | None:
    """Why the pod may not be on a node with these pods."""
    there = list(residents)
    if not all(may_meet(wanted, other) for other in there):
        return OTHERS if wants(wanted) else TAKEN
    alone = wanted.metadata.annotations.get("fairway.dev/gang-one-per-node") == "true"
    if alone and not belongs_to_node(wanted):
        members = (other for other in there if not belongs_to_node(other))
        if any(same_job(wanted, other) for other in members if other.metadata.uid != wanted.metadata.uid):
            return MEMBER
    return None


# -- worlds ------------------------------------------------------------------------------------------------------------


def random_tenant(dice: Dice, name: str, node_name: str = "") -> Pod:
    """A pod of somebody, exclusive or not."""
    annotations = dict(
        filter(
            None,
            (
                ("fairway.dev/exclusive", dice.pick(("node", "user"))) if dice.flip(45) else None,
                ("fairway.dev/gang", dice.pick(("train", "eval"))) if dice.flip(40) else None,
                ("fairway.dev/user", dice.pick(("anna", "default"))) if dice.flip(40) else None,
                ("fairway.dev/gang-one-per-node", dice.pick(("true", "false"))) if dice.flip(25) else None,
                ("kubernetes.io/config.mirror", "abc") if node_name and dice.flip(8) else None,
            ),
        )
    )
    owner = None
    if dice.flip(50):
        kind = dice.pick(("Job", "Job", "StatefulSet", "DaemonSet"))
        owner = OwnerReference(
            api_version="batch/v1", kind=kind, name=dice.pick(("a", "b")), uid=dice.pick("123"), controller=True
        )
    return pod(
        name,
        namespace=dice.pick(("default", "ml")),
        labels={"scheduling.x-k8s.io/pod-group": dice.pick(("train", "sweep"))} if dice.flip(15) else {},
        scheduling_group=PodSchedulingGroup(pod_group_name="train") if dice.flip(15) else None,
        annotations=annotations,
        owner=owner,
        node=node_name,
        priority=dice.pick((0, 0, 10, 100)),
        cpu=dice.pick(("100m", "1", "3")),
        terminating=bool(node_name) and dice.flip(10),
    )


def tenant_situations(number: int, seed: int = 0) -> Iterator[Situation]:
    """Clusters with exclusive pods, pods to judge, and what happens next."""
    dice = Dice(np.random.default_rng(seed))
    for _ in range(number):
        names = [f"n{place}" for place in range(dice.pick((1, 2, 4)))]
        objects: list[Any] = [node(name) for name in names]
        placed = [random_tenant(dice, f"placed-{place}", dice.pick(names)) for place in range(dice.pick((0, 3, 8)))]
        events = [Event(Verb.DELETED, one) for one in placed[:2]]
        events.append(Event(Verb.ADDED, node("late")))
        events.append(Event(Verb.ADDED, random_tenant(dice, "late-pod", "late")))
        if len(placed) > 2:
            events.append(Event(Verb.MODIFIED, changed_tenant(dice, placed[2])))
        pods = [random_tenant(dice, f"judged-{place}") for place in range(3)]
        yield Situation([*objects, *placed], pods, events)


def changed_tenant(dice: Dice, one: Pod) -> Pod:
    """The same pod, still there, but somebody else's or otherwise exclusive."""
    other = random_tenant(dice, one.metadata.name, one.spec.node_name)
    return pod(
        one.metadata.name,
        namespace=one.metadata.namespace,
        labels=other.metadata.labels,
        scheduling_group=one.spec.scheduling_group,
        annotations=other.metadata.annotations,
        owner=other.metadata.owner_references[0] if other.metadata.owner_references else None,
        node=one.spec.node_name,
        priority=one.priority,
        cpu="1",
        terminating=one.is_terminating,
    )

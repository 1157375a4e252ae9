"""What a profile's plugins have to say about waiting: who may enter, which events help, who goes first.

`scheduler.py` makes one `QueueRules` a profile, from its plugins; `SchedulingQueue` takes them all. `admit` asks the
`pre_enqueue` of a pod's profile and writes the answer into the pod: `runPreEnqueuePlugins` in kube-scheduler 1.36's
backend/queue/scheduling_queue.go.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fairway.cluster.events import Change
from fairway.model import Pod
from fairway.plugin import Code, Hint, Plugin, Refusal, overrides
from fairway.queue.queued_group import QueuedGroup
from fairway.queue.queued_pod import QueuedPod, SortKey, priority_order

__all__ = ["DEFAULT_PROFILE", "GroupRules", "PreEnqueue", "QueueRules", "admit", "common_order", "profile_name"]

logger = logging.getLogger(__name__)

DEFAULT_PROFILE = "default-scheduler"
JOB_GATE = "GangScheduling"  # as kube-scheduler's plugin is called that keeps members out

PreEnqueue = Callable[[Pod], Refusal | None]


class GroupRules(Protocol):
    """What is to be known about jobs that wait."""

    max_backoff: float  # seconds

    def gate(self, entry: QueuedGroup) -> Refusal | None:
        """Why the job may not be tried yet; None: it may."""

    def priority(self, entry: QueuedGroup) -> int:
        """How important the job is."""

    def has_slot(self, entry: QueuedGroup, change: Change) -> bool:
        """Is there room now, where this happened, for the member that speaks for the job?"""


@dataclass(frozen=True, slots=True)
class QueueRules:
    """One profile's rules. Both mappings go by plugin name; `pre_enqueue` is asked in its order."""

    pre_enqueue: Mapping[str, PreEnqueue] = field(default_factory=dict)
    hints: Mapping[str, Sequence[Hint]] = field(default_factory=dict)
    sort_key: SortKey = priority_order
    groups: GroupRules | None = None  # None: pods are queued one by one

    @classmethod
    def of(cls, plugins: Iterable[Plugin], sort_key: SortKey = priority_order) -> QueueRules:
        """The rules of a profile with these plugins."""
        plugins = tuple(plugins)
        return cls(
            pre_enqueue={plugin.name: plugin.pre_enqueue for plugin in plugins if overrides(plugin, "pre_enqueue")},
            hints={plugin.name: tuple(plugin.events()) for plugin in plugins},
            sort_key=sort_key,
        )


def profile_name(pod: Pod) -> str:
    """The profile a pod asks for, with the API server's default."""
    return pod.spec.scheduler_name or DEFAULT_PROFILE


def common_order(rules: Mapping[str, QueueRules]) -> SortKey:
    """The one order of the queue. ValueError if profiles disagree: all their pods stand in one line."""
    orders = [one.sort_key for one in rules.values()]
    if not orders:
        raise ValueError("a scheduling queue needs at least one profile")
    if any(order != orders[0] for order in orders):
        raise ValueError(f"profiles must sort the queue alike, but these do not: {', '.join(sorted(rules))}")
    return orders[0]


def admit(queued: QueuedPod, rules: QueueRules) -> bool:
    """May the pod become active? If not, it is marked as gated by the first plugin that refuses it."""
    if type(queued) is QueuedGroup:
        return _admit_group(queued, rules)
    gates = rules.pre_enqueue
    if not gates:
        return True
    gating = queued.gating_plugin
    if gating in gates and _refuses(queued, gating, gates[gating]):  # most likely to refuse it again
        return False
    for name, pre_enqueue in gates.items():
        if name != gating and _refuses(queued, name, pre_enqueue):
            return False
    queued.gating_plugin = ""
    queued.refusal = None
    return True


def _admit_group(entry: QueuedGroup, rules: QueueRules) -> bool:
    """May the job be tried? Its members are asked about one by one; then it is about how many of them may."""
    entry.num_gated = sum(not admit(member, rules) for member in entry.members.values())
    assert rules.groups is not None
    refusal = rules.groups.gate(entry)
    entry.gating_plugin, entry.refusal = ("", None) if refusal is None else (JOB_GATE, refusal)
    if refusal is not None and entry.num_gated:  # whose gate is asked again when something helps it
        gated = next(member for member in entry.members.values() if member.is_gated)
        entry.gating_plugin = gated.gating_plugin
        entry.unschedulable_plugins |= {gated.gating_plugin}
        entry.let_speak(gated.pod)
    return refusal is None


def _refuses(queued: QueuedPod, name: str, pre_enqueue: PreEnqueue) -> bool:
    try:
        refusal = pre_enqueue(queued.pod)
    except Exception as error:
        # As kube-scheduler does upon an error: the pod is kept out, the others go on.
        logger.exception("%s: pre_enqueue of pod %s broke", name, queued.pod.key)
        refusal = Refusal((f"{type(error).__name__}: {error}",), Code.ERROR)
    if refusal is None:
        return False
    queued.gating_plugin = name
    queued.refusal = refusal
    if name not in queued.unschedulable_plugins:
        queued.unschedulable_plugins |= {name}
    return True

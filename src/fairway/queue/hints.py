"""Which event may help which pod.

In: the hints that every profile's plugins registered, and the cluster's `Change`s. Out: for a pod that plugins refused,
whether a change is worth another attempt, and how soon. `SchedulingQueue` asks for pods in its unschedulable pool, for
changes that a pod missed while in flight, and for a pod's own updates. kube-scheduler 1.36: `isPodWorthRequeuing` in
backend/queue/scheduling_queue.go, `MatchClusterEvents` in framework/types.go, `buildQueueingHintMap` in scheduler.go.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from fairway.cluster.events import EVERYTHING, Action, Change, ClusterEvent, Resource
from fairway.model import Pod
from fairway.plugin import Hint
from fairway.queue.labels import label
from fairway.queue.queued_pod import QueuedPod
from fairway.queue.rules import QueueRules

__all__ = ["EVERYTHING", "Hints", "Strategy", "judge_by"]

logger = logging.getLogger(__name__)

NODE_TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)

Helps = Callable[[Pod, Change], bool]
Checks = tuple[Helps, ...] | None  # None: any such event helps
PluginChecks = Mapping[str, Checks]


class Strategy(enum.Enum):
    """What a change is worth to a pod."""

    SKIP = "skip"  # nothing
    AFTER_BACKOFF = "after backoff"  # another attempt, once its backoff is over
    IMMEDIATELY = "immediately"  # the plugin that the pod waits for has called


SKIP, AFTER_BACKOFF, IMMEDIATELY = Strategy  # looking up a member of an enum is slow, and these are in the hot path


class Hints:
    """All profiles' hints, looked up by event."""

    def __init__(self, rules: Mapping[str, QueueRules]) -> None:
        self._registered = {
            profile: {plugin: _with_taints(hints) for plugin, hints in one.hints.items() if hints}
            for profile, one in rules.items()
        }
        self._by_event: dict[ClusterEvent, dict[str, PluginChecks]] = {}

    def concerned(self, event: ClusterEvent) -> Mapping[str, PluginChecks]:
        """Per profile, the plugins that want to hear of the event and what they check; only those that want to."""
        found = self._by_event.get(event)
        if found is None:
            found = {
                profile: checks
                for profile, plugins in self._registered.items()
                if (checks := _checks_of(plugins, event))
            }
            self._by_event[event] = found
        return found

    def judge(self, queued: QueuedPod, change: Change) -> Strategy:
        """What the change is worth to a pod that plugins refused."""
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return AFTER_BACKOFF
        if change.event == EVERYTHING:
            meant = change.new is None or (isinstance(change.new, Pod) and change.new.metadata.uid == queued.uid)
            return AFTER_BACKOFF if meant else SKIP
        checks = self.concerned(change.event).get(queued.profile)
        return SKIP if checks is None else judge_by(checks, queued, change)

    def judge_all(self, queued: QueuedPod, changes: Iterable[Change]) -> Strategy:
        """The most that any of the changes is worth."""
        best = SKIP
        for change in changes:
            strategy = self.judge(queued, change)
            if strategy is IMMEDIATELY:
                return strategy
            if strategy is AFTER_BACKOFF:
                best = strategy
                if not queued.pending_plugins:
                    return best
        return best


def judge_by(checks: PluginChecks, queued: QueuedPod, change: Change) -> Strategy:
    """What the change is worth to a pod, as these plugins of its profile check it."""
    refused, pending = queued.unschedulable_plugins, queued.pending_plugins
    if pending:
        for plugin, functions in checks.items():
            if plugin in pending and _helps(plugin, functions, queued, change):
                return IMMEDIATELY
    for plugin, functions in checks.items():
        if plugin in refused and _helps(plugin, functions, queued, change):
            return AFTER_BACKOFF
    return SKIP


def _with_taints(hints: Sequence[Hint]) -> tuple[Hint, ...]:
    """Who waits for new nodes also hears of taints that go away: a new node is often tainted at first."""
    actions = [hint.event.action for hint in hints if hint.event.resource is Resource.NODE]
    waits_for_nodes = any(action & Action.ADD for action in actions)
    hears_of_taints = any(action & Action.UPDATE_NODE_TAINT for action in actions)
    return (*hints, Hint(NODE_TAINT)) if waits_for_nodes and not hears_of_taints else tuple(hints)


def _checks_of(plugins: Mapping[str, Sequence[Hint]], event: ClusterEvent) -> dict[str, Checks]:
    found: dict[str, Checks] = {}
    for plugin, hints in plugins.items():
        wanted = [hint.helps for hint in hints if hint.event.covers(event)]
        if wanted:
            functions = tuple(helps for helps in wanted if helps is not None)
            found[plugin] = functions if len(functions) == len(wanted) else None
    return found


def _helps(plugin: str, functions: Checks, queued: QueuedPod, change: Change) -> bool:
    if functions is None:
        return True
    try:
        for helps in functions:
            if helps(queued.pod, change):
                return True
    except Exception:
        # As kube-scheduler: a hint that breaks must not leave the pod waiting for ever.
        logger.exception("%s: hint on %s for pod %s broke; trying the pod", plugin, label(change.event), queued.pod.key)
        return True
    return False

"""Who is next: active, backing off, unschedulable, gated and in-flight pods, as kube-scheduler keeps them.

`SchedulingQueue` is the door. It takes one `QueueRules` a profile and a clock, and hands out `QueuedPod`s; see
`scheduling_queue` for the story, `wakeups` and `hints` for what brings a pod back, `backoff` for how long it rests.
"""

from fairway.queue.labels import label
from fairway.queue.nominator import Nominations
from fairway.queue.places import Observer
from fairway.queue.queued_group import QueuedGroup
from fairway.queue.queued_pod import Pending, Place, QueuedPod, SortKey, priority_order
from fairway.queue.rules import DEFAULT_PROFILE, GroupRules, PreEnqueue, QueueRules, profile_name
from fairway.queue.scheduling_queue import SchedulingQueue
from fairway.queue.settings import Clock, QueueSettings

__all__ = [
    "DEFAULT_PROFILE",
    "Clock",
    "GroupRules",
    "Nominations",
    "Observer",
    "Pending",
    "Place",
    "PreEnqueue",
    "QueueRules",
    "QueueSettings",
    "QueuedGroup",
    "QueuedPod",
    "SchedulingQueue",
    "SortKey",
    "label",
    "priority_order",
    "profile_name",
]

"""One cycle: a profile of plugins, one pod, a decision.

`Profile` is made from a configuration; `Profile.decide` tells where a pod should go. `answers` caches what plugins say;
`pod_cycle` tells the story of one attempt.
"""

from fairway.cycle.decision import Decision, Outcome, Preemption, cut_message
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.extender import Extender, ExtenderError, Filtered, Victims
from fairway.cycle.guard import PluginError
from fairway.cycle.inspection import Inspection
from fairway.cycle.profile import Profile
from fairway.cycle.sampling import Sampling, TieBreak
from fairway.cycle.timing import PluginTimer, PluginTimes, Spent

__all__ = [
    "Decision",
    "Diagnosis",
    "Extender",
    "ExtenderError",
    "Filtered",
    "Inspection",
    "Outcome",
    "PluginError",
    "PluginTimer",
    "PluginTimes",
    "Preemption",
    "Profile",
    "Sampling",
    "Spent",
    "TieBreak",
    "Victims",
    "cut_message",
]

"""One cycle: a profile of plugins, one pod, a decision.

`Profile` is made from a configuration; `Profile.decide` tells where a pod should go. `placing` tells the story of one
pod from there to its node, `pod_cycle` that of one decision; `answers` caches what plugins say.
"""

from fairway.config.config_file import Sampling
from fairway.cycle.decision import Decision, Hold, Outcome, Preemption, Stop, cut_message
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.extender import Extender, ExtenderError, Filtered, Victims
from fairway.cycle.guard import PluginError
from fairway.cycle.inspection import Inspection
from fairway.cycle.placing import Placement
from fairway.cycle.profile import Profile
from fairway.cycle.sampling import TieBreak
from fairway.cycle.timing import PluginTimer, PluginTimes, Spent

__all__ = [
    "Decision",
    "Diagnosis",
    "Extender",
    "ExtenderError",
    "Filtered",
    "Hold",
    "Inspection",
    "Outcome",
    "Placement",
    "PluginError",
    "PluginTimer",
    "PluginTimes",
    "Preemption",
    "Profile",
    "Sampling",
    "Spent",
    "Stop",
    "TieBreak",
    "Victims",
    "cut_message",
]

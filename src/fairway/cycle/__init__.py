"""One cycle: a profile of plugins, one pod, a decision.

`Profile` is made from a configuration; `Profile.decide` tells where a pod should go. `config` reads
KubeSchedulerConfiguration; `answers` caches what plugins say; `pod_cycle` tells the story of one attempt.
"""

from fairway.cycle.config import ConfigError, Configuration, ProfileConfig, decode_configuration, default_configuration
from fairway.cycle.decision import Decision, Outcome, Preemption, cut_message
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.extender import Extender, ExtenderError, Filtered, Victims
from fairway.cycle.guard import PluginError
from fairway.cycle.inspection import Inspection
from fairway.cycle.plugin_entry import PluginEntry, Registry, implemented_points
from fairway.cycle.profile import Profile
from fairway.cycle.sampling import Sampling, TieBreak
from fairway.cycle.timing import PluginTimer, PluginTimes, Spent

__all__ = [
    "ConfigError",
    "Configuration",
    "Decision",
    "Diagnosis",
    "Extender",
    "ExtenderError",
    "Filtered",
    "Inspection",
    "Outcome",
    "PluginEntry",
    "PluginError",
    "PluginTimer",
    "PluginTimes",
    "Preemption",
    "Profile",
    "ProfileConfig",
    "Registry",
    "Sampling",
    "Spent",
    "TieBreak",
    "Victims",
    "cut_message",
    "decode_configuration",
    "default_configuration",
    "implemented_points",
]

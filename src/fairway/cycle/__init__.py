"""One cycle: a profile of plugins, one pod, a decision.

`Profile` is made from a configuration; `Profile.decide` tells where a pod should go. `config` reads
KubeSchedulerConfiguration; `answers` caches what plugins say; `pod_cycle` tells the story of one attempt.
"""

from fairway.cycle.config import ConfigError, Configuration, ProfileConfig, decode_configuration, default_configuration
from fairway.cycle.decision import Decision, Outcome, Preemption, cut_message
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.guard import PluginError
from fairway.cycle.inspection import Inspection
from fairway.cycle.plugin_entry import PluginEntry, Registry, implemented_points
from fairway.cycle.profile import Profile
from fairway.cycle.sampling import Sampling, TieBreak

__all__ = [
    "ConfigError",
    "Configuration",
    "Decision",
    "Diagnosis",
    "Inspection",
    "Outcome",
    "PluginEntry",
    "PluginError",
    "Preemption",
    "Profile",
    "ProfileConfig",
    "Registry",
    "Sampling",
    "TieBreak",
    "cut_message",
    "decode_configuration",
    "default_configuration",
    "implemented_points",
]

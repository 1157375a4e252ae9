"""KubeSchedulerConfiguration: read strictly, filled with kube-scheduler's defaults, and made into profiles' parts.

`decode_configuration` and `configuration.load_configuration` are the ways in; `fields` is the strict decoder, which
scenarios use too; `plugin_entry` is how plugins are registered and found, `plugin_folders` from where they may come.
"""

from fairway.config.configuration import (
    ConfigError,
    Configuration,
    ProfileConfig,
    decode_configuration,
    default_configuration,
)
from fairway.config.plugin_entry import PluginEntry, Registry, implemented_points

__all__ = [
    "ConfigError",
    "Configuration",
    "PluginEntry",
    "ProfileConfig",
    "Registry",
    "decode_configuration",
    "default_configuration",
    "implemented_points",
]

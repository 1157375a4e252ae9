"""Plugins that the section `fairway` of a profile asks for.

In: a profile as it is written. Out: the same with these plugins enabled and told what they need to know, as if a person
had listed them. Called by `configuration`, before plugins are selected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairway.config.config_file import KubeSchedulerProfile, PluginChoice, PluginConfig, Plugins

__all__ = ["with_own_plugins"]

EXCLUSIVE_NODE: Final = "ExclusiveNode"


def with_own_plugins(profile: KubeSchedulerProfile) -> KubeSchedulerProfile:
    """The profile with what its own section stands for."""
    own = profile.fairway
    if not own.exclusive:
        return profile
    if own.exclusive_guard != "none":
        profile = _told(profile, EXCLUSIVE_NODE, {"guard": own.exclusive_guard})
    return _with_plugin(profile, EXCLUSIVE_NODE)


def _with_plugin(profile: KubeSchedulerProfile, name: str) -> KubeSchedulerProfile:
    """Enabled wherever it takes part, unless the profile speaks of it itself."""
    if any(choice.name == name for choice in _enabled(profile.plugins)):
        return profile
    multi = profile.plugins.multi_point
    multi = msgspec.structs.replace(multi, enabled=(*multi.enabled, PluginChoice(name=name)))
    return msgspec.structs.replace(profile, plugins=msgspec.structs.replace(profile.plugins, multi_point=multi))


def _enabled(plugins: Plugins) -> list[PluginChoice]:
    sets = (getattr(plugins, field) for field in plugins.__struct_fields__)
    return [choice for each in sets for choice in each.enabled]


def _told(profile: KubeSchedulerProfile, name: str, args: Mapping[str, Any]) -> KubeSchedulerProfile:
    """Arguments joined to those that the profile gives the plugin; what is no mapping is left to be complained of."""
    entries = list(profile.plugin_config)
    for number, entry in enumerate(entries):
        if entry.name == name:
            if entry.args is None or isinstance(entry.args, dict):
                entries[number] = PluginConfig(name=name, args={**(entry.args or {}), **args})
            break
    else:
        entries.append(PluginConfig(name=name, args=dict(args)))
    return msgspec.structs.replace(profile, plugin_config=tuple(entries))

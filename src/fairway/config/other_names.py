"""Other names of plugins, under which configurations that exist already know them.

In: a profile as written. Out: the same with the plugins' own names, so that everything after this knows one name.
Called by `configuration` before anything is looked up.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from fairway.config.config_file import KubeSchedulerProfile, PluginChoice, Plugins, PluginSet

__all__ = ["OTHER_NAMES", "with_own_names"]

OTHER_NAMES: Final = {"CacheAwarePlugin": "DataLocality"}
"""The plugin of Datashim's example, which ours stands in for."""


def with_own_names(profile: KubeSchedulerProfile) -> KubeSchedulerProfile:
    """The profile, calling plugins by their own names; itself if it does."""
    configs = profile.plugin_config
    sets: dict[str, PluginSet] = {name: getattr(profile.plugins, name) for name in Plugins.__struct_fields__}
    named = {one.name for one in configs} | {
        choice.name for one in sets.values() for choice in (*one.enabled, *one.disabled)
    }
    if named.isdisjoint(OTHER_NAMES):
        return profile
    renamed = {
        name: PluginSet(enabled=_choices(one.enabled), disabled=_choices(one.disabled)) for name, one in sets.items()
    }
    return replace(
        profile,
        plugins=Plugins(**renamed),
        plugin_config=tuple(replace(one, name=OTHER_NAMES.get(one.name, one.name)) for one in configs),
    )


def _choices(choices: tuple[PluginChoice, ...]) -> tuple[PluginChoice, ...]:
    return tuple(replace(choice, name=OTHER_NAMES.get(choice.name, choice.name)) for choice in choices)

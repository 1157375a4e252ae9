"""From a plugin's name to the plugin: the registry's entries, and users' own plugins.

A registry maps names to entries; the built-in one is in `fairway.plugins`, and everything here takes it as an
argument. A name that is not in it may be an entry point of the group `fairway.plugins` or `module:Class`; the module is
installed, or lies in one of `plugin_folders`. `NamesOnly` is a registry for those who want to read a file and run
nothing. Called by `config` for every plugin that is enabled.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Final, NamedTuple

import msgspec

from fairway.config.fields import alternatives, shown
from fairway.config.plugin_folders import FOLDERS, PluginRefusedError
from fairway.config.raised import raised_at
from fairway.plugin import Cluster, Plugin, overrides
from fairway.plugin.extension_points import EXTENSION_POINTS

__all__ = [
    "GROUP",
    "NamesOnly",
    "PluginEntry",
    "PluginNotFoundError",
    "Registry",
    "implemented_points",
    "plugin_entry",
    "resolve",
]

GROUP: Final = "fairway.plugins"
"""The group of entry points by which an installed package offers plugins."""

REFERENCE: Final = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)", re.ASCII)


class PluginEntry(NamedTuple):
    """How to make a plugin, and the extension points (in kube-scheduler's words) where it takes part."""

    factory: Callable[[Cluster, Any], Plugin]
    points: frozenset[str]
    is_imported: bool = True  # False: it was only read about, and `points` is a guess

    @property
    def args(self) -> Any:
        """What it can be told: `Plugin.Args`, if it declares any."""
        return getattr(self.factory, "Args", None)


Registry = Mapping[str, PluginEntry]


class PluginNotFoundError(LookupError):
    """No plugin has that name, or it may not run; the text says which there are, or what to do."""


class NamesOnly(Mapping[str, PluginEntry]):
    """A registry that takes users' plugins at their word: nothing is imported, and they can not be made."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> PluginEntry:
        if name not in self._registry and (REFERENCE.fullmatch(name) or name in entry_points(group=GROUP).names):
            # Nearly all plugins leave the order of the queue alone, of which there is only one.
            points = frozenset(point.name for point in EXTENSION_POINTS if point.methods) - {"queueSort"}
            return PluginEntry(_not_imported, points, is_imported=False)
        return self._registry[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry)

    def __len__(self) -> int:
        return len(self._registry)


def _not_imported(cluster: Cluster, args: Any) -> Plugin:
    raise PluginNotFoundError("the plugin was only read about, not imported")


def implemented_points(kind: type[Plugin]) -> frozenset[str]:
    """The extension points whose methods the class overrides."""
    return frozenset(
        point.name for point in EXTENSION_POINTS if any(overrides(kind, method) for method in point.methods)
    )


def plugin_entry(kind: type[Plugin]) -> PluginEntry:
    """How to make a plugin of that class; it takes part where it has methods, and where it says that the world acts."""
    return PluginEntry(kind, implemented_points(kind) | kind.acts)


def resolve(name: str, registry: Registry) -> PluginEntry:
    """The entry of a plugin of the registry, an installed package, or a module on the path."""
    if name in registry:
        return registry[name]
    if reference := REFERENCE.fullmatch(name):
        return _entry(name, _import(reference["module"], reference["name"]))
    for point in entry_points(group=GROUP, name=name):
        return _entry(name, _load(point.value, point.load))
    known = (*registry, *sorted(entry_points(group=GROUP).names))
    raise PluginNotFoundError(
        f"no plugin is called {shown(name)}{alternatives(name, known)}; or your own as module:Class"
    )


def _import(module: str, name: str) -> Any:
    _make_importable(f"{module}:{name}")
    found = _load(f"{module}:{name}", lambda: importlib.import_module(module))
    if not hasattr(found, name):
        classes = [key for key, value in vars(found).items() if _is_plugin(value)]
        raise PluginNotFoundError(f"the module {module} has no {name}{alternatives(name, classes)}")
    return getattr(found, name)


def _make_importable(name: str) -> None:
    """A module that Python does not find by itself may lie beside the file that names it.

    Its folder goes to the end of the path, so nothing in it can stand in for an installed module.
    """
    root = name.partition(":")[0].partition(".")[0]
    try:
        spec = importlib.util.find_spec(root)
        if spec is not None and spec.origin is not None:
            FOLDERS.found(spec.origin)
        if root in sys.modules or spec is not None:
            return
    except (ImportError, ValueError):
        return  # importing it will say why
    try:
        folder = FOLDERS.place_of(name)
    except PluginRefusedError as error:
        raise PluginNotFoundError(str(error)) from error
    if folder is not None:
        sys.path.append(str(folder))
        importlib.invalidate_caches()


def _load(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # somebody else's module may fail in any way
        why = f"{type(error).__name__}: {_words(error)}{raised_at(error)}"
        raise PluginNotFoundError(f"the plugin {name} cannot be imported: {why}") from error


def _words(error: Exception) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)  # which says the place in its own way


def _is_plugin(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Plugin) and value is not Plugin


def _entry(name: str, kind: Any) -> PluginEntry:
    if not _is_plugin(kind):
        raise PluginNotFoundError(f"{name} is not a plugin; it has to be a subclass of fairway.plugin.Plugin")
    entry = plugin_entry(kind)
    if not entry.points:
        raise PluginNotFoundError(f"{name} overrides no method of fairway.plugin.Plugin, so it would do nothing")
    if entry.args is not None and not (isinstance(entry.args, type) and issubclass(entry.args, msgspec.Struct)):
        raise PluginNotFoundError(f"{name}.Args is {shown(str(entry.args))}; it has to be a struct, as a PluginArgs is")
    return entry

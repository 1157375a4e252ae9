"""Plugins that lie beside a file which names them: where they are looked for, and whether they may run.

A plugin is code, and importing it runs it; files that name plugins (scenarios, configurations, runs) are passed from
hand to hand. In: `offer(file)` by whoever reads such a file. Out: `place_of(name)`, the folder to import a module
from, or a `PluginRefusedError`. Without asking, a module may only come from the current folder, named by a file in the
current folder; for all else somebody has to say yes: `allow_all` (the flag --allow-plugins, `allow_plugins=True`), or a
person at the terminal (`ask`). Modules that Python finds by itself are installed, and no concern of this module. Called
by `plugin_entry.resolve`; one `FOLDERS` for the process, as there is one `sys.path`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["FOLDERS", "Ask", "PluginFolders", "PluginRefusedError"]

Ask = Callable[[str, Path, str], bool]
"""Of a plugin's name, its file and the file that names it: may it run?"""


class PluginRefusedError(LookupError):
    """There is such a plugin, but nobody has said that it may run."""


class Offer(NamedTuple):
    """A file that may name plugins, and where they may lie: in the current folder, or beside it."""

    source: str
    folders: tuple[Path, ...]
    is_own: bool  # the file lies in the current folder


class PluginFolders:
    """What was offered, and what was allowed."""

    def __init__(self) -> None:
        self._offers: list[Offer] = []
        self._allowed: set[Path] = set()
        self._allows_all = False
        self._ask: Ask | None = None
        self.used: list[Path] = []  # folders, other than the current one, that plugins came from

    @property
    def allows_all(self) -> bool:
        """Has somebody said yes to everything?"""
        return self._allows_all

    def offer(self, source: str) -> None:
        """A file is read that may name plugins; a source that is no file counts as the user's own."""
        here = Path.cwd()
        beside = Path(os.path.abspath(os.path.dirname(source)))  # noqa: PTH100, PTH120 - links stay as they are written
        is_own = beside.resolve() == here.resolve()
        offer = Offer(source, (here,) if is_own else (here, beside), is_own)
        if offer not in self._offers:
            self._offers.append(offer)

    @contextmanager
    def permission(self, allow_all: bool = False, ask: Ask | None = None) -> Iterator[None]:
        """For a while, everything is allowed, or somebody is there to be asked."""
        before = self._allows_all, self._ask
        self._allows_all, self._ask = allow_all or self._allows_all, ask or self._ask
        self.used = []
        try:
            yield
        finally:
            self._allows_all, self._ask = before

    def place_of(self, name: str) -> Path | None:
        """The folder from which `module:Class` may be imported; None if none that was offered has the module.

        It is not known which of several files names the plugin, so all that could have to be the user's own.
        """
        module = name.partition(":")[0].partition(".")[0]
        found = [
            (folder, file, offer)
            for offer in reversed(self._offers)  # the file read last is the likeliest to be meant
            for folder in offer.folders
            if (file := _module_file(folder, module)) is not None
        ]
        strange = next((one for one in found if not one[2].is_own and one[0] not in self._allowed), None)
        if strange is None or self._allows_all:
            return self._noted(found[0][0]) if found else None
        folder, file, offer = strange
        if self._ask is not None and self._ask(name, file, offer.source):
            self._allowed.add(folder)
            return self._noted(folder)
        raise PluginRefusedError(
            f"the plugin {name} is code in {file}, named by a file of another folder than the current one; "
            "if you trust it: --allow-plugins (in Python: allow_plugins=True)"
        )

    def found(self, file: str) -> None:
        """A module was there already: if it lies where a file that was offered has it, that is where it came from."""
        folder = Path(file).parent
        if any(folder in offer.folders for offer in self._offers):
            self._noted(folder)

    def _noted(self, folder: Path) -> Path:
        if folder not in self.used and folder.resolve() != Path.cwd().resolve():
            self.used.append(folder)
        return folder


def _module_file(folder: Path, module: str) -> Path | None:
    """The file that an import from there would run; nothing of it is run by looking."""
    spec = PathFinder.find_spec(module, [str(folder)])
    if spec is None:
        return None
    return folder / module if spec.origin is None else Path(spec.origin)


FOLDERS: Final = PluginFolders()
"""The process's own."""

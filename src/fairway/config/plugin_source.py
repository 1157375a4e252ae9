"""Where a plugin of somebody's own came from, so that a recording can say whose code decided.

In: a plugin's name and how it is made. Out: a `PluginSource`: the package that offers it, or the name of its file and a
digest of what is in it; never a path of the machine, and never the code. Called by `record.schedulers` when a run
begins, and by `explain.run_schedulers` when it is asked about.
"""

from __future__ import annotations

import hashlib
import inspect
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from fairway.config.plugin_entry import GROUP, PluginEntry

__all__ = ["PluginSource", "plugin_source"]


class PluginSource(NamedTuple):
    """What is known about a plugin's code; each is empty if it is not known."""

    package: str = ""  # "acme-plugins 1.2", of a plugin that an installed package offers
    file: str = ""  # the name of the file that its class is in, without folders
    digest: str = ""  # SHA-256 of that file

    def __str__(self) -> str:
        return self.package or self.file or "unknown"


def plugin_source(name: str, entry: PluginEntry) -> PluginSource:
    """The source of a plugin that is no built-in one."""
    for point in entry_points(group=GROUP, name=name):
        if point.dist is not None:
            return PluginSource(package=f"{point.dist.name} {point.dist.version}")
    try:
        file = Path(inspect.getfile(entry.factory))
        return PluginSource(file=file.name, digest=hashlib.sha256(file.read_bytes()).hexdigest())
    except (TypeError, OSError):  # made at a prompt, or its file is gone
        return PluginSource()

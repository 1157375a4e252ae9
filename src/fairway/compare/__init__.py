"""Is it better? Runs of several policies side by side: metrics with their spread, gates, where they part, a report.

`metrics` is the comparison, `gate` what `--fail-if` means, `partings` the first different decision, `text` and `report`
how people see it, `answer` all of it in one object. Called by the commands `sim` and `compare` and by the library. The
room has the name of the library's function, `fairway.compare(...)`, so it can be called itself, and hands that on.
"""

import importlib
import sys
import types
from typing import Any


class _Room(types.ModuleType):
    """This module, which can be called."""

    def __call__(self, *sources: Any, **options: Any) -> Any:
        """`fairway.library.compare`, imported when it is wanted: it stands above this room."""
        return importlib.import_module("fairway.library").compare(*sources, **options)


sys.modules[__name__].__class__ = _Room

"""Where somebody else's code raised: the file and the line, for people who have to mend it.

In: an exception that came out of a plugin. Out: ` (plugins/green.py:12)`, to be put behind what is said of it; nothing
if no line of the plugin had a part in it. Called by `plugin_entry`, which imports plugins, and the guard around them.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Final

__all__ = ["raised_at"]

PACKAGE: Final = str(Path(__file__).parents[1])


def raised_at(error: BaseException) -> str:
    """The innermost line of the file that we called, not of the libraries that it calls in turn."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f" ({_shown(error.filename)}:{error.lineno})"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((PACKAGE, "<")) and f"{os.sep}importlib{os.sep}" not in frame.filename
    ]
    if not frames:
        return ""
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({_shown(own[-1].filename)}:{own[-1].lineno})"


def _shown(file: str) -> str:
    """As people would name it from where they are."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file

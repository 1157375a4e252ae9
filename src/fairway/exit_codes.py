"""How commands end: the exit codes, for scripts that ask whether it worked.

0 is yes, or simply done. An error below the command line says by one of these how a command that meets it ends;
docs/live.md lists them for `fairway run`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CLOSED_PIPE", "FAILED", "INTERRUPTED", "NO", "NOT_COUNTED", "UNREACHABLE", "USAGE"]

FAILED: Final = 1
"""It could not be done: a file that cannot be read, a full disk."""
USAGE: Final = 2
"""The question itself makes no sense: an unknown option, a pod that is not there."""
NO: Final = 3
"""It was done, and the answer is no: pods that fit nowhere, a difference, a gate that did not hold."""
UNREACHABLE: Final = 4
"""The API server, or a running scheduler, could not be reached or refused."""
NOT_COUNTED: Final = 5
"""All that was counted fits, but something that may make pods was not: of a kind that nobody can read."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells count it."""
CLOSED_PIPE: Final = 141
"""Whoever read the output has stopped reading (`| head`), as shells count it."""

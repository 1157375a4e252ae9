"""Files that nobody but their owner may read.

DuckDB makes the file of a run and a log beside it, with whatever rights the process gives new files; a run holds names
and numbers of a cluster. In: a `with PRIVATE:` around what DuckDB writes. Out: files of mode 0600. The setting is the
process's, so threads share it: the first one in makes it strict, the last one out gives it back. What another thread
makes meanwhile is stricter than it need be, never the other way round. Used by `run_file` and `row_file`.
"""

from __future__ import annotations

import os
import threading

__all__ = ["PRIVATE", "PrivateFiles"]

OTHERS = 0o077


class PrivateFiles:
    """Within it, new files are their owner's alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_within = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._num_within:
                self._before = os.umask(OTHERS)
            self._num_within += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._num_within -= 1
            if not self._num_within:
                os.umask(self._before)


PRIVATE = PrivateFiles()

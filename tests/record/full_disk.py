"""A disk that is full for a while: files of this process may not grow beyond a limit.

The operating system refuses the write as it does on a full disk, only in other words ("File too large"), and that works
for any user on any file system. Python ignores the signal that comes with it.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairway.record.writing.run_file import partial_path


@contextmanager
def full_disk(max_bytes: int) -> Iterator[None]:
    """Until the end of the block, no file gets larger than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def written_bytes(run: Path) -> int:
    """How large the largest of the files is that a writer has made."""
    partial = partial_path(run)
    files = (partial, partial.with_name(partial.name + ".wal"))
    return max(file.stat().st_size for file in files if file.exists())

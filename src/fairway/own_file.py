"""Files that a command writes: nothing of anybody else's is replaced, and nothing is left half-written.

In: a path, what it is to hold, and how such a file of ours is told from others by its content. Out: a path beside it to
write to, which takes the place of the first when all is written; or a `CannotWriteError` that names the file. Whatever
writes files goes through here (reports, exports, manifests with racks, tables and figures of experiments); but for
runs, which DuckDB writes: `record.writing.run_file` keeps to the same rule.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

__all__ = ["PRIVATE_MODE", "CannotWriteError", "check_own", "first_bytes", "replacing", "why_refused"]

Recognise = Callable[[Path], bool]
"""Did we write this file?"""

CAUSES: Final = {
    "No space left on device": "the disk is full",
    "Disk quota exceeded": "the disk is full for this user: the quota is used up",
    "File too large": "the disk is full for this file: it has reached the limit on the size of files",
    "Read-only file system": "the file system is read-only",
    "Permission denied": "there is no permission to write there",
    "Input/output error": "the disk does not work",
}
"""What the operating system says of a file, and what that means; DuckDB hands its words on."""


PRIVATE_MODE: Final = 0o600
"""Its owner's alone: for what tells of a cluster."""


class CannotWriteError(Exception):
    """A file that can not be written, or must not be: which, and why; `left` is where what was written is."""

    def __init__(self, what: str, left: Path | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.left = left

    def __str__(self) -> str:
        return self.what if self.left is None else f"{self.what}; what was written until then is in {self.left}"


def why_refused(error: Exception) -> str:
    """Why something could not be written, in a line."""
    text = " ".join(str(error).split())
    for words, cause in CAUSES.items():
        if words in text:
            return f"{cause} ({words})"
    return text


def check_own(path: Path, what: str, is_ours: Recognise, kind: type[CannotWriteError] = CannotWriteError) -> None:
    """Raise a `kind` unless this file may be written: it takes the place of an earlier one of ours, or of nothing."""
    if not path.parent.is_dir():
        raise kind(f"cannot write {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise kind(f"cannot write {path}: it is a directory; {what} is one file")
    if not path.exists():
        return
    if not path.is_file():
        raise kind(f"cannot write {path}: it is not a regular file")
    try:
        is_free = path.stat().st_size == 0 or is_ours(path)
    except OSError as error:
        raise kind(f"cannot write {path}: what is there can not be read: {error.strerror}") from error
    if not is_free:
        raise kind(f"{path} is there already, and not {what} that Fairway wrote; it is left as it is")


@contextlib.contextmanager
def replacing(
    path: Path, what: str, is_ours: Recognise, kind: type[CannotWriteError] = CannotWriteError, mode: int = 0o666
) -> Iterator[Path]:
    """A new, empty file beside `path` to write to, by whatever means; it gets the name when the block ends well.

    `mode` is who may read and write a file that is new, as far as the user lets them.
    """
    check_own(path, what, is_ours, kind)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            beside.unlink(missing_ok=True)  # of a process that had this number, and is no more
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            if path.exists():
                shutil.copymode(path, beside)
            yield beside
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        if error.filename is not None and not _is_of(error.filename, path, beside):
            raise  # about a file that is read, not about this one
        raise kind(f"cannot write {path}: {why_refused(error)}") from error


def _is_of(filename: object, *paths: Path) -> bool:
    return str(filename) in {str(path) for path in paths}


def first_bytes(path: Path, number: int = 4096) -> bytes:
    """Where a file says what it is."""
    with path.open("rb") as stream:
        return stream.read(number)

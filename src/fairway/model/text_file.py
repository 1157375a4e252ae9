"""Files of text, plain or gzip, read with progress.

In: a path. Out: its lines with their numbers, one at a time, or all of its bytes. A file that cannot be read, is cut
off within its compression, expands beyond all measure, or is compressed otherwise is a `DecodeError` that says so.
Called by whatever reads people's files: manifests, traces, scenarios, configurations. They hand on the caller's
progress: it is told what part of the file was read since it was last told, and these parts add up to 1.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from fairway.model.errors import DecodeError

__all__ = ["Progress", "read_bytes", "read_lines", "utf8_text"]

Progress: TypeAlias = Callable[[float], None]
Binary: TypeAlias = io.BufferedReader | gzip.GzipFile
PathLike: TypeAlias = str | os.PathLike[str]

MAX_LINE: Final = 1 << 20
CHUNK: Final = 1 << 22
LINES_A_REPORT: Final = 4096
GZIP: Final = b"\x1f\x8b"
EXPANDED_BYTES: Final = 64 << 20
EXPANSION: Final = 100
"""A compressed file may expand to so much, or else to so many times its size: logs of this field reach twenty."""

FOREIGN: Final = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
}


def read_lines(path: PathLike, progress: Progress | None = None) -> Iterator[tuple[int, str]]:
    """Each line with its 1-based number and without its end; bytes that are not UTF-8 come as U+FFFD."""
    number = 0
    with _opened(path, progress) as (stream, report):
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")
        try:
            while line := text.readline(MAX_LINE):
                number += 1
                if len(line) == MAX_LINE and not line.endswith("\n"):
                    raise DecodeError("is longer than a line of text ever is", source=f"{os.fspath(path)}:{number}")
                if number % LINES_A_REPORT == 0:
                    report()
                yield number, line.removesuffix("\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, error, f"after line {number}") from error


def read_bytes(path: PathLike, progress: Progress | None = None) -> bytes:
    """Everything in a file, decompressed."""
    data = bytearray()
    with _opened(path, progress) as (stream, report):
        try:
            while chunk := stream.read(CHUNK):
                data += chunk
                report()
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, error, f"after {len(data)} bytes of text") from error
    return bytes(data)


def utf8_text(data: bytes) -> bytes:
    """The text as UTF-8: some shells write what a command prints as UTF-16."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


@contextmanager
def _opened(path: PathLike, progress: Progress | None) -> Iterator[tuple[Binary, Callable[[], None]]]:
    """The decompressed file, and a function that reports how far it was read."""
    file = os.fspath(path)
    try:
        with open(path, "rb") as raw:  # noqa: PTH123 - a path may be text
            size, has_length = max(os.fstat(raw.fileno()).st_size, 1), raw.seekable()  # pipes have none
            start = raw.peek(8)[:8]
            for magic, what in FOREIGN.items():
                if start.startswith(magic):
                    raise DecodeError(f"is {what}; decompress it first, or use gzip", source=file)
            told = 0.0

            def report() -> None:
                nonlocal told
                if progress is not None and has_length and (now := min(raw.tell() / size, 1.0)) > told:
                    progress(now - told)
                    told = now

            stream = _Bounded(raw, file, size) if start.startswith(GZIP) else raw
            yield stream, report
            if progress is not None and told < 1.0:
                progress(1.0 - told)
    except OSError as error:
        raise DecodeError(f"cannot be read: {error.strerror or error}", source=file) from error


class _Bounded(gzip.GzipFile):
    """A compressed file that does not expand without end."""

    def __init__(self, raw: io.BufferedReader, file: str, size: int) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._file = file
        self._left = max(EXPANDED_BYTES, EXPANSION * size)

    def read(self, size: int | None = -1) -> bytes:
        """As any file; what is asked for without a number is bounded too."""
        return self._counted(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """As any file; text is read this way."""
        return self._counted(super().read1(size))

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            problem = f"expands to more than {EXPANSION} times its size, so it is not read"
            raise DecodeError(problem, source=self._file)
        return data


def _damaged(path: PathLike, error: Exception, where: str) -> DecodeError:
    if isinstance(error, EOFError):
        problem = f"is cut off: the compressed data ends {where}, before its end mark"
    else:
        problem = f"is corrupt: the compressed data makes no sense {where} ({error})"
    return DecodeError(problem, source=os.fspath(path))

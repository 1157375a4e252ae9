"""Answers of an HTTP/1.1 server, read from a stream of bytes.

In: bytes as they come. Out: a `Received` when an answer is whole. What is not HTTP to the letter (a length that is no
digits or stands twice, a chunk without its end) is a ValueError, not a guess, and nothing is read without a bound: two
ends that read one stream differently are how answers get mixed up. Answers have a length or come in chunks without a
trailer, as the API server's do. `exchange_pool` has one reader for each connection.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["AnswerReader", "Received"]

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 << 20
MAX_CHUNK_LINE_BYTES = 1024
STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")
LENGTH = re.compile(r"[0-9]{1,12}")


class Received(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]  # names as in Content-Type
    body: bytes


class AnswerReader:
    """One answer after the other."""

    __slots__ = ("_body", "_buffer", "_head")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[int, dict[str, str]] | None = None
        self._body = bytearray()  # of the chunks so far

    @property
    def is_empty(self) -> bool:
        """Is nothing left over, of this answer or of another?"""
        return not self._buffer and self._head is None

    def feed(self, data: bytes) -> Received | None:
        """Some bytes more: the answer, if all of it is there; ValueError if it is none."""
        self._buffer += data
        while self._head is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end > MAX_HEAD_BYTES or (end < 0 and len(self._buffer) > MAX_HEAD_BYTES):
                raise ValueError("its head is too long")
            if end < 0:
                return None
            head = _read_head(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
            if head[0] >= 200:  # what comes before is not the answer yet
                self._head = head
        status, headers = self._head
        body = self._read_body(status, headers)
        if body is None:
            return None
        self._head, self._body = None, bytearray()
        return Received(status, headers, body)

    def _read_body(self, status: int, headers: dict[str, str]) -> bytes | None:
        if status in (204, 304):
            return b""
        coding, length = headers.get("Transfer-Encoding"), headers.get("Content-Length")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise ValueError(f"a body in another form than chunks: {coding!r}, length {length!r}")
            return self._read_chunks()
        if length is None or not LENGTH.fullmatch(length):
            raise ValueError(f"a length that is none: {length!r}")
        size = _bounded(int(length))
        if len(self._buffer) < size:
            return None
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return body

    def _read_chunks(self) -> bytes | None:
        buffer = self._buffer
        while True:
            end = buffer.find(b"\r\n")
            if end > MAX_CHUNK_LINE_BYTES or (end < 0 and len(buffer) > MAX_CHUNK_LINE_BYTES):
                raise ValueError("a chunk without a size")
            if end < 0:
                return None
            line = CHUNK_LINE.fullmatch(bytes(buffer[:end]))
            if line is None:
                raise ValueError(f"a chunk's size that is none: {bytes(buffer[:20])!r}")
            size = int(line[1], 16)
            _bounded(len(self._body) + size)
            after = end + 2 + size
            if len(buffer) < after + 2:
                return None
            if buffer[after : after + 2] != b"\r\n":
                raise ValueError("a chunk of another size than it says, or a trailer")
            self._body += buffer[end + 2 : after]
            del buffer[: after + 2]
            if not size:
                return bytes(self._body)


def _bounded(size: int) -> int:
    if size > MAX_BODY_BYTES:
        raise ValueError(f"a body of more than {MAX_BODY_BYTES} bytes")
    return size


def _read_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers."""
    first, *lines = head.decode("latin-1").split("\r\n")
    status = STATUS_LINE.fullmatch(first)
    if status is None:
        raise ValueError("no status line")
    headers: dict[str, str] = {}
    for line in lines:
        header = HEADER.fullmatch(line)
        if header is None:
            raise ValueError(f"a header that is none: {line[:40]!r}")
        name = header[1].title()
        if name in headers and name in ("Content-Length", "Transfer-Encoding"):
            raise ValueError(f"{name} twice")
        headers[name] = header[2].strip(" \t")  # other blanks are part of it, and no digits
    if status[1] == "0":
        headers.setdefault("Connection", "close")
    return int(status[2]), headers

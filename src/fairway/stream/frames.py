"""What the two ends of a stream's process say to each other, over a socket: frames of msgpack with their length.

`Beginning` is the first frame to the process; all that follow are lists of notes, and of words about the process
itself (`leading`, `certificate`, `answer`, `audible`, `stop`), each with what belongs to it. From the process come
words alone: `listening` or `failed`, `count`, `lost`, and questions with a number, `refusal` and `explain`.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

__all__ = ["LENGTH", "Beginning", "framed"]

LENGTH: Final = struct.Struct("!I")


class Beginning(msgspec.Struct, frozen=True, array_like=True):
    """What a process serves, and where."""

    stream_id: str
    address: str
    origin: int | None  # nanoseconds since 1970 of the run's 0, if it has a real one
    is_leading: bool
    certificate: tuple[bytes, bytes] | None  # and its key; None: without TLS


def framed(content: Any) -> bytes:
    """A frame; TypeError, ValueError or OverflowError for what can not be written."""
    data = msgspec.msgpack.encode(content)
    return LENGTH.pack(len(data)) + data

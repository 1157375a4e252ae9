"""What the two ends of a stream's process say to each other, over a socket: frames of msgpack with their length.

`Beginning` is the first frame to the process; all that follow are lists of notes, and of words about the process
itself (`leading`, `certificate`, `answer`, `missing`, `audible`, `stop`), each with what belongs to it. From the
process come words alone: `listening` or `failed`, `count`, `lost`, and questions with a number, as `refusal` is one.
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO, Final

import msgspec

__all__ = ["LENGTH", "Beginning", "framed", "read_frame"]

LENGTH: Final = struct.Struct("!I")


class Beginning(msgspec.Struct, frozen=True, array_like=True):
    """What a process serves, and where."""

    stream_id: str
    address: str
    origin: int | None  # nanoseconds since 1970 of the run's 0, if it has a real one
    is_leading: bool
    certificate: tuple[bytes, bytes] | None  # and its key; None: without TLS
    more: dict[str, Any] = {}  # that this kind of process has to know


def framed(content: Any) -> bytes:
    """A frame; TypeError, ValueError or OverflowError for what can not be written."""
    data = msgspec.msgpack.encode(content)
    return LENGTH.pack(len(data)) + data


def read_frame(frames: BinaryIO, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
    """What the next frame holds; None when nobody is left who could send one."""
    head = frames.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    data = frames.read(size)
    return decoder.decode(data) if len(data) == size else None

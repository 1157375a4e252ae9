"""Batches become bytes in a process of their own: a thread that encoded would take its turns from the scheduler's.

In: batches, from the service's loop, as msgpack, which takes a fifth of a microsecond an event. Out: the protobuf
messages that readers get, as bytes. The process begins with the first reader and ends when its end of the socket does,
so that it outlives nobody; its turns come after the scheduler's where processors are scarce. Without it (it was killed,
there was no room for it) the service encodes where it is, and says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
from typing import Final

import msgspec

from fairway.stream.encoding import encode_batches
from fairway.stream.watching import Batch

__all__ = ["EncoderProcess", "EncodingTask"]

logger = logging.getLogger(__name__)

LENGTH: Final = struct.Struct("!I")
NICENESS: Final = 5
SECONDS_TO_END: Final = 5.0


class EncodingTask(msgspec.Struct, frozen=True, array_like=True):
    """A batch, and whose it is."""

    batch: Batch
    stream_id: str
    origin: int | None  # nanoseconds since 1970 of the run's 0, if it has a real one
    most_scores: int

    def encoded(self) -> list[bytes]:
        """The messages of it."""
        messages = encode_batches(self.batch, self.stream_id, self.origin, self.most_scores)
        return [message.SerializeToString() for message in messages]


class EncoderProcess:
    """Encodes for one event loop; `encode` starts it."""

    def __init__(self) -> None:
        self._pack = msgspec.msgpack.Encoder().encode
        self._unpack = msgspec.msgpack.Decoder(list[bytes]).decode
        self._turn = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._is_given_up = False

    async def encode(self, task: EncodingTask) -> list[bytes]:
        """The messages of a batch. A reader that leaves meanwhile leaves no answer behind that the next would take."""
        return await asyncio.shield(asyncio.ensure_future(self._encode(task)))

    async def _encode(self, task: EncodingTask) -> list[bytes]:
        async with self._turn:
            if not self._is_given_up:
                try:
                    return await self._ask(self._pack(task))
                except (OSError, EOFError, msgspec.DecodeError) as error:
                    self._is_given_up = True
                    logger.warning("the stream is encoded in the scheduler's own process: %s", error)
                    await self._end()
        return task.encoded()

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return None if self._process is None else self._process.pid

    async def close(self) -> None:
        """End the process."""
        async with self._turn:
            await self._end()

    async def _ask(self, data: bytes) -> list[bytes]:
        if self._streams is None:
            self._streams = await self._start()
        reader, writer = self._streams
        writer.write(LENGTH.pack(len(data)) + data)
        await writer.drain()
        (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return self._unpack(await reader.readexactly(size))

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        here, there = socket.socketpair()
        try:
            with there:
                self._process = await asyncio.to_thread(_spawn, there.fileno())
            return await asyncio.open_connection(sock=here)
        except BaseException:
            here.close()
            raise

    async def _end(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            with contextlib.suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None
        if self._process is not None:
            await asyncio.to_thread(_wait_for, self._process)
            self._process = None


def _spawn(number: int) -> subprocess.Popen[bytes]:
    """Not from the folder that we are in: it may have modules of these names."""
    command = [sys.executable, "-P", "-m", "fairway.stream.encoder_process", str(number)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, pass_fds=(number,), stdin=subprocess.DEVNULL, env=places)


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve(connection: socket.socket) -> None:
    """Encode what is asked for until nobody is there who could ask."""
    unpack = msgspec.msgpack.Decoder(EncodingTask).decode
    with connection, connection.makefile("rb") as asked:
        while len(head := asked.read(LENGTH.size)) == LENGTH.size:
            (size,) = LENGTH.unpack(head)
            answer = msgspec.msgpack.encode(unpack(asked.read(size)).encoded())
            connection.sendall(LENGTH.pack(len(answer)) + answer)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked is told, and ends us
    os.nice(NICENESS)
    with contextlib.suppress(ConnectionError):
        serve(socket.socket(fileno=int(sys.argv[1])))

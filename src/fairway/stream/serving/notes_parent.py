"""The process that notes come from, as seen by the one that they are sent to.

In: the socket between the two, and what the first frame said. Out: who leads and what to serve with, as they were told
last, and answers to what only that process knows. Asked in any loop; told by whoever reads the socket. Used by
`notes_server`, and by the process of the pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
from typing import Any, Final

from fairway.stream.serving.frames import Beginning, framed

__all__ = ["WORDS", "NotesParent"]

WORDS: Final = ("leading", "certificate", "answer")
"""What it says that is no note."""


class NotesParent:
    """The process that we serve for, as seen from here."""

    def __init__(self, connection: socket.socket, beginning: Beginning) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._numbers = itertools.count()
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._is_leading = beginning.is_leading
        self._certificate = beginning.certificate or (b"", b"")

    def say(self, *words: Any) -> None:
        """In any thread; who is gone does not hear it."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(framed(words))

    def is_leading(self) -> bool:
        """As we were told last."""
        return self._is_leading

    def certificate(self) -> tuple[bytes, bytes]:
        """The same."""
        return self._certificate

    async def ask(self, what: str, about: Any) -> Any:
        """What only it can answer; values that msgpack has."""
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._questions[number] = answer
        try:
            self.say(what, number, about)
            return await answer
        finally:
            del self._questions[number]

    def heard(self, word: str, *rest: Any) -> None:
        """What is no note."""
        match word, rest:
            case "leading", (bool() as is_leading,):
                self._is_leading = is_leading
            case "certificate", (bytes() as certificate, bytes() as key):
                self._certificate = certificate, key
            case "answer", (int() as number, bool() as is_good, value):
                question = self._questions.get(number)
                if question is not None:
                    question.get_loop().call_soon_threadsafe(_settle, question, is_good, value)


def _settle(question: asyncio.Future[Any], is_good: bool, value: Any) -> None:
    if question.done():
        return  # who asked has left
    if is_good:
        question.set_result(value)
    else:
        question.set_exception(RuntimeError(value))

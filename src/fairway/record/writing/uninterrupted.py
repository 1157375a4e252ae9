"""A moment in which no interrupt is heard: it comes when the moment is over.

In: a `with uninterrupted():` around a transaction, or around closing a file. Out: Ctrl-C, or a request to end, that
comes meanwhile is heard at the end of the block. DuckDB would make an error of its own of it, in the middle of a
transaction of which nobody then knows whether it took effect. Python delivers signals to the main thread; in others
there is nothing to do. Used by `row_file`.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["uninterrupted"]

HEARD_LATER = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Within it, signals that a handler of Python's would take wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))

    handlers = {one: handler for one in HEARD_LATER if callable(handler := signal.getsignal(one))}
    for number in handlers:
        signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for came, frame in waiting[:1]:
        handlers[signal.Signals(came)](came, frame)

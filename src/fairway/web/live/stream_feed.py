"""A stream that is followed for pages: what it brings goes into a `LiveHistory`, for as long as they are served.

In: where the stream is, and how to be let in, asked anew whenever a connection is made. Out: nothing; the first batch,
or why there is none, ends `wait`. A stream that breaks off is asked for again, from where it was, for ever: a new
leader's tells first how things stand. Lives in a thread of its own, because gRPC's calls wait there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from fairway.stream.watch_client import CannotWatchError, StreamAddress, follow, watch_request
from fairway.web.live.live_sources import LiveSources

__all__ = ["StreamFeed"]

logger = logging.getLogger(__name__)

LONGEST_PAUSE: Final = 30.0
TOP_SCORES: Final = 3
FAREWELL: Final = 2.0


class StreamFeed:
    """Follows one stream."""

    def __init__(self, sources: LiveSources, place: Callable[[], StreamAddress]) -> None:
        self._sources = sources
        self._place = place
        self._is_over = threading.Event()
        self._is_begun = threading.Event()
        self._refusal: CannotWatchError | None = None
        self._cancel: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._follow, name="stream", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def wait(self) -> None:
        """Until there is something to show; raises `CannotWatchError` if there will be nothing."""
        self._is_begun.wait()
        if self._refusal is not None:
            raise self._refusal

    def stop(self) -> None:
        """Follow no longer; nobody waits any more, and the thread has ended, if it does so in time."""
        self._is_over.set()
        self._cancel()
        self._is_begun.set()
        if self._thread.is_alive():
            self._thread.join(FAREWELL)

    def _follow(self) -> None:
        history, seconds, resume = self._sources.history, 1.0, ""
        while not self._is_over.is_set():
            try:
                request = watch_request(top_scores=TOP_SCORES, snapshot=True, resume=resume)
                for batch in follow(self._place(), request, self._pause, self._tell, self._calls):
                    if self._is_over.is_set():
                        return
                    history.take(batch.stream_id, batch.origin, batch.gap, (event for _, event in batch.events))
                    self._sources.keep_up()
                    self._is_begun.set()
                    resume, seconds = batch.resume or resume, 1.0
                history.trouble = "the stream is over"
            except CannotWatchError as error:
                if self._fails(error):
                    return
            except Exception as error:  # nobody else would ever hear of it
                logger.exception("what the stream tells can not be taken in")
                if self._fails(CannotWatchError(f"{type(error).__name__}: {error}", is_refusal=False)):
                    return
            self._pause(seconds)
            seconds = min(2 * seconds, LONGEST_PAUSE)

    def _fails(self, problem: CannotWatchError) -> bool:
        """Tell why nothing comes; says whether nothing will come, as it has not even begun."""
        self._sources.history.trouble = str(problem)
        if self._is_over.is_set() or self._is_begun.is_set():
            return False
        self._refusal = problem
        self._is_begun.set()
        return True

    def _calls(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel
        if self._is_over.is_set():
            cancel()

    def _pause(self, seconds: float) -> bool:
        return not self._is_over.wait(seconds)

    def _tell(self, words: str) -> None:
        self._sources.history.trouble = words

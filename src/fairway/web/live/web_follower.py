"""Pages beside a scheduler: what it notes goes to a process of its own, which serves them.

In: what happens in a cluster, as a recorder is told, and what the process around offers
(`fairway.live.followers.Home`). Out: pages at an address, over HTTPS. The command line makes one for `fairway run
--web`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from fairway.live.followers import Home
from fairway.live.serving.authorization import Asked, NoAccess
from fairway.model import Pod
from fairway.stream.address import Address
from fairway.stream.noting import NoteTaker
from fairway.stream.serving.serving_process import ServedKind, ServingProcess
from fairway.stream.serving.waiting_notes import MOST_WAITING
from fairway.stream.surroundings import Surroundings

__all__ = ["PAGES", "WebFollower"]

logger = logging.getLogger(__name__)
PAGES: Final = ServedKind("the pages'", "fairway.web.live.page_process", MOST_WAITING)


class WebFollower:
    """Serves the pages of a process."""

    def __init__(
        self,
        address: Address,
        stream_id: str,
        name: str,
        seconds: float,
        now: Callable[[], int],
        kind: ServedKind = PAGES,
    ) -> None:
        """`name` is what people call the scheduler; so many seconds are kept."""
        self._address = address
        self._now = now
        self._process = ServingProcess(stream_id, kind=kind, more={"name": name, "seconds": seconds})
        self._is_started = False
        self.recorder = NoteTaker(self._process.notes.append)
        self.listener = None
        self.port = 0  # where it listens, once it does

    def start(self, home: Home) -> None:
        """Listen; OSError if the address can not be had."""
        admission = home.admission(self._address.is_loopback)

        async def admit(about: Any) -> tuple[int, str]:
            path, host, token = about
            found = await admission(Asked(path, "get", host, token))
            return (found.status, found.message) if isinstance(found, NoAccess) else (200, found.name)

        async def why(about: Any) -> tuple[int, dict[str, Any]]:
            return await home.why(*about)

        around = Surroundings(
            now=self._now,
            origin=home.origin,
            is_leading=home.is_leading,
            answers={"admit": admit, "why": why},
            close=home.close,
            count_lost=home.metrics.stream_lost,
        )
        self.port = self._process.start(str(self._address), around, home.certificate("serving pages"))
        self._is_started = True
        logger.info("serving pages", extra={"address": self._address.host, "port": self.port})

    @property
    def pid(self) -> int | None:
        """Of the process that serves them, while there is one."""
        return self._process.pid

    @property
    def num_notes(self) -> int:
        """How many the process was not offered yet: it is a dozen times a second."""
        return len(self._process.notes)

    def bound(self, pod: Pod, node: str) -> None:
        """The watch will tell."""

    def stop(self) -> None:
        """End the pages."""
        if self._is_started:
            self._process.stop()

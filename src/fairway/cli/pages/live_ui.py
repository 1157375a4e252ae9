"""`fairway ui --scheduler`: the pages of a scheduler at work, with the rights of whoever looks at them.

In: where the scheduler answers, and where it streams. Out: what the server of the pages shows: a history that grows
from now on. Our token goes to the scheduler and its stream and to nobody else; browsers have one of this process.
Called by `fairway.cli.pages.ui`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from fairway.cli.stream.options import need_stream
from fairway.cli.stream.watch import IS_IT_THERE, stream_address
from fairway.exit_codes import UNREACHABLE, USAGE

if TYPE_CHECKING:
    from fairway.live.api.credentials import Credentials
    from fairway.live.scheduler_client import SchedulerAddress
    from fairway.stream.address import Address
    from fairway.stream.watch_client import StreamAddress
    from fairway.web.live.live_sources import LiveSources
    from fairway.web.questions import WhyQuestion

__all__ = ["FollowedScheduler"]

STREAM_PORT = 4243
"""Where a stream is looked for, if nobody says."""


class FollowedScheduler:
    """A scheduler that is followed."""

    def __init__(
        self,
        scheduler: SchedulerAddress,
        stream: Address | None,
        stream_fingerprint: str | None,
        kubeconfig: str | None,
        context: str | None,
    ) -> None:
        need_stream("fairway ui --scheduler")
        self._scheduler = scheduler
        self._kubeconfig, self._context = kubeconfig, context
        self._stream = stream or _beside(scheduler.url)
        self._fingerprint = stream_fingerprint
        self._header: str = ""
        self._credentials: Credentials | None = None

    async def begin(self, seconds: float) -> LiveSources | None:
        """Follow it; the first it tells is there when this returns. None: somebody asked us to end before that."""
        from fairway.cli.main import CommandError
        from fairway.live.api.clock import SystemClock
        from fairway.live.api.credentials import Credentials
        from fairway.live.api.problems import NoKubeconfig
        from fairway.live.process import stop_upon_signals
        from fairway.stream.watch_client import CannotWatchError
        from fairway.web.live.live_history import LiveHistory
        from fairway.web.live.live_sources import LiveSources
        from fairway.web.live.stream_feed import StreamFeed

        self._scheduler.check()  # before an exec plugin is asked for a token in vain
        clock = SystemClock()
        try:
            self._credentials = await Credentials.load(self._kubeconfig, self._context, None, clock, warn=_ignore)
        except NoKubeconfig:
            if self._kubeconfig is not None:
                raise
        await self._token()
        place = await asyncio.to_thread(self._place)
        sources = LiveSources(LiveHistory(self._scheduler.url, seconds, clock), clock, self._why)
        self._feed = StreamFeed(sources, lambda: self._with_token(place))
        stop = asyncio.Event()
        stop_upon_signals(stop)
        self._feed.start()
        begun, stopped = asyncio.ensure_future(asyncio.to_thread(self._feed.wait)), asyncio.ensure_future(stop.wait())
        await asyncio.wait((begun, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if stop.is_set():
            self._feed.stop()  # else whoever waits for the first would go on
        try:
            await begun
        except CannotWatchError as error:
            hint = "see fairway ui --help" if error.is_refusal else IS_IT_THERE
            raise CommandError(f"{self._stream}: {error}", hint, UNREACHABLE) from None
        if stop.is_set():
            sources.close()
            return None
        return sources

    def stop(self) -> None:
        """Follow no longer."""
        self._feed.stop()

    async def _token(self) -> str | None:
        """Our token, read again now and then: the stream is asked with the latest, too."""
        if self._credentials is not None:
            self._header = await self._credentials.header()
        return self._header or None

    def _place(self) -> StreamAddress:
        """Where the stream is, and what its certificate has to stand up to."""
        authority = None if self._stream.is_loopback else self._scheduler.authority_file
        return stream_address(self._stream, "", authority if self._fingerprint is None else None, self._fingerprint)

    def _with_token(self, place: StreamAddress) -> StreamAddress:
        """Over TLS alone: in plain text, on this machine, nobody asks for it."""
        return place if place.authority is None else replace(place, token=self._header.removeprefix("Bearer "))

    async def _why(self, question: WhyQuestion) -> dict[str, Any]:
        """What the scheduler says of a pod, in the words of `fairway why -o json`."""
        from fairway.live.api.problems import LiveProblem
        from fairway.live.scheduler_client import ask
        from fairway.web.live.live_sources import page_answer
        from fairway.web.page_error import PageError

        about = "" if question.node is None else f"&node={quote(question.node)}"
        every = "&nodes=all" if question.all_nodes else ""
        pod = quote(f"{question.namespace}/{question.name}")
        try:
            found = await ask(self._scheduler, f"/fairway/v1/why?pod={pod}&text=yes{every}{about}", await self._token())
        except LiveProblem as problem:
            is_known = problem.exit_code != USAGE
            code = (503, "no_answer") if is_known else (404, "no_such_pod")
            raise PageError(*code, problem.what, problem.fix) from problem
        return page_answer(found)


def _beside(url: str) -> Address:
    """A stream of the same machine."""
    from fairway.stream.address import Address

    return Address(urlsplit(url).hostname or "", STREAM_PORT)


def _ignore(warning: str) -> None:
    """What the kubeconfig says of the API server's certificate is no danger: nobody talks to the API server here."""

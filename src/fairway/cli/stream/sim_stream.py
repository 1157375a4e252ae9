"""`fairway sim --stream`: a simulation that others follow as it goes.

In: where to listen. Out: a recorder for the simulation; it begins when the first reader is there, and its stream ends
when all readers have everything. Used by `fairway.cli.sim`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairway.cli.output import narrate
from fairway.cli.stream.options import need_stream
from fairway.exit_codes import USAGE

if TYPE_CHECKING:
    from fairway.record import Recorder
    from fairway.stream.address import Address

__all__ = ["streaming"]


@contextmanager
def streaming(listen: Address | None, num_simulations: int, *, is_timed: bool) -> Iterator[Recorder | None]:
    """The recorder to tell, also of plugins' times if those are taken; None if nobody asked for a stream."""
    if listen is None:
        yield None
        return
    from fairway.cli.main import CommandError

    need_stream("--stream")
    if num_simulations > 1:
        raise CommandError("--stream is for one simulation", "name one --policy", USAGE)
    if not listen.is_loopback:
        raise CommandError(
            f"--stream {listen}: a simulation knows nobody who could say who may read",
            "listen on 127.0.0.1; others reach it through a tunnel, such as ssh -L",
            USAGE,
        )
    from fairway.live.api.clock import wall_nanoseconds
    from fairway.stream.paced import PacedRecorder
    from fairway.stream.surroundings import Surroundings
    from fairway.stream.watch_service import WatchService

    recorder = PacedRecorder(secrets.token_hex(8))
    recorder.is_timed = is_timed
    recorder.service = WatchService(recorder, Surroundings(now=wall_nanoseconds))
    try:
        port = recorder.service.start(str(listen))
    except OSError as error:
        raise CommandError(str(error), "choose another --stream HOST:PORT") from None
    try:
        here = listen._replace(port=port)
        narrate(f"streaming on {here}; it begins when somebody reads: fairway watch {here}")
        recorder.wait_for_reader()
        yield recorder
        recorder.finish()
    finally:
        recorder.service.stop(is_final=True)

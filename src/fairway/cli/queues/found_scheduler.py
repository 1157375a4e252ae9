"""The scheduler that serves a queue, found on the cluster: the status of each Queue says where it answers questions.

In: a `QueueSource` of a cluster, and the queue that is meant, if any. Out: a `SchedulerAddress` with the fingerprint of
its certificate, so that a token goes to nobody else. What is wrong names what was looked for. Called by `when`, where
nobody gave --scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fairway.cli.queues.options import QueueCluster
from fairway.cli.run import live_errors
from fairway.exit_codes import USAGE

if TYPE_CHECKING:
    from fairway.live.batch.objects import QueueObject
    from fairway.live.scheduler_client import SchedulerAddress

__all__ = ["chosen_address", "find_scheduler", "found_errors"]


def find_scheduler(cluster: QueueCluster, queue: str | None) -> SchedulerAddress:
    """That of the queue, or of the only scheduler that serves any."""
    return live_errors(_found(cluster, queue))


async def _found(cluster: QueueCluster, queue: str | None) -> SchedulerAddress:
    from fairway.cli.output import narrate
    from fairway.explain.queues.cluster_moment import list_objects
    from fairway.live.api.clock import SystemClock
    from fairway.live.api.connection import Connection
    from fairway.live.batch.objects import QueueObject

    connection = await Connection.open(*cluster.live, user_agent_suffix="command", clock=SystemClock(), warn=narrate)
    try:
        return chosen_address(await list_objects(connection, connection.url, QueueObject), queue)
    finally:
        await connection.close()


def chosen_address(queues: Iterable[QueueObject], queue: str | None) -> SchedulerAddress:
    """Of what the queues' statuses say."""
    from fairway.live.scheduler_client import SchedulerAddress, SchedulerProblem

    known = {each.metadata.name: each for each in queues}
    if queue is not None and queue not in known:
        close = get_close_matches(queue, known, 1)
        there = f"there are {', '.join(sorted(known))}" if known else "there are no queues"
        fix = f"--queue {close[0]}" if close else "fairway queue lists them"
        raise SchedulerProblem(f"no queue {queue!r}", there, fix, USAGE)
    looked_at = [queue] if queue is not None else sorted(known)
    said: dict[tuple[str, str], list[str]] = {}
    for name in looked_at:
        status = known[name].status
        if isinstance(status.get("scheduler"), str) and status["scheduler"]:
            said.setdefault((status["scheduler"], str(status.get("fingerprint") or "")), []).append(name)
    if not said:
        names = ", ".join(looked_at) or "none: there are no queues"
        raise SchedulerProblem(
            "only the scheduler knows when a job would start that nobody has submitted, and none was found",
            f"looked for status.scheduler of queues ({names})",
            "is a `fairway run` leading that serves them, with --secure-port? else give --scheduler URL",
        )
    if len(said) > 1:
        names = "; ".join(f"{', '.join(served)}: {url}" for (url, _), served in sorted(said.items()))
        raise SchedulerProblem("queues are served by several schedulers", names, "say which one: --queue", USAGE)
    ((url, fingerprint),) = said
    return SchedulerAddress(url, fingerprint=fingerprint or None)


@contextmanager
def found_errors(address: SchedulerAddress, *, is_found: bool) -> Iterator[None]:
    """A scheduler that was found, and can not be reached from here, is told with how it was found."""
    from fairway.cli.main import CommandError
    from fairway.exit_codes import UNREACHABLE

    try:
        yield
    except CommandError as error:
        if not is_found or error.exit_code != UNREACHABLE:
            raise
        port = address.url.rpartition(":")[2]
        pin = "" if address.fingerprint is None else f" --certificate-fingerprint {address.fingerprint}"
        raise CommandError(
            f"{error} (found in the status of its queue)",
            f"from outside the cluster: kubectl port-forward to its pod, then --scheduler https://localhost:{port}{pin}",
            UNREACHABLE,
        ) from error

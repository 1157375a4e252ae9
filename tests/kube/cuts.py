"""A scheduler of queues that is killed at one of its requests: before the server hears of it, or when it is done.

In: a control plane and a `Cut`. Out: within `killed_at` a scheduler works, and behind it that one was killed there; the
next one has yet to be started.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.kube.batch import CONFIGURATION
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import PATIENCE, proxy_of
from tests.kube.processes import wait_until

__all__ = ["Cut", "killed_at"]


class Cut(NamedTuple):
    """Where a scheduler is killed."""

    title: str
    method: str
    path: str
    body: str = ""
    action: str = "applied"


@contextmanager
def killed_at(plane: ControlPlane, cut: Cut, *flags: str) -> Iterator[None]:
    """What is done inside, leads to that request."""
    with proxy_of(plane) as proxy:
        scheduler = plane.start_fairway(CONFIGURATION, kubeconfig=plane.kubeconfig(url=proxy.url), flags=flags)
        killed: list[bool] = []

        def kill() -> None:
            scheduler.kill()
            killed.append(True)

        proxy.add(cut.method, cut.path, cut.action, times=1, body=cut.body, then=kill)
        yield
        wait_until(lambda: bool(killed), f"it is killed {cut.title}", PATIENCE)

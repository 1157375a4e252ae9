"""Objects of a live cluster with all of their fields, read one by one when somebody asks.

In: a kubeconfig and a context, or neither. Out: a `WrittenForms`: the tree of an object as the API server gives it out,
or None if it has none of that name or does not let us read it. `live_cluster` reads what schedulers watch, which is
less of each object and fewer kinds. Opened by the command `try` while it reads files; reads only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection
from fairway.live.api.problems import LiveProblem

__all__ = ["LiveForms"]

APPS: Final = "/apis/apps/v1"
PATHS: Final = {
    "Pod": ("/api/v1", "pods"),
    "Deployment": (APPS, "deployments"),
    "ReplicaSet": (APPS, "replicasets"),
    "StatefulSet": (APPS, "statefulsets"),
    "DaemonSet": (APPS, "daemonsets"),
    "ControllerRevision": (APPS, "controllerrevisions"),
    "Rollout": ("/apis/argoproj.io/v1alpha1", "rollouts"),
    "CloneSet": ("/apis/apps.kruise.io/v1alpha1", "clonesets"),
}
FOUND: Final = 200


class LiveForms:
    """One connection for as long as it is open, made when the first object is asked for."""

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._runner = asyncio.Runner()
        self._connection: Connection | None = None
        self._known: dict[tuple[str, str, str], Mapping[str, Any] | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._runner.run(self._connection.close())
        self._runner.close()

    def find(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The object; None if it is not there, or may not be read."""
        key = kind, namespace, name
        if key not in self._known:
            self._known[key] = self._runner.run(self._read(*key)) if kind in PATHS and name else None
        return self._known[key]

    async def _read(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        group, plural = PATHS[kind]
        try:
            if self._connection is None:
                self._connection = await Connection.open(
                    self._kubeconfig, self._context, user_agent_suffix="command", clock=SystemClock()
                )
            answer = await self._connection.request("GET", f"{group}/namespaces/{namespace}/{plural}/{name}")
        except LiveProblem:
            return None
        if answer.status != FOUND:
            return None
        try:
            tree = msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            return None
        return tree if isinstance(tree, dict) else None

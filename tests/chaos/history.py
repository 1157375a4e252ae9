"""Everything that happened to pods, as a watch tells it, and every binding, as the audit log tells it.

In: a control plane. Out: `History.sightings`, in the order of the API's own versions, `History.pods`, the last state
of each, and `accepted_bindings`. A thread watches all namespaces; when the watch breaks (an API server restarts) it
goes on from the last version, and when that is gone it lists again: what changed in between is then seen as one change,
which is counted (`num_gaps`). Started by `stage` before the first pod of a round.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlencode

from tests.chaos.pod_state import Binding, PodState, Sighting, pod_state
from tests.kube.api import ApiError, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import wait_until

__all__ = ["History", "accepted_bindings", "audit_flags"]

RETRY_SECONDS: Final = 0.1


class History:
    """A watch of all pods that remembers everything."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.sightings: list[Sighting] = []
        self.pods: dict[str, PodState] = {}  # by uid
        self.num_gaps = -1  # the first list is none
        self._control_plane = control_plane
        self._context = ssl.create_default_context(cafile=str(control_plane.ca_file))
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._connection: http.client.HTTPSConnection | None = None
        self._thread = threading.Thread(target=self._follow, name="chaos-history", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self.num_gaps >= 0, "the history of pods begins")
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):  # it may have broken by itself
                connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=30)

    def current(self) -> list[PodState]:
        """All pods as they were last seen."""
        with self._lock:
            return list(self.pods.values())

    def catch_up(self, seconds: float = 60) -> list[PodState]:
        """Wait until the watch knows all that a list says; returns that list."""
        listed: list[PodState] = []

        def is_there() -> bool:
            listed[:] = map(pod_state, self._control_plane.api().items("Pod"))
            return {pod.uid: pod.version for pod in self.current()} == {pod.uid: pod.version for pod in listed}

        wait_until(is_there, "the watch has seen what is listed", seconds, every=0.2)
        return listed

    # -- the thread --------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        version = ""
        while not self._over.is_set():
            try:
                version = version or self._list()
                for event in self._watch(version):
                    if event["type"] == "ERROR":
                        version = ""  # the history that we need is gone
                        break
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._note(event["type"], pod_state(event["object"]))
            except (ApiError, OSError, ValueError, http.client.HTTPException):
                self._over.wait(RETRY_SECONDS)  # an API server that restarts

    def _list(self) -> str:
        answer = self._control_plane.api().request("GET", "/api/v1/pods")
        listed = {state.uid: state for state in map(pod_state, answer["items"])}
        for uid, state in list(self.pods.items()):
            if uid not in listed:
                self._note("DELETED", state)
        for uid, state in listed.items():
            known = self.pods.get(uid)
            if known is None or known.version != state.version:
                self._note("MODIFIED" if known else "ADDED", state)
        self.num_gaps += 1
        return str(answer["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> Iterator[Json]:
        query = urlencode({"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version})
        port = self._control_plane.port
        self._connection = connection = http.client.HTTPSConnection("127.0.0.1", port, context=self._context)
        try:
            headers = {"Authorization": f"Bearer {self._control_plane.token()}"}
            connection.request("GET", f"/api/v1/pods?{query}", headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                response.read()
                yield {"type": "ERROR"}
                return
            while line := response.readline():
                yield json.loads(line)
        finally:
            connection.close()

    def _note(self, verb: Any, state: PodState) -> None:
        with self._lock:
            self.sightings.append(Sighting(verb, state))
            if verb == "DELETED":
                self.pods.pop(state.uid, None)
            else:
                self.pods[state.uid] = state


def audit_flags(directory: Path) -> tuple[Path, list[str]]:
    """Flags for an API server that writes down bindings, and nothing else; and the file where it does."""
    directory.mkdir(parents=True, exist_ok=True)
    resources = [{"group": "", "resources": ["pods/binding"]}]
    rules = [
        {"level": "Request", "verbs": ["create"], "resources": resources, "omitStages": ["RequestReceived"]},
        {"level": "None"},
    ]
    policy, log = directory / "bindings-policy.json", directory / "bindings.jsonl"
    policy.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}))
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]
    return log, flags


def accepted_bindings(log: Path, offset: int = 0) -> list[Binding]:
    """The bindings that the API server has accepted, from an offset of its audit log on."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(offset)
        lines = [line for line in file if b'"subresource":"binding"' in line]
    found = []
    for record in map(json.loads, lines):
        if record["stage"] == "ResponseComplete" and record["responseStatus"]["code"] == 201:
            body, about = record["requestObject"], record["objectRef"]
            uid = body["metadata"].get("uid", "")
            found.append(Binding(f"{about['namespace']}/{about['name']}", uid, body["target"]["name"]))
    return found

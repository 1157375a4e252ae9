"""The server forgets while the scheduler stands still: compaction and a restart.

In: a `Stage`. Out: the same, after the scheduler was frozen while pods came and went, etcd's history was compacted and
the API server restarted; it has to find out by listing everything anew. A row of `kinds.table`.
"""

from __future__ import annotations

import base64
import json
import urllib.request

from tests.chaos.stage import Stage

__all__ = ["compaction"]


def compaction(stage: Stage) -> None:
    """Half of the pods arrive, the scheduler stands still, the world goes on and forgets, the other half arrives."""
    if not stage.schedulers:
        stage.launch()
    (scheduler,) = stage.schedulers
    pods = stage.pods()
    half = len(pods) // 2
    with stage.arrivals(pods[:half]):
        stage.wait_for_bindings(10, 15)
    scheduler.freeze()
    for pod in stage.some_pods(half // 4):
        stage.delete_pod(pod)
        stage.deeds["deleted unseen"] += 1
    node = stage.nodes[0]
    stage.api.delete("Node", node["metadata"]["name"])
    with stage.arrivals(pods[half : half + half // 2]):
        pass
    stage.api.create(node)
    _compact(stage.control_plane.etcd_url)
    stage.control_plane.restart_api_server()
    stage.deeds["compactions and restarts"] += 1
    scheduler.thaw()
    with stage.arrivals(pods[half + half // 2 :]):
        pass


def _compact(etcd_url: str) -> None:
    """Let etcd forget everything but the present; through its JSON gateway, where numbers are strings."""
    key = base64.b64encode(b"\0").decode()
    revision = _ask(f"{etcd_url}/v3/kv/range", {"key": key, "limit": "1"})["header"]["revision"]
    _ask(f"{etcd_url}/v3/kv/compaction", {"revision": revision, "physical": True})


def _ask(url: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        answer: dict[str, dict[str, str]] = json.loads(response.read())
        return answer

"""A fake API server in a thread, with a kubeconfig: for commands, which have a loop of their own.

In: objects. Out: the path of a kubeconfig whose context `lab` is that server.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live.fake_api_server import FakeApiServer, Tree


@contextmanager
def served(folder: Path, *objects: tuple[str, Tree]) -> Iterator[Path]:
    """Serve while the block lasts."""
    loop = asyncio.new_event_loop()
    api = FakeApiServer()

    async def start() -> None:
        await api.start()
        for resource, tree in objects:
            api.put(resource, tree)

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield write_kubeconfig(folder / "kubeconfig", api.url)
    finally:
        asyncio.run_coroutine_threadsafe(api.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def write_kubeconfig(path: Path, url: str, **user: object) -> Path:
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(tree))
    return path

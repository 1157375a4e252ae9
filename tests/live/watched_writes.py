"""A process that connects with keys from a kubeconfig and tells which files it opened for writing.

`python -m tests.live.watched_writes (data|exec) FOLDER` connects to a server that wants a client certificate, lets a
minute pass, finds another certificate in the kubeconfig and connects with it. Prints a JSON list. An audit hook
sees every file that Python opens, wherever it is, and those that are gone again by the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from fairway.live.api.connection import Connection
from tests.kube.certificates import Authority, KeyPair
from tests.live.fake_api_server import FakeApiServer
from tests.live.identities import credential, data, inline, server_context, write_config, write_plugin
from tests.live.virtual_clock import VirtualClock

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def watch_writes() -> list[str]:
    """The paths that are opened for writing from now on."""
    written: list[str] = []

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & WRITING and not isinstance(path, int) and path != os.devnull:
                written.append(os.fspath(path))
        elif event in ("tempfile.mkstemp", "tempfile.mkdtemp", "os.mkdir"):
            written.append(f"{event} {arguments[0]}")

    sys.addaudithook(look)
    return written


async def connect(way: str, folder: Path) -> list[str]:
    """Connect twice, as two users."""
    authority = Authority(folder)
    users = authority.client("first"), authority.client("second")
    api, clock, seen = FakeApiServer(), VirtualClock(), []
    await api.start(tls=server_context(authority, wants_client=True))

    async def look(request: web.Request, go_on: object) -> web.StreamResponse | None:
        subject = request.get_extra_info("peercert")["subject"]
        seen.append(dict(part for parts in subject for part in parts)["commonName"])
        return None

    api.fault("GET", "/version", look, times=2)
    path = folder / "config"

    def write(pair: KeyPair) -> None:
        user: dict[str, Any] = dict(inline(pair))
        if way == "exec":
            answer = {"clientCertificateData": pair.certificate.read_text(), "clientKeyData": pair.key.read_text()}
            (folder / "answer").write_text(credential(**answer))
            user = {"exec": write_plugin(folder / "plugin", f"cat {folder / 'answer'}")}
        write_config(path, api.url, {"certificate-authority-data": data(authority.file)}, user)

    written = watch_writes()
    write(users[0])
    expected = list(written)  # the kubeconfig itself
    connection = await Connection.open(path, clock=clock)
    await connection.check()
    write(users[1])
    clock.jump(61)
    await connection.check()
    await connection.close()
    await api.stop()
    assert seen == ["first", "second"], seen
    return [name for name in written if name not in expected]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(connect(sys.argv[1], Path(sys.argv[2])))))  # noqa: T201 - its one answer

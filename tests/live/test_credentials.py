"""Credentials: who is trusted, what is read anew, and where keys do not go."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
import stat
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fairway.cli.main import main
from fairway.live.api.certificates import as_file, as_memory_file
from fairway.live.api.connection import Connection
from fairway.live.api.credentials import Credentials
from fairway.live.api.problems import BrokenKubeconfig, Unreachable
from tests.kube.certificates import Authority
from tests.live.fake_api_server import FakeApiServer
from tests.live.identities import credential, data, inline, server_context, write_config, write_plugin
from tests.live.virtual_clock import VirtualClock

ROOT = Path(__file__).parents[2]
UNCHECKED = {"insecure-skip-tls-verify": True}


def play(folder: Path, story: Callable[[FakeApiServer, Authority], Awaitable[None]]) -> None:
    """A story with a server that has a certificate."""

    async def run() -> None:
        authority, api = Authority(folder), FakeApiServer()
        await api.start(tls=server_context(authority))
        try:
            await story(api, authority)
        finally:
            await api.stop()

    asyncio.run(run())


# -- the server's certificate ------------------------------------------------------------------------------------------


def test_whether_the_certificate_is_checked_is_read_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the same certificates, and while connected: for a GET and for a POST, which goes another way."""
    path = tmp_path / "config"

    async def story(api: FakeApiServer, authority: Authority) -> None:
        clock = VirtualClock()
        connection = await Connection.open(write_config(path, api.url, UNCHECKED, {}), clock=clock)
        await connection.check()
        assert (await connection.request("POST", "/api/v1/nodes", body=b"{}")).status
        write_config(path, api.url, {}, {})  # the system's authorities do not know this server
        clock.jump(61)
        with pytest.raises(Unreachable, match="certificate"):
            await connection.request("POST", "/api/v1/nodes", body=b"{}")
        with pytest.raises(Unreachable, match="certificate"):
            await connection.check()
        write_config(path, api.url, UNCHECKED, {})
        clock.jump(61)
        await connection.check()
        await connection.close()

    with caplog.at_level(logging.INFO):
        play(tmp_path, story)
    told = [(record.levelname, record.getMessage()) for record in caplog.records if "certificate" in record.msg]
    assert [level for level, _ in told] == ["WARNING", "INFO", "WARNING"]
    assert "insecure-skip-tls-verify" in told[0][1]
    assert "is checked from now on" in told[1][1]


def test_a_danger_is_told_once_and_not_every_minute(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer, authority: Authority) -> None:
        clock = VirtualClock()
        connection = await Connection.open(write_config(tmp_path / "config", api.url, UNCHECKED, {}), clock=clock)
        for _ in range(5):
            clock.jump(61)
            await connection.check()
        await connection.close()

    play(tmp_path, story)
    assert len([record for record in caplog.records if "insecure-skip-tls-verify" in record.msg]) == 1


def test_no_warning_where_the_certificate_is_checked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer, authority: Authority) -> None:
        cluster = {"certificate-authority-data": data(authority.file)}
        connection = await Connection.open(write_config(tmp_path / "config", api.url, cluster, {}))
        await connection.check()
        await connection.close()

    play(tmp_path, story)
    assert caplog.records == []


def test_commands_warn_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_config(tmp_path / "config", "https://127.0.0.1:1", UNCHECKED, {})
    assert main(["status", "--kubeconfig", str(path)]) == 4
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning:")]
    assert "the API server at https://127.0.0.1:1 is not checked (insecure-skip-tls-verify)" in line


@pytest.mark.parametrize("value", ["false", "true", 1, [True]], ids=str)
def test_a_flag_is_true_or_false_and_nothing_else(tmp_path: Path, value: object) -> None:
    path = write_config(tmp_path / "config", "https://127.0.0.1:1", {"insecure-skip-tls-verify": value}, {})
    with pytest.raises(BrokenKubeconfig, match="insecure-skip-tls-verify is neither true nor false"):
        asyncio.run(Connection.open(path))


# -- in a pod ----------------------------------------------------------------------------------------------------------


def test_a_pod_is_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token is read again: kubelets renew it."""

    async def story(api: FakeApiServer, authority: Authority) -> None:
        host, port = api.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        (tmp_path / "token").write_text("one\n")
        clock = VirtualClock()
        credentials = Credentials("", None, None, clock, service_account=tmp_path)
        await credentials.renew()
        assert (credentials.url, await credentials.header()) == (api.url, "Bearer one")
        connection = Connection(credentials, clock, "test", None)
        await connection.check()
        await connection.close()
        (tmp_path / "token").write_text("two")
        clock.jump(61)
        assert await credentials.header() == "Bearer two"
        (tmp_path / "token").unlink()
        clock.jump(61)
        with pytest.raises(BrokenKubeconfig, match=r"of the service account can not be used[\s\S]*No such file"):
            await credentials.header()

    play(tmp_path, story)


# -- renewal -----------------------------------------------------------------------------------------------------------


def test_many_requests_at_once_start_one_plugin(tmp_path: Path) -> None:
    """When the minute is over, and when the server refuses all of them."""
    count = tmp_path / "count"
    plugin = write_plugin(tmp_path / "plugin", f"echo x >> {count}; echo '{credential(token='t')}'")

    async def story() -> list[int]:
        clock = VirtualClock()
        path = write_config(tmp_path / "config", "https://127.0.0.1:1", {}, {"exec": plugin})
        credentials = await Credentials.load(path, None, None, clock)
        counts = [len(count.read_text().split())]
        clock.jump(61)
        assert await asyncio.gather(*(credentials.header() for _ in range(50))) == ["Bearer t"] * 50
        counts.append(len(count.read_text().split()))
        await asyncio.gather(*(credentials.renew() for _ in range(50)))
        counts.append(len(count.read_text().split()))
        await credentials.renew()
        counts.append(len(count.read_text().split()))
        return counts

    assert asyncio.run(story()) == [1, 2, 3, 4]


def test_many_requests_at_once_share_one_failure(tmp_path: Path) -> None:
    """They do not wait for one another's plugins, each of which may take its whole minute."""
    count = tmp_path / "count"
    plugin = write_plugin(tmp_path / "plugin", f"echo x >> {count}; echo '{credential(token='t')}'")

    async def story() -> None:
        clock = VirtualClock()
        path = write_config(tmp_path / "config", "https://127.0.0.1:1", {}, {"exec": plugin})
        credentials = await Credentials.load(path, None, None, clock)
        write_plugin(tmp_path / "plugin", f"echo x >> {count}; exit 1")
        clock.jump(61)
        answers = await asyncio.gather(*(credentials.header() for _ in range(50)), return_exceptions=True)
        assert all(isinstance(answer, BrokenKubeconfig) for answer in answers)
        assert len(count.read_text().split()) == 2
        write_plugin(tmp_path / "plugin", f"echo x >> {count}; echo '{credential(token='new')}'")
        assert await credentials.header() == "Bearer new"

    asyncio.run(story())


# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["data", "exec"])
def test_keys_of_a_kubeconfig_touch_no_disk(tmp_path: Path, way: str) -> None:
    """Loaded and renewed, from the kubeconfig and from an exec plugin."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "tests.live.watched_writes", way, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
    assert list(temporary.iterdir()) == []


def test_bytes_are_a_file_for_a_while() -> None:
    with as_file(b"x" * 200_000) as path:
        assert Path(path).read_bytes() == b"x" * 200_000
        assert Path(path).stat().st_nlink == 0  # no folder has it


@pytest.mark.parametrize("has_memory", [True, False], ids=["in memory", "nowhere else"])
def test_without_nameless_files_it_is_one_of_our_own(tmp_path: Path, has_memory: bool) -> None:
    memory = tmp_path / "memory"
    if has_memory:
        memory.mkdir()
    with as_memory_file(b"secret", (str(memory),)) as path:
        file = Path(path)
        assert file.parent.parent == (memory if has_memory else Path(tempfile.gettempdir()))
        assert file.read_bytes() == b"secret"
        assert [stat.S_IMODE(one.stat().st_mode) for one in (file.parent, file)] == [0o700, 0o600]
    assert not file.parent.exists()


def test_a_new_key_makes_a_new_context_and_an_old_one_none(tmp_path: Path) -> None:
    """Open connections belong to their context: they go on as long as nothing has changed."""
    authority, clock, path = Authority(tmp_path), VirtualClock(), tmp_path / "config"
    users = [inline(authority.client(name)) for name in ("first", "second")]

    async def contexts() -> list[ssl.SSLContext | None]:
        write_config(path, "https://127.0.0.1:1", {}, users[0])
        credentials = await Credentials.load(path, None, None, clock)
        found = [credentials.ssl]
        for user in users:
            write_config(path, "https://127.0.0.1:1", {}, user)
            clock.jump(61)
            await credentials.header()
            found.append(credentials.ssl)
        return found

    first, same, other = asyncio.run(contexts())
    assert first is same is not other

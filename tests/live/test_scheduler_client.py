"""Our token is a password: who gets to see it?"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from fairway.live.api.certificates import as_file, fingerprint, self_signed
from fairway.live.api.problems import LiveProblem
from fairway.live.scheduler_client import SchedulerAddress, ask

TOKEN = "Bearer the-secret"


class Listener:
    """A server that notes which tokens it is shown; it may send people elsewhere."""

    def __init__(self, url: str, certificate: bytes) -> None:
        self.url = url
        self.certificate = certificate
        self.tokens: list[str | None] = []
        self.redirects_to: str | None = None
        self.body: str | None = None

    async def answer(self, request: web.Request) -> web.Response:
        self.tokens.append(request.headers.get("Authorization"))
        if self.redirects_to is not None:
            raise web.HTTPFound(self.redirects_to)
        return web.json_response({"path": request.path}) if self.body is None else web.Response(text=self.body)


@contextlib.asynccontextmanager
async def listening(is_secure: bool = True) -> AsyncIterator[Listener]:
    certificate, key = self_signed()
    context = None
    if is_secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with as_file(certificate) as cert_file, as_file(key) as key_file:
            context.load_cert_chain(cert_file, key_file)
    listener = Listener("", certificate)
    app = web.Application()
    app.router.add_get("/{path:.*}", listener.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    host, port = runner.addresses[0][:2]
    listener.url = f"{'https' if is_secure else 'http'}://{host}:{port}"
    try:
        yield listener
    finally:
        await runner.cleanup()


async def asked(address: SchedulerAddress) -> dict[str, str]:
    return await ask(address, "/fairway/v1/status", TOKEN)


def test_nothing_is_sent_over_http() -> None:
    async def story() -> None:
        async with listening(is_secure=False) as listener:
            with pytest.raises(LiveProblem, match="https://HOST:PORT") as caught:
                await asked(SchedulerAddress(listener.url))
            assert caught.value.exit_code == 2
            assert listener.tokens == []

    asyncio.run(story())


@pytest.mark.parametrize(
    "url", ["localhost:10259", "https://", "", "ftp://localhost", "https://[::1", "https://user:secret@localhost:1"]
)
def test_what_is_no_address_is_said(url: str) -> None:
    with pytest.raises(LiveProblem, match="that is not where a scheduler listens"):
        asyncio.run(asked(SchedulerAddress(url)))


def test_an_unknown_certificate_is_shown_no_token_on_loopback_either() -> None:
    async def story() -> None:
        async with listening() as listener:
            with pytest.raises(LiveProblem, match="--certificate-fingerprint") as caught:
                await asked(SchedulerAddress(listener.url))
            assert caught.value.exit_code == 4
            assert listener.tokens == []

    asyncio.run(story())


def test_the_fingerprint_from_the_log_is_enough() -> None:
    async def story() -> None:
        async with listening() as listener:
            address = SchedulerAddress(listener.url, fingerprint=fingerprint(listener.certificate))
            assert await asked(address) == {"path": "/fairway/v1/status"}
            assert listener.tokens == [TOKEN]

    asyncio.run(story())


def test_another_fingerprint_is_shown_no_token() -> None:
    async def story() -> None:
        async with listening() as listener:
            other, _ = self_signed()
            with pytest.raises(LiveProblem, match=fingerprint(listener.certificate)):
                await asked(SchedulerAddress(listener.url, fingerprint=fingerprint(other)))
            assert listener.tokens == []

    asyncio.run(story())


@pytest.mark.parametrize("text", ["", "sha256", "ab:cd", "g" * 64])
def test_what_is_no_fingerprint_is_said(text: str) -> None:
    with pytest.raises(LiveProblem, match="64 hexadecimal digits"):
        asyncio.run(asked(SchedulerAddress("https://localhost:1", fingerprint=text)))


def test_an_authority_can_be_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening() as listener:
            (tmp_path / "ca.crt").write_bytes(listener.certificate)
            address = SchedulerAddress(listener.url, authority_file=str(tmp_path / "ca.crt"))
            assert await asked(address) == {"path": "/fairway/v1/status"}

    asyncio.run(story())


@pytest.mark.parametrize("content", [None, b"no certificate", b"\xff\xfe"], ids=["missing", "text", "binary"])
def test_an_unusable_authority_is_said(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ca.crt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LiveProblem, match="can not be used"):
        asyncio.run(asked(SchedulerAddress("https://localhost:1", authority_file=str(path))))


def test_unchecked_is_for_those_who_say_so() -> None:
    async def story() -> None:
        async with listening() as listener:
            assert await asked(SchedulerAddress(listener.url, is_unchecked=True)) == {"path": "/fairway/v1/status"}

    asyncio.run(story())


@pytest.mark.parametrize("body", ["<html>", "[]", "[" * 100_000, "\u0000"], ids=["html", "list", "deep", "null"])
def test_somebody_elses_answer_is_told_as_such(body: str) -> None:
    async def story() -> None:
        async with listening() as listener:
            listener.body = body
            with pytest.raises(LiveProblem, match="is no scheduler of ours"):
                await asked(SchedulerAddress(listener.url, is_unchecked=True))

    asyncio.run(story())


def test_a_redirect_is_not_followed() -> None:
    async def story() -> None:
        async with listening() as listener, listening() as other:
            listener.redirects_to = f"{other.url}/fairway/v1/status"
            with pytest.raises(LiveProblem, match="sends us elsewhere"):
                await asked(SchedulerAddress(listener.url, is_unchecked=True))
            assert other.tokens == []

    asyncio.run(story())

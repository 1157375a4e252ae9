"""OpenID Connect: tokens are used while they are good, and renewed from nobody but the issuer."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fairway.live.api.auth_provider import OpenIdTokens
from fairway.live.api.kubeconfig import KubeconfigEntry
from fairway.live.api.problems import BrokenKubeconfig
from tests.kube.certificates import Authority
from tests.live.identities import data, server_context

NOW = 1_767_225_600.0


def token(end: float, name: str = "me") -> str:
    parts = [{"alg": "none"}, {"sub": name, "exp": end}]
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])


class Issuer:
    """A server that hands out tokens."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []  # refresh token, Authorization
        self.answer: Any = {}
        self.status = 200
        self.url = ""
        self.endpoint = ""

    async def start(self, tls: ssl.SSLContext) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._describe)
        app.router.add_post("/token", self._give)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _describe(self, request: web.Request) -> web.Response:
        return web.json_response({"token_endpoint": self.endpoint or f"{self.url}/token"})

    async def _give(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.asked.append((str(form["refresh_token"]), request.headers.get("Authorization", "")))
        return web.json_response(self.answer, status=self.status)


def user(issuer: Issuer, **config: Any) -> KubeconfigEntry:
    given = {"idp-issuer-url": issuer.url, "client-id": "fairway", "client-secret": "s3cret", **config}
    return KubeconfigEntry(Path("config"), "user", "u", {"auth-provider": {"name": "oidc", "config": given}})


def test_a_token_is_used_until_it_ends_and_then_renewed(tmp_path: Path) -> None:
    """With the refresh token that came last; nothing is asked for twice."""

    async def story() -> None:
        issuer, time = Issuer(), [NOW]
        authority = Authority(tmp_path)
        runner = await issuer.start(server_context(authority))
        tokens = OpenIdTokens(lambda: time[0])
        first, second, third = (token(NOW + end) for end in (600, 1200, 1800))
        trust = {"idp-certificate-authority-data": data(authority.file)}
        me = user(issuer, **{"id-token": first, "refresh-token": "r1", **trust})
        assert await tokens.header(me) == f"Bearer {first}"
        assert issuer.asked == []
        time[0] += 590
        issuer.answer = {"id_token": second, "refresh_token": "r2"}
        assert [await tokens.header(me) for _ in range(3)] == [f"Bearer {second}"] * 3
        time[0] += 600
        issuer.answer = {"id_token": third}
        assert await tokens.header(me) == f"Bearer {third}"
        assert issuer.asked == [(sent, f"Basic {data(b'fairway:s3cret')}") for sent in ("r1", "r2")]
        await runner.cleanup()

    asyncio.run(story())


def refusal(tmp_path: Path, issuer: Issuer, is_trusted: bool = True, config: dict[str, str] | None = None) -> str:
    async def story() -> str:
        authority = Authority(tmp_path)
        runner = await issuer.start(server_context(authority))
        trust = {"idp-certificate-authority": str(authority.file)} if is_trusted else {}
        try:
            with pytest.raises(BrokenKubeconfig) as caught:
                await OpenIdTokens(lambda: NOW).header(
                    user(issuer, **{"refresh-token": "r-s3cret", **trust, **(config or {})})
                )
        finally:
            await runner.cleanup()
        return caught.value.why

    words = asyncio.run(story())
    assert "s3cret" not in words
    return words


def test_an_issuer_that_nobody_vouches_for_sees_no_refresh_token(tmp_path: Path) -> None:
    issuer = Issuer()
    assert "certificate" in refusal(tmp_path, issuer, is_trusted=False)
    assert issuer.asked == []


def test_a_refresh_token_does_not_go_over_http(tmp_path: Path) -> None:
    issuer = Issuer()
    issuer.endpoint = "http://127.0.0.1:1/token"
    assert "over https only" in refusal(tmp_path, issuer)


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (400, {"error": "invalid_grant r-s3cret"}, "it answers 400"),
        (302, {}, "it answers 302"),
        (200, {}, "answers without an id_token"),
        (200, [], "could not be had"),
    ],
    ids=["refused", "redirected", "nothing", "another shape"],
)
def test_what_is_no_token_is_refused(tmp_path: Path, status: int, answer: Any, words: str) -> None:
    issuer = Issuer()
    issuer.status, issuer.answer = status, answer
    assert words in refusal(tmp_path, issuer)


@pytest.mark.parametrize("id_token", ["", "a.b", "a.b.c", token(NOW - 1)], ids=["none", "short", "noise", "ended"])
def test_without_a_good_token_and_a_refresh_token_somebody_has_to_log_in(tmp_path: Path, id_token: str) -> None:
    words = refusal(tmp_path, Issuer(), config={"id-token": id_token, "refresh-token": ""})
    assert "there is no refresh-token" in words

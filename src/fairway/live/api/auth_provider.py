"""Auth providers of a kubeconfig's user: OpenID Connect, as kubectl still has it.

In: a user with `auth-provider`. Out: the Authorization header. An id token that is still good is used as it is; else a
new one is asked for with the refresh token, over https from a server whose certificate is checked, and kept in memory:
nothing is written back into the kubeconfig. The providers that kubectl dropped (gcp, azure) are refused, with what took
their place. Called by `credentials`.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus, urlsplit

import aiohttp
import msgspec

from fairway.live.api.certificates import client_context
from fairway.live.api.kubeconfig import KubeconfigEntry
from fairway.live.api.problems import BrokenKubeconfig

__all__ = ["OpenIdTokens"]

SECONDS = 30
SPARE_SECONDS = 60.0
"""A token that ends this soon is as good as ended."""
MAX_BYTES = 1 << 20
SUCCESSORS = {"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin"}


class OpenIdTokens:
    """The tokens of a user, renewed when they end."""

    def __init__(self, wall_time: Callable[[], float]) -> None:
        self._wall_time = wall_time
        self._given: Mapping[str, Any] = {}  # what the kubeconfig said when we asked for new ones
        self._id_token = ""
        self._refresh_token = ""

    async def header(self, user: KubeconfigEntry) -> str:
        """The Authorization header for a user; raises `BrokenKubeconfig`."""
        settings = _settings(user)
        if settings != self._given:
            self._given = settings
            self._id_token = str(settings.get("id-token") or "")
            self._refresh_token = str(settings.get("refresh-token") or "")
        if _end(self._id_token) < self._wall_time() + SPARE_SECONDS:
            await self._refresh(user, settings)
        return f"Bearer {self._id_token}"

    async def _refresh(self, user: KubeconfigEntry, settings: Mapping[str, Any]) -> None:
        if not self._refresh_token:
            raise _broken(user, "the id-token has ended, and there is no refresh-token")
        issuer, client = (str(settings.get(name) or "") for name in ("idp-issuer-url", "client-id"))
        secret = str(settings.get("client-secret") or "")
        try:
            async with aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=_trust(user, settings)),
                timeout=aiohttp.ClientTimeout(total=SECONDS),
                trust_env=True,
            ) as session:
                described = await _ask(session, "GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
                form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token, "client_id": client}
                headers = {"Authorization": _basic(client, secret)} if secret else {}
                given = await _ask(session, "POST", str(described.get("token_endpoint")), data=form, headers=headers)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            words = str(error) or type(error).__name__
            raise _broken(user, f"a new token could not be had from {issuer}: {words}") from None
        if not isinstance(given.get("id_token"), str):
            raise _broken(user, f"{issuer} answers without an id_token")
        self._id_token = given["id_token"]
        self._refresh_token = str(given.get("refresh_token") or self._refresh_token)


def _settings(user: KubeconfigEntry) -> Mapping[str, Any]:
    provider = user.fields.get("auth-provider")
    provider = provider if isinstance(provider, dict) else {}
    name, settings = str(provider.get("name")), provider.get("config")
    if name in SUCCESSORS:
        fix = f"kubectl dropped it as well: use the exec plugin {SUCCESSORS[name]}"
        raise user.broken("auth-provider", f"{name} is not supported", fix)
    if name != "oidc" or not isinstance(settings, dict):
        raise user.broken("auth-provider", "is not oidc with a config", "use an exec plugin")
    return dict(settings)


async def _ask(session: aiohttp.ClientSession, method: str, url: str, **options: Any) -> dict[str, Any]:
    """One request; its answer's JSON. What an error says is not repeated: it may hold what we sent."""
    if urlsplit(url).scheme != "https":
        raise ValueError("a refresh token is sent over https only")
    async with session.request(method, url, allow_redirects=False, **options) as answer:
        body = await answer.content.read(MAX_BYTES)
        while len(body) < MAX_BYTES and (chunk := await answer.content.read(MAX_BYTES - len(body))):
            body += chunk
        if answer.status != 200:
            raise ValueError(f"it answers {answer.status}")
        return msgspec.json.decode(body, type=dict[str, Any])


def _trust(user: KubeconfigEntry, settings: Mapping[str, Any]) -> ssl.SSLContext:
    field = "idp-certificate-authority"
    named = {name: settings[name] for name in (field, f"{field}-data") if name in settings}
    return client_context(KubeconfigEntry(user.file, "user", user.name, named).content(field))


def _basic(client: str, secret: str) -> str:
    """Of RFC 6749, section 2.3.1: both are encoded as in a form first."""
    return "Basic " + base64.b64encode(f"{quote_plus(client)}:{quote_plus(secret)}".encode()).decode()


def _end(token: str) -> float:
    """When a JSON web token ends, in seconds since 1970; -inf if it can not be read, inf if it does not."""
    try:
        _, payload, _ = token.split(".")
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=dict[str, Any])
        return float(claims.get("exp", "inf"))
    except (ValueError, TypeError, msgspec.DecodeError):
        return float("-inf")


def _broken(user: KubeconfigEntry, why: str) -> BrokenKubeconfig:
    return user.broken("auth-provider oidc:", why, "log in again")

"""Which API server, and as whom: kubeconfig or service account, kept fresh.

In: the paths and names a user gave, or nothing. Out: `Credentials`: the server's address, a TLS context and, on
demand, the Authorization header. Tokens in files, exec plugins and auth providers are asked again every minute, and
at once when the server answers 401; certificates, keys and whether to check the server's likewise. Keys go from the
kubeconfig to OpenSSL through memory and are never written to a disk. `connection` and the commands that ask a
scheduler use this; nothing here is ever printed.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fairway.live.api.auth_provider import OpenIdTokens
from fairway.live.api.certificates import as_file, client_context
from fairway.live.api.clock import Clock
from fairway.live.api.exec_plugin import run_plugin
from fairway.live.api.kubeconfig import ChosenContext, read_context
from fairway.live.api.kubeconfig_faults import find_fault
from fairway.live.api.problems import BrokenKubeconfig, NoKubeconfig

__all__ = ["Credentials"]

logger = logging.getLogger(__name__)
REFRESH_SECONDS = 60.0
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Trust(NamedTuple):
    """What a TLS context is made from (PEM); contexts of equal ones are alike."""

    authorities: bytes = b""  # b"": the system's
    certificate: bytes = b""
    key: bytes = b""
    is_unchecked: bool = False  # insecure-skip-tls-verify

    def context(self) -> ssl.SSLContext:
        """The context; raises `OSError` (of which `SSLError` is one) or `ValueError`."""
        context = client_context(self.authorities)
        with ExitStack() as stack:
            if self.certificate:
                key = stack.enter_context(as_file(self.key)) if self.key else None
                context.load_cert_chain(stack.enter_context(as_file(self.certificate)), key)
        if self.is_unchecked:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


class Credentials:
    """Address and identity for one API server."""

    def __init__(
        self,
        path: str,
        context: str | None,
        master: str | None,
        clock: Clock,
        warn: Callable[[str], None] | None = None,
        service_account: Path = SERVICE_ACCOUNT,
    ) -> None:
        """`path`: a kubeconfig, or several as in KUBECONFIG; "": the service account of this pod.

        `warn` is for commands: a person is there, who is told of dangers and may be asked by exec plugins. Without it
        dangers are logged.
        """
        self._path = path
        self._context = context
        self._master = master
        self._clock = clock
        self._warn = warn
        self._service_account = service_account
        self._read_at = 0.0
        self._num_reads = 0
        self._problem: BrokenKubeconfig | None = None  # of the last reading
        self._reading = asyncio.Lock()
        self._header = ""
        self._trust: Trust | None = None
        self._openid = OpenIdTokens(clock.now)
        self.url = ""
        self.ssl: ssl.SSLContext | None = None
        self.server_name: str | None = None
        self.proxy: str | None = None
        self.namespace = "default"  # the context's, or that of this pod

    @classmethod
    async def load(
        cls,
        kubeconfig: str | os.PathLike[str] | None,
        context: str | None,
        master: str | None,
        clock: Clock,
        warn: Callable[[str], None] | None = None,
    ) -> Credentials:
        """Find and read credentials; raises `NoKubeconfig` or `BrokenKubeconfig`."""
        path = _find(kubeconfig, context, master)
        credentials = cls(path, context, master, clock, warn)
        await credentials.renew()
        return credentials

    async def header(self) -> str:
        """The Authorization header; empty if the identity is a certificate, or there is none."""
        if self._clock.monotonic() - self._read_at > REFRESH_SECONDS:
            await self.renew()
        return self._header

    async def renew(self) -> None:
        """Read everything again; many who want that at once wait for one reading, so that one plugin is started."""
        before = self._num_reads
        async with self._reading:
            if self._num_reads == before:
                self._problem = None
                try:
                    await self._read()
                except BrokenKubeconfig as problem:
                    self._problem = problem
                self._num_reads += 1
        if self._problem is not None:
            raise self._problem

    async def _read(self) -> None:
        if self._path:
            await self._read_kubeconfig()
        elif self._master is not None:
            self.url = self._master.rstrip("/")
            self.ssl = ssl.create_default_context() if self.url.startswith("https") else None
            self._read_at = float("inf")
            return
        else:
            self._read_service_account()
        self._read_at = self._clock.monotonic()

    async def _read_kubeconfig(self) -> None:
        chosen = read_context(self._path, self._context)
        cluster, user = chosen.cluster, chosen.user
        url = (self._master or cluster.text("server")).rstrip("/")
        if urlsplit(url).scheme not in ("http", "https"):
            raise cluster.broken("server", "is not an address", "write https://HOST:PORT")
        certificate, key = user.content("client-certificate"), user.content("client-key")
        if user.fields.get("auth-provider"):
            header = await self._openid.header(user)
        elif user.fields.get("exec"):
            given = await run_plugin(chosen, has_person=self._warn is not None)
            header = f"Bearer {given.token}" if given.token else ""
            if given.certificate:
                certificate, key = given.certificate, given.key
        else:
            header = _static_header(chosen)
        self.url, self.namespace = url, chosen.namespace
        self._header = header
        self.server_name = cluster.text("tls-server-name") or None
        self.proxy = cluster.text("proxy-url") or _environment_proxy(url)
        if url.startswith("https"):
            is_unchecked = cluster.flag("insecure-skip-tls-verify")
            self._rely_on(Trust(cluster.content("certificate-authority"), certificate, key, is_unchecked), chosen)

    def _read_service_account(self) -> None:
        """As kubelets put it into pods."""
        host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
        try:
            token = (self._service_account / "token").read_text().strip()
            authorities = (self._service_account / "ca.crt").read_bytes()
            namespace = self._service_account / "namespace"
            self.namespace = (namespace.read_text().strip() if namespace.is_file() else "") or "default"
        except OSError as error:
            raise self._broken(f"{error.filename}: {error.strerror}") from None
        if not (host and port and token and authorities):
            raise self._broken("KUBERNETES_SERVICE_HOST and _PORT, the token and ca.crt must not be empty")
        self.url = self._master or f"https://{f'[{host}]' if ':' in host else host}:{port}"
        self._header = f"Bearer {token}"
        self.proxy = _environment_proxy(self.url)
        self._rely_on(Trust(authorities), None)

    def _broken(self, words: str) -> BrokenKubeconfig:
        return BrokenKubeconfig(self._path or "of the service account", words)

    def _rely_on(self, trust: Trust, chosen: ChosenContext | None) -> None:
        """Make a TLS context, unless it would be the same: open connections belong to their context."""
        if trust == self._trust:
            return
        try:
            context = trust.context()
        except (OSError, ValueError) as error:
            fault = find_fault(chosen) if chosen is not None else None
            raise fault or self._broken(f"a certificate or key: {error}") from None
        was_unchecked = self._trust is not None and self._trust.is_unchecked
        self.ssl, self._trust = context, trust
        if trust.is_unchecked and not was_unchecked:
            self._tell(
                f"the certificate of the API server at {self.url} is not checked (insecure-skip-tls-verify): "
                "whoever answers in its place sees our credentials and decides what we see"
            )
        elif was_unchecked and not trust.is_unchecked:
            logger.info("the certificate of the API server is checked from now on", extra={"server": self.url})

    def _tell(self, words: str) -> None:
        if self._warn is not None:
            self._warn(f"warning: {words}")
        else:
            logger.warning(words)


def _static_header(chosen: ChosenContext) -> str:
    """From a token, a file with one, or a name and a password."""
    user = chosen.user
    token = user.text("token")
    if not token and (path := user.text("tokenFile")):
        try:
            token = user.beside(path).read_text()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise user.broken("tokenFile", f"{user.beside(path)} can not be read: {reason}") from None
    if token.strip():
        return f"Bearer {token.strip()}"
    if user.text("username") and user.text("password"):
        return "Basic " + base64.b64encode(f"{user.text('username')}:{user.text('password')}".encode()).decode()
    return ""


def _find(kubeconfig: str | os.PathLike[str] | None, context: str | None, master: str | None) -> str:
    """The kubeconfig to read; "" for the service account."""
    if kubeconfig is not None:
        if not Path(kubeconfig).expanduser().is_file():
            raise NoKubeconfig(os.fspath(kubeconfig))
        return os.fspath(kubeconfig)
    if master is not None and context is None:
        return ""
    named = os.environ.get("KUBECONFIG", "")
    if named:
        if not any(Path(part).expanduser().is_file() for part in named.split(os.pathsep) if part):
            raise NoKubeconfig(named)
        return named
    home = Path("~/.kube/config").expanduser()
    if home.is_file():
        return str(home)
    if os.environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").is_file():
        return ""
    raise NoKubeconfig(str(home))


def _environment_proxy(url: str) -> str | None:
    """The proxy that HTTPS_PROXY and the like name for this server, unless NO_PROXY excludes it."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)

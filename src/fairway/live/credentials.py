"""Which API server, and as whom: kubeconfig or service account, read by kubernetes_asyncio and kept fresh.

In: the paths and names a user gave, or nothing. Out: `Credentials`: the server's address, a TLS context and, on
demand, the Authorization header. Tokens in files, exec plugins and auth providers are asked again every minute, and
at once when the server answers 401; certificates in files likewise. `connection` alone uses this; nothing here is
ever printed.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fairway.live.clock import Clock
from fairway.live.kubeconfig_faults import find_fault
from fairway.live.problems import BrokenKubeconfig, NoKubeconfig

__all__ = ["Credentials"]

REFRESH_SECONDS = 60.0
BROKEN = (OSError, ValueError, TypeError, AttributeError, KeyError, AssertionError)
"""What the library raises, beside its own exception, at a file of another shape."""

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


class Credentials:
    """Address and identity for one API server."""

    def __init__(self, path: str, context: str | None, master: str | None, clock: Clock) -> None:
        """`path`: a kubeconfig, or several as in KUBECONFIG; "": the service account of this pod."""
        self._path = path
        self._context = context
        self._master = master
        self._clock = clock
        self._read_at = 0.0
        self._header = ""
        self._files: tuple[tuple[str, bytes], ...] = ()
        self.url = ""
        self.ssl: ssl.SSLContext | None = None
        self.server_name: str | None = None
        self.proxy: str | None = None

    @classmethod
    async def load(
        cls, kubeconfig: str | os.PathLike[str] | None, context: str | None, master: str | None, clock: Clock
    ) -> Credentials:
        """Find and read credentials; raises `NoKubeconfig` or `BrokenKubeconfig`."""
        path = _find(kubeconfig, context, master)
        credentials = cls(path, context, master, clock)
        await credentials.renew()
        return credentials

    async def header(self) -> str:
        """The Authorization header; empty if the identity is a certificate, or there is none."""
        if self._clock.monotonic() - self._read_at > REFRESH_SECONDS:
            await self.renew()
        return self._header

    async def renew(self) -> None:
        """Read everything again."""
        if not self._path and self._master is not None:
            self.url = self._master.rstrip("/")
            self.ssl = ssl.create_default_context() if self.url.startswith("https") else None
            self._read_at = float("inf")
            return
        found = await self._read()
        self.url = (self._master or found.host).rstrip("/")
        self._header = found.api_key.get("BearerToken", "").strip()
        self.server_name = found.tls_server_name
        self.proxy = found.proxy or _environment_proxy(self.url)
        if self.url.startswith("https"):
            self._trust(found)
        self._read_at = self._clock.monotonic()

    async def _read(self) -> Any:
        """Let kubernetes_asyncio fill in a client configuration."""
        import yaml  # noqa: PLC0415
        from kubernetes_asyncio.client import Configuration  # noqa: PLC0415 - takes half a second
        from kubernetes_asyncio.config import (  # noqa: PLC0415
            ConfigException,
            load_incluster_config,
            load_kube_config,
        )

        found: Any = type.__call__(Configuration)  # not a copy of the library's global one
        try:
            if self._path:
                await load_kube_config(self._path, self._context, found, persist_config=False)
            else:
                load_incluster_config(found)  # type: ignore[no-untyped-call]
        except (*BROKEN, ConfigException, yaml.YAMLError) as error:
            words = str(error).replace("Invalid kube-config file. ", "") or type(error).__name__
            raise self._broken(words, _contexts(self._path)) from None
        return found

    def _broken(self, words: str, contexts: tuple[str, ...] = ()) -> BrokenKubeconfig:
        """With the field that is to blame, if a certificate or key is."""
        fault = find_fault(self._path, self._context) if self._path else None
        if fault is None:
            return BrokenKubeconfig(self._path or "of the service account", words, contexts)
        return BrokenKubeconfig(fault.file, f"{fault.field} {fault.wrong}", fix=fault.fix)

    def _trust(self, found: Any) -> None:
        """Make a TLS context, unless the files are as they were: open connections belong to their context."""
        names = [found.ssl_ca_cert, found.cert_file, found.key_file]
        try:
            files = tuple((name, Path(name).read_bytes()) if name else ("", b"") for name in names)
            if self.ssl is not None and [data for _, data in files] == [data for _, data in self._files]:
                return
            trusted = ssl.create_default_context(cafile=found.ssl_ca_cert or None)
            if found.cert_file:
                trusted.load_cert_chain(found.cert_file, found.key_file or None)
        except (OSError, ssl.SSLError) as error:
            raise self._broken(f"a certificate or key: {error}") from None
        if not found.verify_ssl:
            trusted.check_hostname = False
            trusted.verify_mode = ssl.CERT_NONE
        self.ssl, self._files = trusted, files


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
    if os.environ.get("KUBERNETES_SERVICE_HOST") and SERVICE_ACCOUNT.is_file():
        return ""
    raise NoKubeconfig(str(home))


def _environment_proxy(url: str) -> str | None:
    """The proxy that HTTPS_PROXY and the like name for this server, unless NO_PROXY excludes it."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def _contexts(path: str) -> tuple[str, ...]:
    """The contexts a kubeconfig has, as far as it can be read."""
    import yaml  # noqa: PLC0415

    names: list[str] = []
    for part in path.split(os.pathsep):
        try:
            tree = yaml.safe_load(Path(part).expanduser().read_text())
            names += [str(one["name"]) for one in tree["contexts"]]
        except (OSError, ValueError, TypeError, KeyError, RecursionError, yaml.YAMLError):
            continue
    return tuple(names)

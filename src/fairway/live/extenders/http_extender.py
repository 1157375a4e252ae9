"""HTTP extenders: services that the cycle asks as kube-scheduler asks them.

In: the `extenders` of a KubeSchedulerConfiguration. Out: `Extender`s for `Scheduler`, and `bind_through` for the
binder. The cycle waits for the answers, so the requests block, each for at most its `httpTimeout` in all; idle
connections are kept. Words of errors are kube-scheduler's where it has its own: they end up in pods' conditions.
"""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fairway import __version__
from fairway.config.config_file import Extender as ExtenderConfig
from fairway.config.config_file import ExtenderTLSConfig
from fairway.cycle import Extender, ExtenderError, Filtered, Victims
from fairway.live.api.certificates import as_file
from fairway.live.extenders.wire import (
    RawObjects,
    any_case,
    binding_args,
    filter_answer,
    filter_args,
    preemption_answer,
    preemption_args,
    priorities,
    read_json,
)
from fairway.model import Node, Pod

__all__ = ["HttpExtender", "bind_through", "http_extenders"]

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_SECONDS = 5.0
MAX_ANSWER_BYTES = 256 * 1024 * 1024


def http_extenders(configs: Iterable[ExtenderConfig], raw: RawObjects | None = None) -> tuple[HttpExtender, ...]:
    """All extenders of a configuration, in the order in which they are asked."""
    return tuple(HttpExtender(config, raw) for config in configs)


def bind_through(extenders: Iterable[Extender], pod: Pod, node: str) -> bool:
    """Let the extender bind that is in charge of it; False if none is. Blocks. Raises `ExtenderError`."""
    for extender in extenders:
        if not extender.binds or not extender.is_interested(pod):
            continue
        try:
            extender.ask_bind(pod, node)
        except ExtenderError as error:
            if not extender.ignorable:
                raise
            logger.warning("extender %s is skipped in binding: %s", extender.name, error)
            continue
        return True
    return False


class HttpExtender:
    """One extender (`fairway.cycle.Extender`)."""

    def __init__(self, config: ExtenderConfig, raw: RawObjects | None = None) -> None:
        self.name = config.url_prefix
        self.ignorable = config.ignorable
        self.filters = bool(config.filter_verb)
        self.prioritizes = bool(config.prioritize_verb)
        self.preempts = bool(config.preempt_verb)
        self.binds = bool(config.bind_verb)
        self._config = config
        self._raw = raw
        self._names_only = config.node_cache_capable
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._timeout = config.http_timeout or DEFAULT_TIMEOUT_SECONDS
        parts = urlsplit(config.url_prefix)
        self._host, self._port = parts.hostname or "localhost", parts.port
        self._prefix = parts.path.rstrip("/")
        self._tls = _tls(config) if parts.scheme == "https" else None
        self._idle: http.client.HTTPConnection | None = None

    def is_interested(self, pod: Pod) -> bool:
        """Does the pod ask for a resource that this extender looks after? Without any, every pod is its business."""
        if not self._managed:
            return True
        return any(
            not self._managed.isdisjoint(amounts)
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
        )

    def ask_filter(self, pod: Pod, nodes: Sequence[Node]) -> Filtered:
        """Which of these nodes will do?"""
        body = self._send(self._config.filter_verb, filter_args(pod, nodes, self._names_only, self._raw))
        return filter_answer(body, self._names_only, [node.metadata.name for node in nodes], self.name)

    def ask_prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, int]:
        """How good is each?"""
        body = self._send(self._config.prioritize_verb, filter_args(pod, nodes, self._names_only, self._raw))
        return priorities(body, self._config.weight)

    def ask_preempt(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, tuple[tuple[str, ...], int]]:
        """On which nodes may pods be removed?"""
        body = self._send(self._config.preempt_verb, preemption_args(pod, victims, self._names_only, self._raw))
        return preemption_answer(body)

    def ask_bind(self, pod: Pod, node: str) -> None:
        """Bind the pod; on a connection of its own, as bindings run beside the cycle."""
        body = self._send(self._config.bind_verb, binding_args(pod, node), alone=True)
        error = any_case(read_json(body)).get("error")
        if error:
            raise ExtenderError(str(error))

    def close(self) -> None:
        """Hang up."""
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    # -- HTTP ------------------------------------------------------------------------------------------------------

    def _send(self, verb: str, args: dict[str, Any], alone: bool = False) -> bytes:
        url = f"{self.name.rstrip('/')}/{verb}"
        deadline = time.monotonic() + self._timeout
        kept, self._idle = (None, self._idle) if alone else (self._idle, None)
        connection = kept or self._connect()
        try:
            try:
                status, body = self._exchange(connection, verb, args, deadline)
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if kept is None:
                    raise
                connection = self._connect()  # the idle connection had been closed by the other side
                status, body = self._exchange(connection, verb, args, deadline)
        except TimeoutError:
            connection.close()
            raise ExtenderError(f'Post "{url}": no answer within {self._timeout:g} seconds') from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ExtenderError(f'Post "{url}": {words.lower()}') from None
        if alone or connection.sock is None:
            connection.close()
        else:
            self._idle = connection
        if status != http.client.OK:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {status}")
        return body

    def _exchange(
        self, connection: http.client.HTTPConnection, verb: str, args: dict[str, Any], deadline: float
    ) -> tuple[int, bytes]:
        """One request and its answer, all of it before the deadline."""
        headers = {"Content-Type": "application/json", "User-Agent": f"fairway/{__version__}"}
        connection.timeout = max(deadline - time.monotonic(), 0.001)
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        connection.request("POST", f"{self._prefix}/{verb}", msgspec.json.encode(args), headers)
        held = connection.sock  # the answer may let go of the connection, and still reads from it
        answer = connection.getresponse()
        body = b""
        while chunk := answer.read(65536):
            body += chunk
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if len(body) > MAX_ANSWER_BYTES:
                raise http.client.HTTPException("the answer is too long")
            held.settimeout(left)
        return answer.status, body

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        context, server_name = self._tls
        return _TlsConnection(self._host, self._port or 443, self._timeout, context, server_name or self._host)


class _TlsConnection(http.client.HTTPConnection):
    """HTTPS with a server name that may differ from the address."""

    def __init__(self, host: str, port: int, timeout: float, context: ssl.SSLContext, server_name: str) -> None:
        super().__init__(host, port, timeout=timeout)
        self._context = context
        self._server_name = server_name

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        self.sock = self._context.wrap_socket(plain, server_hostname=self._server_name)


def _tls(config: ExtenderConfig) -> tuple[ssl.SSLContext, str]:
    """As kube-scheduler's makeTransport: without a CA, `enableHTTPS` trusts anybody."""
    settings = config.tls_config or ExtenderTLSConfig()
    has_ca = bool(settings.ca_data or settings.ca_file)
    context = ssl.create_default_context()
    if settings.ca_data:
        context = ssl.create_default_context(cadata=settings.ca_data.decode())
    elif settings.ca_file:
        context = ssl.create_default_context(cafile=settings.ca_file)
    if settings.insecure or (config.enable_https and not has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.cert_data or settings.cert_file:
        with ExitStack() as stack:
            certificate = stack.enter_context(as_file(settings.cert_data)) if settings.cert_data else settings.cert_file
            key = stack.enter_context(as_file(settings.key_data)) if settings.key_data else settings.key_file
            context.load_cert_chain(certificate, key)
    return context, settings.server_name

"""A proxy between a scheduler and an API server that makes things go wrong, as told.

In: where the server is, and a certificate that clients trust. Out: a `FaultProxy` on a loopback port: requests pass
through, each on a connection of its own to the server, and the first fault that matches a request may delay it, answer
in the server's place, pass it on but never tell the answer, or reset the connection; and something may be done then,
such as to kill who asked. Watches can be cut, or held back, at any time. Runs in threads of the test process; tests of
faults use `control_plane.kubeconfig(url=proxy.url)`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

__all__ = ["Fault", "FaultProxy", "Seen"]

CHUNK: Final = 65536
HOP_BY_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade"}


@dataclass
class Fault:
    """What happens to requests whose method, path (query included) and body match; `times`: to how many of them.

    pass     forwarded, after the delay
    answer   the proxy answers itself: `status`, `headers`, and a Kubernetes Status with `message`
    swallow  forwarded; the answer is never told, the connection stays open and silent
    reset    not forwarded; the connection is reset
    applied  forwarded; when the answer is there the connection is reset

    `then` is called when the server has done what it was asked (applied, swallow), or instead of that (reset).
    """

    method: str
    path: str
    action: Literal["pass", "answer", "swallow", "reset", "applied"] = "pass"
    times: int = 1_000_000
    delay_seconds: float = 0.0
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "made up by the fault proxy"
    body: str = ""
    then: Callable[[], object] = lambda: None
    hits: int = 0

    def matches(self, seen: Seen) -> bool:
        """This request is meant, and there is a time left."""
        is_meant = seen.method == self.method and re.search(self.path, seen.path) is not None
        return self.hits < self.times and is_meant and re.search(self.body.encode(), seen.body) is not None


@dataclass(frozen=True)
class Seen:
    """A request that came by."""

    method: str
    path: str
    body: bytes


class FaultProxy:
    """Stands where the API server is thought to be."""

    def __init__(self, target: str, ca_file: Path, serving: tuple[Path, Path]) -> None:
        parts = urlsplit(target)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 443
        self._upstream_context = ssl.create_default_context(cafile=str(ca_file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*serving)
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._seen: list[Seen] = []
        self._streams: dict[socket.socket, str] = {}
        self._released = threading.Event()
        self._held = ""  # watches whose path matches are late
        self._flow = threading.Condition(self._lock)
        self._server = _Server(("127.0.0.1", 0), self, context)
        self.port = int(self._server.server_address[1])
        self.url = f"https://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Listen, in a thread."""
        threading.Thread(target=self._server.serve_forever, name="fault-proxy", daemon=True).start()
        return self

    def stop(self) -> None:
        """Let go of everything that waits, and stop listening."""
        self._released.set()
        self.release_watches()
        self._server.shutdown()
        self._server.server_close()
        self.cut_watches()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add(self, method: str, path: str, action: Any = "pass", **how: Any) -> Fault:
        """Let a fault happen from now on; the first one that matches a request counts."""
        fault = Fault(method, path, action, **how)
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """No more faults; requests whose answers were swallowed are let go."""
        with self._lock:
            self._faults.clear()
        self._released.set()
        self._released = threading.Event()

    def seen(self, method: str, path: str) -> list[Seen]:
        """The requests that came by so far and match."""
        with self._lock:
            return [each for each in self._seen if each.method == method and re.search(path, each.path)]

    def cut_watches(self, path: str = "") -> int:
        """Reset the connections of watches, of those whose path matches; how many there were."""
        with self._lock:
            chosen = [stream for stream, of in self._streams.items() if re.search(path, of)]
        for stream in chosen:
            _reset(stream)
        return len(chosen)

    def hold_watches(self, path: str) -> None:
        """Keep back what watches have to tell, of those whose path matches, until they are released."""
        with self._flow:
            self._held = path

    def release_watches(self) -> None:
        """Tell now what was kept back."""
        with self._flow:
            self._held = ""
            self._flow.notify_all()

    def wait_for_flow(self, path: str) -> None:
        """Until the watch on that path is not held back."""
        with self._flow:
            self._flow.wait_for(lambda: not (self._held and re.search(self._held, path)))

    def fault_for(self, method: str, path: str, body: bytes) -> Fault | None:
        """Note a request and find what is to happen to it."""
        with self._lock:
            seen = Seen(method, path, body)
            self._seen.append(seen)
            for fault in self._faults:
                if fault.matches(seen):
                    fault.hits += 1
                    return fault
        return None

    def wait_for_release(self) -> None:
        """Until the faults are cleared, or the proxy stops."""
        self._released.wait()

    @contextlib.contextmanager
    def forward(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        """Ask the real server."""
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._upstream_context, timeout=700)
        try:
            connection.request(method, path, body=body or None, headers=dict(headers))
            yield connection.getresponse()
        finally:
            connection.close()

    @contextlib.contextmanager
    def streaming(self, stream: socket.socket, path: str) -> Iterator[None]:
        """While a watch goes through, it can be cut."""
        with self._lock:
            self._streams[stream] = path
        try:
            yield
        finally:
            with self._lock:
                del self._streams[stream]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], proxy: FaultProxy, context: ssl.SSLContext) -> None:
        super().__init__(address, _Handler)
        self.proxy = proxy
        self._context = context

    def finish_request(self, request: Any, client_address: Any) -> None:
        """TLS is negotiated in the connection's own thread, so that a slow client holds up nobody."""
        with contextlib.suppress(OSError), self._context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections break here all the time; that is the point."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    connection: socket.socket

    def do_GET(self) -> None:
        self._relay()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names http.server looks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def _relay(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = proxy.fault_for(self.command, self.path, body)
        if fault and fault.delay_seconds:
            time.sleep(fault.delay_seconds)
        action = fault.action if fault else "pass"
        if fault and action == "answer":
            self._answer(fault)
            return
        if fault and action == "reset":
            fault.then()
            self._cut()
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        with proxy.forward(self.command, self.path, body, headers) as response:
            if action == "pass":
                self._pass_on(response)
                return
            response.read()
        if fault:
            fault.then()
        if action == "swallow":
            proxy.wait_for_release()
        self._cut()

    def _pass_on(self, response: http.client.HTTPResponse) -> None:
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = response.getheader("Content-Length")
        if length is not None:
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(response.read())
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with self.server.proxy.streaming(self.connection, self.path):
            while data := response.read1(CHUNK):
                self.server.proxy.wait_for_flow(self.path)
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, fault: Fault) -> None:
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": fault.status,
            "message": fault.message,
            "reason": REASONS.get(fault.status, "InternalError"),
        }
        data = json.dumps(status).encode()
        self.send_response(fault.status)
        for name, value in {"Content-Type": "application/json", **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _cut(self) -> None:
        self.close_connection = True
        _reset(self.connection)


REASONS: Final = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def _reset(stream: socket.socket) -> None:
    """Close with a reset instead of a farewell: with no lingering time, what is unsent is thrown away."""
    with contextlib.suppress(OSError):
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        stream.close()

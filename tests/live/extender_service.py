"""A real HTTP extender on a loopback port, which answers as a test wants and keeps what it was asked."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec


class Service:
    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []  # path, headers, body
        self.answers: dict[str, tuple[int, Any]] = {}  # by path
        self.raw: bytes | None = None  # answer every request with these very bytes
        self.release = threading.Event()  # set: answers may go out
        self.release.set()
        self.connections = 0
        self.hang_up = False  # close each connection after its answer without saying so
        self.port = 0
        self.to_close: list[Any] = []  # whoever keeps a connection to this service

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def extender_service(tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            service.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.requests.append((self.path, dict(self.headers), msgspec.json.decode(body)))
            service.release.wait(10)
            status, answer = service.answers.get(self.path, (200, {}))
            data = service.raw if service.raw is not None else msgspec.json.encode(answer)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            if service.hang_up:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that does not trust us hangs up

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    service.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.release.set()
        for client in service.to_close:
            client.close()
        server.shutdown()
        thread.join()
        server.server_close()

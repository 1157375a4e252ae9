"""Where others reach the HTTP server of this process, as well as it can know that.

In: the address and port that it listens on, and the URL of the API server. Out: an https URL: of the address it listens
on, or, if that is every address, of the one from which it talks to the API server; "" if there is none. `process` has
it written in the status of queues, so that commands find their scheduler.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

__all__ = ["own_url"]


def own_url(bind_address: str, port: int, api_url: str) -> str:
    """Looks a name up if the API server's URL has one: to be asked once, at the start."""
    host = bind_address
    if _is_any(host):
        try:
            parts = urlsplit(api_url)
            family, kind, _, _, place = socket.getaddrinfo(
                parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM
            )[0]  # fmt: skip
            with socket.socket(family, kind) as probe:
                probe.connect(place)  # which sends nothing
                host = str(probe.getsockname()[0])
        except (OSError, ValueError):
            return ""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host

"""Where something listens: HOST:PORT as people write it.

In: a text. Out: an `Address`, or a ValueError that says how one is written. Who listens beyond this machine has to know
that they do, so an address knows whether it is a loopback one. Used by all commands of the stream.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple

__all__ = ["Address", "parse_address"]

ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^\s:/\[\]]*):(\d{1,5})", re.ASCII)


class Address(NamedTuple):
    """A host, without brackets, and a port; no host: every address of this machine."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or "[::]"
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Can only this machine reach it?"""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_address(text: str) -> Address:
    """Read one; ValueError says what is wrong."""
    match = ADDRESS.fullmatch(text.strip())
    if match is None or int(match[2]) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:4242")
    return Address(match[1].strip("[]"), int(match[2]))

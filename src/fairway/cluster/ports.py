"""Host ports in use: who listens where.

In: the host ports of pods that come to and leave a row. Out: `conflicts(row, ports)`, and the rows on which a port is
taken at all, so that the many rows without host ports are never visited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.cluster.pod_class import HostPort

ANY_ADDRESS = "0.0.0.0"


class PortTable:
    """Taken ports by protocol and number, then row, then address."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def add(self, row: int, ports: Sequence[HostPort], amount: int) -> None:
        """These ports are taken once more (1) or once less (-1) on that row."""
        for ip, protocol, number in ports:
            rows = self._taken.setdefault((protocol, number), {})
            addresses = rows.setdefault(row, {})
            addresses[ip] = addresses.get(ip, 0) + amount
            if not addresses[ip]:
                del addresses[ip]
                if not addresses:
                    del rows[row]

    def rows_using(self, port: HostPort) -> Iterable[int]:
        """Rows on which that protocol and number is taken at any address."""
        return self._taken.get((port.protocol, port.port), ())

    def conflicts(self, row: int, ports: Iterable[HostPort]) -> bool:
        """Is any of these ports taken on that row? The wildcard address collides with every address."""
        for ip, protocol, number in ports:
            addresses = self._taken.get((protocol, number), {}).get(row)
            if addresses and (ip == ANY_ADDRESS or ip in addresses or ANY_ADDRESS in addresses):
                return True
        return False

"""Host ports in use: who listens where.

In: the host ports of pods that come to and leave a row. Out: `conflicts(row, ports)`, and the rows on which a port is
taken at all, so that the many rows without host ports are never visited. A row's ports are a set, as in
kube-scheduler: if two pods there hold the same port (only something other than a scheduler puts them so), one of them
leaving frees it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from fairway.cluster.pod_class import HostPort

ANY_ADDRESS = "0.0.0.0"
NO_ROWS: Mapping[int, set[str]] = {}


class PortTable:
    """Taken ports by row, and rows by protocol and number."""

    __slots__ = ("_by_row", "_rows")

    def __init__(self) -> None:
        self._by_row: dict[int, set[HostPort]] = {}
        self._rows: dict[tuple[str, int], dict[int, set[str]]] = {}  # protocol and number -> row -> addresses

    def taken(self, row: int) -> frozenset[HostPort]:
        """All ports taken on a row."""
        return frozenset(self._by_row.get(row, ()))

    def add(self, row: int, ports: Iterable[HostPort]) -> None:
        """A pod with these ports came."""
        taken = self._by_row.setdefault(row, set())
        for port in ports:
            taken.add(port)
            self._rows.setdefault((port.protocol, port.port), {}).setdefault(row, set()).add(port.ip)

    def remove(self, row: int, ports: Iterable[HostPort]) -> None:
        """A pod with these ports left."""
        taken = self._by_row.get(row, set())
        for port in ports:
            if port not in taken:
                continue
            taken.remove(port)
            key = (port.protocol, port.port)
            addresses = self._rows[key][row]
            addresses.remove(port.ip)
            if not addresses:
                del self._rows[key][row]
            if not self._rows[key]:
                del self._rows[key]
        if not taken:
            self._by_row.pop(row, None)

    def set(self, row: int, ports: Collection[HostPort]) -> None:
        """These, and no others, are taken on the row."""
        wanted = set(ports)
        before = self.taken(row)
        self.remove(row, before - wanted)
        if wanted:
            self.add(row, wanted - before)

    def rows_using(self, port: HostPort) -> Iterable[int]:
        """Rows on which that protocol and number is taken at any address."""
        return self._rows.get((port.protocol, port.port), ())

    def conflicts(self, row: int, ports: Iterable[HostPort]) -> bool:
        """Is any of these ports taken on that row? The wildcard address collides with every address."""
        if row not in self._by_row:
            return False
        for port in ports:
            addresses = self._rows.get((port.protocol, port.port), NO_ROWS).get(row)
            if addresses and (port.ip == ANY_ADDRESS or port.ip in addresses or ANY_ADDRESS in addresses):
                return True
        return False

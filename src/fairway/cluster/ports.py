"""Host ports in use: who listens where.

In: the host ports of pods that come to and leave a row. Out: `conflicts(row, ports)`, and the rows on which a port is
taken at all, so that the many rows without host ports are never visited. A row's ports are a set, as in
kube-scheduler: if two pods there hold the same port (only something other than a scheduler puts them so), one of them
leaving frees it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fairway.cluster.pod_class import HostPort

ANY_ADDRESS = "0.0.0.0"


class PortTable:
    """Taken ports by row, and rows by protocol and number."""

    __slots__ = ("_by_row", "_rows")

    def __init__(self) -> None:
        self._by_row: dict[int, set[HostPort]] = {}
        self._rows: dict[tuple[str, int], set[int]] = {}

    def taken(self, row: int) -> frozenset[HostPort]:
        """All ports taken on a row."""
        return frozenset(self._by_row.get(row, ()))

    def add(self, row: int, ports: Iterable[HostPort]) -> None:
        """A pod with these ports came."""
        self.set(row, self.taken(row).union(ports))

    def remove(self, row: int, ports: Iterable[HostPort]) -> None:
        """A pod with these ports left."""
        self.set(row, self.taken(row).difference(ports))

    def set(self, row: int, ports: Collection[HostPort]) -> None:
        """These, and no others, are taken on the row."""
        before = {(port.protocol, port.port) for port in self._by_row.pop(row, ())}
        after = {(port.protocol, port.port) for port in ports}
        for key in before - after:
            self._rows[key].discard(row)
        for key in after - before:
            self._rows.setdefault(key, set()).add(row)
        if ports:
            self._by_row[row] = set(ports)

    def rows_using(self, port: HostPort) -> Iterable[int]:
        """Rows on which that protocol and number is taken at any address."""
        return self._rows.get((port.protocol, port.port), ())

    def conflicts(self, row: int, ports: Iterable[HostPort]) -> bool:
        """Is any of these ports taken on that row? The wildcard address collides with every address."""
        taken = self._by_row.get(row)
        return taken is not None and any(
            other.port == port.port
            and other.protocol == port.protocol
            and (other.ip == port.ip or ANY_ADDRESS in (other.ip, port.ip))
            for port in ports
            for other in taken
        )

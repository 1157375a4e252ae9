"""Room that came and went while a job waited: on enough nodes by and by, and never on enough of them at once.

In: a run, a job's row, a time, and the job explained at that time. Out: a `PassingRoom` if so it was, since the job was
complete; else None. That is the price of holding nothing between attempts: while small pods come and go, nobody keeps
room for a wide job that is in no queue. Counted by amounts, over the nodes that the member in the way may go to (of the
domain it is in). Called by `job_answer`.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cycle import Decision
from fairway.cycle.groups.job_slots import eligible_rows
from fairway.explain.jobs.job_explanation import JobExplanation
from fairway.record import Run
from fairway.words import count_text, nodes_text

__all__ = ["PassingRoom", "passing_room"]


class PassingRoom(NamedTuple):
    """What was free while the job waited."""

    num_needed: int  # members like the one in the way that have to find room at once
    num_at_once: int  # the most that did
    num_nodes: int  # nodes that had room at one time or another
    num_in_turn: int  # members that would have had room if all of it had been there at once

    @property
    def line(self) -> str:
        """For people."""
        return (
            f"room comes and goes: {nodes_text(self.num_nodes)} had some since it was complete, for "
            f"{count_text(self.num_in_turn)} members by and by, but at no time for more than "
            f"{count_text(self.num_at_once)} of {count_text(self.num_needed)}; nobody keeps it for a job in no queue"
        )

    def document(self) -> dict[str, int]:
        """For programs."""
        return {
            "needed": self.num_needed,
            "atOnce": self.num_at_once,
            "nodes": self.num_nodes,
            "inTurn": self.num_in_turn,
        }


def passing_room(run: Run, row: dict[str, Any], at: float, about: JobExplanation) -> PassingRoom | None:
    """Was there room enough by and by, and never at once?"""
    since, blocking = row["complete_seconds"], about.blocking
    if about.state != "waits" or blocking is None or since is None or row["queue"] is not None:
        return None
    needed = _needed(about, blocking)
    demand = _demand(run, row, blocking)
    if needed < 2 or demand is None:
        return None
    free = _FreeRoom(run, _nodes_of(about, blocking), demand, since, at)
    at_once, most = free.follow()
    in_turn = int(most.sum())
    if not at_once < needed <= in_turn:
        return None
    return PassingRoom(needed, at_once, int(np.count_nonzero(most)), in_turn)


def _needed(about: JobExplanation, blocking: Decision) -> int:
    """How many like the one in the way have to find room, even if all others do."""
    others = sum(len(kind) for kind in about.kinds if kind.pod_class is not blocking.pod_class)
    return about.total - about.group.num_scheduled - others


def _demand(run: Run, row: dict[str, Any], blocking: Decision) -> dict[str, int] | None:
    """What the member asks for, by column; None if it is not in the run."""
    columns = list(run.resources.values())
    asked = ", ".join(f'"{column}"' for column in columns)
    found = run.sql(f"SELECT {asked} FROM pods WHERE job_id = ? AND pod = ? LIMIT 1", row["job_id"], blocking.pod.key)
    pod = next(iter(found), None)
    return None if pod is None else {column: int(pod[column]) for column in columns if pod[column]}


def _nodes_of(about: JobExplanation, blocking: Decision) -> list[str]:
    """The names of nodes that the member may go to, whoever is there."""
    profile, decision = about.profile, about.decision
    rows = eligible_rows(profile, blocking.pod_class) & profile.cluster.nodes.alive[: profile.cluster.nodes.num_rows]
    if decision is not None and decision.level and decision.domain:
        column = profile.cluster.nodes.labels.column(decision.level)
        values = column.values.values
        ids = column.ids[: len(rows)]
        inside = [number >= 0 and str(values[number]) == decision.domain for number in ids.tolist()]
        rows = rows & np.array(inside, bool)
    return [profile.cluster.nodes.names[number] for number in np.flatnonzero(rows).tolist()]


class _FreeRoom:
    """What is free on some nodes, as time goes on."""

    def __init__(self, run: Run, nodes: list[str], demand: dict[str, int], since: float, until: float) -> None:
        self._run = run
        self._since, self._until = since, until
        self._index = {name: number for number, name in enumerate(nodes)}
        self._columns = list(demand)
        self._amounts = np.array([1, *demand.values()], np.int64)  # (1 + num_columns,), of pods first
        self._left = np.zeros((len(nodes), len(self._amounts)), np.int64)  # (num_nodes, 1 + num_columns)

    def follow(self) -> tuple[int, NDArray[np.int64]]:
        """The most members that had room at one time; and on each node the most that it ever had room for."""
        changes = self._begin()
        slots = self._slots(slice(None))
        most, at_once = slots.copy(), int(slots.sum())
        for _, together in groupby(sorted(changes, key=itemgetter(0)), key=itemgetter(0)):
            touched = []
            for _, node, amounts in together:
                self._left[node] += amounts
                touched.append(node)
            slots[touched] = self._slots(touched)
            most[touched] = np.maximum(most[touched], slots[touched])
            at_once = max(at_once, int(slots.sum()))
        return at_once, most

    def _begin(self) -> list[tuple[float, int, NDArray[np.int64]]]:
        """What is left when the time begins; returns who comes and goes later: when, where, and what that changes."""
        columns = "".join(f', "{column}"' for column in self._columns)
        nodes = f"SELECT node, pods{columns} FROM nodes WHERE from_seconds <= ? ORDER BY from_seconds, rowid"
        for row in self._run.sql(nodes, self._until):  # the latest counts
            if (number := self._index.get(row["node"])) is not None:
                self._left[number] = [row["pods"], *(row[column] for column in self._columns)]
        changes = []
        for row in self._run.sql(
            f"SELECT node, from_seconds, coalesce(to_seconds, 'Infinity'::DOUBLE) AS to_seconds{columns} FROM occupancy"
            " WHERE from_seconds <= ? AND coalesce(to_seconds, 'Infinity'::DOUBLE) > ? ORDER BY from_seconds, pod_id",
            self._until,
            self._since,
        ):
            if (number := self._index.get(row["node"])) is None:
                continue
            amounts = np.array([1, *(row[column] for column in self._columns)], np.int64)
            if row["from_seconds"] <= self._since:
                self._left[number] -= amounts
            else:
                changes.append((row["from_seconds"], number, -amounts))
            if row["to_seconds"] <= self._until:
                changes.append((row["to_seconds"], number, amounts))
        return changes

    def _slots(self, which: list[int] | slice) -> NDArray[np.int64]:
        """(number of those,) Members that have room there now."""
        slots: NDArray[np.int64] = np.maximum((self._left[which] // self._amounts).min(axis=-1), 0)
        return slots

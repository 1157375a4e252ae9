"""Rows of a run in which nobody is named.

In: rows on their way into the file, in the order of the schema's columns. Out: the same rows with pseudonyms in the
columns that hold names, objects and sentences. Numbers, times and outcomes stay, so that the run counts and decides as
before. `RowFile` passes all rows through it where a recording is anonymous; `anonymise_run` so treats a finished one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from fairway.model import decode_object, encode_json
from fairway.record.schema import TABLES
from fairway.record.writing.anonymous_schedulers import anonymous_scheduler
from fairway.record.writing.pseudonyms import Pseudonyms

__all__ = ["AnonymousRows", "anonymise_run"]

Change = Callable[[Any], Any]
NAMES: Final = (
    "node", "uid", "pod", "namespace", "user_name", "nominated_node", "victim", "name", "subject", "dataset",
    "source_node", "job", "queue", "account",
)  # fmt: skip
COLUMNS: Final = {name: [column.name for column in table.columns] for name, table in TABLES.items()}
OUTCOME, MESSAGE, JOB = (COLUMNS["decisions"].index(name) for name in ("outcome", "message", "job_decision_id"))
OF_NODES: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: .*", re.DOTALL)
"""What is said of nodes, behind names of jobs and of members."""
LEFT_OUT: Final = "(left out)"


class AnonymousRows:
    """Replaces what names somebody, table by table."""

    def __init__(self, pseudonyms: Pseudonyms | None = None) -> None:
        self.pseudonyms = pseudonyms or Pseudonyms()
        self._changes = {table: self._changes_of(table) for table in TABLES}

    def __call__(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The row as it is written."""
        if table == "meta":
            return self._meta(*row)
        cells = list(row)
        for place, change in self._changes[table]:
            if cells[place] is not None:
                cells[place] = change(cells[place])
        if table == "decisions" and cells[MESSAGE] is not None:
            if cells[OUTCOME] == "error":
                cells[MESSAGE] = LEFT_OUT  # an error may quote anything
            elif cells[JOB] is not None:
                cells[MESSAGE] = self._of_nodes(cells[MESSAGE])
        return tuple(cells)

    def _changes_of(self, table: str) -> list[tuple[int, Change]]:
        names = self.pseudonyms
        changes: dict[str, Change] = dict.fromkeys(NAMES, names.name)
        changes |= {"manifest": self._manifest, "owner": self._owner}
        match table:
            case "pods":
                changes["annotations"] = self._annotations
            case "decisions":
                changes["message"] = names.sentence
            case "job_decisions":
                changes |= {"message": lambda text: names.sentence(self._of_nodes(text))}
                changes |= {"domain_key": names.label_key, "domain": lambda value: names.label_value("", value)}
            case "filter_counts":
                changes["reason"] = names.sentence
            case "events":
                changes["message"] = lambda _: LEFT_OUT
            case "data":
                changes["rung"] = names.label_key
                changes["missing"] = lambda _: LEFT_OUT
            case "gaps":
                changes["reason"] = lambda _: LEFT_OUT
            case "job_states":  # both may name jobs, users, windows
                changes |= {"detail": lambda _: "{}", "message": lambda _: LEFT_OUT}
            case "closings":
                changes |= {"message": lambda _: LEFT_OUT, "jobs": self._list, "nodes": self._list}
            case "estimates":
                changes["nodes"] = self._list
        columns = TABLES[table].columns
        return [(place, changes[column.name]) for place, column in enumerate(columns) if column.name in changes]

    def _list(self, text: str) -> str:
        return json.dumps([self.pseudonyms.name(name) for name in json.loads(text)])

    def _of_nodes(self, text: str) -> str:
        found = OF_NODES.search(text)
        return LEFT_OUT if found is None else found[0]

    def _owner(self, text: str) -> str:
        kind, _, name = text.partition("/")
        return f"{kind}/{self.pseudonyms.name(name)}"

    def _manifest(self, text: str) -> str:
        return encode_json(self.pseudonyms.thing(decode_object(text.encode(), "a run"))).decode()

    def _annotations(self, text: str) -> str:
        return json.dumps(self.pseudonyms.own_annotations(json.loads(text)), separators=(",", ":"))

    def _meta(self, key: str, value: str) -> tuple[str, str]:
        match key:
            case "scenario":  # what it says of nodes and workloads is full of names; the schedulers are kept beside it
                return key, json.dumps({"kind": json.loads(value).get("kind", ""), "metadata": {"name": "anonymous"}})
            case "schedulers":
                return key, json.dumps([anonymous_scheduler(one, self.pseudonyms) for one in json.loads(value)])
            case "interruption":  # an error may quote anything
                return key, json.dumps(LEFT_OUT)
        return key, value


def anonymise_run(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> AnonymousRows:
    """Write a run anew under other names; what it was made with knows the names, and is nowhere else."""
    from fairway.record.run import Run  # noqa: PLC0415
    from fairway.record.writing.row_file import RowFile  # noqa: PLC0415 - which writes rows that went through here

    change = AnonymousRows()
    with Run.open(source) as run:
        file = RowFile(Path(target), change)
        try:
            file.resources.vector(dict.fromkeys(run.resources, 0))
            for name, table in TABLES.items():
                if name in ("meta", "resources"):
                    continue
                known = [column.name for column in table.columns]
                for row in run.tables[name].rows():
                    cells = tuple(row.get(column) for column in known)
                    amounts = (tuple(row[column] for column in run.resources.values()),) if table.amounts else ()
                    file.buffers[name].rows.append(cells + amounts)
                file.write()
            kept: dict[str, Any] = {"anonymous": True, "origin": run.origin}
            if (schedulers := run.schedulers) is not None:
                kept["schedulers"] = [scheduler.document() for scheduler in schedulers]
            meta = {key: json.dumps(value) for key, value in (run.meta | kept).items()}
        except BaseException:
            file.discard()
            raise
    file.finish({key: change("meta", (key, value))[1] for key, value in meta.items()})
    return change

"""The runs that a server shows: opened, named, and what is kept of each.

In: paths of up to eight run files. Out: a `RunSource` for each, under an id that is its file's stem, made unique; or a
`PageError` for an id that there is none of. A file that is no run is a `RecordError`, one that is still being written a
`UserError` that says whom to ask instead. Called by `server` and everything that answers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from fairway.exit_codes import USAGE
from fairway.explain.run_time import run_notes
from fairway.model import UserError
from fairway.record import RecordError, Run
from fairway.record.schema import unit_of
from fairway.web.byte_cache import ByteCache
from fairway.web.device_subject import DeviceSubject
from fairway.web.heat_map import HeatMap
from fairway.web.heat_subject import NodeSubject
from fairway.web.page_error import PageError
from fairway.web.questions import WhyQuestion
from fairway.web.shapes import KnownRun

__all__ = ["MOST_RUNS", "RunSource", "RunSources", "open_sources"]

MOST_RUNS: Final = 8
HASHED_AT_ONCE: Final = 1 << 20
PARAMETER: Final = re.compile(r"\$([a-z_]+)")


class RunSource:
    """One run."""

    def __init__(self, name: str, path: str, run: Run, cache: ByteCache) -> None:
        self.id = name
        self.path = path  # as it was given
        self.run = run
        self.cache = cache
        self.end = run.end_seconds  # of an interrupted run it is looked for: once
        self.ask_why: Callable[[WhyQuestion], Awaitable[bytes]] | None = None  # None: a worker process answers

    @property
    def state(self) -> Literal["complete", "interrupted", "partial", "live"]:
        """`partial`: its writer was killed, or has not ended it."""
        if self.path.endswith(".partial"):
            return "partial"
        return "complete" if self.run.is_complete else "interrupted"

    @property
    def version(self) -> str:
        """A digest of the file: answers that were kept under it are those of this content."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.blake2b(digest_size=12)
        with self.run.path.open("rb") as file:
            while part := file.read(HASHED_AT_ONCE):
                digest.update(part)
        return digest.hexdigest()

    @cached_property
    def nodes(self) -> HeatMap:
        """Its heat map of nodes."""
        return HeatMap(NodeSubject(self.run), self.end, self.cache, (self.id, "nodes"))

    @cached_property
    def devices(self) -> HeatMap:
        """And that of GPU devices."""
        subject = DeviceSubject.of(self.run)
        if subject is None:
            raise PageError(404, "no_devices", f"no node of {self.id} has GPU devices")
        return HeatMap(subject, self.end, self.cache, (self.id, "devices"))

    @cached_property
    def known(self) -> KnownRun:
        """What it is, in a few words."""
        return self.made_known()

    def made_known(self) -> KnownRun:
        """The same, worked out."""
        run, meta = self.run, self.run.meta
        (counts,) = self.rows(
            "SELECT (SELECT count(DISTINCT node_id) FROM nodes) AS nodes, (SELECT count(*) FROM pods) AS pods, "
            "(SELECT count(*) FROM decisions) AS decisions, "
            "(SELECT coalesce(min(from_seconds), 0.0) FROM nodes) AS begin"
        )
        metadata = run.scenario.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
        return KnownRun(
            id=self.id,
            name=str(name) or self.id,
            state=self.state,
            version=self.version,
            end=self.end,
            resources={resource: unit_of(resource) for resource in run.resources} | {"pods": "count"},
            options=dict(meta.get("options", {})),
            policies=[str(policy) for policy in meta.get("policies", [])],
            seed=run.seed,
            origin=run.origin,
            began=run.began if run.origin == "live" and "began" in meta else None,
            has_queues=self.has_queues,
            notes=run_notes(run),
            **counts,
        )

    @cached_property
    def has_queues(self) -> bool:
        """Do jobs wait in queues in it?"""
        return self.run.knows_queues and any(one.batch is not None for one in self.run.schedulers or ())

    def check_queue(self) -> None:
        """Raise unless the run kept who stood where in the queue."""
        if not self.run.meta.get("options", {}).get("queue", True):
            what = "the run does not say who stood where in the queue"
            raise PageError(404, "not_recorded", what, "record or simulate it with record: {queue: true}")

    def rows(self, question: str, **values: Any) -> list[dict[str, Any]]:
        """The answer to a question in SQL, with `$name` for each value."""
        names = list(dict.fromkeys(PARAMETER.findall(question)))
        numbered = PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", question)
        return list(self.run.sql(numbered, *(values[name] for name in names)).rows())

    def time(self, at: float | None) -> float:
        """A moment of the run; its end unless said otherwise."""
        if at is None:
            return self.end
        if at > self.end:
            raise PageError(400, "bad_parameter", f"at: the run ended before {at:g} s", f"it ended at {self.end:g} s")
        return at

    def stretch(self, begin: float | None, end: float | None) -> tuple[float, float]:
        """A part of the run; all of it unless said otherwise."""
        first, last = self.known.begin if begin is None else begin, self.end if end is None else end
        if last < first:
            raise PageError(400, "bad_parameter", f"to: {last:g} s is before {first:g} s, where the stretch begins")
        return first, last

    def column(self, resource: str) -> str:
        """The column of a resource's amounts, quoted for SQL."""
        return '"' + self.run.resources[self.resource(resource)].replace('"', '""') + '"'

    def resource(self, name: str) -> str:
        """The same name, if the run has it."""
        if name not in self.known.resources:
            there = ", ".join(self.known.resources)
            raise PageError(404, "no_such_resource", f"the run has no resource {name}", f"there are: {there}")
        return name


class RunSources:
    """All runs of a server, by id."""

    def __init__(self, sources: Sequence[RunSource]) -> None:
        self.all = list(sources)
        self._by_id = {source.id: source for source in sources}

    def find(self, name: str) -> RunSource:
        """The run of that id."""
        if name not in self._by_id:
            raise PageError(404, "no_such_run", f"no run is called {name}", f"there are: {', '.join(self._by_id)}")
        return self._by_id[name]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within it, runs stay as they are: files do anyway."""
        yield

    def close(self) -> None:
        """Let go of all files."""
        for source in self.all:
            source.run.close()


def open_sources(paths: Sequence[str], cache: ByteCache | None = None) -> RunSources:
    """Open them all; nothing stays open if one of them can not be."""
    if not 1 <= len(paths) <= MOST_RUNS:
        what = "no run was named" if not paths else f"{len(paths)} runs were named, and at most {MOST_RUNS} are shown"
        raise UserError(what, "name one to eight run files", USAGE)
    cache = cache or ByteCache()
    opened: list[RunSource] = []
    try:
        for name, path in zip(unique_stems(paths), paths, strict=True):
            opened.append(RunSource(name, path, _open(path), cache))
    except BaseException:
        RunSources(opened).close()
        raise
    return RunSources(opened)


def unique_stems(paths: Sequence[str]) -> list[str]:
    """day, day-2: names of files without folder and ending, each once."""
    taken: dict[str, None] = {}
    for path in paths:
        stem = Path(Path(path).name.removesuffix(".partial")).stem or "run"
        names = (stem, *(f"{stem}-{number}" for number in range(2, len(paths) + len(taken) + 2)))
        taken[next(name for name in names if name not in taken)] = None
    return list(taken)


def _open(path: str) -> Run:
    try:
        return Run.open(path)
    except RecordError as error:
        if str(error).endswith("is still being written"):
            hint = "open the scheduler that writes it: fairway ui --scheduler URL"
            raise UserError(str(error), hint) from error
        raise

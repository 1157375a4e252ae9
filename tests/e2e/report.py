"""What the two schedulers made of the specs: read, set side by side, judged.

In: the files of results that the test program writes, one for each scheduler. Out: a table of the suites, the specs on
which the two differ, those that fail with both, and the verdict: a spec counts where kube-scheduler passes it, and
Fairway has to pass it too. Called by `__main__`; `read_results` also by `run`, for its progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Final, NamedTuple

from tests.e2e.specs import SUITES, suite_of

__all__ = ["Comparison", "Result", "ResultError", "Results", "read_results"]

STATES: Final = {"passed": "passed", "skipped": "skipped", "pending": "skipped"}
"""The test program's words, in ours; any other (failed, panicked, timedout, interrupted, aborted) is a failure."""
REFERENCE: Final = "kube-scheduler"
OURS: Final = "fairway"
COLUMNS: Final = ("passed", "failed", "skipped")


class ResultError(ValueError):
    """A file of results cannot be read; the message says which, where and why."""


class Result(NamedTuple):
    """How one spec ended."""

    name: str
    suite: str
    state: str  # one of COLUMNS
    seconds: float
    message: str

    @property
    def reason(self) -> str:
        """The first line of what the spec said; all of it, cut short, where that is only the word "Expected"."""
        lines = [line.strip() for line in self.message.splitlines() if line.strip()]
        if lines[:1] == ["Expected"]:
            return shorten(" ".join(lines), 120, placeholder=" ...")
        return lines[0] if lines else "no reason given"


class Results(NamedTuple):
    """How far a run has come: how many specs it set out to run, and how those ended that have."""

    planned: int
    specs: dict[str, Result]

    @property
    def is_complete(self) -> bool:
        """Every spec has ended."""
        return self.planned > 0 and len(self.specs) >= self.planned


def read_results(path: Path) -> Results:
    """A file of results; one that is still being written may end within a line."""
    planned, specs = 0, {}
    text = path.read_text() if path.exists() else ""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not line.endswith("\n"):
            break
        try:
            content = json.loads(line)
            if "specs" in content:
                planned += content["specs"]
            else:
                result = _result(content)
                if result.name in specs:
                    raise ValueError(f"{result.name!r} has ended before")
                specs[result.name] = result
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}, line {number}: this is no result of a spec ({error!r})") from error
    return Results(planned, specs)


def _result(content: Mapping[str, object]) -> Result:
    state, file = str(content["state"]), str(content["file"])
    seconds = content["seconds"]
    if not isinstance(seconds, int | float):
        raise TypeError(f"seconds: {seconds!r} is no number")
    name, message = str(content["name"]), str(content.get("message", ""))
    return Result(name, suite_of(file), STATES.get(state, "failed"), float(seconds), message)


class Comparison:
    """The same specs under two schedulers."""

    def __init__(self, results: Mapping[str, Results]) -> None:
        self._reference, self._ours = results[REFERENCE], results[OURS]
        self._names = sorted({*self._reference.specs, *self._ours.specs}, key=self._order)

    @property
    def is_usable(self) -> bool:
        """Both schedulers have been through all their specs, and kube-scheduler has passed some of them."""
        is_complete = self._reference.is_complete and self._ours.is_complete
        return is_complete and any(result.state == "passed" for result in self._reference.specs.values())

    def failed_here_only(self) -> list[str]:
        """Specs that kube-scheduler passes and Fairway does not."""
        return [
            name
            for name in self._names
            if _state(self._reference, name) == "passed" and _state(self._ours, name) != "passed"
        ]

    def exit_code(self) -> int:
        """3 for a spec that only kube-scheduler passes, 1 for a comparison that says nothing, 0 otherwise."""
        if self.failed_here_only():
            return 3
        return 0 if self.is_usable else 1

    def __str__(self) -> str:
        parts = ["\n".join(self._table()), self._differing(), self._failing_with_both(), self._verdict()]
        return "\n\n".join(part for part in parts if part)

    def _table(self) -> Iterable[str]:
        yield f"{'':12}{REFERENCE:^27}   {OURS:^27}".rstrip()
        yield f"{'suite':12}" + "   ".join("".join(f"{column:>9}" for column in COLUMNS) for _ in range(2))
        for suite in (*SUITES, "all"):
            counts = [self._counts(results, suite) for results in (self._reference, self._ours)]
            if any(map(any, counts)):
                yield f"{suite:12}" + "   ".join("".join(f"{count:9}" for count in each) for each in counts)
        minutes = [
            sum(each.seconds for each in results.specs.values()) / 60 for results in (self._reference, self._ours)
        ]
        yield f"{'minutes':12}" + "   ".join(f"{each:27.1f}" for each in minutes)

    def _counts(self, results: Results, suite: str) -> list[int]:
        states = [result.state for result in results.specs.values() if suite in {result.suite, "all"}]
        return [states.count(column) for column in COLUMNS]

    def _differing(self) -> str:
        lines = []
        for name in self._names:
            states = {OURS: _state(self._ours, name), REFERENCE: _state(self._reference, name)}
            if len(set(states.values())) > 1:
                lines += [f"  {name}", f"      {REFERENCE}: {states[REFERENCE]}, {OURS}: {states[OURS]}"]
                lines += [
                    f"      {scheduler}: {results.specs[name].reason}"
                    for scheduler, results in ((REFERENCE, self._reference), (OURS, self._ours))
                    if states[scheduler] == "failed"
                ]
        return "\n".join([f"different ({_count(lines, '  [')}):", *lines]) if lines else ""

    def _failing_with_both(self) -> str:
        names = [name for name in self._names if self._fails_with_both(name)]
        lines = [f"  {name}\n      {self._reference.specs[name].reason}" for name in names]
        return "\n".join([f"failed with both ({len(names)}):", *lines]) if names else ""

    def _fails_with_both(self, name: str) -> bool:
        return _state(self._reference, name) == _state(self._ours, name) == "failed"

    def _verdict(self) -> str:
        failed = self.failed_here_only()
        if failed:
            return f"{OURS} fails {len(failed)} of the specs that {REFERENCE} passes."
        for scheduler, results in ((REFERENCE, self._reference), (OURS, self._ours)):
            if not results.is_complete:
                return f"{scheduler} has been through {len(results.specs)} of {results.planned} specs: no verdict."
        if not self.is_usable:
            return f"{REFERENCE} passes no spec at all: no verdict."
        return f"{OURS} passes every spec that {REFERENCE} passes."

    def _order(self, name: str) -> tuple[int, str]:
        result = self._reference.specs.get(name) or self._ours.specs[name]
        return SUITES.index(result.suite), name


def _state(results: Results, name: str) -> str:
    return results.specs[name].state if name in results.specs else "not run"


def _count(lines: Iterable[str], start: str) -> int:
    return sum(line.startswith(start) for line in lines)

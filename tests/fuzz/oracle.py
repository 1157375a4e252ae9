"""kube-scheduler's own code as a process that answers: a case in, its decisions out, or why it does not count.

In: cases without decisions. Out: for each an `Answer`. The program is `tests/kube/cmd/reference admit`, which does what
an API server does with objects (defaults, admission, validation) before anything is decided. Called by `compare` and
`shrink`; the process lives as long as the `Oracle`.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from tests.fuzz.draw import Json
from tests.kube.build import build_reference

__all__ = ["Answer", "Oracle"]

BATCH = 8
"""Cases that are asked about at once, so that both sides are busy."""


class Answer(NamedTuple):
    """A case as the reference gives it back."""

    line: bytes  # with the decisions; or the reason
    refused: str  # why an API server, or kube-scheduler, would not take it; "" if it counts


class Oracle:
    """Asks the reference, several cases at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([build_reference(), "admit"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stdin.close()
        self._process.wait()
        self._stdout.close()

    def ask(self, case: Json) -> Answer:
        """What becomes of one case."""
        return next(self.ask_all([case]))

    def ask_all(self, cases: Iterable[Json]) -> Iterator[Answer]:
        """What becomes of each, in order."""
        remaining = iter(cases)
        while batch := list(islice(remaining, BATCH)):
            yield from self._ask(batch)

    def _ask(self, batch: list[Json]) -> Iterator[Answer]:
        stdin, stdout = self._stdin, self._stdout
        questions = b"".join(msgspec.json.encode(case) + b"\n" for case in batch)
        # Beside reading: both pipes may be full, and then neither side could go on.
        writer = threading.Thread(target=lambda: (stdin.write(questions), stdin.flush()), daemon=True)
        writer.start()
        for case in batch:
            line = stdout.readline()
            if not line:
                raise RuntimeError(f"the reference ended while it was asked about {case['name']} or a case near it")
            yield Answer(line, msgspec.json.decode(line).get("refused", "") if b'"refused":' in line[:400] else "")
        writer.join()

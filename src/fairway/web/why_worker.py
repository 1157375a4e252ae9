"""A process that answers why: asked line by line, so that a question can be ended with its process.

In: on standard input one question a line, as JSON. Out: on standard output its answer as JSON, after its length as four
bytes and a sign: `=` the document that `fairway why -o json` prints, `!` what is wrong. A run that is named when it
starts is opened before anybody asks. Ends with its input. Started by `why_desk`, which never lets more than a few be at
work.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, Final

import msgspec

from fairway.explain.run_answer import answer
from fairway.model import UserError
from fairway.record import RecordError, Run

__all__ = ["DOCUMENT", "AskedWhy", "serve"]

DOCUMENT: Final = b"="
WRONG: Final = b"!"


class AskedWhy(msgspec.Struct):
    """A question."""

    path: str
    pod: str
    at: float | None
    attempt: int | None
    node: str | None
    all_nodes: bool


def serve(questions: BinaryIO, answers: BinaryIO, expected: Sequence[str] = ()) -> None:
    """Answer until there are no more questions; some of these runs are `expected` to be asked about."""
    runs: dict[str, Run] = {}
    for path in expected:
        with contextlib.suppress(RecordError):  # whoever asks is told
            runs[path] = Run.open(path)
    decoder = msgspec.json.Decoder(AskedWhy)
    for line in questions:
        sign, value = _answer(runs, decoder.decode(line))
        made = msgspec.json.encode(value)
        answers.write(len(made).to_bytes(4, "big") + sign + made)
        answers.flush()


def _answer(runs: dict[str, Run], asked: AskedWhy) -> tuple[bytes, dict[str, Any]]:
    try:
        if asked.path not in runs:
            runs[asked.path] = Run.open(asked.path)
        found = answer(
            runs[asked.path],
            asked.pod,
            at=asked.at,
            attempt=asked.attempt,
            node=asked.node,
            all_nodes=asked.all_nodes,
        )
        return DOCUMENT, found.document()
    except UserError as error:
        return WRONG, {"message": error.what, "hint": error.hint}
    except RecordError as error:
        return WRONG, {"message": str(error), "hint": ""}


def main() -> None:
    """On the process's own input and output; whatever else is printed goes elsewhere."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers, sys.argv[1:])


if __name__ == "__main__":
    main()

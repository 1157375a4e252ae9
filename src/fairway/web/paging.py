"""Long tables, page by page: each row once, however small the pages are.

In: a question with `limit` and `next`. Out: where the page begins, and what to say to get the next one: an opaque word
that holds the place and a digest of the question, so that a word is of no use for another question. Recorded runs do
not change, so places hold. Called by everything that answers with a table.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from fairway.web.page_error import PageError

__all__ = ["PageOf", "Paged", "columns_of", "next_word", "page_begin", "page_of"]

C = TypeVar("C")


class PageOf(msgspec.Struct, Generic[C]):
    """Rows of a table, as columns; `next` asks for those after them."""

    columns: C
    num_rows: int
    total: int
    next: str | None


class Paged(Protocol):
    """A question about a table."""

    limit: int
    next: str | None


def page_begin(question: Paged) -> int:
    """The number of the first row that is asked for."""
    if question.next is None:
        return 0
    try:
        digest, begin = msgspec.json.decode(base64.urlsafe_b64decode(question.next.encode()), type=tuple[str, int])
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        digest, begin = "", -1
    if digest != _digest(question) or begin < 0:
        hint = "give `next` as the page before has it, and everything else as it was"
        raise PageError(400, "bad_cursor", "next: this is no word for this question", hint)
    return begin


def next_word(question: Paged, begin: int, num_rows: int, total: int) -> str | None:
    """What asks for the rows after these; None: there are none."""
    if begin + num_rows >= total or not num_rows:
        return None
    return base64.urlsafe_b64encode(msgspec.json.encode((_digest(question), begin + num_rows))).decode()


def page_of(question: Paged, columns: C, begin: int, num_rows: int, total: int) -> PageOf[C]:
    """The answer."""
    return PageOf(columns, num_rows, total, next_word(question, begin, num_rows, total))


def columns_of(kind: type[C], rows: Sequence[Mapping[str, Any]]) -> C:
    """Rows as the columns that a struct names; what else they hold is left out."""
    names = [column.name for column in msgspec.structs.fields(kind)]  # type: ignore[arg-type]
    return kind(*([row[name] for row in rows] for name in names))


def _digest(question: Paged) -> str:
    asked = {name: value for name, value in msgspec.to_builtins(question).items() if name not in {"next", "limit"}}
    return hashlib.blake2b(msgspec.json.encode(asked, order="sorted"), digest_size=6).hexdigest()

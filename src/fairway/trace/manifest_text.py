"""Manifest files cut into pieces that can be read each by itself.

In: the text of a file of JSON or YAML. Out: one `Piece` for each document, and for each item of a `kind: List`, with
the place it was found at. So a piece that is wrong is reported by its line and costs no other, and long files show
progress. Called by `manifest_objects`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from fairway.model import DecodeError, Source
from fairway.model.nesting import check_nesting

__all__ = ["Piece", "cut_json", "cut_yaml"]

SEPARATOR: Final = re.compile(rb"^---(?:[ \t].*)?\r?$", re.MULTILINE)
LIST_KIND: Final = re.compile(rb"^kind:[ \t]*[\"']?List[\"']?[ \t]*\r?$", re.MULTILINE)
ITEMS: Final = re.compile(rb"^items:[ \t]*\r?\n", re.MULTILINE)
DASH: Final = re.compile(rb"^( *)-(?=[ \t\r\n])", re.MULTILINE)
KIND: Final = re.compile(rb"^kind:", re.MULTILINE)
EMPTY: Final = re.compile(rb"\s*(?:#[^\n]*(?:\n\s*|\Z))*")  # each comment whole: a banner of # has one reading only
BLANK_LINES: Final = re.compile(rb"(?:[ \t]*\r?\n)*")
SHARED: Final = re.compile(rb"^[^#\n]*?[:-][ \t]+[&*]\w", re.MULTILINE)  # an anchor or alias: items may share values
TOP_LEVEL: Final = re.compile(rb"^[^ \t\r\n#-]", re.MULTILINE)


class Piece(NamedTuple):
    """Part of a file: its text, where that begins, and which item of a list it is."""

    text: bytes
    source: Source
    line: int = 1
    share: float = 1.0  # of the whole file


class _List(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct, gc=False):
    kind: str | None = None


_LIST = msgspec.json.Decoder(_List)
_KIND = msgspec.json.Decoder(_Kind)


def cut_json(data: bytes, file: str) -> Iterator[Piece]:
    """The items of a list, or the one object there is; what makes no sense comes whole, for the decoder to say why."""
    check_nesting(data, file)
    try:
        header = _LIST.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        header = _List()
    if not header.kind.endswith("List") or header.items is None:
        yield Piece(data, Source(file))
        return
    for index, item in enumerate(header.items):
        text = bytes(item)
        if header.kind != "List":
            text = _with_kind(text, header)
        yield Piece(text, Source(file, item=index), share=len(item) / len(data))


def _with_kind(text: bytes, header: _List) -> bytes:
    """In a PodList the items do not say that they are pods."""
    try:
        if _KIND.decode(text).kind:
            return text
    except msgspec.DecodeError:
        return text  # not an object; its decoder will say so
    names = {"apiVersion": header.api_version, "kind": header.kind.removesuffix("List")}
    return msgspec.json.encode(names | msgspec.json.decode(text) | names)


def cut_yaml(data: bytes, file: str) -> Iterator[Piece]:
    """The items of each list as `kubectl` prints it, and every other document."""
    if data.startswith(b"%") or b"\n%" in data:  # a directive belongs to the document behind the next separator
        yield Piece(data, Source(file))
        return
    separators = list(SEPARATOR.finditer(data))
    # What stands behind three dashes belongs to the next document; the dashes themselves do not matter to it.
    starts = [0, *(found.start() + 3 for found in separators)]
    ends = [*(found.start() for found in separators), len(data)]
    documents = [span for span in zip(starts, ends, strict=True) if not EMPTY.fullmatch(data, *span)]
    line, counted = 1, 0
    for number, (first, end) in enumerate(documents, 1):
        start = BLANK_LINES.match(data, first, end).end()  # type: ignore[union-attr]  # it matches nothing as well
        line += data.count(b"\n", counted, start)
        counted = start
        document = data[start:end]
        if (found := _find_items(document, file)) is None:
            source = Source(file, number, line if len(documents) > 1 else None)
            yield Piece(document, source, line, len(document) / len(data))
        else:
            yield from _cut_items(document, *found, file=file, line=line, size=len(data))


def _find_items(document: bytes, file: str) -> tuple[int, int, int] | None:
    """Where the items of a `kind: List` begin and end, and how deep their dashes stand; None if it is no such list."""
    head = ITEMS.search(document)
    first = DASH.search(document, head.end()) if head else None
    if head is None or first is None or document[head.end() : first.start()].strip() or SHARED.search(document):
        return None
    tail = TOP_LEVEL.search(document, first.start())
    end = tail.start() if tail else len(document)
    if LIST_KIND.search(document[: head.end()] + document[end:]):
        return first.start(), end, len(first[1])
    if tail is None and not KIND.search(document[: head.start()]):
        raise DecodeError("is cut off: the items are not followed by the kind of their list", source=file)
    return None


def _cut_items(
    document: bytes, begin: int, end: int, indent: int, *, file: str, line: int, size: int
) -> Iterator[Piece]:
    starts = [found.start() for found in DASH.finditer(document, begin, end) if len(found[1]) == indent]
    counted = 0
    for index, (start, stop) in enumerate(zip(starts, [*starts[1:], end], strict=True)):
        line += document.count(b"\n", counted, start)
        counted = start
        text = document[start:stop]
        text = text[:indent] + b" " + text[indent + 1 :]  # the dash gives way, so that the item stands alone
        yield Piece(text, Source(f"{file}:{line}", item=index), line, len(text) / size)

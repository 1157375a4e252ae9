"""How deep JSON may be nested: the same on every Python.

In: the bytes of a JSON text, whole or cut off. Out: nothing, or a `DecodeError` that says where it is too deep.
Interpreters differ in how deep a text they can take, and so would the message; this limit is far below all of theirs,
and what is read within it can be walked by functions that call themselves. Called by the readers of JSON in `model/`,
`trace/`, `cycle/` and `cli/` before they parse; `yaml_text` keeps the same limit while it reads.
"""

from __future__ import annotations

import re
from typing import Final

from fairway.model.errors import DecodeError, Source

__all__ = ["MAX_DEPTH", "check_nesting", "place_of"]

MAX_DEPTH: Final = 100

_ONE_KIND: Final = bytes.maketrans(b"[]", b"{}")
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def check_nesting(data: bytes, source: Source | str) -> None:
    """Raise `DecodeError` if lists and objects are nested more than `MAX_DEPTH` deep."""
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH or _is_shallow(data):
        return
    depth = 0
    for token in _TOKEN.finditer(data):
        if token[0] in (b"{", b"["):
            depth += 1
            if depth > MAX_DEPTH:
                raise DecodeError(f"{place_of(data, token.start())}: nested more than {MAX_DEPTH} deep", source=source)
        elif token[0] in (b"}", b"]"):
            depth -= 1


def place_of(data: bytes, offset: int) -> str:
    """Where a byte stands, for people."""
    before = data[:offset]
    return f"line {before.count(10) + 1}, column {offset - before.rfind(10)}"


def _is_shallow(data: bytes) -> bool:
    """Is it surely not too deep? In a few passes over the text, each at the speed of C; False settles nothing."""
    # A run of backslashes pairs off from its left, so that what is left before a quote escapes it.
    unescaped = data.replace(rb"\\", b"").replace(rb"\"", b"")
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    brackets = outside_strings.translate(_ONE_KIND, _OTHERS)
    for _ in range(MAX_DEPTH):  # each pass takes away what has nothing inside
        if not brackets:
            return True
        brackets = brackets.replace(b"{}", b"")
    return not brackets

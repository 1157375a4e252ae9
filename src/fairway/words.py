"""Words for people: text from elsewhere made fit to be shown.

In: text that somebody else wrote (names, labels, messages, whatever a file or a cluster holds). Out: the same text, in
which nothing can move the cursor, hide, or turn around what stands beside it, or be taken for a formula. The lowest
room: everybody may use it, and it uses nothing.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["safe_cell", "visible"]

UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and the end of a line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of writing
    "\u2028\u2029\ufeff\ud800-\udfff]"  # end lines, are not there, or can not be encoded
)
LAYOUT: Final = re.compile("[\t\n]")
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a cell of a spreadsheet begins with that is calculated."""


def visible(text: str, *, one_line: bool = False) -> str:
    r"""The text with control characters written out, as in \x1b; with `one_line` tabs and line ends as well."""
    shown = UNSEEN.sub(_written_out, text)
    return LAYOUT.sub(_written_out, shown) if one_line else shown


def safe_cell(text: str) -> str:
    """The text as a spreadsheet may read it: never a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _written_out(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")

"""Scripts and styles as they are sent: without what is for those who read the sources.

In: the text of a file. Out: the same without comments, indents and blanks that tell no two words apart; lines of
scripts keep their numbers, and what is within quotes stays as it is. No text of a script goes over the end of a line:
a test says so. Called by `static_files`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["sent_script", "sent_style"]

COMMENT: Final = re.compile(r"^[ \t]*//[^\n]*|/\*\*.*?\*/", re.MULTILINE | re.DOTALL)
"""A line that is nothing else, or what a type checker reads."""
QUOTED: Final = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
PATTERN: Final = re.compile(r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+/[a-z]*")
BEFORE_PATTERN: Final = "(,=:[!&|?{};>"
"""A slash behind one of these begins a pattern; behind anything else it divides."""
LAST: Final = re.compile(r";(?=\n+})|,(?=\n+[}\])])")
"""The sign behind the last of several, at the end of a line."""
STYLE: Final = re.compile(r';?\s*(})\s*|\s*([{;,>])\s*|(?<=:) |\n+|("[^"]*")')


def sent_script(text: str) -> str:
    """A module of script."""
    bare = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    return LAST.sub("", "\n".join("".join(_closed_up(line.strip())) for line in bare.split("\n")))


def sent_style(text: str) -> str:
    """A style sheet."""
    return STYLE.sub(lambda found: found[1] or found[2] or found[3] or "", text)


def _closed_up(line: str) -> Iterator[str]:
    """Its words, with a blank only where two of them would become one."""
    last, place = "", 0
    while place < len(line):
        if line[place] == " ":
            place += 1
            if (_is_word(last) and _is_word(line[place])) or (last == line[place] and last in "+-"):
                yield " "
            continue
        if line.startswith("//", place):
            return
        end = _end(line, place, last)
        yield line[place:end]
        last, place = line[end - 1], end


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign in {"_", "$"}


def _end(line: str, place: int, last: str) -> int:
    """Where the text, the pattern or the sign that begins there ends."""
    sign = line[place]
    if sign == "`":
        return _template_end(line, place + 1)
    kind = QUOTED if sign in "\"'" else PATTERN if sign == "/" and (not last or last in BEFORE_PATTERN) else None
    found = kind and kind.match(line, place)
    return found.end() if found else place + 1


def _template_end(line: str, place: int) -> int:
    """Of one that begins before: its script may hold quotes, braces and templates again."""
    depth = 0
    while depth or line[place] != "`":
        if line[place] == "\\":
            place += 2
        elif not depth:
            depth, place = (1, place + 2) if line.startswith("${", place) else (0, place + 1)
        else:
            depth += {"{": 1, "}": -1}.get(line[place], 0)
            place = _end(line, place, line[place - 1].strip() or "(")
    return place + 1

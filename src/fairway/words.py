"""Words for people: numbers, amounts, clocks, and text from elsewhere made fit to be shown.

In: the integers that the engine counts with (cpu in thousandths, everything else in whole units), seconds, and text
that somebody else wrote (names, labels, messages, whatever a file or a cluster holds). Out: `10 000`, `500m`, `16Gi`,
`00:14:09`; and the same text, in which nothing can move the cursor, hide, turn around what stands beside it, or be
taken for a formula. The lowest room: everybody may use it, and it uses nothing.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

__all__ = [
    "FORMULA",
    "UNSEEN",
    "amount_text",
    "amount_texts",
    "clock_text",
    "count_text",
    "excerpt",
    "go_duration",
    "length_text",
    "nodes_text",
    "plugin_text",
    "pods_text",
    "safe_cell",
    "time_text",
    "visible",
]

UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and the end of a line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of writing
    "\u00ad\u200b-\u200d\u2060-\u2064\ufeff\U000e0000-\U000e007f"  # take no room
    "\u2028\u2029\ud800-\udfff]"  # end lines, or can not be encoded
)
LAYOUT: Final = re.compile("[\t\n]")
LONGEST_EXCERPT: Final = 1000
"""Somebody else's file may have a word of many megabytes where a message quotes it."""
DAY, HOUR, MINUTE = 86_400, 3_600, 60
DATES: Final = (1e9, 1e10)  # seconds since 1970: from 2001 to 2286
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a cell of a spreadsheet begins with that is calculated."""


def visible(text: str, *, one_line: bool = False) -> str:
    r"""The text with control characters written out, as in \x1b; with `one_line` tabs and line ends as well."""
    shown = UNSEEN.sub(_written_out, text)
    return LAYOUT.sub(_written_out, shown) if one_line else shown


def excerpt(text: str, longest: int = LONGEST_EXCERPT) -> str:
    """The text on one line, to be shown in a message: of a long one the beginning and the end."""
    if len(text) > longest:
        text = f"{text[: longest * 2 // 3]} … {text[-(longest // 3) :]}"
    return visible(text, one_line=True)


def safe_cell(text: str) -> str:
    """The text as a spreadsheet may read it: never a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _written_out(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")


# -- numbers -----------------------------------------------------------------------------------------------------------

MANY_MILLI = 100_000
"""From so many thousandths of a CPU on, whole ones are easier to read."""

UNITS: Final = [(f"{letter}i", 1024**power) for power, letter in reversed(list(enumerate("KMGTPE", 1)))]


def count_text(number: int) -> str:
    """10000 as 10 000."""
    return f"{number:,}".replace(",", " ")


def nodes_text(number: int) -> str:
    """1 node, 2 nodes."""
    return f"{count_text(number)} node{'' if number == 1 else 's'}"


def pods_text(number: int) -> str:
    """1 pod, 2 pods."""
    return f"{count_text(number)} pod{'' if number == 1 else 's'}"


def plugin_text(name: str) -> str:
    """A plugin's name without the module it is in: `green:PreferGreen` is PreferGreen."""
    return name.rpartition(":")[2]


def amount_text(resource: str, amount: int) -> str:
    """An amount in the unit it is written in; never rounded up."""
    if resource == "cpu":
        if amount % 1000 == 0 or abs(amount) < MANY_MILLI:
            return count_text(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
        sign, size = ("-", -amount) if amount < 0 else ("", amount)
        return f"{sign}{count_text(size // 1000)}.{size % 1000:03}".rstrip("0")
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        sign, size = ("-", -amount) if amount < 0 else ("", amount)
        for unit, factor in UNITS:
            if size >= factor:
                hundredths = size * 100 // factor
                return f"{sign}{hundredths // 100}{f'.{hundredths % 100:02}'.rstrip('0').rstrip('.')}{unit}"
    return count_text(amount)


def amount_texts(resource: str, *amounts: int) -> tuple[str, ...]:
    """Several amounts of one resource; exact when they could not be told apart otherwise."""
    texts = tuple(amount_text(resource, amount) for amount in amounts)
    if len(set(texts)) < len(set(amounts)):
        return tuple(map(count_text, amounts))
    return texts


def clock_text(seconds: float) -> str:
    """Virtual time as a clock shows it: 00:14:09, or 2d 03:00:00."""
    days, rest = divmod(int(seconds), 86_400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}d {clock}" if days else clock


def time_text(seconds: float) -> str:
    """A moment as a clock shows it, with a fraction only if it has one; `--at` takes it back.

    One that lies decades after the clock's beginning is of a clock that began in 1970: it is shown as a time of day.
    """
    if DATES[0] <= seconds < DATES[1]:
        return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    thousandths = round(seconds * 1000)
    whole, fraction = divmod(thousandths, 1000)
    days, rest = divmod(whole, DAY)
    clock = f"{rest // HOUR:02}:{rest % HOUR // MINUTE:02}:{rest % MINUTE:02}"
    if fraction:
        clock += f".{fraction:03}".rstrip("0")
    return f"{days}d {clock}" if days else clock


def length_text(seconds: float) -> str:
    """How long something took, in its two largest units: 1d 2h, 17m 17s, 0.4s."""
    if seconds < MINUTE:
        return f"{seconds:.3g}s"
    whole = round(seconds)
    parts = [("d", whole // DAY), ("h", whole % DAY // HOUR), ("m", whole % HOUR // MINUTE), ("s", whole % MINUTE)]
    first = next(place for place, (_, number) in enumerate(parts) if number)
    return " ".join(f"{number}{unit}" for unit, number in parts[first : first + 2] if number)


def go_duration(seconds: float) -> str:
    """A length as Go prints it, and so kube-scheduler: 1m30s, 1.5s, 500ms, 0s."""
    nanos = round(seconds * 1e9)
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    if nanos < 1_000_000_000:
        unit, size = next(((unit, size) for unit, size in GO_UNITS if nanos >= size), ("s", 1))
        return f"{sign}{_decimal(nanos, size)}{unit}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    if minutes >= 60:
        text = f"{minutes // 60}h{minutes % 60}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


GO_UNITS: Final = (("ms", 1_000_000), ("µs", 1000), ("ns", 1))


def _decimal(number: int, size: int) -> str:
    """A number of parts, so many of which are one."""
    whole, rest = divmod(number, size)
    return f"{whole}.{rest:0{len(str(size)) - 1}}".rstrip("0") if rest else str(whole)

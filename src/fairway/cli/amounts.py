"""Amounts of resources and numbers of nodes, as people write them.

In: the integers that the engine counts with (cpu in thousandths, everything else in whole units). Out: text: `500m`,
`16Gi`, `10 000`. Called by everything in this room that puts an amount into a sentence.
"""

from __future__ import annotations

from typing import Final

__all__ = ["amount_text", "amount_texts", "count_text", "nodes_text", "plugin_text"]

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

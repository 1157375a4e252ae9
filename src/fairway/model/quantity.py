"""Amounts as Kubernetes writes them: "250m", "2Gi", "1e3", 0.5.

In: the text or number found in a manifest. Out: an immutable `Quantity`, whose `value` and `milli` are the
integers that kube-scheduler computes with. The grammar and the rounding are those of
`k8s.io/apimachinery/pkg/api/resource` v0.36.4: anything finer than one billionth is rounded away from
zero. Integers beyond 64 bits saturate; Go would wrap around there, so `fairway.model.validate` refuses them.
Every resource list in `fairway.model` holds quantities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, total_ordering

__all__ = ["MAX_INT64", "MIN_INT64", "Quantity", "parse_quantity", "quantity_of", "thousandths", "whole_units"]

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)

NANO = 10**9
MAX_TEXT = 256
"""Longest text parsed: no honest amount is longer, and exponents of longer ones would eat the machine."""

MAX_BITS = 1024
MAX_EXPONENT = 400
"""Beyond this power of ten every amount saturates (or rounds up to one billionth) whatever its digits."""

SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}

# Digits, then a suffix. "1E" is one exa, "1E3" is one thousand: an exponent needs digits behind its letter.
QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE]|))",
    re.ASCII,
)


@total_ordering
class Quantity:
    """An exact amount of something; equal to every quantity of the same amount, however it is written."""

    __slots__ = ("milli", "nanos", "text", "value")

    text: str
    """The amount as it was written."""
    nanos: int
    """Billionths, exact and unbounded: the amount to add up and compare."""
    value: int
    """Whole units, rounded away from zero: `resource.Quantity.Value()`."""
    milli: int
    """Thousandths, rounded away from zero: `resource.Quantity.MilliValue()`."""

    def __init__(self, text: str, nanos: int) -> None:
        """Use `parse_quantity`; this only puts the parts together."""
        put = object.__setattr__
        put(self, "text", text)
        put(self, "nanos", nanos)
        put(self, "value", whole_units(nanos))
        put(self, "milli", thousandths(nanos))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Quantity cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Quantity cannot be changed: {name}")

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.nanos < other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __bool__(self) -> bool:
        return self.nanos != 0

    def __repr__(self) -> str:
        return f"Quantity({self.text!r})"

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Callable[[str], Quantity], tuple[str]]:
        return parse_quantity, (self.text,)


def quantity_of(nanos: int) -> Quantity:
    """The quantity of so many billionths, written as short as it goes in decimal."""
    for suffix, unit in (("", NANO), ("m", 10**6), ("u", 10**3)):
        if nanos % unit == 0:
            return parse_quantity(f"{nanos // unit}{suffix}")
    return parse_quantity(f"{nanos}n")


def whole_units(nanos: int) -> int:
    """Billionths to units as kube-scheduler counts them: rounded away from zero, within 64 bits."""
    return _divide_away(nanos, NANO)


def thousandths(nanos: int) -> int:
    """Billionths to thousandths as kube-scheduler counts them: rounded away from zero, within 64 bits."""
    return _divide_away(nanos, NANO // 1000)


def _divide_away(nanos: int, unit: int) -> int:
    amount = -(-nanos // unit) if nanos > 0 else nanos // unit
    return min(max(amount, MIN_INT64), MAX_INT64)


@lru_cache(maxsize=8192, typed=True)
def parse_quantity(text: str | float) -> Quantity:
    """Read an amount; numbers are read as they print. `ValueError` says what is wrong with anything else."""
    if isinstance(text, bool):
        raise ValueError(f"a quantity is a number or text such as 250m or 2Gi, not {str(text).lower()}")
    if isinstance(text, float) and not math.isfinite(text):
        raise ValueError(f"quantity {text} is not a finite number")
    if isinstance(text, int) and text.bit_length() > MAX_BITS:
        raise ValueError(f"a quantity of {text.bit_length()} bits is not an amount of anything")
    text = str(text)
    if not text:
        raise ValueError("quantity is empty; write a number with an optional suffix, such as 250m or 2Gi")
    if len(text) > MAX_TEXT:
        raise ValueError(f"quantity {text[:20]!r}... is longer than {MAX_TEXT} characters")
    found = QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(
            f"quantity {text!r} is not a number with an optional suffix"
            " (n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent such as e3)"
        )
    # No digits at all is nothing at all: Kubernetes reads "m" and "." as zero.
    digits = int(f"0{found['whole']}{found['part'] or ''}")
    power = -len(found["part"] or "")
    suffix = found["suffix"]
    if suffix is None:
        power += min(max(int(found["exponent"]), -MAX_EXPONENT), MAX_EXPONENT)
        suffix = ""
    nanos = math.ceil(digits * SUFFIXES[suffix] * Fraction(10) ** power * NANO)
    if suffix.endswith("i"):
        nanos = min(nanos, MAX_INT64 * NANO)  # Kubernetes caps binary amounts, and only those
    return Quantity(text, -nanos if found["sign"] == "-" else nanos)

"""Quantities read as apimachinery v0.36.4 reads them; the tables are what its own parser said."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import MAX_INT64, MIN_INT64, Quantity, parse_quantity, quantity_of

# text, Value(), MilliValue()
RECORDED = [
    ("0", 0, 0),
    ("1", 1, 1000),
    ("1.", 1, 1000),
    ("1.5", 2, 1500),
    (".5", 1, 500),
    ("+1", 1, 1000),
    ("-1", -1, -1000),
    ("-1.5", -2, -1500),
    ("100m", 1, 100),
    ("1500m", 2, 1500),
    ("1n", 1, 1),
    ("1u", 1, 1),
    ("999999n", 1, 1),
    ("1k", 1000, 1000000),
    ("1M", 1000000, 1000000000),
    ("1G", 1000000000, 1000000000000),
    ("1T", 1000000000000, 1000000000000000),
    ("1P", 1000000000000000, 1000000000000000000),
    ("1Ki", 1024, 1024000),
    ("1Mi", 1048576, 1048576000),
    ("1Gi", 1073741824, 1073741824000),
    ("1Ti", 1099511627776, 1099511627776000),
    ("1Pi", 1125899906842624, 1125899906842624000),
    ("0.1Ki", 103, 102400),
    ("1.5Ki", 1536, 1536000),
    ("3.75Gi", 4026531840, 4026531840000),
    ("1e3", 1000, 1000000),
    ("1E3", 1000, 1000000),
    ("1e-3", 1, 1),
    ("1E+2", 100, 100000),
    ("1e10", 10000000000, 10000000000000),
    ("0.0000000001", 1, 1),
    ("0.00000000051", 1, 1),
    ("1.0000000001", 2, 1001),
    ("12.345678901234567890", 13, 12346),
    ("007", 7, 7000),
    ("00", 0, 0),
    ("0.001", 1, 1),
    ("m", 0, 0),
    (".", 0, 0),
    ("1.G", 1000000000, 1000000000000),
    ("999999999999999", 999999999999999, 999999999999999000),
    ("0.5m", 1, 1),
    ("1.1n", 1, 1),
    ("2.5M", 2500000, 2500000000),
    ("0.25Gi", 268435456, 268435456000),
    ("1048576Ki", 1073741824, 1073741824000),
    ("1e-12", 1, 1),
    ("100e-3", 1, 100),
    ("17.000000001", 18, 17001),
    ("8.5k", 8500, 8500000),
]

REFUSED = [
    *(
        "",
        " 1",
        "1 ",
        "1x",
        "K",
        "1K",
        "1ki",
        "1mi",
        "1i",
        "1KI",
        "1Mi5",
        "1k3",
        "1e",
        "1e+",
        "e",
        "e1.5",
        "1e1.5",
        "1e3m",
    ),
    *("1.1.1", "--1", "1_0", "0x10", "abc", "1,5", "٣", "NaN", "inf"),
]


@pytest.mark.parametrize(("text", "value", "milli"), RECORDED, ids=[row[0] for row in RECORDED])
def test_reads_what_kubernetes_reads(text: str, value: int, milli: int) -> None:
    quantity = parse_quantity(text)
    assert (quantity.value, quantity.milli, quantity.text) == (value, milli, text)


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refuses_what_kubernetes_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("1E", 10**18, MAX_INT64),
        ("1Ei", 2**60, MAX_INT64),
        ("8Ei", MAX_INT64, MAX_INT64),
        ("9223372036854775807", MAX_INT64, MAX_INT64),
        ("9223372036854775808", MAX_INT64, MAX_INT64),
        ("-100E", MIN_INT64, MIN_INT64),
        ("1e999999999", MAX_INT64, MAX_INT64),
        ("1e-999999999", 1, 1),
    ],
)
def test_integers_beyond_64_bits_saturate(text: str, value: int, milli: int) -> None:
    quantity = parse_quantity(text)
    assert (quantity.value, quantity.milli) == (value, milli)


def test_binary_amounts_are_capped_and_decimal_ones_are_not() -> None:
    assert parse_quantity("100Ei") == parse_quantity("200Ei")
    assert parse_quantity("100E") != parse_quantity("200E")


@pytest.mark.parametrize(
    ("number", "text"),
    [(2, "2"), (0.5, "500m"), (0.1, "100m"), (1e22, "10000E"), (1e-7, "100n"), (-3, "-3"), (0.0, "0")],
)
def test_numbers_are_read_as_they_print(number: float, text: str) -> None:
    assert parse_quantity(number) == parse_quantity(text)


@pytest.mark.parametrize("number", [True, False, math.inf, -math.inf, math.nan, 1 << 5000], ids=lambda n: str(n)[:9])
def test_numbers_that_are_no_amounts(number: float) -> None:
    with pytest.raises(ValueError, match="quantity"):
        parse_quantity(number)


def test_long_text_is_refused_quickly() -> None:
    with pytest.raises(ValueError, match="longer than 256"):
        parse_quantity("1" * 100_000)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "1000m"), ("1Ki", "1024"), ("1e3", "1k"), ("0", "-0"), ("0.5", "500m"), ("1G", "1000M")]
)
def test_equal_amounts_are_equal(one: str, other: str) -> None:
    assert parse_quantity(one) == parse_quantity(other)
    assert hash(parse_quantity(one)) == hash(parse_quantity(other))


def test_a_quantity_cannot_be_changed_and_can_be_pickled() -> None:
    quantity = parse_quantity("2Gi")
    with pytest.raises(AttributeError):
        quantity.text = "3Gi"
    with pytest.raises(AttributeError):
        del quantity.text
    copy = pickle.loads(pickle.dumps(quantity))
    assert (copy, copy.text, copy.value) == (quantity, "2Gi", 2 << 30)
    assert quantity != "2Gi"
    assert repr(quantity) == "Quantity('2Gi')"


POWERS: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000) ** (index + 1) for index, suffix in enumerate("kMGTPE")},
    **{f"{letter}i": Fraction(1024) ** (index + 1) for index, letter in enumerate("KMGTPE")},
}


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.integers(0, 10**20),
    part=st.text("0123456789", max_size=15),
    suffix=st.sampled_from([*POWERS, *(f"e{power}" for power in range(-15, 16))]),
)
def test_amounts_are_exact_then_rounded_away_from_zero(sign: str, whole: int, part: str, suffix: str) -> None:
    scale = POWERS[suffix] if suffix in POWERS else Fraction(10) ** int(suffix[1:])
    exact = Fraction(f"{whole}.{part or 0}") * scale
    quantity = parse_quantity(f"{sign}{whole}.{part}{suffix}")
    if suffix.endswith("i"):
        exact = min(exact, Fraction(MAX_INT64))
    factor = -1 if sign == "-" else 1
    assert quantity.nanos == factor * math.ceil(exact * 10**9)
    value, milli = (factor * math.ceil(Fraction(quantity.nanos * factor, 10**9) * unit) for unit in (1, 1000))
    assert quantity.value == min(max(value, MIN_INT64), MAX_INT64)
    assert quantity.milli == min(max(milli, MIN_INT64), MAX_INT64)


@given(st.text(max_size=12) | st.integers() | st.floats())
def test_anything_is_a_quantity_or_a_value_error(text: str | float) -> None:
    try:
        quantity = parse_quantity(text)
    except ValueError:
        return
    assert isinstance(quantity, Quantity)
    assert MIN_INT64 <= quantity.value <= MAX_INT64


@given(st.integers(-(10**30), 10**30))
def test_billionths_become_the_quantity_of_that_amount(nanos: int) -> None:
    assert quantity_of(nanos).nanos == nanos

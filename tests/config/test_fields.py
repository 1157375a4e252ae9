"""One decoder for configurations and scenarios: what it makes of a struct's types, and how it objects."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from fairway.config.fields import KUBERNETES, Notation, Problem, decode_fields, decode_value
from fairway.model import Quantity, parse_quantity
from fairway.model.duration import Duration
from fairway.model.meta import Int32, Int64
from fairway.scenario.fields import NOTATIONS


class Square(msgspec.Struct, tag="square", tag_field="shape", frozen=True):
    side: float


class Circle(msgspec.Struct, tag="circle", tag_field="shape", frozen=True):
    radius: Annotated[float, msgspec.Meta(gt=0)]


class Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    removed_fields: ClassVar[dict[str, str]] = {"oldName": "write maxSkew"}

    max_skew: Int32 = 1
    words: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = ("a",)
    names: frozenset[str] = frozenset()
    sizes: list[int] = []
    figure: Square | Circle | None = None
    amount: str | int | float = 0
    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limits: dict[str, int | None] = {}
    level: Literal["low", "high", 3] = "low"
    code: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")] = "a"
    when: Duration = Duration(0)
    memory: Quantity = parse_quantity("1")
    nested: tuple["Strict", ...] = ()

    def __post_init__(self) -> None:
        if self.max_skew == 13:
            raise ValueError("13 is unlucky")


@pytest.mark.parametrize(
    ("value", "field", "made"),
    [
        ({"maxSkew": 3.0}, "max_skew", 3),
        ({"maxSkew": None}, "max_skew", 1),
        ({"names": ["b", "a"]}, "names", frozenset({"a", "b"})),
        ({"sizes": (1, 2)}, "sizes", [1, 2]),
        ({"figure": {"shape": "circle", "radius": 2}}, "figure", Circle(2.0)),
        ({"amount": "1Gi"}, "amount", "1Gi"),
        ({"amount": 0.5}, "amount", 0.5),
        ({"limits": {"a": None, "b": 1}}, "limits", {"a": None, "b": 1}),
        ({"level": 3}, "level", 3),
        ({"when": "1m30s"}, "when", 90.0),
        ({"memory": "2Ki"}, "memory", parse_quantity("2048")),
        ({"nested": [{"maxSkew": 2}]}, "nested", (Strict(max_skew=2),)),
    ],
)
def test_values_become_what_the_types_say(value: Any, field: str, made: Any) -> None:
    problems: list[Problem] = []
    struct = decode_fields(value, Strict, "", problems)
    assert problems == []
    assert getattr(struct, field) == made
    assert type(getattr(struct, field)) is type(made) or isinstance(made, float)


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ([], "", "expected fields (maxSkew, words, names, sizes, figure, amount, limit, limits, level, code, when, "),
        ({"maxskew": 1}, "maxskew", "unknown field; did you mean maxSkew? Allowed: "),
        ({"oldName": 1}, "oldName", "unknown field; write maxSkew"),
        ({"maxSkew": 2**31}, "maxSkew", "expected a 32-bit integer, got 2147483648"),
        ({"maxSkew": True}, "maxSkew", "expected a 32-bit integer, got true"),
        ({"maxSkew": 13}, "", "13 is unlucky"),
        ({"words": []}, "words", "expected a list, got []"),
        ({"words": "a"}, "words", 'expected a list, got "a"'),
        ({"words": ["a", None]}, "words[1]", "expected a string, got null"),
        ({"words": ["\ud800"]}, "words[0]", 'expected a string, got "\\ud800"'),
        ({"figure": {"radius": 1}}, "figure.shape", "missing; it is one of square, circle"),
        ({"figure": {"shape": "cirle"}}, "figure.shape", '"cirle" is unknown; did you mean circle? Allowed: '),
        ({"figure": {"shape": "circle", "radius": 0}}, "figure.radius", "expected a number above 0, got 0"),
        ({"figure": {"shape": "circle"}}, "figure.radius", "missing; it is a number above 0"),
        ({"amount": True}, "amount", "expected a string or an integer or a number, got true"),
        ({"amount": float("nan")}, "amount", "expected a string or an integer or a number, got NaN"),
        ({"limit": -1}, "limit", "expected an integer from 0 on, got -1"),
        ({"limits": {1.5: 1}}, "limits[1.5]", "expected a string as the name"),
        ({"limits": {"a b": "x"}}, 'limits["a b"]', 'expected an integer, got "x"'),
        ({"level": True}, "level", "true is unknown; allowed: low, high, 3"),
        ({"code": "A"}, "code", 'expected a string, got "A"'),
        ({"when": 5}, "when", 'expected a duration such as "15s" or "1m30s", got 5'),
        ({"memory": "much"}, "memory", 'expected a quantity: a number, or text such as "250m" or "2Gi", got "much"'),
        ({"nested": [{}, {"code": 1}]}, "nested[1].code", "expected a string, got 1"),
    ],
)
def test_a_problem_says_its_field_and_what_is_allowed(value: Any, path: str, text: str) -> None:
    problems: list[Problem] = []
    assert decode_fields(value, Strict, "", problems) is None
    (problem,) = problems
    assert problem.path == path
    assert problem.text.startswith(text)


def test_all_problems_are_told_at_once() -> None:
    problems: list[Problem] = []
    decode_fields({"maxSkew": "x", "level": "mid", "odd": 1}, Strict, "spec", problems)
    assert [problem.path for problem in problems] == ["spec.maxSkew", "spec.level", "spec.odd"]


def test_configurations_and_scenarios_differ_in_how_durations_are_written() -> None:
    assert {kind for kind, notation in NOTATIONS.items() if KUBERNETES[kind] != notation} == {Duration}
    assert decode_value("2d", Duration, "", [], NOTATIONS) == 172_800
    problems: list[Problem] = []
    assert decode_value("2d", Duration, "end", problems) is None
    assert problems == [Problem("end", 'expected a duration such as "15s" or "1m30s", got "2d"')]


def test_a_notation_of_ones_own() -> None:
    notations: dict[type, Notation] = {complex: Notation(complex, "a complex number")}
    assert decode_value("1+2j", complex, "", [], notations) == 1 + 2j
    problems: list[Problem] = []
    decode_value("i", complex, "z", problems, notations)
    assert problems == [Problem("z", 'expected a complex number, got "i"')]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Int64, "a 64-bit integer"),
        (Annotated[int, msgspec.Meta(ge=1, le=5)], "an integer from 1 to 5"),
        (Annotated[float, msgspec.Meta(gt=0, le=1)], "a number above 0 up to 1"),
        (Annotated[float, msgspec.Meta(ge=0, lt=1)], "a number from 0 below 1"),
        (bytes, "base64 text"),
        (bool, "true or false"),
        (dict[str, int], "names and values"),
        (Square, "fields (side)"),
    ],
)
def test_what_is_allowed_in_words(kind: Any, words: str) -> None:
    problems: list[Problem] = []
    decode_value("?", kind, "x", problems)
    assert problems == [Problem("x", f'expected {words}, got "?"')]

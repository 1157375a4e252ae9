"""What is allowed in a field, and what was found there, in words.

In: a type with what is annotated to it, or a value from a file. Out: words for the messages of `fields`, which calls
this.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

__all__ = ["bare", "describe", "rules"]

PLAIN: Final[dict[Any, str]] = {
    bool: "true or false",
    bytes: "base64 text",
    dict: "names and values",
    frozenset: "a list",
    list: "a list",
    set: "a list",
    str: "a string",
    tuple: "a list",
}
SIZES: Final = {(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1): f"a {bits}-bit integer" for bits in (32, 64)}


def bare(kind: Any) -> Any:
    """A type without what is annotated to it."""
    return bare(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def rules(kind: Any) -> list[msgspec.Meta]:
    """What is annotated to a type: bounds, lengths, patterns."""
    parts = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return [part for part in parts if isinstance(part, msgspec.Meta)]


def describe(kind: Any, written: Mapping[type, str]) -> str:
    """What a type allows; `written` has the words for types that are written in a way of their own."""
    plain = bare(kind)
    if plain in written:
        return written[plain]
    if get_origin(plain) in (Union, types.UnionType):
        options = [option for option in get_args(plain) if option is not type(None)]
        return " or ".join(describe(option, written) for option in options)
    if get_origin(plain) is Literal:
        return f"one of {', '.join(map(str, get_args(plain)))}"
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        return f"fields ({', '.join(plain.__struct_encode_fields__)})"
    if plain in (int, float):
        return _number(plain, kind)
    return PLAIN.get(get_origin(plain) or plain, "a value")


def _number(plain: type, kind: Any) -> str:
    bounds: dict[str, Any] = {"ge": None, "gt": None, "le": None, "lt": None}
    for rule in rules(kind):
        bounds |= {name: getattr(rule, name) for name in bounds if getattr(rule, name) is not None}
    low, high = bounds["ge"], bounds["le"]
    if plain is int and (low, high) in SIZES:
        return SIZES[low, high]
    name = "an integer" if plain is int else "a number"
    if low is not None and high is not None:
        return f"{name} from {low} to {high}"
    words = (("from", low), ("above", bounds["gt"]), ("up to", high), ("below", bounds["lt"]))
    text = "".join(f" {word} {bound}" for word, bound in words if bound is not None)
    return f"{name}{text} on" if low is not None and bounds["lt"] is None else f"{name}{text}"

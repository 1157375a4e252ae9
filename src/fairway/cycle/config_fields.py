"""Strict decoding: plain values in, a struct out, and every problem with the field it is in.

kube-scheduler decodes its configuration strictly (apis/config/scheme, `EnableStrict`): a field nobody knows is an
error, null means absent. `decode_fields` does the same for any struct of `fairway.model` or `config_file`, and goes
on after the first problem, so that a person repairs a file once. Called by `config` and `plugin_args`.
"""

from __future__ import annotations

import difflib
import json
import math
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from fairway.model.meta import Int32, Int64
from fairway.model.scheduler_args import Duration, parse_duration
from fairway.words import excerpt

__all__ = ["ConfigError", "Problem", "alternatives", "decode_fields", "kind_problems", "shown"]

S = TypeVar("S", bound=msgspec.Struct)

MOST_PROBLEMS = 100
"""So many are told of one file."""
LONGEST_WORD = 100
"""No longer ones are meant: to compare takes time."""


class Problem(NamedTuple):
    """What is wrong, and where: a path such as `profiles[0].plugins.score.enabled[1].name`, "" for the whole."""

    path: str
    text: str


class ConfigError(ValueError):
    """A configuration that cannot be used; the message has one line a problem, each naming file and field."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = [
            ": ".join(excerpt(part) for part in (source, *problem) if part) for problem in self.problems[:MOST_PROBLEMS]
        ]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"... and {len(self.problems) - MOST_PROBLEMS} problems more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.source, self.problems)


def shown(value: Any) -> str:
    """A value as a person would find it in the file, cut to fit a message."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def alternatives(word: str, allowed: Iterable[str]) -> str:
    """The end of a message about an unknown word: the one that was probably meant, and all that are allowed."""
    words = list(allowed)
    if not words:
        return "; none is allowed here"
    word = word[:LONGEST_WORD]
    folded = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    close = close or [known for known in folded if word and known.startswith(word.lower())]
    meant = f"; did you mean {folded[close[0]]}? Allowed: " if close else "; allowed: "
    return meant + ", ".join(words)


def kind_problems(data: Any, api_version: str, kind: str) -> Iterator[Problem]:
    """Is it a file of that kind at all?"""
    if not isinstance(data, dict):
        yield Problem("", f"not a {kind} but {'empty' if data is None else shown(data)}")
        return
    for key, wanted in (("apiVersion", api_version), ("kind", kind)):
        found = data.get(key)
        if found is None:
            yield Problem(key, f"missing; write {key}: {wanted}")
        elif found != wanted:
            yield Problem(key, f"{shown(found)} is not supported; allowed: {wanted}")


def decode_fields(data: Any, kind: type[S], path: str, problems: list[Problem]) -> S | None:
    """The struct, or None after adding to `problems` all that is wrong with the data."""
    before = len(problems)
    plain = _normal(data, kind, path, problems)
    return msgspec.convert(plain, kind, dec_hook=_custom) if len(problems) == before else None


LEAVES: Final[dict[Any, str]] = {
    Int32: "a 32-bit integer",
    Int64: "a 64-bit integer",
    Duration: 'a duration such as "15s" or "1m30s"',
    bool: "true or false",
    bytes: "base64 text",
    float: "a number",
    str: "a string",
}


def _custom(kind: type, value: Any) -> Any:
    if kind is Duration and isinstance(value, str):
        return parse_duration(value)
    raise ValueError(f"expected {kind.__name__}")


def _normal(value: Any, kind: Any, path: str, problems: list[Problem]) -> Any:
    """The value without nulls, as the kind wants it; what does not fit is added to `problems`."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        (kind,) = (option for option in get_args(kind) if option is not type(None))
        origin = get_origin(kind)
    if kind is Any:
        return value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _normal_struct(value, kind, path, problems)
    if origin is tuple:
        return _normal_list(value, get_args(kind)[0], path, problems)
    if origin is dict:
        return _normal_dict(value, get_args(kind)[1], path, problems)
    if origin is Literal:
        if value not in get_args(kind) or not isinstance(value, str):
            problems.append(Problem(path, f"{shown(value)} is unknown{alternatives(str(value)[:60], get_args(kind))}"))
        return value
    return _normal_leaf(value, kind, path, problems)


def _normal_struct(value: Any, kind: type[msgspec.Struct], path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, dict):
        problems.append(Problem(path, f"expected fields ({', '.join(_names(kind))}), got {shown(value)}"))
        return None
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    plain = {}
    for key, part in value.items():
        if key in fields:
            if part is not None:
                plain[key] = _normal(part, fields[key].type, _child(path, key), problems)
        else:
            removed: dict[str, str] = getattr(kind, "removed_fields", {})
            why = f"; {removed[key]}" if key in removed else alternatives(str(key), _names(kind))
            problems.append(Problem(_child(path, key), f"unknown field{why}"))
    problems.extend(
        Problem(_child(path, name), f"missing; it is {_described(field.type)}")
        for name, field in fields.items()
        if field.required and name not in plain
    )
    return plain


def _normal_list(value: Any, kind: Any, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, list | tuple):
        problems.append(Problem(path, f"expected a list, got {shown(value)}"))
        return None
    return [_normal(part, kind, f"{path}[{index}]", problems) for index, part in enumerate(value)]


def _normal_dict(value: Any, kind: Any, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, dict):
        problems.append(Problem(path, f"expected names and values, got {shown(value)}"))
        return None
    return {
        _normal_leaf(key, str, path, problems): _normal(part, kind, f"{path}[{shown(key)}]", problems)
        for key, part in value.items()
    }


def _normal_leaf(value: Any, kind: Any, path: str, problems: list[Problem]) -> Any:
    whole = isinstance(value, float) and value.is_integer() and get_origin(kind) is Annotated
    plain = int(value) if whole else value  # 3.0 is 3 in YAML as kube-scheduler reads it
    try:
        msgspec.convert(plain, kind, dec_hook=_custom)
        fits = not isinstance(plain, float) or math.isfinite(plain)
    except (msgspec.ValidationError, UnicodeError):
        fits = False
    if not fits:
        problems.append(Problem(path, f"expected {_described(kind)}, got {shown(value)}"))
    return plain


def _child(path: str, key: Any) -> str:
    if not (isinstance(key, str) and key.isidentifier()):
        return f"{path}[{shown(key)}]"
    return f"{path}.{key}" if path else key


def _described(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is Annotated and kind not in LEAVES:
        bounds = get_args(kind)[1]
        return f"an integer from {bounds.ge} to {bounds.le}"
    return LEAVES.get(kind, "needed")


def _names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    return kind.__struct_encode_fields__

"""What is wrong with a value, in the user's words and with the field's API path.

In: a parsed object and msgspec's complaint about it, such as "Expected `str`, got `int` - at `$.metadata.labels[...]`".
Out: "expected text, found 1" and "metadata.labels.tier". Called by `fairway.model.decode` on its way to an error.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fairway.model.codec import convert

__all__ = ["explain", "name_type"]

_LOCATED = re.compile(r"(?P<problem>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")


def explain(tree: Any, kind: type, error: msgspec.ValidationError) -> tuple[str, str]:
    """Turn msgspec's complaint into ours: what is wrong, and the field by its API path."""
    problem, steps = _locate(error)
    path: list[str | int] = []
    here: Any = tree
    for step in steps:
        key = step if step != "..." else _guilty_key(tree, kind, path, error)
        path.append(key)
        here = here[key]
    return _wording(problem, here), _path_text(path)


def _locate(error: msgspec.ValidationError) -> tuple[str, list[str | int]]:
    found = _LOCATED.fullmatch(str(error))
    if found is None:
        return str(error), []
    steps = _STEP.finditer(found["path"] or "")
    return found["problem"], [
        step["name"] or (step["index"] if step["index"] == "..." else int(step["index"])) for step in steps
    ]


def _guilty_key(tree: Any, kind: type, path: list[str | int], error: msgspec.ValidationError) -> str:
    """Which key of the mapping at `path` is complained about: the one that alone causes the same complaint."""
    mapping = tree
    for key in path:
        mapping = mapping[key]
    for key, value in mapping.items():
        try:
            convert(_replaced(tree, path, {key: value}), kind)
        except msgspec.ValidationError as again:
            if str(again) == str(error):
                return str(key)
    return "..."


def _replaced(tree: Any, path: list[str | int], value: Any) -> Any:
    if not path:
        return value
    copy = tree.copy()
    copy[path[0]] = _replaced(tree[path[0]], path[1:], value)
    return copy


def _path_text(path: list[str | int]) -> str:
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"[A-Za-z0-9_-]+", key):
            text += f".{key}" if text else key
        else:
            text += f"[{key!r}]"
    return text


_TYPE_WORDS = {
    "str": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
    "datetime": "a time",
}


def _wording(problem: str, value: Any) -> str:
    if found := re.fullmatch(r"Expected `(.+?)`(?: (<=|>=) (-?\d+))?(?:, got `(.+)`)?", problem):
        wanted, order, bound, _ = found.groups()
        words = " or ".join(_TYPE_WORDS.get(word.strip(), word) for word in wanted.split("|") if word.strip() != "null")
        if bound:
            words = f"at {'most' if order == '<=' else 'least'} {bound}"
        return f"expected {words}, found {_show(value)}"
    if "RFC3339" in problem or "timezone" in problem:
        return f"expected a time with a zone, such as 2030-01-01T00:00:00Z, found {_show(value)}"
    if problem.startswith("Expected "):
        return f"expected {problem.removeprefix('Expected ')}, found {_show(value)}"
    return problem


def _show(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return name_type(value)
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def name_type(value: Any) -> str:
    """What a value is, for a message: `null`, `an object`, `a list`, or the scalar itself."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else _show(value)

"""Places in a parsed object, and texts and trees with such places in them.

In: a path such as `spec.tasks` or `metadata.annotations[example.com/size]`, or a text or tree with `$(path)` in it,
and a `Scope`: what the names at the beginning of paths stand for. Out: what is there. `$(path|default)` has a value
for when nothing is, `$(path,other)` a second place to look at; `$(path:lower)` is in lower case. A text that is one
`$(path)` and nothing else becomes whatever is there, a map or list as well; a key whose value is not there is left
out. Called by `custom_kinds`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairway.kinds.jvm_memory import jvm_memory

__all__ = ["MISSING", "Scope", "fill_text", "fill_tree", "find_value", "merge_trees", "path_problem"]

MISSING: Final = object()
PLACEHOLDER = re.compile(r"\$\((?P<paths>[^|:()\s]+)(?P<lower>:lower)?(?:\|(?P<default>[^()]*))?\)")
KEY = re.compile(r"\[([^\[\]]+)\]|([^.\[\]]+)")
PATH = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[[^\[\]]+\])*")

Scope = Mapping[str, Any]
"""Names and what they stand for; a path that begins with none of them is one of the `object`."""


def path_problem(path: str) -> str:
    """What is wrong with a path, "" if nothing is."""
    return "" if PATH.fullmatch(path) else f"{path!r} is no path; write it like spec.template or metadata.labels[a.b/c]"


def find_value(scope: Scope, path: str) -> Any:
    """What is at the path, or MISSING; null is as good as missing."""
    keys = list(_keys(path))
    value: Any = scope if keys[0] in scope else scope.get("object", {})
    for key in keys:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return MISSING if value is None else value


def fill_text(text: str, scope: Scope) -> str:
    """The text with what its places hold; nothing where nothing is."""

    def value_of(match: re.Match[str]) -> str:
        value = _placeholder(match, scope)
        return "" if value is MISSING else str(value)

    return PLACEHOLDER.sub(value_of, text)


def fill_tree(tree: Any, scope: Scope) -> Any:
    """The tree with what its places hold, or MISSING."""
    if isinstance(tree, str):
        match = PLACEHOLDER.fullmatch(tree)
        return _placeholder(match, scope) if match else fill_text(tree, scope)
    if isinstance(tree, Mapping):
        pairs = ((fill_text(key, scope), fill_tree(value, scope)) for key, value in tree.items())
        filled = {key: value for key, value in pairs if key and value is not MISSING}
        return jvm_memory(filled) if "jvmMemory" in filled else filled
    if isinstance(tree, list):
        return [value for value in (fill_tree(one, scope) for one in tree) if value is not MISSING]
    return tree


def merge_trees(base: Any, over: Any) -> Any:
    """Both, as kubectl's strategic merge has it: maps key by key, lists of named things name by name, `over` wins."""
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: merge_trees(base[key], value) if key in base else value for key, value in over.items()}}
    if isinstance(base, list) and isinstance(over, list):
        names = [one.get("name") if isinstance(one, Mapping) else None for one in base]
        merged = list(base)
        for one in over:
            name = one.get("name") if isinstance(one, Mapping) else None
            if name is not None and name in names:
                merged[names.index(name)] = merge_trees(merged[names.index(name)], one)
            else:
                merged.append(one)
        return merged
    return base if over is None else over


def _keys(path: str) -> Iterator[str]:
    for match in KEY.finditer(path):
        yield match[1] or match[2]


def _placeholder(match: re.Match[str], scope: Scope) -> Any:
    found = (find_value(scope, path) for path in match["paths"].split(","))
    value = next((one for one in found if one is not MISSING), MISSING)
    if value is MISSING:
        return MISSING if match["default"] is None else _scalar(match["default"])
    return str(value).lower() if match["lower"] else value


def _scalar(text: str) -> Any:
    return int(text) if text.isdecimal() else text

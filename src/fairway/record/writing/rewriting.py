"""API objects, rewritten part by part.

In: an object and a function from a part to what shall stand there (itself, if nothing changes). Out: the object with
every part passed through it, the innermost first; parts that stay the same are shared. Used by `kept`, which leaves
out what no scheduler reads, and by `pseudonyms`, which renames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

__all__ = ["rewrite"]

Part = TypeVar("Part")


def rewrite(thing: Part, change: Callable[[Any], Any]) -> Part:
    """The object, with all structs in it changed."""
    return cast(Part, _rewrite(thing, change))


def _rewrite(thing: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(thing, msgspec.Struct):
        changed = {}
        for field in thing.__struct_fields__:
            before = getattr(thing, field)
            if isinstance(before, msgspec.Struct | tuple | dict):
                after = _rewrite(before, change)
                if after is not before:
                    changed[field] = after
        return change(msgspec.structs.replace(thing, **changed) if changed else thing)
    if isinstance(thing, tuple):
        parts = tuple(_rewrite(part, change) for part in thing)
        return thing if all(new is old for new, old in zip(parts, thing, strict=True)) else parts
    if isinstance(thing, dict):
        values = {key: _rewrite(value, change) for key, value in thing.items()}
        return thing if all(values[key] is value for key, value in thing.items()) else values
    return thing

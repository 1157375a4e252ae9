"""Everything that an object holds, counted: a standing defence against memory that only grows.

In: the root of what a process keeps, such as a scheduler. Out: `sizes(root)`, by "Class.attribute" how many entries its
containers have in all, wherever objects of the class are found; arrays count with their bytes, and `array_bytes(root)`
counts these alone. What pods and nodes are made of is not looked into. A test takes sizes, lets things come and go, and
takes them again. `BoundedCaches` empties what may fill up to a limit, for tests that count everything allocated.
`num_calls(action)` counts functions called, which tells how work grows on a machine of any speed.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter, deque
from collections.abc import Callable
from functools import _lru_cache_wrapper
from typing import Any

import msgspec
import numpy as np

from fairway.model.weighted_cache import WeightedCache
from fairway.plugins.compiled_parts import CompiledParts

CONTAINERS = (dict, list, tuple, set, frozenset, deque, weakref.WeakValueDictionary, weakref.WeakSet)
OWN_CACHES = (WeightedCache, CompiledParts)


def sizes(root: object) -> Counter[str]:
    """Entries by "Class.attribute"."""
    return _walk(root)[0]


def array_bytes(root: object) -> int:
    """What all arrays take."""
    return _walk(root)[1]


def num_calls(action: Callable[[], object]) -> int:
    """How many functions of Python an action calls."""
    number = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal number
        number += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return number


class BoundedCaches:
    """All caches of the package that have a limit; one without (`functools.cache`) is left as it is, and so shows."""

    def __init__(self) -> None:
        self._caches = [thing for thing in gc.get_objects() if _is_bounded_cache(thing)]
        assert self._caches

    def clear(self) -> None:
        """Everything is forgotten."""
        for cache in self._caches:
            if isinstance(cache, OWN_CACHES):
                cache.clear()
            else:
                cache.cache_clear()


def _is_bounded_cache(thing: object) -> bool:
    # The type itself, as other libraries keep proxies that answer `isinstance` by doing something.
    if type(thing) is _lru_cache_wrapper:
        return thing.__module__.startswith("fairway.") and thing.cache_info().maxsize is not None
    return type(thing) in OWN_CACHES


def _walk(root: object) -> tuple[Counter[str], int]:
    gc.collect()
    in_arrays = 0
    found: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        name, thing = waiting.pop()
        if id(thing) in seen or _is_plain(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            found[name] += thing.nbytes
            in_arrays += thing.nbytes
        elif isinstance(thing, CONTAINERS):
            found[name] += len(thing)
            values = list(thing.values()) if isinstance(thing, dict | weakref.WeakValueDictionary) else list(thing)
            keys = list(thing) if isinstance(thing, dict | weakref.WeakValueDictionary) else []
            waiting += [(name, value) for value in (*keys, *values)]
        elif type(thing).__module__.startswith("fairway."):
            waiting += [(f"{type(thing).__name__}.{name}", value) for name, value in _attributes(thing)]
    return found, in_arrays


def _is_plain(thing: object) -> bool:
    """Is it a value, or something that belongs to the program and not to what it keeps?"""
    if isinstance(thing, msgspec.Struct):
        return True
    return thing is None or isinstance(thing, str | bytes | int | float | type) or callable(thing)


def _attributes(thing: Any) -> list[tuple[str, Any]]:
    names = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()) if name != "__weakref__"]
    names += vars(thing) if hasattr(thing, "__dict__") else ()
    return [(name, getattr(thing, name)) for name in names if hasattr(thing, name)]

"""A guard around users' plugins: their mistakes become clear errors, never a broken scheduler.

In: a plugin that is not ours. Out: the same plugin, of a class that checks what it returns (shape, type, range) and
turns whatever it raises into a `PluginError` that names the plugin, the method and the fix. `Profile.decide` makes a
failed attempt of it. Built-in plugins are not guarded: their tests do this work once instead of every cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from fairway.plugin import MAX_SCORE, Plugin

BUILT_IN = "fairway.plugins."
METHODS = (
    "pre_enqueue",
    "events",
    "pre_filter",
    "filter",
    "explain",
    "add_pod",
    "remove_pod",
    "post_filter",
    "pre_score",
    "score",
    "normalize_scores",
    "reserve",
    "unreserve",
    "permit",
)


class PluginError(Exception):
    """A user's plugin did something it must not; the text says which, what, and what is expected."""


def guard(plugin: Plugin) -> Plugin:
    """The plugin, guarded from now on if it is not one of ours."""
    kind = type(plugin)
    if not kind.__module__.startswith(BUILT_IN):
        plugin.__class__ = _guarded(kind)
    return plugin


def _guarded(kind: type[Plugin]) -> type[Plugin]:
    """A subclass that wraps just the methods the plugin has itself, so that it still takes part where it did."""
    own = {name: _wrapped(getattr(kind, name)) for name in METHODS if getattr(kind, name) is not getattr(Plugin, name)}
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "name": kind.name, **own})


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    check = CHECKS.get(method.__name__)

    @wraps(method)
    def call(self: Plugin, *args: Any) -> Any:
        try:
            found = method(self, *args)
        except PluginError:
            raise
        except Exception as error:  # a user's code may fail in any way
            words = f"plugin {self.name}: {method.__name__}() raised {type(error).__name__}: {error}"
            raise PluginError(words) from error
        return found if check is None else check(self, found, *args)

    return call


def _checked_mask(plugin: Plugin, found: Any, pod: Any, nodes: Any, state: Any) -> Any:
    mask = np.asarray(found)
    if mask.shape != (len(nodes),) or mask.dtype != np.bool_:
        raise PluginError(
            f"plugin {plugin.name}: filter() must return a boolean array with one entry per node, "
            f"shape ({len(nodes)},); it returned {_described(mask)}"
        )
    return mask


def _checked_scores(plugin: Plugin, found: Any, pod: Any, nodes: Any, state: Any, raw: Any = None) -> Any:
    method = "score" if raw is None else "normalize_scores"
    scores = np.asarray(found)
    if scores.shape != (len(nodes),) or scores.dtype.kind not in "iub":
        raise PluginError(
            f"plugin {plugin.name}: {method}() must return an integer array with one entry per node, "
            f"shape ({len(nodes)},); it returned {_described(scores)}"
        )
    is_final = raw is not None or plugin.normalize == "none"
    if is_final and len(scores) and not (scores.min() >= 0 and scores.max() <= MAX_SCORE):
        worst = scores[np.abs(scores.astype(np.int64) - MAX_SCORE // 2).argmax()]
        raise PluginError(
            f'plugin "{plugin.name}" returns an invalid score {worst}, '
            f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        )
    if len(scores) and plugin.normalize in ("default", "reverse") and scores.min() < 0:
        raise PluginError(f"plugin {plugin.name}: score() must not be negative for normalize={plugin.normalize!r}")
    return scores.astype(np.int64, copy=False)


def _described(array: np.ndarray[Any, Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


CHECKS: dict[str, Callable[..., Any]] = {
    "filter": _checked_mask,
    "score": _checked_scores,
    "normalize_scores": _checked_scores,
}

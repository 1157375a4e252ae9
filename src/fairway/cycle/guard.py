"""A guard around users' plugins: their mistakes become clear errors, never a broken scheduler.

In: a plugin that is not ours. Out: the same plugin, of a class that checks what it returns (shape, type, range) and
turns whatever it raises into a `PluginError` that names the plugin, the method and the fix. `Profile.decide` makes a
failed attempt of it. Built-in plugins are not guarded: their tests do this work once instead of every cycle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from fairway.config.raised import raised_at
from fairway.model import Pod
from fairway.plugin import (
    MAX_SCORE,
    Create,
    DataStep,
    Hint,
    Notice,
    Patch,
    Plugin,
    PostFilterResult,
    Preparation,
    Refusal,
    Relaxation,
    Shortage,
    Supply,
    Wait,
    Waiting,
    overrides,
)

logger = logging.getLogger(__name__)

BUILT_IN = "fairway.plugins."
NORMALIZATIONS = ("none", "default", "reverse", "own")
METHODS = tuple(name for name, value in vars(Plugin).items() if callable(value) and name[0].islower())
"""All methods of the contract."""


class PluginError(Exception):
    """A user's plugin did something it must not; the text says which, what, and what is expected."""


def guard(plugin: Plugin) -> Plugin:
    """The plugin, guarded from now on if it is not one of ours."""
    kind = type(plugin)
    if plugin.normalize not in NORMALIZATIONS:
        allowed = ", ".join(NORMALIZATIONS)
        raise PluginError(f"plugin {plugin.name}: normalize is {plugin.normalize!r}; allowed: {allowed}")
    if not isinstance(plugin.time_step, int) or plugin.time_step < 1:
        raise PluginError(
            f"plugin {plugin.name}: time_step is {plugin.time_step!r}; it has to be whole seconds, 1 or more"
        )
    named = plugin.annotations
    if named is not None and (isinstance(named, str) or not all(isinstance(name, str) for name in named)):
        raise PluginError(f"plugin {plugin.name}: annotations is {named!r}; it has to be a tuple of names, or None")
    if not kind.__module__.startswith(BUILT_IN):
        plugin.__class__ = _guarded(kind)
    return plugin


def queue_order(plugin: Plugin) -> Callable[[Waiting], tuple[Any, ...]]:
    """How a plugin sorts the queue. A pod about which a user's plugin breaks is tried after all others."""
    if type(plugin).__module__.startswith(BUILT_IN):
        return plugin.queue_sort

    def order(waiting: Waiting) -> tuple[Any, ...]:
        try:
            return 0, *plugin.queue_sort(waiting)
        except PluginError as error:
            logger.error("pod %s: %s", waiting.pod.key, error)
            return (1,)

    return order


def _guarded(kind: type[Plugin]) -> type[Plugin]:
    """A subclass that wraps just the methods the plugin has itself, so that it still takes part where it did."""
    own = {name: _wrapped(name, getattr(kind, name)) for name in METHODS if overrides(kind, name)}
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "name": kind.name, **own})


def _wrapped(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    check = CHECKS.get(name)

    @wraps(method)
    def call(self: Plugin, *args: Any) -> Any:
        try:
            answer = method(self, *args)
        except PluginError:
            raise
        except Exception as error:  # a user's code may fail in any way
            words = f"plugin {self.name}: {name}() raised {type(error).__name__}: {error}{raised_at(error)}"
            raise PluginError(words) from error
        return answer if check is None else check(self, answer, *args)

    return call


def _checked_mask(plugin: Plugin, answer: Any, pod: Any, nodes: Any, state: Any) -> Any:
    mask = np.asarray(answer)
    if mask.shape != (len(nodes),) or mask.dtype != np.bool_:
        raise PluginError(
            f"plugin {plugin.name}: filter() must return a boolean array with one entry per node, "
            f"shape ({len(nodes)},); it returned {_described(mask)}"
        )
    return mask


def _checked_scores(plugin: Plugin, answer: Any, pod: Any, nodes: Any, state: Any, raw: Any = None) -> Any:
    method = "score" if raw is None else "normalize_scores"
    scores = np.asarray(answer)
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


def _checked_words(plugin: Plugin, answer: Any, pod: Any, nodes: Any, state: Any) -> Any:
    if isinstance(answer, Refusal):
        return _checked_refusal(plugin, "explain", answer)
    if isinstance(answer, (list, tuple)) and len(answer) == len(nodes) and all(isinstance(r, Refusal) for r in answer):
        return [_checked_refusal(plugin, "explain", refusal) for refusal in answer]
    raise PluginError(
        f"plugin {plugin.name}: explain() must return a Refusal, or a list of them with one per node "
        f"({len(nodes)}); it returned {_shortened(answer)}"
    )


def _checked_lines(plugin: Plugin, answer: Any, pod: Any, nodes: Any, state: Any) -> Any:
    if len(answer) == len(nodes) and all(not isinstance(lines, str) for lines in answer):
        return [tuple(map(str, lines)) for lines in answer]
    raise PluginError(
        f"plugin {plugin.name}: explain_score() must return a list of lines for each node ({len(nodes)}); "
        f"it returned {_shortened(answer)}"
    )


def _checked_answer(method: str, *allowed: type) -> Callable[..., Any]:
    """The check of a method that returns one object; None is said by name too."""
    names = " or ".join("None" if kind is type(None) else f"a {kind.__name__}" for kind in allowed)

    def check(plugin: Plugin, answer: Any, *args: Any) -> Any:
        if not isinstance(answer, allowed):
            raise PluginError(f"plugin {plugin.name}: {method}() must return {names}; it returned {_shortened(answer)}")
        return _checked_refusal(plugin, method, answer) if isinstance(answer, Refusal) else answer

    return check


def _checked_key(plugin: Plugin, answer: Any, pod: Any) -> Any:
    if not is_class_key(answer):
        raise PluginError(
            f"plugin {plugin.name}: class_key() must return None, numbers, text, bytes, or tuples of these; "
            f"it returned {_shortened(answer)}"
        )
    return answer


def is_class_key(value: Any) -> bool:
    """May it be part of the key of a pod's class?"""
    if isinstance(value, tuple):
        return all(map(is_class_key, value))
    return value is None or isinstance(value, (bool, float, str, bytes)) or _is_whole(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**64  # what an encoded key can hold


def _checked_supply(plugin: Plugin, answer: Any, nodes: Any, resource: str) -> Any:
    columns = (np.asarray(answer.capacity), np.asarray(answer.used)) if isinstance(answer, Supply) else ()
    if not columns or any(column.shape != (len(nodes),) or column.dtype.kind not in "iu" for column in columns):
        raise PluginError(
            f"plugin {plugin.name}: supply() must return a Supply of two integer arrays with one entry per node, "
            f"shape ({len(nodes)},); it returned {_shortened(answer)}"
        )
    return Supply(*(column.astype(np.int64, copy=False) for column in columns))


def _checked_funnel(plugin: Plugin, answer: Any, pod: Any, nodes: Any, state: Any) -> Any:
    words = list(answer)
    if len(words) not in (0, len(nodes)) or not all(isinstance(word, str) for word in words):
        raise PluginError(
            f"plugin {plugin.name}: funnel_words() must return a string for each node ({len(nodes)}), or none at all; "
            f"it returned {_shortened(answer)}"
        )
    return words


def _checked_relaxations(plugin: Plugin, answer: Any, *args: Any) -> Any:
    try:
        relaxations = list(answer)
    except Exception as error:  # a generator's mistakes show only now
        words = f"plugin {plugin.name}: relax() raised {type(error).__name__}: {error}"
        raise PluginError(words) from error
    for relaxation in relaxations:
        if not (isinstance(relaxation, Relaxation) and isinstance(relaxation.pod, Pod)):
            raise PluginError(
                f"plugin {plugin.name}: relax() must give Relaxations, each with words and a Pod; "
                f"it gave {_shortened(relaxation)}"
            )
    return relaxations


def _checked_result(plugin: Plugin, answer: Any, attempt: Any) -> Any:
    result = _checked_answer("post_filter", PostFilterResult)(plugin, answer)
    if not isinstance(result.writes, tuple) or not all(isinstance(write, Patch | Create) for write in result.writes):
        words = f"its result's writes are {_shortened(result.writes)}; they have to be a tuple of Patch and Create"
        raise PluginError(f"plugin {plugin.name}: post_filter(): {words}")
    return result


def _checked_list(method: str, kind: type) -> Callable[..., Any]:
    """The check of a method that returns several of a kind."""

    def check(plugin: Plugin, answer: Any, *args: Any) -> Any:
        if isinstance(answer, (list, tuple)) and all(isinstance(one, kind) for one in answer):
            return answer
        words = f"{method}() must return a list of {kind.__name__}s; it returned {_shortened(answer)}"
        raise PluginError(f"plugin {plugin.name}: {words}")

    return check


def _checked_turn(plugin: Plugin, answer: Any, waiting: Any) -> Any:
    """Keys are compared with each other, so they have to be of one make."""
    kinds = [_key_kind(part) for part in answer] if isinstance(answer, tuple) else [""]
    if not all(kinds):
        wanted = "a tuple of numbers and texts"
        raise PluginError(f"plugin {plugin.name}: queue_sort() must return {wanted}; it returned {_shortened(answer)}")
    first = vars(plugin).setdefault("_key_kinds", kinds)
    if kinds != first:
        raise PluginError(
            f"plugin {plugin.name}: queue_sort() must return keys that are alike; it returned {_shortened(answer)} "
            f"after one of ({', '.join(first)})"
        )
    return answer


def _key_kind(part: Any) -> str:
    if isinstance(part, str):
        return "text"
    return "number" if isinstance(part, int | float | np.integer | np.floating) and part == part else ""  # noqa: PLR0124 - not NaN


def _checked_prepared(plugin: Plugin, answer: Any, *args: Any) -> Any:
    return _checked_refusal(plugin, "pre_filter", answer) if isinstance(answer, Refusal) else answer


def _checked_refusal(plugin: Plugin, method: str, refusal: Refusal) -> Refusal:
    """Its reasons are a tuple: a lone string would be taken for a reason per letter."""
    if not isinstance(refusal.reasons, tuple) or not all(isinstance(reason, str) for reason in refusal.reasons):
        raise PluginError(
            f"plugin {plugin.name}: {method}() gave a Refusal whose reasons are {_shortened(refusal.reasons)}; "
            'they have to be a tuple of strings, as in Refusal(("node(s) were full",))'
        )
    if not isinstance(refusal.shortages, tuple) or not all(map(_is_shortage, refusal.shortages)):
        raise PluginError(
            f"plugin {plugin.name}: {method}() gave a Refusal whose shortages are {_shortened(refusal.shortages)}; "
            'they have to be a tuple of Shortages, each with a whole number, as in (Shortage("example.com/token", 3),)'
        )
    return refusal


def _is_shortage(value: Any) -> bool:
    return isinstance(value, Shortage) and isinstance(value.resource, str) and isinstance(value.needed, int)


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


CHECKS: dict[str, Callable[..., Any]] = {
    "pre_enqueue": _checked_answer("pre_enqueue", Refusal, type(None)),
    "queue_sort": _checked_turn,
    "events": _checked_list("events", Hint),
    "class_key": _checked_key,
    "pre_filter": _checked_prepared,
    "filter": _checked_mask,
    "explain": _checked_words,
    "post_filter": _checked_result,
    "supply": _checked_supply,
    "funnel_words": _checked_funnel,
    "relax": _checked_relaxations,
    "notices": _checked_list("notices", Notice),
    "data_steps": _checked_list("data_steps", DataStep),
    "score": _checked_scores,
    "normalize_scores": _checked_scores,
    "explain_score": _checked_lines,
    "reserve": _checked_answer("reserve", Refusal, type(None)),
    "permit": _checked_answer("permit", Refusal, Wait, type(None)),
    "pre_bind": _checked_answer("pre_bind", Preparation, Refusal, type(None)),
}

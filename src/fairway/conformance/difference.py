"""Where a decision differs from the recorded one.

In: what the corpus expects of a pod, and what was seen, both in the corpus' own form. Out: a list of `FieldDifference`,
one a field, empty when they agree. What carries no meaning does not count: the order of reasons, and of groups of
nodes; a plugin that is not listed scores 0. Called by `corpus_run` for every pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["FieldDifference", "differences", "group_differences"]

PLAIN: Final = (
    "pod",
    "result",
    "preEnqueue",
    "preFilter",
    "feasible",
    "best",
    "via",
    "node",
    "volumes",
    "message",
    "event",
    "unschedulablePlugins",
    "error",
    "reserveStatus",
    "bestScore",
    "ties",
    "nominatedNode",
    "victims",
)
PREEMPTION: Final = (
    "attempted",
    "code",
    "message",
    "candidates",
    "ties",
    "nominatedNode",
    "victims",
    "pdbViolations",
    "clearedNominations",
    "fits",
)
SHOWN_NODES: Final = 3
"""How many nodes a difference names; the others are counted."""


OTHER_ERRORS: Final = "otherErrors"
"""Of what was seen: errors of an attempt beside the one that is told. Which one kube-scheduler tells is a race."""


class FieldDifference(NamedTuple):
    """A field, what it should be, and what it is, in words."""

    field: str
    expected: str
    got: str


def differences(expect: Mapping[str, Any], seen: Mapping[str, Any]) -> list[FieldDifference]:
    """Compare everything; fields that the corpus does not know must not have been seen either."""
    if expect.get("error") and expect["error"] in seen.get(OTHER_ERRORS, ()):
        seen = {**seen, "error": expect["error"]}
    found = [*_plain(PLAIN, expect, seen, ""), *_unknown(expect, (*PLAIN, "rejected", "scores", "preemption"), "")]
    found += _refusals(expect.get("rejected") or [], seen.get("rejected") or [])
    found += _scores(expect.get("scores"), seen.get("scores"))
    wanted, got = expect.get("preemption"), seen.get("preemption")
    if (wanted is None) != (got is None):
        found.append(FieldDifference("preemption", _words(wanted), _words(got)))
    elif wanted is not None and got is not None:
        # The engine counts the equally good candidates; the corpus names them.
        found += _plain(PREEMPTION, {**wanted, "ties": len(wanted.get("ties") or ())}, got, "preemption.")
        found += _unknown(wanted, PREEMPTION, "preemption.")
    return found


GROUP: Final = ("group", "result", "condition", "placements", "placementScores", "victims")
MEMBER: Final = ("pod", "result", "node", "code", "message", "nominatedNode", "preEnqueue")


def group_differences(expect: Mapping[str, Any], seen: Mapping[str, Any], prefix: str = "") -> list[FieldDifference]:
    """The same for a group of pods: all that is recorded of it, of its members, and of its second attempt."""
    expect, seen = _sorted_victims(expect), _sorted_victims(seen)  # they are sorted, but not by all that they say
    found = [*_plain(GROUP, expect, seen, prefix), *_unknown(expect, (*GROUP, "pods", "retry"), prefix)]
    wanted, got = expect.get("pods") or [], seen.get("pods") or []
    if [member["pod"] for member in wanted] != [member["pod"] for member in got]:
        found.append(FieldDifference(f"{prefix}pods", _order(wanted), _order(got)))
    else:
        for theirs, ours in zip(wanted, got, strict=True):
            at = f"{prefix}pods[{theirs['pod']}]."
            found += [*_plain(MEMBER, theirs, ours, at), *_unknown(theirs, MEMBER, at)]
    if expect.get("retry") is not None and seen.get("retry") is not None:
        found += group_differences(expect["retry"], seen["retry"], f"{prefix}retry.")
    elif expect.get("retry") is not seen.get("retry"):
        found.append(FieldDifference(f"{prefix}retry", _words(expect.get("retry")), _words(seen.get("retry"))))
    return found


def _sorted_victims(told: Mapping[str, Any]) -> dict[str, Any]:
    victims = told.get("victims") or []
    return {**told, "victims": sorted(victims, key=lambda victim: (victim["pod"], victim["node"], victim["for"]))}


def _order(members: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(member["pod"] for member in members)


def _plain(
    fields: Sequence[str], expect: Mapping[str, Any], seen: Mapping[str, Any], prefix: str
) -> Iterable[FieldDifference]:
    for field in fields:
        wanted, got = _normal(expect.get(field)), _normal(seen.get(field))
        if wanted == got:
            continue
        ours, theirs = (got or []), (wanted or [])
        if isinstance(ours, list) and isinstance(theirs, list) and set(map(str, ours)) != set(map(str, theirs)):
            missing = [item for item in theirs if item not in ours]
            extra = [item for item in ours if item not in theirs]
            yield FieldDifference(prefix + field, _listed(missing, "as well"), _listed(extra, "as well"))
        else:
            yield FieldDifference(prefix + field, _words(wanted), _words(got))


def _unknown(expect: Mapping[str, Any], known: Sequence[str], prefix: str) -> Iterable[FieldDifference]:
    """What is recorded but not compared must not pass for equal."""
    for field in expect.keys() - set(known):
        yield FieldDifference(prefix + field, _words(expect[field]), "a field that is not compared")


def _normal(value: Any) -> Any:
    """Nothing, none and zero are one; reasons are a set."""
    if isinstance(value, Mapping):
        return {
            key: sorted(item) if key == "reasons" else _normal(item)
            for key, item in value.items()
            if _normal(item) is not None
        } or None
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value] or None
    return None if value in ("", 0, False) else value


def _refusals(expect: Sequence[Mapping[str, Any]], seen: Sequence[Mapping[str, Any]]) -> Iterable[FieldDifference]:
    wanted, got = _by_node(expect), _by_node(seen)
    groups: dict[tuple[str, str], list[str]] = {}
    for node in sorted(wanted.keys() | got.keys()):
        pair = wanted.get(node, "not refused"), got.get(node, "not refused")
        if pair[0] != pair[1]:
            groups.setdefault(pair, []).append(node)
    for (one, other), nodes in groups.items():
        yield FieldDifference(f"rejected[{_listed(nodes)}]", one, other)


def _by_node(groups: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    words: dict[str, str] = {}
    for group in groups:
        text = f"{group['plugin']} {group['code']}: {', '.join(sorted(group['reasons']))}"
        for node in group["nodes"]:
            words[node] = f"{words[node]}; and {text}" if node in words else text
    return words


def _scores(expect: Mapping[str, Any] | None, seen: Mapping[str, Any] | None) -> Iterable[FieldDifference]:
    wanted, got = _by_plugin(expect), _by_plugin(seen)
    for plugin in sorted(wanted.keys() | got.keys()):
        ours, theirs = got.get(plugin, {}), wanted.get(plugin, {})
        nodes = sorted(node for node in ours.keys() | theirs.keys() if ours.get(node, 0) != theirs.get(node, 0))
        if nodes:
            shown = nodes[:SHOWN_NODES]
            more = f" and {len(nodes) - SHOWN_NODES} more nodes" if len(nodes) > SHOWN_NODES else ""
            yield FieldDifference(
                f"scores.{plugin}",
                ", ".join(f"{node} {theirs.get(node, 0)}" for node in shown) + more,
                ", ".join(f"{node} {ours.get(node, 0)}" for node in shown) + more,
            )


def _by_plugin(scores: Mapping[str, Any] | None) -> dict[str, dict[str, int]]:
    if scores is None:
        return {}
    names = [*scores["plugins"], "total"]
    return {name: {node: row[index] for node, row in scores["nodes"].items()} for index, name in enumerate(names)}


def _listed(items: Sequence[Any], suffix: str = "") -> str:
    if not items:
        return "none else" if suffix else "none"
    more = f" and {len(items) - SHOWN_NODES} more" if len(items) > SHOWN_NODES else ""
    return f"{', '.join(_words(item) for item in items[:SHOWN_NODES])}{more} {suffix}".rstrip()


def _words(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_words(item) for item in value) + "]"
    return str(value)

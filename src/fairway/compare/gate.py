"""`--fail-if`: conditions on metrics that make a comparison fail.

In: texts such as `wait_p95>+5%` or `wait_p95>60s`. Out: `Gate`s, and after the runs the sentences of those that
tripped. A signed number is a change against the first policy (in percent of its value, or absolute); an unsigned one is
the metric itself. Called by `compare`, which then exits with 3, and by `fewest_nodes`.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fairway.compare.metrics import Comparison, MetricRow
from fairway.compare.text import delta_text, value_text
from fairway.model import UserError
from fairway.record.metric_definitions import DEFINITIONS, definition_of

__all__ = ["Gate", "GateError", "parse_gate", "tripped", "value_of"]

FORM: Final = re.compile(
    r"\s*(?P<metric>[A-Za-z][\w./-]*?)\s*(?P<sign_of>>=|<=|>|<)\s*"
    r"(?P<sign>[-+−]?)(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>%|ms|s|m|h|d|)\s*",
    re.ASCII,
)
HOW: Final = "such as wait_p95>+5% (more than 5 % worse than the first policy) or pods_waiting>0"
SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


class GateError(ValueError):
    """A condition that is none, or that these runs can not be judged by."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition that must not come true."""

    text: str
    metric: str
    sign: str
    bound: float
    is_change: bool
    is_relative: bool

    def holds(self, value: float) -> bool:
        """Is it true of that number?"""
        return SIGNS[self.sign](value, self.bound)


def parse_gate(text: str, option: str = "--fail-if", how: str = HOW) -> Gate:
    """Read a condition; `GateError` says what is wrong with it."""
    found = FORM.fullmatch(text)
    if found is None:
        raise GateError(f"{option} {text!r} is no condition; write one {how}")
    metric = found["metric"]
    definition = definition_of(metric)
    if definition is None or "{}" in metric:
        near = difflib.get_close_matches(metric, [one.name for one in DEFINITIONS], 3, 0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else "; `compare -o json` names all metrics"
        raise GateError(f"{option} {text!r}: there is no metric {metric}{hint}")
    is_change, is_percent = bool(found["sign"]), found["unit"] == "%"
    if found["unit"] in SECONDS and definition.unit != "s":
        unit = definition.unit or "a plain number"
        raise GateError(f"{option} {text!r}: {metric} is no time but {unit}; leave out the {found['unit']}")
    if is_percent and not is_change and definition.unit != "share":
        raise GateError(f"{option} {text!r}: for a change write +{found['number']}% or -{found['number']}%")
    bound = float(found["number"]) / 100 if is_percent else float(found["number"]) * SECONDS.get(found["unit"], 1.0)
    bound = bound if found["sign"] in ("", "+") else -bound
    return Gate(text.strip(), metric, found["sign_of"], bound, is_change, is_change and is_percent)


def tripped(gate: Gate, comparison: Comparison) -> list[str]:
    """A sentence for each policy that breaks the condition."""
    row = comparison.row(gate.metric) or _by_short_name(gate.metric, comparison)
    names = [policy.name for policy in comparison.policies]
    candidates = names[1:] if gate.is_change else names
    if gate.is_change and len(names) == 1:
        raise GateError(f"--fail-if {gate.text!r} asks for a change, and there is only one policy")
    sentences = []
    for name in candidates:
        if row is None or name not in (row.deltas if gate.is_change else row.values):
            raise UserError(
                f"--fail-if {gate.text!r} cannot be judged: {gate.metric} has no value for {name}",
                "there may be no pod, or no such resource, in these runs",
            )
        if gate.holds(_number(gate, row, name)):
            sentences.append(_sentence(gate, row, name))
    return sentences


def _number(gate: Gate, row: MetricRow, policy: str) -> float:
    if not gate.is_change:
        return row.values[policy].mean
    delta = row.deltas[policy]
    if not gate.is_relative:
        return delta.mean
    return math.copysign(math.inf, delta.mean) if delta.relative is None else delta.relative


def _sentence(gate: Gate, row: MetricRow, policy: str) -> str:
    text = f"{policy}: {row.name} is {value_text(row.values[policy].mean, row.definition)}"
    if policy in row.deltas:
        text += f" ({delta_text(row.deltas[policy], row.definition)})"
    return f"{text}, which --fail-if {gate.text!r} forbids"


def value_of(metric: str, flat: Mapping[str, float]) -> float | None:
    """A metric of one run by its name, or by its short one; None if the run has no such number."""
    if metric in flat:
        return flat[metric]
    found = [name for name in flat if _short(name) == metric]
    return flat[found[0]] if len(found) == 1 else None


def _short(name: str) -> str:
    return re.sub(r"_[^_]*/", "_", name)


def _by_short_name(metric: str, comparison: Comparison) -> MetricRow | None:
    """`utilisation_gpu` for `utilisation_nvidia.com/gpu`, if only one is meant."""
    found = [row for row in comparison.rows if _short(row.name) == metric]
    return found[0] if len(found) == 1 else None

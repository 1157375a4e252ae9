"""A comparison as people and programs read it.

In: a `Comparison`. Out: lines of text with deltas and spread, painted as the caller wishes; a document for JSON and
YAML. Called by `compare` and `sim`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from fairway.compare.metrics import Comparison, Delta, MetricRow, MetricValue
from fairway.record.metric_definitions import Definition
from fairway.words import visible

__all__ = [
    "NEARLY",
    "SAME",
    "comparison_document",
    "comparison_lines",
    "delta_text",
    "metric_title",
    "shown_rows",
    "value_text",
]

OF_JOBS: Final = (
    "jobs_started",
    "job_wait_p50",
    "job_wait_p95",
    "partial_hold_node_hours",
    "deadlocks",
    "utilisation_{}",
)
"""What a table shows first where pods belong together."""

SHOWN: Final = (
    "pods_created",
    "pods_placed",
    "pods_waiting",
    "pods_succeeded",
    "pods_failed",
    "wait_mean",
    "wait_p50",
    "wait_p95",
    "wait_p99",
    "wait_max",
    "waiting_age_mean",
    "waiting_age_max",
    "slowdown_mean",
    "slowdown_p95",
    "utilisation_{}",
    "utilisation_allocated_{}",
    "fragmentation_{}",
    "gpu_allocated",
    "gpu_allocated_peak",
    "gpu_fragmentation_rate",
    "gpu_fragmentation_ratio",
    "data_share_{}",
    "data_remote_gib",
    "data_remote_hours",
    "data_extra_hours",
    "pooled_seconds",
    "imbalance_{}_std",
    "nodes_used_mean",
    "nodes_used_peak",
    "cost_per_day",
    "cost_used_per_day",
    "cost_unpriced_nodes",
    "preemptions",
    "pods_evicted",
    "attempts",
    "throughput_per_hour",
    "fairness_slowdown",
)
"""What a table shows unless all is asked for, by the name of its definition."""

SHARED: Final = ("alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli")  # pods ask for them by annotation
IF_ANY: Final = frozenset(
    (
        "pods_evicted",
        "pods_failed",
        "waiting_age_mean",
        "waiting_age_max",
        "data_share_{}",
        "data_extra_hours",
        *(f"utilisation_{name}" for name in SHARED),
        *(f"utilisation_allocated_{name}" for name in SHARED),
        *(f"imbalance_{name}_std" for name in SHARED),
    )
)  # a row of zeros says nothing
SHARE: Final = "share"
NEGLIGIBLE: Final = 0.005  # would be printed as 0.00
SAME: Final = "="
NEARLY: Final = "≈"  # a difference that is none, neither good nor bad

Paint = Callable[[str, bool], str]
"""A cell, and whether it is better: the same cell in colour."""


def shown_rows(comparison: Comparison, everything: bool) -> list[MetricRow]:
    """The rows a table has."""
    if everything:
        return list(comparison.rows)
    names = {row.name for row in comparison.rows}
    is_shared = any(f"utilisation_{name}" in names for name in SHARED)
    # Where devices are not shared, their own rows say again, and less well, what those of the resource say.
    first = OF_JOBS if "jobs_started" in names else ()
    wanted = [*first, *(name for name in SHOWN if name not in first and (is_shared or not name.startswith("gpu_")))]
    order = {name: number for number, name in enumerate(wanted)}
    rows = [
        row
        for row in comparison.rows
        if row.definition.name in order
        and (not {row.name, row.definition.name} & IF_ANY or any(value.mean > 0 for value in row.values.values()))
    ]
    return sorted(rows, key=lambda row: order[row.definition.name])


def _unpainted(cell: str, is_better: bool) -> str:
    return cell


def comparison_lines(comparison: Comparison, rows: Sequence[MetricRow], paint: Paint = _unpainted) -> list[str]:
    """A line a metric: its name, then each policy's value and what it changes against the first.

    Names come from elsewhere; what is in them is shown, and `paint` may be the only one to add what is not.
    """
    names = [policy.name for policy in comparison.policies]
    shown = [visible(name, one_line=True) for name in names]
    titles = [visible(metric_title(row), one_line=True) for row in rows]
    cells = [
        [(_cell(row, name), row.deltas[name].is_better if name in row.deltas else None) for name in names]
        for row in rows
    ]
    left = max(map(len, titles), default=0) + 3
    widths = [max([len(name), *(len(line[column][0]) for line in cells)]) + 3 for column, name in enumerate(shown)]
    heading = "".join(name.ljust(width) for name, width in zip(shown, widths, strict=True))
    lines = [" " * left + heading.rstrip()]
    for title, line in zip(titles, cells, strict=True):
        text = title.ljust(left)
        for (cell, is_better), width in zip(line, widths, strict=True):
            is_plain = is_better is None or cell.endswith(NEARLY)
            text += (cell if is_plain else paint(cell, bool(is_better))) + " " * (width - len(cell))
        lines.append(text.rstrip())
    return lines


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Everything, for programs; the same for the same runs."""
    return {
        "baseline": comparison.first.name,
        "policies": [
            {"name": policy.name, "seeds": policy.seeds, "runs": list(policy.paths.values())}
            for policy in comparison.policies
        ],
        "metrics": {
            row.name: {
                "unit": row.definition.unit,
                "better": row.definition.better or None,
                "values": {name: asdict(value) for name, value in row.values.items()},
                "deltas": {name: asdict(delta) for name, delta in row.deltas.items()},
            }
            for row in comparison.rows
        },
    }


def metric_title(row: MetricRow) -> str:
    """`utilisation_nvidia.com/gpu` as utilisation gpu, `wait_p95` as wait p95 (s)."""
    before, _, after = row.definition.name.partition("{}")
    middle = ""
    if row.name != row.definition.name:
        middle = row.name[len(before) : len(row.name) - len(after)].rpartition("/")[2]
    words = (before + middle + after).replace("_", " ").removesuffix(" seconds").removesuffix(" per hour")
    unit = row.definition.unit
    return words if unit in ("", SHARE, "pods", "nodes") else f"{words} ({unit})"


def value_text(value: float, definition: Definition) -> str:
    """A value in its unit: shares in percent, large numbers without a fraction."""
    if definition.unit == SHARE and not definition.name.startswith("fragmentation"):
        return f"{value:.1%}"
    return _number(value)


def delta_text(delta: Delta, definition: Definition) -> str:
    """Shares in points, with the direction; others in percent of the first policy's value."""
    if delta.mean == 0:
        return SAME
    arrow = "▴" if delta.mean > 0 else "▾"
    if definition.unit == SHARE:
        factor = 1 if definition.name.startswith("fragmentation") else 100
        if abs(delta.mean * factor) < NEGLIGIBLE:
            return NEARLY
        spread = "" if delta.std is None else f" ±{_number(delta.std * factor)}"
        return f"{arrow} {_signed(delta.mean * factor)}{spread}"
    if delta.relative is None:
        return f"{arrow} {'+' if delta.mean > 0 else '−'}{value_text(abs(delta.mean), definition)}"
    spread = _relative_spread(delta)
    percent = delta.relative * 100
    if abs(percent) < NEGLIGIBLE * 10:
        return NEARLY
    digits = 0 if abs(percent) >= 0.95 else 1
    return f"{'+' if percent > 0 else '−'}{abs(percent):,.{digits}f}%".replace(",", " ") + spread


def _relative_spread(delta: Delta) -> str:
    """Of what each seed changes by: where nobody waits any more, whatever the seed, that is −100% and nothing else."""
    if delta.std is None or not delta.relative or delta.relative <= -1:
        return ""
    spread = delta.relative_std
    if spread is None:
        spread = abs(delta.std / delta.mean * delta.relative)
    return f" ±{spread:.0%}" if spread >= NEGLIGIBLE else ""


def _cell(row: MetricRow, policy: str) -> str:
    value = row.values.get(policy)
    if value is None:
        return "–"
    text = value_text(value.mean, row.definition) + _spread(value, row.definition)
    delta = row.deltas.get(policy)
    return text if delta is None else f"{text}  {delta_text(delta, row.definition)}"


def _spread(value: MetricValue, definition: Definition) -> str:
    return "" if not value.std else f" ±{value_text(value.std, definition).removesuffix('%')}"


def _number(value: float) -> str:
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _signed(value: float) -> str:
    text = f"{abs(value):.1f}" if abs(value) >= 1 else f"{abs(value):.2f}"
    return ("+" if value > 0 else "−") + text

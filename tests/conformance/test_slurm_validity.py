"""The eye that judges plans from outside sees each thing that can be wrong with one."""

from typing import Any

import msgspec
import pytest

from fairway.conformance.slurm.cases import PlanCase
from fairway.conformance.slurm.validity import PlannedStart, violations

SHAPE = {"tasks_per_node": 1, "cpus_per_task": 2, "mem_mb_per_node": 10, "gpus_per_node": 0, "exclusive": False}


def pending(key: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "priority": 1, "nodes": 1, "limit_s": 10, **SHAPE, **more}


def node(name: str, state: str = "up") -> dict[str, Any]:
    return {"name": name, "cpus": 4, "mem_mb": 100, "gpus": 0, "weight": 1, "state": state}


CASE = msgspec.convert(
    {
        "id": "case",
        "mode": "easy",
        "nodes": [node("n1"), node("n2"), node("gone", "down")],
        "running": [{"id": "r", "nodes": 1, "limit_s": 20, **SHAPE, "on": ["n1"], "start": -5, "end": 15}],
        "windows": [{"kind": "maintenance", "on": ["n2"], "start": 30, "end": 40}],
        "pending": [
            pending("a"),
            pending("b"),
            pending("alone", exclusive=True),
            pending("later", begin=5),
            pending("behind", after={"kind": "afterok", "id": "r"}),
            pending("beside", after={"kind": "after", "id": "a"}),
            pending("wide", nodes=2),
        ],
        "expected": {"started": [], "planned": [], "refused": []},
    },
    PlanCase,
)


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (
            {"a": (0, ["n1"]), "b": (0, ["n2"]), "alone": (10, ["n2"]), "later": (15, ["n1"]), "behind": (15, ["n1"])},
            "",
        ),
        ({"a": (0, ["n1"]), "b": (9, ["n1"])}, "r, a, b want 6 of 4 on n1 at 9"),
        ({"alone": (14, ["n1"])}, "r, alone share n1 at 14"),
        ({"a": (25, ["n2"])}, "a runs into a window on n2"),
        ({"a": (20, ["n2"]), "b": (40, ["n2"])}, ""),
        ({"a": (0, ["gone"])}, "a is planned on gone"),
        ({"later": (4, ["n2"])}, "later starts at 4, before it may"),
        ({"a": (-1, ["n2"])}, "a starts at -1, before it may"),
        ({"behind": (14, ["n2"])}, "behind starts before r"),
        ({"beside": (0, ["n2"])}, "beside has a date, but a, which it waits for, has none"),
        ({"a": (5, ["n1"]), "beside": (4, ["n2"])}, "beside starts before a"),
        ({"wide": (0, ["n1"])}, "wide has 1 nodes and wants 2"),
    ],
)
def test_what_is_wrong_with_a_plan(plan: dict[str, tuple[float, list[str]]], problem: str) -> None:
    found = list(violations(CASE, {key: PlannedStart(*start) for key, start in plan.items()}))
    assert len(found) == (1 if problem else 0)
    assert all(problem in words for words in found)

"""The schema, and the page made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.record.schema import TABLES, amount_column, unit_of
from fairway.record.schema_page import schema_page
from tests.record.runs import small_run

PAGE = Path(__file__).parents[2] / "docs" / "run-schema.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == schema_page(), "run: python -m fairway.record.schema_page > docs/run-schema.md"


def test_a_runs_tables_are_those_of_the_schema(tmp_path: Path) -> None:
    with small_run(tmp_path / "run") as run:
        for name, table in TABLES.items():
            columns = [column.name for column in table.columns]
            amounts = list(run.resources.values()) if table.amounts else []
            assert list(run.tables[name].columns) == columns + amounts


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("cpu", "cpu_milli"),
        ("memory", "memory_bytes"),
        ("ephemeral-storage", "ephemeral_storage_bytes"),
        ("hugepages-2Mi", "hugepages_2mi_bytes"),
        ("nvidia.com/gpu", "nvidia_com_gpu"),
        ("3d.example/Thing", "resource_3d_example_thing"),
        ("pods", "pods_2"),  # nodes have a column of that name
        ("taken", "taken_2"),
    ],
    ids=str,
)
def test_a_resources_column(resource: str, expected: str) -> None:
    assert amount_column(resource, ["taken"]) == expected


def test_units() -> None:
    assert [unit_of(name) for name in ("cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu")] == [
        "milli",
        "bytes",
        "bytes",
        "count",
    ]

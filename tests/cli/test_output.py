"""How commands print: for people, for programs, piped."""

import csv
import io
import json
from typing import Any

import pytest
import yaml

from fairway.cli.output import FORMATS, Column, emit, is_structured, plain_table, progress
from fairway.words import amount_text

COLUMNS = (
    Column("name", "NAME"),
    Column("pods", "PODS", right=True),
    Column("zone", "ZONE", wide=True),
)
ROWS: list[dict[str, Any]] = [
    {"name": "n1", "pods": 12345, "zone": "a"},
    {"name": "a-longer-name", "pods": None, "zone": ["a", "b"]},
]


def printed(output: str, capsys: pytest.CaptureFixture[str], document: Any = None) -> str:
    emit(ROWS, COLUMNS, output, document)
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_a_table_lines_up_and_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("table", capsys) == "NAME              PODS\nn1              12 345\na-longer-name\n"


def test_wide_has_more_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("wide", capsys).splitlines()[:2] == ["NAME              PODS   ZONE", "n1              12 345   a"]


def test_json_and_yaml_hold_the_values_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed("json", capsys)) == ROWS
    assert yaml.safe_load(printed("yaml", capsys)) == ROWS
    assert json.loads(printed("json", capsys, {"all": 2})) == {"all": 2}


def test_csv_has_every_column_under_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed("csv", capsys))))
    assert rows == [
        {"name": "n1", "pods": "12345", "zone": "a"},
        {"name": "a-longer-name", "pods": "", "zone": "a b"},
    ]


def test_name_is_the_first_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("name", capsys) == "n1\na-longer-name\n"


def test_only_tables_are_for_people() -> None:
    assert [output for output in FORMATS if not is_structured(output)] == ["table", "wide"]


@pytest.mark.parametrize(
    ("value", "cell"),
    [(None, ""), (True, "yes"), (0, "0"), (1234567, "1 234 567"), (0.0123, "0.0123"), (1234.56, "1 234.6"), ("é", "é")],
)
def test_cells(value: Any, cell: str) -> None:
    assert plain_table([{"v": value}], [Column("v", "V")]) == f"V\n{cell}\n"


def test_progress_says_nothing_unless_somebody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 500, "500m"),
        ("cpu", 16_000, "16"),
        ("cpu", 35_200_000, "35 200"),
        ("cpu", 15_469_500, "15 469.5"),
        ("memory", 16 * 2**30, "16Gi"),
        ("memory", 0, "0"),
        ("nvidia.com/gpu", 12_000, "12 000"),
    ],
)
def test_amounts_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert amount_text(resource, amount) == text


HOSTILE = [{"pod": "a\x1b]0;title\x07", "reason": "=cmd|' /C calc'!A0", "count": -3}]
HOSTILE_COLUMNS = (Column("pod", "POD"), Column("reason", "REASON"), Column("count", "COUNT"))


@pytest.mark.parametrize("output", ["table", "wide", "csv", "name", "json", "yaml"])
def test_names_can_not_command_the_terminal(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    emit(HOSTILE, HOSTILE_COLUMNS, output)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_text_in_csv_is_no_formula_and_numbers_stay_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    emit(HOSTILE, HOSTILE_COLUMNS, "csv")
    _, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert row[1:] == ["'=cmd|' /C calc'!A0", "-3"]

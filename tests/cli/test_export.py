"""`fairway export`: what it writes, and where."""

import gzip
import json

import duckdb
import pytest

from fairway.record.schema import TABLES
from tests.cli.trial_files import Folder
from tests.explain.run_files import busy_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return busy_run(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize(("form", "reader"), [("parquet", "read_parquet"), ("csv", "read_csv")])
def test_every_table_is_a_file(run: str, folder: Folder, form: str, reader: str) -> None:
    target = folder.path / "tables"
    printed = folder.run("export", run, str(target), "--format", form, "-o", "json")
    assert [one["what"] for one in printed.document] == list(TABLES)
    for one in printed.document:
        if one["rows"]:
            (count,) = duckdb.execute(f"SELECT count(*) FROM {reader}('{one['file']}')").fetchall()[0]
            assert count == one["rows"]


def test_only_some_tables(run: str, folder: Folder) -> None:
    printed = folder.run("export", run, str(folder.path / "some"), "--table", "pods", "-o", "name")
    assert printed.out == f"{folder.path / 'some' / 'pods.parquet'}\n"


def test_a_trace(run: str, folder: Folder) -> None:
    target = folder.path / "trace.json.gz"
    printed = folder.run("export", run, str(target))
    assert printed.code == 0
    assert "ui.perfetto.dev" in printed.err
    assert {"pod", "scheduled"} <= {
        one.get("cat") for one in json.loads(gzip.decompress(target.read_bytes()))["traceEvents"]
    }


MISTAKES = {
    "no such table": (("{run}", "out", "--table", "pots"), "there is no pots; there are: meta, resources"),
    "a table of a trace": (("{run}", "out.json", "--table", "pods"), "--table is for a directory of tables"),
    "no run": (("none.duckdb", "out"), "there is no run none.duckdb"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(run: str, folder: Folder, arguments: tuple[str, ...], words: str) -> None:
    printed = folder.run("export", *(one.format(run=run) for one in arguments))
    assert printed.code in (1, 2)
    assert words in printed.err

"""A run of which everything is known, asked; and files that are no runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from fairway.record import RecordError, Run
from fairway.record.errors import CannotWriteError
from fairway.record.vocabulary import PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, small_run, writer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with small_run(tmp_path_factory.mktemp("runs") / "small") as opened:
        yield opened


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0.0, {"a": (1, 4000), "b": (0, 0)}),
        (5.0, {"a": (2, 6000), "b": (0, 0)}),
        (9.9, {"a": (2, 6000), "b": (0, 0)}),
        (10.0, {"a": (1, 2000), "b": (1, 8000)}),
        (20.0, {"a": (0, 0), "b": (1, 8000)}),
        (32.0, {"a": (0, 0), "b": (0, 0)}),
        (39.0, {"a": (0, 0), "b": (1, 1000)}),
    ],
    ids=str,
)
def test_node_load_counts_intervals_open_at_that_time(run: Run, at: float, expected: dict[str, Any]) -> None:
    load = {row["node"]: (row["num_pods"], row["cpu_milli"]) for row in run.node_load(at)}
    assert load == expected


def test_node_load_tells_what_there_is(run: Run) -> None:
    first = next(iter(run.node_load(0.0)))
    assert (first["allocatable_cpu_milli"], first["allocatable_pods"], first["is_ready"]) == (8000, 110, True)
    assert len(run.node_load(-1.0)) == 0
    assert [row["node"] for row in run.node_load(10.0).where("cpu_milli > ?", 2000)] == ["b"]


def test_pods_on_a_node(run: Run) -> None:
    assert [row["pod"] for row in run.pods_on("a", 7.0)] == ["default/one", "default/two"]
    assert [row["pod"] for row in run.pods_on("a", 20.0)] == []
    with pytest.raises(RecordError, match="no node c"):
        run.pods_on("c", 0.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("default/one", 0), ("one", 0), (0, 0), ("team/three", 2), ("three", 2)],
    ids=["key", "name", "number", "key elsewhere", "name elsewhere"],
)
def test_a_pod_is_found_by(run: Run, name: str | int, expected: int) -> None:
    assert run.pod(name)["pod_id"] == expected


def test_a_pod_that_is_not_there_or_not_alone_is_an_error(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        for one in (pod("one"), pod("one", namespace="team", uid="u-2")):
            made.pod_created(0.0, one, SCHEDULER)
        made.ended(1.0, "default/one", PodEnd.DELETED)
        made.pod_created(2.0, pod("one", uid="u-3"), SCHEDULER)
        made.close(3.0)
    with Run.open(tmp_path / "run") as run:
        with pytest.raises(RecordError, match="no pod two"):
            run.pod("two")
        with pytest.raises(RecordError, match="several pods one: default/one, team/one"):
            run.pod("one")
        assert run.pod("default/one")["uid"] == "u-3"  # the latest of its name
        assert run.pod("u-2")["pod"] == "team/one"


def test_decisions_of_a_pod(run: Run) -> None:
    assert [(row["time_seconds"], row["node"]) for row in run.decisions_of("two")] == [(5.0, "a")]


def test_what_the_run_is(run: Run) -> None:
    assert (run.scenario, run.seed, run.is_complete, run.end_seconds) == ({"name": "test"}, 7, True, 40.0)
    assert run.resources == {"cpu": "cpu_milli", "memory": "memory_bytes"}
    assert run.meta["num_rows"]["pods"] == len(run.pods) == 4


# -- tables ------------------------------------------------------------------------------------------------------------


def test_a_table_in_every_form_says_the_same(run: Run) -> None:
    pods = run.pods
    arrays = pods.numpy()
    assert tuple(arrays) == pods.columns
    assert arrays["pod"].tolist() == ["default/one", "default/two", "team/three", "default/four"]
    assert np.isnan(arrays["ended_seconds"]).tolist() == [False, False, False, True]
    assert arrays["reason"].tolist() == ["Succeeded", "Succeeded", "Succeeded", None]
    expected = [row["cpu_milli"] for row in pods]
    for table in (pods.pandas(), pods.polars(), pods.arrow().to_pandas()):
        assert list(table["cpu_milli"]) == expected == [4000, 2000, 8000, 1000]
    assert pods.polars().columns == list(pods.columns) == pods.arrow().column_names


def test_a_table_can_be_narrowed(run: Run) -> None:
    narrow = (
        run.pods.where("cpu_milli >= ?", 2000)
        .where("namespace = ?", "default")
        .select("pod", "cpu_milli / 1000 AS cpu")
    )
    assert list(narrow) == [{"pod": "default/one", "cpu": 4.0}, {"pod": "default/two", "cpu": 2.0}]
    assert "cpu_milli >= ?" in narrow.sql
    assert narrow.parameters == (2000, "default")
    assert narrow.numpy("cpu")["cpu"].tolist() == [4.0, 2.0]


def test_two_readers_do_not_disturb_each_other(run: Run) -> None:
    pairs = [(one["pod_id"], other["pod_id"]) for one in run.pods for other in run.pods]
    assert len(pairs) == 16


def test_any_question_may_be_put(run: Run) -> None:
    (row,) = run.sql("SELECT count(*) AS n FROM occupancy WHERE node = ?", "b")
    assert row == {"n": 2}
    with pytest.raises(RecordError, match="nonsense"):
        list(run.sql("SELECT nonsense FROM pods"))
    with pytest.raises(RecordError, match="read-only"):
        list(run.sql("DELETE FROM pods").rows())


def test_integers_that_may_be_null_are_masked(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        for name in ("bound", "waits"):
            made.pod_created(0.0, pod(name), SCHEDULER)
        made.bound(0.0, "default/bound", "a")
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        assert np.ma.getmaskarray(run.pods.numpy("node_id")["node_id"]).tolist() == [False, True]


# -- files that are no runs --------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="there is no run"):
        Run.open(tmp_path / "none")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is a directory"):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"kind: Scenario\n", "not a DuckDB file"),
        (b"\0" * 20_000, "not a DuckDB file"),
        (b"SQLite format 3\0" + b"\0" * 4080, "not a DuckDB file"),
    ],
    ids=["empty", "text", "zeros", "another database"],
)
def test_a_file_of_another_kind(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=f"other is no run: .*{words}"):
        Run.open(path)
    if data:
        with pytest.raises(CannotWriteError, match="other is there already, and no run that could be replaced"):
            writer(path)
        assert path.read_bytes() == data


def test_a_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    small_run(tmp_path / "run").close()
    writer(tmp_path / "run").close(7.0)
    with Run.open(tmp_path / "run") as run:
        assert run.end_seconds == 7.0


def test_queries_draw_no_progress_bar_of_their_own(run: Run) -> None:
    (row,) = run.sql("SELECT current_setting('enable_progress_bar') AS bar").rows()
    assert row["bar"] is False


def database(path: Path, *statements: str) -> Path:
    connection = duckdb.connect(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["CREATE TABLE t (a INTEGER)"], "no table meta"),
        (["CREATE TABLE meta (key VARCHAR, value VARCHAR)"], "no schema_version"),
        (["CREATE TABLE meta AS SELECT 'schema_version' AS key, 'not json' AS value"], "no schema_version"),
        (["CREATE TABLE meta AS SELECT 'schema_version' AS key, '1' AS value"], "damaged: it has no table"),
    ],
    ids=["other database", "empty meta", "meta without json", "tables missing"],
)
def test_a_database_that_is_no_run(tmp_path: Path, statements: list[str], words: str) -> None:
    with pytest.raises(RecordError, match=words):
        Run.open(database(tmp_path / "other", *statements))


def test_a_newer_version_is_refused_with_its_number(tmp_path: Path) -> None:
    small_run(tmp_path / "run").close()
    newer = [("schema_version", 3), ("fairway_version", "9.9")]
    database(tmp_path / "run", *(f"UPDATE meta SET value = '{json.dumps(v)}' WHERE key = '{k}'" for k, v in newer))
    with pytest.raises(RecordError, match=r"Fairway 9\.9 in version 3.*version 2 at most"):
        Run.open(tmp_path / "run")


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_cut_off_anywhere_is_an_error(tmp_path: Path, share: float) -> None:
    small_run(tmp_path / "run").close()
    data = (tmp_path / "run").read_bytes()
    (tmp_path / "cut").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(RecordError, match="cut"):
        Run.open(tmp_path / "cut")


def test_damage_inside_a_file_is_an_error_not_a_wrong_answer(tmp_path: Path) -> None:
    small_run(tmp_path / "run").close()
    data = bytearray((tmp_path / "run").read_bytes())
    for place in range(0, len(data), 4096):
        data[place : place + 64] = b"\xa5" * min(64, len(data) - place)
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(RecordError, match=r"bad(?!.*being written)"), Run.open(tmp_path / "bad") as run:
        list(run.occupancy)


def test_a_run_that_is_being_written_says_so(tmp_path: Path) -> None:
    made = writer(tmp_path / "run")
    with pytest.raises(RecordError, match="still being written"):
        Run.open(tmp_path / "run.partial")
    made.close(0.0)

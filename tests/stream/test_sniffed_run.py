"""The run of a log: every number of it, whatever form the messages came in, and what becomes of odd ones."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fairway.model import DecodeError
from fairway.record import Run
from fairway.stream.message import Message, line_of, read_line
from fairway.stream.sniffed_log import read_log
from fairway.stream.sniffed_run import MessageOrigin, read_requests, summary_of, write_run
from tests.stream.test_sniffed import SECOND, SHARED, condition, exact, node_line, real_log, sniffed, step, watched


def run_of(folder: Path, messages: Sequence[Message], requests: str = "") -> Run:
    path = str(folder / "run.duckdb")
    write_run(path, sniffed(messages), MessageOrigin("test", "second", len(messages), 0), read_requests(requests))
    return Run.open(path)


def rows(run: Run, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in run.tables[table].rows()]


def test_a_whole_life(tmp_path: Path) -> None:
    messages = [
        node_line("nodeAdd", extra={"allocatable-cpu": "3920m", "allocatable-pods": "110", "allocatable-odd": "many"}),
        step("ScheduleSuccess", 0),
        step("BindingSuccess", 0.5),
        step("postStart", 1),
        watched("Running"),
        step("preStop", 9),
        watched("Succeeded"),
    ]
    with run_of(tmp_path, messages, "cpu=500m,memory=1Gi") as run:
        assert rows(run, "nodes", "node", "change", "is_ready", "pods", "cpu_milli") == [
            ("n1", "Added", True, 110, 3920)
        ]
        times = ("created_seconds", "bound_seconds", "started_seconds", "ended_seconds")
        assert rows(run, "pods", "pod", "scheduler", *times, "reason", "node", "attempts", "cpu_milli") == [
            ("default/a", "default-scheduler", 0.0, 0.5, 1.0, 9.0, "Succeeded", "n1", 1, 500)
        ]
        assert json.loads(rows(run, "pods", "annotations")[0][0]) == {
            "fairway.dev/from-source": "BindingSuccess",
            "fairway.dev/to-source": "preStop",
        }
        assert rows(run, "decisions", "time_seconds", "pod", "attempt", "outcome", "node", "via") == [
            (0.0, "default/a", 1, "scheduled", "n1", None)
        ]
        assert rows(run, "occupancy", "pod", "node", "from_seconds", "to_seconds", "reason", "memory_bytes") == [
            ("default/a", "n1", 0.5, 9.0, "Succeeded", 1 << 30)
        ]
        assert rows(run, "events", "time_seconds", "kind", "subject", "reason") == [
            (1.0, "Pod", "default/a", "Running"),
            (9.0, "Pod", "default/a", "Succeeded"),
        ]
        assert run.meta["options"]["decisions"] == "placed"
        assert run.meta["source"] == {
            "origin": "2023-11-14T22:13:20Z",
            "format": "second",
            "lines_read": 7,
            "lines_skipped": 0,
        }
        assert (run.is_complete, run.end_seconds) == (True, 9.0)


def test_a_second_pod_of_one_name_has_a_row_of_its_own(tmp_path: Path) -> None:
    with run_of(tmp_path, [step("BindingSuccess", 0, node="n1"), step("BindingSuccess", 4, node="n2")]) as run:
        assert rows(run, "pods", "pod", "node", "bound_seconds", "ended_seconds", "reason") == [
            ("default/a", "n1", 0.0, 4.0, "Deleted"),
            ("default/a", "n2", 4.0, None, None),
        ]
        assert len({row[0] for row in rows(run, "pods", "uid")}) == 2


def test_attempts_are_counted(tmp_path: Path) -> None:
    with run_of(tmp_path, [step("ScheduleSuccess", 0), step("ScheduleSuccess", 2), step("BindingSuccess", 3)]) as run:
        assert rows(run, "decisions", "time_seconds", "attempt") == [(0.0, 1), (2.0, 2)]


@pytest.mark.parametrize(
    ("pod", "node"), [("UPPER", "n1"), ("a b", "n1"), ("../x", "n1"), ("a", "no/node"), ("é", "n")]
)
def test_what_has_no_name_of_kubernetes_is_only_an_event(tmp_path: Path, pod: str, node: str) -> None:
    odd = [step("ScheduleSuccess", 1, pod, node), step("BindingSuccess", 2, pod, node)]
    with run_of(tmp_path, [step("BindingSuccess", 0, "fine", "n1"), *odd, *odd]) as run:
        assert rows(run, "pods", "pod") == [("default/fine",)]
        assert rows(run, "nodes", "node") == [("n1",)]
        assert rows(run, "events", "time_seconds", "subject", "reason") == [
            (1.0, f"default/{pod}", "ScheduleSuccess"),
            (2.0, f"default/{pod}", "BindingSuccess"),
        ]


def test_a_node_that_went_and_came_back(tmp_path: Path) -> None:
    messages = [
        node_line("nodeAdd", extra={"allocatable-cpu": "1"}),
        step("BindingSuccess", 0),
        node_line("nodeDeleted"),
        step("preStop", 5),
        step("BindingSuccess", 6, "b"),
        node_line("nodeAdd", extra={"allocatable-cpu": "2"}),
    ]
    with run_of(tmp_path, messages) as run:
        assert rows(run, "nodes", "node_id", "from_seconds", "to_seconds", "gone", "cpu_milli") == [
            (0, 0.0, 0.0, "Deleted", 1000),
            (1, 6.0, None, None, 2000),
        ]
        assert rows(run, "occupancy", "pod", "node_id", "from_seconds") == [
            ("default/a", 0, 0.0),
            ("default/b", 1, 6.0),
        ]


def test_a_node_that_is_only_said_to_be_gone_held_its_pods(tmp_path: Path) -> None:
    with run_of(tmp_path, [node_line("nodeDeleted"), step("BindingSuccess", 3)]) as run:
        assert rows(run, "nodes", "node", "from_seconds", "pods") == [("n1", 0.0, 0)]
        assert rows(run, "occupancy", "node") == [("n1",)]


# -- logs --------------------------------------------------------------------------------------------------------------


def first_form(message: Message) -> str:
    fields = {"pod": message.name, "endpoint": message.endpoint, "node": message.node, "event": message.event}
    return f"  DEBUG:  {json.dumps({**fields, 'timestamp': message.timestamp})}"


LIFE = [step("ScheduleSuccess", 0), step("BindingSuccess", 1), step("postStart", 2), step("preStop", 3)]


def tables_of(path: Path, lines: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    log = path / "log"
    log.write_text("\n".join(lines))
    told, reading = read_log(str(log))
    write_run(str(path / "run"), told, MessageOrigin("x", reading.form, reading.num_lines, reading.num_skipped), {})
    with Run.open(path / "run") as run:
        return {name: list(table.rows()) for name, table in run.tables.items() if name != "meta"}


def test_both_forms_give_the_same_run(tmp_path: Path) -> None:
    first = tables_of(tmp_path, [first_form(message) for message in LIFE])
    second = tables_of(tmp_path, [line_of(message) for message in LIFE])
    mixed = tables_of(tmp_path, [first_form(message) for message in LIFE[:2]] + [line_of(each) for each in LIFE[2:]])
    assert first == second == mixed
    assert len(first["occupancy"]) == 1


@real_log
def test_both_forms_of_what_a_cluster_told_give_the_same_run(tmp_path: Path) -> None:
    with gzip.open(SHARED / "sniffer.log.gz", "rt") as lines:
        messages = [read_line(line)[0] for line in lines]
    # What the first form can say: of a node, of amounts and of reasons it has no word.
    sayable = [one._replace(reason="", message="") for one in messages if one.object == "Pod"]
    first = tables_of(tmp_path, [first_form(message) for message in sayable])
    assert first == tables_of(tmp_path, [line_of(message) for message in sayable])
    assert len(first["occupancy"]) == 104


def test_bad_lines_are_counted_and_the_first_five_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    bad = [
        "nonsense",
        "[]",
        '{"object":"Cat","name":"a"}',
        '{"object":"Pod"}',
        line_of(LIFE[0]._replace(timestamp="x")),
    ]
    log.write_text("\n".join([*bad, "", line_of(LIFE[0]), "{}", '{"object":"Pod","name":7}']))
    _, reading = read_log(str(log))
    assert (reading.num_lines, reading.num_skipped, reading.form) == (8, 7, "second")
    assert [line.removeprefix(f"{log}:") for line in reading.named] == [
        "1: is no JSON",
        "2: is JSON, but no object",
        '3: names neither a "pod" nor an "object" that is Pod or Node',
        "4: does not say which pod",
        "5: timestamp 'x' is no time as Go prints it",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "one\ntwo\n", "{}\n" * 9])
def test_a_file_without_a_message_is_an_error_that_names_both_forms(tmp_path: Path, text: str) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    with pytest.raises(DecodeError) as error:
        read_log(str(log))
    assert "DEBUG:" in str(error.value)
    assert '"object", "name", "endpoint"' in str(error.value)


def test_a_compressed_log_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = tmp_path / "log.gz"
    lines = [line_of(step("BindingSuccess", number, f"pod-{number}")) for number in range(2000)]
    whole = gzip.compress("\n".join(lines).encode())
    log.write_bytes(whole[: len(whole) // 2])
    told, reading = read_log(str(log))
    assert 0 < len(told.pods) < 2000
    assert "is cut off" in reading.named[-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpu", "'cpu' is not RESOURCE=AMOUNT"),
        ("=1", "'=1' is not RESOURCE=AMOUNT"),
        ("cpu=1,cpu=2", "cpu is there twice"),
        ("cpu=-1", "less than nothing"),
        ("cpu=x", "quantity"),
    ],
)
def test_requests_that_make_no_sense(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_requests(text)


# -- a real cluster's log ----------------------------------------------------------------------------------------------


@real_log
def test_the_run_has_every_fact_to_the_nanosecond(tmp_path: Path) -> None:
    facts = json.loads((SHARED / "facts.json").read_text())
    told, reading = read_log(str(SHARED / "sniffer.log.gz"))
    source = MessageOrigin("gke", reading.form, reading.num_lines, reading.num_skipped)
    assert summary_of(told, source) == (
        "7 263 lines, 105 pods, 8 nodes, 71.8 s · 104 intervals, 14 open at the end · 1 pod never bound · "
        "0 lines skipped"
    )
    write_run(str(tmp_path / "run"), told, source, {})
    with Run.open(tmp_path / "run") as run:
        assert run.meta["source"]["origin"] == facts["totals"]["origin"]
        assert _nanoseconds(run.end_seconds) == facts["totals"]["end_ns"]
        pods = {row["pod"].removeprefix("default/"): row for row in run.pods.rows()}
        held = {row["pod"].removeprefix("default/"): row for row in run.occupancy.rows()}
        chosen = {row["pod"].removeprefix("default/"): row["time_seconds"] for row in run.decisions.rows()}
        assert (len(pods), len(held), len(chosen)) == (105, 104, 92)
        for name, fact in facts["pods"].items():
            row, interval = pods[name], held[name]
            sources = json.loads(row["annotations"])
            found = {
                "node": interval["node"],
                "occupancy_from_ns": _nanoseconds(interval["from_seconds"]),
                "occupancy_to_ns": _nanoseconds(interval["to_seconds"]),
                "from_source": sources["fairway.dev/from-source"],
                "to_source": sources.get("fairway.dev/to-source"),
                "reason": interval["reason"],
            }
            assert found == {key: fact[key] for key in found}
            bound = _nanoseconds(row["bound_seconds"])
            assert bound is not None
            if fact["schedule_to_bind_ns"] is not None:
                assert bound - (_nanoseconds(chosen[name]) or 0) == fact["schedule_to_bind_ns"]
            if fact["bind_to_post_start_ns"] is not None:
                assert (_nanoseconds(row["started_seconds"]) or 0) - bound == fact["bind_to_post_start_ns"]
        for name, fact in facts["nodes"].items():
            for second, count in fact["pods_at"].items():
                (load,) = (row for row in run.node_load(float(second)).rows() if row["node"] == name)
                assert load["num_pods"] == count


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * SECOND)


def test_condition_times_are_whole_seconds() -> None:
    assert "m=" not in condition(3)
    assert "m=" in exact(3)

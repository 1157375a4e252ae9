"""`fairway compare`: metrics side by side, and conditions."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from fairway.compare.gate import Gate, GateError, parse_gate, tripped
from fairway.compare.metrics import PolicyRuns, compare_policies
from fairway.compare.text import comparison_lines, delta_text
from fairway.model import UserError
from fairway.record import Run, first_difference
from tests.cli.scenario_files import small_scenario


def compare(*args: Any) -> int:
    return main(["compare", *map(str, args)])


def policies(base: dict[str, float], other: dict[str, float]) -> list[PolicyRuns]:
    return [PolicyRuns("a", {1: base}, {1: "a"}), PolicyRuns("b", {1: other}, {1: "b"})]


def test_runs_of_several_seeds_make_a_column_a_policy(
    runs: dict[tuple[str, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*runs.values()) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["default", "packed"]
    (wait,) = (line for line in out if line.startswith("wait mean (s)"))
    assert wait.count("±") == 3
    assert out[-1].startswith("first different decision: default/load-")
    assert f"--run {runs['packed', 4]}" in out[-1]


def test_json_has_values_deltas_and_the_first_difference(
    runs: dict[tuple[str, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*runs.values(), "-o", "json") == 0
    document = json.loads(capsys.readouterr().out)
    wait = document["metrics"]["wait_mean"]
    for policy in ("default", "packed"):
        for seed in (4, 5):
            with Run.open(runs[policy, seed]) as run:
                assert wait["values"][policy]["by_seed"][str(seed)] == run.metrics().wait.mean
    changes = [wait["values"]["packed"]["by_seed"][s] - wait["values"]["default"]["by_seed"][s] for s in ("4", "5")]
    assert wait["deltas"]["packed"]["mean"] == pytest.approx(sum(changes) / 2)
    assert not any(name.startswith("timing_") for name in document["metrics"])
    (parting,) = document["first_difference"]
    with Run.open(runs["default", 4]) as one, Run.open(runs["packed", 4]) as two:
        found = first_difference(one, two)
    assert found is not None
    assert found.first is not None
    assert (parting["number"], parting["pod"]) == (found.number, found.first["pod"])
    assert parting["ours"]["node"] != parting["theirs"]["node"]


def test_a_run_does_not_differ_from_itself(
    runs: dict[tuple[str, int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(runs["default", 4].read_bytes())
    assert compare(runs["default", 4], copy, "--fail-if", "wait_p95>+0%") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["default-4", "copy"]
    assert "no different decision: copy decides everything as default-4 does" in out


def test_a_scenario_runs_profiles_and_seeds_in_processes_as_alone(
    runs: dict[tuple[str, int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = small_scenario(tmp_path)
    assert compare(*runs.values(), "-o", "json") == 0
    expected = json.loads(capsys.readouterr().out)
    assert compare(scenario, "--seeds", 2, "--jobs", 2, "--save", tmp_path / "kept.duckdb", "-o", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metrics"] == expected["metrics"]
    assert document["first_difference"] == expected["first_difference"]
    kept = {path.name for path in tmp_path.glob("kept*")}
    assert kept == {f"kept-{name}-seed{seed}.duckdb" for name in ("default", "packed") for seed in (4, 5)}


def test_a_failure_in_a_process_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    log.write_text("not a job\n")
    assert compare(small_scenario(tmp_path), "--workload", log, "--strict", "--jobs", 2) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "log.swf:1" in err
    assert "Traceback" not in err


def test_fail_if_is_exit_code_3_and_says_why(
    runs: dict[tuple[str, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pair = runs["packed", 4], runs["default", 4]
    assert compare(*pair, "--fail-if", "wait_mean>+5%", "--fail-if", "pods_waiting>0") == 3
    err = capsys.readouterr().err
    assert "failed: default: wait_mean is " in err
    assert "pods_waiting" not in err
    assert compare(*reversed(pair), "--fail-if", "wait_mean>+5%") == 0


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("wait_p95>+5%", Gate("wait_p95>+5%", "wait_p95", ">", 0.05, True, True)),
        (" wait_p95 >= 10 ", Gate("wait_p95 >= 10", "wait_p95", ">=", 10.0, False, False)),
        ("utilisation_cpu<-0.02", Gate("utilisation_cpu<-0.02", "utilisation_cpu", "<", -0.02, True, False)),
        ("utilisation_cpu<60%", Gate("utilisation_cpu<60%", "utilisation_cpu", "<", 0.6, False, False)),
        ("utilisation_nvidia.com/gpu<−1%", Gate(  # noqa: RUF100
            "utilisation_nvidia.com/gpu<−1%", "utilisation_nvidia.com/gpu", "<", -0.01, True, True)),
    ],
    ids=["relative", "value", "change", "share", "minus"],
)  # fmt: skip
def test_conditions_are_read(text: str, gate: Gate) -> None:
    assert parse_gate(text) == gate


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("wait_p95", "is no condition"),
        ("wait_p95>much", "is no condition"),
        ("wait_95>+5%", "did you mean wait_p95"),
        ("wait_p95>5%", "write +5% or -5%"),
    ],
)
def test_conditions_that_make_no_sense(text: str, words: str) -> None:
    with pytest.raises(GateError, match=re.escape(words)):
        parse_gate(text)
    assert main(["compare", "x.duckdb", "--fail-if", text]) == 2


@pytest.mark.parametrize(
    ("text", "base", "other", "is_tripped"),
    [
        ("wait_p95>+5%", 100.0, 106.0, True),
        ("wait_p95>+5%", 100.0, 104.0, False),
        ("wait_p95>+5%", 0.0, 0.0, False),
        ("wait_p95>+5%", 0.0, 1.0, True),
        ("wait_p95>+5", 100.0, 106.0, True),
        ("wait_p95>105", 200.0, 104.0, True),
        ("wait_p95<-10%", 100.0, 80.0, True),
    ],
)
def test_conditions_trip(text: str, base: float, other: float, is_tripped: bool) -> None:
    comparison = compare_policies(policies({"wait_p95": base}, {"wait_p95": other}))
    assert bool(tripped(parse_gate(text), comparison)) == is_tripped


def test_a_condition_without_a_value_is_a_failure_and_short_names_are_known() -> None:
    comparison = compare_policies(policies({"utilisation_nvidia.com/gpu": 0.5}, {"utilisation_nvidia.com/gpu": 0.7}))
    with pytest.raises(UserError, match="cannot be judged"):
        tripped(parse_gate("wait_p95>+5%"), comparison)
    assert tripped(parse_gate("utilisation_gpu>+10%"), comparison)


@pytest.mark.parametrize(
    ("name", "base", "other", "text"),
    [
        ("wait_p50", 41.0, 38.0, "−7%"),
        ("wait_p50", 0.0, 3.0, "▴ +3"),
        ("wait_p50", 0.0, 0.51, "▴ +0.51"),
        ("pods_placed", 0.0, 20_000.0, "▴ +20 000"),
        ("wait_p50", 2.0, 2.0, "="),
        ("utilisation_cpu", 0.612, 0.689, "▴ +7.7"),
        ("fragmentation_cpu", 0.19, 0.11, "▾ −0.08"),
        ("pods_placed", 1000.0, 1001.0, "+0.1%"),
        ("pods_placed", 1e5, 1e5 + 1, "≈"),
        ("utilisation_cpu", 0.5, 0.500_01, "≈"),
    ],
)
def test_deltas_as_people_read_them(name: str, base: float, other: float, text: str) -> None:
    comparison = compare_policies(policies({name: base}, {name: other}))
    (row,) = comparison.rows
    assert delta_text(row.deltas["b"], row.definition) == text
    assert comparison_lines(comparison, comparison.rows)[1].endswith(f"  {text}")


@pytest.mark.parametrize(
    ("name", "changes", "is_better"),
    [
        ("wait_p50", (-5.0,), True),
        ("wait_p50", (5.0,), False),
        ("wait_p50", (0.0,), None),
        ("pods_placed", (5.0,), True),
        ("pods_created", (5.0,), None),
        ("wait_p50", (-5.0, -6.0, -4.0), True),
        ("wait_p50", (-5.0, 6.0, -4.0), None),
    ],
    ids=["lower", "higher", "same", "more placed", "neither", "sure", "chance"],
)
def test_better_is_said_only_of_what_is_not_chance(
    name: str, changes: tuple[float, ...], is_better: bool | None
) -> None:
    base = PolicyRuns("a", {seed: {name: 100.0 * (seed + 1)} for seed in range(len(changes))}, {})
    other = PolicyRuns("b", {seed: {name: 100.0 * (seed + 1) + change} for seed, change in enumerate(changes)}, {})
    (row,) = compare_policies([base, other]).rows
    assert row.deltas["b"].is_better is is_better


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        pytest.param(("nowhere.duckdb",), 1, "there is no run nowhere.duckdb", id="no run"),
        pytest.param(("small.yaml", "small.yaml"), 1, "not a DuckDB file", id="no runs"),
        pytest.param(("small.yaml", "--fail-if", "x"), 2, "is no condition", id="condition"),
        pytest.param(("small.yaml", "--html", "a/b.html"), 1, "there is no directory a", id="no folder"),
        pytest.param(("x.duckdb", "--seeds", "3"), 2, "--seeds is for a SCENARIO", id="seeds of runs"),
        pytest.param((), 2, "Missing argument", id="nothing"),
    ],
)
def test_errors_say_what_and_what_next(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    small_scenario(tmp_path)
    with contextlib.chdir(tmp_path):
        assert compare(*args) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "→" in err

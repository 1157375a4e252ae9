"""`fairway conformance --slurm`: what holds of a sample of recorded plans, and that no difference escapes it."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main

SAMPLE = Path(__file__).parent.parent / "conformance" / "slurm"
RECORDED = Path(__file__).parents[3] / "shared" / "batch"  # the whole of what was recorded, where it is at hand

Case = dict[str, Any]


def cases(file: str) -> list[Case]:
    with gzip.open(SAMPLE / f"{file}.jsonl.gz") as lines:
        return list(map(json.loads, lines))


def folder(path: Path, file: str, *items: Case) -> str:
    (path / f"{file}.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], path: str, *more: str) -> tuple[int, dict[str, Any]]:
    code = main(["conformance", "--slurm", path, "--jobs", "1", "-o", "json", *more])
    return code, json.loads(capsys.readouterr().out)


def failing(document: dict[str, Any]) -> set[str]:
    return {check["what"] for check in document["checks"] if check["holds"] == "NO"}


def test_the_sample_holds(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = answer(capsys, str(SAMPLE))
    assert failing(document) == set()
    assert (code, document["holds"]) == (0, True)
    files = {check["file"] for check in document["checks"]}
    assert files == {path.name for path in SAMPLE.iterdir()}
    judged = [check for check in document["checks"] if check["what"].startswith("job by job")]
    assert all(int(check["outcome"].split()[0]) > 0 for check in judged)


@pytest.mark.skipif(
    not RECORDED.is_dir(), reason=f"{RECORDED.name} is not beside this checkout: the sample alone is run"
)
def test_all_that_was_recorded_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in RECORDED.glob("*.jsonl.gz"):
        (tmp_path / file.name).symlink_to(file)
    code, document = answer(capsys, str(tmp_path))
    assert (code, failing(document)) == (0, set())


# Two processors: 2 has to wait for 1, and 3 passes it under EASY, for it ends before.
LOG = """; MaxNodes: 2
; MaxProcs: 2
1 1 -1 100 1 -1 -1 1 100 -1 1 1 1 -1 1 -1 -1 -1
2 2 -1 10 2 -1 -1 2 20 -1 1 2 1 -1 1 -1 -1 -1
3 3 -1 40 1 -1 -1 1 40 -1 1 1 1 -1 1 -1 -1 -1
"""
STARTS = {"fcfs": "1 1\n2 101\n3 111\n", "easy": "1 1\n2 101\n3 3\n", "conservative": "1 1\n2 101\n3 3\n"}


def logs(path: Path, starts: dict[str, str], log: str = LOG) -> str:
    (path / "swf").mkdir()
    (path / "swf-expected").mkdir()
    (path / "swf" / "small.swf.gz").write_bytes(gzip.compress(log.encode()))
    for policy, lines in starts.items():
        (path / "swf-expected" / f"small.{policy}.starts.gz").write_bytes(gzip.compress(lines.encode()))
    return str(path)


def test_logs_are_played_through_the_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = answer(capsys, logs(tmp_path, STARTS))
    told = {check["what"]: (check["outcome"], check["holds"]) for check in document["checks"]}
    assert told == {
        "fcfs: every start": ("3 of 3", "yes"),
        "easy, ties each: every start": ("3 of 3", "yes"),
        "conservative, ties each: mean wait": ("+0.00 %", "yes"),
        "conservative, ties each: same start": ("3 of 3, 100.0 %", ""),
    }
    assert code == 0


def test_a_folder_may_be_named_from_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recorded").mkdir()
    logs(tmp_path / "recorded", STARTS)
    monkeypatch.chdir(tmp_path)
    code, document = answer(capsys, "recorded")
    assert (code, failing(document)) == (0, set())


def test_a_start_that_differs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = logs(tmp_path, STARTS | {"easy": "1 1\n2 101\n3 111\n", "conservative": "1 1\n2 120\n3 3\n"})
    code, document = answer(capsys, path)
    assert (code, failing(document)) == (3, {"easy, ties each: every start", "conservative, ties each: mean wait"})
    assert document["differences"][0]["differences"] == ["job 3: starts at 111, here at 3"]


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ({"fcfs": "1\n"}, "small.fcfs.starts.gz, line 1: has 1 fields"),
        ({"easy": "1 1\n2 soon\n"}, "small.easy.starts.gz, line 2: start: 'soon' is not a number"),
        ({"easy": "1 1\n1 2\n"}, "small.easy.starts.gz, line 2: job: 1 is there twice"),
    ],
)
def test_bad_starts_are_told_with_file_line_and_field(
    starts: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conformance", "--slurm", logs(tmp_path, starts), "--jobs", "1"]) == 1
    assert message in capsys.readouterr().err


def test_an_empty_file_beside_others_and_a_log_without_starts_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "priority.jsonl").write_text("")
    code, document = answer(capsys, logs(tmp_path, {}))
    assert code == 0
    assert [check["outcome"] for check in document["checks"]] == ["no cases", "no jobs"]


def test_what_files_say_beyond_what_is_known_is_let_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = cases("plan-conservative")[0] | {"weather": {"rain": True}}
    recorded["nodes"][0]["colour"] = "blue"
    recorded["expected"]["planned"] = [entry | {"mood": 1} for entry in recorded["expected"]["planned"]]
    assert answer(capsys, folder(tmp_path, "plan-conservative-other", recorded))[1]["checks"]


def test_the_table_has_a_row_a_check_and_tells_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = cases("plan-many-easy")[0]
    case["expected"]["refused"].append({"id": case["pending"][0]["id"]})
    assert main(["conformance", "--slurm", folder(tmp_path, "plan-x", case), "--jobs", "1"]) == 3
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split() == ["FILE", "WHAT", "OUTCOME", "BOUND", "HOLDS"]
    (row,) = [line for line in lines if "same jobs refused" in line]
    assert row.split()[-5:] == ["0", "of", "1", "all", "NO"]
    assert f"{case['id']}: only Slurm: {case['pending'][0]['id']}" in printed.err


def tight_entry(case: Case) -> Case:
    entry: Case = next(entry for entry in case["expected"]["planned"] if entry.get("tight"))
    return entry


def later_start(case: Case) -> None:
    tight_entry(case)["start"] += 100


def earlier_start(case: Case) -> None:
    tight_entry(case)["start"] -= 100


def fewer_started(case: Case) -> None:
    case["expected"]["started"] = []


def other_reason(case: Case) -> None:
    for entry in case["expected"]["planned"]:
        entry["reason"] = "BeginTime"


def dates_doubled(case: Case) -> None:
    for entry in case["expected"]["planned"]:
        if entry["start"] is not None and not entry.get("tight"):
            entry["start"] *= 2


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (later_start, "job by job, whole nodes: start ± 5 s"),
        (earlier_start, "job by job, amounts: never later"),
        (fewer_started, "same jobs start at once"),
        (other_reason, "same reason to wait"),
        (dates_doubled, "mean start, all jobs dated by both"),
    ],
)
def test_what_differs_is_found(
    change: Callable[[Case], None], check: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [case for case in cases("plan-conservative") if case["expected"]["started"]]
    changed = [case for case in changed if any(entry.get("tight") for entry in case["expected"]["planned"])][:2]
    for case in changed:
        if change is dates_doubled:
            for entry in case["expected"]["planned"]:
                entry["tight"] = False
        change(case)
    code, document = answer(capsys, folder(tmp_path, "plan-changed", *changed))
    assert check in failing(document)
    assert code == 3


def without(path: str) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        *parents, last = path.split(".")
        target: Any = case
        for part in parents:
            target = target[int(part)] if part.isdigit() else target[part]
        del target[last]

    return change


def assigned(path: str, value: Any) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        *parents, last = path.split(".")
        target: Any = case
        for part in parents:
            target = target[int(part)] if part.isdigit() else target[part]
        target[int(last) if last.isdigit() else last] = value

    return change


BAD = [
    (without("nodes"), "missing required field `nodes`"),
    (assigned("nodes.0.cpus", "many"), "$.nodes[0].cpus"),
    (assigned("nodes.0.cpus", -1), "$.nodes[0].cpus"),
    (assigned("nodes.0.state", "lost"), "$.nodes[0].state"),
    (assigned("pending.0.limit_s", 0), "$.pending[0].limit_s"),
    (assigned("pending.0.nodes", 1.5), "$.pending[0].nodes"),
    (assigned("mode", "best"), "$.mode"),
    (assigned("expected.started", None), "$.expected.started"),
    (assigned("pending.0.after", {"kind": "after", "id": "nobody"}), "pending[0].after.id: no job is called nobody"),
    (assigned("running.0.on", ["nowhere"]), "running[0].on: no node is called nowhere"),
    (assigned("expected.refused", [{"id": "j999"}]), "expected.refused[0].id: no job is called j999"),
    (
        assigned("windows", [{"kind": "maintenance", "on": [], "start": 5, "end": 5}]),
        "windows[0].end: 5 is not after start, 5",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_case_is_told_with_file_line_and_field(
    change: Callable[[Case], None], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = next(case for case in cases("plan-conservative") if case["running"])
    bad = copy.deepcopy(good)
    change(bad)
    path = folder(tmp_path, "plan-bad", good, bad)
    assert main(["conformance", "--slurm", path, "--jobs", "1"]) == 1
    error = capsys.readouterr().err
    assert "plan-bad.jsonl, line 2" in error
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("plan-x.jsonl", b"{", "plan-x.jsonl, line 1"),
        ("plan-x.jsonl", b"\xff\xfe", "plan-x.jsonl, line 1"),
        ("plan-x.jsonl", b"[" * 5000, "nested more than 100 deep"),
        ("plan-x.jsonl.gz", b"\x1f\x8bnothing", "is not a complete gzip file"),
        ("plan-x.jsonl", b"\n", "has no cases"),
        ("other.jsonl", b"{}", "holds nothing that was recorded from Slurm"),
    ],
)
def test_a_bad_file_is_told(
    name: str, data: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    assert main(["conformance", "--slurm", str(tmp_path), "--jobs", "1"]) == 1
    assert message in capsys.readouterr().err


def test_the_folder_stands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--slurm", str(SAMPLE), "--case", "x"]) == 2
    assert "--slurm DIR alone" in capsys.readouterr().err
    assert main(["conformance", "--slurm", "nowhere"]) == 2


def share_rows(case: Case) -> list[Case]:
    rows: list[Case] = case["rows"]
    return rows


def other_factor(file: list[Case]) -> None:
    row = next(row for row in share_rows(file[0]) if row["user"] is not None)
    row["fairshare"] = row["fairshare"] / 2


def other_level(file: list[Case]) -> None:
    row = next(row for row in share_rows(file[-1]) if isinstance(row["level_fs"], float))
    row["level_fs"] *= 1.01


def other_decay(file: list[Case]) -> None:
    for row in share_rows(file[-1]):
        row["raw_usage"] = int(row["raw_usage"] * 1.01)


def other_priority(file: list[Case]) -> None:
    file[0]["jobs"][0]["priority"] += 1


def other_queue(file: list[Case]) -> None:
    file[0]["jobs"][0]["factors"]["partition"] /= 2


@pytest.mark.parametrize(
    ("file", "change", "check"),
    [
        ("fairshare", other_factor, "factor ± 1e-6"),
        ("fairshare", other_level, "level ± 0.1 %"),
        ("fairshare-decay", other_decay, "decay while nobody used anything ± 0.1 %"),
        ("priority", other_priority, "priority, exactly"),
        ("priority", other_queue, "factors of size, queue and class"),
    ],
)
def test_what_differs_in_shares_and_priorities_is_found(
    file: str,
    change: Callable[[list[Case]], None],
    check: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changed = cases(file)
    change(changed)
    code, document = answer(capsys, folder(tmp_path, file, *changed))
    assert (code, failing(document)) == (3, {check})


def test_accounts_that_only_rounding_tells_apart_may_come_in_either_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def row(depth: int, account: str, user: str | None, usage: int, level: float, factor: float | None) -> Case:
        shares = {"x": 3, "y": 6}.get(account, 1) if user is None else 1
        names = {"depth": depth, "account": account, "user": user, "shares": shares if depth else None}
        return names | {"raw_usage": usage, "level_fs": level if depth else None, "fairshare": factor}

    def tree(*factors: float) -> Case:
        rows = [
            row(0, "root", None, 90, 1.0, None),
            row(1, "x", None, 30, 1.0, None),
            row(2, "x", "a", 10, 1.5, factors[0]),
            row(2, "x", "b", 20, 0.75, factors[1]),
            row(1, "y", None, 60, 1.0, None),
            row(2, "y", "c", 24, 1.25, factors[2]),
            row(2, "y", "d", 36, 0.833333, factors[3]),
        ]
        return {"id": f"tie-{factors}", "rows": rows}

    together, x_first, y_first = (1.0, 0.25, 0.75, 0.5), (1.0, 0.75, 0.5, 0.25), (0.5, 0.25, 1.0, 0.75)
    for factors in (together, x_first, y_first):
        path = folder(tmp_path, "fairshare", {**tree(*factors), "float_tie": True})
        assert answer(capsys, path)[0] == 0
    path = folder(tmp_path, "fairshare", {**tree(1.0, 0.5, 0.75, 0.25), "float_tie": True})
    assert answer(capsys, path)[0] == 3
    assert answer(capsys, folder(tmp_path, "fairshare", tree(*together)))[0] == 0
    assert answer(capsys, folder(tmp_path, "fairshare", tree(*x_first)))[0] == 3


BAD_OTHERS = [
    ("fairshare", assigned("rows.0.depth", 1), "rows[0].depth: the first row is the root"),
    ("fairshare", assigned("rows.2.depth", 9), "rows[2].depth: 9 does not follow on 1"),
    ("fairshare", assigned("rows.1.shares", "all"), "$.rows[1].shares"),
    ("fairshare", assigned("rows", []), "rows: there are none"),
    ("priority", assigned("cluster.nodes", 0), "$.cluster.nodes"),
    ("priority", assigned("jobs.0.factors.age", 1.5), "$.jobs[0].factors.age"),
    ("priority", without("weights.qos"), "missing required field `qos`"),
]


@pytest.mark.parametrize(("file", "change", "message"), BAD_OTHERS, ids=[message for _, _, message in BAD_OTHERS])
def test_bad_shares_and_priorities_are_told_with_file_line_and_field(
    file: str, change: Callable[[Case], None], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = cases(file)[0], cases(file)[0]
    change(bad)
    assert main(["conformance", "--slurm", folder(tmp_path, file, good, bad), "--jobs", "1"]) == 1
    error = capsys.readouterr().err
    assert f"{file}.jsonl, line 2" in error
    assert message in error

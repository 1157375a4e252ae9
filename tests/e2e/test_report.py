"""The specs' results are read, set side by side and judged: nothing is built or run here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.report import Comparison, Result, ResultError, Results, read_results

PREEMPTION = "[sig-scheduling] SchedulerPreemption [Serial] validates basic preemption works [Conformance]"
WORKLOAD = "[sig-scheduling] Workload [FeatureGate:GenericWorkload] Workload API availability"
DEPLOYMENT = "[sig-apps] Deployment should run the lifecycle of a Deployment [Conformance]"
TAINTS = "[sig-node] NoExecuteTaintManager Single Pod [Serial] evicts pods from tainted nodes"
FILES = {"sig-scheduling": "scheduling/preemption.go", "sig-apps": "apps/deployment.go", "sig-node": "node/taints.go"}


def line(name: str, state: str = "passed", message: str = "", seconds: float = 60.0) -> str:
    sig = name[1:].partition("]")[0]
    file = f"k8s.io/kubernetes@v1.36.4/test/e2e/{FILES[sig]}"
    return json.dumps({"name": name, "file": file, "state": state, "seconds": seconds, "message": message})


def results(path: Path, *lines: str, planned: int | None = None) -> Results:
    """As the test program would have written them."""
    plan = json.dumps({"specs": len(lines) if planned is None else planned})
    path.write_text("".join(f"{each}\n" for each in (plan, *lines)))
    return read_results(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def compare(file: Path, reference: list[str], ours: list[str], planned: int | None = None) -> Comparison:
    return Comparison(
        {
            "kube-scheduler": results(file, *reference),
            "fairway": results(file, *ours, planned=planned),
        }
    )


@pytest.mark.parametrize(
    ("state", "read"),
    [
        ("passed", "passed"),
        ("failed", "failed"),
        ("panicked", "failed"),
        ("timedout", "failed"),
        ("interrupted", "failed"),
        ("aborted", "failed"),
        ("skipped", "skipped"),
        ("pending", "skipped"),
    ],
)
def test_states(file: Path, state: str, read: str) -> None:
    found = results(file, line(TAINTS, state, "waited\nin vain", 1.5))
    assert found == Results(1, {TAINTS: Result(TAINTS, "node", read, 1.5, "waited\nin vain")})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "no reason given"),
        ("\n  timed out  \nwhile waiting", "timed out"),
        (
            "Expected\n    <string>: node-1\nto equal\n    <string>: node-2",
            "Expected <string>: node-1 to equal <string>: node-2",
        ),
        (f"Expected\n    {'x ' * 200}", f"Expected {'x ' * 53}x ..."),
    ],
    ids=["nothing", "a line", "an assertion", "a long one"],
)
def test_reason(message: str, reason: str) -> None:
    assert Result(TAINTS, "node", "failed", 1.0, message).reason == reason


def test_suites_of_one_run_add_up(file: Path) -> None:
    parts = [json.dumps({"specs": 1}), line(PREEMPTION), json.dumps({"specs": 2}), line(DEPLOYMENT)]
    file.write_text("".join(f"{part}\n" for part in parts))
    found = read_results(file)
    assert found.planned == 3
    assert not found.is_complete
    assert list(found.specs) == [PREEMPTION, DEPLOYMENT]


def test_a_run_that_has_not_begun_has_no_results(file: Path) -> None:
    assert read_results(file) == Results(0, {})


def test_a_spec_ends_once(file: Path) -> None:
    with pytest.raises(ResultError, match=r"line 3: .* has ended before"):
        results(file, PASSED, FAILED)


def test_a_line_that_is_being_written_is_left_for_later(file: Path) -> None:
    text = json.dumps({"specs": 2}) + "\n" + line(PREEMPTION) + "\n" + line(DEPLOYMENT)
    file.write_text(text)
    assert list(read_results(file).specs) == [PREEMPTION]
    file.write_text(text + "\n")
    assert list(read_results(file).specs) == [PREEMPTION, DEPLOYMENT]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "JSONDecodeError"),
        ('{"name": "x"}', "KeyError"),
        (json.dumps({"name": "x", "file": "elsewhere/x.go", "state": "passed", "seconds": 1}), "none of the suites"),
        (line(PREEMPTION).replace("60.0", '"long"'), "no number"),
    ],
    ids=["no JSON", "no state", "another suite", "no time"],
)
def test_a_file_that_is_no_results_is_named(file: Path, text: str, why: str) -> None:
    file.write_text(f'{{"specs": 1}}\n{text}\n')
    with pytest.raises(ResultError, match="line 2") as error:
        read_results(file)
    assert str(file) in str(error.value)
    assert why in str(error.value)


PASSED, FAILED, SKIPPED = (line(PREEMPTION, state) for state in ("passed", "failed", "skipped"))


@pytest.mark.parametrize(
    ("reference", "ours", "exit_code"),
    [
        ([PASSED], [PASSED], 0),
        ([PASSED, line(WORKLOAD, "failed")], [PASSED, line(WORKLOAD, "failed")], 0),
        ([PASSED, line(WORKLOAD, "failed")], [PASSED, line(WORKLOAD)], 0),
        ([PASSED, line(TAINTS, "skipped")], [PASSED, line(TAINTS, "failed")], 0),
        ([PASSED], [FAILED], 3),
        ([PASSED], [SKIPPED], 3),
        ([PASSED, line(DEPLOYMENT)], [PASSED], 3),
        ([FAILED], [FAILED], 1),
        ([], [], 1),
    ],
    ids=[
        "both pass",
        "both fail one",
        "only Fairway passes one",
        "kube-scheduler skips what Fairway fails",
        "only kube-scheduler passes one",
        "Fairway skips what kube-scheduler passes",
        "Fairway has not run what kube-scheduler passes",
        "kube-scheduler passes nothing",
        "nothing was run",
    ],
)
def test_exit_code(file: Path, reference: list[str], ours: list[str], exit_code: int) -> None:
    assert compare(file, reference, ours).exit_code() == exit_code


def test_a_run_that_was_broken_off_gives_no_verdict(file: Path) -> None:
    broken_off = compare(file, [PASSED], [PASSED], planned=2)
    assert broken_off.exit_code() == 1
    assert str(broken_off).endswith("fairway has been through 1 of 2 specs: no verdict.")


def test_a_failure_counts_even_in_a_run_that_was_broken_off(file: Path) -> None:
    assert compare(file, [PASSED], [FAILED], planned=2).exit_code() == 3


def test_table(file: Path) -> None:
    alpha = line(WORKLOAD, "failed", "\nthe server could not find the requested resource\nIn [It] at: workload.go:48\n")
    late = line(DEPLOYMENT, "timedout", "timed out waiting for the condition")
    comparison = compare(
        file,
        [PASSED, alpha, line(DEPLOYMENT), line(TAINTS)],
        [PASSED, alpha, late, line(TAINTS, "skipped", "no taints")],
    )
    assert str(comparison) == (
        """\
                  kube-scheduler                    fairway
suite          passed   failed  skipped      passed   failed  skipped
scheduling          1        1        0           1        1        0
apps                1        0        0           0        1        0
node                1        0        0           0        0        1
all                 3        1        0           1        2        1
minutes                             4.0                           4.0

different (2):
  [sig-apps] Deployment should run the lifecycle of a Deployment [Conformance]
      kube-scheduler: passed, fairway: failed
      fairway: timed out waiting for the condition
  [sig-node] NoExecuteTaintManager Single Pod [Serial] evicts pods from tainted nodes
      kube-scheduler: passed, fairway: skipped

failed with both (1):
  [sig-scheduling] Workload [FeatureGate:GenericWorkload] Workload API availability
      the server could not find the requested resource

fairway fails 2 of the specs that kube-scheduler passes."""
    )


def test_table_of_one_suite_without_a_difference(file: Path) -> None:
    assert str(compare(file, [PASSED], [PASSED])) == (
        """\
                  kube-scheduler                    fairway
suite          passed   failed  skipped      passed   failed  skipped
scheduling          1        0        0           1        0        0
all                 1        0        0           1        0        0
minutes                             1.0                           1.0

fairway passes every spec that kube-scheduler passes."""
    )

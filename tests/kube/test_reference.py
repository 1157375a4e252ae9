"""kube-scheduler's own code, asked anew, says what was recorded; so what it says of new cases can be believed."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import msgspec
import pytest

from fairway.bench.workloads import make_workload
from fairway.conformance.corpus import CaseLine, raw_case, read_lines
from fairway.conformance.corpus_run import check_line
from tests.kube.reference import CORPUS, disagreements, main, relabelled, time_reference
from tests.kube.workloads import case_of

pytestmark = pytest.mark.slow
CASES_OF_EACH_FOCUS = 6


@pytest.fixture(scope="module")
def sample() -> list[CaseLine]:
    """The smallest cases of every focus."""
    files = groupby(read_lines([CORPUS]), key=lambda line: line.file)
    return [line for _, lines in files for line in sorted(lines, key=lambda line: len(line.data))[:CASES_OF_EACH_FOCUS]]


@pytest.fixture(scope="module")
def fresh(sample: list[CaseLine]) -> list[bytes]:
    return relabelled(sample)


def test_the_reference_decides_as_was_recorded(sample: list[CaseLine], fresh: list[bytes]) -> None:
    assert len(fresh) > 15 * CASES_OF_EACH_FOCUS
    found = [each for line, again in zip(sample, fresh, strict=True) for each in disagreements(line, again)]
    assert found == []


def test_fairway_decides_as_the_reference_does(sample: list[CaseLine], fresh: list[bytes]) -> None:
    results = [check_line(CaseLine("reference", line.line, again)) for line, again in zip(sample, fresh, strict=True)]
    assert sum(result.num_pods for result in results) > 0
    assert [result for result in results if result.mismatches] == []


def test_a_record_that_is_wrong_is_found(sample: list[CaseLine], fresh: list[bytes]) -> None:
    line, again = next(
        (line, again)
        for line, again in zip(sample, fresh, strict=True)
        if raw_case(line).expect[0]["result"] == "scheduled"
    )
    case = msgspec.json.decode(line.data)
    case["expect"][0]["node"] = "elsewhere"
    wrong = line._replace(data=msgspec.json.encode(case))
    assert [difference.field for each in disagreements(wrong, again) for difference in each.differences] == ["node"]


def test_cases_without_decisions_are_labelled(tmp_path: Path) -> None:
    case = case_of("new", make_workload(20, 30, "mixed", num_newcomers=0))
    (tmp_path / "new.jsonl").write_bytes(case)
    assert main([str(tmp_path / "new.jsonl"), "--write", str(tmp_path / "labelled")]) == 0
    (labelled,) = read_lines([tmp_path / "labelled"])
    result = check_line(labelled)
    assert (result.num_pods, result.mismatches) == (30, [])


@pytest.mark.parametrize("percentage", [100, 0], ids=["all nodes", "default sampling"])
def test_the_loop_is_timed(percentage: int) -> None:
    figures = time_reference(case_of("plain", make_workload(200, 50, "plain", num_newcomers=0)), percentage)
    assert (figures["pods"], figures["scheduled"], figures["failed"]) == (50, 50, 0)
    assert figures["podsPerSecond"] > 0
    assert figures["evaluatedMean"] == (200 if percentage == 100 else 100)

"""The fuzzer: a seed makes the same cases again, fresh ones come out alike, a difference is found and made small."""

from __future__ import annotations

import random  # noqa: TID251 - any seed will do: it is printed, and whoever has it makes the same cases again
from collections.abc import Iterator

import msgspec
import pytest

from tests.fuzz.campaign import CHUNK, Job, run_chunk
from tests.fuzz.cases import KINDS, make_case
from tests.fuzz.compare import compare
from tests.fuzz.draw import Json
from tests.fuzz.oracle import Oracle
from tests.fuzz.shrink import shrink

SEED = random.SystemRandom().randrange(2**32)
CHUNKS = 6


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as found:
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_makes_the_same_case_again(kind: str) -> None:
    assert make_case(7, 3, kind) == make_case(7, 3, kind)
    assert make_case(7, 3, kind) != make_case(7, 4, kind)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_fresh_cases_come_out_alike(chunk: int) -> None:
    found = run_chunk(Job(SEED, chunk * CHUNK, CHUNK, tuple(KINDS)))
    again = f"make fuzz SEED={SEED} CASES={CHUNKS * CHUNK}"
    assert [(finding.pod, finding.differences) for _, finding in found.findings] == [], again
    assert found.counted > CHUNK / 2, (again, found.refused)  # by chance one in eight is no valid pod


def test_what_an_api_server_would_not_take_does_not_count(oracle: Oracle) -> None:
    case = _case(oracle)
    case["pods"][0]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "-1"}}
    assert "must be greater than or equal to 0" in oracle.ask(case).refused
    del case["pods"][0]["spec"]["containers"]
    assert "spec.containers: Required value" in oracle.ask(case).refused


def test_a_difference_is_found(oracle: Oracle) -> None:
    line = oracle.ask(_case(oracle)).line
    assert compare(line) is None
    labelled = msgspec.json.decode(line)
    labelled["expect"][0]["message"] = "something else"
    finding = compare(msgspec.json.encode(labelled))
    assert finding is not None
    assert finding.fields == {"message"}


def test_shrinking_keeps_what_matters(oracle: Oracle) -> None:
    """Requests beyond 64 bits are refused here on purpose, so there is always something to find."""
    case = _case(oracle)
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "100E"}}}
    case["pods"][0]["spec"] = {"containers": [container]}
    answer = oracle.ask(case)
    assert not answer.refused
    finding = compare(answer.line)
    assert finding is not None
    line, smaller = shrink(answer.line, finding, oracle, attempts=80)
    assert smaller.fields & finding.fields
    assert compare(line) == smaller
    assert 2 * len(line) < len(answer.line)


def _case(oracle: Oracle) -> Json:
    """One that counts."""
    cases = (make_case(1, number, "resources") for number in range(100))
    return next(case for case in cases if not oracle.ask(case).refused)

"""What `make chaos` prints and reads is true: the table, the words, and the audit log that bindings are read from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.__main__ import main
from tests.chaos.history import accepted_bindings
from tests.chaos.pod_state import Binding
from tests.chaos.report import table, words
from tests.chaos.trial import Verdict


def test_the_table_shows_what_holds_what_does_not_and_what_was_not_judged() -> None:
    verdict = Verdict("kind", 7, {"pods": 50, "kills": 3}, unjudged={"memory"}, seconds=61.4)
    assert verdict.is_clean
    verdict.violations["cache"] += ["a", "b"]
    assert not verdict.is_clean
    assert table([verdict]).splitlines() == [
        "kind  bound once  within room  none forgotten  cache       memory  alive  seconds  seed  what was done",
        "kind  ok          ok           ok              VIOLATED 2  -       ok     61       7     50 pods, 3 kills",
    ]
    assert words([verdict]).splitlines() == ["kind, cache: a", "kind, cache: b"]


def test_only_some_of_many_violations_are_printed() -> None:
    verdict = Verdict("sigterm", 7)
    verdict.violations["cache"] += [f"number {number}" for number in range(25)]
    lines = words([verdict]).splitlines()
    assert (len(lines), lines[-1]) == (11, "sigterm, cache: and 15 more")


@pytest.mark.parametrize("arguments", [["--kind", "rain"], ["--pods", "3"], ["--keep", "."]], ids=" ".join)
def test_wrong_arguments_are_refused_before_anything_starts(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_accepted_bindings_are_read_from_an_offset_on(tmp_path: Path) -> None:
    def record(name: str, code: int, **metadata: str) -> dict[str, Any]:
        return {
            "stage": "ResponseComplete",
            "objectRef": {"namespace": "ns", "name": name, "subresource": "binding"},
            "responseStatus": {"code": code},
            "requestObject": {"metadata": metadata, "target": {"name": "n1"}},
        }

    other = {"stage": "ResponseComplete", "objectRef": {"name": "p"}, "responseStatus": {"code": 201}}
    log = tmp_path / "audit.jsonl"
    assert accepted_bindings(log) == []
    lines = [record("before", 201, uid="0"), record("a", 201, uid="1"), record("b", 409, uid="2"), other]
    lines.append(record("c", 201))
    texts = [json.dumps(line, separators=(",", ":")) + "\n" for line in lines]
    log.write_text("".join(texts))
    assert accepted_bindings(log, len(texts[0])) == [Binding("ns/a", "1", "n1"), Binding("ns/c", "", "n1")]

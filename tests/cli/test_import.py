"""`fairway import`: logs of the sniffer as runs."""

import csv
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.record import Run
from fairway.stream.message import line_of
from tests.cli.trial_files import Folder
from tests.stream.test_sniffed_run import LIFE, first_form, rows

LOG = "\n".join([*(line_of(message) for message in LIFE), "nonsense", *(first_form(message) for message in LIFE)])
SUMMARY = "9 lines, 1 pod, 1 node, 3.0 s · 1 interval, 0 open at the end · 0 pods never bound · 1 line skipped\n"


@pytest.mark.parametrize("form", ["plain", "gzip"])
def test_a_log_becomes_a_run_that_commands_read(folder: Folder, form: str) -> None:
    log, run = folder.path / "sniffer.log", str(folder.path / "run.duckdb")
    log.write_bytes(LOG.encode() if form == "plain" else gzip.compress(LOG.encode()))
    printed = folder.run("import", str(log), run, "--pod-requests", "cpu=1,memory=1Gi", "--namespace", "lab")
    assert (printed.code, printed.out) == (0, SUMMARY)
    assert f"note: {log}:5: is no JSON\n" in printed.err
    status = folder.run("status", "--run", run, "--at", "2s", "-o", "json")
    assert status.code == 0
    with Run.open(run) as opened:
        assert rows(opened, "occupancy", "pod", "cpu_milli", "from_seconds") == [("lab/a", 1000, 1.0)]
    for target in ("tables/", "trace.json"):
        assert folder.run("export", run, str(folder.path / target)).code == 0
    assert folder.run("why", "lab/a", "--run", run).code in (0, 1, 3)


def test_its_occupancy_shows_like_any_other_runs(folder: Folder) -> None:
    log, run = folder.path / "sniffer.log", str(folder.path / "run.duckdb")
    log.write_text(LOG)
    assert folder.run("import", str(log), run, "--pod-requests", "cpu=1,memory=1Gi").code == 0
    at = {moment: folder.run("status", "--run", run, "--at", moment, "--nodes") for moment in ("0.5s", "2s", "3s")}
    assert [re.search(r"n1 +Ready +(\d) of", printed.out)[1] for printed in at.values()] == ["0", "1", "0"]  # type: ignore[index]
    assert folder.run("export", run, str(folder.path / "held.csv"), "--table", "occupancy").code == 0
    header, row = csv.reader((folder.path / "held.csv").read_text().splitlines())
    held = dict(zip(header, row, strict=True))
    assert [held[name] for name in ("pod", "node", "from_seconds", "to_seconds", "reason", "cpu_milli")] == [
        "default/a", "n1", "1.0", "3.0", "Deleted", "1000"
    ]  # fmt: skip
    assert folder.run("export", run, str(folder.path / "trace.json")).code == 0
    slices = json.loads((folder.path / "trace.json").read_text())["traceEvents"]
    assert any(one.get("ph") == "X" and one["name"] == "default/a" and one["dur"] == 2e6 for one in slices)
    page = folder.path / "page.html"
    printed = folder.run("compare", run, "--html", str(page))
    assert printed.code == 0, printed.err
    assert "pods placed" in printed.out
    assert "<svg" in page.read_text()


def test_status_proposes_only_what_can_be_answered(folder: Folder) -> None:
    """Messages do not tell how schedulers were configured, so `why` has no answer; nor how much a node has."""
    log, run = folder.path / "sniffer.log", str(folder.path / "run.duckdb")
    chosen = LIFE[0]._replace(name="never-bound")
    log.write_text("\n".join(map(line_of, (chosen, *LIFE[:2]))))
    assert folder.run("import", str(log), run).code == 0
    status = folder.run("status", "--run", run)
    assert status.code == 0
    assert "default/never-bound" in status.out
    assert re.search(r"pods +1 +\? +\? +\?$", status.out, re.MULTILINE), status.out
    assert "fairway why" not in status.err
    by_node = folder.run("status", "--run", run, "--nodes")
    assert re.search(r"^n1 +Ready +1 of \?$", by_node.out, re.MULTILINE), by_node.out


def test_from_a_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fairway", "import", "-", str(tmp_path / "run.duckdb")]
    for text in (LOG.encode(), gzip.compress(LOG.encode())):
        done = subprocess.run(command, input=text, capture_output=True, check=True)
        assert done.stdout.decode() == SUMMARY
        assert b"note: standard input:5: is no JSON" in done.stderr


MISTAKES = {
    "no file": (("none.log", "run.duckdb"), 1, "none.log: cannot be read: No such file or directory"),
    "no message": (("{empty}", "run.duckdb"), 1, "is empty; a message is"),
    "a run that is none": (("{log}", "{log}"), 1, "is there already, and no run that could be replaced"),
    "no directory": (("{log}", "no/such/run.duckdb"), 1, "RUN no/such/run.duckdb: there is no directory no/such"),
    "requests": (("{log}", "run.duckdb", "--pod-requests", "cpu"), 2, "'cpu' is not RESOURCE=AMOUNT"),
    "namespace": (("{log}", "run.duckdb", "--namespace", "No"), 2, "'No' must be lower case letters"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(folder: Folder, arguments: tuple[str, ...], code: int, words: str) -> None:
    files = {"log": folder.write("sniffer.log", LOG), "empty": folder.write("empty.log", "")}
    printed = folder.run("import", *(one.format(**files) for one in arguments))
    assert printed.code == code
    assert words in printed.err

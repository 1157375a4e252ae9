"""`fairway watch` and `fairway sim --stream`: what a reader sees and keeps of a simulation, and what can go wrong."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairway.cli.stream.watch_lines import line_of
from fairway.stream.told import Attempt, Event, JobAttempt, JobRef, PodRef, Told
from tests.cli.test_sniff import FAIRWAY, tables_of
from tests.cli.trial_files import Folder


@contextmanager
def simulation(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """One that waits for its first reader, and where."""
    scenario = Path(__file__).parents[2] / "examples" / "scenarios" / "day.yaml"
    process = subprocess.Popen(
        [*FAIRWAY, "sim", str(scenario), "--nodes", "20", "--until", "30m", *arguments, "--stream", "127.0.0.1:0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        match = next(filter(None, (re.match(r"streaming on (\S+);", line) for line in process.stderr)))
        yield process, match[1]
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_simulation_is_followed_to_its_end_and_kept(tmp_path: Path) -> None:
    saved, watched = tmp_path / "saved.duckdb", tmp_path / "watched.duckdb"
    with simulation(tmp_path, "--save", str(saved)) as (_, address):
        watch = [*FAIRWAY, "watch", address, "--save", str(watched)]
        done = subprocess.run(watch, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    there, here = tables_of(saved), tables_of(watched)
    for table in ("occupancy", "decisions", "filter_counts", "preemptions", "queue_moves"):
        assert here[table] == there[table], table
    assert len(there["occupancy"]) > 10
    for one in (*there["pods"], *here["pods"]):
        del one["template_id"]  # manifests are not told
        one["annotations"] = json.loads(one["annotations"] or "{}")
    assert here["pods"] == there["pods"]
    assert re.search(r"^00:00:\S+  bound +\S+ on \S+: cpu ", done.stdout, re.MULTILINE)
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3}  [a-z]+ +\S", line) for line in done.stdout.splitlines())


def test_a_program_reads_documents(tmp_path: Path) -> None:
    with simulation(tmp_path) as (_, address):
        watch = [*FAIRWAY, "watch", address, "-o", "json", "--kind", "bound", "--kind", "unbound"]
        done = subprocess.run(watch, capture_output=True, text=True, check=True, timeout=120)
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert {document["kind"] for document in documents} == {"bound", "unbound"}
    sequences = [document["sequence"] for document in documents]
    assert sequences == sorted(set(sequences))
    first = documents[0]
    assert set(first["pod"]) == {"namespace", "name", "uid"}
    assert first["held"]["cpu"] > 0


TRAIN = JobRef("fairway.dev", "lab", "train")
LINES = {
    "a choice": (
        Attempt(PodRef("lab", "a", "1"), "s", 2, "scheduled", "n1", num_feasible=3),
        "attempt    lab/a → n1 (attempt 2, 3 nodes fitted)",
    ),
    "somebody else's choice": (
        Attempt(PodRef("lab", "a", "1"), "s", 1, "scheduled", "n1"),
        "attempt    lab/a → n1 (attempt 1)",
    ),
    "a job": (JobAttempt(TRAIN, "s", 1, "scheduled", 4, 4), "job        lab/train: 4 of 4 pods placed (attempt 1)"),
    "a job that waits": (
        JobAttempt(TRAIN, "s", 2, "unschedulable", 4, 3, message="3 of 4 members fit"),
        "job        lab/train unschedulable, attempt 2: 3 of 4 members fit",
    ),
}


@pytest.mark.parametrize(("what", "words"), LINES.values(), ids=LINES)
def test_a_line_says_what_is_known(what: Told, words: str) -> None:
    assert line_of(7, Event(61.5, what), "table") == f"00:01:01.500  {words}"


MISTAKES = {
    "nobody there": (("watch", "127.0.0.1:1"), 4, "127.0.0.1:1: UNAVAILABLE"),
    "no address": (("watch", "nowhere"), 2, "'nowhere' is not HOST:PORT"),
    "half a run": (("watch", "127.0.0.1:1", "--save", "x.duckdb", "--kind", "bound"), 2, "--save keeps a whole run"),
    "two trusts": (
        ("watch", "127.0.0.1:1", "--certificate-authority", "a", "--certificate-fingerprint", "b"),
        2,
        "exclude each other",
    ),
    "nobody to trust": (
        ("watch", "127.0.0.1:1", "--certificate-fingerprint", "b"),
        4,
        "127.0.0.1:1: Connection refused\n→ is it there?",
    ),
    "nothing to trust": (
        ("watch", "127.0.0.1:1", "--certificate-authority", "{day}"),
        2,
        "day.yaml holds no certificate\n→ it has to be PEM",
    ),
    "an open simulation": (("sim", "{day}", "--stream", "0.0.0.0:1"), 2, "a simulation knows nobody who could say"),
    "two simulations": (
        ("sim", "{day}", "--stream", "127.0.0.1:0", "--policy", "default", "--policy", "packed"),
        2,
        "--stream is for one simulation",
    ),
    "an extender": (("run", "--extender", ":8888", "--stream", "127.0.0.1:0"), 2, "are for a scheduler, not for"),
    "an extender's pages": (("run", "--extender", ":8888", "--web", ":8443"), 2, "are for a scheduler, not for"),
    "a history of nothing": (("run", "--web-history", "6h"), 2, "--web-history is for --web"),
    "a history of a moment": (("run", "--web", ":8443", "--web-history", "1s"), 2, "less than 10 s are of no use"),
    "nothing to do": (("record",), 2, "name the RUN to write, or who is told"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(folder: Folder, arguments: tuple[str, ...], code: int, words: str) -> None:
    day = Path(__file__).parents[2] / "examples" / "scenarios" / "day.yaml"
    printed = folder.run(*(one.format(day=day) for one in arguments))
    assert words in printed.err
    assert printed.code == code


def test_a_taken_address_is_told_in_our_words_alone(tmp_path: Path) -> None:
    """The library itself would write lines before them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        command = [*FAIRWAY, "sniff", "run.duckdb", "--listen", address]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert done.returncode == 1
    first, *others = done.stderr.splitlines()
    assert first.startswith(f"error: cannot listen on {address}: ")
    assert others == ["→ choose another --listen HOST:PORT"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("watch", "127.0.0.1:1"), 1, "fairway watch needs gRPC, which is not installed"),
        (("sniff", "run.duckdb"), 1, "fairway sniff needs gRPC, which is not installed"),
        (("run", "--sniffer", "127.0.0.1:1"), 1, "--sniffer needs gRPC, which is not installed"),
        (("record", "--stream", "127.0.0.1:1"), 1, "--stream needs gRPC, which is not installed"),
        (("sniff", "notify"), 0, "gRPC is not installed"),
    ],
)
def test_without_the_extra_commands_say_what_to_install(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    script = "import sys; sys.modules['grpc'] = None; from fairway.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert words in done.stderr
    assert "pip install 'fairway[stream]'" in done.stderr
    assert done.returncode == code


def test_logs_are_imported_without_the_extra(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"object":"Pod","name":"a","node":"n","event":"BindingSuccess"}\n')
    script = "import sys; sys.modules['grpc'] = None; from fairway.cli.main import main; sys.exit(main(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", script, "import", str(log), str(tmp_path / "run")], check=True)

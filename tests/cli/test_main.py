"""The front door: help, versions, and how failures are told."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

import fairway
from fairway.cli.main import COMMANDS, CommandError, main

POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{"containers":[]}}'


def run(*args: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "fairway", *args]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_help_opens_with_examples_and_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.lstrip().startswith("Examples:\n")
    assert shown.index("Usage:") > shown.index("fairway try")
    for name, entry in COMMANDS.items():
        assert f"  {name} " in shown
        assert entry.summary in shown


def test_without_arguments_it_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    helped = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr().out == helped


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_opens_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.lstrip().startswith("Examples:\n")
    assert f"fairway {command} " in shown


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bench", "--help"], ["conformance", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = f"import sys; from fairway.cli.main import main; main({arguments!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"numpy", "msgspec", "yaml", "rich", "fairway.cluster"}.isdisjoint(done.stderr.split())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fairway {fairway.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "first", "last"),
    [
        pytest.param(["frobnicate"], 2, "No such command 'frobnicate'.", "fairway --help", id="no such command"),
        pytest.param(["bench", "--speed"], 2, "No such option", "fairway bench --help", id="no such option"),
        pytest.param(
            ["bench", "--mix", "soup"],
            2,
            "Invalid value for '--mix': 'soup' is not one of",
            "fairway bench --help",
            id="not a choice",
        ),
        pytest.param(
            ["conformance", "nowhere.jsonl"],
            2,
            "Invalid value for '[CORPUS]...': Path 'nowhere.jsonl' does not exist.",
            "fairway conformance --help",
            id="no such file",
        ),
    ],
)
def test_usage_errors_say_what_and_where_to_look(
    arguments: list[str], code: int, first: str, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert lines[0].startswith(f"error: {first}")
    assert lines[1].startswith("usage: fairway")
    assert lines[-1] == f"→ {last}"
    assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        pytest.param("{", "line 1: is not a case of a corpus", "correct the input", id="malformed"),
        pytest.param(
            '{"name": "c", "objects": [], "pods": [' + POD.replace("[]", '[{"name": 1}]') + "]}",
            "line 1, pods[0]: Pod d/p: spec.containers[0].name: expected text, found 1",
            "`kubectl explain pod.spec` says what is allowed",
            id="a field of the wrong type",
        ),
        pytest.param(
            '{"name": "c", "objects": [], "pods": [' + POD + '], "config": {"kind": "Soup"}, "expect": [{}]}',
            "line 1, config: apiVersion: missing",
            "correct the fields named above",
            id="a configuration that is none",
        ),
    ],
)
def test_bad_input_is_named_to_the_field(
    text: str, words: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    assert main(["conformance", str(file), "--jobs", "1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}, {words}")
    assert hint in error.splitlines()[-1]


@pytest.mark.parametrize(
    ("failure", "code", "error"),
    [
        (
            ZeroDivisionError("division by zero"),
            1,
            "error: something unexpected: ZeroDivisionError: division by zero\n"
            "→ this is a bug in Fairway or in a plugin; FAIRWAY_DEBUG=1 shows where it happened\n",
        ),
        (
            PermissionError(13, "Permission denied", "secret.yaml"),
            1,
            "error: secret.yaml: Permission denied\n→ check the path and its permissions\n",
        ),
        (
            OSError(28, "No space left on device"),
            1,
            "error: cannot read or write: No space left on device\n→ make room, or name another place\n",
        ),
        (KeyboardInterrupt(), 130, "\n"),
        (click.Abort(), 1, ""),
        (CommandError("it does not fit", "try less", 3), 3, "error: it does not fit\n→ try less\n"),
    ],
)
def test_failures_become_words_and_exit_codes(
    failure: BaseException, code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command
    def command() -> None:
        raise failure

    assert main([], command) == code
    assert capsys.readouterr().err == error


def test_debugging_shows_the_traceback(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{")
    told = run("conformance", str(bad), FAIRWAY_DEBUG="0")
    shown = run("conformance", str(bad), FAIRWAY_DEBUG="1")
    assert told.returncode == shown.returncode == 1
    assert "Traceback" not in told.stderr
    assert "Traceback" in shown.stderr


def test_an_interrupt_is_quiet_and_exits_with_130(tmp_path: Path) -> None:
    pipe = tmp_path / "endless.jsonl"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "fairway", "conformance", str(pipe)]
    # Opening the pipe returns once the command has opened the other end.
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == ""


def test_nobody_reading_is_no_reason_to_complain() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "fairway", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141  # as of a program that the signal ends, which is no failure


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "csv", "name"])
def test_a_pipe_that_is_closed_on_the_way_is_no_failure(tmp_path: Path, output: str) -> None:
    nodes = "---\n".join(
        f'{{apiVersion: v1, kind: Node, metadata: {{name: "n{number}", labels: {{a: "{"x" * 60}"}}}}}}\n'
        for number in range(3_000)
    )
    (tmp_path / "nodes.yaml").write_text(nodes)
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: {b: c}, containers: [{name: c}]}}\n"
    (tmp_path / "pod.yaml").write_text(pod)
    command = [sys.executable, "-m", "fairway", "why", "p", "-f", "pod.yaml", "--cluster", "nodes.yaml", "--all-nodes"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*command, "-o", output], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        error = process.stderr.read()
        process.wait(timeout=60)
    assert (process.returncode, error) == (141, b"")

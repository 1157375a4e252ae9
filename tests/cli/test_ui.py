"""`fairway ui`: a real server, asked by the URL that it prints."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import duckdb
import pytest

from tests.cli.test_watch import simulation
from tests.cli.trial_files import Folder
from tests.explain.run_files import busy_run
from tests.kube.processes import wait_until

FAIRWAY = (sys.executable, "-m", "fairway")
HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


class Shown(NamedTuple):
    """A command that runs, and the line that it printed."""

    process: subprocess.Popen[str]
    url: str

    def ask(self, path: str) -> tuple[int, Any]:
        """A question with the token of the URL."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=60)
        try:
            token = parts.fragment.removeprefix("token=")
            connection.request("GET", f"/fairway/api/v1{path}", headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@contextmanager
def shown(*arguments: str, environment: dict[str, str] | None = None) -> Iterator[Shown]:
    process = subprocess.Popen(
        [*FAIRWAY, "ui", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield Shown(process, process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_line_is_printed_and_the_runs_are_served_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "other").mkdir()
    cut = Path(busy_run(tmp_path / "other")).rename(tmp_path / "cut.duckdb.partial")
    with shown(busy_run(tmp_path), str(cut)) as page:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/fairway/ui/#token=[\w-]{43}", page.url)
        status, runs = page.ask("/runs")
        assert status == 200
        assert [(run["id"], run["state"]) for run in runs["runs"]] == [("busy", "complete"), ("cut", "partial")]
        assert page.ask("/runs/busy/why/default/never-huge-0")[0] == 200
        assert page._replace(url=page.url[:-1]).ask("/runs")[0] == 401
        page.process.send_signal(number)
        out, err = page.process.communicate(timeout=60)
    assert (page.process.returncode, out) == (0, "")
    assert err == "showing busy, cut; Ctrl-C ends it\n"


def test_a_port_that_was_asked_for_is_used_or_told_to_be_taken(tmp_path: Path, folder: Folder) -> None:
    path = busy_run(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = folder.run("ui", path, "--port", str(port))
        assert (code, out) == (1, "")
        assert f"error: cannot listen on port {port} of this machine: it is taken" in err
        assert "→ choose another --port" in err
    with shown(path, "--port", str(port)) as page:
        assert urlsplit(page.url).port == port


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "name a run, or a scheduler with --scheduler URL"),
        (("none.duckdb",), 1, "there is no run none.duckdb"),
        (("text.duckdb",), 1, "text.duckdb is no run"),
        (("newer.duckdb",), 1, "Update Fairway to read it"),
        (("none.duckdb",) * 9, 2, "at most 8 are shown"),
        (("busy.duckdb", "--port", "65536"), 2, "--port"),
    ],
    ids=["none", "missing", "no run", "newer", "nine", "port"],
)
def test_what_can_not_be_shown_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Folder, arguments: Sequence[str], code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    busy_run(tmp_path)
    (tmp_path / "text.duckdb").write_text("no run")
    (tmp_path / "new").mkdir()
    newer = Path(busy_run(tmp_path / "new")).rename(tmp_path / "newer.duckdb")
    with duckdb.connect(str(newer)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    found, out, err = folder.run("ui", *arguments)
    assert (found, out) == (code, "")
    assert words in err
    assert "→" in err or code == 2


def test_a_run_that_is_being_written_is_told(tmp_path: Path, folder: Folder) -> None:
    path = busy_run(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        code, _, err = folder.run("ui", path)
        writer.stdin.close()
    assert code == 1
    assert f"error: {path} is still being written" in err
    assert "--scheduler URL" in err


def test_a_browser_is_opened_without_the_token_among_its_arguments(tmp_path: Path) -> None:
    browser, told, done = tmp_path / "browser", tmp_path / "told", tmp_path / "done"
    browser.write_text(
        '#!/bin/sh\nfile="${1#file://}"\n'
        f'{{ echo "$1"; cat "$file"; echo; stat -c %a "$(dirname "$file")"; }} > {told}; touch {done}\n'
    )
    browser.chmod(0o755)
    with shown(busy_run(tmp_path), "--open", environment={"BROWSER": str(browser)}) as page:
        wait_until(done.exists, "the browser was opened")
        argument, content, mode = told.read_text().splitlines()
    assert "token" not in argument
    assert page.url in content
    assert mode == "700", "nobody else can read it"


# -- a scheduler at work -----------------------------------------------------------------------------------------------

NOBODY = ("--scheduler", "https://127.0.0.1:1")


def test_a_stream_is_followed_and_what_only_the_scheduler_knows_is_asked_of_it(tmp_path: Path) -> None:
    with (
        simulation(tmp_path) as (_, address),
        shown(*NOBODY, "--stream", address, "--history", "24h", environment={"KUBECONFIG": ""}) as page,
    ):
        wait_until(lambda: page.ask("/runs")[1]["runs"][0]["end"] >= 1700, "all was told")
        (run,) = page.ask("/runs")[1]["runs"]
        assert (run["id"], run["state"], run["nodes"]) == ("live", "live", 20)
        status, placed = page.ask("/runs/live/decisions?outcome=scheduled&limit=1")
        assert (status, placed["total"] > 10) == (200, True)
        pod = placed["columns"]["pod"][0]
        assert page.ask(f"/runs/live/pods/{pod}")[0] == 200
        status, answer = page.ask(f"/runs/live/why/{pod}")
        assert (status, answer["error"]["code"]) == (503, "no_answer")
        assert "the scheduler at https://127.0.0.1:1 can not be reached" in answer["error"]["message"]
        page.process.send_signal(signal.SIGINT)
        assert page.process.wait(60) == 0


def test_who_waits_for_a_stream_that_says_nothing_may_be_ended(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = subprocess.Popen(
            [*FAIRWAY, "ui", *NOBODY, "--stream", f"127.0.0.1:{silent.getsockname()[1]}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "KUBECONFIG": "", "HOME": str(tmp_path)},
        )  # fmt: skip
        try:
            silent.settimeout(60)
            with silent.accept()[0]:
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("busy.duckdb", *NOBODY), 2, "runs and --scheduler exclude each other"),
        (("busy.duckdb", "--history", "1h"), 2, "--history is about --scheduler"),
        (("busy.duckdb", "--stream-fingerprint", "ab"), 2, "--stream-fingerprint is about --scheduler"),
        ((*NOBODY, "--history", "1s"), 2, "--history"),
        (("--scheduler", "http://127.0.0.1:1"), 2, "could be read on the way"),
        ((*NOBODY, "--stream", "127.0.0.1:1"), 4, "127.0.0.1:1: UNAVAILABLE"),
        ((*NOBODY, "--stream", "127.0.0.1:1", "--stream-fingerprint", "ab"), 4, "Connection refused"),
        ((*NOBODY, "--kubeconfig", "none"), 4, "none"),
    ],
)
def test_a_scheduler_that_can_not_be_followed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Folder, arguments: Sequence[str], code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    found, out, err = folder.run("ui", *arguments)
    assert (found, out) == (code, ""), err
    assert words in err

"""`fairway sniff` and `fairway sniff notify`: a real service, told by real clients."""

import gzip
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from fairway.record import Run
from fairway.stream.calls import unary_call
from fairway.stream.go_time import parse_go_time
from fairway.stream.message import Message, read_line
from fairway.stream.sniffer_service import SEND
from fairway.stream.wire.sniffer_pb2 import SendRequest, SendResponse
from tests.cli.trial_files import Folder
from tests.kube.processes import wait_until
from tests.stream.test_sniffed import SHARED, real_log, step

FAIRWAY = (sys.executable, "-m", "fairway")


@contextmanager
def service(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service, and where it listens."""
    process = subprocess.Popen(
        [*FAIRWAY, "sniff", *arguments, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        match = re.match(r"listening on (\S+);", process.stderr.readline())
        assert match is not None
        yield process, match[1]
    finally:
        process.kill()
        process.communicate()


def send_all(address: str, messages: Sequence[Message]) -> None:
    with grpc.insecure_channel(address) as channel:
        send = unary_call(channel, SEND, SendResponse)
        for message in messages:
            request = SendRequest(
                endpoint=message.endpoint, pod=message.name, node=message.node, event=message.event,
                timestamp=message.timestamp,
            )  # fmt: skip
            send(request, timeout=30)


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    with Run.open(path) as run:
        return {name: list(table.rows()) for name, table in run.tables.items() if name != "meta"}


def check_same_run(folder: Path, messages: Sequence[Message], command: tuple[str, ...] = FAIRWAY) -> str:
    """The service's run is that of its log; returns what it said in the end."""
    told, log, imported = folder / "told.duckdb", folder / "sniffer.log", folder / "imported.duckdb"
    with service(str(told), "--log", str(log), "--pod-requests", "cpu=1") as (process, address):
        send_all(address, messages)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert [read_line(line)[0] for line in log.read_text().splitlines()] == list(messages)
    subprocess.run([*command, "import", str(log), str(imported), "--pod-requests", "cpu=1"], check=True)
    assert tables_of(told) == tables_of(imported)
    return out


def test_a_service_makes_the_run_that_its_log_makes(tmp_path: Path) -> None:
    events = ("ScheduleSuccess", "BindingSuccess", "postStart", "preStop", "checkpoint")
    messages = [
        step(event, place + number / 7, f"p{number}") for number in range(9) for place, event in enumerate(events)
    ]
    out = check_same_run(tmp_path, messages)
    assert out == (
        "45 messages, 9 pods, 1 node, 5.1 s · 9 intervals, 0 open at the end · 0 pods never bound · "
        "0 messages skipped\n"
    )


@real_log
def test_a_service_told_what_a_cluster_told(tmp_path: Path) -> None:
    with gzip.open(SHARED / "sniffer.log.gz", "rt") as lines:
        messages = [read_line(line)[0] for line in lines]
    check_same_run(
        tmp_path, [message for message in messages if message.object == "Pod" and " m=" in message.timestamp]
    )


def test_a_service_that_is_killed_leaves_a_run(tmp_path: Path) -> None:
    run = tmp_path / "run.duckdb"

    def num_pods() -> int:
        return len(tables_of(run)["pods"]) if run.exists() else 0

    with service(str(run)) as (process, address):
        for number in (1, 2):  # it grows
            send_all(address, [step("BindingSuccess", number, f"p{number}")])
            wait_until(lambda number=number: num_pods() == number, "the run has that pod")  # type: ignore[misc]
        process.kill()
    assert [row["pod"] for row in tables_of(run)["occupancy"]] == ["default/p1", "default/p2"]


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    log = tmp_path / "sniffer.log"
    for number in range(2):
        with service(str(tmp_path / "run.duckdb"), "--log", str(log)) as (process, address):
            send_all(address, [step("preStop", number)])
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            assert process.returncode == 0
    assert len(log.read_text().splitlines()) == 2


def test_mistakes_are_named(folder: Folder) -> None:
    run = str(folder.path / "run.duckdb")
    printed = folder.run("sniff", run, "--listen", "0.0.0.0:0")
    assert printed.code == 2
    assert "everybody who reaches that address could tell anything" in printed.err
    assert "--insecure" in printed.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        printed = folder.run("sniff", run, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert printed.code == 1
    assert "cannot listen on 127.0.0.1" in printed.err
    printed = folder.run("sniff", run, "--listen", "nowhere")
    assert printed.code == 2
    assert "'nowhere' is not HOST:PORT" in printed.err
    printed = folder.run("sniff", run, "--log", folder.write("diary.txt", "dear diary\n"))
    assert printed.code == 1
    assert "is there already, and no log of messages" in printed.err
    assert (folder.path / "diary.txt").read_text() == "dear diary\n"
    assert not (folder.path / "run.duckdb").exists()


# -- the notifier ------------------------------------------------------------------------------------------------------


def notify(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SNIFFER_")}
    return subprocess.run(
        [*FAIRWAY, "sniff", "notify", *arguments], env=kept | environment, check=False, capture_output=True, text=True
    )


def test_a_hook_tells_who_and_where_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with service(str(tmp_path / "run.duckdb"), "--log", str(log)) as (_, address):
        named = {"SNIFFER_POD_NAME": "web-1", "SNIFFER_NODE_NAME": "n1"}
        assert notify("--address", address, **named).returncode == 0
        assert notify("--address", address, "--stage", "postStart", "--event", "up", **named).returncode == 0
        assert notify("--address", address).returncode == 0
        told = [read_line(line)[0] for line in log.read_text().splitlines()]
    assert [(one.name, one.endpoint, one.event, one.node) for one in told] == [
        ("web-1", "preStop", "preStop", "n1"),
        ("web-1", "postStart", "up", "n1"),
        (socket.gethostname(), "preStop", "preStop", ""),
    ]
    assert all(parse_go_time(one.timestamp).is_exact for one in told)


@pytest.mark.parametrize(
    ("address", "words"), [("127.0.0.1:1", "UNAVAILABLE"), ("nonsense", "'nonsense' is not HOST:PORT")]
)
def test_a_hook_never_fails(address: str, words: str) -> None:
    done = notify("--address", address, SNIFFER_POD_NAME="web-1")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"note: the sniffer at {address} was not told of preStop: ")
    assert words in done.stderr

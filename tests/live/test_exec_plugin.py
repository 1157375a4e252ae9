"""Exec plugins, real ones, which hang, flood, lie and talk too much."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairway.live.api import exec_plugin
from fairway.live.api.exec_plugin import ExecCredential, run_plugin
from fairway.live.api.kubeconfig import read_context
from fairway.live.api.problems import BrokenKubeconfig
from tests.live.identities import EXEC_VERSION, credential, data, write_config, write_plugin

GOOD = credential(token="t0ken")
JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"


def ask(folder: Path, script: str, seconds: float = 60.0, **more: Any) -> ExecCredential:
    user = {"exec": {**write_plugin(folder / "plugin", script), **more}}
    path = write_config(folder / "config", "https://127.0.0.1:6443", {"certificate-authority-data": data(b"ca")}, user)
    return asyncio.run(run_plugin(read_context(str(path), None), seconds=seconds))


def complaint(folder: Path, script: str, seconds: float = 60.0, **more: Any) -> str:
    with pytest.raises(BrokenKubeconfig) as caught:
        ask(folder, script, seconds, **more)
    assert caught.value.exit_code == 4
    assert caught.value.why.startswith(f'users "u": exec: {folder / "plugin"} ')
    return caught.value.why


def ends(pid: int) -> bool:
    """Is a process gone, or about to be?"""
    try:
        number = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([number], [], [], 60)[0])
    finally:
        os.close(number)


def test_a_token_a_certificate_or_both(tmp_path: Path) -> None:
    assert ask(tmp_path, f"echo '{GOOD}'") == ("t0ken", b"", b"")
    both = credential(token="t", clientCertificateData="cert", clientKeyData="key")
    assert ask(tmp_path, f"echo '{both}'") == ("t", b"cert", b"key")


ANSWERS = {
    "nothing": ("", "does not print a JSON object"),
    "not JSON": ("s3cret", "does not print a JSON object"),
    "a list": ("[]", "does not print a JSON object"),
    "nested": ("[" * 100_000, "does not print a JSON object"),
    "another version": (
        GOOD.replace("/v1", "/v1beta1"),
        "does not answer with an ExecCredential of client.authentication.k8s.io/v1",
    ),
    "another kind": (GOOD.replace("ExecCredential", "Secret"), "does not answer with an ExecCredential"),
    "no status": (json.dumps({"apiVersion": EXEC_VERSION, "kind": "ExecCredential"}), "answers without status.token"),
    "no key": (credential(clientCertificateData="s3cret"), "answers with only one of clientCertificateData and"),
    "a number": (GOOD.replace('"t0ken"', "1234"), "answers with a credential that is not a text"),
    "two lines": (credential(token="s3cret\r\nX-Remote-User: admin"), "answers with a token of several lines"),
}


@pytest.mark.parametrize(("answer", "words"), ANSWERS.values(), ids=list(ANSWERS))
def test_what_is_not_a_credential_is_refused_and_not_shown(tmp_path: Path, answer: str, words: str) -> None:
    (tmp_path / "answer").write_text(answer)
    why = complaint(tmp_path, f"cat {tmp_path / 'answer'}")
    assert words in why
    assert "s3cret" not in why


def test_a_plugin_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path / 'child'}; echo $$ > {tmp_path / 'self'}; wait"
    assert "gave no answer within 2 seconds and was ended" in complaint(tmp_path, script, seconds=2)
    for name in ("self", "child"):
        assert ends(int((tmp_path / name).read_text()))


def test_a_grandchild_that_holds_on_to_the_pipe_does_not_hold_us(tmp_path: Path) -> None:
    """It left the session, so it is not ended; but it is not waited for either: the test would take an hour."""
    script = f"setsid sleep 3600 & echo $! > {tmp_path / 'child'}; echo '{GOOD}'"
    try:
        assert "gave no answer within 1 seconds" in complaint(tmp_path, script, seconds=1)
    finally:
        os.kill(int((tmp_path / "child").read_text()), 9)


@pytest.mark.parametrize("where", ["", ">&2"], ids=["stdout", "stderr"])
def test_a_flood_is_ended(tmp_path: Path, where: str) -> None:
    script = f"echo $$ > {tmp_path / 'self'}; yes s3cret {where}"
    assert "prints more than 1048576 bytes and was ended" in complaint(tmp_path, script)
    assert ends(int((tmp_path / "self").read_text()))


def test_one_that_is_asked_no_longer_is_ended(tmp_path: Path) -> None:
    """The command is interrupted, or the scheduler stops."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    user = {"exec": write_plugin(tmp_path / "plugin", f"echo $$ > {fifo}; exec sleep 1000")}
    path = write_config(tmp_path / "config", "https://127.0.0.1:6443", {}, user)

    async def story() -> int:
        asked = asyncio.ensure_future(run_plugin(read_context(str(path), None)))
        started = asyncio.get_running_loop().run_in_executor(None, fifo.read_text)
        pid = int(await started)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return pid

    assert ends(asyncio.run(story()))


def test_secrets_in_a_complaint_are_blacked_out_and_the_rest_is_cut(tmp_path: Path) -> None:
    script = f"""cat >&2 <<'END'
+ login --password=hunter2222 --user me
expired: {JWT} \033[2J
"clientKeyData": "s3cretkeydata"
client_secret=s3cretclient AWS_SECRET_ACCESS_KEY=s3cretaws and of the environment: plainvalue
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEs3cretpem
-----END EC PRIVATE KEY-----
{"blah " * 1000}
END
exit 7"""
    added = [{"name": "LAB_TOKEN", "value": "plainvalue"}, {"name": "LAB_USER", "value": "me"}]
    why = complaint(tmp_path, script, env=added)
    assert "returned 7: + login --password=[REDACTED] --user me" in why
    assert not [secret for secret in ("hunter", JWT[:30], "s3cret", "plainvalue", "\033") if secret in why]
    assert why.endswith("…")
    assert len(why) < 500


def test_it_has_no_terminal_and_no_input(tmp_path: Path) -> None:
    """A server's plugin is told that nobody is there, can not read, and can not open the terminal."""
    script = f"""
    echo "$KUBERNETES_EXEC_INFO" > {tmp_path / "info"}
    cat > {tmp_path / "input"}
    if (: < /dev/tty) 2>/dev/null; then echo yes; else echo no; fi > {tmp_path / "terminal"}
    echo '{GOOD}'"""
    ask(tmp_path, script)
    assert json.loads((tmp_path / "info").read_text())["spec"] == {"interactive": False}
    assert (tmp_path / "input").read_text() == ""
    assert (tmp_path / "terminal").read_text() == "no\n"


def test_one_that_needs_a_person_is_not_started_without(tmp_path: Path) -> None:
    script = f"touch {tmp_path / 'started'}"
    assert "there is no terminal" in complaint(tmp_path, script, interactiveMode="Always")
    assert not (tmp_path / "started").exists()


def test_a_person_at_a_terminal_can_be_asked_by_a_command(tmp_path: Path) -> None:
    script = f"""
    echo "$KUBERNETES_EXEC_INFO" > {tmp_path / "info"}
    printf 'password? ' >&2
    read answer
    echo "$answer" > {tmp_path / "answer"}
    echo '{GOOD}'"""
    user = {"exec": {**write_plugin(tmp_path / "plugin", script), "interactiveMode": "Always"}}
    path = write_config(tmp_path / "config", "https://127.0.0.1:1", {}, user)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "fairway", "status", "--kubeconfig", str(path)]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True)
    try:
        os.close(theirs)
        shown = b""
        while b"password? " not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, b"sesame\n")
        while True:
            try:
                shown += os.read(ours, 1024)
            except OSError:  # the other side of a terminal is gone
                break
        assert process.wait(60) == 4, shown  # nobody listens there
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert (tmp_path / "answer").read_text() == "sesame\n"
    assert json.loads((tmp_path / "info").read_text())["spec"] == {"interactive": True}


def test_it_is_told_of_the_cluster_if_it_wants_to_be(tmp_path: Path) -> None:
    ask(tmp_path, f"echo \"$KUBERNETES_EXEC_INFO\" > {tmp_path / 'info'}; echo '{GOOD}'", provideClusterInfo=True)
    told = json.loads((tmp_path / "info").read_text())["spec"]["cluster"]
    assert told == {"server": "https://127.0.0.1:6443", "certificate-authority-data": data(b"ca")}


def test_a_path_is_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    write_plugin(tmp_path / "bin" / "plugin", f"echo '{GOOD}'")
    assert ask(tmp_path, "exit 1", command="bin/plugin").token == "t0ken"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"command": "absent-plugin"}, "absent-plugin can not be started: No such file or directory"),
        ({"command": None}, "exec has no command"),
        ({"args": "--all"}, "args that are no list"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "apiVersion has to be"),
    ],
    ids=["absent", "none", "args", "version"],
)
def test_a_description_that_does_not_work_is_refused(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    with pytest.raises(BrokenKubeconfig, match=words):
        ask(tmp_path, "exit 0", **more)


def test_the_hint_is_the_kubeconfigs(tmp_path: Path) -> None:
    with pytest.raises(BrokenKubeconfig) as caught:
        ask(tmp_path, "exit 1", command="absent-plugin", installHint="ask the lab for it")
    assert caught.value.fix == "ask the lab for it"


def test_a_minute_is_the_limit() -> None:
    assert exec_plugin.SECONDS == 60

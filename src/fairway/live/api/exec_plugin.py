"""Exec plugins: programs that a kubeconfig names, which print a token or a client certificate.

In: the `exec` of a kubeconfig's user, and the cluster it is for. Out: `ExecCredential`. A plugin is somebody else's
program: it has a time limit, after which it is killed with its children; what it prints is bounded, what it complains
about is cut and redacted, and what it prints to stdout, a credential, is never shown. It may talk to people only in
commands at a terminal; a server's plugin has no terminal at all. Called by `credentials`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from fairway.live.api.kubeconfig import ChosenContext, KubeconfigEntry
from fairway.live.api.logs import redact
from fairway.live.api.problems import BrokenKubeconfig
from fairway.words import visible

__all__ = ["ExecCredential", "run_plugin"]

SECONDS = 60.0
PERSON_SECONDS = 600.0
"""A person at a terminal has to find the browser, or the key."""
REAP_SECONDS = 5.0
MAX_BYTES = 1 << 20
SHOWN_CHARACTERS = 300
GROUP = "client.authentication.k8s.io"
SECRET_NAME = re.compile("token|secret|passw|key|credential", re.IGNORECASE)
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")


class ExecCredential(NamedTuple):
    """What a plugin gives: a token, or a certificate and its key (PEM), or both."""

    token: str
    certificate: bytes
    key: bytes


async def run_plugin(chosen: ChosenContext, *, has_person: bool = False, seconds: float = SECONDS) -> ExecCredential:
    """Ask the plugin of a kubeconfig's user; `has_person`: somebody can answer its questions."""
    plugin = CredentialPlugin(chosen.user)
    mode = plugin.words.get("interactiveMode", "IfAvailable")
    is_asking = has_person and mode != "Never" and sys.stdin.isatty() and sys.stderr.isatty()
    if mode == "Always" and not is_asking:
        raise plugin.broken("wants to ask a person (interactiveMode: Always), and there is no terminal")
    stdout = await plugin.run(plugin.environment(chosen, is_asking), is_asking, seconds)
    return plugin.read(stdout)


class CredentialPlugin:
    """One program, as a kubeconfig describes it."""

    def __init__(self, user: KubeconfigEntry) -> None:
        self._user = user
        self.words: dict[str, Any] = user.fields["exec"] if isinstance(user.fields["exec"], dict) else {}
        self.version = self.words.get("apiVersion")
        if self.version not in VERSIONS:
            raise user.broken("exec: apiVersion", f"has to be {' or '.join(VERSIONS)}", "ask for a newer plugin")
        command = self.words.get("command")
        arguments = self.words.get("args") or []
        if not isinstance(command, str) or not command or not isinstance(arguments, list):
            raise user.broken("exec", "has no command, or args that are no list", "compare it with a working one")
        # A path is relative to the kubeconfig; a mere name is looked up in PATH.
        self.command = str(user.beside(command)) if "/" in command else command
        self.arguments = [str(one) for one in arguments]

    def broken(self, wrong: str, fix: str = "") -> BrokenKubeconfig:
        """A problem of this plugin."""
        hint = self.words.get("installHint")
        fix = fix or (self._shown(hint) if isinstance(hint, str) else "") or "run it by hand: kubectl does the same"
        return self._user.broken(f"exec: {visible(self.command, one_line=True)}", wrong, fix)

    def _shown(self, text: str) -> str:
        """The beginning of what a plugin says, on one line, without secrets: known ones and what looks like one."""
        for name, value in self._added():
            if SECRET_NAME.search(name) and value:
                text = text.replace(value, "[REDACTED]")
        words = visible(redact(text.strip()), one_line=True)
        return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"

    def _added(self) -> list[tuple[str, str]]:
        """What the kubeconfig adds to the environment."""
        added = self.words.get("env") or []
        entries = [one for one in added if isinstance(one, dict)] if isinstance(added, list) else []
        return [(str(one["name"]), str(one.get("value", ""))) for one in entries if one.get("name")]

    def environment(self, chosen: ChosenContext, is_asking: bool) -> dict[str, str]:
        """Ours, what the kubeconfig adds, and what the plugin is asked for."""
        spec: dict[str, Any] = {"interactive": is_asking}
        if self.words.get("provideClusterInfo") is True:
            spec["cluster"] = _cluster_words(chosen.cluster)
        asked = {"apiVersion": self.version, "kind": "ExecCredential", "spec": spec}
        return {**os.environ, **dict(self._added()), "KUBERNETES_EXEC_INFO": json.dumps(asked)}

    async def run(self, environment: dict[str, str], is_asking: bool, seconds: float) -> bytes:
        """Start it and wait for it; returns what it printed."""
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        limit = PERSON_SECONDS if is_asking else seconds
        loop = asyncio.get_running_loop()
        try:
            transport, output = await loop.subprocess_exec(
                _Output,
                self.command,
                *self.arguments,
                env=environment,
                stdin=None if is_asking else nothing,
                stdout=pipe,
                stderr=None if is_asking else pipe,
                # A session of its own has no terminal, and can be ended as a whole.
                start_new_session=not is_asking,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise self.broken(f"can not be started: {reason}") from None
        try:
            async with asyncio.timeout(limit):
                await output.ended.wait()
        except TimeoutError:
            raise self.broken(f"gave no answer within {limit:g} seconds and was ended") from None
        finally:
            if not output.is_complete:
                await _end(transport, output, with_children=not is_asking)
            transport.close()
        if not output.is_complete:
            raise self.broken(f"prints more than {MAX_BYTES} bytes and was ended")
        if code := transport.get_returncode():
            stderr = output.data[2].decode(errors="replace")
            raise self.broken(f"returned {code}{f': {self._shown(stderr)}' if stderr.strip() else ''}")
        return bytes(output.data[1])

    def read(self, stdout: bytes) -> ExecCredential:
        """What the plugin printed, checked."""
        try:
            tree = msgspec.json.decode(stdout, type=dict[str, Any])
        except (msgspec.DecodeError, ValueError, RecursionError):
            raise self.broken("does not print a JSON object") from None  # what it prints instead may be a secret
        if tree.get("kind") != "ExecCredential" or tree.get("apiVersion") != self.version:
            raise self.broken(f"does not answer with an ExecCredential of {self.version}")
        status = tree.get("status")
        fields = status if isinstance(status, dict) else {}
        token, certificate, key = (
            fields.get(name) or "" for name in ("token", "clientCertificateData", "clientKeyData")
        )
        if not all(isinstance(one, str) for one in (token, certificate, key)):
            raise self.broken("answers with a credential that is not a text")
        if not token and not certificate:
            raise self.broken("answers without status.token and status.clientCertificateData")
        if bool(certificate) != bool(key):
            raise self.broken("answers with only one of clientCertificateData and clientKeyData")
        if any(sign in token for sign in "\r\n"):
            raise self.broken("answers with a token of several lines")
        return ExecCredential(token, certificate.encode(), key.encode())


class _Output(asyncio.SubprocessProtocol):
    """What a process prints, until it has ended or printed too much."""

    def __init__(self) -> None:
        self.data = {1: bytearray(), 2: bytearray()}  # by file descriptor: stdout, stderr
        self.ended = asyncio.Event()
        self.exited = asyncio.Event()
        self.is_complete = False

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Some more."""
        self.data[fd] += data
        if len(self.data[fd]) > MAX_BYTES:
            self.ended.set()

    def process_exited(self) -> None:
        """The process is gone; a child of it may still hold its pipes."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended, and nobody holds its pipes any more."""
        self.is_complete = not self.ended.is_set()
        self.ended.set()


async def _end(transport: asyncio.SubprocessTransport, output: _Output, with_children: bool) -> None:
    """End a process at once; its children may outlive it, so they are ended even if it is gone."""
    with suppress(ProcessLookupError, PermissionError):
        if with_children:
            os.killpg(transport.get_pid(), signal.SIGKILL)
        else:
            transport.kill()
    with suppress(TimeoutError):  # the kernel may be busy with it; it will get to it
        async with asyncio.timeout(REAP_SECONDS):
            await output.exited.wait()


def _cluster_words(cluster: KubeconfigEntry) -> dict[str, Any]:
    """The cluster as a plugin is told of it."""
    authority = cluster.content("certificate-authority")
    told: dict[str, Any] = {
        "server": cluster.text("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.text("proxy-url"),
    }
    extensions = cluster.fields.get("extensions") or []
    own = [one.get("extension") for one in extensions if isinstance(one, dict) and one.get("name") == f"{GROUP}/exec"]
    return {name: value for name, value in told.items() if value} | ({"config": own[0]} if own else {})

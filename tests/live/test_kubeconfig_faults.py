"""A kubeconfig whose certificates or keys are no good: the file, the entry and the field are named."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fairway.live.api.certificates import self_signed
from fairway.live.api.connection import Connection
from fairway.live.api.problems import BrokenKubeconfig

CERTIFICATE, KEY = self_signed()
OTHER_KEY = self_signed()[1]


def data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def write(path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "contexts": [
            {"name": "other", "context": {"cluster": "elsewhere", "user": "u"}},
            {"name": "lab", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(tree))
    return path


ID = {"client-certificate-data": data(CERTIFICATE), "client-key-data": data(KEY)}
FAULTS = {
    "authority is no base64": (
        {"certificate-authority-data": "no*base64"},
        {},
        'clusters "c": certificate-authority-data is not base64',
        "or name the file in certificate-authority instead",
    ),
    "authority is cut off": (
        {"certificate-authority-data": data(CERTIFICATE)[:-3]},
        {},
        'clusters "c": certificate-authority-data is not base64',
        "base64 -w0 FILE",
    ),
    "authority is no PEM": (
        {"certificate-authority-data": data(b"hello")},
        {},
        'clusters "c": certificate-authority-data holds no PEM certificate',
        "base64 -w0 FILE",
    ),
    "authority is a damaged certificate": (
        {"certificate-authority-data": data(CERTIFICATE[:100] + b"\n-----END CERTIFICATE-----\n")},
        {},
        'clusters "c": certificate-authority-data holds a certificate that can not be read',
        "base64 -w0 FILE",
    ),
    "authority is not there": (
        {"certificate-authority": "absent.crt"},
        {},
        'clusters "c": certificate-authority ',
        "paths are relative to the kubeconfig",
    ),
    "certificate is no base64": (
        {},
        {**ID, "client-certificate-data": "a"},
        'users "u": client-certificate-data is not base64',
        "or name the file in client-certificate instead",
    ),
    "key is no base64": (
        {},
        {**ID, "client-key-data": "%%%"},
        'users "u": client-key-data is not base64',
        "or name the file in client-key instead",
    ),
    "key is a certificate": (
        {},
        {**ID, "client-key-data": data(CERTIFICATE)},
        'users "u": client-key-data holds no PEM private key',
        "base64 -w0 FILE",
    ),
    "key is another's": (
        {},
        {**ID, "client-key-data": data(OTHER_KEY)},
        'users "u": client-key does not belong to the client-certificate',
        "take both from the same place",
    ),
    "key is not there": (
        {},
        {"client-certificate-data": data(CERTIFICATE), "client-key": "absent.key"},
        'users "u": client-key ',
        "paths are relative to the kubeconfig",
    ),
}


@pytest.mark.parametrize(("cluster", "user", "why", "fix"), FAULTS.values(), ids=list(FAULTS))
def test_the_field_is_named(tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], why: str, fix: str) -> None:
    path = write(tmp_path / "config", cluster, user)
    with pytest.raises(BrokenKubeconfig) as caught:
        asyncio.run(Connection.open(path))
    problem = caught.value
    assert problem.what == f"the kubeconfig {path} can not be used"
    assert problem.why.startswith(why)
    assert fix in problem.fix
    assert "context" not in problem.fix
    assert problem.exit_code == 4
    assert KEY.decode().splitlines()[1] not in str(problem)


def test_of_several_files_the_one_is_named_that_has_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "lab"}))
    second = write(tmp_path / "second", {"certificate-authority-data": "no*base64"}, {})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'first'}:{second}")
    with pytest.raises(BrokenKubeconfig, match=f"the kubeconfig {second} can not be used"):
        asyncio.run(Connection.open())


def test_a_missing_context_is_still_told_which_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "config", {}, {})
    with pytest.raises(BrokenKubeconfig, match="it has these contexts: other, lab"):
        asyncio.run(Connection.open(path, "absent"))

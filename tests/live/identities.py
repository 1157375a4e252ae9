"""Kubeconfigs with certificates inside, and a fake API server that wants to see them.

In: an `Authority` of tests.kube. Out: entries and files of kubeconfigs, exec plugins, TLS contexts for servers.
"""

from __future__ import annotations

import base64
import json
import ssl
from pathlib import Path
from typing import Any

from tests.kube.certificates import Authority, KeyPair

EXEC_VERSION = "client.authentication.k8s.io/v1"


def data(content: bytes | Path) -> str:
    """As a -data field has it."""
    return base64.b64encode(content if isinstance(content, bytes) else content.read_bytes()).decode()


def inline(pair: KeyPair) -> dict[str, str]:
    """A user who has the certificate and the key in the kubeconfig."""
    return {"client-certificate-data": data(pair.certificate), "client-key-data": data(pair.key)}


def write_config(path: Path, url: str, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    """A kubeconfig with the context lab."""
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(tree))
    return path


def write_plugin(path: Path, script: str) -> dict[str, Any]:
    """An exec plugin that is a shell script; returns the user's `exec`."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"command": str(path), "apiVersion": EXEC_VERSION}


def credential(**status: str) -> str:
    """What a plugin prints."""
    return json.dumps({"apiVersion": EXEC_VERSION, "kind": "ExecCredential", "status": status})


def server_context(authority: Authority, *, wants_client: bool = False) -> ssl.SSLContext:
    """For a server on loopback."""
    pair = authority.serving("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if wants_client:
        context.load_verify_locations(authority.file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context

"""What is wrong with the certificates and keys of a kubeconfig, by file, entry and field.

In: the path or paths of a kubeconfig that could not be used, and the context that was asked for. Out: a
`FieldFault` for the first field to blame, or None: then it is something else. `credentials` asks when a kubeconfig has
failed; nothing of a key is ever in the words.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairway.live.certificates import as_file

__all__ = ["FieldFault", "find_fault"]

FIELDS = {
    "cluster": (("certificate-authority", "CERTIFICATE"),),
    "user": (("client-certificate", "CERTIFICATE"), ("client-key", "PRIVATE KEY")),
}
"""Of an entry: each may also end in -data, with base64 in the place of a path. What the PEM in it has to be."""


class FieldFault(NamedTuple):
    """One field, what is wrong with it, and what to put there."""

    file: str
    field: str  # clusters "lab": certificate-authority-data
    wrong: str
    fix: str


def find_fault(paths: str, context: str | None) -> FieldFault | None:
    """The first field of the context's cluster and user that can not be used."""
    trees = list(_trees(paths))
    name = context or next((tree["current-context"] for _, tree in trees if tree.get("current-context")), None)
    found = _entry(trees, "context", name)
    if found is None:
        return None
    meant = found[1]
    for kind in FIELDS:
        entry = _entry(trees, kind, meant.get(kind))
        if entry is not None and (fault := _fault_of(kind, str(meant[kind]), *entry)) is not None:
            return fault
    return None


def _trees(paths: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    import yaml  # noqa: PLC0415

    for part in paths.split(os.pathsep):
        path = Path(part).expanduser()
        try:
            tree = yaml.safe_load(path.read_text())
        except (OSError, ValueError, yaml.YAMLError):
            continue
        if isinstance(tree, dict):
            yield path, tree


def _entry(trees: list[tuple[Path, dict[str, Any]]], kind: str, name: Any) -> tuple[Path, dict[str, Any]] | None:
    """The first entry of that name, as kubectl takes it, and the file it is in."""
    for path, tree in trees:
        for entry in tree.get(f"{kind}s") or ():
            if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(kind), dict):
                return path, entry[kind]
    return None


def _fault_of(kind: str, name: str, path: Path, entry: dict[str, Any]) -> FieldFault | None:
    pems: list[bytes] = []
    for field, content in FIELDS[kind]:
        for given in (f"{field}-data", field):  # kubectl looks at the data first
            value = entry.get(given)
            if not value:
                continue
            pem, wrong = _read(given, str(value), path)
            if not wrong:
                wrong = _pem_fault(pem, content)
            if wrong:
                return FieldFault(str(path), f'{kind}s "{name}": {given}', wrong, _fix(given, content))
            pems.append(pem)
            break
    if kind == "user" and len(pems) == len(FIELDS[kind]) and not _belong_together(*pems):
        fix = "take both from the same place, or have a new certificate signed for the key"
        return FieldFault(str(path), f'users "{name}": client-key', "does not belong to the client-certificate", fix)
    return None


def _read(field: str, value: str, path: Path) -> tuple[bytes, str]:
    """The PEM that a field means, or what is wrong with it."""
    if field.endswith("-data"):
        try:
            return base64.b64decode("".join(value.split()), validate=True), ""
        except (binascii.Error, ValueError) as error:
            return b"", f"is not base64 ({error})"
    file = path.parent / Path(value).expanduser()
    try:
        return file.read_bytes(), ""
    except OSError as error:
        return b"", f"{file} can not be read: {error.strerror}"


def _pem_fault(pem: bytes, content: str) -> str:
    if not re.search(rf"-----BEGIN [A-Z ]*{content}-----".encode(), pem):
        return f"holds no PEM {content.lower()}"
    if content == "CERTIFICATE":
        try:
            ssl.create_default_context(cadata=pem.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            return f"holds a certificate that can not be read: {error}"
    return ""


def _belong_together(certificate: bytes, key: bytes) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with as_file(certificate) as cert_file, as_file(key) as key_file:
        try:
            context.load_cert_chain(cert_file, key_file)
        except (OSError, ssl.SSLError):
            return False
    return True


def _fix(field: str, content: str) -> str:
    what = f"a PEM file with a {content.lower()}"
    if field.endswith("-data"):
        other = field.removesuffix("-data")
        return f"put there what `base64 -w0 FILE` prints for {what}, or name the file in {other} instead"
    return f"name {what}; paths are relative to the kubeconfig"

"""A kubeconfig as kubectl reads it: one file or several, of which one context means a cluster and a user.

In: the paths (as in KUBECONFIG) and the name of a context, or None for the current one. Out: a `ChosenContext`, whose
two `KubeconfigEntry`s remember their file: paths in an entry are relative to it. Of several files the first to say
something is right. Certificates and keys are given as bytes, whether they are in the file or beside it, so that nobody
has to write them anywhere. Raises `BrokenKubeconfig`. Called by `credentials`; `kubeconfig_faults` reads the same
entries.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairway.live.api.problems import BrokenKubeconfig
from fairway.model import DecodeError
from fairway.model.yaml_text import read_yaml

__all__ = ["PEMS", "ChosenContext", "KubeconfigEntry", "read_context"]

MAX_BYTES = 16 << 20
PEMS = {"certificate-authority": "CERTIFICATE", "client-certificate": "CERTIFICATE", "client-key": "PRIVATE KEY"}
"""Fields that name a PEM file, or hold it in base64 if -data is appended; and what that PEM has to be."""


class KubeconfigEntry(NamedTuple):
    """A cluster or a user of a kubeconfig."""

    file: Path
    kind: str  # "cluster" or "user"
    name: str
    fields: Mapping[str, Any]

    def broken(self, field: str, wrong: str, fix: str = "") -> BrokenKubeconfig:
        """The problem of a field."""
        return BrokenKubeconfig(str(self.file), f'{self.kind}s "{self.name}": {field} {wrong}', fix=fix)

    def text(self, field: str) -> str:
        """A field that is a text; "" if it is not given."""
        value = self.fields.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.broken(field, "is not a text", "put it in quotation marks")
        return value

    def flag(self, field: str) -> bool:
        """A field that is true or false; false if it is not given. "false" in quotation marks is neither."""
        value = self.fields.get(field)
        if not isinstance(value, bool | None):
            raise self.broken(field, "is neither true nor false", "write true or false, without quotation marks")
        return bool(value)

    def content(self, field: str) -> bytes:
        """What FIELD-data holds, or the file that FIELD names; b"" if neither is given."""
        given = self.given(field)
        value = self.text(given)
        if not value:
            return b""
        if given.endswith("-data"):
            try:
                return base64.b64decode("".join(value.split()), validate=True)
            except (binascii.Error, ValueError) as error:
                raise self.broken(given, f"is not base64 ({error})", self.remedy(field)) from None
        path = self.beside(value)
        try:
            return path.read_bytes()
        except OSError as error:
            raise self.broken(given, f"{path} can not be read: {error.strerror}", self.remedy(field)) from None

    def given(self, field: str) -> str:
        """The name under which it is given: kubectl looks at the data first."""
        return f"{field}-data" if self.fields.get(f"{field}-data") else field

    def remedy(self, field: str) -> str:
        """What to put there."""
        what = f"a PEM file with a {PEMS.get(field, 'CERTIFICATE').lower()}"
        if self.given(field).endswith("-data"):
            return f"put there what `base64 -w0 FILE` prints for {what}, or name the file in {field} instead"
        return f"name {what}; paths are relative to the kubeconfig"

    def beside(self, path: str) -> Path:
        """A path in this entry: relative to its file."""
        return self.file.absolute().parent / Path(path).expanduser()


class ChosenContext(NamedTuple):
    """What a context means."""

    cluster: KubeconfigEntry
    user: KubeconfigEntry
    namespace: str = "default"  # of what is named without one


def read_context(paths: str, context: str | None) -> ChosenContext:
    """The cluster and the user of a context."""
    trees = list(_trees(paths))
    names = tuple(str(one.get("name")) for _, tree in trees for one in _entries(tree, "context"))
    name = context or next((tree["current-context"] for _, tree in trees if tree.get("current-context")), None)
    if name is None:
        raise BrokenKubeconfig(paths, "no context is given, and it has no current-context", names)
    found = _find(trees, "context", name)
    if found is None:
        raise BrokenKubeconfig(paths, f'it has no context "{name}"', names)
    meant = found.fields
    cluster = _find(trees, "cluster", meant.get("cluster"))
    if cluster is None:
        raise BrokenKubeconfig(paths, f'context "{name}": its cluster is not in clusters', names)
    user = _find(trees, "user", meant.get("user")) if meant.get("user") else None
    user = user or KubeconfigEntry(found.file, "user", str(meant.get("user", "")), {})
    return ChosenContext(cluster, user, str(meant.get("namespace") or "default"))


def _trees(paths: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every file that is there; those of a list that are not do not matter."""
    for part in paths.split(os.pathsep):
        path = Path(part).expanduser()
        if not part or not path.exists():
            continue
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise BrokenKubeconfig(str(path), f"it has more than {MAX_BYTES} bytes")
            documents = [tree for tree, _ in read_yaml(data.decode(), str(path))]
        except OSError as error:
            raise BrokenKubeconfig(str(path), error.strerror or str(error)) from None
        except (DecodeError, UnicodeDecodeError) as error:
            raise BrokenKubeconfig(str(path), str(error)) from None
        if not documents:
            continue
        tree = documents[0]
        if not isinstance(tree, dict) or tree.get("kind", "Config") != "Config":
            raise BrokenKubeconfig(str(path), "it holds no object of kind Config")
        yield path, tree


def _entries(tree: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    listed = tree.get(f"{kind}s")
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))


def _find(trees: list[tuple[Path, dict[str, Any]]], kind: str, name: Any) -> KubeconfigEntry | None:
    """The first entry of that name, and the file it is in."""
    for path, tree in trees:
        for entry in _entries(tree, kind):
            if entry.get("name") == name and isinstance(entry.get(kind), dict):
                return KubeconfigEntry(path, kind, str(name), entry[kind])
    return None

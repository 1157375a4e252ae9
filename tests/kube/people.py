"""People who give commands about a cluster, for tests on a real API server: with rights of their own, or none.

In: a control plane, and the name of a user. Out: what a command printed, and how it ended.
"""

from __future__ import annotations

import shlex
from typing import Final, NamedTuple

import pytest

from fairway.cli.main import main
from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane

__all__ = ["READS", "Person", "Printed", "allow", "rule"]


class Printed(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str


class Person:
    """Somebody with a kubeconfig."""

    def __init__(self, plane: ControlPlane, capsys: pytest.CaptureFixture[str], name: str = "admin") -> None:
        self._options = ["--kubeconfig", str(plane.kubeconfig(name))]
        self._capsys = capsys

    def run(self, *words: str) -> Printed:
        self._capsys.readouterr()
        code = main([*words, *self._options])
        return Printed(code, *self._capsys.readouterr())

    def take(self, hint: str) -> Printed:
        """The command that a hint proposes, as it stands there."""
        (line,) = [line for line in hint.splitlines() if "→ fairway " in line]
        self._capsys.readouterr()
        code = main(shlex.split(line.partition("→ fairway ")[2]))
        return Printed(code, *self._capsys.readouterr())


def allow(api: Api, user: str, namespace: str, *rules: Json) -> None:
    """Rights in a namespace."""
    meta = {"name": user, "namespace": namespace}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta}
    api.apply(role | {"rules": list(rules)})
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user}
    api.apply(role | {"kind": "RoleBinding", "roleRef": reference, "subjects": [subject]})


def rule(group: str, resource: str, *verbs: str) -> Json:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


READS: Final = rule("fairway.dev", "jobrecords", "get", "list", "watch")

"""Files for `try` and `why`, and a way to run the commands on them.

In: objects built by `fairway.testing`, or plain dicts for kinds it does not build. Out: files in a folder, and what
a command printed. Shared by the tests of both commands.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairway.cli.main import main
from fairway.model import to_builtins


class Printed(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


class Folder:
    """A folder of files, and the command line in front of it."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys

    def write(self, name: str, *things: Any) -> str:
        """Write objects as one List; texts as they are."""
        file = self.path / name
        if len(things) == 1 and isinstance(things[0], str):
            file.write_text(things[0])
        else:
            items = [thing if isinstance(thing, dict) else to_builtins(thing) for thing in things]
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return str(file)

    def run(self, *arguments: str) -> Printed:
        code = main(arguments)
        printed = self._capsys.readouterr()
        return Printed(code, printed.out, printed.err)

    def attempt(self, cluster: list[Any], wanted: list[Any], *options: str, command: str = "try") -> Printed:
        """`fairway try` with these objects in two files."""
        files = ["-f", self.write("wanted.json", *wanted), "--cluster", self.write("cluster.json", *cluster)]
        return self.run(*command.split(), *files, *options)


def controller(kind: str, name: str, template: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Deployment, StatefulSet, Job, ...; its pods are labelled app=NAME."""
    pod_spec = template or {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    body: dict[str, Any] = {"template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec}} | spec
    if kind == "CronJob":
        body = {"jobTemplate": {"spec": body}}
    elif kind == "ReplicationController":
        body["selector"] = {"app": name}
    elif kind != "Job":
        body["selector"] = {"matchLabels": {"app": name}}
    groups = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}
    return {"apiVersion": groups.get(kind, "apps/v1"), "kind": kind, "metadata": {"name": name}, "spec": body}

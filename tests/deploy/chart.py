"""The chart, rendered by Helm itself, and the plain manifests, which are the chart with its default values.

In: values. Out: objects. Helm is taken from `HELM` or the path, else built once with Go into the user's cache.
`python -m tests.deploy.chart` writes deploy/manifests anew after a change of the chart.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.kube import build

__all__ = ["CHART", "MANIFESTS", "HelmError", "helm", "is_hook", "load", "render"]

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy" / "helm" / "fairway"
MANIFESTS: Final = ROOT / "deploy" / "manifests" / "fairway.yaml"

HELM_VERSION: Final = "v3.19.5"
KUBE_VERSION: Final = "1.36.0"
NAMESPACE: Final = "kube-system"

HEADER: Final = """\
# Fairway as a second scheduler, in kube-system. The Helm chart with its default values; change that, not this, and run
#     python -m tests.deploy.chart
# Before applying, put the name of your image in the place of "fairway:0.1.0".
"""

Object = dict[str, Any]


class HelmError(Exception):
    """Helm refused."""


@functools.cache
def helm() -> Path:
    """The program."""
    found = os.environ.get("HELM") or shutil.which("helm")
    if found:
        return Path(found)
    path = build.cache_directory() / "helm" / HELM_VERSION / "helm"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOBIN": str(path.parent), "CGO_ENABLED": "0"}
        go = build.go_program()
        command = ["nice", str(go), "install", f"helm.sh/helm/v3/cmd/helm@{HELM_VERSION}"]
        subprocess.run(command, env=environment, check=True)
    return path


def ask(*arguments: str) -> str:
    """Run Helm."""
    done = subprocess.run([helm(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise HelmError(done.stderr)
    return done.stdout


def rendered(values: Mapping[str, Any] | None = None, name: str = "fairway", namespace: str = NAMESPACE) -> str:
    """The chart as text."""
    options = ["--namespace", namespace, "--kube-version", KUBE_VERSION]
    for key, value in (values or {}).items():
        options += ["--set-json", f"{key}={json.dumps(value)}"]
    return ask("template", name, str(CHART), *options)


def render(values: Mapping[str, Any] | None = None, name: str = "fairway", namespace: str = NAMESPACE) -> list[Object]:
    """The chart as objects."""
    return load(rendered(values, name, namespace))


def is_hook(made: Object) -> bool:
    """Is it made by Helm alone, when something happens to the release?"""
    return "helm.sh/hook" in made["metadata"].get("annotations", {})


def load(text: str) -> list[Object]:
    """Objects of several documents."""
    return [document for document in yaml.safe_load_all(text) if document]


def main() -> None:
    """Write the plain manifests."""
    MANIFESTS.parent.mkdir(exist_ok=True)
    MANIFESTS.write_text(HEADER + rendered())


if __name__ == "__main__":
    main()

"""The lock files of the image: which packages, in which versions, with which hashes.

In: the dependencies, the extra `ledger` and the build backend in pyproject.toml, and the versions in
requirements/test.txt, so that the image runs what the tests ran. Out: requirements/runtime.txt and
requirements/build.txt, for `pip install --require-hashes`, with the hashes of the wheels for the image's Python on the
platforms it is built for. Where wheels come from is the business of the machine that installs them: no address is
written down. `make lock` runs this.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["BUILD", "PYTHON", "RUNTIME", "Locked", "image_environment", "image_requirements", "read_lock"]

ROOT: Final = Path(__file__).parents[1]
RUNTIME: Final = ROOT / "requirements" / "runtime.txt"
BUILD: Final = ROOT / "requirements" / "build.txt"
PINS: Final = ROOT / "requirements" / "test.txt"

PYTHON: Final = "3.13"
"""The image's; deploy/Dockerfile names the same."""
MACHINES: Final = ("x86_64", "aarch64")
GLIBC: Final = ("2_17", "2_28")

IMAGE_EXTRAS: Final = ("ledger",)
LIBPQ: Final = "psycopg-binary"
"""A libpq for the image, which has none: what `psycopg[binary]` adds."""

HEADER: Final = """\
# {what}, for Python {python} on Linux ({machines}).
# Made by `make lock` from pyproject.toml and requirements/test.txt; do not edit.
"""


class Locked(NamedTuple):
    """One package of a lock file."""

    name: str
    version: str
    hashes: tuple[str, ...]  # SHA-256 of its wheels, as hexadecimal digits
    needed_by: tuple[str, ...]  # other packages of the file; "fairway" for what pyproject.toml names


def read_lock(path: Path) -> list[Locked]:
    """What a lock file says; raises `ValueError` at anything that is not a pin with hashes."""
    text = path.read_text().replace("\\\n", " ")
    packages = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"([a-z0-9-]+)==([0-9][0-9a-z.]*)((?:\s+--hash=sha256:[0-9a-f]{64})+)\s+# for (.+)", line)
        if found is None:
            raise ValueError(f"{path.name}: not a pin with hashes: {line}")
        name, version, hashes, needed_by = found.groups()
        packages.append(Locked(name, version, tuple(re.findall(r"[0-9a-f]{64}", hashes)), tuple(needed_by.split(", "))))
    return packages


def image_requirements(project: Mapping[str, Any]) -> list[str]:
    """What is installed in the image: what the package needs, and what the scheduler may be asked for."""
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(line for extra in IMAGE_EXTRAS for line in extras[extra]), LIBPQ]


def image_environment(machine: str = "x86_64") -> dict[str, str]:
    """What the markers of requirements see in the image."""
    return {
        "extra": "",
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{PYTHON}.0",
        "python_version": PYTHON,
        "sys_platform": "linux",
    }


def lock(requirements: list[str]) -> list[Locked]:
    """Everything that these need in the image, as pip resolves it."""
    hashes: dict[str, set[str]] = {}
    versions: dict[str, str] = {}
    needed_by: dict[str, set[str]] = {}
    for machine in MACHINES:
        resolved = {str(canonicalize_name(one["metadata"]["name"])): one for one in _resolve(requirements, machine)}
        for name, above in _needed(requirements, resolved, machine):
            one = resolved[name]
            versions[name] = one["metadata"]["version"]
            hashes.setdefault(name, set()).add(one["download_info"]["archive_info"]["hashes"]["sha256"])
            needed_by.setdefault(name, set()).add(above)
    return [
        Locked(name, versions[name], tuple(sorted(hashes[name])), tuple(sorted(needed_by[name])))
        for name in sorted(versions)
    ]


def _needed(requirements: list[str], resolved: Mapping[str, Any], machine: str) -> Iterator[tuple[str, str]]:
    """Each package with one that needs it. pip reads markers as of the Python that it runs on; we as of the image's."""
    environment = image_environment(machine)
    todo = [("fairway", line) for line in requirements]
    seen = set()
    while todo:
        above, line = todo.pop()
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        name = canonicalize_name(requirement.name)
        if name not in resolved:
            sys.exit(f"{above} needs {line} on Python {PYTHON}, and pip did not say so: run this with Python {PYTHON}")
        yield name, above
        if name not in seen:
            seen.add(name)
            todo += [(name, needed) for needed in resolved[name]["metadata"].get("requires_dist", ())]


def _resolve(requirements: list[str], machine: str) -> list[dict[str, Any]]:
    """What pip would install on a machine; nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--target", folder, "--only-binary=:all:", "--python-version", PYTHON]
        for version in GLIBC:
            command += ["--platform", f"manylinux_{version}_{machine}"]
        command += ["--platform", f"manylinux2014_{machine}", "--constraint", str(PINS), *requirements]
        subprocess.run(command, check=True)
        installed: list[dict[str, Any]] = json.loads(report.read_text())["install"]
        return installed


def _text(what: str, packages: list[Locked]) -> str:
    lines = [HEADER.format(what=what, python=PYTHON, machines=", ".join(MACHINES))]
    for one in packages:
        hashes = "".join(f" \\\n    --hash=sha256:{digits}" for digits in one.hashes)
        lines.append(f"{one.name}=={one.version}{hashes}  # for {', '.join(one.needed_by)}\n")
    return "".join(lines)


def main() -> None:
    """Write both files anew."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    RUNTIME.write_text(_text("What the image runs on", lock(image_requirements(project["project"]))))
    BUILD.write_text(_text("What builds the wheel in the image", lock(project["build-system"]["requires"])))


if __name__ == "__main__":
    main()

"""What the image is made of: locked by hash, from a base by digest, written down in a bill of materials."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fairway
from deploy.lock import BUILD, MACHINES, PYTHON, RUNTIME, Locked, image_environment, image_requirements, read_lock
from deploy.release import base_fault, build_command
from deploy.sbom import bill_of_materials
from tests.deploy.chart import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DECLARED = {RUNTIME: image_requirements(PROJECT["project"]), BUILD: PROJECT["build-system"]["requires"]}
DIGEST = f"sha256:{'0123456789abcdef' * 4}"

each_lock = pytest.mark.parametrize("path", DECLARED, ids=lambda path: path.name)


def dockerfile() -> list[str]:
    text = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


# -- lock files --------------------------------------------------------------------------------------------------------


@each_lock
def test_every_pin_has_a_hash_and_no_address(path: Path) -> None:
    packages = read_lock(path)  # refuses lines of any other form
    assert len(packages) == len({one.name for one in packages}) > len(DECLARED[path])
    assert all(1 <= len(one.hashes) <= len(MACHINES) for one in packages)
    assert not re.search(r"https?:|index-url|find-links|@ ", path.read_text())


@each_lock
def test_pins_lie_within_the_declared_ranges_and_are_those_of_the_tests(path: Path) -> None:
    pinned = {one.name: one.version for one in read_lock(path)}
    for requirement in map(Requirement, DECLARED[path]):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement
    lines = (ROOT / "requirements" / "test.txt").read_text().splitlines()
    tested = [Requirement(line) for line in lines if line and not line.startswith("#")]
    environment = image_environment()
    versions = {
        one.name: str(one.specifier).removeprefix("==")
        for one in tested
        if one.marker is None or one.marker.evaluate(environment)
    }
    assert pinned.items() <= versions.items()


def needed(line: str, machine: str, above: str = "fairway") -> Iterator[tuple[str, str]]:
    """What a requirement brings along in the image, with who needs it, by the metadata of what is installed here."""
    requirement = Requirement(line)
    if requirement.marker is not None and not requirement.marker.evaluate(image_environment(machine)):
        return
    name = canonicalize_name(requirement.name)
    yield name, above
    for further in importlib.metadata.requires(name) or ():
        yield from needed(further, machine, name)


@each_lock
def test_nothing_is_missing_and_nothing_is_there_in_vain(path: Path) -> None:
    wanted = {pair for machine in MACHINES for line in DECLARED[path] for pair in needed(line, machine)}
    assert {(one.name, above) for one in read_lock(path) for above in one.needed_by} == wanted


@pytest.mark.parametrize(
    "line",
    [
        "rich==15.0.0",
        "rich>=15 --hash=sha256:" + "0" * 64 + "  # for fairway",
        "rich==15.0.0 --hash=md5:" + "0" * 32 + "  # for fairway",
        "--index-url https://example.org/simple",
        "rich @ https://example.org/rich.whl --hash=sha256:" + "0" * 64 + "  # for fairway",
    ],
    ids=["no hash", "range", "md5", "index", "address"],
)
def test_a_line_of_another_form_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lock.txt"
    path.write_text(f"# a lock\n{line}\n")
    with pytest.raises(ValueError, match=r"lock\.txt: not a pin with hashes"):
        read_lock(path)


# -- the image ---------------------------------------------------------------------------------------------------------


def test_whatever_the_image_installs_from_elsewhere_is_checked_by_hash() -> None:
    installs = [line for line in dockerfile() if '"install"' in line]
    assert len(installs) == 3
    for line in installs:
        assert '"--no-deps"' in line
        assert ('"--require-hashes"' in line and '"--only-binary=:all:"' in line) != ('"--no-index"' in line)
    assert not [line for line in dockerfile() if line.startswith(("ADD", "RUN curl", "RUN wget"))]


def test_lock_files_are_for_the_images_python() -> None:
    assert f"ARG PYTHON=python:{PYTHON}-slim" in dockerfile()


def test_a_base_by_digest_is_taken() -> None:
    for base in (f"python:{PYTHON}-slim@{DIGEST}", f"python:{PYTHON}.7-slim@{DIGEST}", f"mirror:5000/python@{DIGEST}"):
        assert base_fault(base) == ""


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("", "by digest"),
        (f"python:{PYTHON}-slim", "by digest"),
        (f"python:{PYTHON}-slim@sha256:abc", "by digest"),
        (f"python:{PYTHON}-slim@{DIGEST} --network=host", "by digest"),
        (f"python:3.12-slim@{DIGEST}", f"for Python {PYTHON}"),
        (f"python:{PYTHON}1-slim@{DIGEST}", f"for Python {PYTHON}"),
    ],
)
def test_any_other_base_is_refused(base: str, words: str) -> None:
    assert words in base_fault(base)


def test_a_release_stops_before_it_builds_upon_a_tag() -> None:
    command = [sys.executable, "-m", "deploy.release", f"python:{PYTHON}-slim", "fairway:1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "by digest" in done.stderr
    assert "docker buildx imagetools inspect" in done.stderr


def test_a_release_builds_from_the_base_and_says_so() -> None:
    base = f"python:{PYTHON}-slim@{DIGEST}"
    command = build_command(base, "fairway:1")
    assert f"PYTHON={base}" in command
    assert f"org.opencontainers.image.base.name={base}" in command


# -- the bill of materials ---------------------------------------------------------------------------------------------


def test_bill_of_materials_lists_what_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "dist" / "bill.json"
    subprocess.run([sys.executable, "-m", "deploy.sbom", str(path)], cwd=ROOT, check=True)
    bill = json.loads(path.read_text())
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    own = bill["metadata"]["component"]
    assert (own["type"], own["name"], own["version"]) == ("application", "fairway", fairway.__version__)
    listed = {
        (one["name"], one["version"], tuple(digest["content"] for digest in one["hashes"]))
        for one in bill["components"]
    }
    assert listed == {(one.name, one.version, one.hashes) for one in read_lock(RUNTIME)}
    for one in bill["components"]:
        assert one["type"] == "library"
        assert one["purl"] == one["bom-ref"] == f"pkg:pypi/{one['name']}@{one['version']}"
        assert all(digest["alg"] == "SHA-256" for digest in one["hashes"])


def test_bill_of_materials_tells_who_needs_whom() -> None:
    """Everything can be reached from Fairway, and nobody needs what is not there."""
    bill = bill_of_materials(read_lock(RUNTIME), "1.2.3")
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(set(references)) == len(references)
    assert set(needs) == {"pkg:pypi/fairway@1.2.3", *references}
    reached, todo = set(), ["pkg:pypi/fairway@1.2.3"]
    while todo:
        reference = todo.pop()
        if reference not in reached:
            reached.add(reference)
            todo += needs[reference]
    assert reached == set(needs)


def test_the_same_lock_gives_the_same_bill_and_another_another() -> None:
    package = Locked("rich", "15.0.0", ("0" * 64,), ("fairway",))
    bill = bill_of_materials([package], "1")
    assert bill_of_materials([package], "1") == bill
    other = bill_of_materials([package._replace(version="15.0.1")], "1")
    assert other["serialNumber"] != bill["serialNumber"]

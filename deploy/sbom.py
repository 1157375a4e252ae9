"""What is in a release: a software bill of materials, CycloneDX 1.6 as JSON.

In: requirements/runtime.txt. Out: a document with Fairway, every Python package that its image holds, the hashes of
their wheels, and who needs whom. The same lock file gives the same document. What the base image brings along
(Python, the C library) is not in it: that is known by the base's digest. `make sbom` and `deploy.release` write it.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any, Final

import fairway
from deploy.lock import RUNTIME, Locked, read_lock

__all__ = ["bill_of_materials"]

NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "pkg:pypi/fairway")


def bill_of_materials(packages: list[Locked], version: str) -> dict[str, Any]:
    """The document."""
    own = {
        "type": "application",
        "bom-ref": _reference("fairway", version),
        "name": "fairway",
        "version": version,
        "purl": _reference("fairway", version),
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    references = {one.name: _reference(one.name, one.version) for one in packages}
    needs: dict[str, list[str]] = {"fairway": [], **{name: [] for name in references}}
    for one in packages:
        for above in one.needed_by:
            needs[above].append(references[one.name])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, repr((version, packages)))}",
        "version": 1,
        "metadata": {"component": own},
        "components": [_component(one) for one in packages],
        "dependencies": [
            {"ref": own["bom-ref"] if name == "fairway" else references[name], "dependsOn": sorted(needed)}
            for name, needed in needs.items()
        ],
    }


def _component(package: Locked) -> dict[str, Any]:
    reference = _reference(package.name, package.version)
    return {
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "purl": reference,
        "hashes": [{"alg": "SHA-256", "content": digits} for digits in package.hashes],
    }


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def main() -> None:
    """Write it to the file that is named."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill_of_materials(read_lock(RUNTIME), fairway.__version__), indent=2) + "\n")


if __name__ == "__main__":
    main()

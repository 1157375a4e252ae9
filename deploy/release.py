"""An image to release: from a base that is named by its digest, and with a bill of materials beside it.

In: the base image and a name for ours. Out: an image, and dist/fairway-VERSION.cdx.json. A tag can be moved to another
image by whoever owns it, a digest can not; so a base without one is refused, and the image carries the base's name as a
label. `make image BASE=... IMAGE=...` runs this; for trying things out, `docker build -f deploy/Dockerfile .` will do.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Final

import fairway
from deploy import sbom
from deploy.lock import PYTHON, ROOT

__all__ = ["base_fault", "build_command"]

DIGEST: Final = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")


def base_fault(base: str) -> str:
    """What is wrong with a base image's name; "" if nothing is."""
    if not DIGEST.fullmatch(base):
        return f"the base has to be named by digest, as in python:{PYTHON}-slim@sha256:<64 digits>, and not {base!r}"
    tag = base.partition("@")[0].rpartition("/")[2].partition(":")[2]
    if tag and not re.match(rf"{re.escape(PYTHON)}(?![0-9])", tag):
        return f"the lock files are for Python {PYTHON}, and the base is {base!r}"
    return ""


def build_command(base: str, image: str) -> list[str]:
    """How the image is built."""
    return [
        *("docker", "build", "--file", "deploy/Dockerfile", "--pull"),
        *("--build-arg", f"PYTHON={base}"),
        *("--label", f"org.opencontainers.image.version={fairway.__version__}"),
        *("--label", f"org.opencontainers.image.base.name={base}"),
        *("--tag", image, "."),
    ]


def main() -> None:
    """Write the bill of materials and build the image."""
    if len(sys.argv) != 3 or not all(sys.argv[1:]):
        sys.exit("usage: make image BASE=python:TAG@sha256:DIGEST IMAGE=NAME:TAG")
    base, image = sys.argv[1:]
    if fault := base_fault(base):
        sys.exit(f"{fault}\ndocker buildx imagetools inspect NAME:TAG shows the digest")
    sys.argv[1:] = [str(ROOT / "dist" / f"fairway-{fairway.__version__}.cdx.json")]
    sbom.main()
    sys.exit(subprocess.run(build_command(base, image), cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()

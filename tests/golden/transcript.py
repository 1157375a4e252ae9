"""Transcripts: files that show commands and, whole, what they print.

In: files of the form `$ fairway ...` or `$ python FILE`, then what the command prints on a terminal (stdout and stderr,
in the order of printing), then `[exit N]` unless N is 0. Commands may use what earlier ones of the file wrote. Out: for
each command in them, what it is said to print and what it prints. `python -m tests.golden.transcript` writes them anew
after a change that was meant; read the difference before committing it.
"""

import contextlib
import io
import re
import runpy
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fairway.cli.main import main

ROOT = Path(__file__).parent.parent.parent
FILES = sorted([*ROOT.glob("tests/golden/*.txt"), *ROOT.glob("examples/**/*.txt")])
FAIRWAY = ("fairway", ".venv/bin/fairway")
PYTHON = ("python", ".venv/bin/python")


class Step(NamedTuple):
    """A command and what it is said to print."""

    command: str
    printed: str


def steps(text: str) -> Iterator[Step]:
    """The commands of a transcript."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield Step(command, printed)


def shown_steps(page: str) -> Iterator[Step]:
    """The commands in a page's blocks of the language `console`."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        yield from steps(block)


def is_shown(shown: str, printed: str) -> bool:
    """Is this what a page shows? A line of `...` stands for any number of lines; an exit code of 3 may go unsaid."""
    parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*".join(map(re.escape, parts))
    end = "" if "[exit" in shown else r"(?:\[exit 3\]\n)?"
    return re.fullmatch(pattern + end, printed) is not None


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that looks like the root of the checkout, in which commands may leave files."""
    with tempfile.TemporaryDirectory(prefix="fairway-transcript-") as name:
        folder = Path(name)
        for entry in ROOT.iterdir():
            (folder / entry.name).symlink_to(entry)
        yield folder


def run(command: str, folder: Path = ROOT) -> str:
    """What the command prints now in that folder; how long it took is left out."""
    program, *arguments = shlex.split(command)
    if program not in (*FAIRWAY, *PYTHON):
        raise ValueError(f"a transcript runs fairway or python, not {program}")
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if program in PYTHON:
            (script,) = arguments
            runpy.run_path(script, run_name="__main__")
            code = 0
        else:
            code = main(arguments)
    text = re.sub(r"in [0-9.]+ s of CPU", "in N s of CPU", printed.getvalue())
    return text + (f"[exit {code}]\n" if code else "")


def rewrite(file: Path) -> None:
    """Bring a transcript up to date."""
    with scratch() as folder:
        text = "".join(f"$ {step.command}\n{run(step.command, folder)}" for step in steps(file.read_text()))
    file.write_text(text)


if __name__ == "__main__":
    for path in FILES:
        rewrite(path)

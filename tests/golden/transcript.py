"""Transcripts: files that show commands and, whole, what they print.

In: files of the form `$ fairway ...` or `$ python FILE`, then what the command prints on a terminal (stdout and stderr,
in the order of printing), then `[exit N]` unless N is 0. Out: for each command in them, what it is said to print and
what it prints. `python -m tests.golden.transcript` writes them anew after a change that was meant; read the difference
before committing it.
"""

import contextlib
import io
import re
import runpy
import shlex
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


def run(command: str) -> str:
    """What the command prints now, from the root of the checkout."""
    program, *arguments = shlex.split(command)
    if program not in (*FAIRWAY, *PYTHON):
        raise ValueError(f"a transcript runs fairway or python, not {program}")
    printed = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if program in PYTHON:
            (script,) = arguments
            runpy.run_path(script, run_name="__main__")
            code = 0
        else:
            code = main(arguments)
    return printed.getvalue() + (f"[exit {code}]\n" if code else "")


def rewrite(file: Path) -> None:
    """Bring a transcript up to date."""
    file.write_text("".join(f"$ {step.command}\n{run(step.command)}" for step in steps(file.read_text())))


if __name__ == "__main__":
    for path in FILES:
        rewrite(path)

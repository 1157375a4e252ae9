"""`kubectl_complete-fairway`: how kubectl asks what may come next after `kubectl fairway`.

In: the words after `kubectl fairway`, of which the last is being typed. Out: one word a line with what it is for after
a tab, and at the end a directive as Cobra has them: `:4` when there are words and no names of files are wanted, `:0`
when names of files are, `:16` when names of folders are. kubectl finds it on the PATH beside `kubectl-fairway`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import click
from click.shell_completion import ShellComplete

from fairway.cli.main import fairway

__all__ = ["main"]

WORDS, FILES, FOLDERS, ERROR = 4, 0, 16, 1
VARIABLE: Final = "_FAIRWAY_COMPLETE"


def main(args: Sequence[str] | None = None) -> int:
    """Print what may come next."""
    *before, incomplete = list(sys.argv[1:] if args is None else args) or [""]
    try:
        items = ShellComplete(fairway, {}, "kubectl fairway", VARIABLE).get_completions(before, incomplete)
    except click.ClickException:  # the words before make no sense: nothing follows them
        click.echo(f":{ERROR}")
        return 0
    kinds = {item.type for item in items}
    for item in items:
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(f":{FILES if 'file' in kinds else FOLDERS if 'dir' in kinds else WORDS}")
    return 0

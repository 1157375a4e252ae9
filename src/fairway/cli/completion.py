"""`fairway completion`: a script by which a shell completes commands, options and file names.

In: the name of a shell. Out: the script, on stdout, to be sourced. The shell then asks `fairway` itself what may come
next, by way of a variable that click reads. Called by `fairway.cli.main`.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.main import fairway

__all__ = ["completion"]

HELP = """\b
Examples:
  eval "$(fairway completion bash)"                                  now; or in ~/.bashrc, for every shell
  eval "$(fairway completion zsh)"                                   in ~/.zshrc, after compinit
  fairway completion fish > ~/.config/fish/completions/fairway.fish

Print what makes a shell complete the words of fairway: commands, options, their values, and names of files.
"""
VARIABLE = "_FAIRWAY_COMPLETE"


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """See HELP, which is what users read."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(fairway, {}, "fairway", VARIABLE).source())

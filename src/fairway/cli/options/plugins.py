"""`--allow-plugins`: may code that a file from another folder names run?

In: the flag, or a person at the terminal who says yes. Out: the permission, for as long as the command runs, given to
`fairway.config.plugin_folders`. Shared by every command that reads scenarios, configurations or runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from fairway.cli.output import narrate

__all__ = ["allow_plugins_option"]

F = TypeVar("F", bound=Callable[..., Any])


def _permit(context: click.Context, option: click.Parameter, is_allowed: bool) -> None:
    from fairway.config.plugin_folders import FOLDERS

    asks = sys.stdin.isatty() and sys.stderr.isatty()
    context.with_resource(FOLDERS.permission(is_allowed, _ask if asks else None))


def _ask(name: str, file: Path, source: str) -> bool:
    narrate(f"{source} names the plugin {name}, which is code: {file}")
    return click.confirm("Run it?", err=True)


def allow_plugins_option(command: F) -> F:
    """Add the option; the command itself does not see it."""
    return click.option(
        "--allow-plugins",
        is_flag=True,
        expose_value=False,
        callback=_permit,
        help="Run plugins that a file of another folder names by module:Class. They are code: look at them first.",
    )(command)

"""Help that opens with examples: what a command is for is seen before its usage line and its options.

In: a click command whose help text begins with a block of examples. Out: the same help, the usage line after the text.
Used by every command of `fairway.cli`: `@click.command(cls=Command, help=...)`.
"""

from __future__ import annotations

import click

__all__ = ["CONTEXT", "Command", "ExamplesFirst"]

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
"""The settings all commands share."""


class ExamplesFirst(click.Command):
    """Prints its help text, then usage and options."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The same parts as click's, in another order."""
        self.format_help_text(ctx, formatter)
        formatter.write_paragraph()
        self.format_usage(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)


class Command(ExamplesFirst):
    """A command of `fairway`."""

"""`fairway topology`: manifests rewritten with racks and servers.

In: files and directories of nodes and pods, and how many servers a rack holds. Out: beside each file one with `-hier`
in its name, in which nodes, and pods on nodes, have labels that say their rack and server; and a table of what was
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, progress
from fairway.words import nodes_text

__all__ = ["topology"]

COLUMNS: Final = (
    Column("file", "FILE"),
    Column("nodes", "NODES", right=True),
    Column("pods", "PODS", right=True),
    Column("original", "FROM", wide=True),
)

HELP = """\b
Examples:
  fairway topology nodes.yaml pods.yaml --servers-per-rack 8     writes nodes-hier.yaml and pods-hier.yaml
  fairway topology cluster/ --servers-per-rack 16 --dry-run      what would be written?

Give nodes racks and servers, as labels that constraints and plugins can use.

FILES are manifests, or directories of them. Racks are filled in the order of the nodes' names, zone by zone; the same
nodes always get the same racks. The labels are fairway.dev/rack and fairway.dev/server; pods that are on a node get the
labels of that node. The originals stay as they are: what is written stands beside them, with -hier in its name, and is
never read again by this command.
"""


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True))
@click.option(
    "--servers-per-rack", type=click.IntRange(min=1), required=True, metavar="N", help="How many nodes a rack holds."
)
@click.option("--dry-run", is_flag=True, help="Read and count, write nothing.")
@output_option
def topology(files: Sequence[str], servers_per_rack: int, dry_run: bool, output: str) -> None:
    """Rewrite manifests; see HELP."""
    from fairway.trace.topology_files import rewrite_files

    with progress("reading", 1) as advance:
        done, notes = rewrite_files(files, servers_per_rack, write=not dry_run, progress=advance)
    rows = [{"file": one.path, "nodes": one.num_nodes, "pods": one.num_pods, "original": one.original} for one in done]
    emit(rows, COLUMNS, output)
    for note in notes:
        narrate(f"note: {note}")
    if not is_structured(output):
        num_nodes = sum(one.num_nodes for one in done)
        verb = "would be written" if dry_run else "written"
        files_text = f"{len(done)} file{'' if len(done) == 1 else 's'}"
        have = "has" if num_nodes == 1 else "have"
        narrate(f"{files_text} {verb}; {nodes_text(num_nodes)} {have} a rack, {servers_per_rack} to each")

"""`fairway sniff notify`: a container's hook tells a sniffer where its pod is in its life.

In: flags and environment variables that scheduler-sniffer's own notifier has. Out: one message; the exit code is 0
whatever happens, for a hook that fails stops its container, and a sniffer is not worth that.
"""

from __future__ import annotations

import os
import socket

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate
from fairway.cli.stream.options import missing_extra

__all__ = ["notify_command"]

POD, NODE = "SNIFFER_POD_NAME", "SNIFFER_NODE_NAME"

HELP = f"""\\b
Examples:
  fairway sniff notify --address sniffer:4242                                      as a preStop hook
  fairway sniff notify --address sniffer:4242 --stage postStart --event postStart  as a postStart hook

Tell a sniffer that a container begins or ends.

The pod's name is taken from {POD}, or else it is the host name, as it is in a pod; its node's from
{NODE}. It waits for two seconds at most. The exit code is always 0: what went wrong is said on stderr.
"""


@click.command(name="notify", cls=Command, help=HELP, context_settings=CONTEXT)
@click.option("--address", metavar="HOST:PORT", default="127.0.0.1:4242", show_default=True, help="Of the sniffer.")
@click.option("--stage", default="preStop", show_default=True, help="Where in its life the container is.")
@click.option("--event", default="preStop", show_default=True, help="What happened.")
def notify_command(address: str, stage: str, event: str) -> int:
    """Send one message; see HELP."""
    problem = _send(address, stage, event)
    if problem:
        narrate(f"note: the sniffer at {address} was not told of {event}: {problem}")
    return 0


def _send(address: str, stage: str, event: str) -> str:
    """Returns what went wrong."""
    if missing_extra():
        return "gRPC is not installed; pip install 'fairway[stream]'"
    from fairway.live.api.clock import wall_nanoseconds
    from fairway.stream.address import parse_address
    from fairway.stream.go_time import format_go_time
    from fairway.stream.sniffer_client import notify
    from fairway.stream.wire.sniffer_pb2 import SendRequest

    pod = os.environ.get(POD) or socket.gethostname()
    try:
        request = SendRequest(
            endpoint=stage,
            pod=pod,
            node=os.environ.get(NODE, ""),
            event=event,
            timestamp=format_go_time(wall_nanoseconds(), 0),
        )
        return notify(str(parse_address(address)), request)
    except (ValueError, UnicodeError) as error:  # a name in the environment may be any bytes
        return str(error)

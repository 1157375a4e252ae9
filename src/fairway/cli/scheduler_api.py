"""What a running `fairway run` says itself, for `why` and `status`: its queue, and its view of a pod.

In: the scheduler's address, and a kubeconfig for the token. Out: printed answers; exit code 0 if the pod has, or would
get, a node, 3 if not. `live.scheduler_client` sees to it that the token goes to no one else. Raises `CommandError` when
the scheduler can not be reached or does not let us.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from fairway.cli.main import CommandError
from fairway.cli.options.live import LiveCluster
from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.cli.run import live_errors
from fairway.exit_codes import NO, UNREACHABLE, USAGE
from fairway.words import count_text, nodes_text, plugin_text

if TYPE_CHECKING:
    from fairway.explain.funnel import Step
    from fairway.explain.run_status import Status
    from fairway.live.scheduler_client import SchedulerAddress

__all__ = ["WAITING", "SchedulerView", "answer_sentence", "ask_view", "explain_pod", "print_answer", "read_view"]

T = TypeVar("T")


class SchedulerView(NamedTuple):
    """What a running scheduler told of itself."""

    status: Status
    scheduler: dict[str, Any]  # does it lead, how many wait where
    queue: list[dict[str, Any]]  # who waits, in its words

    @property
    def words(self) -> str:
        """How it is, shortly."""
        queued = ", ".join(
            f"{count_text(number)} {place}" for place, number in self.scheduler["queue"].items() if number
        )
        return ("leading" if self.scheduler["leading"] else "standby") + (f" ({queued})" if queued else "")


WAITING = (
    Column("pod", "POD"),
    Column("place", "PLACE"),
    Column("priority", "PRIORITY", right=True),
    Column("attempts", "ATTEMPTS", right=True),
    Column("since", "SINCE"),
    Column("refusedBy", "REFUSED BY"),
)
BEST = (Column("node", "NODE"), Column("total", "TOTAL", right=True))


@contextlib.contextmanager
def _known_words() -> Iterator[None]:
    """Whoever answers in other words than we know is of another version, or no scheduler."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise CommandError(
            f"the answer is not in the words of this version: {type(error).__name__} {error}",
            "is it `fairway run` that answers there, and of which version?",
            UNREACHABLE,
        ) from error


def ask_view(address: SchedulerAddress, kubeconfig: str | None, context: str | None, now: float) -> SchedulerView:
    """How the scheduler is, what it counts, and who waits."""
    paths = ("/fairway/v1/status", "/fairway/v1/queue", "/fairway/v1/view")
    status, queue, view = _ask(address, kubeconfig, context, *paths)
    return read_view(status, queue, view, now)


@_known_words()
def read_view(status: dict[str, Any], queue: dict[str, Any], view: dict[str, Any], now: float) -> SchedulerView:
    """The answers as a status, like that of a cluster that is read directly."""
    from fairway.explain.live_cluster import status_of
    from fairway.model import Node, Pod, decode_object

    def decoded(trees: list[dict[str, Any]], kind: type[T]) -> list[T]:
        objects = (decode_object(json.dumps(tree).encode(), "the scheduler's answer") for tree in trees)
        return [one for one in objects if isinstance(one, kind)]

    nodes, waiting = decoded(view["nodes"], Node), decoded(view["waiting"], Pod)
    found = status_of(nodes, view["used"], waiting, view["podsOnNodes"], now)
    return SchedulerView(found, status, queue["pods"])


@_known_words()
def explain_pod(
    address: SchedulerAddress,
    pod: str,
    kubeconfig: str | None,
    context: str | None,
    *,
    node: str | None,
    all_nodes: bool,
    output: str,
) -> int:
    """Print what the scheduler says about a pod."""
    name = pod if "/" in pod else f"default/{pod}"
    (found,) = _ask(address, kubeconfig, context, f"/fairway/v1/why?pod={quote(name)}&nodes=all")
    code = print_answer(found, node=node, all_nodes=all_nodes or output == "wide", output=output)
    if code == NO and not is_structured(output):
        options = LiveCluster(kubeconfig, context).arguments
        narrate(f"→ fairway why {word(found['pod'])} {options}   # what would fix it, tried on the cluster as it is")
    return code


@_known_words()
def print_answer(found: dict[str, Any], *, node: str | None, all_nodes: bool, output: str) -> int:
    """Print an answer about a pod; returns the exit code."""
    from fairway.explain.explanation import COLUMNS
    from fairway.explain.funnel import funnel_lines

    fits = bool(found["node"] or found.get("feasible"))
    rows = found.get("perNode", [])
    if node is not None:
        rows = [row for row in rows if row["node"] == node]
        if not rows and not found["node"]:
            raise CommandError(f"the scheduler knows no node {node}", "kubectl get nodes lists them", USAGE)
    if is_structured(output):
        emit(rows, COLUMNS, output, found | {"perNode": rows})
        return 0 if fits else NO
    if node is not None and rows:
        row = rows[0]
        does = "fits" if row["fits"] else "does not fit"
        why = f" · {row['plugin']}: {', '.join(row['reasons'])}" if not row["fits"] else ""
        say(f"{found['pod']} {does} on {node}{why}")
        return 0 if fits else NO
    say(answer_sentence(found))
    if not fits and found.get("message"):
        say(f"kube-scheduler's words: {found['message']}")
    if found.get("refused"):
        say()
        say("\n".join(funnel_lines(_funnel(found), found["nodes"])))
    if found.get("best") and not all_nodes:
        say()
        emit(found["best"], BEST, output)
    if all_nodes and rows:
        say()
        emit(rows, COLUMNS, output)
    return 0 if fits else NO


def _funnel(found: dict[str, Any]) -> list[Step]:
    """What each plugin left over, in the order in which it was asked, as `why` shows it."""
    from fairway.explain.funnel import Group, Step

    groups: dict[str, list[Group]] = {}
    for one in found["refused"]:
        words = ", ".join(reason.removeprefix("node(s) ") for reason in one["reasons"])
        groups.setdefault(one["plugin"], []).append(Group(words, one["nodes"]))
    steps, left = [], found["nodes"]
    for plugin, refused in groups.items():
        number = sum(group.num_nodes for group in refused)
        left -= number
        steps.append(Step(plugin, number, left, tuple(sorted(refused, key=lambda group: -group.num_nodes))))
    return steps


def answer_sentence(found: dict[str, Any]) -> str:
    """What the scheduler says about a pod, in one line."""
    held, ended = found.get("held"), found.get("lastHold")
    if held:
        by = ", ".join(map(plugin_text, held["by"]))
        return (
            f"{found['pod']} is held on {found['node']} by {by} · since {held['since']}, until {held['until']} at most"
        )
    if found["node"]:
        return f"{found['pod']} is {'being bound to' if found['assumed'] else 'on'} {found['node']}"
    number = found["feasible"]
    fits = f"fits on {nodes_text(number)} of {count_text(found['nodes'])}"
    words = f"{found['pod']} {fits if number else 'fits on none of ' + nodes_text(found['nodes'])}"
    queued = found["queue"]
    words += " · waiting" if queued is None else f" · waiting ({queued['place']}), attempt {queued['attempts']}"
    if ended:
        words += f" · held on {ended['node']} by {plugin_text(ended['by'])} until {ended['until']}: {ended['reason']}"
    return words


def _ask(address: SchedulerAddress, kubeconfig: str | None, context: str | None, *paths: str) -> list[dict[str, Any]]:
    """Some questions; our token goes along, if the kubeconfig has one."""
    return live_errors(_asked(address, kubeconfig, context, *paths))


async def _asked(
    address: SchedulerAddress, kubeconfig: str | None, context: str | None, *paths: str
) -> list[dict[str, Any]]:
    from fairway.live.api.clock import SystemClock
    from fairway.live.api.credentials import Credentials
    from fairway.live.api.problems import NoKubeconfig
    from fairway.live.scheduler_client import ask

    address.check()  # before an exec plugin is asked for a token in vain
    token = None
    try:
        credentials = await Credentials.load(kubeconfig, context, None, SystemClock(), warn=_ignore)
        token = await credentials.header()
    except NoKubeconfig:
        if kubeconfig is not None:
            raise
    return [await ask(address, path, token) for path in paths]


def _ignore(warning: str) -> None:
    """What the kubeconfig says of the API server's certificate is no danger: nobody talks to the API server here."""

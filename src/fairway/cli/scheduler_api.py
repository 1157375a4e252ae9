"""What a running `fairway run` says itself, for `why` and `status`: its queue, and its view of a pod.

In: the scheduler's address, and a kubeconfig for the token. Out: printed answers; exit code 0 if the pod has, or would
get, a node, 3 if not. `live.scheduler_client` sees to it that the token goes to no one else. Raises `CommandError` when
the scheduler can not be reached or does not let us.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from fairway.cli.main import CommandError
from fairway.cli.options.live import LiveCluster
from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.cli.run import live_errors
from fairway.exit_codes import FAILED, NO, UNREACHABLE
from fairway.words import count_text, plugin_text

if TYPE_CHECKING:
    from fairway.explain.run_status import Status
    from fairway.live.scheduler_client import SchedulerAddress

__all__ = [
    "WAITING",
    "SchedulerView",
    "answer_sentence",
    "ask_scheduler",
    "ask_view",
    "explain_job",
    "explain_pod",
    "print_answer",
    "read_view",
]

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
    every = all_nodes or output == "wide"
    about = "" if node is None else f"&node={quote(node)}"
    (found,) = _ask(
        address,
        kubeconfig,
        context,
        f"/fairway/v1/why?pod={quote(name)}&text=yes{'&nodes=all' if every else ''}{about}",
    )
    if "queueing" in found and node is None and not every:
        return _print_queueing(found["queueing"], LiveCluster(kubeconfig, context), output)
    if "pod" not in found:
        return print_job_view(found, LiveCluster(kubeconfig, context).arguments, output)
    options = _arguments(address, kubeconfig, context)
    return print_answer(found, node=node, all_nodes=every, output=output, options=options)


@_known_words()
def explain_job(address: SchedulerAddress, job: str, kubeconfig: str | None, context: str | None, output: str) -> int:
    """Print what the scheduler says about a job."""
    name = job if "/" in job else f"default/{job}"
    (found,) = _ask(address, kubeconfig, context, f"/fairway/v1/why?job={quote(name)}")
    if "queueing" in found:
        return _print_queueing(found["queueing"], LiveCluster(kubeconfig, context), output)
    return print_job_view(found, LiveCluster(kubeconfig, context).arguments, output)


def _print_queueing(found: dict[str, Any], live: LiveCluster, output: str) -> int:
    """Print why a job of a queue waits, as the scheduler says it."""
    from fairway.cli.queues.queue_why import print_scheduler_why

    return print_scheduler_why(found, live, output)


@_known_words()
def print_job_view(found: dict[str, Any], options: str, output: str) -> int:
    """Print an answer about a job; returns the exit code."""
    if is_structured(output):
        emit([{"pod": pod} for pod in found["waiting"]], (Column("pod", "POD"),), output, found)
        return 0 if found["fits"] else NO
    say(job_sentence(found))
    if not found["fits"]:
        if found["message"]:
            say(found["message"])
        narrate(f"→ fairway why {word(found['job'])} {options}   # who holds its room, and what would fix it")
    return 0 if found["fits"] else NO


def job_sentence(found: dict[str, Any]) -> str:
    """What the scheduler says about a job, in one line."""
    total = found["minCount"] or found["there"]
    least = "" if found["minCount"] is None else f" (min {found['minCount']})"
    if not found["waiting"]:
        return f"job {found['job']} has started · {found['bound']} members have a node{least}"
    place = "" if found["place"] is None else f" ({found['place']})"
    tried = f", attempt {found['attempts']}" if found["attempts"] else ""
    if found["there"] - found["gated"] < total:
        fit = f"{found['there']} of {total} members are there"
    elif found["missing"]:
        fit = f"{max(total - found['missing'], 0)} of {total} members fit"
    else:
        fit = "it could start now" if found["fits"] else f"{found['bound']} of {total} members have a node"
    return f"job {found['job']} waits{place}{tried} · {fit}{least}"


@_known_words()
def print_answer(found: dict[str, Any], *, node: str | None, all_nodes: bool, output: str, options: str) -> int:
    """Print an answer about a pod as `why` does everywhere; beside it, what only the scheduler knows."""
    from fairway.explain.explanation import COLUMNS

    answer = found["answer"]
    rows, document = answer["rows"], answer["document"]
    if is_structured(output):
        own = {key: found[key] for key in ("assumed", "queue", "held", "lastHold", "job") if key in found}
        emit(rows, COLUMNS, output, document | {"onNode": found["node"]} | own)
    else:
        narrate(answer_sentence(found))
        if found.get("job"):
            say(f"{job_sentence(found['job'])}\n")
        say("\n".join(answer["text"]))
        if all_nodes and node is None:
            say()
            emit(rows, COLUMNS, "wide" if output == "wide" else "table")
        elif node is None and (other := answer["otherNode"]):
            narrate(f"→ fairway why {word(found['pod'])} --node {word(other)} {options}")
    if document["result"] == "error":
        return FAILED
    return 0 if answer["fits"] else NO


def answer_sentence(found: dict[str, Any]) -> str:
    """Where the pod is, or how it waits, in one line: what only the scheduler knows."""
    held, ended = found.get("held"), found.get("lastHold")
    if held:
        by = ", ".join(map(plugin_text, held["by"]))
        return (
            f"{found['pod']} is held on {found['node']} by {by} · since {held['since']}, until {held['until']} at most"
        )
    if found["node"]:
        where = f"is {'being bound to' if found['assumed'] else 'on'} {found['node']}"
        return f"{found['pod']} {where}; this is how it would be decided now"
    queued = found["queue"]
    words = f"{found['pod']} is waiting" if queued is None else _waiting_words(found["pod"], queued)
    if ended:
        words += f" · held on {ended['node']} by {plugin_text(ended['by'])} until {ended['until']}: {ended['reason']}"
    return words


def _arguments(address: SchedulerAddress, kubeconfig: str | None, context: str | None) -> str:
    """The options that ask the same scheduler once more, to be shown in a hint."""
    given = {
        "--scheduler": address.url,
        "--certificate-authority": address.authority_file,
        "--certificate-fingerprint": address.fingerprint,
        "--kubeconfig": kubeconfig,
        "--context": context,
    }
    words = [part for name, value in given.items() if value is not None for part in (name, value)]
    return shlex.join([*words, *(["--insecure-skip-tls-verify"] if address.is_unchecked else [])])


def _waiting_words(pod: str, queued: dict[str, Any]) -> str:
    return f"{pod} is waiting ({queued['place']}), attempt {queued['attempts']}"


def ask_scheduler(address: SchedulerAddress, live: LiveCluster, path: str, body: bytes | None = None) -> dict[str, Any]:
    """One question, or something posted; our token goes along, if the kubeconfig has one."""
    (found,) = live_errors(_asked(address, *live, path, body=body))
    return found


def _ask(address: SchedulerAddress, kubeconfig: str | None, context: str | None, *paths: str) -> list[dict[str, Any]]:
    """Some questions; our token goes along, if the kubeconfig has one."""
    return live_errors(_asked(address, kubeconfig, context, *paths))


async def _asked(
    address: SchedulerAddress, kubeconfig: str | None, context: str | None, *paths: str, body: bytes | None = None
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
    return [await ask(address, path, token, body) for path in paths]


def _ignore(warning: str) -> None:
    """What the kubeconfig says of the API server's certificate is no danger: nobody talks to the API server here."""

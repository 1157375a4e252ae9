"""What a running `fairway run` says itself, for `why` and `status`: its queue, and its view of a pod.

In: the scheduler's address, and a kubeconfig for the token. Out: printed answers; exit code 0 if the pod has, or would
get, a node, 3 if not. `live.scheduler_client` sees to it that the token goes to no one else. Raises `CommandError` when
the scheduler can not be reached or does not let us.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fairway.cli.main import CommandError
from fairway.cli.output import Column, emit, is_structured, say
from fairway.cli.run import live_errors
from fairway.exit_codes import NO, UNREACHABLE
from fairway.words import count_text, nodes_text, plugin_text, pods_text

if TYPE_CHECKING:
    from fairway.live.scheduler_client import SchedulerAddress

__all__ = ["answer_sentence", "explain_pod", "show_queue"]

WAITING = (
    Column("pod", "POD"),
    Column("place", "PLACE"),
    Column("priority", "PRIORITY", right=True),
    Column("attempts", "ATTEMPTS", right=True),
    Column("since", "SINCE"),
    Column("refusedBy", "REFUSED BY"),
)
REFUSED = (
    Column("nodes", "NODES", right=True),
    Column("plugin", "PLUGIN"),
    Column("reasons", "REASONS"),
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


@_known_words()
def show_queue(address: SchedulerAddress, kubeconfig: str | None, context: str | None, output: str) -> None:
    """Print how the scheduler is, and who waits."""
    status, queue = _ask(address, kubeconfig, context, "/fairway/v1/status", "/fairway/v1/queue")
    pods = queue["pods"]
    if is_structured(output):
        emit(pods, WAITING, output, status | {"waiting": pods})
        return
    words = "leading" if status["leading"] else "standby"
    waiting = ", ".join(f"{count_text(number)} {place}" for place, number in status["queue"].items() if number)
    parts = [words, nodes_text(status["nodes"]), f"{pods_text(status['podsOnNodes'])} on nodes"]
    say(" · ".join([*parts, waiting or "nobody waits"]))
    if pods:
        say()
        emit(pods, WAITING, output)


@_known_words()
def explain_pod(address: SchedulerAddress, pod: str, kubeconfig: str | None, context: str | None, output: str) -> int:
    """Print what the scheduler says about a pod."""
    name = pod if "/" in pod else f"default/{pod}"
    (found,) = _ask(address, kubeconfig, context, f"/fairway/v1/why?pod={quote(name)}")
    fits = bool(found["node"] or found.get("feasible"))
    if is_structured(output):
        emit(found.get("refused", []), REFUSED, output, found)
        return 0 if fits else NO
    say(answer_sentence(found))
    if found.get("refused"):
        say()
        emit(found["refused"], REFUSED, output)
    if found.get("best"):
        say()
        emit(found["best"], BEST, output)
    return 0 if fits else NO


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
    queued = found["queue"]
    words = f"{found['pod']} is waiting"
    if queued is not None:
        words += f" ({queued['place']}) · attempt {queued['attempts']}"
    fits = f"fits on {nodes_text(found['feasible'])} of {count_text(found['nodes'])}"
    words = f"{words} · {fits if found['feasible'] else found['message'] or 'fits nowhere'}"
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

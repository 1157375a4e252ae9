"""The rules by which messages become intervals, said again in the plainest way: for each pod, every rule in its order.

A pod that was on one node and then on another is two, one after the other. None comes back to a node here: that has
tests of its own.
"""

import functools
import itertools
from collections.abc import Sequence

from fairway.stream.go_time import parse_go_time
from fairway.stream.message import Message

Answer = tuple[int, str, int | None, str | None, str | None] | None


read_time = functools.cache(parse_go_time)


def naive_times(messages: Sequence[Message]) -> tuple[int | None, int]:
    """The run's 0 in nanoseconds since 1970, and how long the run is."""
    times = [read_time(message.timestamp) for message in messages if message.timestamp]
    if not times:
        return None, 0
    origin = min((time.nanoseconds for time in times if time.is_exact), default=min(time.nanoseconds for time in times))
    return origin, max(0, max(time.nanoseconds for time in times) - origin)


def naive_intervals(messages: Sequence[Message], name: str) -> list[tuple[str, Answer]]:
    """Of each node that a pod was on, in order of the first exact times there: the node and the interval."""
    origin, _ = naive_times(messages)
    exact: dict[str, int] = {}
    for message in messages:
        if message.name == name and message.time is not None and message.time.is_exact:
            exact[message.node] = min(exact.get(message.node, message.time.nanoseconds), message.time.nanoseconds)
    order = sorted(exact, key=exact.__getitem__)
    found = []
    for node, after in zip(order, [*order[1:], None], strict=True):
        interval = naive_interval(messages, name, node)
        if interval is not None and after is not None:
            cut = exact[after] - (origin or 0)
            if interval[2] is None or cut < interval[2]:
                interval = (*interval[:2], max(interval[0], cut), "other node", "Deleted")
        found.append((node, interval))
    return found


def naive_interval(messages: Sequence[Message], name: str, node: str | None = None) -> Answer:
    """From, its source, to, its source, reason; None: never bound. On that node, or on the one that it was on."""
    origin, _ = naive_times(messages)

    moments = [read_time(message.timestamp) if message.timestamp else None for message in messages]
    times = [None if moment is None else moment.nanoseconds - (origin or 0) for moment in moments]
    clocks = list(itertools.accumulate((0 if time is None else time for time in times), max, initial=0))[1:]

    def clock_at(index: int) -> int:
        return clocks[index]

    def time_at(index: int) -> int:
        time = times[index]
        return clock_at(index) if time is None else max(0, time)

    own = [
        index
        for index, message in enumerate(messages)
        if message.object == "Pod" and message.name == name and node in (None, message.node)
    ]
    watched = [index for index in own if messages[index].endpoint in ("podAdd", "podUpdate", "podDelete")]

    def first(event: str) -> int | None:
        return next((index for index in own if messages[index].event == event), None)

    start = None
    proof = watched or first("postStart") is not None or first("preStop") is not None
    if (index := first("BindingSuccess")) is not None:
        start = (time_at(index), "BindingSuccess")
    elif (index := first("ScheduleSuccess")) is not None and proof:
        start = (time_at(index), "ScheduleSuccess")
    elif (index := next((i for i in watched if messages[i].event == "PodScheduled"), None)) is not None:
        start = (time_at(index), "PodScheduled")
    if start is None:
        return None
    phase = next((i for i in watched if messages[i].event in ("Succeeded", "Failed")), None)
    deletion = next((i for i in watched if messages[i].endpoint == "podDelete"), None)
    end = None
    if (index := first("preStop")) is not None:
        end = (time_at(index), "preStop")
    elif phase is not None:
        end = (clock_at(phase), "phase")
    elif deletion is not None:
        end = (clock_at(deletion), "podDelete")
    if end is None:
        return (*start, None, None, None)
    return (*start, max(start[0], end[0]), end[1], messages[phase].event if phase is not None else "Deleted")

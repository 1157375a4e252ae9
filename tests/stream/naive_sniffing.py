"""The rules by which messages become intervals, said again in the plainest way: for each pod, every rule in its order.

Pods stay on one node here; what happens when they do not has tests of its own.
"""

from collections.abc import Sequence

from fairway.stream.message import Message

Answer = tuple[int, str, int | None, str | None, str | None] | None


def naive_times(messages: Sequence[Message]) -> tuple[int | None, int]:
    """The run's 0 in nanoseconds since 1970, and how long the run is."""
    times = [message.time for message in messages if message.time is not None]
    if not times:
        return None, 0
    origin = min((time.nanoseconds for time in times if time.is_exact), default=min(time.nanoseconds for time in times))
    return origin, max(0, max(time.nanoseconds for time in times) - origin)


def naive_interval(messages: Sequence[Message], name: str) -> Answer:
    """From, its source, to, its source, reason; None: never bound."""
    origin, _ = naive_times(messages)

    def clock_at(index: int) -> int:
        times = [message.time.nanoseconds for message in messages[: index + 1] if message.time is not None]
        return max(0, max(times) - origin) if times and origin is not None else 0

    def time_at(index: int) -> int:
        time = messages[index].time
        return clock_at(index) if time is None else max(0, time.nanoseconds - (origin or 0))

    own = [index for index, message in enumerate(messages) if message.object == "Pod" and message.name == name]
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

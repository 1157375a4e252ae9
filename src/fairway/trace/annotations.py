"""What objects say about their lives in time: annotations under `fairway.dev/`, and how durations are written.

In: an object with annotations, or a text such as "1h30m". Out: seconds. The readers of this room write these
annotations, manifests may carry them, and the simulator obeys them. Pods that differ only in them are the same to a
scheduler.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any, Final

from fairway.model import DecodeError, Source, object_name
from fairway.model.data_need import DATA, DATA_MODE
from fairway.model.seconds import PLAIN, parse_seconds, seconds_text
from fairway.model.tenant import EXCLUSIVE, ONE_PER_NODE

__all__ = [
    "ARRIVAL",
    "DURATION",
    "EXIT_CODE",
    "FAIL_AFTER",
    "FAIL_PROBABILITY",
    "GANG",
    "GANG_SIZE",
    "GROUP",
    "QOS",
    "START_LATENCY",
    "TIME_LIMIT",
    "USER",
    "check_annotations",
    "parse_seconds",
    "seconds_annotation",
    "seconds_text",
]

PREFIX: Final = "fairway.dev/"
ARRIVAL: Final = f"{PREFIX}arrival"  # seconds from the start until it is created
DURATION: Final = f"{PREFIX}duration"  # how long it runs; without, forever
FAIL_AFTER: Final = f"{PREFIX}fail-after"  # how long it runs before it fails
FAIL_PROBABILITY: Final = f"{PREFIX}fail-probability"  # from 0 to 1
EXIT_CODE: Final = f"{PREFIX}exit-code"  # what its first container ends with when it fails; without, 1
START_LATENCY: Final = f"{PREFIX}start-latency"  # from binding to running
TIME_LIMIT: Final = f"{PREFIX}time-limit"  # how long its user said it would run at most
USER: Final = f"{PREFIX}user"  # whose it is, for fairness; without, its namespace's
GROUP: Final = f"{PREFIX}group"  # the group of that user
GANG: Final = f"{PREFIX}gang"  # the name of the job it is a part of
GANG_SIZE: Final = f"{PREFIX}gang-size"  # how many pods that job has
QOS: Final = f"{PREFIX}qos"  # the class of service a trace gives it

KNOWN: Final = (
    *(ARRIVAL, DURATION, FAIL_AFTER, FAIL_PROBABILITY, EXIT_CODE, START_LATENCY),
    *(TIME_LIMIT, USER, GROUP, GANG, GANG_SIZE, DATA, DATA_MODE, QOS),
    *(EXCLUSIVE, ONE_PER_NODE),
)
LONGEST_KEY: Final = 100
"""Longer ones are none of these: to compare takes time."""
TIMES: Final = (ARRIVAL, DURATION, FAIL_AFTER, START_LATENCY, TIME_LIMIT)
TEMPLATES: Final = {"template": "template", "job_template": "jobTemplate"}  # where controllers have them
CODE: Final = re.compile(r"[0-9]{1,3}")


def seconds_annotation(thing: Any, key: str, source: Source | str = "") -> float | None:
    """What one of an object's annotations says in seconds; None without it, `DecodeError` if it makes no sense."""
    text = thing.metadata.annotations.get(key)
    if text is None:
        return None
    try:
        return parse_seconds(text)
    except ValueError as error:
        field = f"metadata.annotations[{key!r}]"
        raise DecodeError(str(error), source=source, subject=object_name(thing), field=field) from error


def check_annotations(thing: Any, source: Source | str = "") -> list[DecodeError]:
    """Everything that is wrong with annotations under `fairway.dev/`, of an object and of the pods it makes."""
    problems = []
    for path, said in _all_annotations(thing, ""):
        for key, text in said.items():
            if problem := _problem(key, text):
                field = f"{path}metadata.annotations[{key!r}]"
                problems.append(DecodeError(problem, source=source, subject=object_name(thing), field=field))
    return problems


def _problem(key: str, text: str) -> str:
    if key in TIMES:
        try:
            parse_seconds(text)
        except ValueError as error:
            return str(error)
    elif key == FAIL_PROBABILITY and not (PLAIN.fullmatch(text) and float(text) <= 1):
        return f"must be a number from 0 to 1, not {text!r}"
    elif key == EXIT_CODE and not (CODE.fullmatch(text) and 1 <= int(text) <= 255):
        return f"must be a whole number from 1 to 255, not {text!r}"
    elif key == EXCLUSIVE and text not in ("node", "user"):
        return f"must be node or user, not {text!r}"
    elif key == ONE_PER_NODE and text not in ("true", "false"):
        return f"must be true or false, not {text!r}"
    elif key.startswith(PREFIX) and key not in KNOWN and len(key) <= LONGEST_KEY:
        near = difflib.get_close_matches(key, KNOWN, 1, 0.9)
        return f"is unknown; did you mean {near[0]}?" if near else ""
    return ""


def _all_annotations(thing: Any, path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Those of an object and of the templates in it, with the paths of their owners."""
    yield path, thing.metadata.annotations
    spec = getattr(thing, "spec", None)
    for name, field in TEMPLATES.items():
        template = getattr(spec, name, None)
        if template is not None:
            yield from _all_annotations(template, f"{path}spec.{field}.")

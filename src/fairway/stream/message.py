"""One message of the sniffer, and the two forms that it has in a log.

In: a line of a log, `  DEBUG:  {"pod": …}` in the first form or bare JSON in the second, with what `kubectl logs` or a
container runtime has put before it, or what came over the wire. Out: a `Message`, or a `BadLineError` that says what is
wrong with the line. `line_of` writes the second form. All texts are somebody else's: they are bounded here, and made
visible where they are shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from fairway.stream.go_time import GoTime, parse_go_time

__all__ = ["LOG_FORMS", "BadLineError", "Form", "Message", "line_of", "read_line"]

Form = Literal["first", "second"]
LOG_FORMS: Final = (
    '`  DEBUG:  {"pod", "endpoint", "node", "event", "timestamp"}` or bare JSON '
    '`{"object", "name", "endpoint", "reason", "message", "node", "event", "extra", "timestamp"}`'
)
BLANK: Final = r"(?:\s|\x1b\[[0-9;]*+m)*+"  # colours are no more than that
PREFIX: Final = re.compile(  # blanks that were taken are never given back: a line may have a million of them
    r"\s*+(?:\[[^\[\]]{1,300}\]\s++)?"  # kubectl logs --prefix
    # kubectl logs --timestamps, or a runtime's own file
    r"(?:\d{4}-\d\d-\d\dT[0-9:.]{8,18}(?:Z|[+-]\d\d:\d\d)\s++(?:(?:stdout|stderr) [FP] )?)?"
    rf"{BLANK}(?:(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE):)?{BLANK}(?=\{{)",
    re.IGNORECASE,
)
TEXTS: Final = ("name", "endpoint", "reason", "message", "node", "event", "timestamp")
MAX_TEXT: Final = 64 << 10
SHOWN: Final = 60


class BadLineError(ValueError):
    """A line that is no message."""


class Message(NamedTuple):
    """What a producer told; what it did not tell is empty."""

    object: str  # "Pod" or "Node"
    name: str
    endpoint: str = ""  # where in the producer: schedulePod, bindingCycle, preStop, podUpdate, nodeAdd, ...
    event: str = ""  # what happened: ScheduleSuccess, BindingSuccess, a phase, a condition, ...
    node: str = ""  # of a pod
    reason: str = ""
    message: str = ""
    extra: Mapping[str, str] = {}
    timestamp: str = ""

    @property
    def time(self) -> GoTime | None:
        """When, if it says so; ValueError if that is no time."""
        return parse_go_time(self.timestamp) if self.timestamp else None


def read_line(line: str) -> tuple[Message, Form]:
    """The message of a line, and in which form it was."""
    prefix = PREFIX.match(line)
    text = line[prefix.end() :] if prefix else line
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise BadLineError("is no JSON") from None
    if not isinstance(document, dict):
        raise BadLineError("is JSON, but no object")
    form: Form = "first" if "pod" in document and "object" not in document else "second"
    message = _read_document(document, form)
    try:
        message.time  # noqa: B018 - to find out whether it can be read
    except ValueError as error:
        raise BadLineError(f"timestamp {message.timestamp[:SHOWN]!r} {error}") from None
    return message, form


def _read_document(document: dict[str, Any], form: Form) -> Message:
    if form == "first":
        document = {**document, "object": "Pod", "name": document["pod"]}
    kind = document.get("object")
    if kind not in ("Pod", "Node"):
        raise BadLineError('names neither a "pod" nor an "object" that is Pod or Node')
    texts = {}
    for field in TEXTS:
        value = document.get(field) or ""
        if not isinstance(value, str):
            raise BadLineError(f"{field} is no text")
        if len(value) > MAX_TEXT:
            raise BadLineError(f"{field} has {len(value)} characters")
        texts[field] = value
    if not texts["name"]:
        raise BadLineError(f"does not say which {kind.lower()}")
    extra = document.get("extra") or {}
    if not isinstance(extra, dict) or not all(isinstance(value, str) for value in extra.values()):
        raise BadLineError("extra is no object of texts")
    return Message(object=kind, extra=extra, **texts)


def line_of(message: Message) -> str:
    """The message in the second form, without what is empty, as its own writer leaves it out."""
    fields = ("object", "name", "endpoint", "reason", "message", "node", "event", "extra", "timestamp")
    told = {field: value for field in fields if (value := getattr(message, field))}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

"""Logs: one JSON object a line, or plain text for people; never a token.

In: Python's log records, with `extra` fields. Out: lines on a stream, with kube-scheduler's keys of `--logging-format
json` (ts in milliseconds, v, msg, and the fields), plus level and logger. Whatever looks like a credential is blacked
out at the very end, wherever it came from. `cli/run.py` sets this up.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import sys
from typing import Any, Literal, TextIO

import msgspec

from fairway.words import visible

__all__ = ["JsonFormatter", "LogFormat", "PlainFormatter", "redact", "set_up"]

LogFormat = Literal["json", "text"]

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
HIDDEN = "[REDACTED]"

SECRETS = re.compile(
    r"""
      (?P<scheme>\b(?:bearer|basic)\s+)(?P<credential>[A-Za-z0-9._~+/=-]{8,})      # of an Authorization header
    | (?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?  # a JSON web token
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?P<key>["']?(?:token|id[-_]token|refresh[-_]token|passw(?:or)?d|client[-_]?key[-_]?data|client[-_]?secret
        |secret[-_]?(?:access[-_]?)?key|api[-_]?key|authorization)["']?\s*[:=]\s*)
      (?P<value>"[^"]*"|'[^']*'|[^\s,;}&]+)
    | (?P<user>://[^/\s:@]+:)[^/\s@]+(?=@)                                         # user:password@ in an address
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def redact(text: str) -> str:
    """The text without credentials."""
    return SECRETS.sub(_blacked_out, text)


def _blacked_out(match: re.Match[str]) -> str:
    for kept in ("scheme", "key", "user"):
        if match[kept] is not None:
            return f"{match[kept]}{HIDDEN}"
    return HIDDEN


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool) or value is None else redact(str(value))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What was given as `extra`."""
    return {name: _plain(value) for name, value in vars(record).items() if name not in STANDARD}


class JsonFormatter(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "v": 0,
            "msg": redact(record.getMessage()),
            **_fields(record),
        }
        if record.exc_info:
            line["stacktrace"] = redact(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


class PlainFormatter(logging.Formatter):
    """Time, level, words, fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        text = visible(f"{at} {record.levelname:<7} {redact(record.getMessage())}{fields}", one_line=True)
        if record.exc_info:
            text += "\n" + visible(redact(self.formatException(record.exc_info)))
        return text


def set_up(style: LogFormat = "json", level: int = logging.INFO, stream: TextIO | None = None) -> logging.Handler:
    """Send everything that Fairway and its libraries log to one stream; returns the handler, to take it off again."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else PlainFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for noisy in ("aiohttp.access", "asyncio"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING))
    return handler

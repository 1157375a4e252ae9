from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterator

import msgspec
import pytest

from fairway.live.api.logs import PlainFormatter, redact, set_up

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    set_up("json", logging.INFO, stream)
    yield stream
    for handler in list(root.handlers):
        root.removeHandler(handler)
    for handler in before:
        root.addHandler(handler)
    root.setLevel(level)


def test_line_is_an_object_with_kube_schedulers_keys(stream: io.StringIO) -> None:
    logging.getLogger("fairway.live.x").info("bound %s", "a/b", extra={"pod": "a/b", "node": "n1", "seconds": 0.5})
    (line,) = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    assert line["msg"] == "bound a/b"
    assert line["level"] == "info"
    assert line["logger"] == "fairway.live.x"
    assert (line["pod"], line["node"], line["seconds"]) == ("a/b", "n1", 0.5)
    assert line["v"] == 0
    assert line["ts"] > 1_600_000_000_000


def test_traceback_stays_on_its_line(stream: io.StringIO) -> None:
    try:
        raise ValueError(f"token={JWT}")
    except ValueError:
        logging.getLogger("x").exception("broke")
    (line,) = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    assert "ValueError" in line["stacktrace"]
    assert JWT not in stream.getvalue()


def test_plain_lines_are_for_people() -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    try:
        set_up("text", logging.INFO, stream)
        logging.getLogger("x").warning("no room", extra={"pod": "a/b"})
        logging.getLogger("x").debug("not shown")
    finally:
        for handler in list(root.handlers):
            root.removeHandler(handler)
        for handler in before:
            root.addHandler(handler)
        root.setLevel(level)
    assert stream.getvalue().endswith("WARNING no room pod=a/b\n")
    assert "not shown" not in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Authorization: Bearer {JWT}", "Authorization: [REDACTED] [REDACTED]"),
        ("{'Authorization': 'Bearer abcdefghijklmnop'}", "{'Authorization': [REDACTED]}"),
        ("sent bearer abcdefghijklmnop to x", "sent bearer [REDACTED] to x"),
        (f"a token {JWT} in a sentence", "a token [REDACTED] in a sentence"),
        ('{"token":"abc123"}', '{"token":[REDACTED]}'),
        ("token=abc123&x=1", "token=[REDACTED]&x=1"),
        ("https://me:secret@host/path", "https://me:[REDACTED]@host/path"),
        (
            "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY----- and more",
            "[REDACTED] and more",
        ),
        ("pod default/web-0 was bound to node-a", "pod default/web-0 was bound to node-a"),
        ("bearer of news", "bearer of news"),
        ("https://host:6443/api", "https://host:6443/api"),
    ],
)
def test_credentials_are_blacked_out(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_fields_are_blacked_out_too(stream: io.StringIO) -> None:
    logging.getLogger("x").info("asked", extra={"header": f"Bearer {JWT}", "about": {"token": "abc123"}})
    assert JWT not in stream.getvalue()
    assert "abc123" not in stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "eyJ-" * 200_000,
        "-----BEGIN " * 100_000,
        "-----BEGIN " + "PRIVATE " * 100_000,
        "bearer " * 100_000,
        "token" + " " * 500_000,
        "token: " * 100_000,
        'token="' + "a" * 500_000,
        "://a:" * 100_000,
        "://" + "a" * 500_000,
    ],
    ids=lambda text: text[:12],
)
def test_redacting_takes_no_longer_than_reading(text: str) -> None:
    """Each of these would take minutes if every place of the text were looked at from every other."""
    begun = time.process_time()
    redact(text)
    assert time.process_time() - begun < 10


def test_plain_lines_show_what_would_move_the_cursor() -> None:
    record = logging.makeLogRecord({"msg": "pod %s", "args": ("a\x1b[2Jb\nINFO faked",), "levelname": "INFO"})
    line = PlainFormatter().format(record)
    assert r"a\x1b[2Jb\nINFO faked" in line

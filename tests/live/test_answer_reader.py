"""One stream of bytes, one reading of it: ours, and that of Python's own client."""

from __future__ import annotations

import http.client
import io
import itertools
import socket
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.live.api.answer_reader import MAX_BODY_BYTES, AnswerReader, Received

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED = {
    "length with a sign": OK + b"Content-Length: +2\r\n\r\nhi",
    "length with an underscore": OK + b"Content-Length: 1_0\r\n\r\n0123456789",
    "length with a space": OK + b"Content-Length: 1 0\r\n\r\n0123456789",
    "length in other digits": OK + "Content-Length: \u00b2\r\n\r\nhi".encode("latin-1"),
    "length with a blank that is none": OK + b"Content-Length: 2\xa0\r\n\r\nhi",
    "length with a vertical tab": OK + b"Content-Length: 2\x0b\r\n\r\nhi",
    "negative length": OK + b"Content-Length: -1\r\n\r\n",
    "no length": OK + b"\r\nhi",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 5\r\n\r\nhi",
    "the same length twice": OK + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi",
    "length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "compressed": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "huge length": OK + f"Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode(),
    "huge chunk": CHUNKED + b"ffffffff\r\n",
    "chunk with a prefix": CHUNKED + b"0x2\r\nhi\r\n0\r\n\r\n",
    "chunk with a sign": CHUNKED + b"+2\r\nhi\r\n0\r\n\r\n",
    "chunk with an underscore": CHUNKED + b"0_2\r\nhi\r\n0\r\n\r\n",
    "chunk without a size": CHUNKED + b"\r\nhi\r\n0\r\n\r\n",
    "chunk that is longer": CHUNKED + b"2\r\nhix\r\n0\r\n\r\n",
    "endless chunk line": CHUNKED + b"2" + b" " * 2000,
    "trailer": CHUNKED + b"2\r\nhi\r\n0\r\nX: y\r\n\r\n",
    "endless head": OK + b"X: " + b"y" * 70_000,
    "long head": OK + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
    "folded header": OK + b"Content-Length: 2\r\n more: x\r\n\r\nhi",
    "header without a colon": OK + b"Content-Length 2\r\n\r\nhi",
    "space before the colon": OK + b"Content-Length : 2\r\n\r\nhi",
    "another protocol": b"SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP/2": b"HTTP/2 200\r\nContent-Length: 2\r\n\r\nhi",
    "status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
    "status with a sign": b"HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("stream", REFUSED.values(), ids=REFUSED)
def test_what_is_not_http_to_the_letter_is_no_answer(stream: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        AnswerReader().feed(stream)


class Stream:
    """Bytes in place of a socket, for Python's client."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def reference(stream: bytes) -> tuple[int, bytes]:
    """What Python's own client makes of it."""
    answer = http.client.HTTPResponse(cast("socket.socket", Stream(stream)))
    answer.begin()
    return answer.status, answer.read()


def read(stream: bytes, cuts: list[int]) -> Received | None:
    """What we make of it when it comes in pieces."""
    reader = AnswerReader()
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    for start, end in itertools.pairwise(places):
        received = reader.feed(stream[start:end])
        if received is not None:
            return received
    return None


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    body = draw(st.binary(max_size=200))
    extra = draw(st.sampled_from([b"", b"X-A: b\r\n", b"date: now\r\nX-Y:\r\n", b"Connection: close\r\n"]))
    head = f"HTTP/1.{draw(st.integers(0, 1))} {draw(st.integers(200, 599))} words\r\n".encode() + extra
    if draw(st.booleans()):
        return head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    chunks, rest = b"", body
    while rest:
        size = draw(st.integers(1, len(rest)))
        chunks += f"{size:x}\r\n".encode() + rest[:size] + b"\r\n"
        rest = rest[size:]
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


CUTS = st.lists(st.integers(0, 400), max_size=8)
DAMAGES = st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), min_size=1, max_size=4)


@given(answers(), CUTS)
def test_whole_answers_are_read_as_others_read_them_however_they_come(stream: bytes, cuts: list[int]) -> None:
    received = read(stream, cuts)
    assert received is not None
    if received.status not in (204, 304):
        assert received[::2] == reference(stream)


def check_damaged(stream: bytes, damages: list[tuple[int, bytes]], cuts: list[int]) -> None:
    for at, junk in damages:
        stream = stream[:at] + junk + stream[at + len(junk) :]
    try:
        received = read(stream, cuts)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            read(stream, [])  # in one piece as well
        return
    assert received == read(stream, [])
    if received is None or received.status in (204, 304):
        return
    try:
        theirs = reference(stream)
    except (http.client.HTTPException, ValueError):
        return  # stricter than we are
    assert received[::2] == theirs


@given(answers(), DAMAGES, CUTS)
def test_damaged_answers_are_refused_or_read_as_others_read_them(
    stream: bytes, damages: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    check_damaged(stream, damages, cuts)


@pytest.mark.slow
@settings(derandomize=False, max_examples=8000)
@given(answers(), DAMAGES, CUTS)
def test_so_are_fresh_ones(stream: bytes, damages: list[tuple[int, bytes]], cuts: list[int]) -> None:
    check_damaged(stream, damages, cuts)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_an_error_or_not_enough(stream: bytes) -> None:
    try:
        read(stream, [])
    except ValueError:
        return

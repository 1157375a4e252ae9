"""Lines and bytes of files, plain or gzip, whole or damaged."""

import gzip
import hashlib
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fairway.model import DecodeError
from fairway.model.text_file import EXPANDED_BYTES, MAX_LINE, read_bytes, read_lines

TEXT = "".join(f"{number} some words\n" for number in range(20000)).encode()
# Hardly compressible: gzip's reader takes up to 128 KiB of a file at once, and progress is told in steps no smaller.
DIGESTS = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(20000)]


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
def test_lines_bytes_and_progress(tmp_path: Path, compress: bool) -> None:
    file = tmp_path / "file"
    text = "\n".join(DIGESTS).encode()
    file.write_bytes(gzip.compress(text) if compress else text)
    told: list[float] = []
    lines = list(read_lines(file, told.append))
    assert lines == list(enumerate(DIGESTS, 1))
    assert sum(told) == pytest.approx(1)
    assert max(told) < 0.5
    told.clear()
    assert read_bytes(file, told.append) == text
    assert sum(told) == pytest.approx(1)


@contextmanager
def _piped(data: bytes) -> Iterator[str]:
    """A name under which a program's output is read, as shells make them of `<(...)`."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), open(writing, "wb") as pipe:  # noqa: PTH123 - it has a number and no path
            pipe.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)  # before the writer is waited for: nobody reads what is left
        writer.join()


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
def test_a_pipe_has_no_length_and_is_read_all_the_same(compress: bool) -> None:
    text = "\n".join(DIGESTS).encode()
    told: list[float] = []
    data = gzip.compress(text) if compress else text
    with _piped(data) as path:
        assert list(read_lines(path, told.append)) == list(enumerate(DIGESTS, 1))
    with _piped(data) as path:
        assert read_bytes(path, told.append) == text
    assert told == [1.0, 1.0]  # how far it is, nobody knows before its end


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"a\r\nb\rc", ["a", "b", "c"], id="ends of lines"),
        pytest.param(b"\xef\xbb\xbfa\n\n", ["a", ""], id="byte order mark"),
        pytest.param(b"caf\xe9\n", ["caf�"], id="not UTF-8"),
    ],
)
def test_text(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    (tmp_path / "file").write_bytes(data)
    assert [line for _, line in read_lines(tmp_path / "file")] == lines


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(gzip.compress(TEXT)[:-2000], "is cut off: the compressed data ends after", id="cut off"),
        pytest.param(gzip.compress(TEXT)[:-4], "is cut off", id="cut off at the end mark"),
        pytest.param(gzip.compress(TEXT)[:10] + b"\x07" * 99, "is corrupt: the compressed data", id="corrupt"),
        pytest.param(gzip.compress(TEXT)[:-8] + b"\0" * 8, "is corrupt: .*CRC", id="checksum"),
        pytest.param(b"\x1f\x8b" + b"\0" * 30, "is corrupt", id="no gzip behind its mark"),
        pytest.param(b"PK\x03\x04rest", "is a zip archive; decompress it first", id="zip"),
        pytest.param(b"\xfd7zXZ\x00rest", "is compressed with xz; decompress it first", id="xz"),
    ],
)
def test_damaged_files_say_what_is_wrong(tmp_path: Path, data: bytes, problem: str) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(data)
    with pytest.raises(DecodeError, match=f"log.gz: {problem}"):
        list(read_lines(file))
    with pytest.raises(DecodeError, match=f"log.gz: {problem}"):
        read_bytes(file)


def test_where_the_cut_is(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXT)[:-2000])
    with pytest.raises(DecodeError) as caught:
        list(read_lines(tmp_path / "log.gz"))
    assert 0 < int(str(caught.value).split("after line ")[1].split(",")[0]) < 20000


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match=r"nowhere: cannot be read: No such file"):
        list(read_lines(tmp_path / "nowhere"))
    with pytest.raises(DecodeError, match=r"cannot be read: Is a directory"):
        read_bytes(tmp_path)


def test_a_file_without_lines(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"first\n" + b"x" * (MAX_LINE + 5))
    with pytest.raises(DecodeError, match=r"blob:2: is longer than a line"):
        list(read_lines(tmp_path / "blob"))


def test_a_small_file_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    bomb = zlib.compressobj(9, wbits=31)
    block = (b" " * 1023 + b"\n") * (1 << 10)
    data = b"".join(bomb.compress(block) for _ in range(80)) + bomb.flush()
    file = tmp_path / "bomb.gz"
    file.write_bytes(data)
    assert len(data) < 200_000
    with pytest.raises(DecodeError, match=r"bomb.gz: expands to more than \d+ times its size"):
        read_bytes(file)
    with pytest.raises(DecodeError, match=r"bomb\.gz: expands to more than"):
        for _ in read_lines(file):
            pass


def test_a_large_file_of_ordinary_text_is_not(tmp_path: Path) -> None:
    text = b"".join(b"%d,%d,pod-%d\n" % (number, number * 7919 % 1000, number % 97) for number in range(3_700_000))
    assert len(text) > EXPANDED_BYTES
    (tmp_path / "log.gz").write_bytes(gzip.compress(text, 1))
    assert len(read_bytes(tmp_path / "log.gz")) == len(text)

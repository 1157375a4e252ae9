from typing import Any

import pytest

from fairway.config.text import parse_text

GOOD: dict[str, tuple[str, Any]] = {
    "nothing": ("", None),
    "comment": ("# only words\n", None),
    "leading-dashes": ("---\na: 1\n", {"a": 1}),
    "json": ('\n {"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
    "json-with-tabs": ('{\n\t"a":\t1}', {"a": 1}),
    "numbers": (
        "[1, -1, +1, 0x10, 010, 0b11, 1_000, 1.5, .5, 1., 1e3, 1.5E-1]",
        [1, -1, 1, 16, 8, 3, 1000, 1.5, 0.5, 1.0, 1000.0, 0.15],
    ),
    "text-that-looks-like-more": (
        "[2024-01-01, 12:30, .inf, 1.2.3, 08]",
        ["2024-01-01", "12:30", ".inf", "1.2.3", 8.0],
    ),
    "booleans": ("[yes, off, true]", [True, False, True]),
    "keys-are-text": (
        "a: {1: x, true: y, null: z}",
        {"a": {"1": "x", "true": "y", "null": "z"}},
    ),
    "anchors": ("a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 1}}),
    "merge": ("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}),
    "merge-of-a-merge": (
        "a: {b: &x {k: 1}, c: {d: &y {<<: *x, k: 2}}}\ne: {<<: *y}\n",
        {"a": {"b": {"k": 1}, "c": {"d": {"k": 2}}}, "e": {"k": 2}},
    ),
}


@pytest.mark.parametrize(("text", "expected"), GOOD.values(), ids=GOOD)
def test_text_is_read_as_kubernetes_reads_it(text: str, expected: Any) -> None:
    assert parse_text(text) == expected
    assert parse_text(b"\xef\xbb\xbf" + text.encode()) == expected


BAD: dict[str, tuple[bytes, str]] = {
    "json": (b'{"a": }', "not JSON: line 1, column 7: Expecting value"),
    "json-twice": (b'{"a": {"b": 1, "b": 2}}', 'not usable JSON: "b" stands twice in one object'),
    "json-nan": (b'{"a": NaN}', "not JSON: NaN is not a JSON number"),
    "yaml": (b"a: b: c\n", "not YAML: line 1, column 5: mapping values are not allowed here"),
    "yaml-twice": (b"a:\n  b: 1\n  b: 2\n", 'not usable YAML: line 3: "b" stands twice in one object'),
    "yaml-tag": (b"a: !!timestamp 2024-01-01\n", "not usable YAML: line 1: the tag tag:yaml.org,2002:timestamp is not"),
    "yaml-object": (b"a: !!python/object:os.system x\n", "not usable YAML: line 1: the tag tag:yaml.org,2002:python"),
    "yaml-not-an-integer": (b"a: !!int x\n", "invalid literal for int"),
    "yaml-not-a-boolean": (b"a: !!bool x\n", "not YAML: 'x'"),
    "yaml-key": (b"? [a]\n: b\n", "not usable YAML: line 1: a field name is one word"),
    "two-documents": (b"a: 1\n---\nb: 2\n", "not YAML: line 2, column 1: but found another document"),
    "control-character": (b"a: \x00\n", "not YAML: unacceptable character #x0000"),
    "not-text": (b"\xff\xfe", "not UTF-8 text: invalid start byte at byte 0"),
    "deep": (b"[" * 100_000, "line 1, column 102: nested more than 100 deep"),
    "deep-block": (b"- " * 100_000, "line 1, column 203: nested more than 100 deep"),
    "deep-json": (b'{"a":' * 100_000, "line 1, column 501: nested more than 100 deep"),
    "deep-json-whole": (b'{"a":' * 150 + b"1" + b"}" * 150, "line 1, column 501: nested more than 100 deep"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_unreadable_text_is_refused_with_the_place(text: bytes, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 the message is compared below
        parse_text(text)
    assert str(error.value).startswith(message)

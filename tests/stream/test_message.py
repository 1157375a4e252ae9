"""Lines of both forms of the sniffer's log, and what is no line of either."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.stream.message import BadLineError, Message, line_of, read_line

TIME = "2024-04-21 20:54:05.171920853 +0000 UTC m=+78.753596979"
CHOSEN = Message("Pod", "job-1", "schedulePod", "ScheduleSuccess", "n1", timestamp=TIME)
FIRST = f'{{"pod":"job-1","endpoint":"schedulePod","node":"n1","event":"ScheduleSuccess","timestamp":"{TIME}"}}'


@pytest.mark.parametrize("prefix", ["", "  DEBUG:  ", "INFO: ", " WARNING:   ", "    ERROR:  ", "CRITICAL: "])
def test_the_first_form_has_a_level_before_it_or_none(prefix: str) -> None:
    assert read_line(prefix + FIRST) == (CHOSEN, "first")


def test_the_second_form_leaves_out_what_is_empty() -> None:
    line = '{"object":"Pod","name":"job-1","endpoint":"podUpdate","node":"n1","event":"Running"}'
    assert read_line(line) == (Message("Pod", "job-1", "podUpdate", "Running", "n1"), "second")


def test_a_node_brings_amounts() -> None:
    message, _ = read_line('{"object":"Node","name":"n1","endpoint":"nodeAdd","extra":{"allocatable-cpu":"3920m"}}')
    assert message == Message("Node", "n1", "nodeAdd", extra={"allocatable-cpu": "3920m"})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "is no JSON"),
        ("Starting the sniffer on :4242", "is no JSON"),
        ('{"object":"Pod","name":"a"', "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "but no object"),
        ("{}", 'neither a "pod" nor an "object"'),
        ('{"object":"Service","name":"a"}', 'neither a "pod" nor an "object"'),
        ('{"object":"Pod"}', "does not say which pod"),
        ('{"object":"Pod","name":7}', "name is no text"),
        ('{"object":"Node","name":"n","extra":{"allocatable-cpu":4}}', "extra is no object of texts"),
        ('{"object":"Pod","name":"a","timestamp":"noon"}', "timestamp 'noon' is no time"),
        ('{"object":"Pod","name":"a","message":"' + "x" * 70_000 + '"}', "message has 70000 characters"),
    ],
)
def test_what_is_no_message_is_named(line: str, why: str) -> None:
    with pytest.raises(BadLineError, match=why):
        read_line(line)


texts = st.text(st.characters(codec="utf-8"), max_size=20)
messages = st.builds(
    Message,
    st.sampled_from(["Pod", "Node"]),
    texts.filter(bool),
    texts,
    texts,
    texts,
    texts,
    texts,
    st.dictionaries(texts, texts, max_size=3),
    st.sampled_from(["", TIME]),
)


@given(messages)
def test_what_is_written_is_read_again(message: Message) -> None:
    line = line_of(message)
    assert "\n" not in line
    assert read_line(line) == (message, "second")


@pytest.mark.parametrize("unit", [" ", "\x1b[m", "\x1b[", "[", "0", "DEBUG:", "2024-04-23T00:00:00Z "])
@pytest.mark.parametrize("start", ["", "[pod] ", "[pod] 2024-04-23T00:00:00Z ", "DEBUG: "])
def test_a_line_that_begins_with_a_great_many_blanks_is_soon_refused(start: str, unit: str) -> None:
    before = process_time()
    with pytest.raises(BadLineError):
        read_line(start + unit * 50_000 + "!")
    assert process_time() - before < 1

"""Which scheduler is asked when nobody names one: that in the status of the queue, and clear words if there is none."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cli.main import CommandError
from fairway.cli.queues.found_scheduler import chosen_address, found_errors
from fairway.live.api.certificates import fingerprint, self_signed, serving
from fairway.live.batch.objects import QueueObject
from fairway.live.scheduler_client import SchedulerAddress, SchedulerProblem
from fairway.live.serving.own_address import own_url
from fairway.model import ObjectMeta

ONE, OTHER = {"scheduler": "https://10.0.0.1:10259", "fingerprint": "aa"}, {"scheduler": "https://10.0.0.2:10259"}


def queue(name: str, status: dict[str, Any]) -> QueueObject:
    return QueueObject(metadata=ObjectMeta(name=name), status=status)


@pytest.mark.parametrize(
    ("statuses", "named", "url", "digest"),
    [
        pytest.param({"batch": ONE}, None, ONE["scheduler"], "aa", id="the only one"),
        pytest.param({"batch": ONE, "inter": ONE}, None, ONE["scheduler"], "aa", id="of all queues"),
        pytest.param(
            {"batch": ONE, "inter": OTHER}, "inter", OTHER["scheduler"], None, id="of the queue that is named"
        ),
        pytest.param({"batch": ONE, "left": {}}, None, ONE["scheduler"], "aa", id="one queue is left alone"),
    ],
)
def test_it_is_the_one_that_serves_the_queue(
    statuses: dict[str, Any], named: str | None, url: str, digest: str | None
) -> None:
    found = chosen_address([queue(name, status) for name, status in statuses.items()], named)
    assert (found.url, found.fingerprint, found.is_unchecked) == (url, digest, False)


@pytest.mark.parametrize(
    ("statuses", "named", "code", "words"),
    [
        pytest.param({}, None, 4, "looked for status.scheduler of queues (none: there are no queues)", id="no queues"),
        pytest.param({"batch": {}, "inter": {"scheduler": 7}}, None, 4, "of queues (batch, inter)", id="nobody says"),
        pytest.param({"batch": ONE, "left": {}}, "left", 4, "of queues (left)", id="that one does not say"),
        pytest.param({"batch": ONE, "inter": OTHER}, None, 2, "batch: https://10.0.0.1:10259; inter: ", id="several"),
        pytest.param({"batch": ONE}, "bacth", 2, "there are batch", id="no such queue"),
    ],
)
def test_what_was_looked_for_is_told(statuses: dict[str, Any], named: str | None, code: int, words: str) -> None:
    with pytest.raises(SchedulerProblem) as caught:
        chosen_address([queue(name, status) for name, status in statuses.items()], named)
    assert words in caught.value.why
    assert caught.value.exit_code == code
    assert caught.value.fix


def test_one_that_was_found_and_is_out_of_reach_says_how_it_was_found() -> None:
    address = SchedulerAddress("https://10.0.0.1:10259", fingerprint="aa")
    with pytest.raises(CommandError) as caught, found_errors(address, is_found=True):
        raise CommandError("the scheduler at https://10.0.0.1:10259 can not be reached", "is it running?", 4)
    assert str(caught.value).endswith("(found in the status of its queue)")
    assert "--scheduler https://localhost:10259 --certificate-fingerprint aa" in caught.value.hint
    for is_found, code in ((False, 4), (True, 2)):
        with pytest.raises(CommandError) as caught, found_errors(address, is_found=is_found):
            raise CommandError("no", "as it was", code)
        assert caught.value.hint == "as it was"


@pytest.mark.parametrize(
    ("bind_address", "api_url", "url"),
    [
        ("127.0.0.1", "https://example.invalid", "https://127.0.0.1:10259"),
        ("::1", "https://example.invalid", "https://[::1]:10259"),
        ("scheduler.example", "https://example.invalid", "https://scheduler.example:10259"),
        ("0.0.0.0", "https://127.0.0.1:6443", "https://127.0.0.1:10259"),
        ("0.0.0.0", "https://[bad", ""),
    ],
)
def test_a_scheduler_knows_its_own_address(bind_address: str, api_url: str, url: str) -> None:
    assert own_url(bind_address, 10259, api_url) == url


def test_the_fingerprint_is_that_of_the_certificate_as_it_is_now(tmp_path: Any) -> None:
    first, second = self_signed(), self_signed()
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes(first[0] + second[0])  # a chain: the first one counts
    key.write_bytes(first[1])
    _, digest = serving(str(cert), str(key))
    assert digest() == fingerprint(first[0])
    cert.write_bytes(second[0])
    assert digest() == fingerprint(second[0])
    cert.write_bytes(b"half")
    assert digest() == ""
    assert len(serving()[1]()) == 64

"""Addresses as people write them."""

import pytest

from fairway.stream.address import Address, parse_address

GOOD = {
    "127.0.0.1:4242": (Address("127.0.0.1", 4242), True),
    "127.8.8.8:1": (Address("127.8.8.8", 1), True),
    "localhost:0": (Address("localhost", 0), True),
    "[::1]:65535": (Address("::1", 65535), True),
    "0.0.0.0:4242": (Address("0.0.0.0", 4242), False),
    "[::]:4242": (Address("::", 4242), False),
    ":4242": (Address("", 4242), False),
    "10.0.0.1:4242": (Address("10.0.0.1", 4242), False),
    "sniffer.lab.svc:4242": (Address("sniffer.lab.svc", 4242), False),
}


@pytest.mark.parametrize("text", GOOD)
def test_what_is_an_address(text: str) -> None:
    address, is_loopback = GOOD[text]
    assert parse_address(text) == address
    assert address.is_loopback == is_loopback
    assert parse_address(str(address))[1] == address.port
    assert parse_address(str(address)).is_loopback == is_loopback


@pytest.mark.parametrize(
    "text", ["", "4242", "host", "host:", "host:x", "host:65536", "::1:4242", "a b:1", "http://x:1", "h:1/x", "h:٣"]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT, such as 127\.0\.0\.1:4242"):
        parse_address(text)

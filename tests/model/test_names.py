"""Names are allowed as Kubernetes allows them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import dns_label_problem, dns_subdomain_problem, label_key_problem, label_value_problem
from fairway.model.names import are_label_keys, are_label_values

CASES = {
    "label": (dns_label_problem, "web-0", True),
    "label, 63": (dns_label_problem, "a" * 63, True),
    "label, 64": (dns_label_problem, "a" * 64, False),
    "label, empty": (dns_label_problem, "", False),
    "label, dot": (dns_label_problem, "a.b", False),
    "label, capital": (dns_label_problem, "Web", False),
    "label, dash first": (dns_label_problem, "-web", False),
    "label, newline": (dns_label_problem, "web\n", False),
    "subdomain": (dns_subdomain_problem, "a.b-c.1", True),
    "subdomain, 253": (dns_subdomain_problem, "a" * 253, True),
    "subdomain, 254": (dns_subdomain_problem, "a" * 254, False),
    "subdomain, dots": (dns_subdomain_problem, "a..b", False),
    "subdomain, empty": (dns_subdomain_problem, "", False),
    "key": (label_key_problem, "app", True),
    "key, prefix": (label_key_problem, "example.com/App_1.x", True),
    "key, empty": (label_key_problem, "", False),
    "key, only prefix": (label_key_problem, "example.com/", False),
    "key, empty prefix": (label_key_problem, "/app", False),
    "key, two slashes": (label_key_problem, "a/b/c", False),
    "key, long name": (label_key_problem, f"x/{'a' * 64}", False),
    "value": (label_value_problem, "A_b.c-1", True),
    "value, empty": (label_value_problem, "", True),
    "value, long": (label_value_problem, "a" * 64, False),
    "value, dash last": (label_value_problem, "a-", False),
}


@pytest.mark.parametrize(("check", "name", "allowed"), CASES.values(), ids=CASES)
def test_names(check: Callable[[str], str | None], name: str, allowed: bool) -> None:
    assert (check(name) is None) is allowed


@given(st.lists(st.text("aZ9-_./\0é ", max_size=5) | st.sampled_from(("x" * 63, "x" * 64, "", "b.c/x")), max_size=5))
def test_many_label_keys_are_judged_as_one_by_one(keys: list[str]) -> None:
    assert are_label_keys(keys) == all(label_key_problem(key) is None for key in keys)


@given(st.lists(st.text("aZ9-_.\0é ", max_size=4) | st.sampled_from(("x" * 63, "x" * 64, "")), max_size=5))
def test_many_label_values_are_judged_as_one_by_one(values: list[str]) -> None:
    assert are_label_values(values) == all(label_value_problem(value) is None for value in values)

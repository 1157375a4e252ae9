"""Which names Kubernetes allows: for objects, for label keys, for label values.

Each function takes a text and returns what is wrong with it, or None; the caller knows the field and the
file. The rules are those of `k8s.io/apimachinery/pkg/util/validation` v0.36.4. Used by selectors, whose
requirements are checked as they compile, and by `fairway.model.validate`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = [
    "are_label_keys",
    "are_label_values",
    "dns_label_problem",
    "dns_subdomain_problem",
    "label_key_problem",
    "label_value_problem",
]

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
DNS_SUBDOMAIN = re.compile(rf"{DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})*")
WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
LABEL_VALUES = re.compile(r"(?:(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\0)*")


def dns_label_problem(name: str) -> str | None:
    """Check the name of a namespace, container, volume or port: at most 63 of a-z, 0-9 and -."""
    if not name:
        return "must not be empty"
    if len(name) > 63:
        return f"{name!r} is {len(name)} characters long, at most 63 are allowed"
    if not DNS_LABEL.fullmatch(name):
        return f"{name!r} must be lower case letters, digits and '-', beginning and ending with a letter or digit"
    return None


def dns_subdomain_problem(name: str) -> str | None:
    """Check the name of a pod, node or most other objects: at most 253 of a-z, 0-9, - and dots."""
    if not name:
        return "must not be empty"
    if len(name) > 253:
        return f"{name[:20]!r}... is {len(name)} characters long, at most 253 are allowed"
    if not DNS_SUBDOMAIN.fullmatch(name):
        return (
            f"{name!r} must be lower case letters, digits, '-' and '.', each part beginning and ending with a"
            " letter or digit"
        )
    return None


@lru_cache(maxsize=8192)
def label_key_problem(key: str) -> str | None:
    """Check a label key (or a taint key, or an extended resource name): an optional `prefix/`, then a word."""
    prefix, slash, name = key.rpartition("/")
    if slash and (problem := dns_subdomain_problem(prefix)):
        return f"the prefix of {key!r}: {problem}"
    if not name:
        return "must not be empty" if not slash else f"{key!r} has no name after the '/'"
    return _word_problem(name)


@lru_cache(maxsize=8192)
def label_value_problem(value: str) -> str | None:
    """Check a label value: empty, or a word of at most 63 characters."""
    return _word_problem(value) if value else None


def are_label_keys(keys: Sequence[str]) -> bool:
    """Is there nothing wrong with any of these label keys? All at once, as with values."""
    if all(keys) and are_label_values(keys):
        return True  # words without a prefix
    parts = [key.rpartition("/") for key in keys]
    names = [name for _, _, name in parts]
    prefixes = {prefix for prefix, slash, _ in parts if slash}
    return all(names) and are_label_values(names) and not any(map(dns_subdomain_problem, prefixes))


def are_label_values(values: Sequence[str]) -> bool:
    """Is there nothing wrong with any of them? All at once: a selector may have a hundred thousand."""
    plain = "".join(values)
    if plain.isascii() and plain.encode().isalnum() and max(map(len, values)) <= 63:
        return True
    text = "\0".join((*values, ""))
    return text.count("\0") == len(values) and LABEL_VALUES.fullmatch(text) is not None


def _word_problem(word: str) -> str | None:
    if len(word) > 63:
        return f"{word[:20]!r}... is {len(word)} characters long, at most 63 are allowed"
    if not (word.isascii() and word.isalnum()) and not WORD.fullmatch(word):
        return f"{word!r} must be letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
    return None

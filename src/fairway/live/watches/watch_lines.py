"""What an API server answers to lists and watches, line by line and page by page: the wire's own structs.

In: nothing. Out: types that `watch` decodes answers with, generic in the kind of objects they hold.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from fairway.model.meta import ObjectMeta, Value

__all__ = ["Mark", "Page", "PageMeta", "WatchEvent"]

T = TypeVar("T")


class WatchEvent(msgspec.Struct, Generic[T], gc=False):
    """One line of a watch."""

    type: str
    object: T


class Page(msgspec.Struct, Generic[T], gc=False):
    """One page of a list."""

    metadata: PageMeta
    items: list[T] | None = None


class PageMeta(msgspec.Struct, rename="camel", gc=False):
    """Where a page is from, and where the next one begins."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class Mark(Value, frozen=True, kw_only=True):
    """What a bookmark or an error has."""

    metadata: ObjectMeta = ObjectMeta()
    code: int = 0
    message: str = ""

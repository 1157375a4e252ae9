"""Lists of the API server, page by page: what is asked for once, and not watched.

In: where the objects are. Out: each answer with what it says, up to the last page or to the first answer that is no
list: what that means is for whoever asks. Called by those who begin or clean up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import msgspec

from fairway.live.api.api_server import ApiServer
from fairway.live.api.connection import Answer

__all__ = ["ListPage", "list_pages"]

MOST: Final = 500  # objects on a page
OK: Final = 200


class ListPage(NamedTuple):
    """One answer."""

    answer: Answer
    items: list[dict[str, Any]]  # none, if it is no list

    @property
    def is_list(self) -> bool:
        """Was the question answered?"""
        return self.answer.status == OK


async def list_pages(api: ApiServer, path: str) -> AsyncIterator[ListPage]:
    """All objects there. Raises `LiveProblem` if nobody answers."""
    query: dict[str, str | int] = {"limit": MOST}
    while True:
        answer = await api.request("GET", path, query=query)
        if answer.status != OK:
            yield ListPage(answer, [])
            return
        tree = msgspec.json.decode(answer.body)
        yield ListPage(answer, tree.get("items") or [])
        token = tree["metadata"].get("continue")
        if not token:
            return
        query = {"limit": MOST, "continue": token}

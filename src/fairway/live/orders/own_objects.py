"""An object of ours by its name, as people write it: a queue, a window.

In: a kind and a name. Out: the object as the server has it; `UserError` names the nearest one if there is none. What no
object can be called is not asked for: it would be another path. Used by orders about queues and windows.
"""

from __future__ import annotations

from fairway.live.batch.objects import BatchObject, object_path
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.own_kinds import no_queues
from fairway.model.named import unknown

__all__ = ["is_plain", "read_own"]


async def read_own(caller: Caller, kind: type[BatchObject], word: str, name: str, command: str) -> Tree:
    """The object; `word`: what people call such a thing; `command`: what is written before its name."""
    folder = object_path(kind)
    tree = await caller.read(f"{folder}/{name}") if is_plain(name) else None
    if tree is not None:
        return tree
    listed = await caller.items(folder)
    if listed is None:
        raise no_queues()
    raise unknown(word, name, [each["metadata"]["name"] for each in listed[0]], command)


def is_plain(name: str) -> bool:
    """Can it be a part of a path?"""
    return name.strip(".") != "" and all(sign.isascii() and (sign.isalnum() or sign in "-.") for sign in name)

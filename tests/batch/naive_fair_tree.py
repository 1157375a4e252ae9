"""Fair Tree said again: as a list of groups of equals, best first."""

import math
from collections.abc import Sequence

from fairway.batch.fair_tree import ShareNode

Leveled = tuple[float, ShareNode]


def naive_factors(root: ShareNode) -> dict[str, float]:
    """The factor of every user: all of a group have the rank of its first, and the next group comes after them all."""
    groups = equals(leveled(root))
    number = sum(map(len, groups))
    factors: dict[str, float] = {}
    left = number
    for group in groups:
        factors |= {user.key: left / number for user in group}
        left -= len(group)
    return factors


def leveled(account: ShareNode) -> list[Leveled]:
    """The children with their levels, those of accounts without shares among them."""
    children: list[ShareNode] = []
    waiting = list(account.children)
    while waiting:
        child = waiting.pop(0)
        if child.shares is None and not child.is_user:
            waiting[:0] = child.children
        else:
            children.append(child)
    shares = sum(child.shares or 0 for child in children)
    usage = sum(child.usage for child in children)
    found = []
    for child in children:
        if child.shares is None or (child.shares > 0 and child.usage == 0):
            found.append((math.inf, child))
        else:
            found.append(((child.shares / shares) / (child.usage / usage) if child.shares else 0.0, child))
    return found


def equals(siblings: Sequence[Leveled]) -> list[list[ShareNode]]:
    groups = []
    for level in sorted({level for level, _ in siblings}, reverse=True):
        users = [node for own, node in siblings if own == level and node.is_user]
        below = [one for own, node in siblings if own == level and not node.is_user for one in leveled(node)]
        inner = equals(below)
        if users and inner:
            # An account that ties with users passes the tie on to the first of its own.
            groups += [users + inner[0], *inner[1:]]
        else:
            groups += [users] if users or not inner else inner  # nobody is a group too, which a tie stops at
    return groups

"""What one attempt to place a group of pods came to.

In: filled by the cycles of groups. Out: read by the scheduler loop (what to do next), the recorder and the commands
(what happened and why), as `Decision` is for a pod. Each member has its own `Decision`, which says what becomes of it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fairway.cycle.decision import Decision
from fairway.model import Pod
from fairway.model.group import GroupKey

__all__ = ["GroupDecision", "GroupOutcome", "GroupVictim", "PlacementScores"]


class GroupOutcome(enum.Enum):
    """How an attempt ended."""

    SCHEDULED = "scheduled"  # enough members have a node
    UNSCHEDULABLE = "unschedulable"  # they do not, for now
    PREEMPTING = "preempting"  # room is being made, and then it is tried again
    ERROR = "error"  # something is broken; try again later


class GroupVictim(NamedTuple):
    """A pod that has to go."""

    pod: Pod
    preemptor: Pod | None  # for which member; None: for the whole group


class PlacementScores(NamedTuple):
    """How good a set of nodes was."""

    total: int
    by_plugin: Mapping[str, int]  # weighted


@dataclass(slots=True)
class GroupDecision:
    """One attempt's result."""

    job: GroupKey
    outcome: GroupOutcome
    members: list[Decision]  # in the order tried
    message: str = ""  # what the group's condition says; empty when it was placed
    victims: list[GroupVictim] = field(default_factory=list)
    cleared: list[Pod] = field(default_factory=list)  # less important pods that waited for the victims' nodes
    domain: str = ""  # the value of the label that all members share, where they have to
    placements: dict[str, PlacementScores] = field(default_factory=dict)  # by name, where there was a choice
    blocking: str = ""  # uid of the member that kept the group from starting
    missing: int = 0  # how many more it would have taken
    level: str = ""  # the label whose values were the domains
    num_backtracks: int = 0
    is_exhausted: bool = False  # was the search ended before all was tried?
    resource: str = ""  # what the member in the way is short of, where it is that
    never_fits: bool = False  # would it not fit if all nodes were empty?
    num_domains: int = 0  # how many domains were tried
    waits_for_victims: bool = False  # do pods leave already that make room for it?
    attempt: int = 0
    companions: list[GroupDecision] = field(default_factory=list)  # about jobs that were tried together with this one

    @property
    def condition(self) -> tuple[str, str, str]:
        """What a PodGroup's condition says after it: status, reason and message."""
        if self.outcome is GroupOutcome.SCHEDULED:
            return "True", "Scheduled", self.message
        return "False", "SchedulerError" if self.outcome is GroupOutcome.ERROR else "Unschedulable", self.message

    @property
    def num_placed(self) -> int:
        """How many members got a node."""
        return sum(bool(member.node) and not member.message for member in self.members)

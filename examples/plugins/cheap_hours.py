"""Pods that can wait run when power is cheap: at night, or between other hours of the day."""

from typing import Annotated

import msgspec

from fairway.plugin import SKIP, TIME_PASSED, Aspect, Code, Hint, Plugin, PluginArgs, Refusal

WHEN = "example.com/when"
Hour = Annotated[int, msgspec.Meta(ge=0, le=23)]


class CheapHoursArgs(PluginArgs, frozen=True, kw_only=True):
    """From which hour to which, by UTC; past midnight if the second is the smaller one."""

    begin: Hour = 22
    end: Hour = 6


class CheapHours(Plugin):
    """Pods labelled example.com/when=cheap are let in during these hours alone; all others at any time."""

    Args = CheapHoursArgs
    reads = Aspect.TIME
    time_step = 3600  # it looks at nothing but the hour

    def pre_filter(self, pod, nodes):
        """Asked once for pods of a kind, and again when an hour is over."""
        if pod.labels.get(WHEN) != "cheap" or self.is_cheap(self.now()):
            return SKIP
        words = f"power is cheap from {self.args.begin:02}:00 to {self.args.end:02}:00 only"
        return Refusal((words,), Code.UNRESOLVABLE)  # evicting others would not help

    def events(self):
        """Nothing but the time helps; who is refused is tried again as soon as it does."""
        return (Hint(TIME_PASSED, lambda pod, change: self.is_cheap(change.new)),)

    def is_cheap(self, time):
        """Is it one of these hours?"""
        since, length = (time.hour - self.args.begin) % 24, (self.args.end - self.args.begin) % 24
        return since < length

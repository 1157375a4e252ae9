"""Room that is made for jobs: by tier, and by lenders who take back what is theirs.

`victims` has the rule who has to go, `trial` tries it on a copy of the calendar, and `RoomClaims` (`claims`) is the
duty that does it at the desk.
"""

from fairway.batch.preemption.claims import RoomClaims

__all__ = ["RoomClaims"]

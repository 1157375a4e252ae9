"""DefaultBinder: binds a decided pod by a Binding request.

Binding is an act of the world (`World.bind` in `fairway.scheduler`): a live cluster sends the request, a simulation
starts the pod. This class gives the name a place in configurations.
"""

from __future__ import annotations

from fairway.plugin import Aspect, Plugin


class DefaultBinder(Plugin):
    """Binds pods to nodes."""

    annotations = ()
    reads = Aspect(0)
    acts = frozenset({"bind"})

"""What the API server has told about one kind: the newest version of each object, and what is news.

In: objects in the order in which they were heard of, from a watch, a list, or read one by one. Out: the events that
these amount to: nothing for what is known already or older, a deletion and an addition where a name was given to
another object, deletions for what a new list no longer has. `watch.Reflector` owns one store; everybody else may look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairway.cluster import Event, Verb
from fairway.live.watches.watched_kinds import object_key
from fairway.model import ApiObject

__all__ = ["ObjectStore", "version_number"]

ADDED, MODIFIED, DELETED = Verb.ADDED, Verb.MODIFIED, Verb.DELETED
UNKNOWN = -1


def version_number(text: str) -> int:
    """A resourceVersion as a number that grows; `UNKNOWN` for servers that use other words."""
    try:
        return int(text)
    except ValueError:
        return UNKNOWN


class ObjectStore:
    """The objects of one kind, by `namespace/name`."""

    def __init__(self) -> None:
        self._objects: dict[str, ApiObject] = {}
        self._gone: set[str] = set()  # uids read as gone, of which the watch has not spoken yet

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ApiObject]:
        return iter(self._objects.values())

    def find(self, key: str) -> ApiObject | None:
        """The newest version of an object."""
        return self._objects.get(key)

    def put(self, thing: ApiObject) -> list[Event]:
        """An object was seen."""
        meta = thing.metadata
        if meta.uid in self._gone:
            return []
        key = object_key(thing)
        known = self._objects.get(key)
        if known is None:
            self._objects[key] = thing
            return [Event(ADDED, thing)]
        version, before = version_number(meta.resource_version), version_number(known.metadata.resource_version)
        if version != UNKNOWN and version <= before:
            return []
        self._objects[key] = thing
        if known.metadata.uid == meta.uid:
            return [Event(MODIFIED, thing)]
        return [Event(DELETED, known), Event(ADDED, thing)]

    def correct(self, thing: ApiObject) -> list[Event]:
        """An object is certainly there in this version, whatever was heard before."""
        self._gone.discard(thing.metadata.uid)
        return self.put(thing)

    def remove(self, thing: ApiObject, is_final: bool = True) -> list[Event]:
        """An object was deleted; not final: we read that it is gone, and the watch will say so later."""
        uid = thing.metadata.uid
        if is_final:
            self._gone.discard(uid)
        key = object_key(thing)
        known = self._objects.get(key)
        if known is None or known.metadata.uid != uid:
            return []  # the watch was faster
        del self._objects[key]
        if is_final:
            return [Event(DELETED, thing)]
        self._gone.add(uid)
        return [Event(DELETED, known)]  # whoever read has an older copy: everybody else heard of this one

    def replace(self, things: Iterable[ApiObject], version: str) -> list[Event]:
        """This is all there was at that version; what we have read since then stays."""
        self._gone.clear()
        events: list[Event] = []
        listed = set()
        for thing in things:
            listed.add(object_key(thing))
            events += self.put(thing)
        number = version_number(version)
        for key, known in list(self._objects.items()):
            if key in listed:
                continue
            if number != UNKNOWN and version_number(known.metadata.resource_version) > number:
                continue
            del self._objects[key]
            events.append(Event(DELETED, known))
        return events

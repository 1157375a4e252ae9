"""A fresh list beside what the watch has told: has an event been lost, or come twice?

In: a reflector and the API server. Out: `Suspect`s, objects of which the list and the watch's store tell different
stories; that alone means little, since the one or the other is always a little ahead. So each is looked at a second
time, by `confirm`, after the watch has had time to catch up: what differs then, is read singly. The list is a
consistent read, in pages, of which only names, uids, versions and nodes are decoded. Called by `cache_check`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

import msgspec

from fairway.live.api.api_server import ApiServer
from fairway.live.watches.object_store import UNKNOWN, version_number
from fairway.live.watches.watch import Reflector
from fairway.live.watches.watched_kinds import object_key
from fairway.model import ApiObject, DecodeError, Pod, decode_object

__all__ = ["Suspect", "confirm", "suspects"]

logger = logging.getLogger(__name__)
PAGE = 500  # also: how many objects are compared before others have their turn


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Item(msgspec.Struct, gc=False):
    metadata: _Meta


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMeta
    items: list[_Item] | None = None


class Suspect(NamedTuple):
    """An object that the list has and the store lacks or has in an older version, or the other way round."""

    key: str
    uid: str
    version: int  # as listed; `UNKNOWN`: the list does not have it


async def suspects(api: ApiServer, reflector: Reflector) -> list[Suspect] | None:
    """The first look; None if there was no whole list to be had."""
    listed: set[str] = set()  # uids
    found: list[Suspect] = []
    selector = reflector.watched.field_selector
    query = {"limit": str(PAGE)} | ({"fieldSelector": selector} if selector else {})
    store, version = reflector.store, UNKNOWN
    while True:
        answer = await api.request("GET", reflector.watched.path, query=query)
        if answer.status != 200:
            logger.info("no list of %s to compare with: %s", reflector.watched.path, answer.status)
            return None
        try:
            page = msgspec.json.decode(answer.body, type=_List)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            logger.warning("the list of %s can not be compared with: %s", reflector.watched.path, error)
            return None
        version = version_number(page.metadata.resource_version)
        for item in page.items or ():
            meta = item.metadata
            key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            listed.add(meta.uid)
            suspect = Suspect(key, meta.uid, version_number(meta.resource_version))
            if not _is_known(suspect, store.find(key)):
                found.append(suspect)
        if not page.metadata.continue_:
            break
        query["continue"] = page.metadata.continue_
    things = list(store)
    for begin in range(0, len(things), PAGE):
        await asyncio.sleep(0)
        for thing in things[begin : begin + PAGE]:
            meta_ = thing.metadata
            if meta_.uid not in listed and version_number(meta_.resource_version) <= version:
                found.append(Suspect(object_key(thing), meta_.uid, UNKNOWN))
    return found


async def confirm(api: ApiServer, reflector: Reflector, suspect: Suspect) -> str:
    """The second look; mends the store, and so the scheduler, and says what was wrong: "" if nothing is."""
    if _is_settled(reflector, suspect):
        return ""
    answer = await api.request("GET", _path(reflector, suspect.key))
    if _is_settled(reflector, suspect):  # while we asked
        return ""
    known = reflector.store.find(suspect.key)
    if answer.status == 404:
        if known is None:
            return ""
        reflector.correct(known, is_gone=True)
        return "redundant"
    if answer.status != 200:
        return ""
    try:
        thing = decode_object(answer.body, "the API server")
    except DecodeError as error:
        logger.debug("%s can not be compared: %s", suspect.key, error)  # the watch has said so already
        return ""
    if isinstance(thing, Pod) and thing.is_finished and reflector.watched.field_selector:
        return ""  # which lists do not show; the watch will say so
    return _correct(reflector, suspect, known, thing)


def _correct(reflector: Reflector, suspect: Suspect, known: ApiObject | None, thing: ApiObject) -> str:
    if suspect.version == UNKNOWN and thing.metadata.uid == suspect.uid:
        return ""  # listed without it, and yet there: it has left the selection, or come back into it
    if suspect.version != UNKNOWN and thing.metadata.uid != suspect.uid:
        return ""  # another one has the name by now; the next look is for that
    reflector.correct(thing, is_gone=False)
    if known is None:
        return "missing"
    return "redundant" if known.metadata.uid != thing.metadata.uid else "outdated"


def _is_known(suspect: Suspect, known: ApiObject | None) -> bool:
    if known is None or known.metadata.uid != suspect.uid:
        return False
    return version_number(known.metadata.resource_version) >= suspect.version


def _is_settled(reflector: Reflector, suspect: Suspect) -> bool:
    """Has the watch said by now what the list said?"""
    known = reflector.store.find(suspect.key)
    if suspect.version == UNKNOWN:
        return known is None or known.metadata.uid != suspect.uid
    return _is_known(suspect, known)


def _path(reflector: Reflector, key: str) -> str:
    prefix, _, resource = reflector.watched.path.rpartition("/")
    namespace, slash, name = key.rpartition("/")
    return f"{prefix}/namespaces/{namespace}/{resource}/{name}" if slash else f"{prefix}/{resource}/{name}"

"""The files of the pages: one document for every page, modules of script, styles. They hold nothing of anybody's run.

In: a path below `/fairway/ui/`. Out: a `StaticFile`, or None where there is no such file. The document is the same
under every path that may be a page's, since the pages read the path themselves. Everything is read once and kept, and
has a tag of its content, so that a browser loads it once. Scripts and styles are sent closed up (`sent_text`). Colours
and the looks of words and tables are those of the reports. Called by `server`.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from fairway.web.sent_text import sent_script, sent_style

__all__ = ["PAGES", "StaticFile", "static_file"]

PAGES: Final = "/fairway/ui/"
FILES: Final = "static/"
KINDS: Final = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
SHARED: Final = ("colours.css", "dark.css", "shared.css")
"""Those that are `fairway.pages`'s."""


class StaticFile(NamedTuple):
    """What is sent."""

    body: bytes
    content_type: str
    tag: str  # of the content, as HTTP quotes it


def static_file(path: str) -> StaticFile | None:
    """What is under a path below `/fairway/ui/`."""
    if path.startswith(FILES):
        return _files().get(path.removeprefix(FILES))
    return _files()["index.html"]


@cache
def _files() -> dict[str, StaticFile]:
    own = resources.files("fairway.web") / "static"
    shared = resources.files("fairway.pages") / "templates"
    found = [file for file in own.iterdir() if _kind(file.name)] + [shared / name for name in SHARED]
    return {file.name: _read(file) for file in found}


def _read(file: Traversable) -> StaticFile:
    body = file.read_bytes()
    if file.name.endswith(".js"):
        body = sent_script(body.decode()).encode()
    elif file.name.endswith(".css"):
        body = sent_style(body.decode()).encode()
    return StaticFile(body, _kind(file.name), f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _kind(name: str) -> str:
    return next((kind for end, kind in KINDS.items() if name.endswith(end)), "")

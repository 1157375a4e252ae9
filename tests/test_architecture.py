"""The page about the house is true: what it names is there, and no room is missing."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fairway"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]*)+(?:\.py)?|[a-z_]+\.py)`", PAGE)))


def test_what_the_page_names_is_there() -> None:
    places = (PACKAGE, ROOT, PACKAGE / "live")
    # The second and third module of a list are named without their room.
    missing = [
        name
        for name in NAMED
        if not any((place / name).exists() for place in places) and not list(PACKAGE.rglob(name.rstrip("/")))
    ]
    assert len(NAMED) > 100
    assert missing == []


def test_every_room_is_on_the_page() -> None:
    table = PAGE.partition("| room |")[2].partition("\n\n")[0]
    rooms = {f"{path.name}/" if path.is_dir() else path.name for path in PACKAGE.iterdir() if path.name[0] not in "_."}
    rooms -= {"py.typed"}
    assert sorted(room for room in rooms if f"`{room}`" not in table) == []


def test_every_reference_to_a_page_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target

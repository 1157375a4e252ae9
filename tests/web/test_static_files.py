"""The files of the pages: sent without a token, once, and nothing else is."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from fairway.web.static_files import static_file

SCRIPTS = sorted(
    file.name for file in (resources.files("fairway.web") / "static").iterdir() if file.name.endswith(".js")
)
MOST_BYTES = 120_000
MOST_LINES = 300


def sent(name: str) -> str:
    file = static_file(f"static/{name}")
    assert file is not None
    return file.body.decode()


@pytest.mark.parametrize("path", ["", "nodes", "pods/team/a", "compare", "no-such-page", "%2e%2e/%2e%2e/etc/passwd"])
def test_every_page_is_one_document(path: str) -> None:
    file = static_file(path)
    assert file is not None
    assert (file.content_type, file) == ("text/html", static_file("index.html"))


@pytest.mark.parametrize(
    "path", ["static/", "static/none.js", "static/../server.py", "static/types.d.ts", "static/a/b"]
)
def test_nothing_else_is_a_file(path: str) -> None:
    assert static_file(path) is None


def test_the_document_holds_no_script_and_no_style_of_its_own() -> None:
    text = sent("index.html")
    assert not re.search(r"<script[^>]*>[^<]|<style|style=|\son\w+=|javascript:", text)
    for path in re.findall(r'(?:src|href)="/fairway/ui/([^"]+)"', text):
        assert static_file(path) is not None, path


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_modules_of_ours_alone_that_say_what_they_are(name: str) -> None:
    source = (resources.files("fairway.web") / "static" / name).read_text()
    assert source.startswith("// ")
    assert source.count("\n") <= MOST_LINES
    for module in re.findall(r'(?:\bfrom "|\bimport\(")([^"\n]+)"', sent(name)):
        assert module.startswith("./"), module
        assert static_file(f"static/{module[2:]}") is not None, module
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://", source
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_comments_are_left_out_and_lines_stay_where_they_are(name: str) -> None:
    source = (resources.files("fairway.web") / "static" / name).read_text()
    assert sent(name).count("\n") == source.count("\n")
    assert "/**" not in sent(name)
    assert not re.search(r"^\s*//|^ ", sent(name), re.MULTILINE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_text_goes_over_the_end_of_a_line_so_that_indents_can_be_left_out(name: str) -> None:
    source = (resources.files("fairway.web") / "static" / name).read_text()
    assert [line for line in source.splitlines() if line.count("`") % 2] == []


def test_scripts_and_styles_are_small() -> None:
    names = [*SCRIPTS, "style.css", "colours.css", "dark.css", "shared.css"]
    assert sum(len(sent(name).encode()) for name in names) <= MOST_BYTES

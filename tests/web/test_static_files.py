"""The files of the pages: sent without a token, once, and nothing else is."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from fairway.web.sent_text import sent_script, sent_style
from fairway.web.static_files import static_file

SCRIPTS = sorted(
    file.name for file in (resources.files("fairway.web") / "static").iterdir() if file.name.endswith(".js")
)
STYLES = ["style.css", "colours.css", "dark.css", "shared.css"]
MOST_BYTES = 151_000
MOST_BYTES_OF_A_PAGE = 95_000
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
    for module in re.findall(r'(?:^import[^"\n]*"|\bimport\(")([^"\n]+)"', sent(name), re.MULTILINE):
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
    assert sum(len(sent(name).encode()) for name in [*SCRIPTS, *STYLES]) <= MOST_BYTES


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name.startswith("page_")])
def test_a_page_loads_little(name: str) -> None:
    loaded, waiting = set(STYLES), ["app.js", name]
    while waiting:
        if (module := waiting.pop()) not in loaded:
            loaded.add(module)
            waiting += re.findall(r'^import[^"\n]*"\./([^"\n]+)"', sent(module), re.MULTILINE)
    assert sum(len(sent(module).encode()) for module in loaded) <= MOST_BYTES_OF_A_PAGE
    assert loaded >= {"api.js", "dom.js"}


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("  const a = b + c; // not a line of its own", "const a=b+c;"),
        ('return found ? "a  b" : `c  ${ d + "}  `" } e`;', 'return found?"a  b":`c  ${ d + "}  `" } e`;'),
        ("x = `a ${b ? `  ${c}` : 1}  d` in e;", "x=`a ${b ? `  ${c}` : 1}  d`in e;"),
        ("if (/[/ ] +$/.test(a)) return a / b / c;", "if(/[/ ] +$/.test(a))return a/b/c;"),
        ("a = b - -c + +d - +e;", "a=b- -c+ +d-+e;"),
        ("async (one) => { for (const x of [1]) await one; }", "async(one)=>{for(const x of[1])await one;}"),
        ("const it = 'it\\'s  \"so\"';", "const it='it\\'s  \"so\"';"),
        ("f(\n  { a: 1,\n  },\n);\nif (b) {\n  c;\n}\nd;", "f(\n{a:1\n}\n);\nif(b){\nc\n}\nd;"),
        ("`", None),
    ],
)
def test_blanks_stay_where_they_tell_words_apart(line: str, sent: str | None) -> None:
    if sent is None:
        with pytest.raises(IndexError):
            sent_script(line)
    else:
        assert sent_script(line) == sent


def test_styles_are_closed_up() -> None:
    style = 'a, b > c { margin: 0 .5rem; }\nb::before { content: "a , b"; }\n'
    assert sent_style(style) == 'a,b>c{margin:0 .5rem}b::before{content:"a , b"}'

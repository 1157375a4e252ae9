"""The text of a configuration file, YAML or JSON, to plain values.

As kube-scheduler reads it: JSON, or YAML in either of its styles; a name that stands twice in one object is an error.
Scalars are what Kubernetes' YAML makes of them: `1e3` is a number, `2024-01-01` and `12:30` are text.
Called by `config`; errors are `ValueError` and say the line.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from fairway.model import DecodeError
from fairway.model.nesting import MAX_DEPTH, check_nesting

__all__ = ["parse_text"]

PLAIN_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null", "merge")
)


JSON_BEGINS: Final = re.compile(r"""\s*\{\s*["}]""")


class NotJsonError(ValueError):
    """Text that may still be YAML, in which objects can be written in braces too."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of Kubernetes' YAML."""

    yaml_implicit_resolvers = {  # noqa: RUF012 this is how PyYAML declares it
        first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in ("bool", "null", "merge")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """PyYAML calls itself for each level of nesting; here it stops at ours, not at the interpreter's limit."""
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:  # the value at the bottom is no level
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # so are its stubs
            raise ValueError(f"line {mark.line + 1}, column {mark.column + 1}: nested more than {MAX_DEPTH} deep")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+)\Z", re.ASCII),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII),
    list("-+0123456789."),
)


def parse_text(text: str | bytes) -> Any:
    """The one document in the text; None when there is nothing in it."""
    try:
        string = (
            text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
        )
        if not string.lstrip().startswith("{"):
            return _parse_yaml(string)
        check_nesting(string.encode(), "")
        try:
            return _parse_json(string)
        except NotJsonError as error:
            if JSON_BEGINS.match(string):  # who writes quotes means JSON, and wants to hear of its mistakes
                raise
            try:
                return _parse_yaml(string)
            except ValueError:
                raise error from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _parse_json(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f'not usable JSON: "{twice}" stands twice in one object')
        return values

    def refuse(constant: str) -> Any:
        raise ValueError(f"not JSON: {constant} is not a JSON number")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise NotJsonError(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error


def _parse_yaml(text: str) -> Any:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_node(node, set())
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"not YAML: {where}{error.problem or error.context}") from error
    except (yaml.YAMLError, LookupError) as error:
        raise ValueError(f"not YAML: {str(error).partition(chr(10))[0]}") from error


def _check_node(node: yaml.Node, seen: set[int]) -> None:
    """Raise for a name that stands twice, and for values that JSON does not have."""
    if id(node) in seen:
        return
    seen.add(id(node))
    line = node.start_mark.line + 1
    if node.tag not in PLAIN_TAGS:
        raise ValueError(f"not usable YAML: line {line}: the tag {node.tag} is not for configurations")
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            _check_node(part, seen)
    elif isinstance(node, yaml.MappingNode):
        names = set()
        for key, part in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError(f"not usable YAML: line {line}: a field name is one word")
            if key.tag != "tag:yaml.org,2002:merge":
                key.tag = "tag:yaml.org,2002:str"
                if key.value in names:
                    raise ValueError(f'not usable YAML: line {line}: "{key.value}" stands twice in one object')
                names.add(key.value)
            _check_node(part, seen)

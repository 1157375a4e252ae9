"""The `args` of a plugin: decoded into the struct that it declares, and checked by it.

In: a `pluginConfig` entry's `args` as found in the file, and the plugin's entry. Out: its `Args`, or the plain mapping
for a plugin that declares none. What is wrong is told with the field it is in, for users' plugins as for built-in
ones. Called by `configuration`, and by `fairway.testing` for plugins under test.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.config.config_file import API_VERSION
from fairway.config.fields import Problem, decode_fields, shown

__all__ = ["decode_args"]


def decode_args(plugin: str, kind: type[msgspec.Struct] | None, args: Any, path: str, problems: list[Problem]) -> Any:
    """The plugin's struct, of that `kind`; without one, the mapping as it stands in the file."""
    if kind is None:
        if args is not None and not isinstance(args, dict):
            problems.append(Problem(path, f"expected fields, got {shown(args)}"))
            return None
        return args
    args = {} if args is None else args
    if not isinstance(args, dict):
        problems.append(Problem(path, f"expected fields, got {shown(args)}"))
        return None
    # As kube-scheduler has it, an entry may say of itself what it is.
    own = {"apiVersion": API_VERSION, "kind": f"{plugin.rpartition(':')[2]}Args"}
    names = {key: word for key, word in own.items() if key not in kind.__struct_encode_fields__}
    wrong = [
        Problem(f"{path}.{key}", f"{shown(args[key])} is unknown; here it is {word}")
        for key, word in names.items()
        if args.get(key) not in (None, "", word)
    ]
    if wrong:
        problems.extend(wrong)
        return None
    plain = {key: value for key, value in args.items() if key not in names}
    struct = decode_fields(plain, kind, path, problems)
    if struct is not None:
        problems.extend(_own_problems(plugin, struct, path))
    return struct


def _own_problems(plugin: str, struct: msgspec.Struct, path: str) -> list[Problem]:
    """What the arguments themselves object to."""
    check = getattr(struct, "problems", None)
    if not callable(check):
        return []
    try:
        return [Problem(f"{path}.{where}" if where else path, text) for where, text in check()]
    except Exception as error:  # noqa: BLE001 - a user's code may fail in any way
        return [Problem(path, f"the check of {plugin}'s arguments raised {type(error).__name__}: {error}")]

"""What a plugin can be told: the struct that it declares as `Args`.

In: the `args` of its `pluginConfig` entry, decoded strictly by `fairway.config`. Out: the struct, which the plugin gets
as `args`; or problems, each with the field it is in, of which the decoder finds those that types can tell, and
`problems` the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from fairway.model.field_problem import Problem
from fairway.model.meta import Value

__all__ = ["PluginArgs"]


class PluginArgs(Value, frozen=True, kw_only=True):
    """Arguments of a plugin: fields in snake_case, camelCase in the file, each with its type and default.

        class Args(PluginArgs, frozen=True, kw_only=True):
            tokens_per_node: Annotated[int, msgspec.Meta(ge=1)] = 4

    A field without a default has to be given. Without a `pluginConfig` entry the plugin gets the defaults.
    """

    def problems(self) -> Iterable[Problem]:
        """What is wrong with the values together, or beyond their types; paths begin at this struct."""
        return ()

    def leaving(self, resources: tuple[str, ...]) -> Self:
        """The same for a plugin that counts resources, where extenders look after these: they are not its to check."""
        return self

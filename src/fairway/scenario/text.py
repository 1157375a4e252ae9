"""A scenario as text: YAML that reads back as the same scenario.

In: the structs of `scenario_file`. Out: plain values, or YAML. Everything is written, defaults too; left out are
fields that are absent (null) and empty lists and mappings. Durations are written as people write them ("1h30m") and
exactly. Called by `Scenario` for `--print-scenario`, for what a run keeps of its scenario, and for the schema's
defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from fairway.model import Quantity
from fairway.model.duration import Duration, parse_duration

__all__ = ["default_of", "duration_text", "plain_values", "yaml_text"]


def duration_text(seconds: float) -> str | float:
    """As short as it is exact: "24h", "1m30s", "500ms"; a number of seconds where there are no such words."""
    milli = round(seconds * 1000) if seconds < 2**53 else 0
    hours, rest = divmod(milli, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    whole, milli = divmod(rest, 1000)
    parts = ((hours, "h"), (minutes, "m"), (whole, "s"), (milli, "ms"))
    text = "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
    try:
        return text if parse_duration(text) == seconds else float(seconds)
    except ValueError:
        return float(seconds)


def plain_values(value: Any) -> Any:
    """Structs, durations and quantities as a file has them."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        plain = {config.tag_field: config.tag} if config.tag_field else {}
        for field in msgspec.structs.fields(value):
            part = getattr(value, field.name)
            if part is not None and not (part in ("", (), {}) and part == default_of(field)):
                plain[field.encode_name] = plain_values(part)
        return plain
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Quantity):
        return int(value.text) if value.text.isdigit() and str(int(value.text)) == value.text else value.text
    if isinstance(value, tuple | list):
        return [plain_values(part) for part in value]
    if isinstance(value, Mapping):
        return {key: plain_values(part) for key, part in value.items()}
    return value


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """What the field is when the file says nothing; NODEFAULT if it has to."""
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default


class _Dumper(yaml.SafeDumper):
    """Quotes what Kubernetes' YAML would read as a number, as well as what YAML 1.1 would."""

    def ignore_aliases(self, data: Any) -> bool:
        """Equal parts are written out; a person edits one of them at a time."""
        return True


_Dumper.add_implicit_resolver(
    "tag:fairway.dev,2030:number-elsewhere",
    re.compile(r"[-+]?[0-9.][0-9a-fA-FxobOBX_]*(?:[eE][-+]?[0-9]+)?\Z", re.ASCII),
    list("-+0123456789."),
)


def _written_float(dumper: yaml.SafeDumper, value: float) -> yaml.ScalarNode:
    text = repr(value)
    return dumper.represent_scalar("tag:yaml.org,2002:float", text if "." in text else text.replace("e", ".0e"))


_Dumper.add_representer(float, _written_float)


def yaml_text(value: Any) -> str:
    """Plain values as YAML, in the order they are in."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)

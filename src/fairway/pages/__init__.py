"""HTML from templates: what goes into a page is escaped unless it is markup already.

In: the name of a template in `templates/` and the values it shows. Out: HTML. Templates only lay out; what is shown,
and in which words, is decided by whoever calls: `compare.report`, `experiments.report`, `explain` for notebooks.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fairway import __version__

__all__ = ["render"]


def render(template: str, **values: Any) -> str:
    """A template with these values; one that it needs and is not given is an error."""
    return _environment().get_template(template).render(version=__version__, **values)


@cache
def _environment() -> Environment:
    loader = PackageLoader("fairway.pages", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)

"""Fairway: a Kubernetes scheduler you program in Python, try on a trace, and run on a real cluster.

In: nothing. Out: the version, and a package that costs nothing to import: each room is imported by whoever needs it,
so that `fairway --help` answers at once. `fairway.simulate(scenario)`, `fairway.open_run(path)`, `fairway.try_(files)`,
`fairway.why(pod)` and `fairway.compare(...)` answer as the commands do, and import what they need when they are first
asked for. Start reading at `fairway.scheduler`; write plugins against `fairway.plugin`.
"""

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "open_run", "simulate", "try_", "why"]

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from fairway.library import compare, open_run, simulate, try_, why
else:

    def __getattr__(name: str) -> object:
        """The functions of `fairway.library`, imported when they are wanted."""
        if name in __all__:
            import importlib  # noqa: PLC0415

            return getattr(importlib.import_module("fairway.library"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

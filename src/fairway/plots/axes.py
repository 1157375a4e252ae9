"""Figures of matplotlib, an extra: the one place that makes and saves them.

Out: axes and figures in our style, and PNG files by the rule of `own_file`: only an earlier figure of ours is replaced.
matplotlib is imported when the first is made; without it that is a `RecordError` which says how to get it. Called by
`fairway.plots` and `experiments.png_figures`.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from fairway.own_file import first_bytes, replacing
from fairway.plots import svg
from fairway.record import RecordError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["INK", "cause_colour", "line_style", "new_axes", "new_figure", "policy_colour", "save_figure"]

# Those of the pages: pages/templates/colours.css.
POLICIES: Final = ("#2563eb", "#c2410c", "#047857", "#9333ea", "#a16207", "#be185d", "#0e7490", "#475569")
CAUSES: Final = ("#7f1d1d", "#dc2626", "#c2740a", "#7b8797", "#3d4a5c", "#7c3aed", "#0b8a63")
INK: Final = "#1b1f24"
MARK: Final = "Fairway, with Matplotlib"  # in every figure: by it the next one knows what it may replace
DPI: Final = 150
LINE_WIDTH: Final = 1.5  # points, of every line; dashes are counted in it

LineStyle = str | tuple[int, tuple[float, ...]]
INCHES_A_KEY: Final = 1.2  # of a legend
STYLE: Final[Any] = {
    "font.size": 9,
    "axes.edgecolor": "#6b7380",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#808a97",
    "grid.linestyle": ":",
    "grid.linewidth": 0.6,
    "xtick.color": "#566070",
    "ytick.color": "#566070",
    "legend.frameon": False,
}


def policy_colour(number: int) -> str:
    """The colour of a policy by its place, as pages have it."""
    return POLICIES[number % len(POLICIES)]


def cause_colour(number: int) -> str:
    """The colour of a cause by its place, as pages have it."""
    return CAUSES[number % len(CAUSES)]


def line_style(number: int) -> LineStyle:
    """How a line is dashed by its place: where two run together, both are seen."""
    dashes = svg.dashes(number)
    return "-" if dashes == "none" else (0, tuple(float(length) / LINE_WIDTH for length in dashes.split()))


def new_axes() -> Axes:
    """Axes of a new figure that a notebook shows, in the style that the caller has chosen for all of theirs."""
    _matplotlib()
    from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra, and slow to import

    return plt.subplots(figsize=(8, 3.2), layout="constrained")[1]


def new_figure(num_panels: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """A figure for a file, in our style: panels side by side, so many inches in all."""
    matplotlib = _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, num_panels, squeeze=False)
    return figure, list(axes[0])


def save_figure(
    figure: Figure, heading: str, path: Path, handles: Any, labels: Any, columns: int | None = None
) -> None:
    """Write it with a heading and a legend below."""
    figure.suptitle(heading, fontsize=11, fontweight="bold", x=0.01, ha="left", color=INK)
    fitting = max(int(figure.get_figwidth() / INCHES_A_KEY), 1)
    columns = columns or min(len(labels), fitting)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, "a figure", _is_figure) as beside:
        figure.savefig(beside, dpi=DPI, format="png", metadata={"Software": MARK})


def _matplotlib() -> ModuleType:
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise RecordError("plots need matplotlib: pip install 'fairway[plots]'") from error
    return mpl


def _is_figure(path: Path) -> bool:
    return first_bytes(path).startswith(b"\x89PNG") and MARK.encode() in first_bytes(path)

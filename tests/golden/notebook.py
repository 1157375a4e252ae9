"""The example notebook, run without Jupyter: its code, cell by cell, and what each cell shows.

In: `examples/simulate.ipynb`. Out: for each cell of code the outputs as a notebook keeps them: what it printed, the
value of its last line, and the figures it drew. `python -m tests.golden.notebook` runs it and writes them into it.
"""

import ast
import base64
import contextlib
import io
import json
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from tests.golden.transcript import ROOT

NOTEBOOK = ROOT / "examples" / "simulate.ipynb"


def execute(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of its cells of code, in order."""
    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(NOTEBOOK.parent):
        return [_outputs("".join(cell["source"]), names, number) for number, cell in enumerate(code_cells(notebook), 1)]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # type: ignore[attr-defined]
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None and hasattr(value, "_repr_html_"):
        data: dict[str, Any] = {"text/html": _lines(value._repr_html_()), "text/plain": [repr(value)]}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    for figure in map(plt.figure, plt.get_fignums()):
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=72, metadata={"Software": None})
        data = {
            "image/png": base64.b64encode(image.getvalue()).decode(),
            "text/plain": [f"<Figure {len(figure.axes)}>"],
        }
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    content = json.loads(NOTEBOOK.read_text())
    for place, (cell, shown) in enumerate(zip(code_cells(content), execute(content), strict=True), 1):
        cell["execution_count"], cell["outputs"] = place, shown
    NOTEBOOK.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")

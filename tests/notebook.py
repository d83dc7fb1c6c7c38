"""Notebooks: their code cells run in order in one namespace, and what they show is kept in the
file.

``python -m tests.notebook FILE`` writes the outputs of a notebook anew; the tests compare them.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

__all__ = ["executed"]

_SHOWN = {"text/html": "_repr_html_", "text/latex": "_repr_latex_"}


def executed(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run the code cells of a notebook, and give the outputs of each, as a notebook's file has
    them.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    return [
        _outputs("".join(each["source"]), namespace, number) for number, each in enumerate(cells, 1)
    ]


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; what it prints comes first, then its last expression in each of its forms."""
    found: list[dict[str, Any]] = []
    tree, value = ast.parse(source), None
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, f"cell {number}", "exec"), namespace)  # noqa: S102
        if last is not None:
            value = eval(compile(last, f"cell {number}", "eval"), namespace)
    if printed.getvalue():
        found.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)}
        )
    if value is not None:
        forms = {
            name: getattr(value, method)()
            for name, method in _SHOWN.items()
            if hasattr(value, method)
        }
        data = {
            name: text.splitlines(True)
            for name, text in {**forms, "text/plain": repr(value)}.items()
        }
        found.append(
            {
                "data": data,
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return found


def main() -> None:
    path = Path(sys.argv[1])
    notebook = json.loads(path.read_text())
    code = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(code, executed(notebook), strict=True), 1):
        cell |= {"execution_count": number, "outputs": outputs}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

"""How objects show themselves in a notebook: tables in HTML and LaTeX, every text escaped.

What only a package above can write, such as the equations of a model, an object takes from
`slipstick.extensions.FUNCTIONS`. This module imports nothing of the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

MOST_ROWS = 50

TableShown = tuple[str, Sequence[str], Iterable[Sequence[object]]]
"""A table in a notebook: its caption, the titles of its columns, its rows."""


class ShownAsTables:
    """Base of objects that notebooks show, and print, as tables."""

    __slots__ = ()

    def shown_tables(self) -> Iterable[TableShown]:
        """Return the tables, the most important first."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Show the tables in a notebook."""
        return "".join(html_table(*table) for table in self.shown_tables())

    def _repr_latex_(self) -> str:
        """Show the tables where a notebook is printed."""
        return "\n\n".join(latex_table(*table) for table in self.shown_tables())


def html_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[object]], most: int = MOST_ROWS
) -> str:
    """Lay a table out in HTML.

    Parameters
    ----------
    title : its caption
    head, rows : titles of the columns, and cells
    most : rows that are shown; of more the table says so

    >>> html_table("a < b", ["x"], [[1]])
    '<table><caption>a &lt; b</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
    """
    lines = [_row("th", head), *(_row("td", row) for row in _first(rows, len(head), most))]
    return f"<table><caption>{_escaped(title)}</caption>{''.join(lines)}</table>"


def _first(rows: Iterable[Sequence[object]], columns: int, most: int) -> list[Sequence[object]]:
    shown = list(islice(iter(rows), most + 1))
    return [*shown[:most], ["..."] * columns] if len(shown) > most else shown


def _row(tag: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in cells) + "</tr>"


def _escaped(cell: object) -> str:
    from html import (
        escape,
    )  # its list of entities takes time to import, and few commands write HTML

    return escape(str(cell))


def latex_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[object]], most: int = MOST_ROWS
) -> str:
    r"""Lay a table out in LaTeX as an array, because mathematics on a page supports no tables of
    text.

    Parameters
    ----------
    title, head, rows, most : as for `html_table`

    >>> print(latex_table("", ["x_1"], [["50 %"]]))
    $\displaystyle \begin{array}{l}
    \text{x}\_\text{1} \\ \hline
    \text{50 }\%\text{}
    \end{array}$
    """
    first, *other_rows = [
        " & ".join(map(_latex_text, row)) for row in (head, *_first(rows, len(head), most))
    ]
    above = [f"\\rlap{{{_latex_text(title)}}} \\\\"] if title else []
    lines = "\n".join([*above, f"{first} \\\\ \\hline", " \\\\\n".join(other_rows)])
    return f"$\\displaystyle \\begin{{array}}{{{'l' * len(head)}}}\n{lines}\n\\end{{array}}$"


_LATEX_MARKS = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}


def _latex_text(cell: object) -> str:
    """Escape a cell for LaTeX; characters that LaTeX treats as commands stand outside of text mode,
    where escapes are the same everywhere.
    """
    escaped = re.sub(
        r"[\\^~_%&#${}]",
        lambda mark: f"}}{_LATEX_MARKS.get(mark[0], chr(92) + mark[0])}\\text{{",
        str(cell),
    )
    return f"\\text{{{escaped}}}"

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
        """Return the tables as HTML, for display in a notebook."""
        return "".join(html_table(*table) for table in self.shown_tables())

    def _repr_latex_(self) -> str:
        """Return the tables as LaTeX, for a notebook that is printed."""
        return "\n\n".join(latex_table(*table) for table in self.shown_tables())


def html_table(
    title: str,
    column_titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    most_rows: int = MOST_ROWS,
) -> str:
    """Write a table in HTML, with a limited number of rows.

    Parameters
    ----------
    title : its caption
    column_titles, rows : titles of the columns, and cells
    most_rows : rows that are shown; of more the table says so

    >>> html_table("a < b", ["x"], [[1]])
    '<table><caption>a &lt; b</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
    """
    lines = [
        _html_row("th", column_titles),
        *(_html_row("td", cells) for cells in _first_rows(rows, len(column_titles), most_rows)),
    ]
    return f"<table><caption>{_escaped_for_html(title)}</caption>{''.join(lines)}</table>"


def _first_rows(
    rows: Iterable[Sequence[object]], column_count: int, most_rows: int
) -> list[Sequence[object]]:
    # One row more than is shown tells whether rows are left out, without reading them all.
    shown_rows = list(islice(iter(rows), most_rows + 1))
    return (
        [*shown_rows[:most_rows], ["..."] * column_count]
        if len(shown_rows) > most_rows
        else shown_rows
    )


def _html_row(tag: str, cells: Sequence[object]) -> str:
    """Return one row of an HTML table, with all cells in the same tag."""
    return "<tr>" + "".join(f"<{tag}>{_escaped_for_html(cell)}</{tag}>" for cell in cells) + "</tr>"


def _escaped_for_html(cell: object) -> str:
    # Imported here: its list of entities takes time, and few commands write HTML.
    from html import escape

    return escape(str(cell))


def latex_table(
    title: str,
    column_titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    most_rows: int = MOST_ROWS,
) -> str:
    r"""Write a table in LaTeX as an array, because mathematics on a page supports no tables of
    text.

    Parameters
    ----------
    title, column_titles, rows, most_rows : as for `html_table`

    >>> print(latex_table("", ["x_1"], [["50 %"]]))
    $\displaystyle \begin{array}{l}
    \text{x}\_\text{1} \\ \hline
    \text{50 }\%\text{}
    \end{array}$
    """
    title_line, *row_lines = [
        " & ".join(map(_latex_text, cells))
        for cells in (column_titles, *_first_rows(rows, len(column_titles), most_rows))
    ]
    caption_lines = [f"\\rlap{{{_latex_text(title)}}} \\\\"] if title else []
    table_text = "\n".join(
        [*caption_lines, f"{title_line} \\\\ \\hline", " \\\\\n".join(row_lines)]
    )
    column_marks = "l" * len(column_titles)
    return f"$\\displaystyle \\begin{{array}}{{{column_marks}}}\n{table_text}\n\\end{{array}}$"


_LATEX_MARKS = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}


def _latex_text(cell: object) -> str:
    """Write a cell as LaTeX text. Characters that LaTeX treats as commands are escaped outside of
    ``\\text{}``, because programs that show LaTeX treat escapes inside it differently.
    """
    escaped_text = re.sub(
        r"[\\^~_%&#${}]",
        lambda mark: f"}}{_LATEX_MARKS.get(mark[0], chr(92) + mark[0])}\\text{{",
        str(cell),
    )
    return f"\\text{{{escaped_text}}}"

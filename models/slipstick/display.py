"""How objects show themselves in a notebook: tables in HTML, every text escaped. The module imports nothing of the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 50


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], most: int = MOST_ROWS) -> str:
    """Lay a table out in HTML.

    Parameters
    ----------
    title : its caption
    head, rows : titles of the columns, and cells
    most : rows that are shown; of more the table says so

    >>> html_table("a < b", ["x"], [[1]])
    '<table><caption>a &lt; b</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
    """
    shown = list(islice(iter(rows), most + 1))
    lines = [_row("th", head), *(_row("td", row) for row in shown[:most])]
    lines += [_row("td", ["..."] * len(head))] if len(shown) > most else []
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(each))}</{tag}>" for each in cells) + "</tr>"

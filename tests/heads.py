"""The heads of reports: their sentences, and what in them is no word of a reader."""

from __future__ import annotations

import re
from pathlib import Path

_QUOTED = re.compile(r'"[^"]*"')
"""Names that data have for parts of a program stand in quotes."""

_PATHS = (
    re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*"),  # parameters.edge, timings.csv
    re.compile(r"[a-z]\w*\[[^\]]*\]"),  # account[lock]
    re.compile(r"[A-Za-z]+_[A-Za-z]\w*"),  # items_per_page
    re.compile(r"(?<![\w-])--?[a-z]{2,}"),  # an option
    re.compile(r"[<>]=|(?<= )[<>=](?= )"),  # a condition as written
)

UNWANTED = (
    re.compile(r"[Oo]ver sweep"),
    re.compile(r"lies between"),
    re.compile(r"[Oo]f \d+ other cases"),
)
"""Sentences that answer no question: ends of an axis, and extremes of unlike cases."""


def paths_in(sentence: str) -> list[str]:
    """Return the words of a sentence that are a path, an option, a condition or the name of a file.

    >>> paths_in("from 386 cells along an edge on"), paths_in("time <= 3 s up to parameters.n = 4")
    ([], ['parameters.n', '<=', '='])
    """
    text = _QUOTED.sub("", sentence.replace("\\", "").replace("&lt;", "<"))
    return [found for path in _PATHS for found in path.findall(text)]


def head_of(report: Path) -> list[str]:
    """Return the sentences at the head of a report, and the cells of its table."""
    head = report.read_text(encoding="utf-8").partition("\n## ")[0].splitlines()
    rows = [line for line in head if line.startswith("|") and not set(line) <= set("|-: ")]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")]
    return [line for line in head if line.startswith("- ")] + [cell for cell in cells if cell]

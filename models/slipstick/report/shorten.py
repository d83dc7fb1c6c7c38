"""A report on one page: of long tables the decisive rows, of each section what there is room
for, and where the rest is.
"""

from __future__ import annotations

import re
from itertools import accumulate
from math import inf

from slipstick.report.formatting import PAGE_WIDTH, counted

DETAILS = "details.md"
"""The file with the whole report, where that is longer than a page."""

PAGE_LINES = 66
"""Printed lines of a page, without its pictures."""

ABOUT, INPUTS = "About this study", "Inputs"
"""Sections that every report has."""

_MOST_ROWS = 12
_LEAST_ROWS = 4
_LEAST_ROOM = 10  # of a table with its headings
_PICTURE = re.compile(r"^\[?!\[.*(\n\n|$)", re.MULTILINE)
_SHARES = {ABOUT: 9, "Pictures": 1, "Cases": 1, "What limits": 0, "Notes": 0}
"""How the room is shared where there is not enough: other sections have three parts each, and
those without a part what is left.
"""
_EVERY = "In every row: "


def printed_lines(text: str) -> int:
    """Count the printed lines of a Markdown text: long lines wrap, and pictures count as none.

    >>> printed_lines("# A\\n\\n![b](c.png)\\n\\n" + 130 * "x")
    4
    """
    return sum(max(1, -(-len(line) // PAGE_WIDTH)) for line in _PICTURE.sub("", text).splitlines())


def first_page(text: str) -> str:
    """Shorten a report to one page: short sections are kept whole, and the others share the
    remaining lines.

    Parameters
    ----------
    text : the whole report: its head, its sections, and what it was made from
    """
    if printed_lines(text) <= PAGE_LINES:
        return text
    head, *sections, last = text.rstrip("\n").split("\n\n## ")
    names = [section.partition("\n")[0] for section in sections]
    lines_left = PAGE_LINES - printed_lines(f"{head}\n\n{last}{_elsewhere(names)}\n\n")
    shares = [_SHARES.get(name, 3) for name in names]
    need = [
        printed_lines(section_share) / share if share else inf
        for section_share, share in zip(sections, shares, strict=True)
    ]
    shown = [""] * len(sections)
    shares_left = sum(shares)
    # Sections that need the least of their share come first: what they leave is shared among the
    # longer ones.
    ranked = sorted(range(len(sections)), key=need.__getitem__)
    for index in (*ranked, *ranked):  # the second time, each may take what the others left
        lines_left += printed_lines(shown[index]) + 1 if shown[index] else 0
        room = (
            max(lines_left * shares[index] // shares_left - 1, _LEAST_ROWS)
            if shares_left
            else lines_left - 1
        )
        shown[index], shares_left = (
            _fitted(sections[index], min(room, lines_left - 1)),
            max(0, shares_left - shares[index]),
        )
        lines_left -= printed_lines(shown[index]) + 1 if shown[index] else 0
    only = [name for name, words in zip(names, shown, strict=True) if not words]
    return "\n\n## ".join([head, *filter(None, shown), last]) + _elsewhere(only) + "\n"


def _elsewhere(only: list[str]) -> str:
    """Write a sentence on where the whole report is, and which sections only it contains."""
    also = f"; {', '.join(only)} {'is' if len(only) == 1 else 'are'} there only" if only else ""
    return f" The whole report is [{DETAILS}]({DETAILS}){also}."


def _fitted(section: str, room: int) -> str:
    """Shorten a section to `room` lines below its heading; empty if nothing fits."""
    if printed_lines(section) <= room:
        return section
    shortened = _ShortenedSection(section, room)
    shortened.add_blocks()
    return shortened.text()


class _ShortenedSection:
    """The blocks of a section that are shown.

    What was found comes first, then tables, then what stands below a table, then the rest; what is
    said of tables stands with one of them.
    """

    def __init__(self, section: str, room: int) -> None:
        self.title, *self.blocks = section.split("\n\n")
        # The subsection of each block, by number.
        self.subsections = list(accumulate(block.startswith("#") for block in self.blocks))
        self.tables = [block.startswith("|") for block in self.blocks]
        self.ranks = [self._rank(index) for index in range(len(self.blocks))]
        self.lines_left = room - 3  # without the heading and the last words
        self.lines_omitted = 0
        self.shown = [""] * len(self.blocks)

    def _rank(self, index: int) -> int:
        """Return in which turn a block is shown."""
        above = any(self.tables[:index])
        if self.title == ABOUT:
            return 0
        if self.blocks[index].startswith("- ") and not (self.subsections[index] or above):
            return 0
        if self.tables[index]:
            return 1
        return 2 if any(self.tables[index - 1 : index]) else 3

    def add_blocks(self) -> None:
        """Show blocks by their rank, as far as there is room: sentences come before tables, and
        explanations of a table only with it.
        """
        for index in sorted(range(len(self.blocks)), key=self.ranks.__getitem__):
            tables_beside = self._tables_beside(index)
            explains_omitted = self.ranks[index] > 1 and tables_beside and not any(tables_beside)
            if not self.blocks[index].startswith(("#", _EVERY)) and not explains_omitted:
                self._add(index)

    def _tables_beside(self, index: int) -> list[str]:
        """Return the tables in the subsection of a block, or in all if it is in none; empty texts
        are those not shown.
        """
        own = self.subsections[index]
        return [
            shown
            for shown, is_table, subsection in zip(
                self.shown, self.tables, self.subsections, strict=True
            )
            if is_table and subsection in (own, own or subsection)
        ]

    def _add(self, index: int) -> None:
        """Show a block with the headings above it, shortened to the room that is left."""
        block = self.blocks[index]
        room = self.lines_left
        if self.tables[index]:
            # The next tables want some lines too.
            room = min(room, max(room // sum(self.tables[index:]), _LEAST_ROOM))
        above = self._above(index)
        lines_above = sum(printed_lines(self.blocks[place]) + 1 for place in above)
        short = _decisive(block, room - lines_above - 1)
        if not short and above and self.blocks[above[-1]].startswith(_EVERY):
            # The table is worth more than the line above it.
            lines_above -= printed_lines(self.blocks[above.pop()]) + 1
            short = _decisive(block, room - lines_above - 1)
        lines = printed_lines(short)
        if not short or (lines and lines >= self.lines_left - lines_above):
            return
        for place in above:
            self.shown[place] = self.blocks[place]
        self.shown[index] = short
        self.lines_left -= lines_above + lines + 1
        self.lines_omitted += block.count("\n") - short.count("\n") + short.count("\n| ... ")

    def _above(self, index: int) -> list[int]:
        """Return the places of the headings of a block, and of the line above a table, that are not
        shown yet.
        """
        above = [
            place
            for place in range(index)
            if self.subsections[place] == self.subsections[index]
            and self.blocks[place].startswith("#")
            and not self.shown[place]
        ]
        if self.tables[index] and index and self.blocks[index - 1].startswith(_EVERY):
            above.append(index - 1)
        return above

    def text(self) -> str:
        """Return the shortened section with a line on what only the details have; empty if no block
        is shown.
        """
        if not any(self.shown):
            return ""
        pairs = zip(self.tables, self.shown, strict=True)
        omitted_tables = sum(is_table and not shown for is_table, shown in pairs)
        more = [counted(self.lines_omitted, "more line")] if self.lines_omitted else []
        more += [counted(omitted_tables, "more table")] if omitted_tables else []
        words = f"{' and '.join(more) or 'More'} in [{DETAILS}]({DETAILS})."
        return "\n\n".join([self.title, *filter(None, self.shown), words])


def _decisive(block: str, room: int) -> str:
    """Shorten a block: keep of a table both ends of each run of rows with the same first cell, or
    the first and last rows; of a list the first lines.
    """
    lines = block.split("\n")
    head = 2 if block.startswith("|") else 0
    rows = lines[head:]
    if printed_lines(block) <= min(room, head + _MOST_ROWS) or not block.startswith(
        ("|", "- ", "1. ")
    ):
        return block
    about = [row.split(" | ")[0] for row in rows] if head else []
    # A row inside of a run of equal first cells lies between the two that are kept.
    runs = [
        index
        for index, name in enumerate(about)
        if not about[index - 1 : index] == about[index + 1 : index + 2] == [name]
    ]
    most = min(_MOST_ROWS, room - head)
    if most >= len(runs) > 0 and len(runs) < len(rows):
        return "\n".join([*lines[:head], *(rows[index] for index in runs)])
    # Rows wider than the page take several printed lines.
    while most > 0 and printed_lines("\n".join(rows[:most])) > room - head:
        most -= 1
    # Fewer rows would mislead more than they tell.
    if most < _LEAST_ROWS:
        return ""
    if any(not name.strip("| ") for name in about):  # rows belong to the named one above them
        most = max(index for index in range(most + 1) if about[index].strip("| "))
        return "\n".join([*lines[:head], *rows[:most]]) if most else ""
    if not head:
        return "\n".join(rows[:most])
    gap = re.sub(r"^\| ...", "| ...", re.sub("[-:]", " ", lines[1]))
    return "\n".join([*lines[:head], *rows[: most - 2], gap, rows[-1]])

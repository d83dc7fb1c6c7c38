"""A report on one page: of long tables the decisive rows, of each section what there is room
for, and where the rest is.
"""

from __future__ import annotations

import re
from itertools import accumulate
from math import inf

from slipstick.late import late_pattern
from slipstick.report.formatting import COMMON_BEGINNING, INTERVALS, PAGE_WIDTH, with_noun

DETAILS = "details.md"
"""The file with the whole report, where that is longer than a page."""

PAGE_LINES = 66
"""Printed lines of a page, without its pictures."""

ABOUT, INPUTS = "About this study", "Inputs"
"""Sections that every report has."""

_MOST_ROWS = 12
_LEAST_ROWS = 4
_LEAST_ROOM = 10  # of a table with its headings
_PICTURE = late_pattern(r"^\[?!\[.*(\n\n|$)", re.MULTILINE)
_LINE_SHARES = {ABOUT: 9, "Pictures": 1, "Cases": 1, "What limits": 0, "Notes": 0}
"""The shares of sections in the lines of a page that is too short for all of them; other sections
have three shares each. A section with the share 0 gets the lines that are left.
"""


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
    return with_needed_explanation(_shortened(text))


_INTERVAL = late_pattern(r"\d \([-\d.,e+]+ to [-\d.,e+]+\)")


def with_needed_explanation(text: str) -> str:
    r"""Remove the explanation of intervals from a report that shows none.

    >>> texts = ("3 (2 to 4) s\n\n", "in the source 3 (2.5, 4)\n\n")
    >>> [with_needed_explanation(text + INTERVALS + "\n\n") == text for text in texts]
    [False, True]
    """
    return text if _INTERVAL.search(text) else text.replace(f"{INTERVALS}\n\n", "")


def _shortened(text: str) -> str:
    """Return a report that is longer than a page, with its sections shortened."""
    head, *sections, last_section = text.rstrip("\n").split("\n\n## ")
    section_names = [section_text.partition("\n")[0] for section_text in sections]
    lines_left = PAGE_LINES - printed_lines(
        f"{head}\n\n{last_section}{_details_sentence(section_names)}\n\n"
    )
    line_shares = [_LINE_SHARES.get(section_name, 3) for section_name in section_names]
    lines_per_share = [
        printed_lines(long_section) / line_share if line_share else inf
        for long_section, line_share in zip(sections, line_shares, strict=True)
    ]
    shown_sections = [""] * len(sections)
    shares_left = sum(line_shares)
    # Sections that need the least of their share come first: what they leave is shared among the
    # longer ones.
    ranked_indices = sorted(range(len(sections)), key=lines_per_share.__getitem__)
    # In the second pass, each section may take the lines that the others left.
    for index in (
        *ranked_indices,
        *ranked_indices,
    ):
        lines_left += printed_lines(shown_sections[index]) + 1 if shown_sections[index] else 0
        most_lines = (
            max(lines_left * line_shares[index] // shares_left - 1, _LEAST_ROWS)
            if shares_left
            else lines_left - 1
        )
        shown_sections[index], shares_left = (
            _fitted_section(sections[index], min(most_lines, lines_left - 1)),
            max(0, shares_left - line_shares[index]),
        )
        lines_left -= printed_lines(shown_sections[index]) + 1 if shown_sections[index] else 0
    omitted_names = [
        section_name
        for section_name, shown_text in zip(section_names, shown_sections, strict=True)
        if not shown_text
    ]
    return (
        "\n\n## ".join([head, *filter(None, shown_sections), last_section])
        + _details_sentence(omitted_names)
        + "\n"
    )


def _details_sentence(omitted_names: list[str]) -> str:
    """Write a sentence on where the whole report is, and which sections only it contains."""
    addition = (
        f"; {', '.join(omitted_names)} {'is' if len(omitted_names) == 1 else 'are'} there only"
        if omitted_names
        else ""
    )
    return f" The whole report is [{DETAILS}]({DETAILS}){addition}."


def _fitted_section(section: str, most_lines: int) -> str:
    """Shorten a section to at most some lines below its heading; empty if nothing fits."""
    if printed_lines(section) <= most_lines:
        return section
    shortened_section = _ShortenedSection(section, most_lines)
    shortened_section.add_blocks()
    return shortened_section.text()


class _ShortenedSection:
    """A section that is shortened to the most important of its blocks.

    What was found comes first, then tables, then what stands below a table, then the rest; what is
    said of tables stands with one of them.
    """

    def __init__(self, section: str, most_lines: int) -> None:
        self.title, *self.blocks = section.split("\n\n")
        # The subsection of each block, by number.
        self.subsections = list(accumulate(block.startswith("#") for block in self.blocks))
        self.is_table = [block.startswith("|") for block in self.blocks]
        self.ranks = [self._rank_of_block(index) for index in range(len(self.blocks))]
        self.lines_left = most_lines - 3  # without the heading and the last words
        self.lines_omitted = 0
        self.shown_blocks = [""] * len(self.blocks)

    def _rank_of_block(self, index: int) -> int:
        """Return the rank of a block: blocks with a smaller rank are shown first."""
        has_table_above = any(self.is_table[:index])
        if self.title == ABOUT:
            return 0
        if self.blocks[index].startswith("- ") and not (self.subsections[index] or has_table_above):
            return 0
        if self.is_table[index]:
            return 1
        return 2 if any(self.is_table[index - 1 : index]) else 3

    def add_blocks(self) -> None:
        """Show blocks by their rank until the lines are used up: sentences come before tables, and
        the explanation of a table is shown only with the table.
        """
        for index in sorted(range(len(self.blocks)), key=self.ranks.__getitem__):
            tables_beside = self._tables_beside(index)
            explains_omitted = self.ranks[index] > 1 and tables_beside and not any(tables_beside)
            if not self.blocks[index].startswith(("#", COMMON_BEGINNING)) and not explains_omitted:
                self._add_block(index)

    def _tables_beside(self, index: int) -> list[str]:
        """Return the tables of the subsection of a block as they are shown; an empty text for a
        table that is not shown. For a block outside of all subsections, return the tables of the
        whole section.
        """
        own_subsection = self.subsections[index]
        return [
            shown_text
            for shown_text, is_table, subsection in zip(
                self.shown_blocks, self.is_table, self.subsections, strict=True
            )
            if is_table and subsection in (own_subsection, own_subsection or subsection)
        ]

    def _add_block(self, index: int) -> None:
        """Show a block with the headings above it, shortened to the room that is left."""
        block = self.blocks[index]
        most_lines = self.lines_left
        if self.is_table[index]:
            # The next tables want some lines too.
            most_lines = min(most_lines, max(most_lines // sum(self.is_table[index:]), _LEAST_ROOM))
        indices_above = self._blocks_above(index)
        lines_above = sum(
            printed_lines(self.blocks[index_above]) + 1 for index_above in indices_above
        )
        shortened_block = _decisive_rows(block, most_lines - lines_above - 1)
        if (
            not shortened_block
            and indices_above
            and self.blocks[indices_above[-1]].startswith(COMMON_BEGINNING)
        ):
            # The table is worth more than the line above it.
            lines_above -= printed_lines(self.blocks[indices_above.pop()]) + 1
            shortened_block = _decisive_rows(block, most_lines - lines_above - 1)
        line_count = printed_lines(shortened_block)
        if not shortened_block or (line_count and line_count >= self.lines_left - lines_above):
            return
        for index_above in indices_above:
            self.shown_blocks[index_above] = self.blocks[index_above]
        self.shown_blocks[index] = shortened_block
        self.lines_left -= lines_above + line_count + 1
        self.lines_omitted += (
            block.count("\n") - shortened_block.count("\n") + shortened_block.count("\n| ... ")
        )

    def _blocks_above(self, index: int) -> list[int]:
        """Return the indices of the headings of a block and of the line above a table that are not
        shown yet.
        """
        indices_above = [
            index_above
            for index_above in range(index)
            if self.subsections[index_above] == self.subsections[index]
            and self.blocks[index_above].startswith("#")
            and not self.shown_blocks[index_above]
        ]
        if self.is_table[index] and index and self.blocks[index - 1].startswith(COMMON_BEGINNING):
            indices_above.append(index - 1)
        return indices_above

    def text(self) -> str:
        """Return the shortened section with a line on what only the details have; empty if no block
        is shown.
        """
        if not any(self.shown_blocks):
            return ""
        tables_and_texts = zip(self.is_table, self.shown_blocks, strict=True)
        omitted_tables = sum(
            is_table and not shown_text for is_table, shown_text in tables_and_texts
        )
        omitted_parts = [with_noun(self.lines_omitted, "more line")] if self.lines_omitted else []
        omitted_parts += [with_noun(omitted_tables, "more table")] if omitted_tables else []
        last_line = f"{' and '.join(omitted_parts) or 'More'} in [{DETAILS}]({DETAILS})."
        return "\n\n".join([self.title, *filter(None, self.shown_blocks), last_line])


def _decisive_rows(block: str, most_lines: int) -> str:
    """Shorten a block to its decisive lines. A table keeps the ends of each run of rows with the
    same first cell, or its first and last rows; a list keeps its first lines.
    """
    lines = block.split("\n")
    title_line_count = 2 if block.startswith("|") else 0
    rows = lines[title_line_count:]
    if printed_lines(block) <= min(
        most_lines, title_line_count + _MOST_ROWS
    ) or not block.startswith(("|", "- ", "1. ")):
        return block
    first_cells = [row.split(" | ")[0] for row in rows] if title_line_count else []
    # A row inside of a run of equal first cells lies between the two that are kept.
    run_end_indices = [
        index
        for index, first_cell in enumerate(first_cells)
        if not first_cells[index - 1 : index] == first_cells[index + 1 : index + 2] == [first_cell]
    ]
    most_rows = min(_MOST_ROWS, most_lines - title_line_count)
    if most_rows >= len(run_end_indices) > 0 and len(run_end_indices) < len(rows):
        return "\n".join([*lines[:title_line_count], *(rows[index] for index in run_end_indices)])
    # Rows wider than the page take several printed lines.
    while (
        most_rows > 0 and printed_lines("\n".join(rows[:most_rows])) > most_lines - title_line_count
    ):
        most_rows -= 1
    # Fewer rows would mislead more than they tell.
    if most_rows < _LEAST_ROWS:
        return ""
    # Rows without a name belong to the named row above them, and stay with it.
    if any(not first_cell.strip("| ") for first_cell in first_cells):
        most_rows = max(index for index in range(most_rows + 1) if first_cells[index].strip("| "))
        return "\n".join([*lines[:title_line_count], *rows[:most_rows]]) if most_rows else ""
    if not title_line_count:
        return "\n".join(rows[:most_rows])
    gap_row = re.sub(r"^\| ...", "| ...", re.sub("[-:]", " ", lines[1]))
    return "\n".join([*lines[:title_line_count], *rows[: most_rows - 2], gap_row, rows[-1]])

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
    """Shorten a section to `room` lines below its heading; empty if nothing fits.

    What was found comes first, then tables, then what stands below a table, then the rest; what is
    said of tables stands with one of them.
    """
    if printed_lines(section) <= room:
        return section
    title, *blocks = section.split("\n\n")
    heading_of = list(
        accumulate(block.startswith("#") for block in blocks)
    )  # the subsection of each block
    tables = [block.startswith("|") for block in blocks]
    lines_of_blocks = [
        block.startswith("- ") and not (heading_of[block_index] or any(tables[:block_index]))
        for block_index, block in enumerate(blocks)
    ]
    order = []
    for block_index in range(len(blocks)):
        if lines_of_blocks[block_index]:
            order.append(0)
        elif tables[block_index]:
            order.append(1)
        else:
            order.append(2 if any(tables[block_index - 1 : block_index]) else 3)
    order = [0] * len(blocks) if title == ABOUT else order
    # Sentences come before tables, and explanations of a table only with it.
    lines_left, fewer = room - 3, 0  # without the heading and the last words
    shown_blocks = [""] * len(blocks)
    for block_index in sorted(range(len(blocks)), key=order.__getitem__):
        beside = [
            shown_blocks[index]
            for index in range(len(blocks))
            if tables[index]
            and heading_of[index]
            in (heading_of[block_index], heading_of[block_index] or heading_of[index])
        ]
        if blocks[block_index].startswith(("#", _EVERY)) or (
            order[block_index] > 1 and beside and not any(beside)
        ):
            continue
        share = (
            max(lines_left // sum(tables[block_index:]), _LEAST_ROOM)
            if tables[block_index]
            else lines_left
        )  # the next tables want some too
        above = [
            index
            for index in range(block_index)
            if heading_of[index] == heading_of[block_index]
            and blocks[index].startswith("#")
            and not shown_blocks[index]
        ]
        above += [block_index - 1] * (
            tables[block_index]
            and blocks[block_index - 1 : block_index] != []
            and blocks[block_index - 1].startswith(_EVERY)
        )
        lines_taken = sum(printed_lines(blocks[index]) + 1 for index in above)
        short = _decisive(blocks[block_index], min(lines_left, share) - lines_taken - 1)
        if (
            not short and above and blocks[above[-1]].startswith(_EVERY)
        ):  # the table is worth more than that line
            lines_taken -= printed_lines(blocks[above.pop()]) + 1
            short = _decisive(blocks[block_index], min(lines_left, share) - lines_taken - 1)
        if short and (printed_lines(short) < lines_left - lines_taken or not printed_lines(short)):
            for index in above:
                shown_blocks[index] = blocks[index]
            shown_blocks[block_index] = short
            lines_left -= lines_taken + printed_lines(short) + 1
            fewer += blocks[block_index].count("\n") - short.count("\n") + short.count("\n| ... ")
    out = sum(table and not short for table, short in zip(tables, shown_blocks, strict=True))
    more = [counted(fewer, "more line")] * bool(fewer) + [counted(out, "more table")] * bool(out)
    words = f"{' and '.join(more) or 'More'} in [{DETAILS}]({DETAILS})."
    return "\n\n".join([title, *filter(None, shown_blocks), words]) if any(shown_blocks) else ""


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

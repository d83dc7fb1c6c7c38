"""A report on one page: of long tables the decisive rows, of each section what there is room for, and where the rest is."""

from __future__ import annotations

import re

from slipstick.report.formatting import PAGE_WIDTH, counted

DETAILS = "details.md"
"""The file with the whole report, where that is longer than a page."""

PAGE_LINES = 66
"""Printed lines of a page, without its pictures."""

ABOUT, INPUTS = "About this study", "Inputs"
"""Sections that every report has."""

_MOST_ROWS, _LEAST_ROWS = 12, 4
_LEAST_ROOM = 10  # of a table with its headings
_PICTURE = re.compile(r"^\[?!\[.*(\n\n|$)", re.MULTILINE)
_SHARES = {"Pictures": 1, "Cases": 2, "What limits": 0, "Notes": 0}
"""How the room is shared where there is not enough: other sections have three parts each."""
_EVERY = "In every row: "


def printed_lines(text: str) -> int:
    """Count the lines of a text in Markdown as they are printed: long ones are folded, pictures have none.

    >>> printed_lines("# A\\n\\n![b](c.png)\\n\\n" + 130 * "x")
    4
    """
    return sum(max(1, -(-len(line) // PAGE_WIDTH)) for line in _PICTURE.sub("", text).splitlines())


def first_page(text: str) -> str:
    """Shorten a report that is longer than a page; sections that need little have it, the others share the room that is left.

    Parameters
    ----------
    text : the whole report: its head, its sections, and what it was made from
    """
    if printed_lines(text) <= PAGE_LINES:
        return text
    head, *sections, last = text.rstrip("\n").split("\n\n## ")
    left = PAGE_LINES - printed_lines(f"{head}\n\n{last}\n\n")
    rooms, weight = [0] * len(sections), [_SHARES.get(each.partition("\n")[0], 3) for each in sections]
    weights = weight.copy()
    ranked = (at for at, share in enumerate(weight) if share)
    for at in sorted(ranked, key=lambda at: printed_lines(sections[at]) / weights[at]):
        rooms[at] = min(printed_lines(sections[at]), max(left * weights[at] // sum(weights) - 1, _LEAST_ROWS))
        left, weights[at] = left - rooms[at] - 1, 0
    shown = list(map(_fitted, sections, rooms))
    left += sum(rooms) - sum(map(printed_lines, shown))
    for at in sorted(
        range(len(sections)), key=lambda at: (bool(shown[at]), -weight[at])
    ):  # what one leaves others take
        left += printed_lines(shown[at])
        shown[at] = _fitted(sections[at], left)
        left -= printed_lines(shown[at])
    names = [section.partition("\n")[0] for section, words in zip(sections, shown, strict=True) if not words]
    also = f", with {', '.join(names)}" if names else ""
    return "\n\n## ".join([head, *filter(None, shown), last]) + f" The whole report is [{DETAILS}]({DETAILS}){also}.\n"


def _fitted(section: str, room: int) -> str:
    """Give what of a section there is room for, tables and their notes first, below its heading; nothing if that is nothing."""
    if printed_lines(section) <= room:
        return section
    title, *blocks = section.split("\n\n")
    left, fewer = room - 3, 0  # without the heading and the last words
    kept = [""] * len(blocks)
    tables = [block.startswith("|") for block in blocks]
    for at in sorted(range(len(blocks)), key=lambda at: 0 if tables[at] else 1 if any(tables[at - 1 : at]) else 2):
        share = max(left // sum(tables[at:]), _LEAST_ROOM) if tables[at] else left  # the next tables want some too
        above = [each for each in _leads(blocks, tables, at) if not kept[each]]
        taken = sum(printed_lines(blocks[each]) + 1 for each in above)
        short = "" if blocks[at].startswith(("#", _EVERY)) else _decisive(blocks[at], min(left, share) - taken - 1)
        if not short and above and blocks[above[-1]].startswith(_EVERY):  # the table is worth more than that line
            taken -= printed_lines(blocks[above.pop()]) + 1
            short = _decisive(blocks[at], min(left, share) - taken - 1)
        if not tables[at] and _above(blocks, tables, at) not in (None, *(each for each in range(at) if kept[each])):
            continue  # notes to a table that is not there
        if short and (printed_lines(short) < left - taken or not printed_lines(short)):
            for each in above:
                kept[each] = blocks[each]
            kept[at] = short
            left -= taken + printed_lines(short) + 1
            fewer += blocks[at].count("\n") - short.count("\n") + short.count("\n| ... ")
    out = sum(table and not short for table, short in zip(tables, kept, strict=True))
    more = [counted(fewer, "more line")] * bool(fewer) + [counted(out, "more table")] * bool(out)
    words = f"{' and '.join(more) or 'More'} in [{DETAILS}]({DETAILS})."
    return "\n\n".join([title, *filter(None, kept), words]) if any(kept) else ""


def _leads(blocks: list[str], tables: list[bool], at: int) -> list[int]:
    """Find the heading above a block, and what is said directly above a table of all its rows."""
    found = [at - 1] if tables[at] and at and blocks[at - 1].startswith(_EVERY) else []
    return next(([before] for before in reversed(range(at)) if blocks[before].startswith("#")), []) + found


def _above(blocks: list[str], tables: list[bool], at: int) -> int | None:
    """Find the last table above a block in its subsection."""
    for before in reversed(range(at)):
        if tables[before] or blocks[before].startswith("#"):
            return before if tables[before] else None
    return None


def _decisive(block: str, room: int) -> str:
    """Keep of a table both ends of each run of rows about the same thing, or the first rows and the last; of a list the first lines."""
    lines = block.split("\n")
    head = 2 if block.startswith("|") else 0
    rows = lines[head:]
    if printed_lines(block) <= min(room, head + _MOST_ROWS) or not block.startswith(("|", "- ", "1. ")):
        return block
    about = [row.split(" | ")[0] for row in rows] if head else []
    runs = [at for at, name in enumerate(about) if not about[at - 1 : at] == about[at + 1 : at + 2] == [name]]
    most = min(_MOST_ROWS, room - head)
    if most >= len(runs) > 0 and len(runs) < len(rows):
        return "\n".join([*lines[:head], *(rows[at] for at in runs)])
    while most > 0 and printed_lines("\n".join(rows[:most])) > room - head:
        most -= 1
    if most < _LEAST_ROWS:
        return ""
    if any(not name.strip("| ") for name in about):  # rows belong to the named one above them
        most = max(at for at in range(most + 1) if about[at].strip("| "))
        return "\n".join([*lines[:head], *rows[:most]]) if most else ""
    if not head:
        return "\n".join(rows[:most])
    gap = re.sub(r"^\| ...", "| ...", re.sub("[-:]", " ", lines[1]))
    return "\n".join([*lines[:head], *rows[: most - 2], gap, rows[-1]])

"""The page that a long report is shortened to: never longer than a page, rows that decide, and
where the rest is.
"""

from __future__ import annotations

import random
import re

import pytest

from slipstick.report.formatting import markdown_table
from slipstick.report.shorten import DETAILS, PAGE_LINES, first_page, printed_lines

HEAD = "# A report\n\n- First: it holds.\n\n[![Bars](bars.png)](bars.svg)"
LAST = "## Inputs\n\nAsked: time."


def table(rows: int, about: int = 1) -> str:
    """Make a table of rows, of which so many are about the same case."""
    return markdown_table(
        ["case", "x", "time"],
        [[f"case-{row // about}", f"{row}", f"{row * 7} ms"] for row in range(rows)],
        [1, 2],
    )


def test_a_report_of_a_page_stays_as_it_is() -> None:
    text = f"{HEAD}\n\n## Cases\n\n{table(40)}\n\n{LAST}\n"
    assert first_page(text) == text


@pytest.mark.turns(4)
def test_a_long_report_is_a_page_whatever_it_is_made_of() -> None:
    draw = random.Random(5)
    for _ in range(25):
        sections = []
        for number in range(draw.randint(1, 8)):
            blocks = []
            for _ in range(draw.randint(1, 9)):
                blocks += draw.choice(
                    [
                        [
                            f"### Part {draw.random()}",
                            "All rows have the same x (1).",
                            table(draw.randint(1, 90), draw.randint(1, 9)),
                        ],
                        ["word " * draw.randint(1, 300)],
                        ["\n".join(f"- line {each}" for each in range(draw.randint(1, 30)))],
                        ["[![More](more.png)](more.svg)"],
                    ]
                )
            sections.append(f"## Section {number}\n\n" + "\n\n".join(blocks))
        text = "\n\n".join([HEAD, *sections, LAST]) + "\n"
        short = first_page(text)
        assert printed_lines(short) <= PAGE_LINES
        assert short.startswith(HEAD)
        assert (short == text) == (printed_lines(text) <= PAGE_LINES)
        headings = re.findall(r"^## .*$", short, re.MULTILINE)
        assert headings == [
            each for each in re.findall(r"^## .*$", text, re.MULTILINE) if each in headings
        ]
        if short != text:
            said = short.rpartition("The whole report is")[2]
            assert all(
                f"## Section {number}" in short or f"Section {number}" in said
                for number in range(len(sections))
            )
        for line in short.split("\n"):
            assert line in text or DETAILS in line or line.startswith("| ...")
        assert not re.search(
            r"^(### .*|All rows have the same .*)\n\n(##|[^|\n]*details\.md)", short, re.MULTILINE
        )


@pytest.mark.parametrize(
    ("about", "kept"),
    [(30, ["0", "29", "30", "59", "60", "89"]), (1, [*map(str, range(10)), "...", "89"])],
)
def test_of_a_long_table_the_ends_of_each_case_or_the_first_rows_and_the_last_stay(
    about: int, kept: list[str]
) -> None:
    text = f"{HEAD}\n\n## Sweeps\n\n{table(90, about)}\n\n{LAST}\n"
    short = first_page(text)
    rows = [
        line.strip("| ").split(" | ")
        for line in short.split("\n")
        if re.match(r"\| (case-|\.\.\.)", line)
    ]
    assert [row[1].strip() if row[0].startswith("case") else "..." for row in rows] == kept
    assert f"{90 - len(kept) + ('...' in kept)} more lines in [details.md](details.md)." in short


def test_notes_to_a_table_go_with_it() -> None:
    notes = "\n".join(f"1. note {each}" for each in range(4))
    sections = [f"## Changes {each}\n\n{table(30)}" for each in range(6)]
    text = "\n\n".join([HEAD, *sections, f"## Notes\n\n{table(20)}\n\n{notes}", LAST])
    assert "1. note" not in first_page(text)

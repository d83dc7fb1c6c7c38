"""Several methods side by side, in words."""

from __future__ import annotations

from slipstick.answer import Value
from slipstick.report.side_by_side import agreement_section, agreement_text
from slipstick.results import Agreement, SideBySide

FOUND = Agreement(
    "many",
    ("closed-form", "simulation", "bounds"),
    (
        SideBySide("time", "s", (Value(1.0, "s"), Value(2.0, "s", 1.9, 2.1), Value(None, "s", 0.5, None))),
        SideBySide("speedup", "1", (Value(4.0, "1"), Value(3.0, "1"), None)),
    ),
    ("simulation lies within the bounds",),
    ("closed-form claims to be exact",),
    {"exact-mva": "it is no network"},
)

TEXT = """\
value      closed-form        simulation      bounds
-------  -------------  ----------------  ----------
time               1 s  2 s (+-100 ms)    500 ms to -
speedup              4                 3           -

finding: closed-form claims to be exact
simulation lies within the bounds
exact-mva has no answer: it is no network"""


def words(text: str) -> list[list[str]]:
    """Compare words only: how wide columns are is the table library's."""
    return [line.split() for line in text.splitlines() if set(line) - set("- ")]


def test_in_the_terminal() -> None:
    assert words(agreement_text(FOUND)) == words(TEXT)


def test_on_a_page_findings_come_first() -> None:
    page = agreement_section([FOUND])
    assert page.index("- many: closed-form claims to be exact") < page.index("### many")
    assert "- simulation lies within the bounds" in page
    assert agreement_section([]) == ""

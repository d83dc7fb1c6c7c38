"""Several methods side by side, in words."""

from __future__ import annotations

from slipstick.answer import Value
from slipstick.report.answer import agreement_text
from slipstick.report.formatting import question_section
from slipstick.results.study import Agreement, MethodValues
from slipstick_questions.agree import AgreeResult

FOUND = Agreement(
    "many",
    ("closed-form", "simulation", "bounds"),
    (
        MethodValues(
            "time", "s", (Value(1.0, "s"), Value(2.0, "s", 1.9, 2.1), Value(None, "s", 0.5, None))
        ),
        MethodValues("speedup", "1", (Value(4.0, "1"), Value(3.0, "1"), None)),
    ),
    ("simulation lies within the bounds",),
    ("closed-form claims to be exact",),
    {"exact": "it is no network"},
)

TEXT = """\
value      closed-form        simulation           bounds
-------  -------------  ----------------  ---------------
time               1 s  2 (1.9 to 2.1) s  at least 500 ms
speedup              4                 3           -

finding: closed-form claims to be exact
simulation lies within the bounds
exact has no answer: it is no network"""


def words(text: str) -> list[list[str]]:
    """Compare words only: how wide columns are is the table library's."""
    return [line.split() for line in text.splitlines() if set(line) - set("- ")]


def test_in_the_terminal() -> None:
    assert words(agreement_text(FOUND)) == words(TEXT)


def test_on_a_page_findings_come_first() -> None:
    page = question_section(AgreeResult((FOUND,)))
    assert page.index("- many: closed-form claims to be exact") < page.index("| value")
    assert "- simulation lies within the bounds" in page


def wide(methods: int, rows: int = 1) -> Agreement:
    names = tuple(f"method-number-{index}" for index in range(methods))
    values = tuple(Value(index + 0.123456, "s", index, index + 0.25) for index in range(methods))
    return Agreement(
        "many",
        names,
        tuple(MethodValues(f"queue_length[jobs,{row}]", "s", values) for row in range(rows)),
        (),
    )


def test_what_is_wider_than_a_terminal_is_folded_and_no_name_is_broken() -> None:
    text = agreement_text(wide(9))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    heads = [line.split() for line in lines if line.startswith("value")]
    assert [name for head in heads for name in head[1:]] == [
        f"method-number-{index}" for index in range(9)
    ]
    assert len(heads) > 1
    assert sum(line.startswith("queue_length[jobs,0] ") for line in lines) == len(heads)
    assert sum(line.startswith("value") for line in agreement_text(wide(2)).splitlines()) == 1


def test_values_that_are_not_shown_are_counted() -> None:
    assert "and 6 more values" in agreement_text(wide(2, rows=30))
    assert question_section(AgreeResult((wide(2, rows=25),))).endswith("and 1 more value")
    assert "more value" not in agreement_text(wide(2, rows=24))

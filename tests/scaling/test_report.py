"""How scaling is told: from results made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slipstick.answer import Value
from slipstick.late import Array
from slipstick.report.formatting import question_section
from slipstick.results.question import question_document
from slipstick.results.study import tidy_columns
from slipstick.results.sweep import Axis, Provenance, Sweep
from slipstick.results.words import Words
from slipstick_pictures.look import look
from slipstick_scaling.question import (
    BestProcessors,
    IsoefficiencyFormula,
    OverheadTerm,
    PublishedScalability,
    ScaleResult,
    Scaling,
    bands_of,
    work_of,
)
from slipstick_scaling.specs import BandsSpec, ScalabilityPictureSpec
from tests.report.made_up import SMALL_RESULTS

COUNT = np.array([2.0, 4.0, 8.0])
BY_FORM = Provenance(["closed-form"] * 3, [True] * 3)


def runs(way: str, failed: dict[int, str], **columns: Array) -> Sweep:
    units = {name: "1" if name in ("items", "efficiency") else "s" for name in columns}
    points: dict[str, Any] = {"population.processors": COUNT}
    axis = Axis("population.processors", "1", tuple(COUNT))
    latency = columns["time"] * (1 - columns["efficiency"])
    return Sweep(
        f"scale/{way}",
        (axis,),
        ["base"] * 3,
        points,
        {**columns, "latency": latency},
        {**units, "latency": "s"},
        {},
        BY_FORM,
        failed,
    )


FIXED = runs(
    "fixed-size",
    {},
    items=np.array([100.0, 100.0, 100.0]),
    time=np.array([1.0, 0.6, 0.5]),
    efficiency=np.array([0.9, 0.75, 0.45]),
    **{
        "account[lock]": np.array([0.1, 0.15, 0.275]),
        "account[busy]": np.array([0.9, 0.45, 0.225]),
        "account[idle]": np.zeros(3),
    },
)
KEPT = runs(
    "efficiency-conserved",
    {2: "no size will do"},
    items=np.array([10.0, 40.0, np.nan]),
    time=np.array([0.2, 0.4, np.nan]),
    efficiency=np.array([0.5, 0.5, np.nan]),
    **{
        "account[lock]": np.array([0.1, 0.2, np.nan]),
        "account[busy]": np.array([0.1, 0.2, np.nan]),
    },
)
TABLE = np.full((3, 3), np.nan)
TABLE[0, 1] = 0.5
GROWTH = IsoefficiencyFormula(
    efficiency=0.5,
    overhead="a*N + b*N**2",
    work="n",
    terms=(
        OverheadTerm("a*N", "N", 2.0),
        OverheadTerm("b*N**2", "N**2", 33.3),
        OverheadTerm("-c", "", None),
    ),
    order="N**2",
    exact="K*(a*N + b*N**2)",
    limit="",
)
MADE = Scaling(
    case="base",
    path="population.processors",
    useful=("busy",),
    ways={"fixed-size": FIXED, "efficiency-conserved": KEPT},
    goals={"efficiency-conserved": Value(0.5, "1")},
    matrix={"efficiency-conserved": TABLE},
    fastest=BestProcessors(7.0, Value(0.4, "s"), at_the_end=False),
    threshold=0.5,
    largest=BestProcessors(8.0, Value(0.52, "1"), at_the_end=True),
    growth=GROWTH,
)
AT_THE_END = (
    "At a fixed size it has an efficiency of at least 50 % on up to 8 processors, the largest"
    " number examined: 52 %"
)
BANDS = BandsSpec(kind="bands", name="bands", title="What they do")


def test_bands_add_up_to_all_processors_and_the_useful_come_first() -> None:
    bands = bands_of(MADE, "fixed-size")
    assert list(bands) == ["busy", "lock"]
    assert sum(bands.values()) == pytest.approx(COUNT)
    assert bands["busy"] == pytest.approx(COUNT * FIXED["efficiency"])


def test_without_an_account_there_are_two_bands() -> None:
    bare = replace(
        MADE,
        ways={
            "fixed-size": replace(
                FIXED, columns={name: FIXED[name] for name in ("time", "efficiency")}
            )
        },
    )
    bands = bands_of(bare, "fixed-size")
    assert sum(bands.values()) == pytest.approx(COUNT)
    assert list(bands) == ["useful", "lost"]


def test_the_picture_has_a_band_for_each_cause_under_the_line_of_all() -> None:
    with look():
        figure = ScaleResult((MADE,)).draw(BANDS, {})
    (axes,) = figure.axes
    assert [each.get_label() for each in axes.collections] == ["useful work", "lock"]
    (line,) = axes.lines
    assert np.array_equal(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))


def test_the_triangle_has_the_scalability_of_each_way_between_all_numbers() -> None:
    spec = ScalabilityPictureSpec(kind="scalability", name="cells", title="All pairs")
    with look():
        (axes,) = ScaleResult((MADE,)).draw(spec, {}).axes
    cells = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert set(cells) == {(0, 0), (1, 0), (1, 1)}
    (matrix,) = MADE.matrix.values()
    for (column, row), text in cells.items():
        cell = matrix[row, column + 1]
        assert text == ("a  -" if np.isnan(cell) else f"a  {cell:.2f}")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["2", "4"]


def test_a_cell_of_the_triangle_has_the_printed_value_beside_it() -> None:
    spec = ScalabilityPictureSpec(kind="scalability", name="cells", title="All pairs")
    (way,) = MADE.matrix
    cell = PublishedScalability(2.0, 4.0, way, 0.54, 0.5, "Figure 14", "closed-form", False)
    with look():
        (axes,) = ScaleResult((replace(MADE, printed=(cell,)),)).draw(spec, {}).axes
    texts = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert texts[0, 0].endswith(" (0.54)")
    assert "(" not in texts[1, 0]
    assert "in brackets as printed" in axes.get_xlabel()


def test_a_cell_that_statements_check_is_none_by_itself() -> None:
    (way,) = MADE.matrix
    cell = PublishedScalability(2.0, 4.0, way, 0.54, 0.5, "Figure 14", "closed-form", False)
    by_itself, elsewhere = (
        ScaleResult((replace(MADE, printed=(replace(cell, checked=checked),)),))
        for checked in (True, False)
    )
    assert len(by_itself.files()["statements-of-scaling.csv"]) == 1
    assert elsewhere.files() == {}
    assert "1 statement checked" in by_itself.sentences()[-1]
    assert "checked" not in elsewhere.sentences()[-1]


def test_the_work_is_what_processors_do_usefully_as_a_multiple_of_the_first() -> None:
    # N T E is 2 * 0.2 * 0.5 and 4 * 0.4 * 0.5; no size will do for 8.
    assert work_of(MADE, "efficiency-conserved") == pytest.approx([1.0, 4.0, np.nan], nan_ok=True)


def test_the_section_says_sizes_matrix_and_symbols() -> None:
    text = question_section(ScaleResult((MADE,)))
    assert "- base: At a fixed size it is fastest on 7 processors: 400 ms\n" in text
    assert "on up to 8 processors, the largest number examined: 52 %" in text
    assert "#### efficiency-conserved, keeping 50 %" in text
    assert "- N = 8: no size will do" in text
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    assert ["4", "40", "400 ms", "50 %", "200 ms", "200 ms", "yes"] in rows
    assert ["8", "-", "-", "-", "-", "-", "-"] in rows
    assert ["2", "0.50"] in rows
    assert ["`b*N**2`", "`N**2`", "33.3"] in rows
    assert ["`-c`", "-", "-"] in rows
    reigns = "the term that asks for the most from N = 33.3 on is `b*N**2`"
    assert (
        f"To keep 50 % the work must grow as `N**2`; {reigns}. Exactly, W = `K*(a*N + b*N**2)`."
        in text
    )


def test_the_tidy_table_has_a_row_for_each_way_and_number() -> None:
    table = tidy_columns(
        replace(SMALL_RESULTS, sweeps=(), cases={}, questions={"scale": ScaleResult((MADE,))}),
        ["time"],
    )
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    kept = [row for row in rows if row["sweep"] == "scale/efficiency-conserved"]
    assert [row["population.processors [1]"] for row in kept] == [2, 4, 8]
    assert [row["items [1]"] for row in kept] == [10, 40, None]
    assert [row["time [s]"] for row in kept] == [0.2, 0.4, None]
    assert [row["latency [s]"] for row in kept] == [0.1, 0.2, None]
    assert [row["account[lock] [s]"] for row in kept] == [0.1, 0.2, None]
    # The matrix has L(2) / L(4) in the row of 4.
    assert [row["scalability[2] [1]"] for row in kept] == [None, 0.5, None]
    assert [row["failed"] for row in kept] == [None, None, "no size will do"]
    assert len(rows) == 6


def test_published_cells_stand_beside_ours() -> None:
    cells = (
        PublishedScalability(
            2, 4, "efficiency-conserved", 0.54, 0.5, "Figure 14", "closed-form", True
        ),
    )
    beside = replace(MADE, printed=cells)
    section = question_section(ScaleResult((beside,)))
    # W'/W = 2 / 0.54 for twice the processors; 2 / 0.5 is the square of 2.
    (line,) = (line for line in section.splitlines() if line.startswith(("| 2 to 4 |", "| cell ")))
    assert "2 to 4" in line
    assert all(number in section for number in ("0.54", "0.50", "1.89", "2.00"))
    assert "1 statement checked: 0 hits, 1 miss (base-2-to-4-efficiency-conserved)" in section
    (row,) = ScaleResult((beside,)).files()["statements-of-scaling.csv"]
    assert (row["verdict"], row["wanted"], row["method"]) == (
        "miss",
        "0.54, within 0.005",
        "closed-form",
    )
    document = question_document(ScaleResult((beside,)))
    assert document["scalings"][0]["printed"] == [
        {"processors": 2, "more_processors": 4, "way": "efficiency-conserved"}
        | {
            "printed": 0.54,
            "computed": 0.5,
            "source": "Figure 14",
            "method": "closed-form",
            "exact": True,
            "bound": "",
            "error": "",
            "left_out": {},
            "check": None,
            "lacks": "",
            "checked": True,
        }
    ]


def test_json_has_what_the_page_has() -> None:
    document = question_document(ScaleResult((MADE,)))
    assert list(document) == ["scalings"]
    (found,) = document["scalings"]
    assert found["path"] == "population.processors"
    kept = found["ways"]["efficiency-conserved"]
    assert found["goals"] == {
        "efficiency-conserved": {"value": 0.5, "unit": "1", "low": None, "high": None}
    }
    assert (kept["points"]["population.processors"], kept["columns"]["items"]) == (
        [2, 4, 8],
        [10, 40, None],
    )
    assert kept["failed"] == {"2": "no size will do"}
    assert kept["provenance"]["methods"] == ["closed-form"] * 3
    assert found["matrix"]["efficiency-conserved"][0] == [None, 0.5, None]
    fastest = found["fastest"]
    assert (fastest["processors"], fastest["value"]["value"], fastest["at_the_end"]) == (
        7,
        0.4,
        False,
    )
    assert found["growth"]["terms"][1] == {"text": "b*N**2", "order": "N**2", "since": 33.3}
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_terminal_gets_a_line_for_each_finding() -> None:
    assert ScaleResult((MADE,)).text().splitlines() == [
        "base: At a fixed size it is fastest on 7 processors: 400 ms",
        f"base: {AT_THE_END}",
        (
            "base: To keep 50 % the work must grow as N**2; the term that asks for the most from N"
            " = 33.3 on is b*N**2"
        ),
    ]


def test_what_does_not_scale_says_why() -> None:
    never = replace(
        MADE, growth=replace(GROWTH, order="", exact="", limit="b*n grows as fast as the work")
    )
    idle = replace(MADE, growth=replace(GROWTH, terms=GROWTH.terms[2:]))
    assert ScaleResult((idle,)).text().endswith("must grow as N**2")
    assert (
        ScaleResult((never,)).text().splitlines()[-1]
        == "base: Not scalable at 50 %: b*n grows as fast as the work"
    )
    assert "Not scalable at 50 %: b\\*n grows as fast as the work." in question_section(
        ScaleResult((never,))
    )
    none = replace(MADE, growth=None, no_growth="only a closed form has one")
    assert "No isoefficiency in symbols: only a closed form has one." in question_section(
        ScaleResult((none,))
    )


def test_where_nothing_stands_out_that_is_said() -> None:
    nothing = BestProcessors(None, Value(None, "s"), at_the_end=False)
    text = ScaleResult((replace(MADE, fastest=nothing, largest=nothing, growth=None),)).text()
    assert "At a fixed size no number of processors has an answer" in text
    assert "At a fixed size no number of processors has an efficiency of at least 50 %" in text


def test_sentences_call_members_of_the_population_by_their_noun() -> None:
    text = ScaleResult((replace(MADE, growth=None),), Words(member="client")).text()
    assert "it is fastest on 7 clients" in text
    assert "on up to 8 clients" in text


def test_the_head_says_once_what_holds_of_several_cases() -> None:
    other = replace(MADE, case="other", growth=replace(GROWTH, order="N**3*log(N)"))
    assert ScaleResult((MADE,)).headline(Words()) == [
        "to keep 50 % efficiency on N processors, the work must grow as N^2",
        "fastest at a fixed size on 7 processors, in 400 ms",
    ]
    assert ScaleResult((MADE, other)).headline(Words({"base": "as it is"})) == [
        (
            "as it is: to keep 50 % efficiency on N processors, the work must grow as N^2; "
            "other: as N^3 log(N)"
        ),
        "fastest at a fixed size on 7 processors, in 400 ms",
    ]


def test_the_head_speaks_of_customers_and_of_the_ends_of_a_range() -> None:
    looked_at = tuple(map(float, range(2, 61)))
    nothing = BestProcessors(None, Value(None, "1"), at_the_end=False, examined=looked_at)
    scaling = replace(MADE, fastest=nothing, largest=nothing, growth=None)
    assert ScaleResult((scaling,)).headline(Words(member="customer")) == [
        "less than 50 % efficient on every number of customers (of 2 to 60)",
        (
            "50 % efficiency on 4 customers, the most with such a size, needs 40 items (4 times"
            " that on 2)"
        ),
        (
            "fastest at a fixed size (of 2 to 60) on no number of customers, because none has an "
            "answer"
        ),
    ]

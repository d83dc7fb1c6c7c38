"""Comparisons: computed beside published, and the names that a study calls its parts by."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick.report.formatting import question_section
from slipstick.results.study import Results
from slipstick.results.words import Words
from slipstick.study.run import prepare, run
from slipstick_papers.compare import (
    CompareResult,
    PublishedTable,
    TableCell,
    TableRow,
    comparison_text,
    published_and_computed,
    summary_of_tables,
)
from tests.questions import result_of
from tests.specs import activity, refused, study


def results(folder: Path, *lines: str, **base: str) -> Results:
    (folder / "model.yaml").write_text(
        activity(
            "{name: work, delay: 8 ms}",
            "{name: update, delay: 2 ms, component: lock}",
            head="population: {processors: 2}",
        )
    )
    text = study(
        "cases: {fast: {cycle.work.delay: 4 ms}}", *lines, base=f"{{model: {folder}/model.yaml}}"
    )
    (folder / "x.yaml").write_text(text)
    return run(prepare(str(folder / "x.yaml")))


TABLE = "compare: [{title: t, columns: [base, fast], unit: ms, rows: [%s]}]"


def cells(folder: Path, row: str) -> tuple[TableCell, ...]:
    return result_of(results(folder, TABLE % row), CompareResult).compared[0].rows[0].cells


def test_a_cell_is_computed_in_the_unit_of_its_table(tmp_path: Path) -> None:
    first, second = cells(
        tmp_path, '{row: r, sum: ["account[busy]", "step[update]"], printed: [10, 7], within: 0.5}'
    )
    assert [first.computed, second.computed] == pytest.approx([10.0, 6.0])
    assert (first.case, first.printed, first.agrees) == ("base", 10.0, True)
    assert second.difference == pytest.approx(-1.0)
    assert not second.agrees


def test_measured_values_are_added_and_blanks_stay_blank(tmp_path: Path) -> None:
    first, second = cells(
        tmp_path, "{row: r, sum: [time], plus: [1.5, null], printed: [null, 6], within: [0, 1]}"
    )
    assert [first.computed, second.computed] == pytest.approx([11.5, 6.0])
    assert (first.difference, first.agrees, second.within) == (None, True, 1.0)


def test_an_approximation_has_an_error_against_an_exact_value_and_no_miss(tmp_path: Path) -> None:
    found = result_of(
        results(tmp_path, TABLE % "{row: r, sum: [time], exact: true, printed: [8, 8]}"),
        CompareResult,
    )
    assert found.sentences() == ["Against 2 exact values the mean absolute error is 25 %."]
    page = question_section(found)
    assert "miss" not in page
    rows = [
        [each.strip() for each in line.split("|")[2:-1]]
        for line in page.splitlines()
        if line.startswith("|")
    ]
    assert [rows[-2], rows[-1]] == [["exact", "8", "8"], ["error", "+25 %", "-25 %"]]
    both = problems(
        tmp_path, TABLE % "{row: r, sum: [time], exact: true, measured: true, printed: [8, 8]}"
    )
    assert both[0].endswith("row r is measured or exact, not both")


def test_a_cell_may_be_a_slip_of_its_source(tmp_path: Path) -> None:
    first, second = cells(
        tmp_path, "{row: r, sum: [time], printed: [9, 6], slips: {base: the sum is 10}}"
    )
    assert (first.slip, second.slip) == ("the sum is 10", "")


def test_an_interval_holds_the_cases_that_a_cell_ranges_over(tmp_path: Path) -> None:
    first, second = cells(
        tmp_path, "{row: r, sum: [time], printed: [7, 5], within: 0, ranging: {base: [fast]}}"
    )
    assert (first.computed, *first.ends) == pytest.approx((10.0, 6.0, 10.0))
    assert (first.is_inside_interval, second.ends, second.is_inside_interval) == (
        True,
        (None, None),
        None,
    )
    unknown = problems(
        tmp_path, TABLE % "{row: r, sum: [time], printed: [7, 5], ranging: {base: [fats]}}"
    )
    assert unknown == [
        "4:117: compare.0.rows.0.ranging.base: there is no case 'fats'; did you mean 'fast'?"
    ]


def test_a_picture_has_the_cells_that_have_both_a_published_and_a_computed_value(
    tmp_path: Path,
) -> None:
    found = result_of(
        results(tmp_path, TABLE % "{row: r, sum: [time], printed: [null, 5]}"), CompareResult
    )
    (points,) = published_and_computed(found.compared).values()
    assert points.tolist() == [[5.0], [pytest.approx(6.0)]]


def test_a_row_may_be_held_against_other_cases(tmp_path: Path) -> None:
    made = results(tmp_path, TABLE % "{row: r, sum: [time], against: [fast, base], within: 0.05}")
    found = result_of(made, CompareResult)
    first, second = found.compared[0].rows[0].cells
    assert [first.printed, second.printed] == pytest.approx([6.0, 10.0])
    assert first.difference == pytest.approx(4.0)
    page = question_section(found)
    assert "0 printed" not in page
    rows = [[each.strip() for each in line.split("|")[2:-1]] for line in page.splitlines()[-3:]]
    assert rows == [
        ["computed", "10.00", "6.00"],
        ["against", "6.00 (fast)", "10.00 (base)"],
        ["difference", "+66.7 %", "-40 %"],
    ]
    beside = problems(tmp_path, TABLE % "{row: r, sum: [time], against: [base, slow]}")
    assert beside[0].endswith(
        "compare.0.rows.0.against.1: there is no case 'slow'; known: base, fast"
    )
    neither = problems(tmp_path, TABLE % "{row: r, sum: [time]}")
    assert neither[0].endswith("row r needs something to stand beside: printed or against")


def test_a_sum_may_be_divided_by_a_number_of_the_case(tmp_path: Path) -> None:
    first, second = cells(tmp_path, "{row: r, sum: [time], per: efficiency, printed: [9, 6]}")
    # Two processors of which 8 of 10 ms are useful, and 4 of 6.
    assert [first.computed, second.computed] == pytest.approx([10 / 0.8, 6 / (4 / 6)])
    (message,) = problems(tmp_path, TABLE % "{row: r, sum: [time], per: time, printed: [9, 6]}")
    assert message.endswith("compare.0.rows.0.per: time is a [s]; a [1] is needed")


def test_the_allowance_is_not_lost_in_rounding(tmp_path: Path) -> None:
    assert TableCell("c", 1.0, 0.9, 0.1).agrees
    assert not TableCell("c", 1.0, 0.89, 0.1).agrees


def problems(folder: Path, *lines: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        results(folder, *lines)
    return [
        f"{each.line}:{each.column}: {each.path}: {each.message}" for each in caught.value.problems
    ]


def test_a_value_that_no_case_has_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, TABLE % '{row: r, sum: [time, "step[updat]"], printed: [1, 2]}')
    assert found == [
        (
            "4:83: compare.0.rows.0.sum.1: no case has the value step[updat]; did you mean"
            " 'step[update]'?"
        )
    ]
    assert problems(tmp_path, "answer: [time, efficency]") == [
        "4:16: answer.1: no answer has the value efficency; did you mean 'efficiency'?"
    ]


NAMES = [
    ("rank: {cases: [fsat]}", "4:16: rank.cases.0: there is no case 'fsat'; did you mean 'fast'?"),
    (
        "vary: {s: {cases: [bas], axes: {cycle.work.delay: [1 ms]}}}",
        "4:20: vary.s.cases.0: there is no case 'bas'; did you mean 'base'?",
    ),
    (
        "compare: [{title: t, columns: [bas], rows: [{row: r, sum: [time], printed: [1]}]}]",
        "4:32: compare.0.columns.0: there is no case 'bas'; did you mean 'base'?",
    ),
    (
        (
            "compare: [{title: t, columns: [base], rows: [{row: r, sum: [time], printed: [1],"
            " slips: {bse: x}}]}]"
        ),
        "4:95: compare.0.rows.0.slips.bse: there is no case 'bse'; did you mean 'base'?",
    ),
    (
        (
            "compare: [{title: t, unit: uss, columns: [base], rows: [{row: r, sum: [time], printed:"
            " [1]}]}]"
        ),
        "4:28: compare.0.unit: 'uss': there is no unit 'uss'; did you mean 'us'?",
    ),
    (
        "pictures: [{name: p, title: t, kind: bars, cases: [bse], stack: component}]",
        "4:52: pictures.0.cases.0: there is no case 'bse'; did you mean 'base'?",
    ),
    (
        "pictures: [{name: p, title: t, kind: lines, sweep: vry, x: cycle.work.delay, y: [time]}]",
        "4:52: pictures.0.sweep: there is no sweep 'vry'; did you mean 'vary'?",
    ),
    (
        "pictures: [{name: p, title: t, kind: lines, sweep: vary, x: cycle.wrk.delay, y: [time]}]",
        (
            "4:61: pictures.0.x: sweep vary has no axis 'cycle.wrk.delay'; did you mean"
            " 'cycle.work.delay'?"
        ),
    ),
    (
        (
            "pictures: [{name: p, title: t, kind: map, sweep: vary, x: cycle.work.delay, y:"
            " nothing, value: time}]"
        ),
        "4:80: pictures.0.y: sweep vary has no axis 'nothing'; known: cycle.work.delay",
    ),
    (
        (
            "pictures: [{name: p, title: t, kind: map, sweep: vary, x: cycle.work.delay, y:"
            " cycle.work.delay, value: time, case: fsat}]"
        ),
        "4:117: pictures.0.case: there is no case 'fsat'; did you mean 'fast'?",
    ),
    (
        (
            "pictures: [{name: p, title: t, kind: bars, cases: [base], stack: component}, {name: p,"
            " title: t, kind: bars, cases: [base], stack: component}]"
        ),
        "4:85: pictures.1.name: another picture is called p",
    ),
    (
        "pictures: [{name: p, title: t, kind: bars, cases: [base], stack: component, along: n}]",
        "4:52: pictures.0.cases.0: case base sets no number n, along which the areas are drawn",
    ),
]


@pytest.mark.parametrize(("line", "problem"), NAMES, ids=[each[1][:50] for each in NAMES])
def test_a_name_that_leads_nowhere_is_refused_before_anything_is_solved(
    tmp_path: Path, line: str, problem: str
) -> None:
    sweep = "" if line.startswith("vary") else "vary: {cycle.0.delay: [1 ms, 2 ms]}"
    assert problems(tmp_path, line, sweep) == [problem]
    text = (tmp_path / "x.yaml").read_text()
    assert refused(tmp_path, text) == [f"x.yaml:{problem}"]


def test_a_study_tells_where_everything_comes_from(tmp_path: Path) -> None:
    found = results(tmp_path, "title: A made-up study", "source: me")
    assert (found.name, found.title, found.source) == ("x", "A made-up study", "me")
    assert list(found.hashes) == ["model.yaml", "x.yaml"]
    assert found.settings == {"base": {}, "fast": {"cycle.work.delay": "4 ms"}}
    assert found.cases["fast"].given == {"cycle.work.delay": 4e-3}
    assert found.resolved["fast"] == {
        "model": "model",
        "activity": 1,
        "population": {"processors": 2},
        "cycle": [
            {"name": "work", "delay": "4 ms"},
            {"name": "update", "delay": "2 ms", "component": "lock"},
        ],
    }
    assert set(found.versions) == {"python", "slipstick", "numpy", "code"}


def test_a_time_cannot_stand_in_a_table_of_bytes(tmp_path: Path) -> None:
    table = (
        "compare: [{title: t, columns: [base, fast], unit: B, rows: [{row: r, sum: [time], printed:"
        " [1, 2]}]}]"
    )
    (message,) = problems(tmp_path, table)
    assert message.endswith("compare.0.rows.0.sum.0: time is a [s]; a [B] is needed")


def test_a_quantity_enters_the_mean_error_once(tmp_path: Path) -> None:
    row = "{row: %s, sum: [time], printed: [8, 6], within: 0, measured: true%s}"
    found = result_of(
        results(tmp_path, TABLE % f"{row % ('a', '')}, {row % ('b', ', counted: false')}"),
        CompareResult,
    )
    # Computed 10 and 6 ms.
    assert found.text().endswith("Against 2 measured values the mean absolute error is 12.5 %.")
    assert question_section(found).count("mean absolute error 12.5 % over 2 measured values") == 2


def test_rows_that_share_the_columns_are_one_answer_in_the_numbers_of_a_run(tmp_path: Path) -> None:
    """All cells, 400 times what the study computes, stand in one sentence, in the order of the
    columns; it tells which of them the model was fitted to.
    """
    cases = "cases: {fast: {cycle.work.delay: 4 ms}, slow: {cycle.work.delay: 18 ms}, more: {}}"
    rows = (
        "{row: 'time of the run, fitted', sum: [time], times: 400, input: true,"
        " printed: [4000, 2300, null, null]},"
        " {row: predicted, sum: [time], times: 400, printed: [null, null, 8100, 4100]}"
    )
    (tmp_path / "model.yaml").write_text(
        activity(
            "{name: work, delay: 8 ms}",
            "{name: update, delay: 2 ms, component: lock}",
            head="population: {processors: 2}",
        )
    )
    columns = "columns: [base, fast, slow, more]"
    table = f"compare: [{{title: Time of the run, {columns}, unit: ms, rows: [{rows}]}}]"
    path = tmp_path / "x.yaml"
    path.write_text(study(cases, table, base=f"{{model: {tmp_path}/model.yaml}}"))
    found = result_of(run(prepare(str(path))), CompareResult)
    (sentence,) = found.headline(Words())
    assert sentence == (
        "Time of the run: 4000 ms for base, 2400 ms for fast, 8000 ms for slow and 4000 ms for"
        " more (in the source 4000 ms, 2300 ms, 8100 ms and 4100 ms);"
        " the model was fitted to the values of base and fast, and predicts the others"
    )
    assert found.sentences() == [
        (
            "2 printed cells are compared: 0 agree within rounding, 0 are slips of the source, 2"
            " are misses. 2 further printed cells are inputs of the model, and not compared."
        )
    ]


def test_a_difference_that_the_study_allows_is_not_called_rounding() -> None:
    """A printed 8100 that may be 200 apart has other digits than the computed 8000."""
    cells = (TableCell("base", 8000.0, 8100.0, 200.0), TableCell("fast", 5000.0, 4000.0, 200.0))
    table = PublishedTable("", "", "", "1", ("base", "fast"), (TableRow("predicted", cells),))
    assert summary_of_tables([table]).startswith(
        "2 printed cells are compared: 1 agrees within the difference that the study allows"
    )
    assert "the study allows 200" in comparison_text(table)

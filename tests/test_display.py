"""What a notebook shows: HTML that is escaped and capped, LaTeX of laws."""

from __future__ import annotations

from xml.etree import ElementTree

from slipstick import LAWS, closed_model, delay, hold, load, run, service, solve
from slipstick.answer import Answer
from slipstick.display import html_table

SWEEP = {"population.processors": list(range(1, 61))}


def tables(html: str) -> list[list[list[str]]]:
    """Read the cells of every table; well-formed, or ElementTree refuses it."""
    whole = ElementTree.fromstring(f"<div>{html}</div>")
    return [[[cell.text or "" for cell in row] for row in each.iter("tr")] for each in whole.iter("table")]


def test_an_answer_shows_its_values_its_account_and_its_notes() -> None:
    values, account, notes = tables(solve("lock-and-bus")._repr_html_())
    assert ["time", "25.46 ms"] in values
    assert ["busy", "9 ms", "35.4 %"] in account
    assert notes[0] == ["notes"]
    assert tables(Answer("<b>", "closed-form", failed="saturated & full")._repr_html_()) == [
        [["no answer"], ["saturated & full"]]
    ]


def test_a_sweep_shows_its_first_points_and_says_that_there_are_more() -> None:
    ((head, first, *_, last),) = tables(solve("lock-and-bus", SWEEP, method="closed-form")._repr_html_())
    assert head[:2] == ["population.processors", "time [s]"]
    assert first[:2] == ["1", "0.010005"]
    assert set(last) == {"..."}


def test_a_model_shows_its_steps_and_its_resources() -> None:
    cycle = delay(9e-3, name="work") >> hold("door", service("bus", 1e-3, name="update"))
    steps, resources = tables(closed_model(cycle, processors=8)._repr_html_())
    assert [row[:2] for row in steps] == [["step", "at"], ["work", ""], ["update", "bus"]]
    assert resources[0] == ["name", "kind", "as written"]
    assert [each[:2] for each in tables(load("lock-and-bus")._repr_html_())[1][1:]] == [  # type: ignore[union-attr]
        ["bus", "Station"],
        ["door", "Lock"],
        ["meet", "Barrier"],
    ]


def test_a_study_shows_its_cases_and_sweeps() -> None:
    study = {"study": 1, "base": {"model": "law/flow-line", "items": 3, "once": "10 us", "longest": "3 us"}}
    found = run({**study, "vary": {"items": [1, 2]}})
    cases, sweep = tables(found._repr_html_())
    assert cases[1][:3] == ["base", "law/flow-line", "time"]
    assert repr(found) == "<Results of study: 1 cases and 1 sweeps>"
    assert str(found).splitlines()[1] == "base: <Answer for law/flow-line by closed-form: time = 1.6e-05 s>"
    assert [row[0] for row in sweep] == ["items", "1", "2"]


def test_a_law_shows_its_equation() -> None:
    assert str(LAWS["amdahl-speedup"]) == "speedup = 1 / (serial + (1 - serial) / processors)"
    assert LAWS["flow-line"]._repr_latex_() == f"$\\displaystyle {LAWS['flow-line'].latex}$"
    ((head, *symbols),) = tables(LAWS["amdahl-speedup"]._repr_html_())
    assert head == ["symbol", "unit", "meaning"]
    assert [each[0] for each in symbols][:3] == ["speedup", "serial", "processors"]


def test_a_model_shows_its_equations() -> None:
    found = closed_model(delay(9e-3, name="work") >> hold("door", service("bus", 1e-3, name="update")), processors=8)
    assert found._repr_latex_().splitlines()[1].startswith("T &= ")


def test_tables_are_escaped() -> None:
    assert "<script>" not in html_table("<script>", ["<b>"], [["</td><script>alert(1)</script>"]])

"""What print and a notebook show: the terminal's table, HTML that is escaped and capped, LaTeX."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slipstick import LAWS, closed_model, delay, hold, load, run, service, solve
from slipstick.answer import Answer
from slipstick.cli.main import main
from slipstick.display import html_table, latex_table

SWEEP = {"population.processors": list(range(1, 61))}


def tables(html: str) -> list[list[list[str]]]:
    """Read the cells of every table; well-formed, or ElementTree refuses it."""
    whole = ElementTree.fromstring(f"<div>{html}</div>")
    return [
        [[cell.text or "" for cell in row] for row in each.iter("tr")]
        for each in whole.iter("table")
    ]


def test_an_answer_shows_its_values_its_account_and_its_notes() -> None:
    values, account, notes = tables(solve("lock-and-bus")._repr_html_())
    assert ["time", "25.46 ms"] in values
    assert ["busy", "9 ms", "35.4 %"] in account
    assert notes[0] == ["notes"]
    assert tables(Answer("<b>", "closed-form", failed="saturated & full")._repr_html_()) == [
        [["no answer"], ["saturated & full"]]
    ]


def test_the_rates_of_a_notebook_have_the_unit_of_the_first_one(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(
        "queueing-network: 1\n"
        "classes: {calls: {arrivals: 4.8 /min}, mails: {arrivals: 2.4 /h}}\n"
        "stations: {desk: {servers: 5, service: {calls: 30 s, mails: 30 s}}}\n"
    )
    values = tables(solve(str(tmp_path / "desk.yaml"))._repr_html_())[0]
    assert ["throughput[calls]", "4.8 /min"] in values
    assert ["throughput[mails]", "0.04 /min"] in values


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "settings", [{}, {"population.processors": "32", "parameters.critical": "0.5 ms"}]
)
def test_print_of_an_answer_is_what_the_terminal_shows(
    settings: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            ["solve", "lock-and-bus", *(f"--set={path}={text}" for path, text in settings.items())]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "now  meaning" in shown
    assert str(solve("lock-and-bus", settings)) == shown.rstrip()


@pytest.mark.turns(4)
def test_printed_notebooks_have_the_same_cells_in_latex() -> None:
    study = {
        "study": 1,
        "base": {"model": "lock-and-bus"},
        "vary": {"population.processors": [1, 2]},
    }
    for shown in (solve("lock-and-bus"), solve("lock-and-bus", SWEEP), run(study)):
        arrays = re.findall(
            r"\\displaystyle \\begin\{array\}\{(l+)\}\n(.*?)\n\\end\{array\}",
            shown._repr_latex_(),
            re.DOTALL,
        )
        told = [
            [row.split(" & ") for row in re.split(r" \\\\(?: \\hline)?\n", text)]
            for _, text in arrays
        ]
        told = [
            [[_plain(cell) for cell in row] for row in rows if not row[0].startswith("\\rlap")]
            for rows in told
        ]
        assert told == tables(shown._repr_html_())
        assert [len(sides) for sides, _ in arrays] == [len(rows[0]) for rows in told]


def _plain(cell: str) -> str:
    assert cell.startswith("\\text{")
    assert cell.endswith("}")
    return re.sub(r"\}\\(.)\\text\{", r"\1", cell[6:-1])


def test_no_text_is_a_command_of_latex() -> None:
    assert r"\text{a}\backslash \text{input}\{\text{x}\}\text{}\%\text{}" in latex_table(
        "", ["a\\input{x}%"], []
    )


def test_a_sweep_shows_its_first_points_and_says_that_there_are_more() -> None:
    ((head, first, *_, last),) = tables(
        solve("lock-and-bus", SWEEP, method="closed-form")._repr_html_()
    )
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
    study = {
        "study": 1,
        "base": {"model": "law/flow-line", "items": 3, "once": "10 us", "longest": "3 us"},
    }
    found = run({**study, "vary": {"items": [1, 2]}})
    cases, sweep = tables(found._repr_html_())
    assert cases[1][:3] == ["base", "law/flow-line", "time"]
    assert repr(found) == "<Results of study: 1 cases and 1 sweeps>"
    lines = str(found).splitlines()
    assert lines[1] == "As given (3 items): time 16 us."
    assert lines[-1] == "base: <Answer for law/flow-line by closed-form: time = 1.6e-05 s>"
    assert [row[0] for row in sweep] == ["items", "1", "2"]


def test_a_law_shows_its_equation() -> None:
    assert str(LAWS["amdahl-speedup"]) == "speedup = 1 / (serial + (1 - serial) / processors)"
    assert LAWS["flow-line"]._repr_latex_() == f"$\\displaystyle {LAWS['flow-line'].latex}$"
    ((head, *symbols),) = tables(LAWS["amdahl-speedup"]._repr_html_())
    assert head == ["symbol", "unit", "meaning"]
    assert [each[0] for each in symbols][:3] == ["speedup", "serial", "processors"]


def test_a_model_shows_its_equations() -> None:
    found = closed_model(
        delay(9e-3, name="work") >> hold("door", service("bus", 1e-3, name="update")), processors=8
    )
    assert found._repr_latex_().splitlines()[1].startswith("T &= ")


def test_tables_are_escaped() -> None:
    assert "<script>" not in html_table("<script>", ["<b>"], [["</td><script>alert(1)</script>"]])

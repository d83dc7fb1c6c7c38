"""What is sought beside what is worked out by hand, and beside the points solved alone on both sides."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick.method.sign_changes import changes
from slipstick.report.questions.seek import ConditionSearch, SeekResult, search_text
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from tests.questions import result_of
from tests.study.small_program import alone, found, in_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return in_folder(tmp_path, monkeypatch)


def seek(question: str, *lines: str, base: str = "{model: model.yaml}") -> ConditionSearch:
    (each,) = result_of(found(f"seek: {{it: {{{question}}}}}", *lines, base=base), SeekResult).searches
    return each


def test_the_latency_up_to_which_the_efficiency_is_kept(folder: Path) -> None:
    made = seek("of: parameters.latency, from: 0 us, to: 100 us, where: efficiency >= 0.6")
    (crossing,) = made.crossings
    # 6 / (6 + 3 + 40 l) = 0.6
    assert crossing.value == pytest.approx(1e-3 / 40, rel=1e-12)
    assert not crossing.starts
    assert not crossing.jump
    assert alone("efficiency", parameters__latency=f"{crossing.value * 1e6 * 0.999999} us") > 0.6
    assert alone("efficiency", parameters__latency=f"{crossing.value * 1e6 * 1.000001} us") < 0.6
    assert search_text(made) == (
        "it, base: efficiency >= 0.6 holds up to parameters.latency = 25 us (looked at parameters.latency from 0 s to 100 us)"
    )


def test_the_processors_that_halve_the_efficiency(folder: Path) -> None:
    made = seek(
        "of: technology.processors, from: 1, to: 64, spacing: geometric, where: efficiency <= 0.5 * own.efficiency"
    )
    (crossing,) = made.crossings
    # E = (6 / p) / (6 / p + 3.8) is half of 6 / 9.8
    assert crossing.value == pytest.approx(6 / 3.8 * (9.8 / 3 - 1), rel=1e-12)
    assert crossing.starts


def test_the_year_in_which_hardware_passes_software(folder: Path) -> None:
    made = seek(
        "of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2050, where: 'technology[adapter] >= technology[application]'"
    )
    (crossing,) = made.crossings
    # 6 ms / (1.4^5 1.1^t) = 0.8 ms / 1.05^(5 + t)
    t = math.log(6 / 0.8 / 1.4**5 * 1.05**5) / math.log(1.1 / 1.05)
    assert crossing.value == pytest.approx(2010 + t, rel=1e-10)
    assert made.beyond == ("processors (2010 to 2020)", "adapter (2000 to 2020)")
    assert "used outside their periods: processors (2010 to 2020), adapter (2000 to 2020)" in search_text(made)


def test_all_crossings_are_found_and_their_sides_said(folder: Path) -> None:
    Path("model.yaml").write_text(
        """\
activity: 1
parameters: {n: 4, each: 1 us}
population: {processors: 2}
cycle:
  - {name: share, delay: 100 us / n}
  - {name: ask, delay: n * each, component: ask}
""".replace("100 us / n", "100 * each / n")
    )
    made = seek("of: parameters.n, from: 1, to: 100, where: time <= 25 us")
    low, high = (25 - math.sqrt(625 - 400)) / 2, (25 + math.sqrt(625 - 400)) / 2
    assert [each.value for each in made.crossings] == pytest.approx([low, high])
    assert [each.starts for each in made.crossings] == [True, False]
    whole = seek("of: parameters.n, from: 1, to: 100, step: 1, where: time < 24.9 us")
    assert [(each.before, each.value, each.starts) for each in whole.crossings] == [(5, 6, True), (19, 20, False)]
    assert (
        "holds from parameters.n = 6 on, not yet at 5, holds up to 19, not any more at parameters.n = 20"
        in search_text(whole)
    )


def test_none_is_said_with_the_reason(folder: Path) -> None:
    made = seek("of: parameters.latency, from: 1 us, to: 100 us, where: efficiency >= 0.9")
    assert made.crossings == ()
    assert (made.holds_first, made.holds_last) == (False, False)
    assert made.nearest == pytest.approx(1e-6)
    assert search_text(made) == (
        "it, base: efficiency >= 0.9 holds nowhere for parameters.latency from 1 us to 100 us: 0.6637 against 0.9 at one end "
        "and 0.4615 against 0.9 at the other; it comes nearest to changing at 1 us, with 0.6637 against 0.9, 15.1 % apart"
    )
    always = seek("of: parameters.latency, from: 1 us, to: 100 us, where: efficiency <= 0.9 and time > 1 us")
    assert "holds throughout for" in search_text(always)


def test_where_there_is_no_answer_it_is_not_crossed(folder: Path) -> None:
    base = "{model: law/mm1-response-time, arrivals: 1 /s, service: 0.5 s}"
    names = result_of(run(prepare(_law(base))), SeekResult).searches[0]
    # W = s / (1 - l s) = 2 s at l = 1.5 /s; from 2 /s on the station is saturated.
    assert names.holds_last is None
    assert [each.value for each in names.crossings] == [pytest.approx(1.5)]
    assert ", without an answer at the last" in search_text(names)
    nowhere = result_of(run(prepare(_law(base, "3 /s", "4 /s"))), SeekResult).searches[0]
    assert "has no answer anywhere for arrivals from 3 /s to 4 /s" in search_text(nowhere)


def _law(base: str, first: str = "1 /s", last: str = "3 /s") -> str:
    question = f"of: arrivals, from: {first}, to: {last}, where: response >= 2 s"
    Path("law.yaml").write_text(f"study: 1\nbase: {base}\nseek: {{it: {{{question}}}}}\n")
    return "law.yaml"


def test_a_jump_is_said(folder: Path) -> None:
    Path("model.yaml").write_text(
        "activity: 1\nparameters: {n: 4, each: 1 us}\npopulation: {processors: 2}\n"
        "cycle: [{name: share, delay: ceil(n) * each}]\n"
    )
    (crossing,) = seek("of: parameters.n, from: 0.5, to: 9.75, where: time >= 3.5 us").crossings
    assert crossing.value == pytest.approx(3.0)
    assert (crossing.starts, crossing.jump) == (True, True)


@given(st.lists(st.floats(0.01, 0.99), min_size=0, max_size=5, unique=True))
def test_every_root_of_a_polynomial_that_the_grid_parts_is_found(roots: list[float]) -> None:
    places = np.linspace(0.0, 1.0, 101)
    if len(roots) > 1 and np.diff(sorted(roots)).min() < 0.011:
        return
    values = np.prod([places - root for root in roots], axis=0) * np.ones(101)
    made = changes(values, values >= 0, places, lambda x: float(np.prod([x - root for root in roots])))
    assert [each.value for each in made] == pytest.approx(sorted(roots), abs=1e-12)


def test_the_base_is_held_against_in_another_case(folder: Path) -> None:
    lines = "what_if: {slow: {parameters.memory: 9 ms}}"
    made = seek("of: parameters.memory, from: 1 ms, to: 9 ms, where: time <= base.time, cases: [slow]", lines)
    assert [each.value for each in made.crossings] == [pytest.approx(3e-3)]


def test_the_page_the_table_and_json_have_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "of: parameters.latency, from: 0 us, to: 100 us, where: efficiency >= 0.6"
    Path("study.yaml").write_text(f"study: 1\nbase: {{model: model.yaml}}\nseek: {{it: {{{question}}}}}\n")
    assert main(["run", "study.yaml", "--out", "here"]) == 0
    assert "efficiency >= 0.6 holds up to parameters.latency = 25 us" in capsys.readouterr().out
    assert "## Where conditions hold" in Path("here/report.md").read_text()
    with Path("here/results.csv").open() as file:
        (row,) = [row for row in csv.DictReader(file) if row["sweep"] == "seek"]
    assert float(row["at"]) == pytest.approx(25e-6)
    assert (row["sought"], row["unit"], row["holds"]) == ("it", "s", "until there")
    assert main(["run", "study.yaml", "--out", "here", "--json"]) == 0
    (answer,) = [each for each in json.loads(capsys.readouterr().out)["answers"] if each["model"] == "seek"]
    assert answer["values"]["stops.0"]["value"] == pytest.approx(25e-6)


GOOD = "of: parameters.latency, from: 0 us, to: 100 us, where: efficiency >= 0.6"
WRONG = [
    (
        "parameters.latency",
        "parameters.latncy",
        "parameters.latncy: there is no parameter 'latncy'; did you mean 'latency'?",
    ),
    (
        "parameters.latency",
        "technology.wire",
        "technology.wire: '0 us' is a quantity in s, but a plain number is wanted",
    ),
    ("from: 0 us, to: 100 us", "from: 100 us, to: 0 us", "a search goes upwards: to must be more than from"),
    ("from: 0 us, to: 100 us", "from: 0 us, to: 100 B", "seek.it.to: parameters.latency is a [s], and this is a [B]"),
    ("from: 0 us, to: 100 us", "from: 0 us, to: 1", "seek.it.to: parameters.latency is a [s], and this is a [1]"),
    (
        "where: efficiency",
        "where: efficency",
        "seek.it.where: there is no name 'efficency'; did you mean 'efficiency'?",
    ),
    ("where: efficiency >= 0.6", "where: efficiency", "a condition compares two sides, as in 'parts <= 8'"),
    ("where: efficiency >= 0.6", "where: __import__('os') > 1", "seek.it.where: "),
    ("of: parameters.latency", "of: year", "seek.it.of: the year needs trend and base_year beside it"),
    (
        "of: parameters.latency",
        "base_year: 2005, of: parameters.latency",
        "trend and base_year go with of: year, not with",
    ),
    ("of: parameters.latency, from: 0 us, to: 100 us", "of: method, from: 1, to: 3", "method is no number"),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: simulation.seed, from: 1, to: 3, step: 1",
        "seek.it.of: simulation.seed is no number, so nothing can be sought along it",
    ),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: year, trend: trend.yaml, base_year: 2005, from: 5, to: 3000",
        "seek.it.from: years are plain numbers between 1900 and 2200",
    ),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: technology.wire, from: 1, to: 2",
        "no answer of base is computed from technology.wire as a number that can be anything",
    ),
    ("where: efficiency >= 0.6", "where: efficiency >= 0.6, cases: [bass]", "seek.it.cases.0: there is no case 'bass'"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(folder: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    Path("study.yaml").write_text(
        f"study: 1\nbase: {{model: model.yaml}}\nseek: {{it: {{{GOOD.replace(old, new)}}}}}\n"
    )
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in str(caught.value)


def test_a_question_of_several_cases_is_written_once(folder: Path) -> None:
    lines = "what_if: {slow: {parameters.memory: 9 ms}}\nseek: {it: {" + GOOD + ", cases: [base, slow]}}"
    section = result_of(found(lines), SeekResult).section()
    assert section.count("efficiency >= 0.6, looked at parameters.latency from 0 s to 100 us") == 1
    assert "  - base: holds up to parameters.latency = 25 us" in section
    assert "  - slow: holds nowhere for parameters.latency" in section

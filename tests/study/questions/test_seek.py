"""What is sought beside what is worked out by hand, and beside the points solved alone on both
sides.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from itertools import count, pairwise
from math import factorial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from slipstick import solve
from slipstick.cli.main import main
from slipstick.errors import ModelError, SpecError
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import TIME, Parameter
from slipstick.law import LAWS
from slipstick.limits import ANNOUNCE
from slipstick.report.formatting import do_overlap, percent, question_section
from slipstick.report.head import decision_table, head_lines
from slipstick.results.sweep import PointTable, Provenance
from slipstick.results.words import Words
from slipstick.sim.settings import Simulation
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick.study.uncertain import BAND_DRAWS
from slipstick_questions.conditions import Condition
from slipstick_questions.seek import (
    ConditionSearch,
    SeekResult,
    UnansweredPlaces,
    _SearchRefinement,
    _with_band,
    search_text,
)
from slipstick_questions.sign_changes import Change, decide, find_changes, find_estimated_changes
from slipstick_questions.specs import SearchPictureSpec
from slipstick_trends.project import ProjectResult
from tests.questions import reported, result_of
from tests.study.small_program import TREND, alone, found, in_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return in_folder(tmp_path, monkeypatch)


def seek(question: str, *lines: str, base: str = "{model: model.yaml}") -> ConditionSearch:
    (each,) = result_of(
        found(f"seek: {{it: {{{question}}}}}", *lines, base=base), SeekResult
    ).searches
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
    assert (
        search_text(made)
        == "it, base: efficiency >= 0.6 holds up to parameters.latency = 25 us (searched over"
        " parameters.latency from 0 s to 100 us)"
    )


def test_the_processors_that_halve_the_efficiency(folder: Path) -> None:
    made = seek(
        "of: technology.processors, from: 1, to: 64, spacing: geometric, where: efficiency <= 0.5 *"
        " own.efficiency"
    )
    (crossing,) = made.crossings
    # E = (6 / p) / (6 / p + 3.8) is half of 6 / 9.8
    assert crossing.value == pytest.approx(6 / 3.8 * (9.8 / 3 - 1), rel=1e-12)
    assert crossing.starts


def test_the_year_in_which_hardware_passes_software(folder: Path) -> None:
    made = seek(
        "of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2050, where:"
        " 'technology[adapter] >= technology[application]'"
    )
    (crossing,) = made.crossings
    # 6 ms / (1.4^5 1.1^t) = 0.8 ms / 1.05^(5 + t)
    t = math.log(6 / 0.8 / 1.4**5 * 1.05**5) / math.log(1.1 / 1.05)
    assert crossing.value == pytest.approx(2010 + t, rel=1e-10)
    assert made.beyond == ("processors (2010 to 2020)", "adapter (2000 to 2020)")
    assert (
        "rates applied beyond the years they were stated for: processors (2010 to 2020), adapter"
        " (2000 to 2020)"
    ) in search_text(made)


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
    assert [(each.before, each.value, each.starts) for each in whole.crossings] == [
        (5, 6, True),
        (19, 20, False),
    ]
    assert (
        "holds from parameters.n = 6 on, not yet at 5, holds up to 19, no longer at parameters.n"
        " = 20" in search_text(whole)
    )


def test_none_is_said_with_the_reason(folder: Path) -> None:
    made = seek("of: parameters.latency, from: 1 us, to: 100 us, where: efficiency >= 0.9")
    assert made.crossings == ()
    assert (made.holds_first, made.holds_last) == (False, False)
    assert made.nearest == pytest.approx(1e-6)
    assert (
        search_text(made)
        == "it, base: efficiency >= 0.9 holds nowhere for parameters.latency from 1 us to 100 us:"
        " 0.6637 against 0.9 at one end and 0.4615 against 0.9 at the other; it comes nearest to"
        " changing at 1 us, with 0.6637 against 0.9, 15.1 % apart"
    )
    always = seek(
        "of: parameters.latency, from: 1 us, to: 100 us, where: efficiency <= 0.9 and time > 1 us"
    )
    assert "holds throughout for" in search_text(always)


def test_where_there_is_no_answer_it_is_not_crossed(folder: Path) -> None:
    base = "{model: law/mm1-response-time, arrivals: 1 /s, service: 0.5 s}"
    names = result_of(run(prepare(_law(base))), SeekResult).searches[0]
    # W = s / (1 - l s) = 2 s at l = 1.5 /s; from 2 /s on the station is saturated.
    assert names.holds_last is None
    assert [each.value for each in names.crossings] == [pytest.approx(1.5)]
    (missing,) = names.unanswered
    assert missing.before == pytest.approx(2.0, rel=2e-9)
    assert missing.holds_before
    assert (
        "holds from arrivals = 1.5 /s on, holds as far as there are answers, up to arrivals = 2 /s"
        " (searched over arrivals from 1 /s to 3 /s, without an answer from 2 /s on)"
        in search_text(names)
    )
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
    made = find_changes(
        values, values >= 0, places, lambda x: float(np.prod([x - root for root in roots]))
    )
    assert [each.value for each in made] == pytest.approx(sorted(roots), abs=1e-12)


def test_the_base_is_held_against_in_another_case(folder: Path) -> None:
    lines = "cases: {slow: {parameters.memory: 9 ms}}"
    made = seek(
        "of: parameters.memory, from: 1 ms, to: 9 ms, where: time <= base.time, cases: [slow]",
        lines,
    )
    assert [each.value for each in made.crossings] == [pytest.approx(3e-3)]


@pytest.mark.turns(4)
def test_the_page_the_table_and_json_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "of: parameters.latency, from: 0 us, to: 100 us, where: efficiency >= 0.6"
    Path("study.yaml").write_text(
        f"study: 1\nbase: {{model: model.yaml}}\nseek: {{it: {{{question}}}}}\n"
    )
    printed, page, (row,), document = reported("seek", capsys)
    assert "efficiency >= 0.6 holds up to parameters.latency = 25 us" in printed
    assert "## Where conditions hold" in page
    assert float(row["at"]) == pytest.approx(25e-6)
    assert (row["sought"], row["unit"], row["holds"]) == ("it", "s", "until there")
    (answer,) = document["answers"]
    assert answer["values"]["at"]["value"] == pytest.approx(25e-6)
    assert (answer["method"], answer["exact"], answer["point"]["holds"]) == (
        "closed-form",
        True,
        "until there",
    )


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
    (
        "from: 0 us, to: 100 us",
        "from: 100 us, to: 0 us",
        "a search goes upwards: to must be more than from",
    ),
    (
        "from: 0 us, to: 100 us",
        "from: 0 us, to: 100 B",
        "seek.it.to: parameters.latency is a [s], and this is a [B]",
    ),
    (
        "from: 0 us, to: 100 us",
        "from: 0 us, to: 1",
        "seek.it.to: parameters.latency is a [s], and this is a [1]",
    ),
    (
        "where: efficiency",
        "where: efficency",
        "seek.it.where: there is no name 'efficency'; did you mean 'efficiency'?",
    ),
    (
        "where: efficiency >= 0.6",
        "where: efficiency",
        "a condition compares two sides, as in 'parts <= 8'",
    ),
    ("where: efficiency >= 0.6", "where: __import__('os') > 1", "seek.it.where: "),
    (
        "of: parameters.latency",
        "of: year",
        "seek.it.of: give a trend with the year",
    ),
    (
        "of: parameters.latency",
        "base_year: 2005, of: parameters.latency",
        "trend and base_year go with of: year, not with",
    ),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: method, from: 1, to: 3",
        "method is not a number",
    ),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: simulation.seed, from: 1, to: 3, step: 1",
        "seek.it.of: simulation.seed is not a number; a search needs a numeric value",
    ),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: year, trend: trend.yaml, base_year: 2005, from: 5, to: 3000",
        "seek.it.from: years are plain numbers between 1900 and 2200",
    ),
    (
        "of: parameters.latency, from: 0 us, to: 100 us",
        "of: technology.wire, from: 1, to: 2",
        "; to look at single values of it, give a step",
    ),
    (
        "where: efficiency >= 0.6",
        "where: efficiency >= 0.6, cases: [bass]",
        "seek.it.cases.0: there is no case 'bass'",
    ),
    (
        "where: efficiency >= 0.6",
        "where: 60 < base.efficiency",
        "efficiency is a share, which is at most 1, or 100 %, but 60 is 6000 %; write 0.6 for 60 %",
    ),
    ("where: efficiency >= 0.6", "where: efficiency >= 600", "but 600 is 60000 %"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in GOOD
    Path("study.yaml").write_text(
        f"study: 1\nbase: {{model: model.yaml}}\nseek: {{it: {{{GOOD.replace(old, new)}}}}}\n"
    )
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in str(caught.value)


def test_a_question_of_several_cases_is_written_once(folder: Path) -> None:
    lines = (
        "cases: {slow: {parameters.memory: 9 ms}}\nseek: {it: {" + GOOD + ", cases: [base, slow]}}"
    )
    section = question_section(result_of(found(lines), SeekResult))
    assert (
        section.count("efficiency >= 0.6, searched over parameters.latency from 0 s to 100 us") == 1
    )
    assert "- it, base: holds up to parameters.latency = 25 us" in section
    assert "- it, slow: holds nowhere for parameters.latency" in section


QUANTILE = "response_time_quantile[jobs,0.99]"
SERVICE = """\
queueing-network: 1
classes: {jobs: {arrivals: 8 /s}}
stations: {web: {servers: 10, discipline: fcfs, service: {jobs: 1 s}, visits: {jobs: 1}}}
"""


def exact_quantile(folder: Path, servers: int, rate: float = 8.0) -> float:
    """Return the 99th percentile of M/M/c in closed form."""
    (folder / "web.yaml").write_text(SERVICE)
    given = {
        "model": "web.yaml",
        "stations__web__servers": str(servers),
        "classes__jobs__arrivals": f"{rate!r} /s",
    }
    return alone(QUANTILE, **given)


def simulated(question: str, limit: float, cycles: int = 4000) -> ConditionSearch:
    base = f"{{model: web.yaml, method: simulation, simulation.cycles: {cycles}}}"
    return seek(f"{question}, where: '{QUANTILE} <= {limit!r} s'", base=base)


SERVERS = "of: stations.web.servers, from: 9, to: 12, step: 1"


@pytest.mark.turns(4)
def test_a_limit_that_noise_hides_is_refined_until_it_is_decided(folder: Path) -> None:
    limit = (exact_quantile(folder, 9) + exact_quantile(folder, 10)) / 2
    made = simulated(SERVERS, limit)
    assert [(each.value, each.low, each.high, each.starts) for each in made.crossings] == [
        (10, 10, 10, True)
    ]
    near = simulated(SERVERS, 1.03 * exact_quantile(folder, 10))
    assert near.longer > 1
    assert [(each.low, each.value, each.high) for each in near.crossings] == [(10, 10, 10)]
    assert search_text(near).endswith(
        f"; runs up to {near.longer:g} times as long were made to decide"
    )


@pytest.mark.turns(4)
def test_a_limit_at_the_value_itself_stays_undecided(folder: Path) -> None:
    made = simulated(SERVERS, exact_quantile(folder, 10))
    (crossing,) = made.crossings
    assert crossing.low == 10
    assert crossing.high is not None
    assert 10 < crossing.high <= 12
    assert crossing.low <= crossing.value <= crossing.high
    words = (
        f"holds from stations.web.servers = {crossing.high:g} on and is undecided from 10 on, where"
        " it seems to start at"
    )
    assert words in search_text(made)
    at_the_end = simulated(SERVERS.replace("to: 12", "to: 10"), exact_quantile(folder, 9))
    assert (at_the_end.crossings, at_the_end.undecided) == ((), ((9, 9),))
    assert "is undecided at 9 and changes nowhere else" in search_text(at_the_end)


@pytest.mark.turns(4)
def test_a_crossing_of_simulated_values_has_an_interval(folder: Path) -> None:
    limit = exact_quantile(folder, 10, 8.7)
    made = simulated("of: classes.jobs.arrivals, from: 6 /s, to: 9.4 /s, points: 5", limit)
    (crossing,) = made.crossings
    assert crossing.low is not None
    assert crossing.high is not None
    assert crossing.low < crossing.value < crossing.high
    assert crossing.low < 8.7 < crossing.high
    # With four digits, as many as an interval of a few percent lets one know.
    assert 0.01 < (crossing.high - crossing.low) / crossing.value < 0.1
    assert (
        f"holds up to classes.jobs.arrivals = {crossing.value:.4g} ({crossing.low:.4g} to "
        in search_text(made)
    )


def test_an_estimate_without_an_interval_decides_nothing(folder: Path) -> None:
    made = simulated(SERVERS.replace("to: 12", "to: 10"), 2 * exact_quantile(folder, 9), cycles=100)
    assert made.longer > 1
    assert made.crossings == ()


@pytest.mark.turns(4)
def test_page_table_and_json_of_an_undecided_search(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = exact_quantile(folder, 10)
    question = f"{{it: {{{SERVERS}, where: '{QUANTILE} <= {limit!r} s'}}}}"
    base = "{model: web.yaml, method: simulation, simulation.cycles: 4000}"
    Path("study.yaml").write_text(
        f"study: 1\nbase: {base}\nanswer: ['{QUANTILE}']\nseek: {question}\n"
    )
    _, page, (row,), document = reported("seek", capsys)
    (answer,) = document["answers"]
    assert (answer["method"], answer["exact"]) == ("simulation", False)
    value = answer["values"]["at"]
    assert value["low"] <= value["value"] <= value["high"]
    assert float(row["low at"]) <= float(row["at"]) <= float(row["high at"])
    assert "is undecided from 10 on" in page


@pytest.mark.turns(4)
def test_whole_numbers_are_closed_in_on_without_a_step(folder: Path) -> None:
    limit = (exact_quantile(folder, 9) + exact_quantile(folder, 10)) / 2
    question = (
        f"of: stations.web.servers, from: 1, to: 60, points: 9, where: '{QUANTILE} <= {limit!r} s'"
    )
    for base in (
        "{model: web.yaml}",
        "{model: web.yaml, method: simulation, simulation.cycles: 4000}",
    ):
        made = seek(question, base=base)
        (crossing,) = made.crossings
        # From 1 to 8 servers the station is saturated, so that no quantile is within the limit.
        assert made.saturated == ((1, 8, "web"),)
        assert made.holds_first is False
        assert not made.unanswered
        assert (crossing.before, crossing.value) == (9, 10)
        assert made.places < 16
        assert "holds from stations.web.servers = 10 on, not yet at 9" in search_text(made)
        assert "web saturated up to 8" in search_text(made)


def test_draws_that_saturate_a_server_count_in_the_band_of_a_limit(folder: Path) -> None:
    """S / (1 - A S) = 0.4 s at S = 1 / (A + 2.5 /s): the ends are those of the range of A."""
    Path("station.yaml").write_text(
        "queueing-network: 1\nparameters: {s: 60 ms}\nclasses: {jobs: {arrivals: 5 /s}}\n"
        "stations: {server: {service: {jobs: s}}}\n"
    )
    (change,) = seek(
        "of: parameters.s, from: 40 ms, to: 150 ms, where: 'response_time[jobs] <= 0.4 s'",
        base="{model: station.yaml, classes.jobs.arrivals: 8 /s..12 /s}",
    ).crossings
    assert change.part == 1.0
    assert change.value == pytest.approx(1 / (math.sqrt(8 * 12) + 2.5))
    assert (change.low, change.high) == pytest.approx((1 / 14.5, 1 / 10.5), rel=0.015)


def test_one_processor_waits_for_no_lock(folder: Path) -> None:
    Path("server.yaml").write_text(
        "activity: 1\nparameters: {parse: 120 us, update: 15 us}\npopulation: {processors: 32}\n"
        "resources: {session: {lock: fifo}}\ncycle:\n  - {name: parse, delay: parse, scv: 1}\n"
        "  - {hold: session, body: [{name: update, delay: update, scv: 1}]}\n"
    )
    made = seek(
        "of: population.processors, from: 1, to: 64, step: 1, where: 'account[lock:session] <= 15"
        " us'",
        base="{model: server.yaml}",
    )
    # The exact recursion of mean value analysis; one processor waits for nobody.
    waits, length = [], 0.0
    for processors in range(1, 65):
        residence = 15e-6 * (1 + length)
        length = processors * residence / (120e-6 + residence)
        waits.append(residence - 15e-6)
    last = sum(wait <= 15e-6 for wait in waits)
    (change,) = made.crossings
    assert (change.before, change.value) == (last, last + 1)
    assert made.holds_first is True
    assert not made.unanswered
    assert made.sides[0][0].value == 0


@pytest.mark.parametrize("step", ["", ", step: 1 /s"])
def test_a_saturated_server_is_slower_than_every_limit(folder: Path, step: str) -> None:
    """1 / (10 - A) > 0.4 s from A = 7.5 /s on; from 10 /s on nothing is served in time."""
    Path("station.yaml").write_text(
        "queueing-network: 1\nparameters: {rate: 5 /s}\nclasses: {jobs: {arrivals: rate}}\n"
        "stations: {server: {service: {jobs: 100 ms}}}\n"
    )
    searched = f"of: parameters.rate, from: 1 /s, to: 20 /s{step}, where: 'response_time[jobs]"
    beyond, within = (
        seek(f"{searched} {limit} 0.4 s'", base="{model: station.yaml}") for limit in (">", "<=")
    )
    for made in (beyond, within):
        (change,), ((first, last, resource),) = made.crossings, made.saturated
        assert change.value == (8 if step else pytest.approx(7.5, rel=1e-9))
        assert first == pytest.approx(10, rel=2e-9)
        assert (last, resource) == (20, "server")
        assert not made.unanswered
        assert "server saturated from 10 /s on" in search_text(made)
    assert (beyond.holds_last, within.holds_last) == (True, False)
    assert (beyond.holds_at(15), within.holds_at(15)) == (True, False)
    (beyond_text,), (within_text,) = (
        SeekResult((made,)).headline(Words()) for made in (beyond, within)
    )
    assert "server is saturated if the rate is at least 10 /s" in beyond_text
    assert "saturated" not in within_text


@pytest.mark.turns(5)
def test_permits_and_processors_are_whole_numbers(folder: Path) -> None:
    given = {"model": "layered-service", "method": "mean-value"}
    base = "{model: layered-service, method: mean-value}"
    made = seek("of: resources.threads.permits, from: 1, to: 40, where: time <= 1.5 s", base=base)
    (crossing,) = made.crossings
    threads = crossing.value
    times = [
        alone("time", **given, resources__threads__permits=f"{each:g}")
        for each in (threads - 1, threads)
    ]
    assert times[0] > 1.5 >= times[1]
    (crossing,) = seek(
        "of: population.processors, from: 1, to: 64, where: time <= 1.5 s", base=base
    ).crossings
    assert crossing.before == crossing.value - 1


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=2, max_size=30
    ),
    st.booleans(),
)
def test_noise_makes_no_changes(points: list[tuple[float, float, float]], single: bool) -> None:
    """Changes are those between decided places, each inside its interval, and every undecided
    place is in one stretch.
    """
    middle, below, above = np.array(points).T
    margins, places = (
        np.array([middle, middle - below, middle + above]),
        np.arange(float(len(points))),
    )
    holds = middle >= 0
    states = decide(margins, holds)
    found, stretches = find_estimated_changes(margins, holds, places, has_only_places=single)
    sure = [state for state in states if state]
    assert [each.starts for each in found] == [b > 0 for a, b in pairwise(sure) if a != b]
    for each in found:
        assert each.low is not None
        assert each.high is not None
        if not single:
            assert each.low <= each.value <= each.high
            continue
        assert each.before is not None
        assert each.low <= (each.value if each.starts else each.before) <= each.high
        first_and_last_holding = each.high if each.starts else each.low
        assert states[int(first_and_last_holding)] == 1
        open_places = [place for place in places if each.is_open_at(place)]
        neighbours = [each.low, each.high + 1] if not each.starts else [each.low - 1, each.high]
        assert open_places == list(np.arange(neighbours[0] + 1, neighbours[1]))
        assert [states[int(place)] for place in neighbours] == ([-1, 1] if each.starts else [1, -1])
    told = [place for place, state in zip(places, states, strict=True) if not state]
    inside = [any(first <= place <= last for first, last in stretches) for place in told]
    between = [
        any((each.low or 0.0) - 1 <= place <= (each.high or 0.0) + 1 for each in found)
        for place in told
    ]
    assert all(one or other for one, other in zip(inside, between, strict=True))


def test_rounding_at_a_saturated_station_changes_no_condition(folder: Path) -> None:
    """The throughput comes to 5/s but for its last digits, which lie on both sides of it."""
    Path("model.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 1, think_time: 5 s}}\nstations: {cpu:"
        " {service: {jobs: 0.2 s}}}\n"
    )
    counted = "of: classes.jobs.population, from: 1, to: 3000, step: 1"
    assert not seek(f"{counted}, where: 'throughput[jobs] > 5 / 1 s'").crossings
    (reached,) = seek(f"{counted}, where: 'throughput[jobs] >= 5 / 1 s'").crossings
    assert reached.starts
    assert 26 < reached.value < 200


def test_of_many_changes_the_first_are_said(folder: Path) -> None:
    waves = tuple(Change(float(x), float(x - 1), starts=x % 2 == 0) for x in range(2, 40))
    made = seek("of: parameters.latency, from: 0 us, to: 100 us, where: efficiency >= 0.6")
    said = search_text(replace(made, crossings=waves))
    assert said.count("holds") == 8
    assert ", and 30 further changes in the table (searched over" in said


@pytest.mark.turns(3)
@pytest.mark.parametrize("seed", range(4))
def test_each_limit_near_saturation_is_found_and_holds_on_its_own_side_only(
    folder: Path, seed: int
) -> None:
    """The limit lies far beyond the last of the places looked at first that has an answer."""
    chance = random.Random(seed)
    base = "{model: law/mm1-response-time, arrivals: 50 /s, service: 10 ms}"
    lines, limits = [], {}
    for number in range(12):
        last = 110 * (5000 / 110) ** chance.random()
        limit = 0.02 * 1e6 ** chance.random()
        limits[f"q{number}"] = limit
        where = f"response <= {limit!r} s"
        lines.append(f"q{number}: {{of: arrivals, from: 1 /s, to: {last!r} /s, where: {where}}}")
    Path("law.yaml").write_text(
        f"study: 1\nbase: {base}\nseek: {{\n  " + ",\n  ".join(lines) + "}\n"
    )
    law = LAWS["mm1-response-time"]
    for each in result_of(run(prepare("law.yaml")), SeekResult).searches:
        (change,), (missing,) = each.crossings, each.unanswered
        assert not change.starts
        below, above = (
            law(service=0.01, arrivals=change.value * (1 + side * 1e-9)) for side in (-1, 1)
        )
        assert below <= limits[each.name] <= above
        assert missing.before == pytest.approx(100.0, rel=2e-9)
        with pytest.raises(ModelError):
            law(service=0.01, arrivals=missing.first)
        assert "throughout" not in search_text(each)


def test_whole_numbers_follow_from_the_conditions_of_a_law(folder: Path) -> None:
    base = (
        "{model: law/mmc-waiting-quantile, arrivals: 200 /h, service: 3 min, share: 0.8, "
        "servers: 12}"
    )
    Path("law.yaml").write_text(
        f"study: 1\nbase: {base}\n"
        "seek: {it: {of: servers, from: 5, to: 30, where: wait <= 20 s}}\n"
    )
    (made,) = result_of(run(prepare("law.yaml")), SeekResult).searches
    (crossing,) = made.crossings
    assert (crossing.before, crossing.value) == (13, 14)
    assert "without an answer up to 10" in search_text(made)


def test_it_holds_throughout_only_where_every_place_has_an_answer(folder: Path) -> None:
    base = "{model: law/mm1-response-time, arrivals: 1 /s, service: 0.5 s}"
    question = "of: arrivals, from: 0 /s, to: 3 /s, where: response >= 0.1 s"
    Path("law.yaml").write_text(f"study: 1\nbase: {base}\nseek: {{it: {{{question}}}}}\n")
    (made,) = result_of(run(prepare("law.yaml")), SeekResult).searches
    said = search_text(made)
    assert "holds as far as there are answers, up to arrivals = 2 /s" in said
    assert "throughout" not in said


SEARCHES = """\
cases: {slow: {title: A slow network, parameters.latency: 50 us}}
seek:
  half:
    title: 60 % of the time is useful
    of: parameters.latency
    from: 0 us
    to: 100 us
    where: efficiency >= 0.6
  gain:
    of: technology.processors
    from: 1
    to: 64
    where: time <= 0.9 * own.time
    cases: [base, slow]
"""


@pytest.mark.turns(4)
def test_a_study_without_pictures_draws_what_it_seeks(folder: Path) -> None:
    drawn = result_of(found(SEARCHES), SeekResult)
    half, gain = (
        SearchPictureSpec.model_validate(spec.model_dump())
        for spec in prepare("study.yaml").spec.pictures
    )
    assert (half.name, half.title) == ("seek-half", "60 % of the time is useful")
    assert gain.title == "Time is at most 0.9 times the time as given"
    words = Words({"slow": "A slow network"})
    axes, other = (drawn.draw(spec, {}, words).axes[0] for spec in (half, gain))
    curve, limit = axes.get_lines()
    # 6 ms are useful, 3 ms and 40 latencies are not.
    latency = np.asarray(curve.get_xdata(), dtype=float) * 1e-6
    assert np.asarray(curve.get_ydata()) == pytest.approx(6e-3 / (9e-3 + 40 * latency))
    assert np.unique(limit.get_ydata()).tolist() == [0.6]
    assert axes.get_ylim()[0] == 0.0
    # Each case has the limit of its own time, 0.9 of 9 ms and 40 latencies.
    assert [text.get_text() for text in other.texts] == [
        "limit of base 8.82 ms",
        "limit of A slow network 9.9 ms",
    ]


def test_a_picture_of_nothing_sought_is_refused_at_its_place(folder: Path) -> None:
    picture = "pictures: [{kind: search, name: a, title: b, condition: at}]"
    with pytest.raises(SpecError, match=r"pictures.0.condition: there is no condition 'at'; .*it"):
        seek("of: parameters.latency, from: 0 us, to: 100 us, where: efficiency >= 0.6", picture)


@pytest.mark.parametrize("starts", [False, True])
def test_the_band_of_a_change_is_where_straight_lines_between_places_cross_zero(
    starts: bool,
) -> None:
    """From 1 to -3 a line crosses zero after a quarter of the way, from 1 to -1 after a half."""
    sign = -1.0 if starts else 1.0
    margins = sign * np.array([[1.0, -3.0, -4.0], [1.0, -1.0, -4.0]] * (BAND_DRAWS // 2))
    change = _with_band(margins, np.array([10.0, 14.0, 20.0]), Change(12.0, None, starts))
    assert (change.low, change.high, change.part) == pytest.approx((11.0, 12.0, 1.0))


@pytest.mark.parametrize(("starts", "band"), [(False, (10.0, 14.0)), (True, (14.0, 20.0))])
def test_the_band_of_a_change_between_single_places_is_places(
    starts: bool, band: tuple[float, float]
) -> None:
    """Half of the draws change between the first two places, the others behind them: the last
    places at which the condition holds, or the first ones.
    """
    sign = -1.0 if starts else 1.0
    margins = sign * np.array([[1.0, -3.0, -4.0], [1.0, 1.0, -4.0]] * (BAND_DRAWS // 2))
    steps = np.array([10.5, 14.5, 20.5])
    change = _with_band(margins, steps, Change(14.5, 10.5, starts))
    assert (change.low, change.high) == tuple(end + 0.5 for end in band)
    whole = _with_band(margins, np.array([27.0, 28.0, 29.0]), Change(28.0, 27.0, starts))
    assert (whole.low, whole.high) == ((28.0, 29.0) if starts else (27.0, 28.0))


SIMULATED_CASE: Any = SimpleNamespace(
    built=SimpleNamespace(options=SimpleNamespace(simulation=Simulation(events=10_000_000)))
)


class NoisySearch:
    """A search whose runs of a length 1 have 3 million events, at places from 0 to 9; the limit is
    near the last.
    """

    name, case = "users", SIMULATED_CASE
    is_estimated, is_whole, has_only_places = True, False, True

    def __init__(self) -> None:
        self.lengths: list[float] = []
        self.condition: Any = SimpleNamespace(
            text="wait <= 1 s",
            margin_and_mask=lambda columns: (
                np.array([columns[end] for end in ("middle", "low", "high")]),
                columns["middle"] > 0,
            ),
        )

    def solve(self, places: Any, run_factor: float = 1.0) -> PointTable:
        self.lengths += [run_factor] * len(places)
        middle = np.where(places < 9, 0.1 + places / 10, 0.01)
        half_width = np.where(places < 7, 0.01, 0.99 if self.hides else 0.05)
        half_width = half_width / math.sqrt(run_factor)
        ends = {"low": middle - half_width, "high": middle + half_width}
        events = dict.fromkeys(range(len(places)), round(3e6 * run_factor))
        provenance = Provenance(["simulation"], [False], events=events)
        return PointTable({"middle": middle, **ends}, provenance)

    hides = False


def test_the_longer_runs_of_a_search_stay_within_a_total_of_events() -> None:
    """Of 40 million events in all, a run at 9 of 32 times 3 million is not made, and named instead;
    runs of twice 3 million decide at 7 and 8.
    """
    search: Any = NoisySearch()
    places = np.arange(10.0)
    refinement = _SearchRefinement(search, places, search.solve(places), 0.0)
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    try:
        refinement.decide()
        assert (refinement.events_left_out, announced) == (32 * 3e6, [])
        assert search.lengths == [1.0] * 10
        search.hides = True
        refinement = _SearchRefinement(search, places, search.solve(places), 0.0)
        refinement.decide()
    finally:
        ANNOUNCE.reset(token)
    assert search.lengths[20:] == [2.0, 2.0]
    assert (refinement.remaining_events, refinement.events_left_out) == (28e6, 0.0)
    assert announced == [
        (
            "users: longer simulations are to decide where wait <= 1 s, with up to 12,000,000"
            " events: about 12 s of processor time"
        )
    ]


def announced_by(
    monkeypatch: pytest.MonkeyPatch, clock: str, step: float, question: str, base: str
) -> list[str]:
    """Return what a search announces while each look at a clock finds it `step` seconds later."""
    seconds = count(0.0, step)
    monkeypatch.setattr(clock, lambda: next(seconds))
    texts: list[str] = []
    token = ANNOUNCE.set(texts.append)
    try:
        seek(question, base=base)
    finally:
        ANNOUNCE.reset(token)
    return [str(text) for text in texts]


def test_longer_runs_take_as_long_an_event_as_the_first_runs_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first runs had 30 million events in 300 s, so that 12 million more take 120 s."""
    monkeypatch.setattr("slipstick_questions.seek.process_time", lambda: 1000.0)
    search: Any = NoisySearch()
    search.hides = True
    places = np.arange(10.0)
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    try:
        _SearchRefinement(search, places, search.solve(places), 300.0).decide()
    finally:
        ANNOUNCE.reset(token)
    assert announced == [
        (
            "users: longer simulations are to decide where wait <= 1 s, with up to 12,000,000"
            " events: about 420 s of processor time"
        )
    ]


def test_places_between_those_simulated_first_are_announced_with_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between 8 and 9 three halvings come below the precision of 2 %, at 30 s for each run."""
    monkeypatch.setattr("slipstick_questions.seek.process_time", lambda: 1000.0)
    search: Any = NoisySearch()
    search.has_only_places, search.condition.needed_columns = False, ()
    places = np.arange(10.0)
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    try:
        _SearchRefinement(search, places, search.solve(places), 300.0).bisect()
    finally:
        ANNOUNCE.reset(token)
    assert announced == [
        "users: 3 further places narrow down where wait <= 1 s: about 390 s of processor time"
    ]
    assert search.lengths[10:] == [1.0] * 3


@pytest.mark.turns(4)
def test_a_search_that_builds_a_model_for_each_place_is_announced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "web.yaml").write_text(SERVICE)
    question = "of: stations.web.servers, from: 9, to: 60, step: 1, where: 'utilization[web] <= 1'"
    clock = "slipstick.limits.monotonic"
    texts = announced_by(monkeypatch, clock, 1.0, question, "{model: web.yaml}")
    # A place takes two seconds: its own point has a pace, which looks at the clock, too.
    assert len(texts) == 1
    assert re.fullmatch(r"52 points are solved: about \d+ s", texts[0])


def test_an_undecided_range_of_rates_ends_at_the_decided_neighbours() -> None:
    """A place between that a bisection happened to try, such as 85.625, is no end of it."""
    places = np.array([80.0, 85.0, 85.625, 86.25, 90.0])
    middle = np.array([2.0, 1.0, 0.1, 1.0, 2.0])
    noise = np.array([0.1, 0.1, 0.5, 0.1, 0.1])
    margins = np.array([middle, middle - noise, middle + noise])
    for only_places, stretch in ((False, (85.0, 86.25)), (True, (85.625, 85.625))):
        found = find_estimated_changes(margins, middle > 0, places, has_only_places=only_places)
        assert found == ([], [stretch])
    margins[:, 3:] = np.nan
    found = find_estimated_changes(margins, middle > 0, places, has_only_places=False)
    assert found == ([], [(85.0, 85.625)])


def test_no_value_is_named_as_the_last_before_a_gap_where_it_is_undecided() -> None:
    gap = UnansweredPlaces(87.5, 90.0, 86.25, None, holds_before=True, holds_after=False)
    search = ConditionSearch(
        "it", "base", "rate", "1/s", "", "x >= 85 /s", 80, 90, False, None, 9, (), unanswered=(gap,)
    )
    assert [*search.ends_of_answers] == [(86.25, False)]
    assert [*replace(search, undecided=((85.0, 86.25),)).ends_of_answers] == []


def test_a_run_that_was_not_made_is_named_with_the_keys_that_allow_it() -> None:
    search = ConditionSearch(
        "it",
        "base",
        "n",
        "",
        "",
        "wait <= 1 s",
        1,
        9,
        True,
        False,
        9,
        (Change(7, 6, False, low=5, high=8),),
    )
    told = search_text(replace(search, longer=4.0, events_left_out=96e6, most_events=40e6))
    assert told.endswith(
        "; runs up to 4 times as long were made to decide; a run of about 96,000,000 events may"
        " decide further, but all longer runs have at most 40,000,000: a larger step has less to"
        " decide, a smaller simulation.precision makes all runs longer, and a larger"
        " simulation.events allows more"
    )
    assert "96,000,000" not in search_text(search)


def test_sides_without_an_interval_are_told_without_one() -> None:
    """Only of the margin nothing is known then; the limit stays as it is written."""
    case: Any = SimpleNamespace(form=SimpleNamespace(is_estimated=True))
    time = Parameter("time", TIME)
    comparison = Comparison(time, "<=", Parameter("limit", TIME))
    columns = {"time": "time", "limit": "limit"}
    condition = Condition("time <= limit", (comparison,), columns, {}, case, ("limit",))
    (sides,) = condition.sides({"time": np.array([60.0]), "limit": np.array([0.2])})
    assert sides.left[:, 0].tolist() == [60.0, 60.0, 60.0]
    assert sides.right[:, 0].tolist() == [0.2, 0.2, 0.2]
    assert sides.margin[1, 0] <= -1 < 1 <= sides.margin[2, 0]


@pytest.mark.parametrize("half_width", [0.11, 0.2, 0.3, 0.9])
def test_an_undecided_run_is_extended_until_its_interval_decides(half_width: float) -> None:
    """The width falls with the root of the length, so three times too wide needs over nine times
    the length; lengths are doubled.
    """
    margin = 0.1
    margins = np.array([[margin], [margin - half_width], [margin + half_width]])
    search: Any = SimpleNamespace(
        condition=SimpleNamespace(margin_and_mask=lambda columns: (margins, np.array([True]))),
        is_estimated=True,
        case=SIMULATED_CASE,
    )
    refinement = _SearchRefinement(search, np.array([1.0]), PointTable(), 0.0)
    (length,) = refinement._needed_run_lengths()
    assert half_width / math.sqrt(length) < margin
    assert half_width / math.sqrt(length / 4) > margin or length == 2


@pytest.mark.parametrize(
    ("title", "beginning"),
    [
        (
            "Which latency should a network have?",
            "The latency should be at most 25 us for base and at most LATENCY for slow; then",
        ),
        ("Up to which latency does it work?", "Efficiency is at least 60 % if the latency is at"),
    ],
)
def test_a_title_that_asks_what_a_value_should_be_gets_the_value_first(
    folder: Path, title: str, beginning: str
) -> None:
    results = found(
        f"title: {title}",
        "cases: {slow: {parameters.computing: 12 ms}}",
        "seek: {it: {of: parameters.latency, from: 0 us, to: 200 us, where: efficiency >= 0.6,"
        " cases: [base, slow]}}",
    )
    (sentence,) = result_of(results, SeekResult).headline(results.words)
    latency = 1e6 * result_of(results, SeekResult).searches[1].crossings[0].value
    assert latency > 25
    assert sentence.startswith(beginning.replace("LATENCY", f"{latency:.4g} us"))
    assert "efficiency is at least 60 %" in sentence.casefold()


def test_a_search_in_one_of_several_cases_tells_the_case_and_what_it_keeps(folder: Path) -> None:
    """Values that the study chooses elsewhere are those of the case here."""
    results = found(
        "cases: {slow: {title: more work, parameters.computing: 12 ms}}",
        "choose: {cases: [slow], vary: {parameters.computing: [3 ms, 6 ms]}, minimize: time,"
        " where: efficiency >= 0.1}",
        "seek: {it: {of: parameters.latency, from: 0 us, to: 200 us, where: efficiency >= 0.6,"
        " cases: [slow]}}",
    )
    (sentence,) = result_of(results, SeekResult).headline(results.words)
    assert sentence.endswith("us (more work, with a computing of 12 ms)")


def test_what_all_names_of_cases_end_with_is_told_once(folder: Path) -> None:
    title = "{title: %s on the old network, parameters.computing: %d ms}"
    cases = {"a": title % ("A", 12), "b": title % ("B", 24), "c": title % ("C", 48)}
    results = found(
        f"cases: {{{', '.join(f'{name}: {text}' for name, text in cases.items())}}}",
        "seek: {it: {of: parameters.latency, from: 0 us, to: 2 ms, where: efficiency >= 0.6,"
        " cases: [a, b, c]}}",
    )
    result = result_of(results, SeekResult)
    (sentence,) = result.headline(results.words)
    limits = [f"{1e6 * search.crossings[0].value:.4g} us" for search in result.searches]
    assert sentence == (
        "On the old network: efficiency is at least 60 % if the latency is at most"
        f" {limits[0]} for A, {limits[1]} for B and {limits[2]} for C"
    )


def test_cases_with_the_same_limit_stand_together(folder: Path) -> None:
    results = found(
        "cases: {same: {}, slow: {parameters.computing: 12 ms}}",
        "seek: {it: {of: parameters.latency, from: 0 us, to: 200 us, where: efficiency >= 0.6,"
        " cases: [base, same, slow]}}",
    )
    result = result_of(results, SeekResult)
    (sentence,) = result.headline(results.words)
    assert sentence.endswith(" is at most 25 us for base and same; 125 us for slow")
    # The table has the quantity in its heading, and the amounts in its rows.
    table = result.decision(results.words)
    assert table is not None
    assert [*table[0]] == ["", "latency", "time at the limit"]
    assert [row[1] for row in table[1]] == ["at most 25 us", "at most 25 us", "at most 125 us"]


def test_ranges_with_two_ends_say_which_end_is_which_in_each_case(folder: Path) -> None:
    """Neither case has a single limit, so the second one does not borrow the words of the first."""
    results = found(
        "cases: {slow: {parameters.computing: 12 ms}, slower: {parameters.computing: 18 ms}}",
        "seek: {it: {of: parameters.latency, from: 0 us, to: 900 us,"
        " where: efficiency >= 0.4 and efficiency <= 0.6, cases: [slow, slower]}}",
    )
    result = result_of(results, SeekResult)
    (sentence,) = result.headline(results.words)
    assert sentence.endswith(
        "if the latency is at least 125 us and if the latency is at most 375 us for slow and at"
        " least 225 us and at most 600 us for slower"
    )


_TWO_OFFERS = """\
study: 1
title: Which offer is faster, and for which sizes?
base: {title: many, model: model.yaml}
cases: {few: {title: few, parameters.p: 4, parameters.speed: 2}}
seek:
  it: {of: parameters.n, from: 1, to: 1000, where: WHERE, cases: [few]}
"""
_OFFER = """\
activity: 1
parameters:
  n: {value: 100, meaning: cells of the grid}
  p: 16
  speed: 1
  tick: {value: 1 us}
population: {processors: 1}
cycle:
  - {name: compute, delay: tick * n / p / speed}
  - {name: reduce, delay: tick * p, component: reduce}
"""


@pytest.mark.parametrize(
    ("where", "limit", "sentence"),
    [
        # n / 16 + 16 = n / 8 + 4 at n = 192: both offers are compared at the same size.
        (
            "time <= base_there.time",
            192,
            "few is at least as fast as many if cells of the grid are at most 192",
        ),
        # n / 8 + 4 = 100 / 16 + 16: the base stays at 100 cells.
        (
            "time <= base.time",
            146,
            "146 cells of the grid (few, limit 22.25 us, of many as given)",
        ),
    ],
)
def test_cases_are_compared_at_the_same_place_or_with_the_base_as_given(
    folder: Path, where: str, limit: float, sentence: str
) -> None:
    Path("model.yaml").write_text(_OFFER)
    Path("study.yaml").write_text(_TWO_OFFERS.replace("WHERE", where))
    results = run(prepare("study.yaml"))
    (search,) = result_of(results, SeekResult).searches
    (crossing,) = search.crossings
    assert crossing.value == pytest.approx(limit, rel=1e-12)
    assert not crossing.starts
    head = head_lines(results, ["time"])
    assert sentence.lower() in head[0].lower()
    sides = [
        {
            case: alone("time", parameters__n=f"{place}", **settings)
            for case, settings in (
                ("many", {}),
                ("few", {"parameters__p": "4", "parameters__speed": "2"}),
            )
        }
        for place in (0.999 * limit, 1.001 * limit)
    ]
    if "there" in where:
        assert [times["few"] < times["many"] for times in sides] == [True, False]
    else:
        assert [times["few"] < 22.25e-6 for times in sides] == [True, False]


def test_only_a_search_reads_the_base_at_the_same_place(folder: Path) -> None:
    with pytest.raises(SpecError, match="only a search"):
        found(
            "choose: {vary: {parameters.latency: [1 us, 2 us]}, minimize: base_there.time,"
            " where: time <= 1 s}"
        )


def test_uncertain_settings_shared_by_both_cases_leave_the_crossing_where_it_is(
    folder: Path,
) -> None:
    Path("model.yaml").write_text(_OFFER)
    study = _TWO_OFFERS.replace("WHERE", "time <= base_there.time")
    Path("study.yaml").write_text(
        study.replace("model: model.yaml", "model: model.yaml, parameters.tick: 0.5 us..2 us")
    )
    (search,) = result_of(run(prepare("study.yaml")), SeekResult).searches
    (crossing,) = search.crossings
    # The tick scales both times, so that it cancels in each draw.
    assert crossing.value == pytest.approx(192, rel=1e-9)
    assert [crossing.low, crossing.high] == [pytest.approx(192, rel=0.02)] * 2


def test_cases_are_compared_in_the_same_year(folder: Path) -> None:
    search = seek(
        "of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2050, cases: [few],"
        " where: time <= base_there.time",
        "cases: {few: {parameters.computing: 12 ms, parameters.latency: 2 us}}",
    )
    (crossing,) = search.crossings
    # 6 ms / (1.4^5 1.1^t) more computing is as long as 0.72 ms / 1.05^(5 + t) less latency
    t = math.log(6 / 0.72 / 1.4**5 * 1.05**5) / math.log(1.1 / 1.05)
    assert crossing.value == pytest.approx(2010 + t, rel=1e-9)
    assert crossing.starts


def test_a_search_beside_a_simulated_base_is_as_uncertain_as_the_base(folder: Path) -> None:
    Path("servers.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 1 /s}}\n"
        "stations: {web: {servers: 2, service: {jobs: 1 s}}}\n"
    )
    fast = "{method: exact, stations.web.servers: 1, stations.web.service.jobs: 0.55 s}"
    Path("study.yaml").write_text(
        "study: 1\nbase: {model: servers.yaml, method: simulation, simulation.precision: 5%}\n"
        f"cases: {{fast: {fast}}}\nseek:\n  it: {{of: classes.jobs.arrivals, from: 0.5 /s,"
        " to: 1.5 /s, cases: [fast], where:"
        " 'response_time[jobs] <= base_there.response_time[jobs]'}\n"
    )
    result = result_of(run(prepare("study.yaml")), SeekResult)
    (crossing,) = result.searches[0].crossings
    # 0.55 / (1 - 0.55 x) = 1 / (1 - x^2 / 4), by hand.
    exact = (0.55 - math.sqrt(0.55**2 - 4 * 0.1375 * 0.45)) / 0.275
    assert crossing.low is not None
    assert crossing.high is not None
    assert crossing.low < exact < crossing.high
    (table,) = result.parts()
    assert {(answer.method, answer.exact) for answer in table.answers()} == {("simulation", False)}


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ("[base]", "write base.time for the base as given, or base_there.time for the base at"),
        ("[few]", "few.time is a value of the case itself; write time"),
    ],
)
def test_a_value_of_another_case_names_what_a_search_compares_with(
    folder: Path, cases: str, message: str
) -> None:
    Path("model.yaml").write_text(_OFFER)
    study = _TWO_OFFERS.replace("WHERE", "time <= few.time").replace(
        "cases: [few]", f"cases: {cases}"
    )
    Path("study.yaml").write_text(study)
    with pytest.raises(SpecError, match=re.escape(message)):
        prepare("study.yaml")


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("seek:\n  it: {of: parameters.p, from: 1, to: 64, where: time <= LIMIT}\n", "seek"),
        (
            (
                "choose:\n  vary: {parameters.p: [1, 64]}\n  minimize: parameters.p\n"
                "  where: time <= LIMIT\n"
            ),
            "choose",
        ),
    ],
)
def test_a_limit_of_the_title_that_no_condition_has_is_noted(
    folder: Path, capsys: pytest.CaptureFixture[str], question: str, place: str
) -> None:
    Path("model.yaml").write_text(_OFFER)
    for limit, is_noted in (("3 us", True), ("0.020 ms", False)):
        Path("study.yaml").write_text(
            "study: 1\ntitle: How many processors finish within 20 us?\nbase: {model: model.yaml}\n"
            + question.replace("LIMIT", limit)
        )
        assert main(["check", "study.yaml"]) == 0
        noted = (
            f"the limit 20 us stands nowhere else in the study: write it in the condition, {place}"
        )
        assert (noted in capsys.readouterr().err) == is_noted


@pytest.mark.parametrize(
    ("where", "of", "cases", "is_noted"),
    [
        ("time <= 0.9 * base.time", "parameters.p", "[faster]", True),
        ("time <= 0.9 * base.time", "parameters.p", "[base, faster]", True),
        ("time <= 0.9 * base_there.time", "parameters.p", "[faster]", False),
        ("time <= 0.9 * base.time", "parameters.p", "[base]", False),
        ("time <= 3 us", "parameters.p", "[faster]", False),
        ("time <= 0.9 * base.time", "parameters.copies", "[other]", False),
    ],
)
def test_a_search_beside_the_base_as_given_is_noted_where_the_base_has_what_is_searched(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    where: str,
    of: str,
    cases: str,
    is_noted: bool,
) -> None:
    model = "activity: 1\nparameters: {NAME: 8, work: 80 us}\npopulation: {processors: 1}\n"
    cycle = "cycle: [{name: compute, delay: work / NAME}]\n"
    for file, name in (("model.yaml", "p"), ("other.yaml", "copies")):
        Path(file).write_text((model + cycle).replace("NAME", name))
    Path("study.yaml").write_text(
        "study: 1\ntitle: When is it faster?\nbase: {model: model.yaml}\n"
        "cases: {faster: {parameters.work: 40 us}, other: {model: other.yaml}}\n"
        f"seek:\n  it: {{of: {of}, from: 1, to: 64, where: {where}, cases: {cases}}}\n"
    )
    assert main(["check", "study.yaml"]) == 0
    note = (
        "base.time is that of the base as given, with parameters.p = 8; write base_there.time for"
        " the base at the same parameters.p as the case"
    )
    assert (note in capsys.readouterr().err) == is_noted


def test_the_year_of_a_search_has_the_band_that_a_projection_has(folder: Path) -> None:
    """A time that only follows the processors is halved in the year at which their drawn factor,
    alone in each period, has doubled.
    """
    Path("model.yaml").write_text(
        "activity: 1\nparameters: {computing: 6 ms}\npopulation: {processors: 64}\n"
        "cycle: [{name: compute, delay: computing}]\n"
    )
    Path("trend.yaml").write_text(
        "trend: 1\nsource: made up\n"
        "rates: {processors: [{from: 2000, to: 2060, factor: 1.1, spread: 1.5%}]}\n"
    )
    projected = (
        "project: {trends: [trend.yaml], base_year: 2005, years: {from: 2005, to: %d, step: 1},"
        " watch: [time <= 0.5 * own.time], samples: 1024}"
    )
    sought = (
        "of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: %d,"
        " where: time <= 0.5 * own.time"
    )
    results = found(f"seek: {{it: {{{sought % 2040}}}}}", projected % 2040)
    (search,) = result_of(results, SeekResult).searches
    band = search.year_band
    assert band is not None
    (track,) = result_of(results, ProjectResult).projection.tracks
    (change,) = track.conditions[0].crossings
    assert (band.low, band.high) == pytest.approx((change.low, change.high), abs=1e-6)
    assert band.share_of_draws == change.part == 1.0
    (rate,) = result_of(results, ProjectResult).projection.rates
    halved = [2005 + math.log(2) / math.log(factor) for factor in (rate.high, rate.low)]
    assert (band.low, band.high) == pytest.approx(halved, abs=0.05)
    first, *_ = head_lines(results, results.answer)
    first_whole_years = [math.ceil(year) for year in halved]
    band_text = " to ".join(map(str, first_whole_years))
    # The time is halved 7.27 years after 2005, so that it is longer in 2012.
    assert f"from 2013 on (uncertain: {band_text}) (limit 3 ms" in first
    results = found(f"seek: {{it: {{{sought % 2011}}}}}", projected % 2011)
    (search,) = result_of(results, SeekResult).searches
    (track,) = result_of(results, ProjectResult).projection.tracks
    share = track.conditions[0].shares_of_draws[-1]
    assert search.year_band is not None
    assert 0 < search.year_band.share_of_draws == share < 1
    first, *_ = head_lines(results, results.answer)
    assert "the time as given, at the stated rates: never (from 2005 to 2011; at best" in first
    assert f"; in 2011 in {percent(share)} of the random draws)" in first


def test_a_year_without_uncertain_rates_is_of_the_stated_rates(folder: Path) -> None:
    Path("trend.yaml").write_text(TREND.replace(", spread: 10%", ""))
    results = found(
        "seek: {it: {of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2020,"
        " where: time <= 0.5 * own.time}}"
    )
    assert result_of(results, SeekResult).searches[0].year_band is None
    first, *_ = head_lines(results, results.answer)
    assert "time as given, at the stated rates, from 20" in first
    Path("trend.yaml").write_text(TREND)
    results = found(
        "seek: {it: {of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2020,"
        " where: time <= 0.5 * own.time}}",
        base="{model: model.yaml, parameters.memory: 2 ms..4 ms}",
    )
    first, *_ = head_lines(results, results.answer)
    assert ", at the stated rates (the years ahead of the condition have their uncert" in first


@pytest.mark.parametrize(
    ("relation", "last", "words"),
    [
        ("<=", 1000, "Few is at least as fast as many if cells of the grid are at most 192"),
        (">", 1000, "Few is slower than many if cells of the grid are at least 192"),
        ("<", 100, "Few is faster than many at every value of cells of the grid from 1 to 100"),
        (">=", 100, "Few is faster than many at every value of cells of the grid from 1 to 100"),
        (">", 100, "Few is at least as fast as many at every value of cells of the grid from 1 to"),
    ],
)
def test_times_beside_the_base_are_told_as_speeds(
    relation: str, last: int, words: str, folder: Path
) -> None:
    """With up to 192 cells, few processors are as fast, by hand."""
    Path("model.yaml").write_text(_OFFER)
    study = _TWO_OFFERS.replace("WHERE", f"time {relation} base_there.time")
    Path("study.yaml").write_text(study.replace("to: 1000", f"to: {last}"))
    results = run(prepare("study.yaml"))
    (line,) = result_of(results, SeekResult).headline(results.words)
    assert line.startswith(words)


def test_a_title_that_asks_for_the_searched_quantity_is_answered_by_the_search(
    folder: Path,
) -> None:
    """The load grows by 4 % a month from 50/s, and the limit of 80/s is reached after 12 months."""
    Path("servers.yaml").write_text(
        "queueing-network: 1\nparameters: {months: 0, load: 50 /s}\n"
        "classes: {jobs: {arrivals: 'load * pow(1.04, months)'}}\n"
        "stations: {web: {service: {jobs: 10 ms}}}\n"
    )
    search = (
        "cases: {fast: {stations.web.service.jobs: 9 ms}}\n"
        "seek: {it: {of: parameters.months, from: 0, to: 36, step: 1, cases: [base, fast],"
        " where: 'response_time[jobs] <= 50 ms'}}"
    )
    for title, is_first in [
        ("In how many months does it answer slower than before?", True),
        ("Which month is the last, and what should be bought?", False),
    ]:
        results = found(f"title: '{title}'", search, base="{model: servers.yaml}")
        first, *_ = head_lines(results, results.answer)
        assert ("with up to 11 months for base and 15 for fast" in first) is is_first


def test_response_times_are_compared_in_the_words_of_a_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Second road: 1 / (100 - A) of M/M/1 against M/M/4 of 30 ms by Erlang's C formula."""
    monkeypatch.chdir(tmp_path)
    Path("fast.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 50 /s}}\n"
        "stations: {server: {servers: 1, service: {jobs: 10 ms}}}\n"
    )
    Path("study.yaml").write_text(
        "study: 1\ntitle: From which load on does a pool answer sooner than one fast server?\n"
        "base: {title: one fast server, model: fast.yaml}\n"
        "cases: {pool: {title: pool of four, stations.server.servers: 4,"
        " stations.server.service.jobs: 30 ms}}\nanswer: ['response_time[jobs]']\n"
        "seek: {flip: {of: classes.jobs.arrivals, from: 5 /s, to: 99 /s, cases: [pool],"
        " where: 'response_time[jobs] <= base_there.response_time[jobs]'}}\n"
    )
    results = run(prepare("study.yaml"))
    first, *_ = head_lines(results, results.answer)

    def pool_minus_one(rate: float) -> float:
        load = rate * 0.03
        last = load**4 / 24 / (1 - load / 4)
        waiting = last / (sum(load**n / factorial(n) for n in range(4)) + last)
        return 0.03 + waiting * 0.03 / (4 - load) - 1 / (100 - rate)

    crossing = brentq(pool_minus_one, 50, 99)
    assert first.startswith(
        f"Pool of four is at least as fast as one fast server with at least {crossing:.4g} jobs"
    )


TANDEM = """\
queueing-network: 1
classes: {requests: {arrivals: 90 /s}}
stations:
  web: {servers: 2, service: {requests: 10 ms}}
  app: {servers: 6, service: {requests: 40 ms}}
  db: {servers: 3, service: {requests: 20 ms}}
"""
LIMITED = "where: 'response_time_quantile[requests,0.95] <= 183 ms'"


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "searched",
    [
        "of: stations.app.servers, from: 4, to: 9, step: 1",
        "of: stations.app.servers, from: 4, to: 9",
        "of: classes.requests.arrivals, from: 60 /s, to: 120 /s",
    ],
)
def test_places_that_approximate_values_leave_undecided_are_simulated(
    folder: Path, searched: str
) -> None:
    Path("tandem.yaml").write_text(TANDEM)
    by_default = seek(f"{searched}, {LIMITED}", base="{model: tandem.yaml}")
    approximate = seek(f"{searched}, {LIMITED}", base="{model: tandem.yaml, method: exact}")
    by_simulation = seek(f"{searched}, {LIMITED}", base="{model: tandem.yaml, method: simulation}")
    assert approximate.simulated == by_simulation.simulated == 0 < by_default.simulated
    (change,), (simulated,) = by_default.crossings, by_simulation.crossings
    if "step" in searched or "servers" in searched:
        assert (change.value, change.before) == (simulated.value, simulated.before)
        assert change.low == change.high == change.value
        open_intervals = [change for change in approximate.crossings if change.low != change.high]
        assert approximate.undecided or open_intervals
    else:
        (computed,) = approximate.crossings
        assert do_overlap((change.low, change.high), (simulated.low, simulated.high))
        assert (change.high or 0) - (change.low or 0) < (computed.high or 0) - (computed.low or 0)
        # Far from the limit the approximation decides, and is not simulated.
        assert by_default.answer(by_default.first).method == "exact"
    assert by_default.answer(change.value).method == "simulation"
    assert (
        "simulated, because approximate values do not decide" in SeekResult((by_default,)).doubt()
    )


SHOP = """queueing-network: 1
classes: {requests: {arrivals: 80 /s}}
stations:
  web: {servers: 2, service: {requests: 5 ms}}
  db: {service: {requests: 4 ms}}
"""


@pytest.mark.parametrize(
    ("of", "limit", "places"),
    [
        ("stations.db.servers, from: 1, to: 6, step: 1", "12 ms", {1: "no", 2: "yes", 6: "yes"}),
        ("classes.requests.arrivals, from: 10 /s, to: 240 /s", "40 ms", {}),
    ],
)
def test_a_single_search_has_a_table_of_both_sides_of_its_change(
    tmp_path: Path, of: str, limit: str, places: dict[int, str]
) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: 1\ntitle: Which one is it?\n"
        "base: {model: shop.yaml, classes.requests.arrivals: 200 /s}\n"
        f'seek: {{it: {{of: {of}, where: "response_time[requests] <= {limit}"}}}}\n'
    )
    results = run(prepare(str(study)))
    table = decision_table(results, results.answer)
    assert table is not None
    assert [*table.titles[1:]] == [f"response time of requests (at most {limit})", "is met"]
    path = of.partition(",")[0]
    for place, amount, is_met in table.rows:
        settings = {"classes.requests.arrivals": "200 /s"} | {path: place}
        answer = solve(str(tmp_path / "shop.yaml"), settings)
        time = answer["response_time[requests]"]
        assert time is not None
        # The place is rounded to four digits.
        assert float(amount.removesuffix(" ms")) == pytest.approx(1e3 * time, rel=5e-3)
        assert is_met == ("yes" if time <= float(limit[:2]) / 1e3 else "no")
    met = [is_met for *_, is_met in table.rows]
    # Both sides of the change stand beside each other.
    assert {"yes", "no"} == {*met}
    if places:
        assert {int(row[0]): row[2] for row in table.rows} == places
    else:
        assert met == ["yes", "yes", "no", "no"]

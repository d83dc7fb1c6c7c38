"""What a projection says of a condition near saturation, and of two cases that pass each other, is
executed on both sides of every year it names.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from slipstick.report.head import decision_table, head_lines
from slipstick.study.run import prepare, run
from slipstick_trends.ahead import Overtaking, overtaking_sentence
from slipstick_trends.project import ProjectResult
from tests.questions import result_of

STUDY = """\
study: 1
base: {{model: open.yaml}}
answer: [time]
project:
  trends: [trend.yaml]
  base_year: 2005
  years: {{from: 2005, to: 2025, step: {step}}}
  watch: ["time < {limit!r} s"]
  samples: 64
"""
MODEL = """\
activity: 1
parameters: {{ask: 20 ms, rate: {rate!r} /s}}
population: {{arrivals: rate}}
resources: {{cpu: {{servers: 1}}}}
cycle:
- {{name: ask, service: cpu, time: ask, scv: 1}}
"""
TREND = """\
trend: 1
source: made up
rates:
  processors: [{{from: 2000, to: 2030, factor: {factor!r}}}]
"""
SENTENCE = re.compile(
    r"ime is less than \S+ s"
    r" (?:(throughout|in no year) from 2005 to 2025|from (\S+) on|until (\S+))"
)


def time(rate: float, factor: float, year: float) -> float | None:
    """Return the time of M/M/1; None where it is saturated."""
    service_rate = 50 * factor ** (year - 2005)
    return 1 / (service_rate - rate) if service_rate > rate else None


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(8))
def test_a_year_that_is_named_is_where_the_condition_or_its_answer_begins(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    factor = chance.choice([0.97, 1.03, 1.1, 1.2])
    rate = 50 * chance.uniform(0.7, 1.5)
    limit = 0.02 * 10 ** chance.uniform(-1.5, 2.5)
    Path("open.yaml").write_text(MODEL.format(rate=rate))
    Path("trend.yaml").write_text(TREND.format(factor=factor))
    Path("study.yaml").write_text(STUDY.format(limit=limit, step=chance.choice([1, 5, 20])))
    result = result_of(run(prepare("study.yaml")), ProjectResult)
    (line,) = [line for line in result.sentences() if "ime is less" in line]
    said = SENTENCE.search(line)
    assert said, line
    assert "of the random draws" not in line

    def holds(year: float) -> bool:
        """A saturated server is slower than every limit."""
        seconds = time(rate, factor, year)
        return seconds is not None and seconds < limit

    whole, starts, ends = said.groups()
    years = np.linspace(2005, 2025, 2001).tolist()
    assert "without an answer" not in line
    if whole:
        assert {holds(year) for year in years} == {whole == "throughout"}
    if starts:
        assert [holds(float(starts) + offset) for offset in (-0.06, 0.06)] == [False, True]
    if ends:
        assert [holds(float(ends) + offset) for offset in (-0.06, 0.06)] == [True, False]


def test_a_case_that_is_passed_again_is_not_said_to_be_faster_from_then_on() -> None:
    ahead = Overtaking("new", "old", "trend", 2008.0, None, None, 1.0, end_year=2015.5)
    assert overtaking_sentence(ahead, 2020.0) == "new takes less time than old from 2008 to 2015.5"


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("title", "asked", "years"),
    [
        ("Will a server of 2011 take half the time of 2005's?", "2011", "from: 2005, to: 2025"),
        ("Will a server take half the time of one of 2005?", "2025", "from: 2005, to: 2025"),
        ("Is a server of 2005 half as fast as one of 2012?", "2012", "from: 2005, to: 2025"),
        ("Will it take 25 ms in 2008, and in 2014?", "2014", "from: 2005, to: 2017"),
    ],
)
def test_the_years_that_a_title_asks_for_are_answered_and_stand_in_the_table(
    title: str, asked: str, years: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("open.yaml").write_text(MODEL.format(rate=20.0))
    Path("trend.yaml").write_text(TREND.format(factor=1.05).replace("1.05}", "1.05, spread: 10%}"))
    text = STUDY.format(limit=0.025, step=2).replace("from: 2005, to: 2025", years)
    Path("study.yaml").write_text(text.replace("base:", f"title: {title!r}\nbase:", 1))
    results = run(prepare("study.yaml"))
    first, second, *_ = head_lines(results, results.answer)
    share = re.fullmatch(rf".+: in {asked} time is less than .+ in (\S+) % of the random .+", first)
    projection = result_of(results, ProjectResult).projection
    (track,) = projection.tracks
    (history,) = track.conditions
    projected_years = [f"{year:g}" for year in track.sweep.points["year"]]
    index = projected_years.index(asked)
    assert share
    assert float(share[1]) == pytest.approx(100 * history.shares_of_draws[index], abs=0.06)
    table = decision_table(results, results.answer)
    assert table
    seconds_by_year = {row[0]: row[1] for row in table.rows}
    named_years = [year for year in re.findall(r"20\d\d", title) if year != "2005"]
    assert {"2005", *named_years, projected_years[-1]} <= seconds_by_year.keys()
    for year in named_years:
        assert f"n {year} time is {seconds_by_year[year]}" in second


@pytest.mark.turns(4)
def test_draws_that_saturate_a_server_count_as_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share of the draws, and the band of the year, are those of the closed form of M/M/1."""
    monkeypatch.chdir(tmp_path)
    Path("open.yaml").write_text(MODEL.format(rate=45.0))
    trend = TREND.format(factor=0.995).replace("0.995}", "0.995, spread: 1 %}")
    Path("trend.yaml").write_text(trend)
    shares = {}
    for relation in ("<", ">"):
        text = STUDY.format(limit=0.5, step=5).replace("time <", f"time {relation}")
        Path("study.yaml").write_text(text.replace("samples: 64", "samples: 512"))
        results = run(prepare("study.yaml"))
        projection = result_of(results, ProjectResult).projection
        (track,) = projection.tracks
        (history,) = track.conditions
        shares[relation] = np.array(history.shares_of_draws)
    assert shares["<"] + shares[">"] == pytest.approx(1.0)
    # 1 / (50 f^n - 45) < 0.5 s while f^n > 0.94 after n years; log f is normal about log 0.995.
    years = np.array([5, 10, 15, 20])
    expected = stats.norm.cdf((np.log(0.995) - np.log(0.94) / years) / 0.01)
    assert shares["<"][1:] == pytest.approx(expected, abs=0.01)
    assert shares["<"][0] == 1.0
    # At the end half of the draws are saturated: f^n < 0.9.
    assert stats.norm.cdf((np.log(0.9) / 20 - np.log(0.995)) / 0.01) > 0.45

"""Parameters that follow a series or a class of cost, beside the level and the band of the series
itself; what is weak or a guess is marked wherever it is used.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slipstick.errors import SpecError
from slipstick.results.words import Words
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library
from slipstick.schema.text import Mark
from slipstick_questions.seek import SeekResult
from slipstick_questions.trends import TrendSettings
from slipstick_rates.files import TrendSpec, series_of
from slipstick_rates.series import NORMAL_90, PointSeries, fit_series
from slipstick_trends.project import ProjectResult
from slipstick_trends.projection import Projection
from slipstick_trends.specs import ProjectionPictureSpec, SharesPictureSpec
from tests.questions import result_of
from tests.study.small_program import found

MODEL = """\
activity: 1
title: A step, with what its node costs
parameters:
  work: 6 ms
  price: {value: 1000, meaning: price of a node, technology: dear}
  delay: {value: 2 us, technology: adapter}
  link: {value: 1 GB/s, technology: adapter}
  seats: 4
population: {processors: 4}
cycle:
- {name: compute, delay: work}
amounts:
  spent: price * time / 1 s
  waited: 1000 * delay / 1 s
  rate: link / 1 GB * 1 s
"""
TREND = """\
trend: 1
title: Made up
source: made up
rates:
  adapter: [{from: 2000, to: 2040, factor: {value: 1.1, assumed: true}}]
series:
  dear:
    title: Price of a node
    unit: USD
    less_is_better: true
    points:
    - {year: 2014, value: 500, source: s}
    - {year: 2016, value: 650, source: s}
    - {year: 2018, value: 700, source: s}
    - {year: 2020, value: 1000, source: s}
"""
PROJECT = """\
answer: [time, "amount[spent]", "amount[waited]", "amount[rate]"]
project:
  trends: [trend.yaml]
  base_year: 2020
  years: [2020, 2025, 2030]
  samples: 1024
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(MODEL)
    Path("trend.yaml").write_text(TREND)


def projection(*lines: str, base: str = "{model: model.yaml}") -> Projection:
    return result_of(found(*lines, base=base), ProjectResult).projection


def made_up_series() -> PointSeries:
    tree = Library().load("trend", "trend.yaml", Mark("trend.yaml", 1, 1))
    return series_of(validate(TrendSpec, tree))["dear"]


def changed(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


def test_a_parameter_changes_as_the_values_of_its_series_with_their_band() -> None:
    (track,) = projection(PROJECT).tracks
    columns = track.sweep.columns
    fit = fit_series(made_up_series())
    years = np.array([2025.0, 2030.0])
    # Prices rise, so that the gain of the series, more for less money, is below 1.
    assert columns["amount[spent]"][1:] == pytest.approx(6e-3 * 1000 / fit.gain(2020.0, years))
    mean, covariance = fit.log_gain(2020.0, years)
    deviation = np.sqrt(np.diag(covariance) + 2 * fit.scatter**2)
    for end, sign in (("low", 1), ("high", -1)):
        band = 6 * np.exp(-(mean + sign * NORMAL_90 * deviation))
        assert columns[f"{end}[amount[spent]]"][1:] == pytest.approx(band, rel=0.06)
    assert columns["time"].tolist() == [6e-3] * 3


def test_along_a_class_of_cost_times_fall_and_rates_rise() -> None:
    (track,) = projection(PROJECT).tracks
    gains = 1.1 ** np.array([0, 5, 10])
    assert track.sweep.columns["amount[waited]"] == pytest.approx(2e-3 / gains)
    assert track.sweep.columns["amount[rate]"] == pytest.approx(gains)


def test_a_case_with_another_value_follows_the_same_series() -> None:
    base, dear = projection("cases: {dear: {parameters.price: 3000}}", PROJECT).tracks
    spent = "amount[spent]"
    assert dear.sweep.columns[spent] == pytest.approx(3 * base.sweep.columns[spent])


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("change", "spent"),
    [
        ("parameters.price: {technology: none}", 6.0),
        ("parameters.price.technology: none", 6.0),
        ("parameters.price: {value: 3000, technology: none}", 18.0),
    ],
)
def test_a_case_keeps_the_value_of_a_parameter_that_the_base_lets_follow(
    change: str, spent: float
) -> None:
    base, kept = projection(f"cases: {{kept: {{{change}}}}}", PROJECT).tracks
    assert kept.sweep.columns["amount[spent]"].tolist() == pytest.approx([spent] * 3, rel=1e-12)
    assert kept.unfollowed == ()
    (first, *later) = base.sweep.columns["amount[spent]"].tolist()
    assert first == pytest.approx(6.0)
    assert min(later) > 6.1


def test_a_case_lets_a_parameter_follow_that_the_base_keeps() -> None:
    changed(
        "model.yaml",
        "price: {value: 1000, meaning: price of a node, technology: dear}",
        "price: 1000",
    )
    base, moves = projection(
        "cases: {moves: {parameters.price: {value: 1000, technology: dear}}}", PROJECT
    ).tracks
    assert base.sweep.columns["amount[spent]"].tolist() == pytest.approx([6.0] * 3)
    gain = fit_series(made_up_series()).gain(2020.0, np.array([2025.0]))[0]
    assert moves.sweep.columns["amount[spent]"][1] == pytest.approx(6.0 / gain)


def test_a_condition_takes_the_parameter_of_the_year() -> None:
    watch = "  watch: [parameters.price >= 1200]\n"
    made = projection(PROJECT + watch)
    ((history,),) = [track.conditions for track in made.tracks]
    (crossing,) = history.crossings
    fit = fit_series(made_up_series())
    assert fit.gain(2020.0, np.array([crossing.value]))[0] == pytest.approx(1 / 1.2, rel=1e-6)
    (sentence,) = [text for text in ProjectResult(made).sentences() if "at least 1200" in text]
    assert sentence.startswith("Price of a node is at least 1200 from 20")


def test_what_is_weak_or_a_guess_is_marked_in_head_and_pictures() -> None:
    marked = "Weak series: Price of a node (4 points). Guesses: network adapters"
    banded = f"Shaded bands contain 90 % of the random draws of the trends. {marked}"
    cases = "cases: {dear: {title: A dear one, parameters.price: 3000}}\n"
    result = ProjectResult(projection(cases, PROJECT))
    assert "these rates are guesses: adapter 2000 to 2040" in result.doubt()
    for picture, expected in (
        (ProjectionPictureSpec(kind="projection", name="a", title="b", y=["time"]), banded),
        # No time follows a price, nor the adapters.
        (SharesPictureSpec(kind="shares", name="a", title="b"), ""),
    ):
        figure = result.draw(picture, {})
        assert " ".join(figure.get_supxlabel().split()) == expected
    tables = [part for part in result.parts() if not isinstance(part, str)]
    assert [table.title.splitlines() for table in tables] == [
        ["### base", "", f"{marked}."],
        ["### A dear one", "", f"{marked}."],
    ]
    for table in tables:
        (column,) = [column for column in table.columns if column.name == "marked"]
        assert {*column.cells} == {marked}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "dearer",
            (
                "no trend here has a series 'dearer', and no class of cost is called so; did you"
                " mean 'dear'?"
            ),
        ),
        (
            "adapter",
            (
                "adapter is a class of cost, whose times fall and rates rise; a plain number is"
                " neither: name the series that it follows"
            ),
        ),
    ],
)
def test_what_a_parameter_cannot_follow_is_refused_in_its_line(name: str, message: str) -> None:
    changed("model.yaml", "technology: dear", f"technology: {name}")
    with pytest.raises(SpecError) as caught:
        projection(PROJECT)
    assert str(caught.value).startswith("model.yaml:5:")
    assert f"parameters.price.technology: {message}" in str(caught.value)


def test_a_time_that_would_change_twice_is_refused() -> None:
    changed("model.yaml", "work: 6 ms", "work: {value: 6 ms, technology: application}")
    rates = "  application: [{from: 2000, to: 2040, factor: 1.2}]\nseries:"
    changed("trend.yaml", "series:", rates)
    message = (
        "step compute follows application already, so that its time would change twice; leave"
        " technology out of the parameter, or write another one in the step"
    )
    with pytest.raises(SpecError, match=message):
        projection(PROJECT)


def test_what_shapes_the_model_does_not_follow() -> None:
    changed("model.yaml", "seats: 4", "seats: {value: 4, technology: dear}")
    changed("model.yaml", "cycle:", "resources: {cpu: {servers: seats}}\ncycle:")
    changed("model.yaml", "delay: work", "service: cpu, time: work")
    with pytest.raises(SpecError, match="it shapes the structure of the model, or nothing is"):
        projection(PROJECT)


def test_a_trend_without_the_series_leaves_the_parameter_and_says_so() -> None:
    Path("other.yaml").write_text(TREND.partition("series:")[0])
    made = projection(PROJECT.replace("[trend.yaml]", "[trend.yaml, other.yaml]"))
    followed, stays = made.tracks
    assert followed.unfollowed == ()
    assert stays.unfollowed == (("parameters.price", "dear"),)
    assert stays.sweep.columns["amount[spent]"].tolist() == [6.0] * 3
    text = "has no rate of what price follows, so it stays as it is in every year"
    assert text in ProjectResult(made).doubt()


NETWORK = """\
queueing-network: 1
title: A disk
parameters: {read: {value: 80 us, technology: dear}}
classes: {reads: {arrivals: 5000 /s}}
stations: {disk: {service: {reads: read}}}
"""


def test_a_network_without_classes_of_cost_goes_along_what_its_parameters_follow() -> None:
    Path("network.yaml").write_text(NETWORK)
    text = PROJECT.replace(
        'answer: [time, "amount[spent]", "amount[waited]", "amount[rate]"]',
        'answer: ["response_time[reads]"]',
    )
    (track,) = projection(text, base="{model: network.yaml}").tracks
    fit = fit_series(made_up_series())
    read = 80e-6 / fit.gain(2020.0, np.array([2025.0]))[0]
    assert track.sweep.columns["response_time[reads]"][1] == pytest.approx(read / (1 - 5000 * read))
    Path("other.yaml").write_text(TREND.partition("series:")[0])
    with pytest.raises(SpecError, match="no parameter follows what other has a rate of"):
        projection(
            text.replace("[trend.yaml]", "[trend.yaml, other.yaml]"), base="{model: network.yaml}"
        )
    changed("network.yaml", ", technology: dear", "")
    with pytest.raises(SpecError, match="or write in a parameter the technology that it follows"):
        projection(text, base="{model: network.yaml}")


def test_a_search_of_a_year_moves_the_parameter() -> None:
    seek = """\
answer: ["amount[spent]"]
seek:
  year:
    of: year
    trend: trend.yaml
    base_year: 2020
    from: 2020
    to: 2030
    where: "amount[spent] >= 7.2"
"""
    (search,) = result_of(found(seek), SeekResult).searches
    (crossing,) = search.crossings
    fit = fit_series(made_up_series())
    assert fit.gain(2020.0, np.array([crossing.value]))[0] == pytest.approx(1 / 1.2, rel=1e-6)
    result = SeekResult((search,))
    assert search.doubts == ("guesses: adapter", "weak series: Price of a node")
    assert result.doubt() == "guesses: adapter; weak series: Price of a node"
    assert result.sentences()[0].endswith("; guesses: adapter; weak series: Price of a node")


THREE = """\
cases:
  slow: {title: A slow network, parameters.delay: 20 us}
  slower: {title: A slower one, parameters.delay: 2 ms}
"""


def test_the_head_of_many_cases_says_which_way_all_of_them_go() -> None:
    changed("model.yaml", "delay: {value: 2 us, technology: adapter}", "delay: 2 us")
    changed(
        "model.yaml",
        "cycle:",
        "cycle:\n- {name: send, delay: 100 * delay, technology: adapter, component: wire}",
    )
    project = PROJECT.replace("[time, ", "[efficiency, ")
    result = ProjectResult(projection(THREE, project))
    first, *_ = result.headline(Words({"slow": "A slow network", "slower": "A slower one"}))
    # The network gets faster by 1.1 a year, and computing stays: 6 ms of 6.2, 8 and 206 ms.
    ends = [6 / (6 + delay / 1.1**10) for delay in (0.2, 2, 200)]
    most, middle, least = (f"{100 * end:.3g} %" for end in ends)
    assert first == (
        f"by 2030 efficiency rises in all 3 cases: {most} for base, {middle} for A slow network and"
        f" {least} for A slower one"
    )


@pytest.mark.parametrize(("title", "shown"), [("Processors", "Processors"), ("", "own")])
def test_a_trend_without_a_title_is_shown_by_its_name(title: str, shown: str) -> None:
    spec: Any = SimpleNamespace(title=title)
    assert TrendSettings("own", spec, {}).title == shown

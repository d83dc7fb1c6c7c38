"""Projections beside points that are solved one by one, and bands beside the quantiles of their
rates.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats

from slipstick.errors import SpecError, UnknownNameError
from slipstick.limits import ANNOUNCE
from slipstick.report.formatting import question_section
from slipstick.report.head import decision_table, head_lines
from slipstick.results.study import tidy_columns
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.kinds.study import StudySpec
from slipstick.schema.library import Library, catalogue_folder
from slipstick.schema.text import Mark, Table
from slipstick.study.cases import StudyContext
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick_questions.trends import read_trend
from slipstick_rates.series import NORMAL_90, RateModel, level_covariance
from slipstick_rates.trend import PROCESSORS
from slipstick_trends.project import ProjectResult
from slipstick_trends.projection import Projection
from slipstick_trends.sample import SampleResult
from slipstick_trends.sentences import headlines_by_subject
from slipstick_trends.specs import HistogramSpec, ProjectionPictureSpec
from tests.questions import reported, result_of
from tests.study.small_program import TREND, alone, found, in_folder

PROJECT = """\
answer: [time, efficiency, overhead]
project:
  trends: [trend.yaml]
  base_year: 2005
  years: {from: 2005, to: 2025, step: 5}
  watch:
    - efficiency >= 0.5
    - time < 0.7 * own.time
    - technology[application] > technology[adapter]
  samples: 1024
"""
YEARS = "years: {from: 2005, to: 2025, step: 5}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return in_folder(tmp_path, monkeypatch)


def projection(text: str = PROJECT, base: str = "{model: model.yaml}", jobs: int = 1) -> Projection:
    return result_of(found(text, base=base, jobs=jobs), ProjectResult).projection


@pytest.mark.turns(4)
def test_a_year_is_the_case_with_its_technology_set_by_hand(folder: Path) -> None:
    (track,) = projection().tracks
    for year, time, efficiency in zip(
        range(2005, 2026, 5), *list(track.sweep.columns.values())[:2], strict=True
    ):
        p = 1.4 ** min(year - 2005, 5) * 1.1 ** max(0, year - 2010)
        given = {
            "technology__processors": repr(p),
            "technology__adapter": repr(1.05 ** -(year - 2005)),
        }
        assert time == pytest.approx(alone(**given))
        assert efficiency == pytest.approx(alone("efficiency", **given))
    assert track.sweep.columns["overhead"] == pytest.approx(
        track.sweep.columns["time"] * (1 - track.sweep.columns["efficiency"])
    )


def test_one_year_is_compared_with_that_of_the_case(folder: Path) -> None:
    both, one = (
        projection(PROJECT.replace(YEARS, f"years: {years}"))
        for years in ("[2005, 2025]", "[2025]")
    )
    assert list(one.years) == [2005, 2025]
    assert repr(one.tracks) == repr(both.tracks)


def test_many_conditions_are_announced_with_their_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count(0.0)
    monkeypatch.setattr("slipstick.limits.thread_time", lambda: next(seconds))
    conditions = "".join(f"    - efficiency >= 0.{number}\n" for number in range(10, 30))
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    try:
        projection(PROJECT.replace("    - efficiency >= 0.5\n", conditions))
    finally:
        ANNOUNCE.reset(token)
    # One second each: three are done when it is told.
    assert "22 conditions of base over the years: about 22 s of processor time" in announced


def test_limits_that_are_watched_are_drawn(folder: Path) -> None:
    """The one of the efficiency is a number; that of the time is a part of another."""
    seek = "seek: {other: {of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2025,"
    other = f"{seek} where: efficiency >= 0.7}}}}\n"
    result = result_of(found(PROJECT + other, base="{model: model.yaml}"), ProjectResult)
    spec = ProjectionPictureSpec(kind="projection", name="a", title="a", y=["time", "efficiency"])
    texts = [[text.get_text() for text in axes.texts] for axes in result.draw(spec, {}).axes]
    assert texts == [[], ["limit 0.5"]]


def test_a_study_without_pictures_draws_the_first_value_over_the_years(folder: Path) -> None:
    Path("study.yaml").write_text(f"study: 1\nbase: {{model: model.yaml}}\n{PROJECT}")
    (picture,) = prepare("study.yaml").spec.pictures
    assert picture.model_dump(include={"kind", "name", "title", "y"}) == {
        "kind": "projection",
        "name": "years",
        "title": "Time from 2005 to 2025",
        "y": ["time"],
    }


def test_a_case_starts_from_its_own_technology(folder: Path) -> None:
    (track,) = projection(
        base="{model: model.yaml, technology.processors: 2, technology.adapter: 0.5}"
    ).tracks
    given = {
        "technology__processors": repr(2 * 1.4**5),
        "technology__adapter": repr(0.5 * 1.05**-5),
    }
    assert track.sweep.columns["time"][1] == pytest.approx(alone(**given))


@pytest.mark.turns(4)
def test_the_band_is_that_of_the_one_rate_that_is_drawn(folder: Path) -> None:
    (track,) = projection().tracks
    for index, year in enumerate(range(2005, 2026, 5)):
        # After 2020 the rate changes at random: within five years, as a level of a walk.
        after = np.array([max(0.0, year - 2020)])
        walked = float(level_covariance(after, after, RateModel(start=0))[0, 0])
        deviation = math.sqrt((0.1 * max(0, year - 2010)) ** 2 + walked)
        for side, end in ((1, "low[time]"), (-1, "high[time]")):
            p = 1.4 ** min(year - 2005, 5) * 1.1 ** max(0, year - 2010)
            p *= math.exp(side * NORMAL_90 * deviation)
            given = {
                "technology__processors": repr(float(p)),
                "technology__adapter": repr(1.05 ** -(year - 2005)),
            }
            # Quantiles of 1024 draws: of one rate evenly spread, of a walk after 2020 at random.
            error = 5e-3 if year <= 2020 else 1e-2
            assert track.sweep[end][index] == pytest.approx(alone(**given), rel=error)
    assert track.sweep["low[time]"][1] == pytest.approx(
        track.sweep["high[time]"][1]
    )  # to 2010 nothing is uncertain


def test_conditions_are_timed_between_the_years(folder: Path) -> None:
    (track,) = projection().tracks
    half, shorter, larger = track.conditions
    # 6 ms / p = 3 ms + 0.8 ms / 1.05^t, with p = 1.4^t: solved by bisection
    low, high = 0.0, 5.0
    for _ in range(60):
        t = (low + high) / 2
        low, high = (t, high) if 6 / 1.4**t > 3 + 0.8 / 1.05**t else (low, t)
    (crossing,) = half.crossings
    assert half.holds_first is True
    assert crossing.value == pytest.approx(2005 + low, abs=1e-9)
    assert not crossing.starts
    assert shorter.holds_first is False
    assert [each.starts for each in shorter.crossings] == [True]
    (last,) = larger.crossings
    # In some of the draws processors hardly improve, or get slower, and it goes on holding.
    assert last.part is not None
    assert 0.5 < last.part < 1.0
    assert last.low is not None
    assert last.low < last.value
    assert last.high is None


def test_which_class_reigns_and_which_rates_are_guesses_or_outside(folder: Path) -> None:
    made = projection()
    (track,) = made.tracks
    # Computing falls by 1.4 a year, and memory stays: 6 ms / 1.4^t = 3 ms.
    meet = 2005 + math.log(2) / math.log(1.4)
    assert [(each.name, each.last) for each in track.dominant_classes] == [
        ("application", 2007),
        ("memory", 2025),
    ]
    assert [each.first for each in track.dominant_classes] == pytest.approx([2005, meet], abs=1e-9)
    assert [(each.name, each.assumed, each.years_outside) for each in made.rates] == [
        ("processors", False, ()),
        ("processors", True, ((2020, 2025),)),
        ("adapter", False, ((2020, 2025),)),
    ]
    assert made.rates[1].low == pytest.approx(stats.lognorm(0.1, scale=1.1).ppf(0.05))


@pytest.mark.turns(4)
def test_the_result_is_the_same_for_any_number_of_workers_and_of_cases(folder: Path) -> None:
    one, four = projection().tracks[0], projection(jobs=4).tracks[0]
    assert one.sweep["low[time]"].tolist() == four.sweep["low[time]"].tolist()
    two = "cases: {slow: {parameters.memory: 9 ms}}\n" + PROJECT.replace(
        "  base_year", "  cases: [base, slow]\n  base_year"
    )
    assert (
        projection(two).tracks[0].sweep["high[time]"].tolist() == one.sweep["high[time]"].tolist()
    )
    other = projection(PROJECT + "  seed: 7\n").tracks[0]
    assert other.sweep["low[time]"].tolist() != one.sweep["low[time]"].tolist()
    assert other.sweep["low[time]"] == pytest.approx(one.sweep["low[time]"], rel=2e-3)


@pytest.mark.turns(4)
def test_other_methods_go_along_as_well(folder: Path) -> None:
    few = PROJECT.replace("samples: 1024", "samples: 0")
    closed = projection(few).tracks[0]
    mean = projection(few, base="{model: model.yaml, method: mean-value}").tracks[0]
    assert set(mean.sweep.provenance.methods) == {"mean-value"}
    # Nobody waits for anything, so both are right.
    assert mean.sweep.columns["time"] == pytest.approx(closed.sweep.columns["time"])
    assert "low[time]" not in closed.sweep.columns


def test_a_program_of_the_catalogue_goes_along_the_paper_s_trend(folder: Path) -> None:
    text = """\
project:
  trends: [processors-only-1997]
  base_year: 1996
  years: [1996, 1999]
"""
    base = "{model: dvsm/page-fault, machine: rs6000-43p-atm, workload: page-fault}"
    (track,) = projection(text, base=base).tracks
    given = {"machine": "rs6000-43p-atm", "workload": "page-fault", "technology__processors": "4"}
    assert track.sweep.columns["time"][1] == pytest.approx(alone(model="dvsm/page-fault", **given))


def test_the_technology_of_2002_is_what_the_milestones_make_of_1996(folder: Path) -> None:
    text = "project: {trends: [milestones], base_year: 1996, years: [1996, 2002], samples: 0}\n"
    given = {"model": "dvsm/page-fault", "machine": "rs6000-43p-atm", "workload": "page-fault"}
    (track,) = projection(
        text, base="{" + ", ".join(f"{key}: {each}" for key, each in given.items()) + "}"
    ).tracks
    assert track.sweep.columns["time"][1] == pytest.approx(
        alone(technology="milestones-2002", **given), rel=1e-4
    )


@pytest.mark.turns(4)
def test_the_page_the_table_and_json_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = (
        "pictures:\n  - {name: ahead, kind: projection, title: Ahead, y: [time, efficiency]}\n"
    )
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\n" + PROJECT + picture)
    printed, page, rows, document = reported("project", capsys)
    assert "Computation takes the most time until 2007.1, memory traffic from 2007.1" in printed
    assert (
        "these rates are guesses: processors 2010 to 2020; applied beyond the years they were"
        " stated for: processors, adapter" in " ".join(printed.split())
    )
    assert (
        "applied beyond the years they were stated for: processors, adapter for 2020 to 2025"
        in page
    )
    assert Path("here/ahead.png").is_file()
    assert [row["year"] for row in rows] == ["2005.0", "2010.0", "2015.0", "2020.0", "2025.0"]
    assert (
        float(rows[4]["low time [s]"])
        < float(rows[4]["time [s]"])
        < float(rows[4]["high time [s]"])
    )
    answers = document["answers"]
    assert answers[4]["point"] == {
        "case": "base",
        "trend": "trend",
        "year": 2025.0,
        "marked": "Guesses: processors",
    }
    value = answers[4]["values"]["time"]
    assert value["low"] < value["value"] < value["high"]


WRONG = [
    (
        "[trend.yaml]",
        "[trends.yaml]",
        "project.trends.0: there is no file 'trends.yaml'; did you mean 'trend.yaml'?",
    ),
    (
        "[trend.yaml]",
        "[milestone]",
        "project.trends.0: there is no trend 'milestone'; did you mean 'milestones'?",
    ),
    (
        "base_year: 2005",
        "base_year: 1995",
        (
            "trend trend knows rates of processors for 2000 to 2020 only, so nothing can start in "
            "1995: start closer to these years, or extend the trend by a rate of your own"
        ),
    ),
    (
        "base_year: 2005\n  years: {from: 2005, to: 2025, step: 5}",
        "base_year: 2041\n  years: [2041, 2042]",
        "so nothing can start in 2041, 21 years after 20 years of data: start closer",
    ),
    ("base_year: 2005", "base_year: 95", "project.base_year: at least 1900"),
    (
        "{from: 2005, to: 2025, step: 5}",
        "[2010, 2005]",
        "project.years: years are plain numbers that rise, such as 2024 and 2034",
    ),
    (
        "{from: 2005, to: 2025, step: 5}",
        "[2005]",
        (
            "years are plain numbers that rise, such as 2024 and 2034; a single year lies after"
            " that of the machines, 2005"
        ),
    ),
    (
        "{from: 2005, to: 2025, step: 5}",
        "[5, 2005]",
        "years lie between 1900 and 2200, got 5 to 2005",
    ),
    (
        "samples: 1024",
        "samples: 1000",
        "quasi-random draws come in powers of two; write 256 or 512, not 1000",
    ),
    (
        "efficiency >= 0.5",
        "efficincy >= 0.5",
        "project.watch.0: there is no name 'efficincy'; did you mean 'efficiency'?",
    ),
    (
        "technology[application] >",
        "technology[aplication] >",
        (
            "project.watch.2: there is no name 'technology[aplication]'; did you mean"
            " 'technology[application]'?"
        ),
    ),
    (
        "efficiency >= 0.5",
        "efficiency == 0.5",
        "at == nothing starts or stops holding; write one of < <= > >=",
    ),
    ("efficiency >= 0.5", "efficiency >= 5 ms", "project.watch.0: cannot compare"),
    (
        "  samples: 1024",
        "  cases: [bass]",
        "project.cases.0: there is no case 'bass'; did you mean 'base'?",
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in PROJECT
    text = "study: 1\nbase: {model: model.yaml}\n" + PROJECT.replace(old, new)
    Path("study.yaml").write_text(text)
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in str(caught.value)
    with pytest.raises(SpecError) as caught:
        run(prepare("study.yaml"))
    assert words in str(caught.value)


def test_what_has_no_classes_of_cost_is_refused(folder: Path) -> None:
    Path("study.yaml").write_text(
        "study: 1\nbase: {model: central-server}\n" + PROJECT[PROJECT.index("project") :]
    )
    with pytest.raises(
        SpecError, match="base has no classes of cost, so no trend changes it; project a program"
    ):
        check_file(Path("study.yaml"))
    picture = "pictures: [{name: x, kind: projection, title: x, y: [time]}]\n"
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\n" + picture)
    with pytest.raises(
        SpecError, match="shows project, which the study does not ask for; add the key project"
    ):
        check_file(Path("study.yaml"))


@pytest.mark.turns(4)
def test_a_picture_of_a_value_that_is_not_there_names_those_that_are(folder: Path) -> None:
    sample = (
        "sample: {of: {parameters.memory: {distribution: uniform, from: 1 ms, to: 3 ms}}, samples:"
        " 16}\n"
    )
    results = found(PROJECT + sample)
    head = {"name": "x", "title": "x"}
    lines = ProjectionPictureSpec.model_validate({**head, "kind": "projection", "y": ["speed"]})
    with pytest.raises(
        UnknownNameError,
        match="there is no projected value 'speed'; known: time, efficiency, overhead",
    ):
        result_of(results, ProjectResult).draw(lines, {})
    histogram = HistogramSpec.model_validate({**head, "kind": "histogram", "value": "speed"})
    with pytest.raises(
        UnknownNameError,
        match="there is no sampled value 'speed'; known: time, efficiency, overhead",
    ):
        result_of(results, SampleResult).draw(histogram, {})


@pytest.mark.turns(4)
def test_heads_and_legends_tell_cases_and_trends_only_where_they_differ(folder: Path) -> None:
    spec = ProjectionPictureSpec.model_validate(
        {"name": "x", "title": "x", "kind": "projection", "y": ["time"]}
    )
    alone = result_of(found(PROJECT), ProjectResult)
    assert not alone.draw(spec, {}).legends
    Path("slow.yaml").write_text(TREND.replace("trend: 1", "trend: 1\ntitle: Slow networks", 1))
    two = PROJECT.replace("[trend.yaml]", "[trend.yaml, slow.yaml]")
    beside = result_of(found(two), ProjectResult)
    (legend,) = beside.draw(spec, {}).legends
    assert legend.get_title().get_text() == "trend"
    assert [text.get_text() for text in legend.get_texts()] == ["trend", "Slow networks"]
    assert any(line.startswith("Slow networks: ") for line in beside.headline(Words({}, {})))


@pytest.mark.parametrize(
    ("title", "samples", "pattern"),
    [
        (
            "Which is faster, now and in 2020?",
            64,
            (
                r"Memory is the fastest of 2: 9\.8 ms; next is messages, .* ms; in 2020"
                r" the order is undecided: .* ms for messages and .* ms for memory\."
            ),
        ),
        (
            "Which is faster, now and in 2020?",
            0,
            (
                r"Memory is the fastest of 2: 9\.8 ms; next is messages, .* ms; in 2020"
                r" messages is the fastest \(.* ms\)\."
            ),
        ),
        ("How do both change until 2020?", 0, "Compared with memory, in 2005: .*"),
    ],
)
def test_a_title_that_asks_which_begins_with_the_best_case_now_and_says_what_follows(
    folder: Path, title: str, samples: int, pattern: str
) -> None:
    results = found(
        f"title: {title}",
        "cases: {other: {title: messages, parameters.memory: 1 ms, parameters.messages: 200}}",
        "answer: [time]",
        f"project: {{trends: [trend.yaml], base_year: 2005, years: [2020], samples: {samples}}}",
        "rank: {change: 50%}",
        base="{title: memory, model: model.yaml}",
    )
    assert re.fullmatch(pattern, head_lines(results, ["time"])[0])


@pytest.mark.turns(4)
def test_ten_thousand_points_are_solved_at_once(folder: Path) -> None:
    text = PROJECT.replace("step: 5", "step: 0.1").replace("samples: 1024", "samples: 4096")
    (track,) = projection(text).tracks
    assert len(track.sweep["low[time]"]) == 201
    assert np.all(np.diff(track.sweep.columns["time"]) < 0)


@pytest.mark.turns(4)
def test_factors_of_the_processors_are_the_years_in_which_they_come(folder: Path) -> None:
    asked = PROJECT.replace(YEARS, f"factors: [0.5, 1, 2, {1.4**5 * 1.1!r}]")
    by_factor, by_year = (
        projection(asked),
        projection(PROJECT.replace(YEARS, "years: [2005, 2011]")),
    )
    doubling = np.log(2) / np.log(1.4)
    assert by_factor.years == pytest.approx([2005 - doubling, 2005, 2005 + doubling, 2011])
    (track,), (other,) = by_factor.tracks, by_year.tracks
    assert track.sweep.columns["time"][[1, 3]] == pytest.approx(other.sweep.columns["time"])
    assert track.sweep["high[time]"][[1, 3]] == pytest.approx(other.sweep["high[time]"])


def test_factors_stand_on_the_axis_and_in_every_table(folder: Path) -> None:
    results = found(PROJECT.replace(YEARS, "factors: [1, 2, 4]"))
    picture = ProjectionPictureSpec(kind="projection", name="a", title="b", y=["time"])
    made = result_of(results, ProjectResult)
    assert made.draw(picture, {}).axes[0].get_xlabel() == "times that processors are as fast"
    assert "| processors |" in question_section(made)
    assert made.headline(NO_WORDS)[0].startswith(
        "while processors become 4 times as fast (from 2005 to 2009.1), time falls from"
    )
    assert [each.point["processors"] for each in made.answers()] == [1.0, 2.0, 4.0]
    assert tidy_columns(results, ["time"])["processors"][-3:] == [1.0, 2.0, 4.0]


def test_the_processors_that_dvsm_today_states_for_2024_are_what_its_trend_gives() -> None:
    study = yaml.safe_load((catalogue_folder() / "studies" / "dvsm-today.yaml").read_text())
    stated = {
        case["technology.processors"]
        for case in study["cases"].values()
        if "technology.processors" in case
    }
    empty = Table({}, Mark("", 1, 1))
    context = StudyContext(StudySpec(study=1), empty, {}, {}, Library())
    found = read_trend("milestones", ("trend",), context).trend()
    (gained,) = found.rates[PROCESSORS].gain(1996, np.array([2024.0]))[0]
    assert stated == {round(gained)}


@pytest.mark.parametrize(
    ("instead", "trend", "message"),
    [
        ("watch: []", TREND, "give years, or factors of the processors in their place"),
        (
            "factors: [2, 1]",
            TREND,
            "factors are at least two plain numbers above 0 that rise, such as 1 and 16",
        ),
        ("factors: [1, 1e300]", TREND, "along trend processors come to factors from"),
        (
            "factors: [1, 2]",
            TREND.replace("processors", "wire"),
            "trend trend has no rate of processors; project along years",
        ),
        (
            "factors: [1, 2]",
            TREND.replace("factor: 1.4", "factor: 0.9"),
            "processors do not always gain along trend; project along years",
        ),
    ],
)
def test_factors_that_are_not_reached_are_refused(
    folder: Path, instead: str, trend: str, message: str
) -> None:
    Path("trend.yaml").write_text(trend)
    text = PROJECT.replace(f"  {YEARS}\n", f"  {instead}\n" if instead != "watch: []" else "")
    with pytest.raises(SpecError, match=message):
        projection(text)


FACTORS = "answer: [time]\nproject: {trends: [measured], base_year: 2024, factors: [1, 1.3]}\n"


@pytest.mark.parametrize(
    ("kind", "technology"), [("core", PROCESSORS), ("gpu-bf16", "application")]
)
def test_factors_are_those_of_the_kind_of_processors_that_the_cases_have(
    folder: Path, kind: str, technology: str
) -> None:
    base = f"{{model: step-of-a-gpu, machine: gpu-node-h100, machine.processors.kind: {kind}}}"
    years = projection(FACTORS, base).years
    context = StudyContext(StudySpec(study=1), Table({}, Mark("", 1, 1)), {}, {}, Library())
    trend = read_trend("measured", ("trend",), context).trend(kind)
    gains = {name: trend.rates[name].gain(2024, years)[0] for name in (PROCESSORS, "application")}
    assert gains[technology] == pytest.approx([1, 1.3], rel=1e-4)
    assert (gains[PROCESSORS] == pytest.approx([1, 1.3], rel=1e-2)) == (kind == "core")


def test_factors_of_several_kinds_of_processors_are_refused(folder: Path) -> None:
    text = f"cases: {{core: {{machine.processors.kind: core}}}}\n{FACTORS}"
    with pytest.raises(SpecError, match="of the kinds core and gpu-bf16, which gain differently"):
        projection(text, "{model: step-of-a-gpu, machine: gpu-node-h100}")


def test_factors_come_along_one_trend(folder: Path) -> None:
    text = PROJECT.replace(YEARS, "factors: [1, 2]").replace(
        "[trend.yaml]", "[trend.yaml, milestones]"
    )
    with pytest.raises(SpecError, match="with factors, project along one"):
        projection(text)


@pytest.mark.turns(4)
def test_ranges_of_settings_are_named_where_the_middle_stands_for_them(folder: Path) -> None:
    base = "{model: model.yaml, parameters.memory: 1 ms .. 9 ms}"
    results = found(PROJECT, base=base)
    result = result_of(results, ProjectResult)
    said = (
        "the years ahead take the middle of the range of memory, and their bands leave the "
        "range out"
    )
    assert said in result.sentences()
    assert said in result.doubt()
    at_the_middle = projection(base="{model: model.yaml, parameters.memory: 3 ms}")
    for track, middle in zip(result.projection.tracks, at_the_middle.tracks, strict=True):
        assert track.sweep.columns["time"] == pytest.approx(middle.sweep.columns["time"])
    assert said not in ProjectResult(at_the_middle).doubt()


def test_a_year_after_the_data_starts_at_the_case_and_its_band_grows_from_the_data(
    folder: Path,
) -> None:
    text = "answer: [time]\nproject: {trends: [trend.yaml], base_year: 2026, years: [2026, 2036]}\n"
    made = projection(text)
    (track,) = made.tracks
    assert track.sweep.columns["time"][0] == pytest.approx(alone())
    gained = {"technology__processors": repr(1.1**10), "technology__adapter": repr(1.05**-10)}
    assert track.sweep.columns["time"][1] == pytest.approx(alone(**gained))
    low, high = track.sweep.ends("time")
    assert low[0] == high[0]
    after = np.array([6.0, 16.0])  # years since 2020, the last of the data
    covariance = level_covariance(after, after, RateModel(start=0))
    walked = float(covariance[1, 1] - 2 * covariance[0, 1] + covariance[0, 0])
    factor = math.exp(NORMAL_90 * math.sqrt((0.1 * 10) ** 2 + walked))
    assert low[1] == pytest.approx(
        alone(**{**gained, "technology__processors": repr(1.1**10 * factor)}), rel=1e-2
    )
    assert (
        result_of(found(text), ProjectResult)
        .doubt()
        .endswith(
            "; these rates are guesses: processors 2010 to 2020; the data of these rates end"
            " before the base year 2026: processors (2020) and network adapters (2020); after that,"
            " the last rates continue, and their bands grow"
        )
    )


def test_a_rate_that_changes_nothing_neither_refuses_a_year_nor_is_told_as_a_doubt(
    folder: Path,
) -> None:
    early = TREND + "  wire: [{from: 2010, to: 2012, factor: {value: 1.2, assumed: true}}]\n"
    Path("trend.yaml").write_text(early)
    text = "answer: [time]\nproject: {trends: [trend.yaml], base_year: 2019, years: [2019, 2020]}\n"
    assert "wire" not in result_of(found(text), ProjectResult).doubt()


def test_two_changes_of_a_rate_within_a_quarter_of_a_year_are_seen(folder: Path) -> None:
    there, back = (
        "{from: 2010.05, to: 2010.15, factor: 20}",
        "{from: 2010.15, to: 2010.25, factor: 0.05}",
    )
    periods = (
        f"{{from: 2000, to: 2010.05, factor: 1}}, {there}, {back}, {{from: 2010.25, to: 2030, "
        f"factor: 1}}"
    )
    Path("trend.yaml").write_text(f"trend: 1\nsource: made up\nrates:\n  processors: [{periods}]\n")
    text = """\
answer: [time]
project:
  trends: [trend.yaml]
  base_year: 2005
  years: [2005, 2025]
  watch: ["technology[memory] > 1.05 * technology[application]"]
"""
    result = result_of(
        found(text, base="{model: model.yaml, parameters.memory: 5 ms}"), ProjectResult
    )
    (track,) = result.projection.tracks
    # 6 ms fall to 5 ms / 1.05 and 5 ms, and rise again, by a factor of 20 a year.
    to_condition, to_largest = (math.log(6 * ratio / 5) / math.log(20) for ratio in (1.05, 1))
    (history,) = track.conditions
    assert [each.starts for each in history.crossings] == [True, False]
    assert [each.value for each in history.crossings] == pytest.approx(
        [2010.05 + to_condition, 2010.25 - to_condition], abs=1e-6
    )
    assert [each.name for each in track.dominant_classes] == [
        "application",
        "memory",
        "application",
    ]
    assert [each.first for each in track.dominant_classes] == pytest.approx(
        [2005, 2010.05 + to_largest, 2010.25 - to_largest], abs=1e-6
    )
    assert result.headline(Words({}))[0] == "from 2005 to 2025 time stays 11.8 ms"


def test_of_many_rates_whose_data_end_early_the_first_is_told(folder: Path) -> None:
    text = TREND + "  memory:\n    - {from: 2000, to: 2015, factor: 1.05}\n"
    Path("trend.yaml").write_text(text)
    asked = (
        "answer: [time]\nproject: {trends: [trend.yaml], base_year: 2026, years: [2026, 2036]}\n"
    )
    doubt = result_of(found(asked), ProjectResult).doubt()
    assert doubt.endswith(
        "the data of 3 rates end before the base year 2026, the first in 2015 (memory traffic);"
        " after that, the last rates continue, and their bands grow"
    )


@pytest.mark.turns(4)
def test_cases_with_one_share_are_not_called_lowest_and_highest(folder: Path) -> None:
    cases = "cases: {again: {}, too: {}}\n"
    result = result_of(
        found(cases + PROJECT.replace("[time, efficiency", "[efficiency")), ProjectResult
    )
    assert not any("lowest" in text for text in result.headline(Words({})))


@pytest.mark.turns(4)
def test_a_band_that_includes_the_first_value_says_that_nothing_may_change(folder: Path) -> None:
    """The direction of the change is that of the rates as stated, and the band doubts it, also if
    it ends just before the first value: more than its share of later points lies outside.
    """
    result = result_of(found(PROJECT), ProjectResult)
    (track,) = result.projection.tracks

    def sentence(high_factor: float) -> str:
        columns = dict(track.sweep.columns)
        columns["high[time]"] = columns["high[time]"].copy()
        columns["high[time]"][-1] = high_factor * columns["time"][0]
        sweep = replace(track.sweep, columns=columns)
        changed = replace(result.projection, tracks=(replace(track, sweep=sweep),))
        return headlines_by_subject(changed, Words())["values"][0]

    rest = r"falls from [^,]+\) m?s, [\d.]+ \(([\d.]+) to [\d.]+\) times as fast, and efficiency"
    times = track.sweep.columns["time"]
    # A band twice as wide ends at the square of the factor to its end.
    factor_to_first = (times[-1] / times[0]) ** 0.5
    surely = re.match(f"from 2005 to 2025 time {rest}", sentence(0.9 * factor_to_first))
    perhaps = re.match(f"from 2005 to 2025 time probably {rest}", sentence(1.1 * factor_to_first))
    assert surely is not None
    assert perhaps is not None
    # The slowest of the draws is this many times as fast.
    assert float(surely[1]) == pytest.approx(1 / (0.9 * factor_to_first), rel=0.05)
    assert float(perhaps[1]) == pytest.approx(1 / (1.1 * factor_to_first), rel=0.05)
    assert float(perhaps[1]) > 1


@pytest.mark.turns(4)
def test_a_factor_between_two_uncertain_years_has_no_interval(folder: Path) -> None:
    """The ends of one year over those of the other would be too wide."""
    result = result_of(found(PROJECT), ProjectResult)
    (track,) = result.projection.tracks
    columns = dict(track.sweep.columns)
    for name, factor in (("low[time]", 0.8), ("high[time]", 1.25)):
        columns[name] = columns[name].copy()
        columns[name][0] = factor * columns["time"][0]
    sweep = replace(track.sweep, columns=columns)
    changed = replace(result.projection, tracks=(replace(track, sweep=sweep),))
    sentence = headlines_by_subject(changed, Words())["values"][0]
    factor = columns["time"][0] / columns["time"][-1]
    match = re.search(r"\(([\d.]+) times as fast at the stated rates\)", sentence)
    assert match is not None, sentence
    assert float(match[1]) == pytest.approx(factor, rel=0.01)
    assert sentence.count("times as fast") == 1


@pytest.mark.turns(4)
@pytest.mark.parametrize("change", [1.0, 0.9])
def test_a_share_that_stays_is_not_said_to_change_perhaps_nowhere(
    folder: Path, change: float
) -> None:
    """Only of a change the band can doubt whether there is one."""
    cases = "cases: {twice: {parameters.computing: 12 ms}, half: {parameters.computing: 3 ms}}\n"
    asked = cases + PROJECT.replace("[time, efficiency", "[efficiency")
    projected = result_of(found(asked), ProjectResult).projection
    tracks = []
    for track in projected.tracks:
        columns = {name: column.copy() for name, column in track.sweep.columns.items()}
        first = columns["efficiency"][0]
        columns["efficiency"][-1] = change * first
        columns["low[efficiency]"][-1] = 0.8 * first
        columns["high[efficiency]"][-1] = 1.1 * first
        tracks.append(replace(track, sweep=replace(track.sweep, columns=columns)))
    changed = replace(projected, tracks=tuple(tracks))
    text = " ".join(headlines_by_subject(changed, Words())["values"])
    moves = "stays in all 3 cases" if change == 1 else "probably falls in all 3 cases"
    assert re.search(rf"by 2025 efficiency {moves}: \d", text)
    of_many = replace(projected, tracks=tuple(tracks * 3))
    text = " ".join(headlines_by_subject(of_many, Words())["values"])
    assert f"by 2025 efficiency {moves.replace('3', '9')}: the lowest is" in text


@pytest.mark.turns(4)
def test_a_case_of_other_work_stands_beside_the_first_also_with_its_years_ahead(
    folder: Path,
) -> None:
    """A projection compares each case with itself; what both take as given is told as well."""
    cases = "title: Which of the two is faster?\ncases: {twice: {parameters.computing: 12 ms}}\n"
    results = found(cases + PROJECT.replace("[time, efficiency", "[time"))
    head = head_lines(results, results.answer)
    twice = alone(parameters__computing="12 ms")
    times = f"{1e3 * alone():.4g} ms (twice {1e3 * twice:.4g} ms)"
    assert f"Of 2, base has the shortest time: {times}." in head
    assert not any("probably" in line for line in head if line.startswith(("Of 2", "Time")))


def test_the_answer_as_given_has_its_year(folder: Path) -> None:
    results = found(PROJECT)
    (line,) = (line for line in head_lines(results, results.answer) if line.startswith("As given"))
    assert line.startswith(f"As given (2005): time {1e3 * alone():.4g} ms; a processor spends ")


def test_a_single_case_has_a_table_of_its_years(folder: Path) -> None:
    """The head's first table answers what the years do; its first row is the case as given."""
    result = result_of(found(PROJECT, base="{model: model.yaml}"), ProjectResult)
    decision = result.decision(Words())
    assert decision is not None
    titles, rows = decision
    assert [*titles] == ["", "time", "efficiency"]
    assert [row[0] for row in rows] == ["2005", "2010", "2015", "2020", "2025"]
    (track,) = result.projection.tracks
    efficiencies = track.sweep.columns["efficiency"]
    for row, efficiency in zip(rows, efficiencies, strict=True):
        assert float(row[2].split()[0]) == pytest.approx(100 * efficiency, rel=0.04)
    assert "(" not in rows[0][1]
    assert " to " in rows[-1][1]


@pytest.mark.parametrize(
    ("title", "is_first"),
    [
        ("In which year does it take less than 5.8 ms?", True),
        ("When does it take less than 5.8 ms?", True),
        ("Until what year does it take more?", True),
        ("How fast will it be?", False),
    ],
)
def test_a_title_that_asks_for_the_year_is_answered_by_it(
    folder: Path, title: str, is_first: bool
) -> None:
    results = found(
        f"title: {title}\nanswer: [time]\nproject: {{trends: [trend.yaml], base_year: 2005,"
        " years: {from: 2005, to: 2025, step: 1},"
        " watch: [time <= 0.7 * own.time, time <= 0.5 * own.time]}\n"
    )
    first, *_ = head_lines(results, results.answer)
    assert (", time is at most 0.7 times the time as given" in first) is is_first
    assert first.startswith("From 20")
    # Rows that are left out are told.
    table = decision_table(results, results.answer)
    assert table is not None
    assert table.titles[0] == "13 of 21 years"


@pytest.mark.parametrize("years", ["[2015, 2025]", "{from: 2005, to: 2025, step: 2.5}"])
def test_shares_of_draws_of_a_year_do_not_depend_on_the_other_years(
    folder: Path, years: str
) -> None:
    few = PROJECT.replace("samples: 1024", "samples: 64")
    (track,), (other_track,) = (
        result_of(found(text), ProjectResult).projection.tracks
        for text in (few, few.replace(YEARS, f"years: {years}"))
    )
    for year in (2015, 2025):
        row, other_row = (
            list(each.sweep.points["year"]).index(year) for each in (track, other_track)
        )
        for history, other_history in zip(track.conditions, other_track.conditions, strict=True):
            share = history.shares_of_draws[row]
            assert other_history.shares_of_draws[other_row] == share
        for name in ("low[time]", "high[efficiency]"):
            value = track.sweep.columns[name][row]
            assert other_track.sweep.columns[name][other_row] == pytest.approx(value, rel=1e-9)

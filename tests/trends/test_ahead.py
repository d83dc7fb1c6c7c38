"""Steps along measured series by their class, machines of a year, and what a projection shows of
its cases.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slipstick.errors import ModelError, SpecError, UnknownNameError
from slipstick.report.formatting import percent, question_section
from slipstick.report.head import head_lines
from slipstick.results.words import Words
from slipstick.schema.inputs import solve_settings
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library
from slipstick.schema.text import Table, plain_data, read_value
from slipstick.study.check import check_file
from slipstick_pictures.pictures import figure_of
from slipstick_questions.crossing_years import (
    crossing_band,
    crossing_band_text,
    crossing_year_text,
    first_crossing_years,
    with_brief_band,
)
from slipstick_rates.files import TrendSpec, trend_of
from slipstick_rates.machine_years import machine_of_a_year
from slipstick_trends.ahead import ClassShare, class_words, share_sentences
from slipstick_trends.project import ProjectResult
from slipstick_trends.projection import Projection
from slipstick_trends.sentences import outcome_sentences
from slipstick_trends.specs import ProjectionPictureSpec, RatesPictureSpec, SharesPictureSpec
from tests.questions import number, result_of
from tests.study.small_program import found, in_folder

MACHINE = """\
machine: 1
title: Nodes
year: 2020
processors: {count: 64, kind: KIND, flops: 30e9 /s}
memory: {bandwidth: 6 GB/s, latency: 90 ns}
network: infiniband-hdr
"""
MODEL = """\
activity: 1
title: Parts
machine: machine.yaml
parameters: {scale: 1, cost: 5}
population: {processors: 64}
useful: [busy]
cycle:
  - {name: update, flops: 1e8 * scale, component: busy}
  - {name: stream, bytes: 10 MB * scale, component: memory}
  - {name: pointers, chase: 1000 * scale, component: memory}
  - {name: exchange, message: 1 MiB, component: network}
  - {name: save, delay: 1 ms, technology: storage, component: disk}
"""
CLASSES = ("application", "memory", "memory_latency", "wire", "adapter", "protocol", "storage")
PROJECT = "project: {trends: [measured], years: [2020, 2034], samples: 0}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = in_folder(tmp_path, monkeypatch)
    write("gpu-bf16")
    return path


def write(kind: str = "", first: int = 2020) -> None:
    text = MACHINE.replace("kind: KIND, ", f"kind: {kind}, " if kind else "")
    Path("machine.yaml").write_text(text.replace("year: 2020", f"year: {first}"))
    Path("model.yaml").write_text(MODEL)


def projection(text: str) -> Projection:
    return result_of(found(text, base="{model: model.yaml}"), ProjectResult).projection


def gains(kind: str, start: float, end: float) -> dict[str, float]:
    spec = validate(TrendSpec, Library().load("trend", "measured"))
    rates = trend_of(spec, "measured", kind).rates
    return {name: float(rate.gain(start, np.array([end]))[0, 0]) for name, rate in rates.items()}


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "kind", ["gpu-bf16", "gpu-fp16", "gpu-fp8", "gpu-fp4", "gpu-fp64", "socket", "core"]
)
def test_each_step_follows_the_series_of_its_class(folder: Path, kind: str) -> None:
    write(kind)
    answer = ", ".join(f"'technology[{name}]'" for name in CLASSES)
    (track,) = projection(f"answer: [time, {answer}]\n{PROJECT}").tracks
    gained = gains(kind, 2020, 2034)
    gained["protocol"] = gained["processors"]
    for name in CLASSES:
        first, last = track.sweep.columns[f"technology[{name}]"]
        assert first > 0
        assert first / last == pytest.approx(gained.get(name, 1.0), rel=1e-9), name
    assert track.classes_without_rate == (("memory_latency",) if kind.startswith("gpu") else ())


def test_a_gpu_and_a_core_compute_along_other_series() -> None:
    gpu, core = gains("gpu-bf16", 2024, 2034), gains("core", 2024, 2034)
    assert gpu["application"] > 2 * core["application"]
    assert gpu["memory"] > core["memory"]
    assert gpu["wire"] == core["wire"]


@pytest.mark.turns(4)
@pytest.mark.parametrize("end", [2027, 2034])
def test_a_machine_of_a_year_is_the_projection_to_it(folder: Path, end: int) -> None:
    text = f"answer: [time]\n{PROJECT}".replace("2034", str(end))
    (track,) = projection(text).tracks
    written = {
        "model": read_value("model.yaml", "model"),
        "machine": read_value(f"{{base: machine.yaml, year: {end}, trend: measured}}", "machine"),
    }
    machine = solve_settings(written, Library(), [None], ())[0][0]["time"]
    # The step that saves is no quantity of a machine.
    saved = 1e-3 * (1 - 1 / gains("gpu-bf16", 2020, end)["storage"])
    assert machine is not None
    assert machine - saved == pytest.approx(track.sweep.columns["time"][-1], rel=1e-9)


def test_a_quantity_of_another_year_says_that_it_is_a_guess_or_of_a_weak_series(
    folder: Path,
) -> None:
    write("core")
    text = Path("machine.yaml").read_text()
    Path("machine.yaml").write_text(text.replace("6 GB/s", "{value: 6 GB/s, assumed: true}"))
    Path("mixed.yaml").write_text(MIXED)
    tree = read_value("{base: machine.yaml, year: 2024, trend: mixed.yaml}", "machine")
    assert isinstance(tree, Table)
    made: Any = plain_data(machine_of_a_year(tree, Library()))
    taken = "that of 2020, taken to 2024 along mixed"
    assert made["processors"]["flops"]["source"] == taken
    assert "assumed" not in made["processors"]["flops"]
    latency = made["memory"]["latency"]
    assert (latency["source"], latency["assumed"]) == (f"{taken} by a doubtful rate (guess)", True)
    assert float(latency["value"].removesuffix(" s")) == pytest.approx(90e-9 / 1.1**4)
    assert made["memory"]["bandwidth"]["source"] == f"{taken} by a doubtful rate (weak series)"
    assert made["memory"]["bandwidth"]["assumed"] is True


MIXED = """\
trend: 1
source: made up
rates:
  application: [{from: 2000, to: 2040, factor: 1.2}]
  memory_latency:
    - {from: 2000, to: 2010, factor: 1.3}
    - {from: 2010, to: 2040, factor: {value: 1.1, assumed: true}}
series:
  traffic:
    of: [memory]
    points:
      - {year: 2012, value: 1 GB/s}
      - {year: 2016, value: 2 GB/s}
      - {year: 2018, value: 3 GB/s}
      - {year: 2022, value: 5 GB/s}
"""


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("{base: machine.yaml, year: 2034}", "a machine in a year needs trend beside"),
        (
            "{base: machine.yaml, network: infiniband-hdr}",
            "for one that changes some keys of another machine, write extends",
        ),
        (
            "{base: machine.yaml, year: soon, trend: measured}",
            "a year lies between 1900 and 2200, such as 2034",
        ),
        ("{base: machine.yaml, year: 2034, trend: mesured}", "did you mean 'measured'"),
        ("{base: machine.yaml, year: 2034, trend: measured, speed: 2}", "speed: unknown key"),
        ("{base: sequent-symmetry-s81, year: 2034, trend: measured}", "shared memory has no class"),
        (
            "{base: 5, year: 2034, trend: measured}",
            "write the name of a machine, a file that ends in .yaml, or its keys and values",
        ),
        (
            "{base: machine.yaml, year: 2034, trend: 5}",
            "write the name of a trend, or a file that ends in .yaml",
        ),
        ("{base: none.yaml, year: 2034, trend: measured}", "none.yaml"),
    ],
)
def test_a_machine_of_a_year_that_cannot_be_is_refused(
    folder: Path, machine: str, words: str
) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        found(f"cases: {{later: {{machine: {machine}}}}}\n", base="{model: model.yaml}")


def test_a_machine_in_a_model_that_names_a_base_alone_is_one_mistake(folder: Path) -> None:
    """Its other keys are not checked as those of a whole machine."""
    model_file = folder / "model.yaml"
    machine = "machine: {base: machine.yaml, network: infiniband-hdr}\n"
    lines = model_file.read_text().splitlines(keepends=True)
    model_file.write_text(
        "".join(machine if line.startswith("machine:") else line for line in lines)
    )
    with pytest.raises(SpecError) as refusal:
        check_file(model_file)
    assert [problem.path for problem in refusal.value.problems] == ["machine.base"]


def test_a_year_set_alone_takes_the_machine_to_it(folder: Path) -> None:
    base = "{model: model.yaml, machine: {base: machine.yaml, year: 2022, trend: measured}}"
    result = found(
        "cases: {later: {machine.year: 2034}}\n"
        "answer: [time]\n"
        "vary: {years: {axes: {machine.year: [2022, 2034]}}}\n",
        base=base,
    )
    times = [number(answer, "time") for answer in result.cases.values()]
    whole = found(
        "cases: {later: {machine: {base: machine.yaml, year: 2034, trend: measured}}}\n"
        "answer: [time]\n",
        base=base,
    )
    assert times == [number(answer, "time") for answer in whole.cases.values()]
    assert times[1] < times[0]
    assert [list(sweep.columns["time"]) for sweep in result.sweeps] == [times]


def test_pictures_mark_the_guesses_that_take_a_machine_to_another_year(folder: Path) -> None:
    write("core")
    results = found(
        "cases: {later: {machine.year: 2036}}\n"
        "answer: [time]\n"
        "vary: {years: {axes: {machine.year: [2021, 2036]}}}\n"
        "pictures:\n"
        "  - {kind: lines, name: years, title: Y, sweep: years, x: machine.year, y: [time]}\n"
        "  - {kind: bars, name: bars, title: B, cases: [base, later], stack: component}\n",
        base="{model: model.yaml, machine: {base: machine.yaml, year: 2021, trend: milestones}}",
    )
    for name in ("years", "bars"):
        remark = " ".join(figure_of(results, name).get_supxlabel().split())
        assert remark.startswith(
            "A quantity of the machine is taken to another year along milestones by a doubtful"
        )
    (line,) = (line for line in head_lines(results, ["time"]) if "doubtful" in line)
    assert line.count("doubtful") == 1


@pytest.mark.parametrize(
    "text",
    [
        "cases: {later: {machine.year: 2034}}\n",
        "vary: {years: {axes: {machine.year: [2020, 2034]}}}\n",
    ],
)
def test_a_year_set_alone_is_refused_where_it_changes_nothing(folder: Path, text: str) -> None:
    message = (
        "machine.year: the machine is of 2020, and another year changes none of its quantities;"
        " to take it to another year along a trend, write"
        " machine: {base: MACHINE, year: YEAR, trend: measured}"
    )
    with pytest.raises(SpecError, match=re.escape(message)):
        found(f"{text}answer: [time]\n", base="{model: model.yaml}")


def test_a_file_of_a_machine_of_a_year_is_not_compared_with_the_keys_of_a_machine(
    folder: Path,
) -> None:
    Path("aged.yaml").write_text(
        "machine: 1\nbase: machine.yaml\nyear: 20o6\ntrend: measured\n", encoding="utf-8"
    )
    with pytest.raises(SpecError) as caught:
        Library().open(Path("aged.yaml"))
    assert [str(problem) for problem in caught.value.problems] == [
        "aged.yaml:3:7: machine.year: a year lies between 1900 and 2200, such as 2034"
    ]


@pytest.mark.turns(6)
def test_each_case_starts_in_the_year_of_its_machine_and_all_are_projected(folder: Path) -> None:
    Path("new.yaml").write_text(
        MACHINE.replace("kind: KIND, ", "kind: gpu-bf16, ")
        .replace("year: 2020", "year: 2024")
        .replace("6 GB/s", "30 GB/s")
    )
    made = projection(
        "cases: {new: {machine: new.yaml}, costly: {parameters.cost: 9}}\nanswer: [time]\n"
        + "project: {trends: [measured], years: [2020, 2024, 2028, 2034]}\n"
    )
    assert [(track.case, track.base_year) for track in made.tracks] == [
        ("base", 2020.0),
        ("new", 2024.0),
        ("costly", 2020.0),
    ]
    assert list(made.tracks[1].sweep.points["year"]) == [2024, 2028, 2034]
    # What no time depends on is no other work.
    came = [each for each in made.arrivals if each.name == "time"]
    assert [(each.earlier_case, each.case) for each in came] == [("base", "new"), ("costly", "new")]
    assert came[0].predicted_time == pytest.approx(made.tracks[0].sweep.columns["time"][1])
    assert came[0].later_time == pytest.approx(made.tracks[1].sweep.columns["time"][0])
    section = question_section(ProjectResult(made))
    assert "New of 2024 takes" in section
    assert "### Fits of 2005, 2010 and 2015, and what came" in section
    assert "limit 30000 Gbit/s" in section
    decision = ProjectResult(made).decision(Words())
    assert decision is not None
    assert decision[0][1:] == ["time at first", "time in 2034"]
    assert [row[1].rpartition(" in ")[2] for row in decision[1]] == ["2020", "2024", "2020"]
    for spec in (
        SharesPictureSpec(kind="shares", name="a", title="b"),
        RatesPictureSpec(kind="rates", name="a", title="b"),
    ):
        assert ProjectResult(made).draw(spec, {}).axes


def test_a_machine_without_a_year_needs_one(folder: Path) -> None:
    write("core")
    text = Path("machine.yaml").read_text().replace("year: 2020\n", "")
    Path("machine.yaml").write_text(text)
    with pytest.raises(SpecError, match="has no year; write base_year, or year in the"):
        projection(f"answer: [time]\n{PROJECT}")


def test_a_machine_that_does_not_tell_its_processors_is_taken_for_cores(folder: Path) -> None:
    write("")
    made = projection(f"answer: [time]\n{PROJECT}")
    assert made.tracks[0].kind == "core"
    words = ProjectResult(made).sentences()
    assert any("is assumed to be a core (processors.kind)" in each for each in words)


@pytest.mark.turns(4)
def test_with_what_was_known_earlier_the_rates_are_others(folder: Path) -> None:
    write("gpu-fp32", first=2015)
    text = "answer: [time]\nproject: {trends: [measured], years: [2015, 2025], as_of: 2015}\n"
    then, now = projection(text), projection(text.replace(", as_of: 2015", ""))
    assert then.tracks[0].sweep.columns["time"][-1] != now.tracks[0].sweep.columns["time"][-1]
    assert "points known in 2015" in question_section(ProjectResult(then))
    with pytest.raises(SpecError, match="rates without points, so nothing tells what was known"):
        projection(text.replace("measured", "milestones"))
    with pytest.raises(SpecError, match="with what was known in 1980, measured has no rate of a"):
        projection(text.replace("as_of: 2015", "as_of: 1980"))


@pytest.mark.turns(4)
def test_the_most_that_processors_save_is_what_the_model_says(folder: Path) -> None:
    (track,) = projection(f"answer: [time]\n{PROJECT}").tracks
    columns = {share.name: share.share_by_year[-1] for share in track.shares}
    named = sum(columns[name] for name in ("application", "protocol"))
    assert sum(columns.values()) == pytest.approx(1.0)
    assert track.share_saved_by_processors == pytest.approx(named, rel=1e-9)
    made = ProjectResult(projection(f"answer: [time]\n{PROJECT}"))
    assert any(line.startswith("In 2034 ") for line in made.sentences())


def test_the_band_of_a_crossing_counts_the_draws_that_do_not_cross() -> None:
    """A draw that is above 0 from the first year on crosses there; one that never is, later."""
    margins = np.array([[-1.0, 1.0, 2.0], [-3.0, -1.0, 1.0], [1.0, 2.0, 3.0], [-2.0, -1.0, -1.0]])
    places = first_crossing_years(margins, np.array([2020.0, 2022.0, 2024.0]))
    assert places[:3].tolist() == [2021.0, 2023.0, 2020.0]
    assert crossing_band(places, (0.0, 0.5)) == (2020.0, 2022.0, 0.75)
    assert crossing_band(places, (0.0, 0.95)) == (2020.0, None, 0.75)
    assert crossing_band(np.full(4, np.nan), (0.05, 0.95)) == (None, None, 0.0)
    assert (
        crossing_band_text(None, None, 0.0, 2024.0)
        == " (at the stated rates only: by 2024 in none of the random draws)"
    )
    later = " (uncertain: 2021 or later; by 2024 in 75 % of the random draws)"
    assert crossing_band_text(2020.6, None, 0.75, 2024.0) == later
    assert crossing_band_text(2020.6, 2023.0, 1.0, 2024.0) == " (uncertain: 2021 to 2023)"
    # Where a condition is true until a year, the share is of the draws in which it ends.
    until = crossing_band_text(2020.6, None, 0.75, 2024.0, starts=False)
    assert until == " (uncertain: 2020 or later; it ends by 2024 in 75 % of the random draws)"
    assert with_brief_band(f"until 2022{until}") == "until 2022 (2020 or later; 75 %)"
    assert crossing_band_text(2022.2, 2023.0, 1.0, 2024.0) == " (in 2023)"
    assert crossing_band_text(2022.6, 2023.3, 1.0, 2024.0, starts=False) == (
        " (uncertain: 2022 to 2023)"
    )
    # All draws cross in one year: its decimals are known, and the band says nothing.
    assert crossing_band_text(2006.1, 2006.1, 1.0, 2024.0) == ""
    assert crossing_year_text(2006.1, 2006.1, 2006.1, 1.0) == "2006.1"


@pytest.mark.turns(4)
def test_one_case_overtakes_another_in_a_year_with_its_band(folder: Path) -> None:
    # More flops and a slower memory, which gets better sooner than a core.
    write("core")
    other = Path("machine.yaml").read_text().replace("30e9 /s", "60e9 /s")
    Path("other.yaml").write_text(other.replace("6 GB/s", "2.5 GB/s"))
    made = projection(
        "cases: {other: {machine: other.yaml}}\nanswer: [time]\n"
        + "project: {trends: [measured], years: {from: 2020, to: 2034, step: 1}}\n"
    )
    (overtaking,) = made.overtakings
    one, two = (track.sweep.columns["time"] for track in made.tracks)
    (index,) = np.flatnonzero(np.diff(np.sign(one - two)))
    assert 2020 + index <= overtaking.year <= 2021 + index
    assert overtaking.low is not None
    assert overtaking.low <= overtaking.year
    # One draw of eleven overtakes after the last year, or never: the band ends there.
    assert overtaking.share_of_draws is not None
    assert overtaking.share_of_draws < 0.95
    assert overtaking.high is None
    crossed = f" or later; by 2034 in {percent(overtaking.share_of_draws)} of the random draws)"
    assert crossed in " ".join(ProjectResult(made).sentences())
    (sentence,) = [text for text in ProjectResult(made).sentences() if "less time than" in text]
    first_whole_year = math.ceil(overtaking.year)
    assert sentence.startswith(f"Other takes less time than base from {first_whole_year} on")


@pytest.mark.turns(4)
@pytest.mark.parametrize(("relation", "word"), [("<=", "from"), (">=", "until")])
def test_a_condition_is_true_in_the_year_of_its_sentence(
    folder: Path, relation: str, word: str
) -> None:
    """The year of a change with a band is a whole one, on the side on which the condition holds."""
    write("core")
    first_times = (
        projection(
            "answer: [time]\nproject: {trends: [measured], years: {from: 2020, to: 2034, step: 1},"
            " samples: 0}\n"
        )
        .tracks[0]
        .sweep.columns["time"]
    )
    for fraction in (0.2, 0.8):
        # A limit between the values of two years is passed within a year.
        limit = float(np.interp(fraction, [0, 1], first_times[[6, 5]]))
        made = projection(
            "answer: [time]\nproject: {trends: [measured], years: {from: 2020, to: 2034, step: 1},"
            f" watch: [time {relation} {limit!r} s]}}\n"
        )
        (track,) = made.tracks
        times = dict(zip(track.sweep.points["year"], track.sweep.columns["time"], strict=True))
        (sentence,) = [
            text for text in ProjectResult(made).sentences() if text.startswith("Time is at ")
        ]
        year_match = re.search(rf"{word} (20\d\d)\b", sentence)
        assert year_match
        year = float(year_match[1])
        is_true = {
            key: time <= limit if word == "from" else time >= limit for key, time in times.items()
        }
        assert is_true[year]
        assert not is_true[year + (-1 if word == "from" else 1)]


@pytest.mark.turns(4)
def test_a_watched_condition_may_have_words_and_parameters(folder: Path) -> None:
    text = (
        "answer: [time]\nproject: {trends: [measured], years: {from: 2020, to: 2034, step: 2},"
        " watch: [{says: it pays, that: time * parameters.cost <= 3 * own.time}]}\n"
    )
    made = projection(text)
    (condition,) = made.tracks[0].conditions
    (crossing,) = condition.crossings
    assert crossing.starts
    assert "it pays" in ProjectResult(made).sentences()[0]
    with pytest.raises(SpecError, match=r"no parameter .parameters.costs.; did you mean"):
        projection(text.replace("parameters.cost ", "parameters.costs "))


def test_cases_in_which_a_condition_is_true_in_the_same_years_are_listed_together(
    folder: Path,
) -> None:
    cases = "".join(f"  other-{letter}: {{title: '{letter}, new'}}\n" for letter in "ABCDEF")
    text = (
        f"answer: [time]\ncases:\n{cases}"
        "project: {trends: [measured], years: [2024, 2034],"
        " watch: [{says: it pays, that: time > 0}]}\n"
    )
    result = ProjectResult(projection(text))
    assert result.headline(result.projection.words)[0] == (
        'it pays: throughout from 2024 to 2034 for base, "A, new", "B, new", "C, new", "D, new"'
        ' and "E, new"; not shown: 1 further case'
    )


def test_of_many_watched_years_the_sentence_has_the_range_and_the_table_has_all(
    folder: Path,
) -> None:
    """The years of the cases lie apart, because each case has a limit of its own."""
    cases = "".join(
        f"  {name}: {{title: {name}, parameters.cost: {cost}}}\n"
        for name, cost in zip("abc", (4, 6, 7), strict=True)
    )
    text = (
        f"answer: [time]\ncases:\n{cases}"
        "project: {trends: [measured], years: {from: 2020, to: 2034, step: 2},"
        " watch: [{says: it pays, that: time * parameters.cost <= 3 * own.time}]}\n"
    )
    result = ProjectResult(projection(text))
    crossings = [track.conditions[0].crossings[0] for track in result.projection.tracks]
    words = result.projection.words
    sentence = result.headline(words)[0]
    years = sorted(crossing.value for crossing in crossings)
    assert re.fullmatch(
        rf"it pays in all {len(crossings)} cases, first for \w+, from {math.ceil(years[0])} on, and"
        rf" last for \w+, from {math.ceil(years[-1])} on.*",
        sentence,
    )
    titles, rows = result.decision(words) or ([], [])
    assert titles[-1] == "first year in which it pays"
    assert [row[-1][:2] for row in rows] == ["20"] * len(crossings)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (0.01, r"is {first}, [\d.]+ % for base and [\d.]+ % for other"),
        (100, r"is {first} for base \([\d.]+ %\) and {second} for other \([\d.]+ %\)"),
    ],
    ids=["the same class", "two classes"],
)
def test_the_largest_part_of_the_time_of_several_cases_is_one_sentence(
    folder: Path, scale: float, expected: str
) -> None:
    result = ProjectResult(
        projection(f"answer: [time]\ncases: {{other: {{parameters.scale: {scale}}}}}\n{PROJECT}")
    )
    first, second = (
        class_words(max(track.shares, key=lambda share: share.share_by_year[-1]).name)
        for track in result.projection.tracks
    )
    lines = [line for line in result.headline(Words(title="Where?")) if "largest part" in line]
    assert len(lines) == 1
    pattern = expected.format(first=first, second=second)
    assert re.fullmatch(f"the largest part of the time in 2034 {pattern}", lines[0]), lines


def test_points_of_a_user_drive_a_class_from_yaml_or_from_a_table(folder: Path) -> None:
    rows = [(year, 100 * 1.5 ** (year - 2015)) for year in range(2010, 2021)]
    table = "year,value,unit\n" + "".join(f"{year},{value},GB/s\n" for year, value in rows)
    Path("points.csv").write_text(table)
    Path("csv.yaml").write_text("trend: 1\nseries: {mine: {of: [memory], points: points.csv}}\n")
    listed = ", ".join(f"{{year: {year}, value: {value} GB/s}}" for year, value in rows)
    Path("points.yaml").write_text(
        f"trend: 1\nseries: {{mine: {{of: [memory], points: [{listed}]}}}}\n"
    )
    decimal_commas = table.replace(",", ";").replace(".", ",")
    Path("commas.csv").write_text(decimal_commas)
    Path("commas.yaml").write_text("trend: 1\nseries: {mine: {of: [memory], points: commas.csv}}\n")
    answers = []
    for name in ("csv.yaml", "points.yaml", "commas.yaml"):
        (track,) = projection(f"answer: [time]\n{PROJECT.replace('measured', name)}").tracks
        answers.append(track.sweep.columns["time"])
    assert answers[0] == pytest.approx(answers[1])
    assert answers[0] == pytest.approx(answers[2])
    assert answers[0][0] - answers[0][1] > 0.9 * 10e6 / 6e9


SERIES = "{year: 2010, value: 1}, {year: 2012, value: 2}, {year: 2014, value: 3}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trend: 1", "write rates, or series of points, of what changes"),
        (
            "series: {a: {of: [wire], points: [POINTS]}}",
            "a rate needs at least 4 points over 4 years, got 3; leave out of, or add points",
        ),
        (
            "series: {a: {breaks: [2012, 2011], points: [POINTS]}}",
            "breaks must rise, got 2011 after 2012",
        ),
        (
            "series: {a: {limit: {value: 2 s}, points: [POINTS]}}",
            "the points are a [1], the limit a [s]",
        ),
        (
            "series: {a: {points: [POINTS, {year: 2020, value: 3, announced: true}]}}",
            (
                "an announced point needs known, the year of the plan, and error, how far it may "
                "be off"
            ),
        ),
        (
            "series: {a: {of: [wire], points: [MORE]}, b: {of: [wire], points: [MORE]}}",
            "wire goes with a already; write a: {of: []}, or leave it out here",
        ),
        ("series: {a: {points: none.csv}}", "there is no file of measurements"),
        ("series: {a: {points: two.csv}}", "two.csv has no series 'a'"),
    ],
)
def test_a_trend_of_wrong_points_is_refused(folder: Path, text: str, words: str) -> None:
    Path("two.csv").write_text("series,year,value\nb,2010,1\nc,2012,2\n")
    more = f"{SERIES}, {{year: 2016, value: 4}}"
    written = text.replace("POINTS", SERIES).replace("MORE", more)
    Path("mine.yaml").write_text(f"trend: 1\n{written.removeprefix('trend: 1')}\n")
    with pytest.raises(SpecError, match=re.escape(words)):
        check_file(Path("mine.yaml"))


def test_pictures_of_what_is_not_there_are_refused(folder: Path) -> None:
    text = "answer: [time]\nproject: {trends: [milestones], years: [2020, 2024], samples: 0}\n"
    result = ProjectResult(projection(text))
    with pytest.raises(
        ModelError, match="no trend of this projection has series of points to draw"
    ):
        result.draw(RatesPictureSpec(kind="rates", name="a", title="b"), {})
    spec = SharesPictureSpec(kind="shares", name="a", title="b", cases=["bas"])
    with pytest.raises(UnknownNameError, match="there is no projected case 'bas'; did you mean"):
        result.draw(spec, {})


def test_a_case_that_begins_after_the_last_year_is_refused(folder: Path) -> None:
    with pytest.raises(SpecError, match="base begins in 2020, after the last of the years, 2015"):
        projection(f"answer: [time]\n{PROJECT}".replace("[2020, 2034]", "[2010, 2015]"))


def test_ends_of_a_band_that_are_written_alike_are_said_once() -> None:
    part, low, high = (np.array([end]) for end in (0.99931, 0.99926, 0.99934))
    (words,) = share_sentences("", 2034.0, [ClassShare("wire", part, low, high)], None)
    assert words == "in 2034 the wire takes 99.9 % of the time"


@pytest.mark.parametrize("last", [2022, 2034])
def test_a_machine_that_came_between_the_years_is_held_against_the_band_of_its_own_year(
    folder: Path, last: int
) -> None:
    Path("later.yaml").write_text(Path("machine.yaml").read_text().replace("2020", "2024"))
    text = f"""\
answer: [time]
cases: {{came: {{machine: later.yaml}}}}
project: {{trends: [measured], years: [2020, {last}], cases: [base], samples: 1024}}
"""
    (whole, *_) = projection(text).arrivals
    (asked, *_) = projection(
        text.replace("[2020,", "[2020, 2021, ").replace("2022]", "2024]")
    ).arrivals
    assert whole.low < whole.predicted_time < whole.high
    assert (whole.low, whole.high) == pytest.approx((asked.low, asked.high), rel=0.05)


def test_a_machine_that_came_is_compared_with_each_trend_by_its_title(folder: Path) -> None:
    Path("later.yaml").write_text(Path("machine.yaml").read_text().replace("2020", "2024"))
    made = projection(
        "answer: [time]\ncases: {came: {machine: later.yaml}}\n"
        "project: {trends: [measured, milestones], years: [2020, 2024], cases: [base]}\n"
    )
    comparisons = [
        line for line in outcome_sentences(made, Words()) if "the band that the trend" in line
    ]
    assert [line.partition(": came")[0] for line in comparisons] == [*made.titles.values()]


def test_a_step_of_today_starts_after_the_points_and_says_so(folder: Path) -> None:
    write("gpu-bf16", first=2026)
    text = "answer: [time]\nproject: {trends: [measured], years: [2026, 2036]}\n"
    result = result_of(found(text, base="{model: model.yaml}"), ProjectResult)
    (track,) = result.projection.tracks
    assert dict(track.last_year_by_data)["Peak of a GPU in bf16 or fp16, dense"] == 2025
    assert result.doubt().endswith(
        "rates end before the base year 2026, the first in 2021 (speed of one thread, best of "
        "the year); after that, the last rates continue, and their bands grow"
    )
    with pytest.raises(SpecError) as caught:
        projection(text.replace("years: [2026", "base_year: 2035, years: [2035"))
    assert str(caught.value).endswith(
        "trend measured knows peak of a GPU in bf16 or fp16, dense for 2016 to 2025 only, so "
        "nothing can start in 2035, 10 years after 9 years of data: start closer to these "
        "years, or extend the trend by a rate of your own"
    )


def test_a_machine_of_a_year_by_a_guess_is_marked_in_the_head_and_starts_where_rates_tell(
    folder: Path,
) -> None:
    write("core", first=2026)
    base = "{model: model.yaml, machine: {base: machine.yaml, year: 2036, trend: milestones}}"
    results = found("answer: [time]", base=base)
    note = (
        "a quantity of the machine is taken to another year along milestones by a doubtful"
        " rate (guess); data end in 2024, and the last rate continues"
    )
    assert note in results.cases["base"].notes
    assert any(note in line.casefold() for line in head_lines(results, ["time"]))
    write("core", first=1960)
    with pytest.raises(SpecError) as caught:
        found("answer: [time]", base=base)
    assert "trend milestones knows rates of processors for 1985 to 2024 only" in str(caught.value)


@pytest.mark.parametrize("kind", ["gpu-tf32", "gpu-int8", "gpu-fp4"])
def test_a_format_without_points_follows_another_by_a_guess_that_is_marked(
    folder: Path, kind: str
) -> None:
    write(kind)
    picture = "pictures: [{kind: rates, name: rates, title: Rates}]\n"
    results = found(f"answer: [time]\n{PROJECT}{picture}", base="{model: model.yaml}")
    result = result_of(results, ProjectResult)
    by_class = {rate.of: rate for rate in result.projection.rates}
    assert by_class["application"].assumed
    assert by_class["application"].source.endswith(f"taken for {kind}")
    assert not by_class["memory"].assumed
    assert (
        "all rates are fitted to points, some of another kind of processors; some points"
        " are announced, not measured: Memory bandwidth of a GPU (5)"
    ) in result.doubt()
    assert "guesses: computation" in result.doubt()
    assert "Guesses: computation" in question_section(result)
    figure = result.draw(RatesPictureSpec(kind="rates", name="rates", title="Rates"), {})
    titles = [axes.get_title() for axes in figure.axes]
    assert f"Peak of a GPU in bf16 or fp16, dense, a guess for {kind}" in titles
    assert "Memory bandwidth of a GPU" in titles


def test_a_machine_that_came_is_drawn_beside_the_lines(folder: Path) -> None:
    Path("later.yaml").write_text(Path("machine.yaml").read_text().replace("2020", "2024"))
    text = "cases: {came: {machine: later.yaml}}\nanswer: [time]\n" + PROJECT.replace(
        "samples: 0", "samples: 16, cases: [base]"
    )
    result = result_of(found(text, base="{model: model.yaml}"), ProjectResult)
    (came,) = {row.later_time for row in result.projection.arrivals if row.name == "time"}
    spec = ProjectionPictureSpec(kind="projection", name="x", title="x", y=["time"])
    (axes,) = result.draw(spec, {}).axes
    (stars,) = [line for line in axes.lines if line.get_label() == "machines that came"]
    assert np.asarray(stars.get_xdata()).tolist() == [2024]
    line = axes.lines[0]
    scale = result.projection.tracks[0].sweep.columns["time"][0] / np.asarray(line.get_ydata())[0]
    assert np.asarray(stars.get_ydata()) == pytest.approx([came / scale])


def test_what_faster_processors_save_is_not_told_where_no_rate_of_arithmetic_is_known(
    folder: Path,
) -> None:
    text = "answer: [time]\nproject: {trends: [measured], as_of: 2017, years: [2020, 2024]}\n"
    result = result_of(found(text, base="{model: model.yaml}"), ProjectResult)
    (track,) = result.projection.tracks
    assert "application" in track.classes_without_rate
    assert track.share_saved_by_processors is None
    assert not any("faster processors" in sentence for sentence in result.sentences())
    (track,) = projection(text.replace("as_of: 2017, ", "")).tracks
    assert track.share_saved_by_processors is not None


def test_prices_are_no_doubt_of_a_projection_of_times_alone(folder: Path) -> None:
    priced = "price: {value: 3e5, technology: node_price}"
    text = MODEL.replace("{scale: 1,", f"{{scale: 1, {priced},")
    Path("model.yaml").write_text(f"{text}amounts: {{paid: price * 2}}\n")
    asked = (
        "answer: [time]\n"
        "project: {trends: [measured], as_of: 2014, base_year: 2016, years: [2016, 2018]}\n"
    )
    for answer, told in (("time", False), ("amount[paid]", True)):
        question = asked.replace("[time]", f'["{answer}"]')
        result = result_of(found(question, base="{model: model.yaml}"), ProjectResult)
        assert ("what price follows" in result.doubt()) is told


def test_a_class_without_a_rate_and_several_are_told_in_their_number(folder: Path) -> None:
    text = "answer: [time]\nproject: {trends: [measured], as_of: 2017, years: [2020, 2024]}\n"
    doubt = result_of(found(text, base="{model: model.yaml}"), ProjectResult).doubt()
    assert ": their times stay as they are in every year" in doubt
    write("gpu-fp32")
    doubt = result_of(found(text, base="{model: model.yaml}"), ProjectResult).doubt()
    assert "has no rate of waiting for memory: its time stays as it is in every year" in doubt

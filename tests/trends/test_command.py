"""Fitting points and back-testing at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slipstick.cli.main import main
from slipstick_rates.files import parse_points
from slipstick_rates.series import (
    BACK_TEST_STARTS,
    WIDEST_BAND_AT_TEN_YEARS,
    RateModel,
    back_test,
    back_test_all,
    best_rate_model,
    choose_rate_model,
)
from slipstick_trends.fit_tables import YEARS_OF_HORIZONS, back_test_text, bootstrap_ends
from tests.model.test_series import shipped_series

ROWS = "".join(f"{2000 + 2 * n},{1.3 ** (2 * n):.4g},GB/s,device {n}\n" for n in range(9))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["trend", *arguments])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_a_table_of_points_gets_its_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(f"year,value,unit,device\n# a note\n{ROWS}")
    status, output, _ = run(capsys, "fit", "mine.csv")
    assert status == 0
    assert "mine" in output
    assert "2000 to 2016  1.30 (1.2" in output
    status, output, _ = run(capsys, "fit", "mine.csv", "--json")
    first, ahead = json.loads(output)["rates"]
    assert first["points"] == "9"
    assert ahead["years"] == "2016 to 2026"


def test_the_table_may_hold_several_series_and_few_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"a,{2000 + n},{2**n},ns\nb,{2000 + n},3,ns\n" for n in range(3))
    more = "".join(f"a,{2010 + n},{5000 - n},ns\n" for n in range(3))
    path = tmp_path / "two.csv"
    path.write_text(f"series,year,value,unit\n{rows}{more}")
    _, output, _ = run(capsys, "fit", str(path))
    assert "too few points for a rate" in output
    # Nanoseconds are times, so that more of them is a loss.
    (line,) = [line for line in output.splitlines() if line.startswith("a ") and "2012  " in line]
    assert float(line.split("2000 to 2012")[1].split()[0]) < 0.7


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("year,speed\n2000,1\n", "value is missing among 'year', 'speed'"),
        ("year,value\n", "has no points below its line of names"),
        ("year,value\n2000,fast\n", "mine.csv:2:1: series.mine.points.0.value"),
        ("year,value\n2000,0\n", "must be more than 0"),
        ("year,value\n20,1\n", "series.mine.points.0.year: at least 1900"),
        ("year,value,unit\n2000,1,GB/s\n2001,2,MB/s\n", "write one unit"),
        ("year,value\n2000,1 GB/s\n2001,2 s\n", "does not go with"),
    ],
)
def test_a_table_that_is_wrong_is_refused_at_its_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(text)
    status, _, errors = run(capsys, "fit", "mine.csv")
    assert status == 2
    assert words in errors


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("milestones", "rates as written and no series of points"),
        ("mesured", "did you mean 'measured'"),
        ("none.csv", "none.csv"),
    ],
)
def test_what_has_no_points_is_refused(
    capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    status, _, errors = run(capsys, "fit", name)
    assert status == 2
    assert words in errors


@pytest.mark.turns(4)
def test_the_back_test_counts_what_the_predictions_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, output, _ = run(capsys, "backtest", "--json")
    predictions = json.loads(output)["predictions"]
    tests = [back_test(shipped_series(), start) for start in BACK_TEST_STARTS]
    assert len(predictions) == sum(len(test.predictions) for test in tests)
    held = sum(each["held"] for each in predictions) / len(predictions)
    _, text, _ = run(capsys, "backtest")
    assert text.startswith(f"{100 * held:.1f} % of {len(predictions)} later points")
    counted = [
        sum(low < each["year"] - each["start"] <= high for each in predictions)
        for low, high in YEARS_OF_HORIZONS
    ]
    assert sum(counted) == len(predictions)
    for (low, high), count in zip(YEARS_OF_HORIZONS, counted, strict=True):
        assert f"{low:g} to {high:g}" in text
        assert f" {count} " in text


@pytest.mark.parametrize("option", ["--choose", "--markdown", "--out"])
def test_options_of_the_text_are_refused_beside_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    path = tmp_path / "tables.md"
    values = [str(path)] if option == "--out" else []
    status, output, errors = run(capsys, "backtest", "--json", option, *values)
    assert (status, errors) == (2, "")
    (problem,) = json.loads(output)["problems"]
    assert problem["file"] == option
    assert problem["message"] == (
        f"--json prints every prediction and nothing else; leave out --json or {option}"
    )
    assert not path.exists()


@pytest.mark.turns(6)
def test_the_choice_is_the_best_of_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipstick_rates.series.TRIED_DAMPINGS", (0.06, 0.07))
    monkeypatch.setattr("slipstick_rates.series.TRIED_WALKS", (0.02, 0.04))
    series = shipped_series()
    allowed = [
        (test.score, growth)
        for growth in (
            RateModel(damping, walk) for damping in (0.06, 0.07) for walk in (0.02, 0.04)
        )
        if (test := back_test(series, 2015.0, growth)).median_width <= WIDEST_BAND_AT_TEN_YEARS
    ]
    assert len(allowed) in (2, 3)
    assert choose_rate_model(series, [2015.0]) == max(allowed, key=lambda each: each[0])[1]
    text = back_test_text(series, choose=True, markdown=False)
    assert "chosen on" in text
    assert "2010 and 2015" in text


@pytest.mark.parametrize(
    "heading", ["Year, Value (GB/s)", 'year,"value [GB/s]"', "YEAR,value(GB/s)"]
)
def test_the_unit_of_points_may_stand_behind_their_name(
    heading: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    points = [(2012, 20), (2014, 31), (2017, 64), (2019, 80)]
    Path("named.csv").write_text(
        "\n".join([heading, *(f"{year}, {value}" for year, value in points)])
    )
    Path("column.csv").write_text(
        "\n".join(["year,value,unit", *(f"{year},{value},GB/s" for year, value in points)])
    )
    _, named, _ = run(capsys, "fit", "named.csv", "--json")
    _, column, _ = run(capsys, "fit", "column.csv", "--json")
    assert named.replace("named", "column") == column
    (_, unit) = parse_points(Path("named.csv").read_text(), "named.csv")[""]
    assert unit == "GB/s"


def test_an_empty_table_of_points_is_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nothing.csv").write_text("\n")
    assert run(capsys, "fit", "nothing.csv") == (
        2,
        "",
        "error: nothing.csv:1:1: is empty; its first line names the columns\n",
    )


def test_other_series_would_have_given_other_shares() -> None:
    tests = [back_test(shipped_series(), start) for start in BACK_TEST_STARTS]
    (low, high), (narrow, wide) = bootstrap_ends(tests)
    points = [each for test in tests for each in test.predictions]
    held = np.array([each.is_within_band for each in points])
    assert low < held.mean() < high
    # Points of a series miss together: the share varies by more than that of independent points.
    alone = np.sqrt(held.mean() * (1 - held.mean()) / len(held))
    assert high - low > 1.5 * 2 * 1.645 * alone
    widths = [width for test in tests for width in test.band_widths]
    assert narrow <= np.median(widths) <= wide
    # By a second road: the variance of a mean of groups, by what each adds to it (linearised).
    names = sorted({each.series for each in points})
    sums = [
        sum(each.is_within_band - held.mean() for each in points if each.series == name)
        for name in names
    ]
    deviation = np.sqrt(np.square(sums).sum()) / len(points)
    assert (high - low) / (2 * 1.645) == pytest.approx(deviation, rel=0.15)


@pytest.mark.turns(5)
def test_choices_of_other_starts_hold_what_is_promised_where_series_are_not_weak(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The promise: 80 to 97 % of later points within the bands of 90 %, and a median width of at
    most 4 at ten years, judged at starts that chose nothing. Weak series are marked, so that they
    promise nothing.
    """
    strong = [series for series in shipped_series() if not series.is_weak]
    trials = back_test_all(shipped_series(), BACK_TEST_STARTS)
    own_trials = back_test_all(strong, BACK_TEST_STARTS)
    judged = []
    for start in BACK_TEST_STARTS:
        others = [chosen_on for chosen_on in BACK_TEST_STARTS if chosen_on != start]
        judged.append(own_trials[best_rate_model(trials, others), start])
    points = [prediction for test in judged for prediction in test.predictions]
    held = np.mean([prediction.is_within_band for prediction in points])
    width = np.median([width for test in judged for width in test.band_widths])
    assert 0.8 <= held <= 0.97
    assert width <= 4.0
    _, text, _ = run(capsys, "backtest", "--choose")
    (_, row) = [line for line in text.splitlines() if "without weak" in line]
    assert row.split()[2:6] == [
        str(sum(len(t.band_widths) for t in judged)),
        str(len(points)),
        *(f"{100 * held:.1f} %".split()),
    ]

"""The picture of a study that names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.schema.kinds.study import LinesSpec
from slipstick.study.run import prepare

STUDY = "study: 1\nbase: {model: lock-and-bus}\n"
MANY = "vary: {population.processors: [2, 4, 8], parameters.work: [1 ms, 2 ms]}\n"


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("", "time"),
        ("answer: [throughput, time]\n", "throughput"),
        (
            "seek: {most: {of: population.processors, from: 1, to: 9, where: efficiency >= 0.5}}\n",
            "efficiency",
        ),
        (
            (
                "choose: {vary: {population.processors: [1, 2]}, minimize: time,"
                " cost: {population.processors: 3}, where: cost <= 9}\n"
            ),
            "time",
        ),
    ],
    ids=str,
)
def test_a_sweep_over_numbers_is_drawn_by_the_value_that_the_question_limits(
    tmp_path: Path, lines: str, value: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY + MANY + lines)
    *pictures_of_questions, picture = prepare(str(path)).spec.pictures
    assert [spec.kind for spec in pictures_of_questions] == (["search"] if "seek:" in lines else [])
    assert isinstance(picture, LinesSpec)
    assert (picture.x, picture.y) == ("population.processors", [value])
    assert picture.title.endswith(" against processors")


def test_a_picture_without_a_title_is_named_after_what_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        STUDY + "vary: {n: {axes: {population.processors: [2, 4]}}}\n"
        "pictures:\n- {kind: lines, name: a, sweep: n, x: population.processors, y: [efficiency]}\n"
        "- {kind: bars, name: b, cases: [base], stack: component}\n"
        "- {kind: bars, name: c, title: My own, cases: [base], stack: component}\n"
    )
    assert [picture.title for picture in prepare(str(path)).spec.pictures] == [
        "Efficiency against processors",
        "A stacked bar for each case",
        "My own",
    ]


def test_a_study_of_two_points_or_of_names_has_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY + "vary: {population.processors: [2, 4]}\n")
    assert prepare(str(path)).spec.pictures == []

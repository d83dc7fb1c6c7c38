"""Whatever a file of measurements holds, it is an account or a list of problems with places;
never a traceback.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from slipstick.errors import Problem, SlipstickError, SpecError
from slipstick_measure.account import measured
from slipstick_measure.fit.comparison import compare
from slipstick_measure.fit.formula import observations_of, timing_notes
from slipstick_measure.formats import read
from slipstick_measure.report.measured import measured_text
from tests.measure.damage import DAMAGES, damaged
from tests.measure.data import SAMPLES, Hints, sample

VARIANTS = 200
LONGEST = 400
"""Characters of a message that is clear."""


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_are_read_or_refused_by_name(name: str, tmp_path: Path) -> None:
    chance, outcomes = random.Random(name), set()
    text = sample(name).read_text()
    path = tmp_path / f"x{Path(name).suffix}"
    for _ in range(VARIANTS // len(SAMPLES) * 4):
        ways, data = damaged(text, chance)
        path.write_bytes(data)
        problems = _problems(path, SAMPLES[name][1])
        outcomes.add(problems is None)
        for each in problems or ():
            assert each.file == str(path)
            assert 1 <= each.line <= text.count("\n") * 2 + 9, f"{ways}: {each}"
            assert 0 < len(each.message) < LONGEST, f"{ways}: {each}"
    assert outcomes == {True, False}


def _problems(path: Path, hints: Hints) -> tuple[Problem, ...] | None:
    """Return what is wrong with a file; None if it is read and written out."""
    try:
        found = measured(read(path, hints))
    except SpecError as error:
        return error.problems
    assert measured_text(found.answers, found.title)
    return None


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    "name", ["timings.csv", "wide.csv", "extra-p.txt", "extra-p.json", "extra-p.jsonl"]
)
def test_what_is_left_of_timings_is_fitted_or_refused_in_a_sentence(
    name: str, tmp_path: Path
) -> None:
    chance, outcomes = random.Random(name), set()
    path = tmp_path / f"x{Path(name).suffix}"
    for _ in range(VARIANTS // 5):
        path.write_bytes(damaged(sample(name).read_text(), chance)[1])
        said = _said_of_a_fit(path, SAMPLES[name][1])
        assert all(0 < len(each) < LONGEST for each in said)
        outcomes.add(said[:1] == ["fitted"])
    assert False in outcomes


def _said_of_a_fit(path: Path, hints: Hints) -> list[str]:
    try:
        runs = read(path, hints)
        found = compare(observations_of(runs).timings(), ["amdahl", "power-log", "latency"])
    except SlipstickError as error:
        return str(error).splitlines()
    assert all(each.file == str(path) for each in timing_notes(runs))
    return ["fitted", found.verdict([64.0])]


@pytest.mark.parametrize("way", DAMAGES)
def test_each_way_of_damage_changes_something(way: str) -> None:
    text = sample("timings.csv").read_text()
    assert any(DAMAGES[way](text, random.Random(seed)) != text for seed in range(9))

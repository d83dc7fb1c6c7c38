"""No reader of specs, traces or files of other tools takes more steps than in proportion to its
text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick.study.check import check_file
from slipstick_measure.imports.formats import import_spec
from slipstick_measure.traces.readers import LONGEST_LINE, read_trace
from tests.growth import lines_executed
from tests.measure.imports.test_imports import ASKED
from tests.measure.test_growth_of_readers import with_blanks, with_digits, with_lines

TRACES = Path(__file__).parent / "traces" / "files"
SHORT, LONG = 30, 120
MOST_RATIO = 6.0
"""Steps for 4 times as much: 4, and a share of what is done once."""

Longer = Callable[[str, int], str]
longer_texts = pytest.mark.parametrize("longer", [with_lines, with_digits, with_blanks])


def growth(text: str, longer: Longer, path: Path, work: Callable[[Path], object]) -> float:
    """Return the ratio of steps for 4 times as much that is added to a text."""
    counts = []
    for count in (SHORT, LONG):
        path.write_text(longer(text, count))
        counts.append(lines_executed(lambda: work(path)))
    return counts[1] / counts[0]


def with_parameters(text: str, count: int) -> str:
    """Add parameters."""
    return text + "".join(f"  p{index}: {index} us\n" for index in range(count))


def with_steps(text: str, count: int) -> str:
    """Add steps."""
    steps = "".join(f"  - {{name: s{index}, delay: p}}\n" for index in range(count))
    return text.replace("parameters:", f"cycle:\n{steps}parameters:")


def with_terms(text: str, count: int) -> str:
    """Add a parameter that is a long sum."""
    return f"{text}  sum: {' + '.join(['p'] * count)}\n"


@pytest.mark.turns(4)
@pytest.mark.parametrize("longer", [with_parameters, with_steps, with_terms])
def test_a_check_grows_as_its_spec(longer: Longer, tmp_path: Path) -> None:
    population = "population: {processors: 4}\n"
    cycle = "" if longer is with_steps else "cycle:\n  - {name: s, delay: p}\n"
    text = f"activity: 1\ntitle: t\nsource: made up\n{population}{cycle}parameters:\n  p: 1 ms\n"
    check = check_file
    check_file(_written(tmp_path / "s.yaml", longer(text, 3)))  # is valid
    assert growth(text, longer, tmp_path / "s.yaml", check) <= MOST_RATIO


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@longer_texts
@pytest.mark.parametrize("name", ["four-tasks.prv", "records.csv", "timehist.txt"])
def test_a_trace_grows_as_its_text(name: str, longer: Longer, tmp_path: Path) -> None:
    text = (TRACES / name).read_text()
    assert growth(text, longer, tmp_path / name, read_trace) <= MOST_RATIO


@pytest.mark.turns(4)
@longer_texts
@pytest.mark.parametrize("name", ASKED)
def test_an_import_grows_as_its_text(name: str, longer: Longer, tmp_path: Path) -> None:
    path, _, told = ASKED[name]
    assert (
        growth(
            path.read_text(),
            longer,
            tmp_path / path.name,
            lambda file: import_spec([file], **told),  # type: ignore[arg-type]
        )
        <= MOST_RATIO
    )


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    text = (TRACES / "records.csv").read_text()
    path = _written(tmp_path / "records.csv", text + "x" * (LONGEST_LINE + 1))
    with pytest.raises(SpecError, match=r"a line of more than 1,048,576 characters"):
        read_trace(path)

"""Files of measurements for tests, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.answer import Answer
from slipstick.errors import SpecError
from slipstick_measure.account import Measured, measured
from slipstick_measure.formats import FORMATS, read
from slipstick_measure.measurements import Hints, Measurement, Measurements

__all__ = ["SAMPLES", "Hints", "account", "at", "read_sample", "refused", "run", "sample", "table"]

_FOLDER = Path(__file__).parent / "files"
_HINTS = {
    each: json.loads((each / "hints.json").read_text())
    for each in _FOLDER.iterdir()
    if (each / "hints.json").is_file()
}
SAMPLES = {
    path.name: (path, Hints(**_HINTS.get(path.parent, {}).get(path.name, {})))
    for format in FORMATS
    for path in sorted((_FOLDER / format).iterdir())
    if path.name != "hints.json"
}
"""Every file as tools write it, in the folder of its format, with what has to be told beside it."""


def sample(name: str) -> Path:
    """Return the path of a sample file."""
    return SAMPLES[name][0]


def read_sample(name: str) -> Measurements:
    """Read a sample file with its hints."""
    return read(*SAMPLES[name])


def refused(
    folder: Path, text: str | bytes, name: str = "x.csv", hints: Hints | None = None, **more: str
) -> list[str]:
    """Return the problems of a file as they are printed, files by their names only."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SpecError) as caught:
        measured(read(path, hints, **more))
    return [str(each).replace(f"{folder}/", "") for each in caught.value.problems]


def account(folder: Path, text: str, name: str = "x.csv", hints: Hints | None = None) -> Measured:
    """Read a text and book its time."""
    path = folder / name
    path.write_text(text)
    return measured(read(path, hints))


def run(p: int, metric: str, value: float, region: str = "", **more: object) -> Measurement:
    """Make a record with the unit of its metric."""
    from slipstick_measure.measurements import METRICS

    unit = str(METRICS[metric].dimension)
    given = {"n": None, "repetition": None, "file": "f", "line": 1, **more}
    return Measurement(p=p, region=region, metric=metric, unit=unit, value=value, **given)  # type: ignore[arg-type]


def table(*records: Measurement, **more: object) -> Measurements:
    """Make a table of records."""
    return Measurements(records, **more)  # type: ignore[arg-type]


def at(found: Measured, p: int, n: float | None = None) -> Answer:
    """Return the answer at a point."""
    (answer,) = [
        each
        for each in found.answers
        if each.point.get("p") == p and (n is None or each.point["n"] == n)
    ]
    return answer

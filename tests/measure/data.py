"""Files of measurements for tests, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.answer import Answer
from slipstick.errors import SpecError
from slipstick.measure.account import Measured, measured
from slipstick.measure.formats import read
from slipstick.measure.measurements import Hints, Measurement, Measurements

__all__ = ["FILES", "HINTS", "Hints", "account", "at", "refused", "run", "table"]

FILES = Path(__file__).parent / "files"
HINTS: dict[str, Hints] = {
    "extra-p.txt": Hints(unit="s"),
    "extra-p-two.txt": Hints(unit="s"),
    "extra-p.json": Hints(unit="s"),
    "extra-p.jsonl": Hints(unit="s"),
    "modelfactors.csv": Hints(),
    "perf-lock.txt": Hints(processors=4, time=0.12),
    "perf-lock-separated.txt": Hints(processors=4, time=0.01),
    "perf-stat-1.csv": Hints(processors=1),
    "perf-stat-2.csv": Hints(processors=2),
    "perf-stat-2.json": Hints(processors=2),
    "perf-stat-repeated.csv": Hints(processors=1),
    "perf-stat-semicolon.csv": Hints(processors=1),
    "profile.yaml": Hints(),
    "pypop.csv": Hints(),
    "timings.csv": Hints(),
    "wide.csv": Hints(),
}
"""Every file as tools write it, with what has to be told beside it."""


def refused(folder: Path, text: str | bytes, name: str = "x.csv", hints: Hints | None = None, **more: str) -> list[str]:
    """Give the problems of a file as they are printed, files by their names only."""
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
    from slipstick.measure.measurements import METRICS

    unit = str(METRICS[metric].dimension)
    given = {"n": None, "repetition": None, "file": "f", "line": 1, **more}
    return Measurement(p=p, region=region, metric=metric, unit=unit, value=value, **given)  # type: ignore[arg-type]


def table(*records: Measurement, **more: object) -> Measurements:
    """Make a table of records."""
    return Measurements(records, **more)  # type: ignore[arg-type]


def at(found: Measured, p: int, n: float | None = None) -> Answer:
    """Give the answer at a point."""
    (answer,) = [each for each in found.answers if each.point.get("p") == p and (n is None or each.point["n"] == n)]
    return answer

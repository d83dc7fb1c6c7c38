"""The recorded outcomes, and how they are written."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.recorded.inputs import Outcome, outcome

__all__ = ["TURNS", "differences", "groups", "read_record", "write_record"]

TURNS: Mapping[Path, int] = {
    Path(__file__).with_name(f"{name}.csv"): turns
    for name, turns in (("always", 1), ("in_turn", 5), ("seldom", 20))
}
"""The records, and of how many commits one tries an input: those of every run of the tests take
each branch once, those of the second record three times; those of the third tell a changed
operator or number that the others do not.
"""
ABSOLUTE, OF_EACH = 3e-6, 1e-8
"""Tolerances of a checksum: of all, and for each number."""
MOST_IN_A_GROUP = 24
WORDS_THAT_DIFFER = {
    "file | tests/shelf/load-tests/fio-one-at-a-time.json | 2 | measured {file} --json",
}
"""Inputs whose words follow from the message of another library (of a release of Python's JSON)."""


def read_record(path: Path) -> dict[str, Outcome]:
    """Read the recorded outcome of each input by its name."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            row["input"]: Outcome(
                int(row["status"]), int(row["count"]), float(row["checksum"]), row["words"]
            )
            for row in csv.DictReader(file)
        }


def write_record(names: Iterator[str], path: Path) -> list[str]:
    """Record what comes of inputs now; return the names whose outcome differs from the record."""
    before = read_record(path) if path.exists() else {}
    found_outcomes = {name: _outcome_in_a_folder(name) for name in names}
    for name in found_outcomes.keys() & WORDS_THAT_DIFFER:
        found_outcomes[name] = replace(found_outcomes[name], words="")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["input", "status", "count", "checksum", "words"])
        for name, found in sorted(found_outcomes.items()):
            writer.writerow([name, found.status, found.count, f"{found.checksum:.8f}", found.words])
    return [
        name
        for name, found in found_outcomes.items()
        if name in before and not same(found, before[name])
    ]


def same(found: Outcome, recorded: Outcome) -> bool:
    """Return whether an outcome is as recorded, but for rounding; words that are not recorded are
    not compared.

    >>> same(Outcome(0, 5, 1.0, ""), Outcome(0, 5, 1.0 + 1e-7, ""))
    True
    >>> same(Outcome(0, 5, 1.0, ""), Outcome(0, 5, 1.0 + 1e-5, ""))
    False
    >>> same(Outcome(0, 5, 1.0, ""), Outcome(2, 5, 1.0, ""))
    False
    """
    tolerance = ABSOLUTE + OF_EACH * recorded.count
    return (
        (found.status, found.count) == (recorded.status, recorded.count)
        and abs(found.checksum - recorded.checksum) <= tolerance
        and recorded.words in (found.words, "")
    )


def groups(path: Path) -> Mapping[str, Mapping[str, Outcome]]:
    """Return the outcomes of a record in groups of one kind of input, as a test tries them."""
    listed: dict[str, dict[str, Outcome]] = {}
    numbers: dict[str, int] = {}
    for name, recorded in read_record(path).items():
        kind = name.partition(" | ")[0]
        number = numbers.get(kind, 0)
        listed.setdefault(f"{kind} {number // MOST_IN_A_GROUP}", {})[name] = recorded
        numbers[kind] = number + 1
    return listed


def differences(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield each input whose outcome is not as recorded."""
    for name, recorded in outcomes.items():
        found = _outcome_in_a_folder(name)
        if not same(found, recorded):
            yield f"{name}\n    recorded {recorded}\n    found    {found}"


def _outcome_in_a_folder(name: str) -> Outcome:
    present_folder = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return outcome(name, Path(folder))
        finally:
            os.chdir(present_folder)

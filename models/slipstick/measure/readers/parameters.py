"""Which of a file's own parameters are the processors and the size of the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.errors import did_you_mean
from slipstick.measure.readers.reading import Reading, Where
from slipstick.measure.readers.tidy import COLUMNS

__all__ = ["point", "roles"]


def roles(reading: Reading, line: int, names: Sequence[str]) -> dict[str, int]:
    """Say at which place of a point the processors and the size stand.

    `Hints.columns` decides; else the usual names do, and a single parameter is the processors.

    Parameters
    ----------
    reading, line : for problems
    names : the parameters of the file, in order
    """
    found: dict[str, int] = {}
    lower = [name.casefold() for name in names]
    for ours in ("p", "n"):
        wanted = reading.hints.columns.get(ours)
        options = [wanted.casefold()] if wanted else [ours, *COLUMNS[ours]]
        at = next((lower.index(option) for option in options if option in lower), None)
        if at is not None:
            found[ours] = at
        elif wanted:
            reading.wrong(line, "", f"there is no parameter {wanted!r}{did_you_mean(wanted, names)}")
    if "p" not in found and len(names) == 1 and not found:
        found["p"] = 0
        if names[0].casefold() not in ("p", *COLUMNS["p"]):
            reading.odd(line, names[0], "the only parameter is taken as the processors; say else with --column n=NAME")
    if "p" not in found and reading.hints.processors is None:
        listed = ", ".join(names)
        reading.refuse(line, "", f"which parameter is the processors? there are {listed}; name it with --column p=NAME")
    for at, name in enumerate(names):
        if at not in found.values():
            reading.odd(line, name, "this parameter is neither the processors nor the size; it is left out")
    return found


def point(reading: Reading, line: int, found: Mapping[str, int], coordinates: Sequence[str]) -> Where | None:
    """Read a point; None, and a problem, where it is none."""
    p = reading.processors(line, "p", coordinates[found["p"]]) if "p" in found else reading.hints.processors
    n = reading.size(line, "n", coordinates[found["n"]]) if "n" in found else reading.hints.size
    return None if p is None or ("n" in found and n is None) else Where(p, n)

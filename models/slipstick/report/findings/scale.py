"""How cases scale, for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from slipstick.report.words import NOTHING, code, escape, fraction, markdown_table, percent, prose, quantity
from slipstick.results.scaling import Array, Extreme, Grown, Growth, Scaling

_READING = (
    "Latency is the time of a processor that is not useful. A cell of the matrix is the latency metric L(N) / L(N'), from "
    "the row's N processors to the column's N', the size grown as its way says: 1 scales perfectly, small scales badly."
)
_SYMBOLS = (
    "In the closed form, with K = E / (1 - E), the work must grow as below: each term of the overhead asks for work by "
    "itself, and for large N the one that grows fastest decides. Rounding is left out."
)


def scaling_section(scalings: Sequence[Scaling]) -> str:
    """Write how each case scales.

    Parameters
    ----------
    scalings : of a study; none give no section
    """
    if not scalings:
        return ""
    return "\n\n".join(["## How it scales", prose(_READING), *map(_part, scalings)])


def scaling_text(found: Scaling) -> str:
    """Say in a few lines for the terminal how a case scales."""
    lines = [f"{found.case}: {line}" for line in _sentences(found)]
    if found.growth is not None:
        lines.append(f"{found.case}: {_verdict(found.growth)}")
    return "\n".join(lines)


def _part(found: Scaling) -> str:
    parts = [
        f"### {escape(found.case)} by {escape(found.method)}",
        "\n".join(f"- {escape(line)}" for line in _sentences(found)),
        *(_way(found, way, each) for way, each in found.ways.items()),
        _matrix(found),
        _growth(found),
    ]
    return "\n\n".join(part for part in parts if part)


def _sentences(found: Scaling) -> list[str]:
    return [_fastest(found.fastest), _largest(found.largest, found.threshold)]


def _fastest(best: Extreme) -> str:
    if best.processors is None:
        return "At a fixed size no number of processors has an answer"
    end = ", the most that were looked at" if best.at_the_end else ""
    return f"At a fixed size it is fastest on {best.processors:g} processors{end}: {quantity(best.value, 's')}"


def _largest(best: Extreme, threshold: float) -> str:
    wanted = f"an efficiency of at least {percent(threshold)}"
    if best.processors is None:
        return f"At a fixed size no number of processors has {wanted}"
    end = ", the most that were looked at" if best.at_the_end else ""
    return f"At a fixed size it has {wanted} on up to {best.processors:g} processors{end}: {percent(best.value)}"


def _way(found: Scaling, way: str, each: Grown) -> str:
    goal = percent(each.goal) if each.unit == "1" else quantity(each.goal, each.unit)
    kept = "" if each.goal is None else f", keeping {goal}"
    sizes = {} if each.goal is None else each.sizes
    columns = {
        "N": [f"{number:g}" for number in found.processors],
        **{code(path): _cells(values, found.units[path]) for path, values in sizes.items()},
        "time": _cells(each.time, "s"),
        "efficiency": [percent(value) for value in each.efficiency],
        "latency": _cells(each.latency, "s"),
        **{escape(cause): _cells(values, "s") for cause, values in _causes(found, each).items()},
    }
    table = markdown_table(list(columns), list(zip(*columns.values(), strict=True)), range(len(columns)))
    why = "\n".join(f"- N = {found.processors[index]:g}: {escape(text)}" for index, text in each.failed.items())
    return "\n\n".join(part for part in (f"#### {way}{escape(kept)}", table, why) if part)


def _causes(found: Scaling, each: Grown) -> dict[str, Array]:
    """Give the sources of the latency: what the account holds besides the useful."""
    return {
        name: values
        for name, values in each.account.items()
        if name not in found.useful and np.nanmax(values, initial=0.0) > 0
    }


def _cells(values: Array, unit: str) -> list[str]:
    return [NOTHING if isnan(value) else quantity(float(value), unit) for value in values]


def _matrix(found: Scaling) -> str:
    """Lay out the upper triangle, the ways of one cell side by side (Scale-Graph, IEEE TSE 1997, Figure 14)."""
    if not found.matrix:
        return ""
    numbers = [f"{number:g}" for number in found.processors]
    rows = [
        [
            numbers[row],
            *(
                " / ".join(_ratio(table[row, place]) for table in found.matrix.values()) if place > row else ""
                for place in range(1, len(numbers))
            ),
        ]
        for row in range(len(numbers) - 1)
    ]
    table = markdown_table(["N \\ N'", *numbers[1:]], rows, range(1, len(numbers)))
    return "\n\n".join([f"#### Matrix of scalability: {' / '.join(found.matrix)}", table, *_printed(found)])


def _printed(found: Scaling) -> list[str]:
    if not found.printed:
        return []
    rows = [
        [
            f"{each.processors:g} to {each.more_processors:g}",
            each.way,
            _ratio(each.printed),
            _ratio(each.computed),
            escape(each.source),
        ]
        for each in found.printed
    ]
    return [markdown_table(["cell", "way", "printed", "here", "source"], rows, [2, 3])]


def _ratio(value: float) -> str:
    return NOTHING if isnan(value) else f"{value:.2f}"


def _growth(found: Scaling) -> str:
    growth = found.growth
    if growth is None:
        return f"No isoefficiency in symbols: {escape(found.no_growth)}." if found.no_growth else ""
    rows = [[code(each.text), code(each.order) if each.order else NOTHING, _since(each.since)] for each in growth.terms]
    exact = f"Exactly, W = {code(growth.exact)}." if growth.exact else ""
    parts = [
        f"#### Isoefficiency at {percent(growth.efficiency)}",
        _SYMBOLS,
        f"Work {code(growth.work)}, overhead {code(growth.overhead)}.",
        markdown_table(["term of the overhead", "work grows as", "asks for the most from N"], rows, [2]),
        f"{escape(_verdict(growth)) if growth.limit else _verdict(growth, code(growth.order))}. {exact}".strip(),
    ]
    return "\n\n".join(parts)


def _since(number: float | None) -> str:
    return NOTHING if number is None else fraction(number)


def _verdict(growth: Growth, order: str = "") -> str:
    if growth.limit:
        return f"Not scalable at {percent(growth.efficiency)}: {growth.limit}"
    words = f"To keep {percent(growth.efficiency)} the work must grow as {order or growth.order}"
    reigning = [each for each in growth.terms if each.since is not None]
    if not reigning:
        return words
    last = max(reigning, key=lambda each: each.since or 0.0)
    term = code(last.text) if order else last.text
    return f"{words}; the term that asks for the most from N = {fraction(last.since)} on is {term}"

"""How cases scale: the size for each number of processors, the matrix of scalability, isoefficiency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan, log, nan
from typing import TYPE_CHECKING, Any, ClassVar

from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    Ends,
    code,
    escape,
    finite,
    fraction,
    markdown_table,
    percent,
    prose,
    quantity,
    short_path,
)
from slipstick.report.pictures.figures import FILLS, axis_title, plain_ticks, sheet, title_of
from slipstick.report.questions.statements import CheckedValue, ComparedNumber, Statement, statement_row, summary
from slipstick.results.study import Array, QuestionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import BandsSpec


@dataclass(frozen=True, slots=True)
class ScaledRuns:
    """One way to scale: the size that keeps what is to be kept, and the run at it; arrays run along the processors.

    Parameters
    ----------
    goal : what is kept, in base units; None for a fixed size
    unit : its base unit
    sizes : value of each size parameter, in base units; NaN where no size keeps it
    time, efficiency : of the run [s], [1]
    account : time of a processor by component [s]
    failed : why there is no size, by place
    ends : of the intervals of what is simulated, by name: ``time``, ``efficiency``, ``latency`` and ``account[lock]``
    """

    goal: float | None
    unit: str
    sizes: Mapping[str, Array]
    time: Array
    efficiency: Array
    account: Mapping[str, Array]
    failed: Mapping[int, str]
    ends: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)

    @property
    def latency(self) -> Array:
        """Time of a processor that is not useful [s]."""
        return self.time * (1.0 - self.efficiency)


@dataclass(frozen=True, slots=True)
class OverheadTerm:
    """A term of the total overhead T_o = N T - W t_c, in symbols.

    Parameters
    ----------
    text : the term
    order : how the work grows that pays for it; empty where none does
    since : from which number of processors on it asks for the most; None if it never does
    """

    text: str
    order: str
    since: float | None


@dataclass(frozen=True, slots=True)
class IsoefficiencyFormula:
    """The isoefficiency in symbols.

    Parameters
    ----------
    efficiency : what is kept [1]
    overhead, work : T_o and W t_c
    terms : of the overhead
    order : how the work must grow; empty where no work is enough
    exact : the work as a formula; empty where only numbers can tell
    limit : why no work is enough
    """

    efficiency: float
    overhead: str
    work: str
    terms: tuple[OverheadTerm, ...]
    order: str
    exact: str
    limit: str


@dataclass(frozen=True, slots=True)
class BestProcessors:
    """A number of processors that stands out; None where none does.

    Parameters
    ----------
    processors : how many [1]
    value : what is reached there, in base units
    at_the_end : it is the largest that was looked at, so a larger one may do better
    ends : of the interval of the value, where it is simulated
    undecided : other numbers of processors that may stand out instead, for intervals overlap or hold the limit
    """

    processors: float | None
    value: float
    at_the_end: bool
    ends: Ends = NO_ENDS
    undecided: tuple[float, ...] = ()

    @property
    def doubt(self) -> str:
        """Say which other numbers of processors may stand out."""
        return f"; undecided against {', '.join(f'{each:g}' for each in self.undecided)}" if self.undecided else ""


@dataclass(frozen=True, slots=True)
class PublishedScalability:
    """A published cell of the matrix of scalability beside ours.

    Parameters
    ----------
    processors, more_processors : N and N'
    way : how the size grows
    printed, computed : the latency metric; NaN where we have none
    source : where it is printed
    """

    processors: float
    more_processors: float
    way: str
    printed: float
    computed: float
    source: str

    @property
    def agrees(self) -> bool:
        """Say whether both are the same with two decimals."""
        return abs(self.computed - self.printed) <= 0.005

    def exponent(self, scalability: float) -> float:
        """Give the exponent of the isoefficiency that a value of this cell implies; NaN for another way [1]."""
        if self.way != "efficiency-conserved" or not scalability > 0:
            return nan
        return 1 - log(scalability) / log(self.more_processors / self.processors)


@dataclass(frozen=True, slots=True)
class Scaling:
    """How a case scales.

    Parameters
    ----------
    case, method : what was solved, and how
    path : the parameter that stands for the processors
    processors : N, rising
    powers : of each size parameter, the power of the common factor that it grows as
    units : base unit of each size parameter
    useful : components that count as useful
    ways : by name
    matrix : scalability of each pair of numbers of processors, by way
    fastest : the number of processors with the least time at a fixed size
    threshold : an efficiency to stay above [1]
    largest : the most processors that do, at a fixed size
    growth : the isoefficiency in symbols, where the closed form has one
    no_growth : why it has none
    printed : published cells of the matrix
    """

    case: str
    method: str
    path: str
    processors: Array
    powers: Mapping[str, float]
    units: Mapping[str, str]
    useful: tuple[str, ...]
    ways: Mapping[str, ScaledRuns]
    matrix: Mapping[str, Array]
    fastest: BestProcessors
    threshold: float
    largest: BestProcessors
    growth: IsoefficiencyFormula | None = None
    no_growth: str = ""
    printed: tuple[PublishedScalability, ...] = ()


@dataclass(frozen=True, slots=True)
class ScaleResult(QuestionResult):
    """How each case scales."""

    leading_columns: ClassVar[bool] = True
    scalings: tuple[Scaling, ...]

    def section(self) -> str:
        return "\n\n".join(["## How it scales", prose(_READING), *map(_part, self.scalings)])

    def text(self) -> str:
        return "\n\n".join(map(_lines, self.scalings))

    def files(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        rows = [statement_row(each) for found in self.scalings for each in _statements(found)]
        return {"statements-of-scaling.csv": rows} if rows else {}

    def document(self) -> dict[str, Any]:
        return {"scalings": [_document(each) for each in self.scalings]}

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(found, way, each) for found in self.scalings for way, each in found.ways.items()]

    def draw(self, spec: BandsSpec) -> Figure:
        """Stack the processors by what they do up to the line on which all of them are."""
        return _bands(next(each for each in self.scalings if each.case == spec.case), spec)


_READING = (
    "Latency is the time of a processor that is not useful. A cell of the matrix is the latency metric L(N) / L(N'), from "
    "the row's N processors to the column's N', the size grown as its way says: 1 scales perfectly, small scales badly."
)

_SYMBOLS = (
    "In the closed form, with K = E / (1 - E), the work must grow as below: each term of the overhead asks for work by "
    "itself, and for large N the one that grows fastest decides. Rounding is left out."
)


def _lines(found: Scaling) -> str:
    """Say in a few lines for the terminal how a case scales."""
    lines = [f"{found.case}: {line}" for line in _sentences(found)]
    if found.growth is not None:
        lines.append(f"{found.case}: {_verdict(found.growth)}")
    if found.printed:
        lines.append(summary(_statements(found)))
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


def _fastest(best: BestProcessors) -> str:
    if best.processors is None:
        return "At a fixed size no number of processors has an answer"
    end = ", the most that were looked at" if best.at_the_end else ""
    return f"At a fixed size it is fastest on {best.processors:g} processors{end}: {quantity(best.value, 's', ends=best.ends)}{best.doubt}"


def _largest(best: BestProcessors, threshold: float) -> str:
    wanted = f"an efficiency of at least {percent(threshold)}"
    if best.processors is None:
        return f"At a fixed size no number of processors has {wanted}{best.doubt}"
    end = ", the most that were looked at" if best.at_the_end else ""
    return f"At a fixed size it has {wanted} on up to {best.processors:g} processors{end}: {percent(best.value, ends=best.ends)}{best.doubt}"


def _way(found: Scaling, way: str, each: ScaledRuns) -> str:
    goal = percent(each.goal) if each.unit == "1" else quantity(each.goal, each.unit)
    kept = "" if each.goal is None else f", keeping {goal}"
    sizes = {} if each.goal is None else each.sizes
    columns = {
        "N": [f"{number:g}" for number in found.processors],
        **{code(path): _cells(values, found.units[path]) for path, values in sizes.items()},
        "time": _cells(each.time, "s", each.ends.get("time")),
        "efficiency": [
            percent(value, ends=ends)
            for value, ends in zip(each.efficiency, _pairs(each.ends.get("efficiency"), len(each.time)), strict=True)
        ],
        "latency": _cells(each.latency, "s", each.ends.get("latency")),
        **{
            escape(cause): _cells(values, "s", each.ends.get(f"account[{cause}]"))
            for cause, values in _causes(found, each).items()
        },
    }
    table = markdown_table(list(columns), list(zip(*columns.values(), strict=True)), range(len(columns)))
    why = "\n".join(f"- N = {found.processors[index]:g}: {escape(text)}" for index, text in each.failed.items())
    return "\n\n".join(part for part in (f"#### {way}{escape(kept)}", table, why) if part)


def _causes(found: Scaling, each: ScaledRuns) -> dict[str, Array]:
    """Give the sources of the latency: what the account holds besides the useful."""

    import numpy as np

    return {
        name: values
        for name, values in each.account.items()
        if name not in found.useful and np.nanmax(values, initial=0.0) > 0
    }


def _cells(values: Array, unit: str, ends: tuple[Array, Array] | None = None) -> list[str]:
    return [
        NOTHING if isnan(value) else quantity(float(value), unit, ends=pair)
        for value, pair in zip(values, _pairs(ends, len(values)), strict=True)
    ]


def _pairs(ends: tuple[Array, Array] | None, count: int) -> list[Ends]:
    """Give the ends of intervals point by point."""
    if ends is None:
        return [NO_ENDS] * count
    return [(finite(low), finite(high)) for low, high in zip(*ends, strict=True)]


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
            *(_ratio(each.exponent(value)) for value in (each.printed, each.computed)),
            escape(each.source),
        ]
        for each in found.printed
    ]
    head = ["cell", "way", "printed", "here", "exponent as printed", "exponent here", "source"]
    return [markdown_table(head, rows, range(2, 6)), prose(_EXPONENT), summary(_statements(found))]


_EXPONENT = (
    "The exponent is that of the isoefficiency, W as a power of N, which a cell of the way efficiency-conserved implies: "
    "L = T (1 - E) goes with W / N, so W'/W = (N'/N) / scalability."
)


def _statements(found: Scaling) -> list[Statement]:
    """Give the printed cells as statements; they are printed with two decimals."""
    return [
        Statement(
            name=f"{found.case}-{each.processors:g}-to-{each.more_processors:g}-{each.way}",
            says=f"the scalability from {each.processors:g} to {each.more_processors:g} processors, {each.way}, is "
            f"{_ratio(each.printed)}",
            source=each.source,
            wanted=f"{_ratio(each.printed)}, within 0.005",
            unit="1",
            values=(CheckedValue(found.case, ComparedNumber(*[each.computed] * 3), each.agrees),),
            needed=1,
        )
        for each in found.printed
    ]


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


def _verdict(growth: IsoefficiencyFormula, order: str = "") -> str:
    if growth.limit:
        return f"Not scalable at {percent(growth.efficiency)}: {growth.limit}"
    words = f"To keep {percent(growth.efficiency)} the work must grow as {order or growth.order}"
    dominant = [each for each in growth.terms if each.since is not None]
    if not dominant:
        return words
    last = max(dominant, key=lambda each: each.since or 0.0)
    term = code(last.text) if order else last.text
    return f"{words}; the term that asks for the most from N = {fraction(last.since)} on is {term}"


def _document(found: Scaling) -> dict[str, Any]:
    return {
        "case": found.case,
        "method": found.method,
        "processors": {"path": found.path, "values": _plain(found.processors)},
        "size": {path: {"unit": found.units[path], "power": power} for path, power in found.powers.items()},
        "ways": {way: _way_document(each) for way, each in found.ways.items()},
        "matrix": {way: [_plain(row) for row in table] for way, table in found.matrix.items()},
        "fastest": _extreme(found.fastest, "s"),
        "threshold": found.threshold,
        "largest": _extreme(found.largest, "1"),
        "isoefficiency": _formula_document(found.growth) if found.growth is not None else None,
        "no_isoefficiency": found.no_growth or None,
        "printed": [
            {
                "from": each.processors,
                "to": each.more_processors,
                "way": each.way,
                "printed": each.printed,
                "computed": each.computed if isfinite(each.computed) else None,
                "source": each.source,
            }
            for each in found.printed
        ],
    }


def _way_document(each: ScaledRuns) -> dict[str, Any]:
    """Lay out one way: lists run along the processors; null where no size keeps what is to be kept."""
    return {
        "goal": each.goal,
        "unit": None if each.goal is None else each.unit,
        "sizes": {path: _plain(values) for path, values in each.sizes.items()},
        "time": _plain(each.time),
        "efficiency": _plain(each.efficiency),
        "latency": _plain(each.latency),
        "account": {name: _plain(values) for name, values in each.account.items()},
        "intervals": {name: {"low": _plain(low), "high": _plain(high)} for name, (low, high) in each.ends.items()},
        "failed": [each.failed.get(index) for index in range(len(each.time))],
    }


def _formula_document(growth: IsoefficiencyFormula) -> dict[str, Any]:
    return {
        "efficiency": growth.efficiency,
        "overhead": growth.overhead,
        "work": growth.work,
        "terms": [{"term": each.text, "order": each.order or None, "since": each.since} for each in growth.terms],
        "order": growth.order or None,
        "exact": growth.exact or None,
        "limit": growth.limit or None,
    }


def _extreme(best: BestProcessors, unit: str) -> dict[str, Any]:
    value = None if best.processors is None else best.value
    found = {"processors": best.processors, "value": value, "unit": unit, "at_the_end": best.at_the_end}
    if best.ends == NO_ENDS and not best.undecided:
        return found
    low, high = best.ends
    return {**found, "low": low, "high": high, "undecided": list(best.undecided)}


def _plain(values: Array) -> list[float | None]:
    return [float(value) if isfinite(value) else None for value in values]


def _columns(found: Scaling, way: str, each: ScaledRuns) -> dict[str, Any]:
    height = len(found.processors)
    sizes = {f"{path} [{found.units[path]}]": values for path, values in each.sizes.items()}
    account = {f"account[{name}] [s]": values for name, values in each.account.items()}
    # A row of the matrix is from one number of processors; here it is a column.
    table = found.matrix.get(way)
    matrix = (
        {}
        if table is None
        else {f"scalability[{count:g}] [1]": table[place] for place, count in enumerate(found.processors[:-1])}
    )
    return {
        "sweep": [f"scale/{way}"] * height,
        "case": [found.case] * height,
        f"{found.path} [1]": found.processors,
        **sizes,
        "time [s]": each.time,
        "efficiency [1]": each.efficiency,
        "latency [s]": each.latency,
        **account,
        **{
            f"{end} {name} [{'1' if name == 'efficiency' else 's'}]": values
            for name, both in each.ends.items()
            for end, values in zip(("low", "high"), both, strict=True)
        },
        **matrix,
        "failed": [each.failed.get(index) for index in range(height)],
    }


def _bands(found: Scaling, spec: BandsSpec) -> Figure:
    import numpy as np

    bands = bands_of(found, spec.way)
    figure = sheet(6.8, 4.4)
    axes = figure.subplots()
    below = np.zeros(len(found.processors))
    for number, (label, heights) in enumerate(bands.items()):
        colour, hatch = FILLS[number % len(FILLS)]
        above = below + heights
        axes.fill_between(
            found.processors, below, above, facecolor=colour, hatch=hatch, edgecolor="black", linewidth=0.6, label=label
        )
        below = above
    axes.plot(found.processors, found.processors, color="black", linewidth=1.2, label="all processors")
    axes.set_xlim(found.processors[0], found.processors[-1])
    axes.set_ylim(0, found.processors[-1])
    plain_ticks(axes.xaxis, found.processors)
    axes.set_xlabel(axis_title(short_path(found.path), "1"))
    axes.set_ylabel(axis_title("processors", "1"))
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right upper", alignment="left", title="component")
    title_of(figure, spec.title)
    return figure


def bands_of(found: Scaling, way: str) -> dict[str, Array]:
    """Give how many processors do what at each N: the useful first, then each cause of loss; they add up to N.

    A model without an account has two bands: the efficiency's, and the rest.

    Parameters
    ----------
    found : how a case scales
    way : how the size goes with N
    """

    import numpy as np

    each, count = found.ways[way], found.processors
    if not each.account:
        return {"useful": count * each.efficiency, "lost": count * (1.0 - each.efficiency)}
    names = sorted(each.account, key=lambda name: name not in found.useful)
    with np.errstate(all="ignore"):
        bands = {name: count * each.account[name] / each.time for name in names}
    return {name: heights for name, heights in bands.items() if np.nanmax(heights, initial=0.0) > 0}

"""Scaling: the size that each number of processors needs, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, Problem, SpecError, did_you_mean
from slipstick.expression.dimension import BYTES, COUNT
from slipstick.expression.nodes import Expr, Parameter
from slipstick.expression.tape import Tape
from slipstick.law import Law
from slipstick.method.closed_form.form import ClosedForm, CompiledLaw
from slipstick.method.methods import DefaultForm
from slipstick.method.scaling import FIXED_SIZE, TIME_BOUND, Run, Runs, factors, isoefficiency, run_of, scalability
from slipstick.model.system import Model
from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    Ends,
    as_number,
    as_percent,
    as_ratio,
    code,
    escape,
    finite,
    fraction,
    markdown_table,
    percent,
    quantity,
)
from slipstick.report.pictures import axis_title, draw_intervals, filled, legend_of, plain_ticks, sheet, title_of
from slipstick.report.statements import summary
from slipstick.results.question import QuestionResult, ResultColumn, ResultTable
from slipstick.results.study import Array, Provenance
from slipstick.schema.inputs import BuiltModel, Inputs
from slipstick.schema.kinds.quantity import Formula
from slipstick.schema.kinds.study import BandsSpec, ScaleSpec, SweepSpec
from slipstick.schema.text import Entry, Table, at, canonical
from slipstick.schema.values import read_formula
from slipstick.study.cases import StudyContext, SweepDefinition
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.questions.statements import CheckedValue, ComparedNumber, Statement, statement_row
from slipstick.study.sweep import planned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_SCANNED = 10_000
_UNITS = {"time-bound": "s", "efficiency-conserved": "1", "memory-bound": "B"}


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
    provenance : how each run was solved
    """

    goal: float | None
    unit: str
    sizes: Mapping[str, Array]
    time: Array
    efficiency: Array
    account: Mapping[str, Array]
    failed: Mapping[int, str]
    ends: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    provenance: Provenance = field(default=Provenance([], []))

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
            return math.nan
        return 1 - math.log(scalability) / math.log(self.more_processors / self.processors)


@dataclass(frozen=True, slots=True)
class Scaling:
    """How a case scales.

    Parameters
    ----------
    case : what was solved
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

    def matrix_ends(self, way: str) -> tuple[Array, Array] | None:
        """Give both ends of each cell of the matrix, the widest that those of the latencies allow; None without intervals."""
        if "latency" not in (ends := self.ways[way].ends):
            return None
        low, high = ends["latency"]
        with np.errstate(all="ignore"):
            return low[:, None] / high[None, :], high[:, None] / low[None, :]


@dataclass(frozen=True, slots=True)
class ScaleResult(QuestionResult):
    """How each case scales."""

    title: ClassVar[str] = "How it scales"
    reading: ClassVar[str] = (
        "Latency is the time of a processor that is not useful. A cell of the matrix is the latency metric L(N) / L(N'), from "
        "the row's N processors to the column's N', the size grown as its way says: 1 scales perfectly, small scales badly."
    )
    leading_columns: ClassVar[bool] = True
    scalings: tuple[Scaling, ...]

    def sentences(self) -> list[str]:
        """Say where each case is fastest, how far it is efficient, and how its work must grow."""
        lines = [f"{each.case}: {line}" for each in self.scalings for line in _sentences(each)]
        first = next((each for each in self.scalings if each.printed), None)
        return [*lines, f"{first.case}: {summary(_statements(first))}"] if first else lines

    def files(self) -> dict[str, list[dict[str, str]]]:
        """Give published cells as statements, once, beside the first case that has them."""
        first = next((each for each in self.scalings if each.printed), None)
        rows = [statement_row(each) for each in _statements(first)] if first else []
        return {"statements-of-scaling.csv": rows} if rows else {}

    def parts(self) -> Iterator[str | ResultTable]:
        """Give the runs of each way to scale, the matrix of scalability and the isoefficiency, case by case."""
        for found in self.scalings:
            yield f"### {escape(found.case)}"
            for way, each in found.ways.items():
                yield _runs_table(found, way, each)
            yield from _matrix(found)
            yield _printed_table(found)
            yield _EXPONENT if found.printed else ""
            yield from _formula(found)

    def draw(self, spec: BandsSpec, order: Mapping[str, int]) -> Figure:
        """Stack the processors by what they do up to the line on which all of them are."""
        return _bands(next(each for each in self.scalings if each.case == spec.case), spec, order)


@dataclass(frozen=True)
class _ScaledCase:
    """What is asked of one case, everything read and built.

    Parameters
    ----------
    case : its name
    spec : what is asked
    built : the model
    runs : the model at any size
    count : numbers of processors, rising
    units : base unit of each size parameter
    memory : the memory of a processor [B]; None if not given
    """

    case: str
    spec: ScaleSpec
    built: BuiltModel
    runs: Runs
    count: Array
    units: Mapping[str, str]
    memory: Expr | None

    def goal(self, way: str) -> float | None:
        """Give what a way keeps, in base units."""
        spec = self.spec
        if way == FIXED_SIZE:
            return None
        kept = (
            spec.time
            if way == TIME_BOUND
            else spec.memory.most
            if way == "memory-bound" and spec.memory
            else spec.efficiency
        )
        assert kept is not None
        return kept.value

    def used(self) -> Callable[[Array, Array], Array] | None:
        """Give the memory of a processor as a function of factor and N."""
        if self.memory is None:
            return None
        tape = Tape([self.memory])

        def used(factor: Array, count: Array) -> Array:
            given = {**self.runs.sizes(factor), self.runs.processors: count}
            found = tape.run({path: each for path, each in given.items() if path in tape.parameters})[0]
            return np.broadcast_to(found, (len(count),))

        return used


@dataclass(frozen=True)
class ScaleQuestion(Question):
    """Cases to scale."""

    cases: tuple[_ScaledCase, ...]

    def solve(self, answers: BaseAnswers) -> ScaleResult:
        """Scale each case in every way that is asked for."""
        return ScaleResult(tuple(map(_scaled, self.cases)))


def read(asked: ScaleSpec, study: StudyContext) -> ScaleQuestion:
    """Read how a study scales each case, and build the models; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, or a value is not allowed
    """
    problems = [
        study.problem((*place, key), f"scale has no {key} {getattr(each, key)!r}, so there are no bands to draw")
        for place, each in study.pictures(BandsSpec)
        for key, there in (("case", asked.cases), ("way", asked.ways))
        if getattr(each, key) not in there
    ]
    if problems:
        raise SpecError(problems)
    return ScaleQuestion(tuple(_read_case(case, asked, study) for case in asked.cases))


def _read_case(case: str, spec: ScaleSpec, study: StudyContext) -> _ScaledCase:
    tree, own = study.tree, evaluator(case, study.cases[case], study.library)
    inputs, built = own.inputs, own.built
    written = at(tree, ["scale", "processors"])
    assert written is not None
    node = Table({"axes": Entry(written.mark, written)}, written.mark)
    sweep = SweepDefinition("scale", SweepSpec(axes=spec.processors, cases=[case]), node, ("scale",))
    plan = planned(sweep, study.cases, study.library)
    path = plan.axes[0].path
    count = np.array([_number(value, study) for value in plan.axes[0].values])
    if len(count) > 1 and not np.all(np.diff(count) > 0):
        raise study.refusal(("scale", "processors"), "the numbers of processors must rise")
    forms = [(group.form, count[group.rows]) for group in plan.groups]
    size = _sizes(case, spec, study, inputs, built, forms[0][0].parameters)
    runs = Runs(forms, path, size, spec.against)
    _check(case, spec, study, runs, count)
    _check_printed(spec, study, count)
    units = {name: str(built.parameters[name].dimension) for name in size}
    return _ScaledCase(case, spec, built, runs, count, units, _memory(spec, study, built, runs))


def _number(value: float | str, study: StudyContext) -> float:
    if isinstance(value, str):
        why = f"numbers of processors are wanted, got {value}"
        raise study.refusal(("scale", "processors"), why)
    return value


def _sizes(
    case: str, spec: ScaleSpec, study: StudyContext, inputs: Inputs, built: BuiltModel, known: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    """Give value and power of each size parameter, all of which must be quantities that the time is computed from."""
    found: dict[str, tuple[float, float]] = {}
    problems: list[Problem] = []
    for written, power in spec.size.items():
        path = canonical(inputs.tree, written)
        value = built.parameters[path].value if path in built.parameters else None
        if path not in known or value is None:
            why = f"{case} has no quantity {written!r} that can grow{did_you_mean(written, known)}"
            problems.append(study.problem(("scale", "size", written), why, key=True))
        elif value <= 0:
            why = f"{written} is {value:g}, and no factor makes it grow; give it a value above 0"
            problems.append(study.problem(("scale", "size", written), why, key=True))
        else:
            found[path] = (value, power)
    if problems:
        raise SpecError(problems)
    return found


def _check(case: str, spec: ScaleSpec, study: StudyContext, runs: Runs, count: Array) -> None:
    if spec.against != "useful":
        if not runs.any_number and 1.0 not in count:
            why = f"{case} is built anew for each number of processors, so list 1 to hold the others against"
            raise study.refusal(("scale", "against"), why)
    elif isinstance(runs.forms[0][0], CompiledLaw):
        why = f"{case} is a law, which does not say what is useful; write against: one-processor"
        raise study.refusal(("scale",), why)


def _check_printed(spec: ScaleSpec, study: StudyContext, count: Array) -> None:
    for index, cell in enumerate(spec.printed):
        for key, number in (("from", cell.fewer), ("to", cell.more)):
            if number not in count:
                why = (
                    f"the cell from {cell.fewer} to {cell.more} processors is not in the matrix; list {number} as well"
                )
                raise study.refusal(("scale", "printed", index, key), why)


def _memory(spec: ScaleSpec, study: StudyContext, built: BuiltModel, runs: Runs) -> Expr | None:
    if spec.memory is None:
        return None
    place = ("scale", "memory", "used")
    # The number of processors may shape the model, and then is no parameter of it.
    names = {runs.processors: Parameter(runs.processors, COUNT, 1.0), **built.parameters}
    made = read_formula(study.tree, place, Formula(spec.memory.used), names, BYTES)
    known = Tape([made]).parameters
    if "memory-bound" in spec.ways and not any(path in known for path in runs.size):
        why = f"{spec.memory.used} does not depend on {', '.join(runs.size)}, so no size fills the memory"
        raise study.refusal(place, why)
    return made


def _scaled(asked: _ScaledCase) -> Scaling:
    """Scale one case in every way it is asked for.

    The efficiency is the useful share of the account, or held against one processor where the study says so; the latency
    is T (1 - E). Sizes are taken as real numbers, also where only whole ones make sense.
    """
    spec, runs, count = asked.spec, asked.runs, asked.count
    ways: dict[str, ScaledRuns] = {way: _scaled_runs(asked, way) for way in spec.ways}
    numbers, scanned = _scanned(runs, count)
    time, efficiency, ends = scanned["time"], scanned["efficiency"], _ends(scanned)
    growth, why = _growth(asked)
    matrix = {way: scalability(each.time, each.efficiency) for way, each in ways.items() if way != FIXED_SIZE}
    return Scaling(
        case=asked.case,
        path=runs.processors,
        processors=count,
        powers={path: power for path, (_, power) in runs.size.items()},
        units=asked.units,
        useful=asked.built.model.useful if isinstance(asked.built.model, Model) else (),
        ways=ways,
        matrix=matrix,
        fastest=_fastest(numbers, time, ends.get("time", (time, time))),
        threshold=spec.threshold.value,
        largest=_largest(numbers, efficiency, spec.threshold.value, ends.get("efficiency", (efficiency, efficiency))),
        growth=growth,
        no_growth=why,
        printed=tuple(_printed(asked, matrix)),
    )


def _printed(asked: _ScaledCase, matrix: Mapping[str, Array]) -> Iterator[PublishedScalability]:
    """Put published cells beside ours."""
    places = {float(number): place for place, number in enumerate(asked.count)}
    for cell in asked.spec.printed:
        for way, value in cell.scalability.items():
            computed = matrix[way][places[cell.fewer], places[cell.more]]
            yield PublishedScalability(cell.fewer, cell.more, way, value, float(computed), cell.source)


def _scaled_runs(asked: _ScaledCase, way: str) -> ScaledRuns:
    """Solve for the sizes, then run at them."""
    runs, count, goal = asked.runs, asked.count, asked.goal(way)
    factor = factors(runs, way, count, goal or 0.0, asked.used())
    known = np.isfinite(factor)
    columns, how = runs.solved(np.where(known, factor, 1.0), count)
    kept = {name: np.where(known, column, np.nan) for name, column in columns.items()}
    accounted = {name[8:-1]: each for name, each in kept.items() if name.startswith("account[")}
    return ScaledRuns(
        goal=goal,
        unit=_UNITS.get(way, "1"),
        sizes=runs.sizes(factor),
        time=kept["time"],
        efficiency=kept["efficiency"],
        account=accounted,
        failed={int(index): _why(asked, way, float(count[index])) for index in np.flatnonzero(~known)},
        ends=_ends(kept),
        provenance=how,
    )


def _ends(columns: Mapping[str, Array]) -> dict[str, tuple[Array, Array]]:
    """Give the ends of the intervals of estimates; those of T (1 - E) are the widest that T and E allow."""
    names = [name for name in columns if name in ("time", "efficiency") or name.startswith("account[")]
    found = {name: (columns[f"low[{name}]"], columns[f"high[{name}]"]) for name in names if f"low[{name}]" in columns}
    if "time" in found and "efficiency" in found:
        (least, most), (low, high) = found["time"], found["efficiency"]
        found["latency"] = least * np.maximum(1.0 - high, 0.0), most * (1.0 - low)
    return found


def _why(asked: _ScaledCase, way: str, count: float) -> str:
    """Say why no size was found, and what there is at the size that the case gives."""
    one, here = np.ones(1), np.array([count])
    used = asked.used()
    if way == "memory-bound" and used is not None:
        own, unit = float(used(one, here)[0]), "B"
    else:
        name, unit = ("time", "s") if way == TIME_BOUND else ("efficiency", "")
        own = float(asked.runs.columns(one, here)[name][0])
    return (
        f"no size within a factor of 2^64 keeps {asked.goal(way):.4g} {unit}".rstrip()
        + f"; the case's own gives {own:.4g}"
    )


def _scanned(runs: Runs, count: Array) -> tuple[Array, dict[str, Array]]:
    """Run the fixed size on every whole number of processors where that costs little, else on those that are listed."""
    numbers = count
    whole = runs.any_number and runs.forms[0][0].block > 1 and float(count[-1] - count[0]) < _MOST_SCANNED
    if whole:
        numbers = np.arange(np.ceil(count[0]), np.floor(count[-1]) + 1.0)
    return numbers, runs.columns(np.ones(len(numbers)), numbers)


def _fastest(numbers: Array, time: Array, ends: tuple[Array, Array]) -> BestProcessors:
    """Find the least time; undecided against every time whose interval begins before that of the least ends."""
    best = np.isfinite(time) & (time == np.nanmin(time, initial=np.inf))
    place = int(np.argmax(best))
    low, high = ends
    return _extreme(numbers, time, place if best.any() else None, ends, (low <= high[place]) & (low < high))


def _largest(numbers: Array, efficiency: Array, threshold: float, ends: tuple[Array, Array]) -> BestProcessors:
    """Find the last efficiency above a threshold; undecided wherever the threshold lies in the interval."""
    above = np.flatnonzero(efficiency >= threshold)
    low, high = ends
    place = int(above[-1]) if len(above) else None
    return _extreme(numbers, efficiency, place, ends, (low < threshold) & (threshold < high))


def _extreme(
    numbers: Array, values: Array, place: int | None, ends: tuple[Array, Array], undecided: NDArray[np.bool_]
) -> BestProcessors:
    others = tuple(float(numbers[index]) for index in np.flatnonzero(undecided) if index != place)
    if place is None:
        return BestProcessors(None, float("nan"), at_the_end=False, undecided=others)
    low, high = (finite(float(end[place])) for end in ends)
    certain = low == high
    return BestProcessors(
        float(numbers[place]),
        float(values[place]),
        at_the_end=place == len(numbers) - 1,
        ends=NO_ENDS if certain else (low, high),
        undecided=others,
    )


def _growth(asked: _ScaledCase) -> tuple[IsoefficiencyFormula | None, str]:
    """Take the isoefficiency in symbols, or say why there is none."""
    model, spec, form = asked.built.model, asked.spec, asked.runs.forms[0][0]
    numbers_of_processors = {asked.runs.processors: asked.count} if asked.runs.any_number else {}
    if isinstance(form, DefaultForm) and form.closed.exact(numbers_of_processors).all():
        form = form.closed
    if spec.efficiency is None or not spec.size:
        return None, ""
    if not isinstance(model, Model | Law) or not isinstance(form, ClosedForm | CompiledLaw):
        return None, "only a closed form has one"
    if not asked.runs.any_number:
        return None, "the model is built anew for each number of processors"
    powers = {path: power for path, (_, power) in asked.runs.size.items()}
    numbers = {path: each.value for path, each in asked.built.parameters.items() if each.value is not None}
    size = next(iter(powers)) if len(powers) == 1 else powers
    try:
        run = run_of(model, size, asked.runs.processors, against=spec.against, values=numbers)
        found = isoefficiency(run, spec.efficiency.value)
    except ModelError as error:
        return None, str(error)
    names = _short_names(run, found.ratio_symbol)

    def text(expression: object) -> str:
        return str(expression.xreplace(names))  # type: ignore[attr-defined]

    since = {each.term: each.since for each in reversed(found.dominant_terms)}
    terms = [
        OverheadTerm(
            text(each.term.expression),
            "" if each.never else text(found.order_of(each)),
            since.get(each.term.expression),
        )
        for each in found.needs
    ]
    terms += [OverheadTerm(text(each.expression), "", None) for each in found.gains]
    return IsoefficiencyFormula(
        efficiency=found.efficiency,
        overhead=text(run.overhead),
        work=text(run.work),
        terms=tuple(terms),
        order="" if found.order is None else text(found.order),
        exact="" if found.exact is None else text(found.exact),
        limit=found.limit,
    ), ""


def _short_names(run: Run, ratio: Any) -> dict[Any, Any]:
    """Call each symbol by the last part of its path where that is its alone, and E / (1 - E) by its letter."""
    import sympy

    paths = [str(each) for each in (run.size, run.processors, *run.values)]
    ends = [path.rpartition(".")[2] for path in paths]
    short = {path: end for path, end in zip(paths, ends, strict=True) if ends.count(end) == 1}
    made = {sympy.Symbol(path, positive=True): sympy.Symbol(end, positive=True) for path, end in short.items()}
    return {**made, ratio: sympy.Symbol("K", positive=True)}


_SYMBOLS = (
    "In the closed form, with K = E / (1 - E), the work must grow as below: each term of the overhead asks for work by "
    "itself, and for large N the one that grows fastest decides. Rounding is left out."
)


def _sentences(found: Scaling) -> list[str]:
    lines = [_fastest_words(found.fastest), _largest_words(found.largest, found.threshold)]
    return [*lines, *([] if found.growth is None else [_verdict(found.growth)])]


def _fastest_words(best: BestProcessors) -> str:
    if best.processors is None:
        return "At a fixed size no number of processors has an answer"
    end = ", the most that were looked at" if best.at_the_end else ""
    return f"At a fixed size it is fastest on {best.processors:g} processors{end}: {quantity(best.value, 's', ends=best.ends)}{best.doubt}"


def _largest_words(best: BestProcessors, threshold: float) -> str:
    wanted = f"an efficiency of at least {percent(threshold)}"
    if best.processors is None:
        return f"At a fixed size no number of processors has {wanted}{best.doubt}"
    end = ", the most that were looked at" if best.at_the_end else ""
    return f"At a fixed size it has {wanted} on up to {best.processors:g} processors{end}: {percent(best.value, ends=best.ends)}{best.doubt}"


def _runs_table(found: Scaling, way: str, each: ScaledRuns) -> ResultTable:
    """Lay out one way to scale, a row for each number of processors."""
    count = len(found.processors)
    causes = _causes(found, each)
    table = found.matrix.get(way)
    goal = percent(each.goal) if each.unit == "1" else quantity(each.goal, each.unit)
    fixed = each.goal is None
    columns = [
        ResultColumn("case", [found.case] * count, place=True, on_page=False),
        ResultColumn(found.path, found.processors, "1", title="N", written=as_number, place=True),
        *(ResultColumn(path, values, found.units[path], on_page=not fixed) for path, values in each.sizes.items()),
        ResultColumn("time", each.time, "s", each.ends.get("time")),
        ResultColumn("efficiency", each.efficiency, "1", each.ends.get("efficiency"), written=as_percent),
        ResultColumn("latency", each.latency, "s", each.ends.get("latency")),
    ]
    for name, values in each.account.items():
        ends = each.ends.get(f"account[{name}]")
        columns.append(ResultColumn(f"account[{name}]", values, "s", ends, escape(name), on_page=name in causes))
    # A row of the matrix is from one number of processors; here it is a column.
    if table is not None:
        ends_of = found.matrix_ends(way)
        columns += [
            ResultColumn(
                f"scalability[{number:g}]",
                table[place],
                "1",
                ends_of and (ends_of[0][place], ends_of[1][place]),
                on_page=False,
            )
            for place, number in enumerate(found.processors[:-1])
        ]
    title = f"#### {way}" + ("" if fixed else escape(f", keeping {goal}"))
    return ResultTable(f"scale/{way}", columns, each.provenance, each.failed, title)


def _causes(found: Scaling, each: ScaledRuns) -> dict[str, Array]:
    """Give the sources of the latency: what the account holds besides the useful."""

    return {
        name: values
        for name, values in each.account.items()
        if name not in found.useful and np.nanmax(values, initial=0.0) > 0
    }


def _matrix(found: Scaling) -> Iterator[ResultTable]:
    """Lay out the upper triangle, a table for each way (Scale-Graph, IEEE TSE 1997, Figure 14)."""
    numbers = found.processors
    for way, table in found.matrix.items():
        how, ends = found.ways[way].provenance, found.matrix_ends(way)
        rows = range(len(numbers) - 1)
        columns = [ResultColumn("N \\ N'", numbers[:-1], written=as_number, place=True)]
        for place in range(1, len(numbers)):
            upper = [table[row, place] if place > row else math.nan for row in rows]
            between = ends and ([ends[0][row, place] for row in rows], [ends[1][row, place] for row in rows])
            columns.append(ResultColumn(f"{numbers[place]:g}", upper, "1", between, written=as_ratio))
        outside = {row: words for row, words in how.outside.items() if row in rows}
        row_how = Provenance(how.methods[:-1], how.exact[:-1], outside)
        yield ResultTable("", columns, row_how, title=f"#### Matrix of scalability: {way}")


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
            f"{each.printed:.2f}",
            source=each.source,
            wanted=f"{each.printed:.2f}, within 0.005",
            unit="1",
            values=(CheckedValue(found.case, ComparedNumber(*[each.computed] * 3), each.agrees),),
            needed=1,
            methods=found.ways[each.way].provenance.methods[row],
            exact=bool(found.ways[each.way].provenance.exact[row]),
        )
        for each, row in zip(found.printed, _printed_rows(found), strict=True)
    ]


def _printed_rows(found: Scaling) -> list[int]:
    """Give the place of the larger number of processors of each published cell."""
    return [int(np.flatnonzero(found.processors == each.more_processors)[0]) for each in found.printed]


def _printed_table(found: Scaling) -> ResultTable:
    """Put published cells of the matrix beside ours; each is by the method of the larger number of processors."""
    cells = found.printed
    rows = _printed_rows(found)
    ways = [found.ways[each.way].provenance for each in cells]
    columns = [
        ResultColumn("cell", [f"{each.processors:g} to {each.more_processors:g}" for each in cells], place=True),
        ResultColumn("way", [each.way for each in cells], place=True),
        ResultColumn("printed", [each.printed for each in cells], "1", written=as_ratio),
        ResultColumn("here", [each.computed for each in cells], "1", written=as_ratio),
        ResultColumn("exponent as printed", [each.exponent(each.printed) for each in cells], "1", written=as_ratio),
        ResultColumn("exponent here", [each.exponent(each.computed) for each in cells], "1", written=as_ratio),
        ResultColumn("source", [each.source for each in cells]),
    ]
    methods = [how.methods[row] for how, row in zip(ways, rows, strict=True)]
    exact = [bool(how.exact[row]) for how, row in zip(ways, rows, strict=True)]
    return ResultTable("", columns, Provenance(methods, exact))


def _formula(found: Scaling) -> Iterator[str]:
    """Write the isoefficiency in symbols, or why there is none."""
    growth = found.growth
    if growth is None:
        yield f"No isoefficiency in symbols: {escape(found.no_growth)}." if found.no_growth else ""
        return
    rows = [[code(each.text), code(each.order) if each.order else NOTHING, _since(each.since)] for each in growth.terms]
    exact = f"Exactly, W = {code(growth.exact)}." if growth.exact else ""
    yield f"#### Isoefficiency at {percent(growth.efficiency)}"
    yield _SYMBOLS
    yield f"Work {code(growth.work)}, overhead {code(growth.overhead)}."
    yield markdown_table(["term of the overhead", "work grows as", "asks for the most from N"], rows, [2])
    yield f"{escape(_verdict(growth)) if growth.limit else _verdict(growth, code(growth.order))}. {exact}".strip()


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


def _bands(found: Scaling, spec: BandsSpec, order: Mapping[str, int]) -> Figure:
    bands, each = bands_of(found, spec.way), found.ways[spec.way]
    figure = sheet(6.8, 4.4)
    axes = figure.subplots()
    below = np.zeros(len(found.processors))
    for number, (label, heights) in enumerate(bands.items()):
        fill = order.get(label, number)
        above = below + heights
        axes.fill_between(found.processors, below, above, label=label, **filled(fill))
        if ends := each.ends.get(f"account[{label}]"):
            low, high = (below + found.processors * end / each.time for end in ends)
            draw_intervals(axes, found.processors, above, low, high)
        below = above
    axes.plot(found.processors, found.processors, color="black", linewidth=1.2, label="all processors")
    axes.set_xlim(found.processors[0], found.processors[-1])
    axes.set_ylim(0, found.processors[-1])
    plain_ticks(axes.xaxis, found.processors)
    axes.set_xlabel(axis_title(found.path, "1"))
    axes.set_ylabel(axis_title("processors", "1"))
    handles, labels = axes.get_legend_handles_labels()
    legend_of(figure, handles[::-1], labels[::-1], "component")
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

    each, count = found.ways[way], found.processors
    if not each.account:
        return {"useful": count * each.efficiency, "lost": count * (1.0 - each.efficiency)}
    names = sorted(each.account, key=lambda name: name not in found.useful)
    with np.errstate(all="ignore"):
        bands = {name: count * each.account[name] / each.time for name in names}
    return {name: heights for name, heights in bands.items() if np.nanmax(heights, initial=0.0) > 0}

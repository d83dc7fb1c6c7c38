"""Scaling: the size that each number of processors needs, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, Problem, SpecError, did_you_mean
from slipstick.expression.dimension import BYTES, COUNT
from slipstick.expression.nodes import Expr, Parameter
from slipstick.expression.tape import Tape
from slipstick.law import Law
from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.closed_form.law import CompiledLaw
from slipstick.method.methods import DefaultForm
from slipstick.method.scaling.isoefficiency import isoefficiency
from slipstick.method.scaling.overhead import Run, run_of
from slipstick.method.scaling.ways import FIXED_SIZE, TIME_BOUND, Runs, factors, scalability
from slipstick.model.system import Model
from slipstick.report.formatting import NO_ENDS, finite
from slipstick.report.questions.scale import (
    BestProcessors,
    IsoefficiencyFormula,
    OverheadTerm,
    PublishedScalability,
    ScaledRuns,
    ScaleResult,
    Scaling,
)
from slipstick.results.study import Array
from slipstick.schema.build import BuiltModel
from slipstick.schema.inputs import Inputs
from slipstick.schema.kinds.quantity import Formula
from slipstick.schema.kinds.study import BandsSpec, ScaleSpec, SweepSpec
from slipstick.schema.text.nodes import Entry, Table, at, canonical
from slipstick.schema.values import read_formula
from slipstick.study.cases import StudyContext, SweepDefinition
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.sweep import planned
from slipstick.vocabulary import CLOSED_FORM

_MOST_SCANNED = 10_000
_UNITS = {"time-bound": "s", "efficiency-conserved": "1", "memory-bound": "B"}


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
        method=_method(runs),
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


def _method(runs: Runs) -> str:
    """Name the methods that answer on the numbers of processors, in their order."""
    found: list[str] = []
    for form, numbers in runs.forms:
        values = {runs.processors: numbers} if runs.any_number else {}
        if isinstance(form, DefaultForm):
            found += [CLOSED_FORM if exact else form.method for exact in np.atleast_1d(form.closed.exact(values))]
        else:
            first = {path: each[:1] for path, each in values.items()}
            found.append(form.points(first).answer(0, shares=False).method)
    return " and ".join(dict.fromkeys(found))


def _scaled_runs(asked: _ScaledCase, way: str) -> ScaledRuns:
    """Solve for the sizes, then run at them."""
    runs, count, goal = asked.runs, asked.count, asked.goal(way)
    factor = factors(runs, way, count, goal or 0.0, asked.used())
    known = np.isfinite(factor)
    columns = runs.columns(np.where(known, factor, 1.0), count)
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

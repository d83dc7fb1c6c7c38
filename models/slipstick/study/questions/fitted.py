"""Measured runs in a study: accounts, fits, and fitted values laid over the base."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from slipstick.errors import ModelError, NoAnswerError, Problem, SpecError, UnknownNameError
from slipstick.measure.account import Measured, measured
from slipstick.measure.fit.comparison import APART, IntervalSettings, fits
from slipstick.measure.fit.families import FAMILIES, family_called
from slipstick.measure.fit.formula import Family, Timings, oddities, timings_of
from slipstick.measure.fit.model import FitSettings, PreparedModel, model_family, prepare_model
from slipstick.measure.formats import read
from slipstick.measure.measurements import Measurements
from slipstick.results.study import Fitting
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import FitSpec, MadeSpec, StudySpec
from slipstick.schema.library import Library, find, names, table_called
from slipstick.schema.text.nodes import Node, Scalar, Table, at, from_plain
from slipstick.schema.validate import problem

DIGITS = 6
"""Of a fitted value that is laid over the base: more would differ from machine to machine."""


@dataclass(frozen=True, slots=True)
class Fits:
    """What a study fits, read and checked.

    Parameters
    ----------
    spec : of each fit, by name
    timings : of each
    truth : times that are known, by fit and processors [s]
    families : of each; the base with free parameters first
    sources : where the times of each come from
    base : the base, for the fit that frees some of it
    odd : what is odd about the files
    """

    spec: Mapping[str, FitSpec]
    timings: Mapping[str, Timings] = field(default_factory=dict)
    truth: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    families: Mapping[str, list[str | Family]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    base: PreparedModel | None = None
    odd: tuple[Problem, ...] = ()


def accounts(spec: StudySpec, tree: Table, library: Library) -> dict[str, Measured]:
    """Account for the measured runs of a study.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    library : what was read so far

    Raises
    ------
    SpecError : a file is missing or wrong
    """
    found = {}
    for name, each in spec.measured.items():
        path = ("measured", name)
        timer = each.timer.value if each.timer else None
        runs = _runs(each.data, tree, (*path, "data"), library)
        try:
            found[name] = measured(runs, each.statistic, each.region, timer)
        except UnknownNameError as error:
            raise SpecError([problem(tree, (*path, "region"), str(error))]) from None
    return found


def read_fits(spec: StudySpec, tree: Table, cases: Mapping[str, Settings], base: Settings, library: Library) -> Fits:
    """Read and check everything that a study fits, without fitting it.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    cases : settings of each case before anything is fitted
    base : settings of the base
    library : what was read so far

    Raises
    ------
    SpecError : a file, a family, a case or a free path is wrong
    """
    timings: dict[str, Timings] = {}
    truth: dict[str, Mapping[float, float]] = {}
    families: dict[str, list[str | Family]] = {}
    sources: dict[str, str] = {}
    free: PreparedModel | None = None
    odd: list[Problem] = []
    for name, each in spec.fits.items():
        path = ("fits", name)
        try:
            families[name] = [family_called(family) for family in each.families or FAMILIES]
        except UnknownNameError as error:
            raise SpecError([problem(tree, (*path, "families"), str(error))]) from None
        if each.made is None:
            runs = _runs(each.data, tree, (*path, "data"), library)
            timings[name] = _timings(runs, each, tree, path)
            odd += oddities(runs, each.region)
            sources[name] = each.data.rpartition("/")[2]
        else:
            timings[name], truth[name] = _made(each.made, each.at, tree, path, cases, library)
            sources[name] = f"timings made up from {each.made.case}"
        if each.free:
            free = _freed(each, tree, path, base, library)
            families[name].insert(0, model_family(free))
    return Fits(spec.fits, timings, truth, families, sources, free, tuple(odd))


def fitted(asked: Fits, drawn: Collection[str] = ()) -> tuple[dict[str, Fitting], Settings]:
    """Fit, and give the values that are laid over the base.

    Parameters
    ----------
    asked : as `read_fits` gives it
    drawn : the fits that are drawn, and so need curves

    Raises
    ------
    NoAnswerError : nothing can be fitted to some data
    """
    found: dict[str, Fitting] = {}
    laid: dict[str, Node] = {}
    for name, spec in asked.spec.items():
        processors = [float(each) for each in spec.at]
        done = fits(
            asked.timings[name],
            asked.families[name],
            processors,
            IntervalSettings(spec.intervals),
            name in drawn,
            spec.efficiency.value,
        )
        found[name] = replace(done, source=asked.sources[name], truth=asked.truth.get(name, {}))
        if spec.free and asked.base is not None:
            laid = _laid(asked.base, done, asked.sources[name])
            found[name] = _with_base(found[name], asked.base.built.name)
    return found, laid


def _with_base(found: Fitting, base: str) -> Fitting:
    """Say that the base is fitted, and warn where the data prefer something else by far."""
    behind = next(each for each in found.answers if each.model == base)["behind"] or 0.0
    if behind < APART:
        return replace(found, laid=base)
    why = (
        f"the base, {base}, is {behind:.1f} behind {found.answers[0].model}: the data do not support what its cases say"
    )
    return replace(found, laid=base, warnings=(*found.warnings, why))


def _laid(base: PreparedModel, done: Fitting, source: str) -> dict[str, Node]:
    answer = next(each for each in done.answers if each.model == base.built.name)
    if answer.failed:
        raise NoAnswerError(f"the base cannot be fitted to {source}: {answer.failed}")
    mark = base.asked.free[0].mark
    laid = {}
    for letter in base.letters:
        text = f"{answer[letter.name]:.{DIGITS}g}"
        value = text if letter.unit == "1" else f"{text} {letter.unit}"
        laid[letter.name] = from_plain({"value": value, "source": f"fitted to {source}"}, mark)
    return laid


def _runs(data: str, tree: Table, path: tuple[str, ...], library: Library) -> Measurements:
    place = _node(tree, path).mark
    if data in names("profile"):
        library.load("profile", data, place, "data")
        return read(find("profile", data))
    return read(library.beside(table_called(data) or data, place))


def _timings(runs: Measurements, spec: FitSpec, tree: Table, path: tuple[str, ...]) -> Timings:
    try:
        return timings_of(runs, spec.region, spec.of_size)
    except UnknownNameError as error:
        raise SpecError([problem(tree, (*path, "region"), str(error))]) from None
    except ModelError as error:
        raise SpecError([problem(tree, (*path, "data"), str(error))]) from None


def _freed(spec: FitSpec, tree: Table, path: tuple[str, ...], base: Settings, library: Library) -> PreparedModel:
    if not base.keys() & {"model", "workload"}:
        raise SpecError([problem(tree, (*path, "free"), "free paths are those of the base; name its model")])
    free = [_scalar(tree, (*path, "free", str(index))) for index in range(len(spec.free))]
    population = _scalar(tree, (*path, "population")) if spec.population else None
    size = _scalar(tree, (*path, "size")) if spec.size else None
    return prepare_model(FitSettings(base, free, population, size, spec.cycles), library)


def _made(
    spec: MadeSpec,
    wanted: list[int],
    tree: Table,
    path: tuple[str, ...],
    cases: Mapping[str, Settings],
    library: Library,
) -> tuple[Timings, dict[float, float]]:
    """Make up timings: those of a case, with relative noise from a named stream."""
    if spec.case not in cases:
        words = str(UnknownNameError("case", spec.case, list(cases)))
        raise SpecError([problem(tree, (*path, "made", "case"), words)])
    population = _scalar(tree, (*path, "made", "population")) if spec.population else None
    model = prepare_model(FitSettings(cases[spec.case], [], population, None, None if spec.cycles else 1), library)
    p = np.repeat(np.array(spec.processors, dtype=float), spec.repetitions)
    points = Timings(p, np.ones(len(p)), p, spec.cycles)
    try:
        (form,) = model_family(model).forms(points)
    except NoAnswerError as error:
        raise SpecError([problem(tree, (*path, "made"), str(error))]) from None
    random = np.random.default_rng([spec.seed, *path[-1].encode()])
    noise = np.exp(spec.noise.value * random.standard_normal(len(p)))
    far = np.array(wanted, dtype=float)
    truth = form.times(model.start[None], Timings(far, np.ones(len(far)), far, spec.cycles))[0] if wanted else far
    times = form.times(model.start[None], points)[0] * noise
    return points.with_time(times), dict(zip(far.tolist(), truth.tolist(), strict=True))


def _node(tree: Table, path: tuple[str, ...]) -> Node:
    found = at(tree, path)
    assert found is not None
    return found


def _scalar(tree: Table, path: tuple[str, ...]) -> Scalar:
    found = _node(tree, path)
    assert isinstance(found, Scalar)
    return found

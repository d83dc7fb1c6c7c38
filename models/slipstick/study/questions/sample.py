"""Samples: uncertain quantities drawn, the answers' quantiles, and what causes their variance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

from slipstick.errors import Problem, SpecError, UnknownNameError, did_you_mean
from slipstick.expression.nodes import Dimension
from slipstick.late import Array, NDArray, np
from slipstick.model.uncertainty import Uncertainty, random_stream, sample_points
from slipstick.report.formatting import (
    Ends,
    as_percent,
    code,
    escape,
    percent,
    quantity,
    value_amount,
)
from slipstick.report.look import STROKES, axis_title, filled, sheet, titled
from slipstick.results.question import Decision, QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.results.words import Words
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import HistogramSpec, SampleSpec
from slipstick.schema.kinds.technology import Uncertain, distribution_of, quantities
from slipstick.schema.text import Node, canonical, value_mark
from slipstick.study.cases import StudyContext, quantity_node
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REPLICATIONS = 8
"""The number of independent sets of points from which the interval of a quantile is computed."""

_T_95 = 2.364624251592785
"""Student's t for 95 % and one less degrees of freedom than replications."""


@dataclass(frozen=True, slots=True)
class SensitivityIndex:
    """How much of the variance of an answer one quantity causes, alone and with all it acts
    together with [1].
    """

    path: str
    first_order: float
    total: float


@dataclass(frozen=True, slots=True)
class SampledValue:
    """How one sampled answer is distributed.

    Parameters
    ----------
    name, unit : of the answer
    stated : with every quantity as the case gives it, in base units
    mean : of the points
    quantiles : by part, each with the ends of its 95 % interval
    points : all values, in the order in which they were drawn
    influences : of each quantity, the largest total first; empty where they were not asked for, or
        cannot be told
    why : they cannot be told
    """

    name: str
    unit: str
    stated: float | None
    mean: float
    quantiles: Mapping[float, tuple[float, float, float]]
    points: Array = field(repr=False)
    influences: tuple[SensitivityIndex, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class SampleStudy:
    """What uncertain quantities make of the answers of one case.

    Parameters
    ----------
    case : what was solved
    of : each distribution in words, by path
    outcomes : of each answer
    samples, draw, seed : how points were drawn
    without : points without an answer
    method, exact, bound, error : how the points were computed, the first that is outside of its
        bounds, and the class of the error where the method promises none
    left_out : losses of the import that the model comes from
    """

    case: str
    of: Mapping[str, str]
    outcomes: tuple[SampledValue, ...]
    samples: int
    draw: str
    seed: int
    without: int = 0
    method: str = ""
    exact: bool = False
    bound: str = ""
    error: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampleResult(QuestionResult):
    """What uncertain quantities make of the answers, case by case."""

    title: ClassVar[str] = "Uncertain quantities"
    reading: ClassVar[str] = (
        "First order: the part of the variance that the quantity causes alone; total: with all that"
        " it acts together with. Their sums differ from 100 % as far as quantities act together,"
        " and by what the number of points leaves open. Brackets hold the 95 % interval of a"
        " quantile."
    )
    samples: tuple[SampleStudy, ...]

    def sentences(self) -> list[str]:
        """Describe the range of each answer, and what causes it."""
        return [
            f"{found.case}: {_sentence(each)}" for found in self.samples for each in found.outcomes
        ]

    def headline(self, words: Words) -> list[str]:
        """State between what the first answers lie, and what causes it."""
        several = len(self.samples) > 1
        heads = [
            _head(each, words.case(found.case) if several else "", words)
            for found in self.samples
            for each in found.outcomes[:2]
        ]
        return heads[:2]

    def decision(self, words: Words) -> Decision | None:
        """Return the outer quantiles and the middle of each answer, case by case."""
        rows = [
            [words.case(found.case), words.value(each.name), *_outer(each)]
            for found in self.samples
            for each in found.outcomes
        ]
        return (["", "", "low", "middle", "high"], rows[:_MOST_ROWS]) if len(rows) > 1 else None

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield the distributions, the quantiles and the causes of the variance, case by case."""
        for found in self.samples:
            missing = f"; {found.without} have no answer" if found.without else ""
            yield f"### {escape(found.case)}"
            yield f"{found.samples} {found.draw} points, seed {found.seed}{missing}."
            yield "\n".join(f"- {code(path)}: {escape(words)}" for path, words in found.of.items())
            yield _quantile_table(found)
            yield _influence_table(found)

    def draw(self, spec: HistogramSpec, order: Mapping[str, int]) -> Figure:
        """Draw how a sampled value is distributed, its quantiles as lines."""
        outcomes = {
            each.name: each
            for found in self.samples
            if found.case == spec.case
            for each in found.outcomes
        }
        if spec.value not in outcomes:
            raise UnknownNameError("sampled value", spec.value, list(outcomes))
        figure = sheet(6.8, 4.0)
        axes = figure.subplots()
        _histogram(axes, outcomes[spec.value])
        return titled(figure, spec.title, None, *axes.get_legend_handles_labels())


@dataclass(frozen=True)
class _SampledCase:
    """What is asked of one case, with its distributions by path, as parameters are called, and
    in words.
    """

    spec: SampleSpec
    case: Evaluator
    distributions: Mapping[str, Uncertainty]
    words: Mapping[str, str]


def read(asked: SampleSpec, study: StudyContext) -> Question:
    """Read what a study samples, and build the models; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, or a distribution reaches values that are not allowed there
    """
    problems = [
        study.problem(place, f"this draws a sample of {each.case}, and the study has none")
        for place, each in study.pictures(HistogramSpec)
        if each.case not in asked.cases
    ]
    cases = []
    for case in asked.cases:
        built = evaluator(
            case, _with_all(asked, study.tree, study.cases[case]), study.library
        ).smoothed
        found: dict[str, Uncertainty] = {}
        words: dict[str, str] = {}
        for written, each in asked.of.items():
            path = canonical(built.inputs.tree, written)
            found[path], words[path] = distribution_of(each), _in_words(each)
            problems += _problems(written, path, each, found[path], built, study)
        cases.append(_SampledCase(asked, built, found, words))
    if problems:
        raise SpecError(problems)

    def solve(answers: BaseAnswers) -> SampleResult:
        return SampleResult(tuple(_sampled(each, answers.wanted) for each in cases))

    names = {sampled.case.case: sampled.case.names for sampled in cases}
    return Question(solve, values=asked.answer, names_by_case=names)


def _with_all(spec: SampleSpec, tree: Node, settings: Settings) -> Settings:
    """Set what is optional and sampled, a class of cost for one, to its middle value, so that it
    is there.
    """
    middle: dict[str, Node] = {}
    for path, each in spec.of.items():
        if path.startswith("technology."):
            value = distribution_of(each).value_at(0.5)
            middle[path] = quantity_node(
                value, str(each.dimension), value_mark(tree, ["sample", "of", path])
            )
    return {**middle, **settings}


def _problems(
    written: str,
    path: str,
    spec: Uncertain,
    distribution: Uncertainty,
    built: Evaluator,
    study: StudyContext,
) -> Iterator[Problem]:
    """Refuse a path that is no quantity, or shapes the model, and check the least and the
    largest value in their place.
    """
    place = ("sample", "of", written)
    if not built.built.computed_from([path]) or path not in built.built.parameters:
        near = did_you_mean(written, sorted(built.built.free & built.built.parameters.keys()))
        why = (
            f"no answer of {built.case} is computed from {written} as a number that can be"
            f" anything{near}"
        )
        yield study.problem(place, why, key=True)
        return
    dimension = built.built.parameters[path].dimension
    if spec.dimension != dimension:
        yield study.problem(
            place, f"{written} is a [{dimension}], and this is distributed as a [{spec.dimension}]"
        )
        return
    mark = value_mark(study.tree, place)
    for value in map(distribution.value_at, (1e-9, 0.5, 1 - 1e-9)):
        try:
            built.inputs.with_value(written, quantity_node(value, str(spec.dimension), mark)).given(
                written
            )
        except SpecError as error:
            what = error.problems[0].message
            yield study.problem(
                place, f"{what}; one of its values is not allowed, so choose another distribution"
            )
            return


def _in_words(spec: Uncertain) -> str:
    given: dict[str, list[str]] = {}
    for key, each in quantities(spec).items():
        given.setdefault(str(key[0]), []).append(each.text)
    for name in ("spread", "weights"):
        value = getattr(spec, name, None) or []
        given |= (
            {name: [each.text for each in (value if isinstance(value, list) else [value])]}
            if value
            else {}
        )
    said = ", ".join(f"{name} {' '.join(texts)}" for name, texts in given.items())
    return f"{getattr(spec, 'distribution', '')}: {said}{', a guess' if spec.assumed else ''}"


def _sampled(asked: _SampledCase, answer: Sequence[str]) -> SampleStudy:
    """Draw points, answer at each, and read off quantiles and indices.

    Points come in eight independent sets, each scrambled anew; how far the sets' quantiles differ
    says how sure they are (Student's t). Sensitivity indices are SciPy's, after Saltelli.
    """
    spec, case = asked.spec, asked.case
    names = [name for name in dict.fromkeys(spec.answer or answer) if name in case.names]
    points = _points(asked)
    # A value of a known name may have no meaning at any point, and then no column.
    nothing = dict.fromkeys(names, np.full(spec.samples, np.nan))
    solved, how = case.solved(points, {*names, case.form.quantity})
    found = {**nothing, **solved}
    own = {**nothing, **case.columns({}, names)}
    without = int(np.count_nonzero(~np.isfinite(found[case.form.quantity])))
    influences, why = (
        _influences(asked, {name: found[name] for name in names})
        if spec.indices and not without
        else ({}, "")
    )
    if spec.indices and without:
        why = f"{without} points have no answer, so the variance cannot be shared out"
    outcomes = [
        SampledValue(
            name=name,
            unit=case.unit(name),
            stated=float(own[name][0]) if np.isfinite(own[name][0]) else None,
            mean=float(np.nanmean(found[name])) if np.isfinite(found[name]).any() else float("nan"),
            quantiles=_quantiles(found[name], spec.band.value),
            points=found[name],
            influences=influences.get(name, ()),
            why=why,
        )
        for name in names
    ]
    return SampleStudy(
        case.case,
        asked.words,
        tuple(outcomes),
        spec.samples,
        spec.draw,
        spec.seed,
        without,
        **how.together,
    )


def _points(asked: _SampledCase) -> dict[str, Array]:
    spec = asked.spec
    sets = [
        sample_points(
            asked.distributions,
            spec.samples // _REPLICATIONS,
            random_stream(spec.seed, "sample", number),
            spec.draw,
        )
        for number in range(_REPLICATIONS)
    ]
    return {path: np.concatenate([each[path] for each in sets]) for path in asked.distributions}


def _quantiles(values: Array, band: float) -> dict[float, tuple[float, float, float]]:
    """Return quantiles of all points, each with its interval from those of the sets."""
    known = values[np.isfinite(values)]
    found = {}
    for part in ((1 - band) / 2, 0.5, (1 + band) / 2):
        part = round(part, 12)
        if not len(known):
            found[part] = (float("nan"),) * 3
            continue
        middle = float(np.quantile(known, part))
        sets = [each[np.isfinite(each)] for each in np.split(values, _REPLICATIONS)]
        each_set = [float(np.quantile(each, part)) for each in sets if len(each)]
        half = (
            _T_95 * float(np.std(each_set, ddof=1)) / len(each_set) ** 0.5
            if len(each_set) > 1
            else float("nan")
        )
        found[part] = (middle, middle - half, middle + half)
    return found


def _influences(
    asked: _SampledCase, found: Mapping[str, Array]
) -> tuple[dict[str, tuple[SensitivityIndex, ...]], str]:
    """Ask SciPy for first-order and total indices of every answer that varies."""
    from scipy.stats import sobol_indices

    paths = sorted(asked.distributions)
    # Of an answer that never changes nothing causes the variance.
    kept = [
        name
        for name, points in found.items()
        if np.isfinite(points).all() and np.ptp(points) > 1e-12 * abs(points[0])
    ]

    def function(points: NDArray[np.float64]) -> NDArray[np.float64]:
        solved = asked.case.columns(dict(zip(paths, points, strict=True)), kept)
        return np.stack([solved[name] for name in kept])

    if not kept:
        return {}, "no answer changes"
    if len(paths) == 1:
        return {name: (SensitivityIndex(paths[0], 1.0, 1.0),) for name in kept}, ""
    rng = random_stream(asked.spec.seed, "sample:indices")
    dists = [SimpleNamespace(ppf=asked.distributions[path].quantile) for path in paths]
    result = sobol_indices(func=function, n=asked.spec.samples, dists=dists, rng=rng)
    first, total = np.atleast_2d(result.first_order), np.atleast_2d(result.total_order)
    return {
        name: tuple(
            sorted(
                (
                    SensitivityIndex(path, float(first[row, place]), float(total[row, place]))
                    for place, path in enumerate(paths)
                ),
                key=lambda each: -each.total,
            )
        )
        for row, name in enumerate(kept)
    }, ""


_MOST_ROWS = 6


def _outer(each: SampledValue) -> list[str]:
    """Return the lowest, the middle and the highest quantile that was asked for."""
    parts = list(each.quantiles)
    chosen = (parts[0], parts[len(parts) // 2], parts[-1])
    return [value_amount(each.name, each.quantiles[part][0], each.unit) for part in chosen]


def _head(each: SampledValue, case: str, words: Words) -> str:
    """State between what an answer lies, and what causes most of it, in a reader's words."""
    low, middle, high = _outer(each)
    parts = list(each.quantiles)
    inside = 100 * (parts[-1] - parts[0])
    cause = ""
    if each.influences:
        first = each.influences[0]
        cause = f", mostly because of {words.quantity(first.path)} ({percent(first.total)} of the variance)"
    lead = f"{case}: " if case else ""
    name = words.value(each.name)
    return (
        f"{lead}{name} {middle} in the middle, and between {low} and {high} in {inside:.4g} of 100"
        f" draws{cause}"
    )


def _sentence(each: SampledValue) -> str:
    parts = list(each.quantiles)
    low, high = (quantity(each.quantiles[part][0], each.unit) for part in (parts[0], parts[-1]))
    stated = "" if each.stated is None else f", {quantity(each.stated, each.unit)} as stated"
    cause = ""
    if each.influences:
        first = each.influences[0]
        cause = (
            f"; {first.path} causes the largest part of the variance, {percent(first.total)} in"
            " total"
        )
    elif each.why:
        cause = f"; {each.why}"
    mean = f", {quantity(each.mean, each.unit)} on average"
    inside = percent(parts[-1] - parts[0])
    return (
        f"{each.name} lies between {low} and {high} in {inside} of the points{mean}{stated}{cause}"
    )


def _quantile_table(found: SampleStudy) -> ResultTable:
    """Lay out the quantiles of each answer, a row each; the page turns them into columns that
    fit.
    """
    parts = list(found.outcomes[0].quantiles) if found.outcomes else []
    columns = [
        ResultColumn("case", [found.case] * len(parts), place=True, on_page=False),
        ResultColumn("quantile", parts, written=as_percent, place=True),
    ]
    for each in found.outcomes:
        middle, low, high = zip(*(each.quantiles[part] for part in parts), strict=True)
        columns.append(ResultColumn(each.name, middle, each.unit, (low, high)))
    how = Provenance.of([found] * len(parts))
    return ResultTable("sample", columns, how)


def _influence_table(found: SampleStudy) -> ResultTable:
    rows = [(each.name, one) for each in found.outcomes for one in each.influences]
    columns = [
        ResultColumn("value", [name for name, _ in rows], place=True),
        ResultColumn("quantity", [one.path for _, one in rows], place=True),
        ResultColumn("first order", [one.first_order for _, one in rows], "1", written=_two_digits),
        ResultColumn("total", [one.total for _, one in rows], "1", written=_two_digits),
    ]
    return ResultTable("", columns, Provenance.of([found] * len(rows)))


def _two_digits(value: float | None, unit: str, ends: Ends) -> str:
    return percent(value, 2)


_MOST_BINS = 40


def _histogram(axes: Axes, each: SampledValue) -> None:
    known = each.points[np.isfinite(each.points)]
    unit, factor = choose(known.tolist(), Dimension.of(each.unit))
    counts, edges = np.histogram(known / factor, bins=min(_MOST_BINS, max(8, len(known) // 25)))
    axes.bar(
        edges[:-1], counts / len(known), np.diff(edges), align="edge", **{**filled(3), "hatch": ""}
    )
    for index, (part, (middle, low, high)) in enumerate(each.quantiles.items()):
        colour, _, dashes = STROKES[index]
        if low < high:
            axes.axvspan(low / factor, high / factor, color=colour, alpha=0.18, linewidth=0)
        axes.axvline(
            middle / factor,
            color=colour,
            linestyle=dashes,
            label=f"{percent(part)} of the points below",
        )
    if each.stated is not None:
        axes.axvline(
            each.stated / factor, color=STROKES[3][0], linestyle=STROKES[3][2], label="as stated"
        )
    axes.set_xlabel(axis_title(each.name, unit))
    axes.set_ylabel(axis_title("part of the points", "1"))

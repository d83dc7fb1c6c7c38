"""Samples: uncertain quantities drawn, the answers' quantiles, and what causes their variance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.method.sampling import random_stream, sample_points
from slipstick.model.uncertainty import Uncertainty
from slipstick.report.questions.sample import SampledValue, SampleResult, SampleStudy, SensitivityIndex
from slipstick.results.study import Array
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.distribution import Uncertain, distribution_of, quantities
from slipstick.schema.kinds.study import HistogramSpec, SampleSpec
from slipstick.schema.text.nodes import Mark, Node, Scalar, canonical, value_mark
from slipstick.study.cases import StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question, ValueNames

_REPLICATIONS = 8
"""So many independent sets of points say how sure a quantile is."""

_T_95 = 2.364624251592785
"""Student's t for 95 % and one less degrees of freedom than replications."""


@dataclass(frozen=True)
class _SampledCase:
    """What is asked of one case, everything read and built.

    Parameters
    ----------
    spec, case : what is asked, and the model
    distributions : by path, as parameters are called
    words : of each distribution
    """

    spec: SampleSpec
    case: Evaluator
    distributions: Mapping[str, Uncertainty]
    words: Mapping[str, str]


@dataclass(frozen=True)
class SampleQuestion(Question):
    """Cases with uncertain quantities to sample."""

    cases: tuple[_SampledCase, ...]
    study: StudyContext

    def solve(self, answers: BaseAnswers) -> SampleResult:
        """Draw points of each case, answer at each, and read off quantiles and indices."""
        return SampleResult(tuple(_sampled(each, answers.wanted, answers.jobs) for each in self.cases))

    def values_of(self, wanted: Sequence[str]) -> Sequence[str]:
        """Name the values to look at; by default those of the study."""
        return self.cases[0].spec.answer or wanted

    def name_problems(self, named: Mapping[str, ValueNames]) -> list[Problem]:
        """List the values to look at that no case can have."""
        known = [each.case.names for each in self.cases]
        return [
            self.study.problem(("sample", "answer", index), f"no sampled case has the value {name}{_near(name, known)}")
            for index, name in enumerate(self.cases[0].spec.answer)
            if not any(name in each for each in known)
        ]


def read(asked: SampleSpec, study: StudyContext) -> SampleQuestion:
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
        built = evaluator(case, _with_all(asked, study.tree, study.cases[case]), study.library).smoothed
        found: dict[str, Uncertainty] = {}
        words: dict[str, str] = {}
        for written, each in asked.of.items():
            path = canonical(built.inputs.tree, written)
            found[path], words[path] = distribution_of(each), _in_words(each)
            problems += _problems(written, path, each, found[path], built, study)
        cases.append(_SampledCase(asked, built, found, words))
    if problems:
        raise SpecError(problems)
    return SampleQuestion(tuple(cases), study)


def _near(name: str, known: Sequence[ValueNames]) -> str:
    return did_you_mean(name, list(dict.fromkeys(other for each in known for other in each)))


def _with_all(spec: SampleSpec, tree: Node, settings: Settings) -> Settings:
    """Set what is optional and sampled, a class of cost for one, to its middle value, so that it is there."""
    middle = {
        path: _node(
            float(distribution_of(each).quantile(np.array([0.5]))[0]), each, value_mark(tree, ["sample", "of", path])
        )
        for path, each in spec.of.items()
        if path.startswith("technology.")
    }
    return {**middle, **settings}


def _problems(
    written: str, path: str, spec: Uncertain, distribution: Uncertainty, built: Evaluator, study: StudyContext
) -> Iterator[Problem]:
    """Refuse a path that is no quantity, or shapes the model, and check the least and the largest value in their place."""
    place = ("sample", "of", written)
    if path not in built.free:
        near = did_you_mean(written, sorted(built.free))
        why = f"no answer of {built.case} is computed from {written} as a number that can be anything{near}"
        yield study.problem(place, why, key=True)
        return
    dimension = built.built.parameters[path].dimension
    if spec.dimension != dimension:
        yield study.problem(place, f"{written} is a [{dimension}], and this is distributed as a [{spec.dimension}]")
        return
    mark = value_mark(study.tree, place)
    for value in distribution.quantile(np.array([1e-9, 0.5, 1 - 1e-9])):
        try:
            built.inputs.with_value(written, _node(float(value), spec, mark), study.library).checked()
        except SpecError as error:
            what = error.problems[0].message
            yield study.problem(place, f"{what}; one of its values is not allowed, so choose another distribution")
            return


def _node(value: float, spec: Uncertain, mark: Mark) -> Scalar:
    if str(spec.dimension) == "1":
        return Scalar(value, repr(value), mark, quoted=False)
    text = f"{value!r} {spec.dimension}"
    return Scalar(text, text, mark, quoted=False)


def _in_words(spec: Uncertain) -> str:
    given: dict[str, list[str]] = {}
    for key, each in quantities(spec).items():
        given.setdefault(str(key[0]), []).append(each.text)
    for name in ("spread", "weights"):
        value = getattr(spec, name, None) or []
        given |= {name: [each.text for each in (value if isinstance(value, list) else [value])]} if value else {}
    said = ", ".join(f"{name} {' '.join(texts)}" for name, texts in given.items())
    return f"{getattr(spec, 'distribution', '')}: {said}{', a guess' if spec.assumed else ''}"


def _sampled(asked: _SampledCase, answer: Sequence[str], jobs: int) -> SampleStudy:
    """Draw points, answer at each, and read off quantiles and indices.

    Points come in eight independent sets, each scrambled anew; how far the sets' quantiles differ says how sure they are
    (Student's t). Sensitivity indices are SciPy's, after Saltelli.
    """
    spec, case = asked.spec, asked.case
    names = [name for name in dict.fromkeys(spec.answer or answer) if name in case.names]
    points = _points(asked)
    # A value of a known name may have no meaning at any point, and then no column.
    nothing = dict.fromkeys(names, np.full(spec.samples, np.nan))
    found = {**nothing, **case.columns(points, {*names, case.form.quantity}, jobs=jobs)}
    own = {**nothing, **case.columns({}, names)}
    without = int(np.count_nonzero(~np.isfinite(found[case.form.quantity])))
    influences, why = (
        _influences(asked, names, jobs) if spec.indices and not without else ({}, _why_none(spec, without))
    )
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
        case.case, case.method, asked.words, tuple(outcomes), spec.samples, spec.draw, spec.seed, without
    )


def _points(asked: _SampledCase) -> dict[str, Array]:
    spec = asked.spec
    sets = [
        sample_points(
            asked.distributions, spec.samples // _REPLICATIONS, random_stream(spec.seed, "sample", number), spec.draw
        )
        for number in range(_REPLICATIONS)
    ]
    return {path: np.concatenate([each[path] for each in sets]) for path in asked.distributions}


def _quantiles(values: Array, band: float) -> dict[float, tuple[float, float, float]]:
    """Give quantiles of all points, each with its interval from those of the sets."""
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
        half = _T_95 * float(np.std(each_set, ddof=1)) / len(each_set) ** 0.5 if len(each_set) > 1 else float("nan")
        found[part] = (middle, middle - half, middle + half)
    return found


class _Quantile:
    """A distribution as SciPy asks for it."""

    def __init__(self, distribution: Uncertainty) -> None:
        self.ppf = distribution.quantile


def _influences(
    asked: _SampledCase, names: Sequence[str], jobs: int
) -> tuple[dict[str, tuple[SensitivityIndex, ...]], str]:
    """Ask SciPy for first-order and total indices of every answer that varies."""
    from scipy.stats import sobol_indices

    paths = sorted(asked.distributions)
    kept: list[str] = []

    def function(points: NDArray[np.float64]) -> NDArray[np.float64]:
        found = asked.case.columns(dict(zip(paths, points, strict=True)), names, jobs=jobs)
        return np.stack([found[name] for name in kept])

    probe = asked.case.columns(_points(asked), names, jobs=jobs)
    # Of an answer that never changes nothing causes the variance.
    kept += [
        name
        for name in names
        if name in probe and np.isfinite(probe[name]).all() and np.ptp(probe[name]) > 1e-12 * abs(probe[name][0])
    ]
    if not kept:
        return {}, "no answer changes"
    if len(paths) == 1:
        return {name: (SensitivityIndex(paths[0], 1.0, 1.0),) for name in kept}, ""
    rng = random_stream(asked.spec.seed, "sample:indices")
    dists = [_Quantile(asked.distributions[path]) for path in paths]
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


def _why_none(spec: SampleSpec, without: int) -> str:
    return f"{without} points have no answer, so the variance cannot be shared out" if spec.indices else ""

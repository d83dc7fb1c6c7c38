"""Projections: cases along trends, with the rates as stated and a band of those that are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from slipstick.method.sampling import random_stream, sample_points
from slipstick.method.sign_changes import Change
from slipstick.model.uncertainty import PROCESSORS, Trend, gain, outside
from slipstick.report.questions.project import (
    ConditionHistory,
    DominantClass,
    ProjectedCase,
    Projection,
    ProjectResult,
    UsedRate,
)
from slipstick.report.questions.seek import Crossing
from slipstick.results.study import Array
from slipstick.schema.kinds.study import ProjectSpec
from slipstick.schema.text.nodes import at
from slipstick.study.cases import StudyContext, axis_nodes, numbers_of
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.questions.trends import (
    Condition,
    TrendedCase,
    condition_of,
    factors_of,
    trend_called,
    trended_case,
)

_CLASS = "technology["
_SPAN, _PLACES = (1900.0, 2200.0), 300_001
_MOST_POINTS = 200_000
"""Draws are answered so many points at a time, to bound the memory."""


@dataclass(frozen=True)
class ProjectQuestion(Question):
    """Cases along trends, everything read and built.

    Parameters
    ----------
    spec : what is asked
    years : rising
    tracks : each case along each trend, with the conditions to watch
    factors : of the processors that the years stand for, if the study asks for those
    """

    spec: ProjectSpec
    years: Array
    tracks: tuple[tuple[TrendedCase, tuple[Condition, ...]], ...]
    factors: Array | None = None

    def solve(self, answers: BaseAnswers) -> ProjectResult:
        """Answer for every year."""
        return ProjectResult(_projected(self, answers.wanted, answers.jobs))


def read(asked: ProjectSpec, study: StudyContext) -> ProjectQuestion:
    """Read what a study asks about the years ahead; nothing is solved but the cases themselves.

    Raises
    ------
    SpecError : a trend, a condition, a case or a year is wrong
    """
    trends = [trend_called(name, ("project", "trends", index), study) for index, name in enumerate(asked.trends)]
    years, factors = _years(asked, study), None
    if years is None:
        factors = _factors(asked, study)
        years = _reached(trends[0].trend, asked.base_year, factors, study)
    tracks = []
    for case in asked.cases:
        for trended in trends:
            track = trended_case(case, trended, asked.base_year, ("project", "base_year"), study).smoothed
            conditions = (
                condition_of(text, ("project", "watch", index), track.case, track.case, study)
                for index, text in enumerate(asked.watch)
            )
            tracks.append((track, tuple(conditions)))
    return ProjectQuestion(asked, years, tuple(tracks), factors)


def _factors(asked: ProjectSpec, study: StudyContext) -> Array:
    node, place = at(study.tree, ["project", "factors"]), ("project", "factors")
    assert node is not None
    assert asked.factors is not None
    numbers = numbers_of(axis_nodes(asked.factors, node, place))
    if numbers is None or len(numbers) < 2 or numbers[0] <= 0 or not np.all(np.diff(numbers) > 0):
        raise study.refusal(place, "factors are at least two plain numbers above 0 that rise, such as 1 and 16")
    return np.array(numbers)


def _reached(trend: Trend, base: float, factors: Array, study: StudyContext) -> Array:
    """Give the years in which the processors come to each factor, at the rates as stated."""
    place = ("project", "factors")
    if PROCESSORS not in trend.rates:
        raise study.refusal(place, f"trend {trend.name} has no rate of {PROCESSORS}; project along years")
    years = np.linspace(*_SPAN, _PLACES)
    reached = np.log(gain(trend.rates[PROCESSORS], base, years, trend.stated()[PROCESSORS])[0])
    if not np.all(np.diff(reached) > 0):
        raise study.refusal(place, f"processors do not always gain along {trend.name}; project along years")
    if not (reached[0] <= np.log(factors[0]) and np.log(factors[-1]) <= reached[-1]):
        low, high = np.exp(reached[[0, -1]])
        why = f"along {trend.name} processors come to factors from {low:.3g} to {high:.3g} between 1900 and 2200"
        raise study.refusal(place, f"{why}, got {factors[0]:g} to {factors[-1]:g}")
    return np.interp(np.log(factors), reached, years)


def _years(asked: ProjectSpec, study: StudyContext) -> Array | None:
    node = at(study.tree, ["project", "years"])
    if node is None or asked.years is None:
        return None
    place: tuple[str | int, ...] = ("project", "years")
    numbers = numbers_of(axis_nodes(asked.years, node, place))
    if numbers is None or len(numbers) < 2 or not np.all(np.diff(numbers) > 0):
        raise study.refusal(place, "years are at least two plain numbers that rise, such as 2024 and 2034")
    if not (numbers[0] >= 1900 and numbers[-1] <= 2200):
        raise study.refusal(place, f"years lie between 1900 and 2200, got {numbers[0]:g} to {numbers[-1]:g}")
    return np.array(numbers)


def _projected(asked: ProjectQuestion, answer: Sequence[str], jobs: int) -> Projection:
    spec = asked.spec
    tracks = tuple(_track(track, conditions, asked, answer, jobs) for track, conditions in asked.tracks)
    trends = {track.trend.name: track.trend for track, _ in asked.tracks}
    units = {name: track.case.unit(name) for track, _ in asked.tracks for name in answer if name in track.case.names}
    return Projection(
        factors=asked.factors,
        base_year=spec.base_year,
        years=asked.years,
        tracks=tracks,
        units=units,
        rates=tuple(rate for trend in trends.values() for rate in _rates(trend, asked)),
        titles={name: trend.title for name, trend in trends.items()},
        samples=spec.samples,
        band=spec.band.value,
        seed=spec.seed,
    )


def _track(
    track: TrendedCase, conditions: Sequence[Condition], asked: ProjectQuestion, answer: Sequence[str], jobs: int
) -> ProjectedCase:
    years, case = asked.years, track.case
    values = track.values(years)
    found, how = case.solved(values, jobs=jobs)
    first = found[case.form.quantity]
    low, high, margins = _band(track, conditions, asked, answer, jobs)
    for name in answer:
        if f"low[{name}]" in found:
            # A band of estimates is widened by how far each of them may be off, which is the most that both can be.
            value = found[name]
            low[name] = low.get(name, value) - (value - found[f"low[{name}]"])
            high[name] = high.get(name, value) + (found[f"high[{name}]"] - value)
    return ProjectedCase(
        case=case.case,
        trend=track.trend.name,
        provenance=how,
        columns={name: found[name] for name in answer if name in found},
        low=low,
        high=high,
        dominant=tuple(_dominant(found, years)),
        conditions=tuple(
            _history(track, condition, found, years, margins[index] if margins else None, asked.spec.band.value)
            for index, condition in enumerate(conditions)
        ),
        unmoved=track.unmoved,
        failed={int(index): case.why(values, int(index)) for index in np.flatnonzero(~np.isfinite(first))},
    )


def _band(
    track: TrendedCase, conditions: Sequence[Condition], asked: ProjectQuestion, answer: Sequence[str], jobs: int
) -> tuple[dict[str, Array], dict[str, Array], list[Array]]:
    """Give the ends of the band of each answer, and the margins of each condition [samples, years] of all draws."""
    spec, years = asked.spec, asked.years
    if not spec.samples:
        return {}, {}, []
    # The same draws for every case along a trend, so that cases differ by what they are.
    draws = sample_points(
        dict(track.trend.draws()), spec.samples, random_stream(spec.seed, f"project:{track.trend.name}")
    )
    factors = factors_of(track.trend, draws)
    wanted = {*answer, *(name for each in conditions for name in each.columns.values())}
    pieces: list[dict[str, Array]] = []
    step = max(1, _MOST_POINTS // len(years))
    for start in range(0, spec.samples, step):
        cut = {name: each[start : start + step] for name, each in factors.items()}
        pieces.append(track.case.columns(track.values(years, cut), wanted, jobs=jobs))
    found = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    margins = [condition.look(found)[0][0].reshape(spec.samples, len(years)) for condition in conditions]
    ends = ((1 - spec.band.value) / 2, (1 + spec.band.value) / 2)
    quantiles = {
        name: np.quantile(found[name].reshape(spec.samples, len(years)), ends, axis=0)
        for name in answer
        if name in found
    }
    return (
        {name: each[0] for name, each in quantiles.items()},
        {name: each[1] for name, each in quantiles.items()},
        margins,
    )


def _dominant(found: Mapping[str, Array], years: Array) -> Iterator[DominantClass]:
    """Say which class of cost takes the most time, from when to when."""
    names = [name for name in found if name.startswith(_CLASS)]
    if not names:
        return
    table = np.stack([found[name] for name in names])
    known = np.isfinite(table).all(axis=0)
    largest = [int(each) for each in np.argmax(table[:, known], axis=0)]
    for name, group in groupby(zip(largest, years[known], strict=True), key=lambda pair: pair[0]):
        span = [year for _, year in group]
        yield DominantClass(names[name].removeprefix(_CLASS).removesuffix("]"), float(span[0]), float(span[-1]))


def _history(
    track: TrendedCase,
    condition: Condition,
    found: Mapping[str, Array],
    years: Array,
    margins: Array | None,
    band: float,
) -> ConditionHistory:
    looked, holds = condition.look(found)
    crossings, undecided = condition.changes(found, years, lambda several: track.case.columns(track.values(several)))
    first = bool(holds[0]) if np.isfinite(looked[0, 0]) else None
    ends = ((1 - band) / 2, (1 + band) / 2)
    with_bands = tuple(_with_band(each, margins, years, ends) for each in crossings)
    return ConditionHistory(condition.text, first, with_bands, tuple(undecided))


def _with_band(change: Change, margins: Array | None, years: Array, ends: tuple[float, float]) -> Crossing:
    """Give a crossing the band of the first crossing to the same side in each draw, widened by its own interval."""
    found = Crossing(change.value, change.starts, jump=change.jump, low=change.low, high=change.high)
    if margins is None:
        return found
    places = _first_crossings(margins if change.starts else -margins, years)
    crossed = places[np.isfinite(places)]
    if not len(crossed):
        return replace(found, part=0.0)
    low, high = (float(each) for each in np.quantile(crossed, ends))
    if change.low is not None and change.high is not None:
        low, high = low - (change.value - change.low), high + (change.high - change.value)
    return replace(found, low=low, high=high, part=len(crossed) / len(places))


def _first_crossings(margins: Array, years: Array) -> Array:
    """Find, draw by draw, where a margin first rises through 0, on straight lines between the years [samples]."""
    rises: NDArray[np.bool_] = (margins[:, :-1] <= 0) & (margins[:, 1:] > 0)
    index = np.argmax(rises, axis=1)
    rows = np.arange(len(margins))
    near, far = margins[rows, index], margins[rows, index + 1]
    with np.errstate(all="ignore"):
        place = years[index] + (years[index + 1] - years[index]) * near / (near - far)
    return np.where(rises.any(axis=1), place, np.nan)


def _rates(trend: Trend, asked: ProjectQuestion) -> Iterator[UsedRate]:
    """List the rates that are used between the base year and the years asked for."""
    base, years = asked.spec.base_year, asked.years
    first, last = min(base, float(years[0])), max(base, float(years[-1]))
    ends = np.array([(1 - asked.spec.band.value) / 2, (1 + asked.spec.band.value) / 2])
    for name, periods in trend.rates.items():
        beyond = outside(periods, first, last)
        for period in periods:
            out = tuple((start, end) for each, start, end in beyond if each is period)
            if out or (period.start < last and period.end > first):
                low, high = period.factor.quantile(ends)
                yield UsedRate(
                    trend.name,
                    name,
                    period.start,
                    period.end,
                    period.median,
                    float(low),
                    float(high),
                    period.source,
                    period.assumed,
                    out,
                )

"""Several families fitted to the same timings: the order in which the data prefer them, and the answers with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.errors import NoAnswerError
from slipstick.measure.fit.extrapolation import (
    LARGEST,
    Extrapolation,
    fastest,
    largest_efficient,
    largest_speedup,
    size_needed,
    sizes_needed,
)
from slipstick.measure.fit.families import FAMILIES, family_called
from slipstick.measure.fit.formula import Family, Timings
from slipstick.measure.fit.intervals import Interval, Profiled, Resampled, profile, resample
from slipstick.measure.fit.least_squares import FittedFormula, fit
from slipstick.results.study import Curve, Fitting

APART = 4.0
"""Models whose criteria differ by less are not told apart (Burnham and Anderson, 2002, section 2.6: 4 to 7 is less
support, over 10 none)."""

LEFT_OUT = 0.25
"""Part of the numbers of processors, the largest ones, that is left out to test predictions there."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fitted family beside the others.

    Parameters
    ----------
    family : what was fitted
    fitted : the fit
    behind : difference of its criterion from the best one [1]
    missed : relative error at the largest runs, when fitted without them (root of the mean square); None where too few
        are left to fit
    """

    family: Family
    fitted: FittedFormula
    behind: float
    missed: float | None

    @property
    def name(self) -> str:
        """The family's."""
        return self.family.name


@dataclass(frozen=True, slots=True)
class FitComparison:
    """All families, best first.

    Parameters
    ----------
    candidates : by the criterion, the best first
    kept : largest number of processors that was kept when the largest were left out; None if nothing could be
    failed : why a family has no fit, by its name
    """

    candidates: tuple[Candidate, ...]
    kept: float | None
    failed: Mapping[str, str]

    @property
    def best(self) -> Candidate:
        """The family with the best criterion."""
        return self.candidates[0]

    @property
    def rivals(self) -> tuple[Candidate, ...]:
        """The families that the data cannot tell from the best one, the best one first."""
        return tuple(each for each in self.candidates if each.behind < APART)

    def warning(self, p: float) -> str:
        """Say how far a prediction is beyond the data, and the error to expect; nothing within the data.

        The error at the largest runs when they were left out is extrapolated in proportion to the logarithm of the
        distance. That is a rule of thumb, and optimistic: effects that do not show in the data are not in it.

        Parameters
        ----------
        p : processors
        """
        most = float(self.best.fitted.timings.p.max())
        if p <= most:
            return ""
        words = f"{p:g} processors are {p / most:.3g} times the largest measured, {most:g}"
        missed = self.best.missed
        if self.kept is None or missed is None:
            return f"{words}; too few were measured to see how the model does beyond its data"
        error = missed * np.log(p / most) / np.log(most / self.kept)
        return (
            f"{words}; fitted up to {self.kept:g} only, it misses those by {100 * missed:.1f} %, so expect an error of "
            f"{100 * error:.1f} % or more here"
        )

    def disagreement(self, p: float, n: float | None = None) -> float:
        """Give the disagreement of the rivals: largest over smallest prediction, minus 1.

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        predicted = [float(each.fitted.predict([p], n)[0]) for each in self.rivals]
        return max(predicted) / min(predicted) - 1

    def verdict(self, p: Sequence[float] = ()) -> str:
        """Say in words which families the data prefer, and which they cannot distinguish.

        Parameters
        ----------
        p : processors that predictions are wanted for
        """
        names = ", ".join(each.name for each in self.rivals)
        if len(self.rivals) == 1:
            words = f"the data prefer {names}"
        else:
            words = f"the data cannot distinguish these: {names}"
            far = [f"at p = {each:g} they differ by {100 * self.disagreement(each):.1f} %" for each in p]
            words += "".join(f"; {each}" for each in far)
        better = [
            each
            for each in self.candidates[1:]
            if each.missed is not None and self.best.missed is not None and each.missed < self.best.missed / 3
        ]
        if better and self.best.missed is not None and self.best.missed > 2 * self.best.fitted.scatter:
            words += (
                f"; yet {better[0].name} predicts the largest runs from the others better, so trust neither far out"
            )
        return words


def compare(timings: Timings, families: Sequence[str | Family] | None = None) -> FitComparison:
    """Fit several families, and order them by Akaike's criterion for few observations.

    Parameters
    ----------
    timings : what was measured
    families : families of our own by name, or others; all of our own if None

    Raises
    ------
    UnknownNameError : there is no such family
    NoAnswerError : all timings are on one number of processors, or no family can be fitted and judged
    """
    if len(timings.processors) == 1:
        count = f"{timings.p[0]:g} {'processor' if timings.p[0] == 1 else 'processors'}"
        raise NoAnswerError(f"all timings are on {count}, which does not show how the time changes; measure on more")
    wanted = [family_called(each) if isinstance(each, str) else each for each in families or FAMILIES]
    fits: list[tuple[Family, FittedFormula]] = []
    failed: dict[str, str] = {}
    for family in wanted:
        try:
            fitted = fit(family, timings)
        except NoAnswerError as error:
            failed[family.name] = str(error)
            continue
        if np.isfinite(fitted.aicc):
            fits.append((family, fitted))
        else:
            # Akaike's criterion for few observations needs two more than there are parameters, the scatter counted.
            more = len(fitted.theta) + fitted.formula.chosen_exponents + 3 - len(timings)
            why = f"{len(timings)} observations are too few to judge {len(fitted.theta)} parameters by: add {more} or more"
            failed[family.name] = why
    if not fits:
        reasons = "; ".join(dict.fromkeys(failed.values()))
        raise NoAnswerError(f"no model can be fitted: {reasons}")
    fits.sort(key=lambda each: each[1].aicc)
    least = fits[0][1].aicc
    kept = _largest_kept(timings)
    candidates = [Candidate(family, each, each.aicc - least, _missed(family, each, kept)) for family, each in fits]
    known = kept if any(each.missed is not None for each in candidates) else None
    return FitComparison(tuple(candidates), known, failed)


def _largest_kept(timings: Timings) -> float:
    """Give the largest number of processors that is kept when the largest are left out."""
    distinct = timings.processors
    out = max(1, round(LEFT_OUT * len(distinct)))
    return float(distinct[max(0, len(distinct) - out - 1)])


def _missed(family: Family, fitted: FittedFormula, kept: float) -> float | None:
    """Fit the family without the largest runs, and give the error of its predictions there."""
    timings = fitted.timings
    inside, beyond = timings.select(timings.p <= kept), timings.select(timings.p > kept)
    if not len(beyond) or len(inside.processors) <= len(fitted.theta):
        return None
    try:
        again = fit(family, inside)
    except NoAnswerError:
        return None
    ratio = again.formula.time(again.theta, beyond) / beyond.time
    return float(np.sqrt(np.mean((ratio - 1) ** 2)))


EFFICIENT = 0.75
"""An efficiency that is commonly required of an allocation."""

ROUNDING = 1e-6
"""Relative tolerance at which a size counts as the largest one considered."""

POINTS, SURE_POINTS = 48, 12
"""Numbers of processors along a drawn curve, and along its intervals, which take long."""


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """How confidence intervals of a fit are computed.

    Parameters
    ----------
    by : bootstrap, or profile
    level : confidence level, if the formula is right [1]
    seed, draws : of the bootstrap
    """

    by: str = "bootstrap"
    level: float = 0.95
    seed: int = 1
    draws: int = 200

    def of(self, candidate: Candidate) -> Resampled | Profiled:
        """Make a fit ready to give intervals."""
        if self.by == "profile":
            return profile(candidate.fitted)
        return resample(candidate.fitted, self.seed, self.draws)

    @property
    def text(self) -> str:
        """What low and high mean."""
        how = "the profile of the fit" if self.by == "profile" else f"{self.draws} fits to resampled timings"
        return f"low and high enclose {100 * self.level:.0f} %, by {how}, if the formula is right"


def fits(
    timings: Timings,
    families: Sequence[str | Family] | None = None,
    p: Sequence[float] = (),
    intervals: IntervalSettings | None = None,
    drawn: bool = False,
    efficiency: float = EFFICIENT,
) -> Fitting:
    """Fit families, and predict the time at some numbers of processors.

    Families that the data do not exclude have intervals; the others have values to compare only. Processors lost are those
    at the largest number asked for, or measured if none is.

    Parameters
    ----------
    timings : what was measured
    families : families of our own by name, or others; all of our own if None
    p : processors to predict for
    intervals : how confidence intervals are computed
    drawn : whether curves are wanted, to draw them
    efficiency : that the largest number of processors keeps, and the size needed gives, above 0 and at most 1 [1]

    Raises
    ------
    UnknownNameError, NoAnswerError : as for `compare`
    """
    found = compare(timings, families)
    told = [_Told.of(each, intervals or IntervalSettings(), efficiency) for each in found.candidates]
    answers = [each.answer(p) for each in told]
    answers += [Answer(name, "fit", failed=why) for name, why in found.failed.items()]
    last = max([2 * float(timings.p.max()), *p])
    curves = tuple(each.curve(last) for each in told) if drawn else ()
    size = float(timings.n.max()) if timings.has_sizes else None
    data = timings.select(timings.n == timings.n.max())
    return Fitting(
        tuple(answers),
        found.verdict(p),
        _warnings(found, p),
        data.p.tolist(),
        data.time.tolist(),
        curves,
        size=size,
        efficiency=efficiency,
    )


def _warnings(found: FitComparison, p: Sequence[float]) -> tuple[str, ...]:
    return tuple(words for each in p if (words := found.warning(each)))


@dataclass(frozen=True, slots=True)
class _Told:
    """A candidate, and how sure it is; why it is not known how sure."""

    candidate: Candidate
    intervals: IntervalSettings
    efficiency: float
    sure: Resampled | Profiled | None
    why: str = ""

    @classmethod
    def of(cls, candidate: Candidate, intervals: IntervalSettings, efficiency: float) -> _Told:
        if candidate.behind >= APART:
            return cls(candidate, intervals, efficiency, None)
        try:
            return cls(candidate, intervals, efficiency, intervals.of(candidate))
        except NoAnswerError as error:
            return cls(candidate, intervals, efficiency, None, str(error))

    def curve(self, last: float) -> Curve:
        """Follow the fit to a number of processors."""
        p, at = (np.unique(np.round(np.geomspace(1, last, count))).tolist() for count in (POINTS, SURE_POINTS))
        time = self.candidate.fitted.predict(p).tolist()
        between = self.sure.predict(at, level=self.intervals.level) if self.sure else []
        low, high = ([getattr(each, end) for each in between] for end in ("low", "high"))
        return Curve(self.candidate.name, p, time, at if between else [], low, high)

    def answer(self, p: Sequence[float]) -> Answer:
        """Give everything that is known of the fit."""
        fitted, family = self.candidate.fitted, self.candidate.family
        values = self._sure(_predicted(self.candidate, p), p)
        values["behind"] = Value(self.candidate.behind, "1")
        values["scatter"] = Value(fitted.scatter, "1")
        if self.candidate.missed is not None:
            values["missed"] = Value(self.candidate.missed, "1")
        values |= _limits(Extrapolation(fitted), self.efficiency)
        if fitted.timings.has_sizes:
            values |= {f"size_needed[{each:g}]": self._size_needed(each) for each in p}
        at = max(p, default=float(fitted.timings.p.max()))
        values |= {f"processors_lost[{cause}]": Value(lost, "1") for cause, lost in fitted.lost(at).items()}
        notes = [f"{family.title}: {fitted.formula.text} ({family.source})"]
        notes += [self.why] if self.why else [self.intervals.text] if self.sure else []
        return Answer(family.name, "fit", values=values, notes=tuple(notes), seed=self.intervals.seed, point={"p": at})

    def _size_needed(self, p: float) -> Value:
        """Give the size that some processors need; the high end is open where sizes as large as any may not be enough."""
        fitted = self.candidate.fitted
        found = size_needed(fitted, p, self.efficiency)
        if found is None or self.sure is None or found <= fitted.timings.n.min():
            return Value(found, "1")
        sizes = partial(sizes_needed, fitted, p, self.efficiency)
        between = self.sure.of_positive(sizes, self.intervals.level)
        open_ended = between.high >= LARGEST * fitted.timings.n.max() * (1 - ROUNDING)
        return Value(found, "1", between.low, None if open_ended else between.high)

    def _sure(self, values: dict[str, Value], p: Sequence[float]) -> dict[str, Value]:
        """Put intervals to parameters and predictions."""
        if self.sure is None:
            return values
        level = self.intervals.level
        between: dict[str, Interval] = self.sure.parameters(level)
        if len(p):
            between |= {f"time[{at:g}]": one for at, one in zip(p, self.sure.predict(p, level=level), strict=True)}
        return values | {name: Value(one.value, values[name].unit, one.low, one.high) for name, one in between.items()}


def _predicted(candidate: Candidate, p: Sequence[float]) -> dict[str, Value]:
    fitted = candidate.fitted
    units = {parameter.name: parameter.unit for parameter in fitted.formula.parameters}
    values = {name: Value(value, units[name]) for name, value in fitted.parameters.items()}
    times = fitted.predict(p).tolist() if len(p) else []
    return values | {f"time[{at:g}]": Value(time, "s") for at, time in zip(p, times, strict=True)}


def _limits(extrapolation: Extrapolation, efficiency: float) -> Mapping[str, Value]:
    values: dict[str, Value] = {}
    if least := fastest(extrapolation):
        values |= {"fastest_processors": Value(least[0], "1"), "fastest_time": Value(least[1], "s")}
    most, at = largest_speedup(extrapolation)
    values |= {"largest_speedup": Value(most, "1"), "largest_speedup_processors": Value(at, "1")}
    values["efficient_processors"] = Value(largest_efficient(extrapolation, efficiency), "1")
    values["most_processors"] = Value(float(extrapolation.p[-1]), "1")
    return values

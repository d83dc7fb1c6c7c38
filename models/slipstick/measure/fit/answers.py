"""Fits as answers: one for each family, the one that the data prefer first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.errors import NoAnswerError
from slipstick.measure.fit.compare import APART, Candidate, Comparison, compare
from slipstick.measure.fit.formula import Family
from slipstick.measure.fit.intervals import Interval, Profiled, Resampled, profile, resample
from slipstick.measure.fit.limits import (
    LARGEST,
    Reach,
    fastest,
    largest_efficient,
    largest_speedup,
    size_needed,
    sizes_needed,
)
from slipstick.measure.fit.timings import Timings
from slipstick.results.study import Curve, Fitting

EFFICIENT = 0.75
"""The efficiency that an allocation is commonly asked to have."""

ROUNDING = 1e-6
"""Of a size that was sought as far as sizes are looked at."""

POINTS, SURE_POINTS = 48, 12
"""Numbers of processors along a drawn curve, and along its intervals, which take long."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """How sure a fit is to be said.

    Parameters
    ----------
    by : bootstrap, or profile
    level : how often an interval is to hold the truth, if the form is right [1]
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
        how = "the profile of the fit" if self.by == "profile" else f"{self.draws} fits to timings drawn anew"
        return f"low and high enclose {100 * self.level:.0f} %, by {how}, if the form is right"


def fits(
    timings: Timings,
    families: Sequence[str | Family] | None = None,
    p: Sequence[float] = (),
    intervals: Intervals | None = None,
    drawn: bool = False,
    efficiency: float = EFFICIENT,
) -> Fitting:
    """Fit families, and predict the time at some numbers of processors.

    Families that the data leave have intervals; values of the others are there to compare. Processors lost are those
    at the largest number asked for, or measured if none is.

    Parameters
    ----------
    timings : what was measured
    families : families of our own by name, or others; all of our own if None
    p : processors to predict for
    intervals : how sure a fit is to be said
    drawn : whether curves are wanted, to draw them
    efficiency : that the largest number of processors keeps, and the size needed gives, above 0 and at most 1 [1]

    Raises
    ------
    UnknownNameError, NoAnswerError : as for `compare`
    """
    found = compare(timings, families)
    told = [_Told.of(each, intervals or Intervals(), efficiency) for each in found.candidates]
    answers = [each.answer(p) for each in told]
    answers += [Answer(name, "fit", failed=why) for name, why in found.failed.items()]
    last = max([2 * float(timings.p.max()), *p])
    curves = tuple(each.curve(last) for each in told) if drawn else ()
    size = float(timings.n.max()) if timings.sized else None
    data = timings.chosen(timings.n == timings.n.max())
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


def _warnings(found: Comparison, p: Sequence[float]) -> tuple[str, ...]:
    return tuple(words for each in p if (words := found.warning(each)))


@dataclass(frozen=True, slots=True)
class _Told:
    """A candidate, and how sure it is; why it is not known how sure."""

    candidate: Candidate
    intervals: Intervals
    efficiency: float
    sure: Resampled | Profiled | None
    why: str = ""

    @classmethod
    def of(cls, candidate: Candidate, intervals: Intervals, efficiency: float) -> _Told:
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
        values |= _limits(Reach(fitted), self.efficiency)
        if fitted.timings.sized:
            values |= {f"size_needed[{each:g}]": self._size_needed(each) for each in p}
        at = max(p, default=float(fitted.timings.p.max()))
        values |= {f"processors_lost[{cause}]": Value(lost, "1") for cause, lost in fitted.lost(at).items()}
        notes = [f"{family.title}: {fitted.form.text} ({family.source})"]
        notes += [self.why] if self.why else [self.intervals.text] if self.sure else []
        return Answer(family.name, "fit", values=values, notes=tuple(notes), seed=self.intervals.seed, point={"p": at})

    def _size_needed(self, p: float) -> Value:
        """Give the size that some processors need; the high end is open where sizes as large as any may not be enough."""
        fitted = self.candidate.fitted
        found = size_needed(fitted, p, self.efficiency)
        if found is None or self.sure is None or found <= fitted.timings.n.min():
            return Value(found, "1")
        sizes = partial(sizes_needed, fitted, p, self.efficiency)
        between = self.sure.positive(sizes, self.intervals.level)
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
    units = {letter.name: letter.unit for letter in fitted.form.letters}
    values = {name: Value(value, units[name]) for name, value in fitted.parameters.items()}
    times = fitted.predict(p).tolist() if len(p) else []
    return values | {f"time[{at:g}]": Value(time, "s") for at, time in zip(p, times, strict=True)}


def _limits(reach: Reach, efficiency: float) -> Mapping[str, Value]:
    values: dict[str, Value] = {}
    if least := fastest(reach):
        values |= {"fastest_processors": Value(least[0], "1"), "fastest_time": Value(least[1], "s")}
    most, at = largest_speedup(reach)
    values |= {"largest_speedup": Value(most, "1"), "largest_speedup_processors": Value(at, "1")}
    values["efficient_processors"] = Value(largest_efficient(reach, efficiency), "1")
    values["most_processors"] = Value(float(reach.p[-1]), "1")
    return values

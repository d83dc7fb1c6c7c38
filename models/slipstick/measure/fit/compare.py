"""Several kinds of models for the same timings: which the data prefer, and how far any of them can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.measure.fit.families import FAMILIES, family_called
from slipstick.measure.fit.formula import Family
from slipstick.measure.fit.least_squares import Fitted, fit
from slipstick.measure.fit.timings import Timings

APART = 4.0
"""Models whose criteria differ by less are not told apart (Burnham and Anderson, 2002, section 2.6: 4 to 7 is less
support, over 10 none)."""

LEFT_OUT = 0.25
"""Part of the numbers of processors, the largest ones, that is left out to see what is predicted there."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fitted family beside the others.

    Parameters
    ----------
    family : what was fitted
    fitted : the fit
    behind : how far its criterion is behind the best one [1]
    missed : relative error at the largest runs, when fitted without them (root of the mean square); None where too few
        are left to fit
    """

    family: Family
    fitted: Fitted
    behind: float
    missed: float | None

    @property
    def name(self) -> str:
        """The family's."""
        return self.family.name


@dataclass(frozen=True, slots=True)
class Comparison:
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
        """The family that the data prefer."""
        return self.candidates[0]

    @property
    def rivals(self) -> tuple[Candidate, ...]:
        """The families that the data cannot tell from the best one, the best one first."""
        return tuple(each for each in self.candidates if each.behind < APART)

    def warning(self, p: float) -> str:
        """Say how far a prediction is beyond the data, and what that may cost; nothing within the data.

        The error when the largest runs were left out, over the distance they were then away, is carried on in
        proportion to the logarithm of the distance. That is a rule of thumb, and a mild one: what has not begun to
        show in the data is not in it.

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

    def differ(self, p: float, n: float | None = None) -> float:
        """Give by how much the rivals differ there: largest over smallest prediction, minus 1.

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        predicted = [float(each.fitted.predict([p], n)[0]) for each in self.rivals]
        return max(predicted) / min(predicted) - 1

    def verdict(self, p: Sequence[float] = ()) -> str:
        """Say in words what the data tell, and what they do not.

        Parameters
        ----------
        p : processors that predictions are wanted for
        """
        names = ", ".join(each.name for each in self.rivals)
        if len(self.rivals) == 1:
            words = f"the data prefer {names}"
        else:
            words = f"the data cannot tell these apart: {names}"
            far = [f"at p = {each:g} they differ by {100 * self.differ(each):.1f} %" for each in p]
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


def compare(timings: Timings, families: Sequence[str | Family] | None = None) -> Comparison:
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
        raise NoAnswerError(f"all timings are on {count}, which does not tell how the time changes; measure on more")
    wanted = [family_called(each) if isinstance(each, str) else each for each in families or FAMILIES]
    fits: list[tuple[Family, Fitted]] = []
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
            why = f"{len(timings)} observations are too few to judge {len(fitted.theta)} parameters by"
            failed[family.name] = why
    if not fits:
        reasons = "; ".join(dict.fromkeys(failed.values()))
        raise NoAnswerError(f"no model can be fitted: {reasons}")
    fits.sort(key=lambda each: each[1].aicc)
    least = fits[0][1].aicc
    kept = _kept(timings)
    candidates = [Candidate(family, each, each.aicc - least, _missed(family, each, kept)) for family, each in fits]
    known = kept if any(each.missed is not None for each in candidates) else None
    return Comparison(tuple(candidates), known, failed)


def _kept(timings: Timings) -> float:
    """Give the largest number of processors that stays when the largest are left out."""
    distinct = timings.processors
    out = max(1, round(LEFT_OUT * len(distinct)))
    return float(distinct[max(0, len(distinct) - out - 1)])


def _missed(family: Family, fitted: Fitted, kept: float) -> float | None:
    """Fit the family without the largest runs, and hold what it predicts there against them."""
    timings = fitted.timings
    inside, beyond = timings.chosen(timings.p <= kept), timings.chosen(timings.p > kept)
    if not len(beyond) or len(inside.processors) <= len(fitted.theta):
        return None
    try:
        again = fit(family, inside)
    except NoAnswerError:
        return None
    ratio = again.form.time(again.theta, beyond) / beyond.time
    return float(np.sqrt(np.mean((ratio - 1) ** 2)))

"""Fits as answers: one for each family, the one that the data prefer first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slipstick.answer import Answer, Value
from slipstick.errors import NoAnswerError
from slipstick.measure.fit.bootstrap import resample
from slipstick.measure.fit.compare import APART, Candidate, Comparison, compare
from slipstick.measure.fit.limits import fastest, largest_efficient
from slipstick.measure.fit.timings import Timings

__all__ = ["EFFICIENT", "Fits", "fits"]

EFFICIENT = 0.75
"""The efficiency that an allocation is commonly asked to have."""


@dataclass(frozen=True, slots=True)
class Fits:
    """What fits say.

    Parameters
    ----------
    answers : one for each family, best first, then those without a fit
    verdict : what the data tell, and what they do not
    warnings : how far each prediction is beyond the data
    """

    answers: tuple[Answer, ...]
    verdict: str
    warnings: tuple[str, ...]


def fits(
    timings: Timings,
    families: Sequence[str] | None = None,
    p: Sequence[float] = (),
    seed: int = 1,
    level: float = 0.95,
    draws: int = 200,
) -> Fits:
    """Fit families, and predict the time at some numbers of processors.

    Families that the data leave have intervals; values of the others are there to compare.

    Parameters
    ----------
    timings : what was measured
    families : names of families; all if None
    p : processors to predict for
    seed : of the random streams of the intervals
    level : of the intervals [1]
    draws : of the bootstrap

    Raises
    ------
    UnknownNameError, NoAnswerError : as for `compare`
    """
    found = compare(timings, families)
    answers = [_answer(each, p, seed, level, draws) for each in found.candidates]
    answers += [Answer(name, "fit", failed=why) for name, why in found.failed.items()]
    return Fits(tuple(answers), found.verdict(p), _warnings(found, p))


def _warnings(found: Comparison, p: Sequence[float]) -> tuple[str, ...]:
    return tuple(words for each in p if (words := found.warning(each)))


def _answer(each: Candidate, p: Sequence[float], seed: int, level: float, draws: int) -> Answer:
    fitted, family = each.fitted, each.family
    units = {letter.name: letter.unit for letter in fitted.form.letters}
    values = {name: Value(value, units[name]) for name, value in fitted.parameters.items()}
    times = fitted.predict(p).tolist() if len(p) else []
    values |= {f"time[{at:g}]": Value(time, "s") for at, time in zip(p, times, strict=True)}
    notes = [f"{family.title}: {fitted.form.text} ({family.source})"]
    if each.behind < APART:
        try:
            drawn = resample(fitted, seed, draws)
        except NoAnswerError as error:
            notes.append(str(error))
        else:
            between = drawn.parameters(level)
            if len(p):
                between |= {f"time[{at:g}]": one for at, one in zip(p, drawn.predict(p, level=level), strict=True)}
            values |= {name: Value(one.value, values[name].unit, one.low, one.high) for name, one in between.items()}
            notes.append(
                f"low and high enclose {level:.0%} of {draws} fits to timings drawn anew, if the form is right"
            )
    values["behind"] = Value(each.behind, "1")
    values["scatter"] = Value(fitted.scatter, "1")
    if each.missed is not None:
        values["missed"] = Value(each.missed, "1")
    if least := fastest(fitted):
        values |= {"fastest_processors": Value(least[0], "1"), "fastest_time": Value(least[1], "s")}
    values["efficient_processors"] = Value(largest_efficient(fitted, EFFICIENT), "1")
    return Answer(each.name, "fit", values=values, notes=tuple(notes), seed=seed)

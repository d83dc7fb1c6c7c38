"""Causes of lost time that the rows measure beside the times: how each grows with the number of
processors, and a law that has a term for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from slipstick.late import Array, dataclass, np, replace
from slipstick.report.formatting import percent
from slipstick_measure.fit.formula import (
    Family,
    FitParameter,
    LostTimes,
    TimeFormula,
    Timings,
    nonnegative_coefficients,
    work_divisor,
)
from slipstick_measure.results import CAUSES

if TYPE_CHECKING:
    from slipstick_measure.fit.least_squares import FittedFormula

LEAST_GROWTH = 1.2
"""Ratio of the seconds of a cause at the largest number of processors to those at a quarter of it,
from which the cause counts as growing [1]."""

LEAST_SHARE_OF_TIME = 0.05
"""Smallest share of the time at the largest number of processors of a cause that is told [1]."""

LEAST_ROWS = 3
"""The fewest rows with a cause from which its growth is told."""

PART_OF_GROWTH = 0.5
"""Part of a cause's growth beyond the rows that a law must have to count as having a term for
it [1]."""

LARGEST_SCATTER = 0.06
"""Largest standard deviation of the logarithms of a cause about its form, up to which a law may
extend the form beyond the rows [1]. Chosen on the programs of `benchmarks/fit_coverage.py` with
seeds 20261000 to 20261069, measured with 2 % of noise: 0.005 to 0.03 where the cause grows as one
of the forms, 0.075 to 0.15 where it does not. There a law with the nearest form is up to twice as
far off at four times the largest number as one without the cause."""

STEP_BEYOND = 4.0
"""Ratio of the numbers of processors between which growth is compared."""


@dataclass(frozen=True, slots=True)
class _GrowthForm:
    """A function of the number of processors, in text, and whether it grows."""

    text: str
    evaluate: Callable[[Array], Array]


_FORMS = (
    _GrowthForm("", lambda p: np.ones(len(p))),
    _GrowthForm("log2(p)", lambda p: np.log2(p)),
    _GrowthForm("(p - 1) / p", lambda p: (p - 1) / p),
    _GrowthForm("log2(p)^2", lambda p: np.log2(p) ** 2),
    _GrowthForm("p^(1/4)", lambda p: p**0.25),
    _GrowthForm("p^(1/3)", lambda p: p ** (1 / 3)),
    _GrowthForm("sqrt(p)", lambda p: p**0.5),
    _GrowthForm("sqrt(p) log2(p)", lambda p: p**0.5 * np.log2(p)),
    _GrowthForm("p^(2/3)", lambda p: p ** (2 / 3)),
    _GrowthForm("p^(3/4)", lambda p: p**0.75),
    _GrowthForm("(p - 1)", lambda p: p - 1),
    _GrowthForm("p log2(p)", lambda p: p * np.log2(p)),
    _GrowthForm("(p - 1)^2", lambda p: (p - 1) ** 2),
    _GrowthForm("/ sqrt(p)", lambda p: p**-0.5),
    _GrowthForm("/ p", lambda p: 1 / p),
)


@dataclass(frozen=True, slots=True)
class MeasuredCause:
    """The seconds that a processor loses to one cause, by the number of processors.

    Parameters
    ----------
    name : of the cause
    p : numbers of processors, ascending, (K,)
    seconds : lost there by each processor (K,)
    """

    name: str
    p: Array
    seconds: Array

    def up_to(self, processors: float) -> MeasuredCause:
        """Return the rows on at most a number of processors."""
        is_inside = self.p <= processors
        return replace(self, p=self.p[is_inside], seconds=self.seconds[is_inside])


@dataclass(frozen=True, slots=True)
class FittedCause:
    """A cause with the form that is nearest to its rows.

    Parameters
    ----------
    measured_cause : the rows
    form : the function of the number of processors
    coefficient : seconds that are multiplied by it [s]
    scatter : standard deviation of the logarithms of the rows about the form [1]
    """

    measured_cause: MeasuredCause
    form: _GrowthForm
    coefficient: float
    scatter: float

    def seconds(self, p: Array) -> Array:
        """Return the seconds that each processor loses to the cause; 0 on one processor if no loss
        was measured there.
        """
        form_seconds = self.coefficient * self.form.evaluate(p)
        single_seconds = self.measured_cause.seconds[self.measured_cause.p == 1]
        is_absent = (p == 1) & bool(len(single_seconds) and single_seconds[0] == 0)
        return np.asarray(np.where(is_absent, 0.0, form_seconds))

    @property
    def text(self) -> str:
        """The term of the cause in plain text."""
        return (
            f"{self.coefficient:.3g} s {self.form.text}".strip() + f" ({self.measured_cause.name})"
        )

    @property
    def grows(self) -> bool:
        """Whether both the rows and the form grow with the number of processors."""
        largest = float(self.measured_cause.p.max())
        seconds_before, last_seconds = self.seconds(
            np.array([max(2.0, largest / STEP_BEYOND), largest])
        )
        rows_before = self.measured_cause.seconds[self.measured_cause.p <= largest / STEP_BEYOND]
        return bool(
            last_seconds >= LEAST_GROWTH * seconds_before
            and len(rows_before)
            and self.measured_cause.seconds[-1] >= LEAST_GROWTH * rows_before.max()
        )


def fit_cause(cause: MeasuredCause) -> FittedCause | None:
    """Return a cause with the growth form that is nearest to its rows, by squared relative errors;
    None where too few rows have it. All forms have one coefficient, so none has more freedom.

    >>> p = np.array([1.0, 2.0, 4.0, 8.0])
    >>> fit_cause(MeasuredCause("mpi", p, np.array([0.0, 0.5, 1.0, 1.5]))).text
    '0.5 s log2(p) (mpi)'
    """
    is_measured = (cause.seconds > 0) & (cause.p > 1)
    p, seconds = cause.p[is_measured], cause.seconds[is_measured]
    if len(p) < LEAST_ROWS:
        return None
    fitted_causes = []
    for form in _FORMS:
        log_ratios = np.log(seconds / form.evaluate(p))
        coefficient = float(np.exp(log_ratios.mean()))
        fitted_causes.append(FittedCause(cause, form, coefficient, float(log_ratios.std())))
    return min(fitted_causes, key=lambda fitted_cause: fitted_cause.scatter)


def growing_causes(timings: Timings) -> list[FittedCause]:
    """Return the causes that grow in the rows of some timings, each with its form."""
    largest_count = float(timings.p.max())
    fitted_causes = (
        fit_cause(fitted_cause.up_to(largest_count)) for fitted_cause in timings.causes
    )
    return [
        fitted_cause
        for fitted_cause in fitted_causes
        if fitted_cause is not None and fitted_cause.grows
    ]


def family_with_causes(timings: Timings) -> Family | None:
    """Return Amdahl's law with a term for each measured cause that grows. Return None if no cause
    grows, if one grows in none of the forms, or if the rows have several sizes.

    The terms are fitted to the columns of the causes, and the work and its serial part to the
    times, which leaves as many free parameters as Amdahl's law has.
    """
    causes = growing_causes(timings)
    have_forms = all(cause.scatter <= LARGEST_SCATTER for cause in causes)
    if timings.has_sizes or not causes or not have_forms:
        return None
    return Family(
        CAUSES,
        "Amdahl's law with the measured causes",
        "Amdahl, AFIPS 1967; terms of the causes as measured",
        _formulas_with_causes,
    )


def _formulas_with_causes(timings: Timings) -> Sequence[TimeFormula]:
    """Return the formula of Amdahl's law with a term for each cause that grows in the timings."""
    # Fitted to smaller rows alone, the law must not know the causes of the larger ones.
    causes = growing_causes(timings)

    def seconds_of_causes(points: Timings) -> Array:
        total_seconds: Array = sum(
            (cause.seconds(points.p) for cause in causes), np.zeros(len(points))
        )
        return total_seconds

    def time(theta: Array, points: Timings) -> Array:
        work_time = theta[0] * (1 + theta[1] * (points.p - 1)) / work_divisor(points)
        return np.asarray(work_time + seconds_of_causes(points))

    def starting_points(points: Timings) -> list[Array]:
        term_columns = np.column_stack([np.ones(len(points)), points.p - 1])
        remaining_times = np.maximum(points.time - seconds_of_causes(points), 0.01 * points.time)
        single_time, serial_growth = nonnegative_coefficients(
            term_columns / work_divisor(points)[:, None], remaining_times
        )
        single_time = single_time if single_time > 0 else float(points.time[0])
        return [np.array([single_time, serial_growth / single_time])]

    def lost_times(theta: Array, points: Timings) -> LostTimes:
        serial_times = theta[0] * theta[1] * (points.p - 1) / work_divisor(points)
        return {
            "serial part": serial_times,
            **{cause.measured_cause.name: cause.seconds(points.p) for cause in causes},
        }

    divisor_text = "" if timings.weak_scaling else " / p"
    term_texts = [f"single (1 + serial (p - 1)){divisor_text}", *(cause.text for cause in causes)]
    parameters = (
        FitParameter("single", "s", "time on one processor, without the measured causes"),
        FitParameter("serial", "1", "serial part of the work", 1.0),
    )
    return [
        TimeFormula(
            CAUSES,
            f"T = {' + '.join(term_texts)}",
            parameters,
            time,
            starting_points,
            lost_times=lost_times,
        )
    ]


def causes_without_term(fitted_formula: FittedFormula) -> Iterator[FittedCause]:
    """Yield the measured causes that grow with the number of processors and make up a part of the
    time, but whose growth beyond the rows a fitted law has no term for.

    The overhead of a law is its time without the time on one processor, divided among those that
    share the work; it must grow by `PART_OF_GROWTH` of what the cause grows by.
    """
    timings = fitted_formula.timings
    if timings.has_sizes:
        return
    largest_count = float(timings.p.max())
    processor_counts = np.array([1.0, largest_count, STEP_BEYOND * largest_count])
    times = fitted_formula.predict(processor_counts)
    overheads = times - times[0] / work_divisor(timings.points(processor_counts))
    for cause in growing_causes(timings):
        seconds_growth = np.diff(cause.seconds(processor_counts[1:]))[0]
        is_large = cause.measured_cause.seconds[-1] >= LEAST_SHARE_OF_TIME * times[1]
        if is_large and overheads[2] - overheads[1] < PART_OF_GROWTH * seconds_growth:
            yield cause


def growth_in_words(cause: FittedCause, timings: Timings) -> str:
    """Return in words how a measured cause grows, and its share of the time at the largest number
    of processors.
    """
    p, seconds = cause.measured_cause.p, cause.measured_cause.seconds
    first_index = int(np.flatnonzero((seconds > 0) & (p > 1))[0])
    share_of_time = float(seconds[-1] / np.median(timings.time[timings.p == p[-1]]))
    form_name = cause.form.text.replace("(p)", " p")
    form_text = (
        f"as {form_name}" if cause.scatter <= LARGEST_SCATTER else "as no simple power or logarithm"
    )
    return (
        f"{cause.measured_cause.name} grows from {seconds[first_index]:.3g} s at p ="
        f" {p[first_index]:g}"
        f" to {seconds[-1]:.3g} s at p = {p[-1]:g} ({percent(share_of_time)} of the time),"
        f" {form_text}"
    )

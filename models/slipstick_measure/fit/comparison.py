"""Several families fitted to the same timings: the order in which the data prefer them, and the
answers with intervals.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial

from slipstick.answer import Answer, Value
from slipstick.errors import NoAnswerError
from slipstick.late import Array, dataclass, np, replace
from slipstick.report.formatting import join_phrases, plain_decimal
from slipstick_measure.fit.extrapolation import (
    LARGEST_SIZE_RATIO,
    Extrapolation,
    size_needed,
    sizes_needed,
)
from slipstick_measure.fit.families import FAMILIES, family_named
from slipstick_measure.fit.formula import Family, Timings
from slipstick_measure.fit.growth_bounds import (
    GrowthBounds,
    LossGrowth,
    growth_bounds,
    loss_growths,
)
from slipstick_measure.fit.intervals import FitIntervals, profile, resample
from slipstick_measure.fit.least_squares import FittedFormula, fit
from slipstick_measure.fit.measured_causes import (
    FittedCause,
    causes_without_term,
    family_with_causes,
    growing_causes,
    growth_in_words,
)
from slipstick_measure.fit.posterior import ASSUMED_NOISE, ENOUGH_FREEDOM
from slipstick_measure.fit.rows import MeasuredRows
from slipstick_measure.results import (
    CAUSES,
    LEAST_CRITERION_DIFFERENCE,
    Curve,
    ExtrapolatedPrediction,
    Fitting,
    RefusedPrediction,
    TimeGoal,
)

TESTED_STEPS = (2.0, 4.0)
"""Ratios of the largest number of processors to those of the smaller runs, at which predictions are
tested by leaving out the larger runs.
"""

LARGEST_RELATIVE_ERROR = 0.1
"""Relative error above which a law does not describe rows: its scatter, unless repetitions scatter
as much, and what it misses of the largest rows when fitted without them, beyond what scatter and
uncertain parameters explain."""

MOST_DEVIATIONS = 2.0
"""Standard deviations, of scatter and uncertain parameters, up to which a law fitted without the
largest rows predicts them: about 95 % of a normal distribution."""

LEAST_FORM_ERROR = 0.03
"""Standard deviation of the logarithm of a law's own error at the largest rows, where they are
tested: no law is exact. Chosen by judgement; the tables of ``benchmarks/fit_coverage.py`` show what
is refused with it."""

SPREAD_OF_NEW_CAUSE = 0.5
PROBABILITY_OF_NEW_CAUSE = 0.3
"""Standard deviation of the logarithm by which the largest rows differ from a law if a new cause
begins there, and how probable that is beside a law that goes on. Chosen with seeds 10,000 to
10,199 of the small tables of ``benchmarks/fit_coverage.py``: half the probability refuses as few
tables of laws, and more than half of it again refuses twice as many."""

MOST_REPETITIONS = 3.0
"""Multiples of the scatter of repetitions that a law's scatter may have."""

DEVIATION_PER_DOUBLING = 0.1
"""Standard deviation of the logarithm by which predictions get less sure each doubling beyond the
rows, for what no law that is fitted to them can know; chosen with 20 truths that no family has, see
``benchmarks/fit_coverage.py`` for others."""

PART_OF_UNSEEN_BEND = 0.5
"""Part of a bend that no row shows which counts as a standard deviation of the logarithm: a law may
go on beyond the rows in another direction than that of the last measured doubling, as a queue does
that saturates at the largest number, and rows of a node that is slower look alike. Chosen with one
such truth (400 s / p, a quarter slower on 16 processors, and 2 s log2 p), judged with the fresh
ones of ``benchmarks/fit_coverage.py``."""

WIDEST_PREDICTION_RATIO = 4.0
"""High over low above which a prediction is refused: it is of no use."""

MEMBERS_OF_ONE_MACHINE = ("thread", "core")
"""What the processors of one machine are called."""

MOST_CRITERION_DIFFERENCE = 14.0
"""Distance of a criterion from the best one from which a family has no part in a prediction: its
weight would be under 1/1000."""


@dataclass(frozen=True, slots=True)
class HeldOutTest:
    """A test of a family: a fit to the smaller runs, compared with the largest runs, which were
    left out of it.

    Parameters
    ----------
    step_ratio : largest number of processors measured over the largest of the smaller runs [1]
    largest_runs_error : relative error at the largest runs (root of the mean square) [1]
    form_error : error of the mean logarithm there, beyond what scatter and uncertain parameters
        explain [1]
    criterion : Akaike's, of the fit to the smaller runs
    log_difference : predicted less measured mean logarithm at the largest runs [1]
    explained_deviation : standard deviation of it by scatter and uncertain parameters [1]
    """

    step_ratio: float
    largest_runs_error: float
    form_error: float
    criterion: float
    log_difference: float
    explained_deviation: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family that was fitted to the rows, and how it compares with the other families.

    Parameters
    ----------
    family : the family that was fitted
    fitted_formula : the fit
    criterion_difference : difference of its criterion from the best one [1]
    tests : tests on the largest runs, by ascending steps; none where too few runs are left to fit
    """

    family: Family
    fitted_formula: FittedFormula
    criterion_difference: float
    tests: tuple[HeldOutTest, ...]

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.family.name

    @property
    def largest_runs_error(self) -> float | None:
        """The relative error with which a fit to all but the largest runs predicts these, with the
        fewest runs left out; None if no runs were left out.
        """
        return self.tests[0].largest_runs_error if self.tests else None

    def test(self, extrapolation_factor: float) -> HeldOutTest | None:
        """Return the test with the smallest step that is at least the given factor; None if there
        is none.
        """
        return next(
            (test for test in self.tests if test.step_ratio >= extrapolation_factor * (1 - 1e-9)),
            None,
        )

    def misfit(self, noise: float) -> str:
        """Return the reason why the family does not describe the rows; an empty text if it does.

        Parameters
        ----------
        noise : scatter of repetitions [1]
        """
        scatter = self.fitted_formula.scatter
        if scatter > max(LARGEST_RELATIVE_ERROR, MOST_REPETITIONS * noise):
            return f"it misses the rows by {100 * scatter:.3g} %"
        test = self.test(TESTED_STEPS[0])
        if (
            test is None
            or test.form_error <= max(LARGEST_RELATIVE_ERROR, MOST_REPETITIONS * noise)
            or abs(test.log_difference) <= MOST_DEVIATIONS * test.explained_deviation
        ):
            return ""
        largest_processors = float(self.fitted_formula.timings.p.max())
        return (
            f"fitted to the rows up to p = {largest_processors / test.step_ratio:g}, it misses"
            f" those on {largest_processors:g}"
            f" by {100 * test.largest_runs_error:.3g} %"
        )

    def extrapolated_error(self, extrapolation_factor: float) -> float | None:
        """Return the largest form error that the tests give for a prediction beyond the rows by a
        factor; the error of a test grows with the logarithm of the step. None without tests.
        """
        tests = [test for test in map(self.test, (*TESTED_STEPS, extrapolation_factor)) if test]
        if not tests:
            return None
        return max(
            test.form_error
            * max(0.0, float(np.log(extrapolation_factor) / np.log(test.step_ratio)))
            for test in tests
        )


@dataclass(frozen=True)
class FitComparison:
    """The comparison of fitted families, best first.

    Parameters
    ----------
    candidates : by the criterion, the best first
    reason_by_failed_family : why a family has no fit, by its name
    noise : scatter of repetitions [1]
    is_chosen_by_caller : whether the caller chose the families, so that their form is taken to hold
        beyond the rows
    """

    candidates: tuple[Candidate, ...]
    reason_by_failed_family: Mapping[str, str]
    noise: float = 0.0
    is_chosen_by_caller: bool = False

    @cached_property
    def likely_candidates(self) -> tuple[Candidate, ...]:
        """The families with considerable evidence that describe the rows; if none describes them,
        all with such evidence.
        """
        candidates_with_evidence = [
            candidate
            for candidate in self.candidates
            if candidate.criterion_difference < MOST_CRITERION_DIFFERENCE
        ]
        return tuple(
            candidate for candidate in candidates_with_evidence if not candidate.misfit(self.noise)
        ) or tuple(candidates_with_evidence)

    @property
    def misfit(self) -> str:
        """The reason why no family describes the rows; empty if one does.

        A family may meet the largest rows by its own parameters, and yet have been chosen by these
        alone. So the families are fitted without them, and weighted by their evidence there: the
        largest rows must be more probable by these predictions than by the same predictions with a
        cause that begins there (`SPREAD_OF_NEW_CAUSE`). One family that the smaller rows support
        less than another may so speak for the largest rows.
        """
        if misfit_of_best := self.best.misfit(self.noise):
            return misfit_of_best
        tests = [test for candidate in self.candidates if (test := candidate.test(TESTED_STEPS[0]))]
        tests = [test for test in tests if np.isfinite(test.criterion)]
        if not tests:
            return ""
        criteria = np.array([test.criterion for test in tests])
        weights = np.exp(-(criteria - criteria.min()) / 2)
        weights /= weights.sum()
        log_differences = np.array([test.log_difference for test in tests])
        deviations = np.hypot([test.explained_deviation for test in tests], LEAST_FORM_ERROR)
        probability_by_laws, probability_by_new_cause = (
            float(weights @ (np.exp(-((log_differences / spread) ** 2) / 2) / spread))
            for spread in (deviations, np.hypot(deviations, SPREAD_OF_NEW_CAUSE))
        )
        if probability_by_laws >= PROBABILITY_OF_NEW_CAUSE * probability_by_new_cause:
            return ""
        mean_difference = float(weights @ log_differences)
        limit_of_fit = self.largest_measured / tests[int(weights.argmax())].step_ratio
        return (
            f"only the rows on p = {self.largest_measured:g} speak for it: the laws that describe"
            f" those up to p = {limit_of_fit:g} best miss them by"
            f" {100 * abs(np.expm1(mean_difference)):.3g} %"
        )

    def next_runs_text(self) -> str:
        """Return, in words, the numbers of processors to measure on next: beyond the rows, and
        between the two largest numbers if no law describes the rows.
        """
        measured_counts = self.best.fitted_formula.timings.processors
        proposed_counts = {
            round(float(measured_counts[-1]) * 1.5),
            round(float(measured_counts[-1]) * 2),
        }
        if (
            self.misfit
            and len(measured_counts) > 1
            and measured_counts[-1] - measured_counts[-2] > 1
        ):
            proposed_counts = {
                round(float(np.sqrt(measured_counts[-1] * measured_counts[-2]))),
                round(float(measured_counts[-1]) * 1.5),
            }
        return " and ".join(f"{processor_count:g}" for processor_count in sorted(proposed_counts))

    @property
    def best(self) -> Candidate:
        """The family with the best criterion of those that describe the rows; of all if none
        does.
        """
        return self.likely_candidates[0]

    @property
    def best_first(self) -> list[Candidate]:
        """The families, the one that describes the rows best before those that miss them."""
        return sorted(self.candidates, key=lambda candidate: candidate is not self.best)

    @property
    def rivals(self) -> tuple[Candidate, ...]:
        """The families that the data cannot distinguish from the best one, which comes first; those
        that miss rows have no part in it if others describe them.
        """
        return tuple(
            candidate
            for candidate in self.likely_candidates
            if candidate.criterion_difference - self.best.criterion_difference
            < LEAST_CRITERION_DIFFERENCE
        )

    @property
    def largest_measured(self) -> float:
        """The largest number of processors measured."""
        return float(self.best.fitted_formula.timings.p.max())

    @property
    def largest_predictable(self) -> float:
        """The largest number of processors that is predicted: the largest step beyond the rows that
        the data can test; see `refusal`.
        """
        numbers_for_test = self.best.fitted_formula.timings.processors[
            len(self.best.fitted_formula.theta) :
        ]
        return (
            float(
                int(
                    self.largest_measured
                    * max(1.0, self.largest_measured / float(numbers_for_test[0]))
                )
            )
            if len(numbers_for_test)
            else self.largest_measured
        )

    @cached_property
    def useful_reach(self) -> Callable[[float], float]:
        """The function from the level of intervals to the largest number of processors, up to
        `largest_predictable`, whose prediction is narrow enough to be useful; see
        `refusal_as_too_wide`.
        """
        return cache(self._useful_reach)

    def _useful_reach(self, level: float) -> float:
        """Return what `useful_reach` gives for a level."""
        numbers = range(int(self.largest_measured), int(self.largest_predictable) + 1)
        useful_count = bisect_left(
            numbers,
            True,
            key=lambda p: (
                self.interval(p, level)[1] > WIDEST_PREDICTION_RATIO * self.interval(p, level)[0]
            ),
        )
        return float(numbers[max(0, useful_count - 1)])

    def refusal(self, p: float) -> str:
        """Return the reason why there is no prediction for `p` processors; an empty text if there
        is one.

        A step beyond the data is made only if the data can test one as large: the best family,
        fitted to the runs on most / step processors and fewer, then predicts the largest runs.
        Families that agree on the data may differ beyond any bound.
        """
        extrapolation_factor = p / self.largest_measured
        best_candidate = self.best
        if extrapolation_factor > 1 and self.misfit:
            cause = "a limit of memory"
            if best_candidate.fitted_formula.timings.domain is None:
                cause += " or a second node (then say how many processors a node has)"
            return RefusedPrediction.of(
                p,
                ", beyond the rows, as no law describes them: the nearest is"
                f" {best_candidate.name}, but {self.misfit}",
                f"something may begin there, such as {cause}; measure on {self.next_runs_text()}"
                " next",
            )
        if extrapolation_factor <= 1 or best_candidate.test(extrapolation_factor):
            return ""
        return RefusedPrediction.of(
            p,
            f", {extrapolation_factor:.3g} times the largest measured, {self.largest_measured:g}:"
            f" a test of {best_candidate.name} over this factor needs repeated runs on"
            f" {len(best_candidate.fitted_formula.theta) + 1} numbers of processors, or single runs"
            f" on more, and runs on {extrapolation_factor:.3g} times the largest of these",
            f"measure on more than {self.largest_measured:g} processors, so that the factor is"
            " smaller",
        )

    def warning(self, p: float) -> str:
        """Return a warning on the distance of a prediction from the rows and on the errors that the
        tests show at that distance; empty within the range of the rows.
        """
        if p <= self.largest_measured or self.refusal(p):
            return self.refusal(p)
        extrapolation_factor = p / self.largest_measured
        tests_at_step = [
            test for rival in self.rivals if (test := rival.test(extrapolation_factor))
        ]
        least_percent, largest_percent = (
            100 * extreme(test.largest_runs_error for test in tests_at_step)
            for extreme in (min, max)
        )
        percents_text = (
            f"{least_percent:.1f} %"
            if largest_percent - least_percent < 0.05
            else f"{least_percent:.1f} to {largest_percent:.1f} %"
        )
        return ExtrapolatedPrediction(
            f"the prediction for {p:g} processors is extrapolated to"
            f" {extrapolation_factor:.3g} times the largest"
            f" measured number, {self.largest_measured:g}. Models fitted to the runs on up to"
            f" {self.largest_measured / tests_at_step[0].step_ratio:g} processors are"
            f" {percents_text}"
            f" off at {self.largest_measured:g}; the interval allows for"
            f" that{self._allowed_losses_phrase}, but not for losses that"
            f" first appear above {self.largest_measured:g}"
            f"{self._growth_left_out_phrase}"
        )

    @property
    def _growth_left_out_phrase(self) -> str:
        """A clause that names the measured causes that grow and for which the best law has no term;
        empty without such causes.
        """
        names = join_phrases([cause.measured_cause.name for cause in self.causes_left_out])
        return f", nor for the growth of {names}, which the law has no term for" if names else ""

    @cached_property
    def causes_left_out(self) -> tuple[FittedCause, ...]:
        """The measured causes that grow and that the best law has no term for."""
        return tuple(causes_without_term(self.best.fitted_formula))

    @property
    def finding_on_causes(self) -> str:
        """A sentence on each measured cause that grows, and on the laws that have no term for it,
        among the best law and the laws that the data cannot distinguish from it; empty if no cause
        grows.
        """
        timings = self.best.fitted_formula.timings
        causes_by_law = {
            rival.name: [
                cause.measured_cause.name for cause in causes_without_term(rival.fitted_formula)
            ]
            for rival in self.rivals
        }
        sentences = []
        for cause in [] if timings.has_sizes else growing_causes(timings):
            laws = [
                law for law, causes in causes_by_law.items() if cause.measured_cause.name in causes
            ]
            laws_remark = (
                f"; {join_phrases(laws)} {'has' if len(laws) == 1 else 'have'} no term that grows"
                " so, and will be too fast on more processors"
                if laws
                else ""
            )
            sentences.append(f"Measured: {growth_in_words(cause, timings)}{laws_remark}.")
        return " ".join(sentences)

    @property
    def _allowed_losses_phrase(self) -> str:
        """A clause that says which further losses the intervals beyond the rows allow for; empty if
        they allow for none.
        """
        allows_growing_losses = not self.is_chosen_by_caller and self._growth_of_losses
        return ", and for a throughput that rises no further" if allows_growing_losses else ""

    def predict(self, p: float, confidence_level: float) -> tuple[float, float]:
        """Return the interval of the time on `p` processors from all families, weighted by their
        evidence [s]. Beyond the rows it includes the possible growth of losses, unless the caller
        chose the families.

        The logarithm of the time has a mixture of Student's distributions. Weights are exp(-behind
        / 2) (Akaike's). The spread of a family is that of its parameters (by slopes) and the error
        of its form (`HeldOutTest`). That error is known from one or two tests, so that it counts as
        Student's with two degrees of freedom. A family that could not be tested is taken to be as
        wrong as the worst of the others. Measured by ``benchmarks/fit_coverage.py``.

        Source: Burnham and Anderson, Model Selection and Multimodel Inference, 2nd ed., 2002,
        chapter 4.

        Parameters
        ----------
        p : processors
        confidence_level : part of the mixture that lies inside [1]
        """
        likely_candidates = self.likely_candidates
        tail_probability = (1 + confidence_level) / 2
        weights = np.exp([-candidate.criterion_difference / 2 for candidate in likely_candidates])
        log_times = np.log(
            [float(candidate.fitted_formula.predict([p])[0]) for candidate in likely_candidates]
        )
        log_deviations = self._log_deviations(p, tail_probability)
        degrees_of_freedom = np.array(
            [candidate.fitted_formula.degrees_of_freedom for candidate in likely_candidates]
        )
        if not np.isfinite(log_deviations).all():
            return 0.0, float("inf")
        low_time, high_time = (
            float(
                np.exp(
                    _quantile_of_mixture(
                        probability, weights, log_times, log_deviations, degrees_of_freedom
                    )
                )
            )
            for probability in (1 - tail_probability, tail_probability)
        )
        return low_time, max(high_time, self._longest_time_beyond(p, confidence_level))

    def _log_deviations(self, p: float, tail_probability: float) -> Array:
        """Return the standard deviation of the logarithm of the time on `p` processors by each
        likely family: by its parameters, the error of its form, and a bend beyond the rows [1].
        """
        from scipy.special import ndtri, stdtrit

        likely_candidates = self.likely_candidates
        form_errors = [
            candidate.extrapolated_error(p / self.largest_measured)
            for candidate in likely_candidates
        ]
        worst_form_error = max(
            (form_error for form_error in form_errors if form_error is not None), default=0.0
        )
        student_factor = float(stdtrit(2, tail_probability) / ndtri(tail_probability))
        log_errors = [_log_error(candidate.fitted_formula, p) for candidate in likely_candidates]
        extrapolation_error = DEVIATION_PER_DOUBLING * max(
            0.0, float(np.log2(p / self.largest_measured))
        )
        log_deviations = np.hypot(
            log_errors,
            [
                student_factor * (worst_form_error if form_error is None else form_error)
                for form_error in form_errors
            ],
        )
        bend_deviations = [
            PART_OF_UNSEEN_BEND * self._departure_from_trend(candidate, p)
            for candidate in likely_candidates
        ]
        # The errors are taken as independent, so their squares add up; 1e-12 keeps the division by
        # a spread of 0 defined.
        return np.hypot(np.hypot(log_deviations, extrapolation_error), bend_deviations) + 1e-12

    def _longest_time_beyond(self, p: float, confidence_level: float) -> float:
        """Return the longest time on `p` processors beyond the rows, estimated without a law [s]; 0
        within the rows, or if the caller chose the families.

        A law that is fitted to the rows cannot know a saturation that begins beyond them, and of
        two laws that describe a bend, one may saturate and the other fall.
        """
        if self.is_chosen_by_caller or p <= self.largest_measured:
            return 0.0
        time_interval = self.bounds.time_interval(p, confidence_level) if self.bounds else None
        if time_interval:
            return time_interval[1]
        return min(
            (losses.longest_time(p, confidence_level) for losses in self._growth_of_losses),
            default=0.0,
        )

    @cached_property
    def _growth_of_losses(self) -> tuple[LossGrowth, ...]:
        """Estimates of how losses may grow beyond the rows."""
        return loss_growths(self.best.fitted_formula.timings, self._noise_of_rows)

    @property
    def _noise_of_rows(self) -> float:
        """The standard deviation of the logarithms of rows, computed from repetitions; without
        repetitions, the least scatter of a law that has degrees of freedom, limited to the assumed
        noise.
        """
        scatters = [
            candidate.fitted_formula.scatter
            for candidate in self.likely_candidates
            if candidate.fitted_formula.degrees_of_freedom >= ENOUGH_FREEDOM
        ]
        return self.noise or max(1e-9, min([*scatters, ASSUMED_NOISE]))

    def _departure_from_trend(self, candidate: Candidate, p: float) -> float:
        """Return the difference, in logarithms, of a predicted time beyond the rows from the
        straight line through the times on the last two measured numbers of processors. Return 0
        within the rows, or if the caller chose the families.
        """
        timings = candidate.fitted_formula.timings
        timings = timings.select(timings.n == timings.n.max())
        if self.is_chosen_by_caller or p <= self.largest_measured or len(timings.processors) < 2:
            return 0.0
        last_counts = timings.processors[-2:]
        log_before, log_last = (
            np.log(timings.time[timings.p == processor_count]).mean()
            for processor_count in last_counts
        )
        growth_of_rows = (log_last - log_before) / np.log(last_counts[1] / last_counts[0])
        log_prediction, log_at_last = np.log(candidate.fitted_formula.predict([p, last_counts[1]]))
        return abs(
            float(log_prediction - log_at_last - growth_of_rows * np.log(p / last_counts[1]))
        )

    def predictions(
        self, processor_counts: Sequence[float], confidence_level: float
    ) -> dict[float, tuple[float, float]]:
        """Return the intervals of the time [s] by number of processors, without the numbers at
        which there is no prediction or a useless one.
        """
        interval_by_processors = {
            p: self.predict(p, confidence_level) for p in processor_counts if not self.refusal(p)
        }
        interval_by_processors |= {
            p: interval
            for p in interval_by_processors
            if (interval := self.interval_by_bounds(p, confidence_level))
        }
        return {
            p: interval
            for p, interval in interval_by_processors.items()
            if interval[1] <= WIDEST_PREDICTION_RATIO * interval[0]
        }

    @cached_property
    def bounds(self) -> GrowthBounds | None:
        """The bounds of the time that need no fitted law; None if the rows are not of one machine,
        or if the caller chose the families.

        Rows are of one machine if its servers are told, or throughputs by threads or cores.
        """
        timings = self.best.fitted_formula.timings
        is_of_one_machine = timings.servers is not None or (
            timings.rate is not None and timings.member in MEMBERS_OF_ONE_MACHINE
        )
        return (
            growth_bounds(timings, self.noise)
            if is_of_one_machine and not self.is_chosen_by_caller
            else None
        )

    def interval_by_bounds(self, p: float, confidence_level: float) -> tuple[float, float] | None:
        """Return the interval of the time on `p` processors by bounds that need no law [s], if the
        laws give no interval or a wider one; else None.
        """
        if self.bounds is None or p <= self.largest_measured:
            return None
        interval = self.bounds.time_interval(p, confidence_level)
        if interval is None or interval[1] > WIDEST_PREDICTION_RATIO * interval[0]:
            return None
        if self.refusal(p):
            return interval
        low, high = self.predict(p, confidence_level)
        return None if high * interval[0] <= low * interval[1] else interval

    def interval(self, p: float, confidence_level: float) -> tuple[float, float]:
        """Return the interval of the time on `p` processors: by bounds that need no law where these
        are narrower, else by the laws [s].
        """
        return self.interval_by_bounds(p, confidence_level) or self.predict(p, confidence_level)

    def ends_of_efficient_processors(
        self, efficiency: float, confidence_level: float
    ) -> tuple[float, float | None]:
        """Return the interval of the number of processors up to which the efficiency reaches a
        goal: the largest numbers at which the low and the high end of the predicted efficiency
        reach it. The high end is None if its efficiency reaches the goal at `useful_reach`, too.

        Parameters
        ----------
        efficiency : the goal, above 0 and at most 1 [1]
        confidence_level : of the intervals [1]
        """
        extrapolation = Extrapolation(
            self.best.fitted_formula, largest_predicted=self.useful_reach(confidence_level)
        )

        def largest_number(end_index: int) -> float:
            """Return the largest number at which an end of the interval reaches the goal."""

            def is_inefficient(p: float) -> bool:
                time = self.interval(p, confidence_level)[end_index]
                return time > 0 and extrapolation.efficiency(p, time) < efficiency

            # Beyond the rows the interval widens, so that its high end may rise to the goal again:
            # the first number below the goal is wanted.
            numbers = range(int(extrapolation.base_processors), int(extrapolation.p[-1]) + 1)
            return float(numbers[max(_first_index(numbers, is_inefficient) - 1, 0)])

        high_count = largest_number(0)
        return largest_number(1), None if high_count >= extrapolation.p[-1] else high_count

    def ends_of_fastest_processors(self, confidence_level: float) -> tuple[float, float | None]:
        """Return the interval of the number of processors with the least time of the work of one
        processor: the first and the last number that the intervals of the time allow to be as fast
        as all others. The high end is None if `useful_reach` may be as fast, too.

        A number is allowed if the low end of its time is at most the least of the high ends.

        Parameters
        ----------
        confidence_level : of the intervals [1]
        """
        first_count = int(self.best.fitted_formula.timings.processors[0])
        reach = int(self.useful_reach(confidence_level))
        spaced_counts = np.unique(np.round(np.geomspace(first_count, reach, 2 * INTERVAL_POINTS)))
        is_weak = self.best.fitted_formula.timings.weak_scaling

        def work_time(p: float, end_index: int) -> float:
            """Return an end of the interval of the time for the work of one processor [s]."""
            return self.interval(p, confidence_level)[end_index] / (p if is_weak else 1.0)

        least_high_end = min(work_time(p, 1) for p in spaced_counts.tolist())

        def may_be_fastest(p: float) -> bool:
            return work_time(p, 0) <= least_high_end

        numbers = range(first_count, reach + 1)
        low_index = _first_index(numbers, may_be_fastest)
        later_numbers = numbers[low_index:]
        high_index = _first_index(later_numbers, lambda p: not may_be_fastest(p))
        is_open = high_index == len(later_numbers)
        return float(numbers[low_index]), None if is_open else float(later_numbers[high_index - 1])

    def processors_for(self, goal: TimeGoal, confidence_level: float) -> Value:
        """Return the smallest number of processors that keeps a goal, from the smallest number
        measured to `useful_reach`; where each processor has work of its own, so that more of them
        only raise the time, the largest number that keeps a longest time.

        The value is that of the best law, None if no number keeps the goal by it. The interval has
        the numbers of all rivals, and those at which the ends of the predicted time keep the goal;
        an end is None if it lies beyond that range.

        Parameters
        ----------
        goal : the time or throughput that is wanted
        confidence_level : of the intervals [1]
        """
        timings = self.best.fitted_formula.timings
        is_largest_wanted = goal.time is not None and timings.weak_scaling
        numbers = range(int(timings.processors[0]), int(self.useful_reach(confidence_level)) + 1)

        def number_by(time_on: Callable[[float], float]) -> float | None:
            """Return the number that keeps the goal by a function of the time."""
            index = _first_index(
                numbers, lambda p: (time_on(p) <= goal.time_on(p)) != is_largest_wanted
            )
            if is_largest_wanted:
                return float(numbers[index - 1]) if index else None
            return float(numbers[index]) if index < len(numbers) else None

        def time_by_law(rival: Candidate, p: float) -> float:
            """Return the time by a law [s]."""
            return float(rival.fitted_formula.predict([p])[0])

        def time_at_end(end_index: int, p: float) -> float:
            """Return an end of the interval of the time [s]."""
            return self.interval(p, confidence_level)[end_index]

        counts = [number_by(partial(time_by_law, rival)) for rival in self.rivals]
        counts += [number_by(partial(time_at_end, end_index)) for end_index in (0, 1)]
        known_counts = [count for count in counts if count is not None]
        is_open = len(known_counts) < len(counts) or (
            is_largest_wanted and max(known_counts) == numbers[-1]
        )
        return Value(
            counts[0],
            "1",
            min(known_counts, default=None),
            None if is_open else max(known_counts),
        )

    def intervals_by_bounds(
        self, processor_counts: Sequence[float], confidence_level: float
    ) -> dict[float, tuple[float, float]]:
        """Return intervals of the time that need no law, for the numbers of processors at which
        these replace the intervals of laws [s].
        """
        interval_by_processors = {
            p: self.interval_by_bounds(p, confidence_level) for p in processor_counts
        }
        return {p: interval for p, interval in interval_by_processors.items() if interval}

    def refusal_as_too_wide(self, p: float, confidence_level: float) -> str:
        """Return the reason why a prediction is too uncertain to be useful; an empty text if it is
        useful, or if `refusal` has a reason already.
        """
        if self.refusal(p) or self.interval_by_bounds(p, confidence_level):
            return ""
        low, high = self.predict(p, confidence_level)
        if high <= WIDEST_PREDICTION_RATIO * low:
            return ""
        if not np.isfinite(high):
            return RefusedPrediction.of(
                p,
                ": the error of a fit is beyond all numbers",
                "are the measured times right?",
            )
        throughput_unit = self.best.fitted_formula.timings.rate
        range_text = f"the time lies between {low:.3g} s and {high:.3g} s"
        if throughput_unit:
            throughput_name, work_size = throughput_unit
            least_rate, most_rate = (plain_decimal(p / time / work_size, 3) for time in (high, low))
            range_text = (
                f"the throughput lies between {least_rate} and {most_rate} {throughput_name}"
            )
        return RefusedPrediction.of(
            p,
            f": {range_text}, a factor of {high / low:.3g}",
            f"measure on {self.next_runs_text()} next",
        )

    def disagreement(self, p: float) -> float:
        """Return the disagreement of the rivals on `p` processors: the largest over the smallest
        prediction, minus 1.
        """
        predicted_times = [float(rival.fitted_formula.predict([p])[0]) for rival in self.rivals]
        return max(predicted_times) / min(predicted_times) - 1

    def verdict(self, processor_counts: Sequence[float] = ()) -> str:
        """Return sentences on which families the data prefer, and which they cannot distinguish,
        for predictions on some numbers of processors.
        """
        rival_names = ", ".join(rival.name for rival in self.rivals)
        best_candidate = self.best
        if self.misfit:
            return (
                f"no law describes these rows: the nearest is {best_candidate.name}, but"
                f" {self.misfit}"
            )
        if len(self.rivals) == 1:
            sentence = f"the data prefer {rival_names}"
        else:
            sentence = f"the data cannot distinguish these: {rival_names}"
            sentence += "".join(
                f"; at p = {processor_count:g} they differ by"
                f" {100 * self.disagreement(processor_count):.1f}"
                " %"
                for processor_count in processor_counts
            )
        sentence += "".join(
            f"; {candidate.name} is left out: {candidate.misfit(self.noise)}"
            for candidate in self.candidates
            if candidate.criterion_difference - best_candidate.criterion_difference
            < LEAST_CRITERION_DIFFERENCE
            and candidate not in self.likely_candidates
        )
        if (
            best_candidate.largest_runs_error is None
            or best_candidate.largest_runs_error <= 2 * best_candidate.fitted_formula.scatter
        ):
            return sentence
        better_candidates = [
            candidate
            for candidate in self.candidates
            if candidate.largest_runs_error is not None
            and candidate.largest_runs_error < best_candidate.largest_runs_error / 3
        ]
        if better_candidates:
            sentence += (
                f", but {better_candidates[0].name} predicts the largest runs better from the"
                " others; rely on neither far beyond the data"
            )
        return sentence


def _first_index(numbers: Sequence[int], is_met: Callable[[float], bool]) -> int:
    """Return the index of the first number that meets a condition; the count of the numbers if none
    does. Between spaced numbers, the condition may change once.

    >>> _first_index(range(1, 1000), lambda number: number >= 300)
    299
    """
    spaced_indices = np.unique(
        np.geomspace(1, len(numbers), 2 + int(4 * np.log2(len(numbers)))).astype(int) - 1
    ).tolist()
    last_index = 0
    for index in spaced_indices:
        if is_met(numbers[index]):
            return last_index + bisect_left(
                range(last_index, index), True, key=lambda place: is_met(numbers[place])
            )
        last_index = index
    return len(numbers)


def families_to_fit(
    families: Sequence[str | Family], model: Family | None = None
) -> list[str | Family] | None:
    """Return the families to fit for a caller who named some families, a model, both or neither:
    None if the caller named neither, so that no form is taken to hold beyond the rows.

    Parameters
    ----------
    families : families that the caller named
    model : the family of a model whose parameters are free
    """
    if model is None:
        return [*families] or None
    return [model, *(families or FAMILIES)]


COMMON_EFFICIENCY = 0.75
"""An efficiency that is commonly required of an allocation."""


def compare(
    timings: Timings,
    families: Sequence[str | Family] | None = None,
    steps: Sequence[float] = TESTED_STEPS,
    efficiency: float = COMMON_EFFICIENCY,
) -> FitComparison:
    """Fit several families, order them by Akaike's criterion for few observations, and test each on
    the largest runs.

    Parameters
    ----------
    timings : what was measured
    families : families of our own by name, or others; all of our own if None
    steps : multiples of the smaller runs at which the families are tested
    efficiency : the goal to which the rows are compared if no family can be fitted [1]

    Raises
    ------
    UnknownNameError : there is no such family
    NoAnswerError : all timings are on one number of processors, or no family can be fitted and
        judged
    """
    if len(timings.processors) == 1:
        count_text = f"{timings.p[0]:g} {'processor' if timings.p[0] == 1 else 'processors'}"
        raise NoAnswerError(
            f"all timings are on {count_text}, which does not show how the time changes; measure"
            " on 2 or"
            " more"
        )
    chosen_families = [
        family_named(family) if isinstance(family, str) else family
        for family in families or FAMILIES
    ]
    # A caller who chose some laws wants no other.
    if {family.name for family in chosen_families} >= FAMILIES.keys():
        chosen_families += filter(None, [family_with_causes(timings)])
    fits: list[tuple[Family, FittedFormula]] = []
    reason_by_failed_family: dict[str, str] = {}
    missing_row_counts: list[int] = []
    for family in chosen_families:
        try:
            fits.append((family, _refuse_too_few_observations(fit(family, timings))))
        except _TooFewError as error:
            missing_row_counts.append(error.missing_count)
            reason_by_failed_family[family.name] = str(error)
        except NoAnswerError as error:
            reason_by_failed_family[family.name] = str(error)
    if not fits and missing_row_counts:
        findings = " ".join(MeasuredRows(timings, efficiency).sentences())
        raise NoAnswerError(
            f"no model can be fitted: {len(timings)} measured times are too few; add"
            f" {min(missing_row_counts)} or more, best on other numbers of {timings.member}s."
            f" {findings}".rstrip(".")
        )
    if not fits:
        reasons = "; ".join(dict.fromkeys(reason_by_failed_family.values()))
        raise NoAnswerError(f"no model can be fitted: {reasons}")
    fits.sort(key=lambda family_and_fit: family_and_fit[1].aicc)
    least_criterion = fits[0][1].aicc
    # Of laws that the times do not tell apart, that of the measured causes is right about more.
    fits.sort(
        key=lambda family_and_fit: (
            family_and_fit[0].name != CAUSES
            or family_and_fit[1].aicc - least_criterion >= LEAST_CRITERION_DIFFERENCE
        )
    )
    return FitComparison(
        tuple(
            Candidate(
                family,
                fitted_formula,
                fitted_formula.aicc - least_criterion,
                _held_out_tests(family, fitted_formula, steps),
            )
            for family, fitted_formula in fits
        ),
        reason_by_failed_family,
        MeasuredRows(timings, efficiency).noise,
        is_chosen_by_caller=bool(families),
    )


def _refuse_too_few_observations(fitted_formula: FittedFormula) -> FittedFormula:
    """Return a fit unchanged; raise if it has too few observations for the corrected Akaike
    criterion.

    The criterion needs at least two more observations than parameters, the scatter included.
    """
    if np.isfinite(fitted_formula.aicc):
        return fitted_formula
    observation_count = len(fitted_formula.timings)
    raise _TooFewError(observation_count, fitted_formula)


class _TooFewError(NoAnswerError):
    """The error that a family has too many parameters to be judged by the observations."""

    def __init__(self, observation_count: int, fitted_formula: FittedFormula) -> None:
        parameter_count = len(fitted_formula.theta)
        self.missing_count = (
            parameter_count + fitted_formula.formula.chosen_exponents + 3 - observation_count
        )
        super().__init__(
            f"{observation_count} observations are too few to judge {parameter_count} parameters"
            " by: add"
            f" {self.missing_count} or more"
        )


def _held_out_tests(
    family: Family, fitted_formula: FittedFormula, steps: Sequence[float]
) -> tuple[HeldOutTest, ...]:
    """Test a family by fits to the smaller runs, one for each step: the fit leaves out the runs on
    more than the largest number of processors over the step.
    """
    timings = fitted_formula.timings
    largest_processors = float(timings.p.max())
    largest_fitted_counts = {
        float(smaller_processors.max())
        for step in steps
        if len(smaller_processors := timings.p[timings.p <= largest_processors / step * (1 + 1e-9)])
    }
    tests = (
        _held_out_test(family, fitted_formula, largest_processors, largest_fitted)
        for largest_fitted in sorted(largest_fitted_counts, reverse=True)
    )
    return tuple(test for test in tests if test)


def _held_out_test(
    family: Family, fitted_formula: FittedFormula, largest_processors: float, largest_fitted: float
) -> HeldOutTest | None:
    """Test a family: fit it to runs on few processors and compare its prediction with the largest
    runs. Return None if such a fit is impossible.
    """
    timings = fitted_formula.timings
    smaller_timings = timings.select(timings.p <= largest_fitted)
    largest_runs = timings.select(timings.p == largest_processors)
    if len(smaller_timings.processors) <= len(fitted_formula.theta):
        return None
    try:
        smaller_fit = fit(family, smaller_timings)
    except NoAnswerError:
        return None
    if smaller_fit.degrees_of_freedom < 1:
        return None
    log_errors = np.log(
        smaller_fit.formula.time(smaller_fit.theta, largest_runs) / largest_runs.time
    )
    explained_variance = _log_error(
        smaller_fit, largest_processors
    ) ** 2 + fitted_formula.scatter**2 / len(log_errors)
    mean_difference = float(log_errors.mean())
    form_error = float(np.sqrt(max(0.0, mean_difference**2 - explained_variance)))
    relative_error = float(np.sqrt(np.mean(np.expm1(log_errors) ** 2)))
    return HeldOutTest(
        largest_processors / largest_fitted,
        relative_error,
        form_error,
        smaller_fit.aicc,
        mean_difference,
        float(np.sqrt(explained_variance)),
    )


def _quantile_of_mixture(
    probability: float,
    weights: Array,
    centres: Array,
    deviations: Array,
    degrees_of_freedom: Array,
) -> float:
    """Return the quantile of a mixture of Student's distributions.

    Parameters
    ----------
    probability : probability that the quantile is not exceeded [1]
    weights, centres, deviations, degrees_of_freedom : of each distribution
    """
    from scipy.optimize import brentq
    from scipy.special import stdtr, stdtrit

    quantiles = centres + deviations * stdtrit(degrees_of_freedom, probability)
    # A single family, or equal ones: the quantile of the mixture is theirs, and there is no
    # bracket.
    if np.ptp(quantiles) < 1e-12:
        return float(quantiles[0])

    def excess_probability(value: float) -> float:
        """Return how far the probability up to a value exceeds the wanted one [1]."""
        probabilities = stdtr(degrees_of_freedom, (value - centres) / deviations)
        return float(weights @ probabilities / weights.sum()) - probability

    return float(brentq(excess_probability, quantiles.min() - 1e-9, quantiles.max() + 1e-9))


def _log_error(fitted_formula: FittedFormula, p: float) -> float:
    """Return the standard error of the logarithm of the time that a fit predicts on `p`
    processors [1].
    """
    time = fitted_formula.time_function_at(p)
    return fitted_formula.standard_error(lambda thetas: np.log(time(thetas)))


SIZE_TOLERANCE = 1e-6
"""Relative tolerance at which a size counts as the largest one considered."""

_LONGEST_CURVE_TITLE = 40  # letters of the title of a law in the legend of a picture

CURVE_POINTS, INTERVAL_POINTS = 48, 12
"""Numbers of processors along a drawn curve, and along its intervals, which take long."""


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """How confidence intervals of a fit are computed.

    Parameters
    ----------
    method : the method, bootstrap or profile
    level : confidence level, if the formula is right [1]
    seed, draws : seed of the bootstrap and number of its fits
    """

    method: str = "profile"
    level: float = 0.95
    seed: int = 1
    draws: int = 200

    def intervals_of(self, fitted_formula: FittedFormula) -> FitIntervals:
        """Return the object that computes the intervals of a fit by these settings."""
        return (
            profile(fitted_formula)
            if self.method == "profile"
            else resample(fitted_formula, self.seed, self.draws)
        )

    @property
    def text(self) -> str:
        """The meaning of the ends of intervals, in words."""
        method_in_words = (
            "the profile of the fit"
            if self.method == "profile"
            else f"{self.draws} fits to resampled timings"
        )
        return (
            f"the intervals have a confidence of {100 * self.level:.0f} %. Those of parameters"
            f" ({method_in_words}) assume that the formula is right. Those of times include all"
            " models, weighted by their evidence and by their errors at the largest runs when"
            " fitted without them"
        )


def fits(
    timings: Timings,
    families: Sequence[str | Family] | None = None,
    p: Sequence[float] = (),
    intervals: IntervalSettings | None = None,
    with_curves: bool = False,
    efficiency: float = COMMON_EFFICIENCY,
    goal: TimeGoal | None = None,
    losses_at: float | None = None,
) -> Fitting:
    """Fit families, and predict the time on the given numbers of processors.

    Families that the data do not exclude have intervals; the others have values to compare only.
    Those of times carry the doubt about the family (`FitComparison.predict`). What the data cannot
    test has no prediction (`FitComparison.refusal`). Processors lost are those at `losses_at` if it
    has a prediction, else at the largest number predicted for, or measured if none is.

    Parameters
    ----------
    timings, families : as for `compare`
    p : processors to predict for
    intervals : how confidence intervals are computed
    with_curves : whether the curves of the fits are computed, to draw them
    efficiency : the goal that the efficient number of processors and the size needed reach, above 0
        and at most 1 [1]
    goal : the time or throughput for which a number of processors is wanted; None without one
    losses_at : the number of processors whose losses are wanted; None if none is preferred

    Raises
    ------
    UnknownNameError, NoAnswerError : as for `compare`
    """
    intervals = intervals or IntervalSettings()
    largest_processors = float(timings.p.max())
    predicted_steps = {processors / largest_processors for processors in p}
    steps_beyond = {step for step in predicted_steps if step > 1}
    comparison = compare(timings, families, sorted({*TESTED_STEPS, *steps_beyond}), efficiency)
    intervals_by_bounds = comparison.intervals_by_bounds(p, intervals.level)
    warnings = [
        comparison.refusal_as_too_wide(processors, intervals.level)
        or comparison.warning(processors)
        for processors in sorted(p)
        if processors not in intervals_by_bounds
    ]
    predictions = comparison.predictions(p, intervals.level)
    measured_rows = MeasuredRows(timings, efficiency)
    answers = [
        _answer_of_fit(candidate, intervals, measured_rows, predictions, comparison, losses_at)
        for candidate in comparison.best_first
    ]
    if not comparison.misfit:
        answers = _with_ends_of_counts(answers, comparison, efficiency, intervals.level)
        if goal is not None:
            count = comparison.processors_for(goal, intervals.level)
            values = {**answers[0].values, "needed_processors": count}
            answers[0] = replace(answers[0], values=values)
    answers += [
        Answer(name, "fit", failed=reason)
        for name, reason in comparison.reason_by_failed_family.items()
    ]
    curves = (
        _curves_of_fits(
            comparison,
            min(max([2 * largest_processors, *p]), comparison.largest_predictable),
            intervals.level,
        )
        if with_curves
        else ()
    )
    reach = largest_processors if comparison.misfit else comparison.useful_reach(intervals.level)
    log_covariances = _log_covariances_of_models(comparison)
    size = float(timings.n.max()) if timings.has_sizes else None
    timings_of_largest_size = timings.select(timings.n == timings.n.max())
    measured_columns = timings_of_largest_size.p.tolist(), timings_of_largest_size.time.tolist()
    return Fitting(
        tuple(answers),
        comparison.verdict(p),
        tuple(filter(None, warnings)),
        *measured_columns,
        curves,
        size=size,
        efficiency=efficiency,
        goal=goal,
        findings=tuple(filter(None, [comparison.finding_on_causes, *measured_rows.sentences()])),
        growing_causes=tuple(cause.measured_cause.name for cause in comparison.causes_left_out),
        has_law=not comparison.misfit,
        member=timings.member,
        bounded=intervals_by_bounds,
        next_runs=comparison.next_runs_text(),
        weak_scaling=timings.weak_scaling,
        rate=timings.rate,
        log_covariances=log_covariances,
        reach=reach,
        intervals_beyond=_intervals_beyond(comparison, largest_processors, reach, intervals.level)
        if log_covariances
        else {},
        undistinguished_names=tuple(rival.name for rival in comparison.rivals),
    )


def _log_covariances_of_models(comparison: FitComparison) -> dict[str, list[list[float]]]:
    """Return the covariances of the logarithms of the parameters of models, by model."""
    return {
        candidate.name: candidate.fitted_formula.log_covariance.tolist()
        for candidate in comparison.candidates
        if candidate.name not in FAMILIES and candidate.name != CAUSES
    }


def _intervals_beyond(
    comparison: FitComparison, first_processors: float, last_processors: float, level: float
) -> dict[float, tuple[float, float]]:
    """Return the intervals of the predicted time between two numbers of processors [s]."""
    processor_counts = np.geomspace(first_processors, last_processors, 2 * INTERVAL_POINTS)
    return {
        processors: comparison.interval(processors, level)
        for processors in np.unique(np.round(processor_counts)).tolist()
    }


def _curves_of_fits(
    comparison: FitComparison, last_processors: float, confidence_level: float
) -> tuple[Curve, ...]:
    """Return the curve of every fit up to a number of processors, with intervals of the best fit
    where it predicts.
    """
    curve_processor_counts, interval_processor_counts = (
        np.unique(np.round(np.geomspace(1, last_processors, count))).tolist()
        for count in (CURVE_POINTS, INTERVAL_POINTS)
    )
    # Of rows that no law describes, no law has an interval.
    interval_by_processors = (
        {}
        if comparison.misfit
        else comparison.predictions(interval_processor_counts, confidence_level)
    )
    low_times, high_times = (
        [interval[end_index] for interval in interval_by_processors.values()]
        for end_index in (0, 1)
    )
    curves = [
        Curve(
            _curve_title(candidate.name),
            curve_processor_counts,
            candidate.fitted_formula.predict(curve_processor_counts).tolist(),
        )
        for candidate in comparison.best_first
    ]
    return replace(
        curves[0], at=list(interval_by_processors), low=low_times, high=high_times
    ), *curves[1:]


def _curve_title(name: str) -> str:
    """Return the title of a curve in a picture: the title of its law with the name that sentences
    have, the name alone if the title is long, or the name of the model.
    """
    family = FAMILIES.get(name)
    if family is None:
        return f"model {name}"
    title = family.title.removeprefix("the ")
    return f"{title} ({name})" if len(title) <= _LONGEST_CURVE_TITLE else f"law {name}"


def _answer_of_fit(
    candidate: Candidate,
    interval_settings: IntervalSettings,
    measured_rows: MeasuredRows,
    interval_by_processors: Mapping[float, tuple[float, float]],
    comparison: FitComparison,
    losses_at: float | None,
) -> Answer:
    """Return the answer of a fit; it has intervals only if the data cannot distinguish the family
    from the best one.
    """
    fitted_formula = candidate.fitted_formula
    family = candidate.family
    fit_intervals = None
    notes = [f"{family.title}: {fitted_formula.formula.text} ({family.source})"]
    if candidate in comparison.rivals:
        try:
            fit_intervals = interval_settings.intervals_of(fitted_formula)
            notes.append(interval_settings.text)
        except NoAnswerError as error:
            notes.append(str(error))
    value_by_name = _parameter_values(fitted_formula, fit_intervals, interval_settings.level)
    for p, (low, high) in interval_by_processors.items():
        (time,) = fitted_formula.predict([p]).tolist()
        value_by_name[f"time[{p:g}]"] = Value(
            time, "s", *((min(low, time), max(high, time)) if fit_intervals else ())
        )
    value_by_name |= {
        "behind": Value(candidate.criterion_difference, "1"),
        "scatter": Value(fitted_formula.scatter, "1"),
    }
    if candidate.largest_runs_error is not None:
        value_by_name["missed"] = Value(candidate.largest_runs_error, "1")
    efficiency = measured_rows.efficiency
    extrapolation = Extrapolation(
        fitted_formula, largest_predicted=comparison.useful_reach(interval_settings.level)
    )
    limits = _scaling_limits(extrapolation, measured_rows)
    if fit_intervals and not comparison.misfit:
        limits |= _limits_with_intervals(
            limits, extrapolation, comparison, interval_settings.level, interval_by_processors
        )
    value_by_name |= limits
    value_by_name |= _efficiency_estimates(extrapolation, value_by_name, interval_by_processors)
    if extrapolation.time[0] <= 0:
        notes.append("it has no work for one processor, so no speed-up over it")
    if fitted_formula.timings.has_sizes:
        value_by_name |= {
            f"size_needed[{p:g}]": _size_needed(
                fitted_formula,
                p,
                efficiency,
                fit_intervals,
                interval_settings.level,
                value_by_name.get(f"efficiency[{p:g}]", Value(None, "1")),
            )
            for p in interval_by_processors
        }
    loss_count = max(interval_by_processors, default=float(fitted_formula.timings.p.max()))
    if losses_at in interval_by_processors:
        loss_count = float(losses_at or loss_count)
    value_by_name |= _lost_processors(
        fitted_formula,
        loss_count,
        # Sentences tell the losses of the first law alone.
        fit_intervals if candidate is comparison.best else None,
        interval_settings.level,
    )
    return Answer(
        family.name,
        "fit",
        values=value_by_name,
        notes=tuple(notes),
        seed=interval_settings.seed,
        point={"p": loss_count},
    )


_LOSSES_WITH_INTERVALS = 2  # the largest ones, which a reader compares


def _lost_processors(
    fitted_formula: FittedFormula, p: float, fit_intervals: FitIntervals | None, level: float
) -> dict[str, Value]:
    """Return the processors lost by cause of `p` processors, the largest loss first; the largest
    ones with intervals, which take the formula to be right, if the fit has any.
    """
    loss_by_cause = fitted_formula.lost_processors(p)
    values = {cause: Value(loss, "1") for cause, loss in loss_by_cause.items()}
    for cause, loss in [*loss_by_cause.items()][:_LOSSES_WITH_INTERVALS]:
        if fit_intervals is None or not 0 < loss < p:
            continue
        interval = fit_intervals.find_interval(
            partial(_log_odds_of_loss, fitted_formula, p, cause), level, -np.inf
        )
        low, high = (p / (1 + float(np.exp(-end))) for end in (interval.low, interval.high))
        values[cause] = Value(loss, "1", 0.0 if low <= 2 * SMALLEST_SHARE * p else low, high)
    return {f"processors_lost[{cause}]": value for cause, value in values.items()}


def _log_odds_of_loss(fitted_formula: FittedFormula, p: float, cause: str, thetas: Array) -> Array:
    """Return the logarithm of the processors lost to a cause over the others, of `p` processors,
    for sets of parameters, (D, k) to (D,).
    """
    losses = [replace(fitted_formula, theta=theta).lost_processors(p)[cause] for theta in thetas]
    shares = np.clip(np.array(losses) / p, SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    log_odds: Array = np.log(shares / (1 - shares))
    return log_odds


SMALLEST_SHARE = 1e-6
"""The smallest share of lost processors that is told from none [1]."""


def _parameter_values(
    fitted_formula: FittedFormula, fit_intervals: FitIntervals | None, confidence_level: float
) -> dict[str, Value]:
    """Return the parameters of a fit by name, with intervals if the fit has any."""
    interval_by_name = fit_intervals.parameters(confidence_level) if fit_intervals else {}
    value_by_name = {}
    for parameter in fitted_formula.formula.parameters:
        interval = interval_by_name.get(parameter.name)
        ends = () if interval is None else (interval.low, interval.high)
        fitted_value = fitted_formula.parameters[parameter.name]
        value_by_name[parameter.name] = Value(fitted_value, parameter.unit, *ends)
    return value_by_name


def _efficiency_estimates(
    extrapolation: Extrapolation,
    value_by_name: Mapping[str, Value],
    processor_counts: Iterable[float],
) -> dict[str, Value]:
    """Return the efficiency at each number of processors; its interval follows from the interval of
    the time, over the fitted time of the smallest measured number.
    """
    # A fit without work for one processor has no speed-up over it.
    if extrapolation.time[0] <= 0:
        return {}
    efficiency_by_name = {}
    for p in processor_counts:
        time = value_by_name[f"time[{p:g}]"]
        time_ends = (time.high, time.low) if time.low is not None else ()
        efficiency_ends = [
            extrapolation.efficiency(p, time_end) for time_end in time_ends if time_end is not None
        ]
        efficiency = extrapolation.efficiency(p, time.value or 0.0)
        efficiency_by_name[f"efficiency[{p:g}]"] = Value(efficiency, "1", *efficiency_ends)
    return efficiency_by_name


def _size_needed(
    fitted_formula: FittedFormula,
    p: float,
    efficiency: float,
    fit_intervals: FitIntervals | None,
    confidence_level: float,
    predicted_efficiency: Value,
) -> Value:
    """Return the size that `p` processors need for an efficiency; the upper end is None where even
    the largest sizes may not be enough, and the lower end where the smallest measured may be.

    Parameters
    ----------
    fitted_formula, fit_intervals : a fit, and the intervals of its parameters
    p : processors
    efficiency : the goal [1]
    confidence_level : of the intervals [1]
    predicted_efficiency : of the largest size measured, on `p` processors, with its interval
    """
    size = size_needed(fitted_formula, p, efficiency)
    if size is None or fit_intervals is None or size <= fitted_formula.timings.n.min():
        return Value(size, "1")
    size_interval = fit_intervals.interval_of_positive(
        partial(sizes_needed, fitted_formula, p, efficiency), confidence_level
    )
    # The interval of the parameters takes the formula to be right; that of the prediction at the
    # same point also has its error, which is taken to be the same part of the lost time at any
    # size.
    largest_size = LARGEST_SIZE_RATIO * fitted_formula.timings.n.max()
    low, high = size_interval.low, size_interval.high
    if efficiency < 1 and (factors := _factors_on_lost_time(predicted_efficiency)):
        # With twice the lost time, a size that loses half as much by the formula is needed.
        size_for_most_lost, size_for_least_lost = (
            size_needed(fitted_formula, p, factor / (factor + 1 / efficiency - 1)) or largest_size
            for factor in factors
        )
        low, high = min(low, size_for_least_lost), max(high, size_for_most_lost)
    is_open_above = high >= largest_size * (1 - SIZE_TOLERANCE)
    is_open_below = low <= fitted_formula.timings.n.min() * (1 + SIZE_TOLERANCE)
    return Value(
        size,
        "1",
        None if is_open_below and not is_open_above else low,
        None if is_open_above else high,
    )


def _factors_on_lost_time(efficiency: Value) -> tuple[float, float] | None:
    """Return the lost time at the low and at the high end of an efficiency, over that at its value;
    None if it has no interval, or if no time is lost.

    >>> _factors_on_lost_time(Value(0.5, "1", 0.25, 1.0))
    (3.0, 0.0)
    """
    if not (efficiency.value and efficiency.low and efficiency.high) or efficiency.value >= 1:
        return None
    lost_time = 1 / efficiency.value - 1
    return (1 / efficiency.low - 1) / lost_time, max(0.0, 1 / efficiency.high - 1) / lost_time


def _scaling_limits(extrapolation: Extrapolation, measured_rows: MeasuredRows) -> dict[str, Value]:
    """Return the fastest time, the largest speed-up and the efficient processors of a fit, without
    values that contradict a measured row.
    """
    value_by_name: dict[str, Value] = {}
    if (fastest_point := extrapolation.fastest_point()) and measured_rows.agrees_on_fastest(
        fastest_point[0]
    ):
        value_by_name = {
            "fastest_processors": Value(fastest_point[0], "1"),
            "fastest_time": Value(fastest_point[1], "s"),
        }
    if extrapolation.time[0] > 0:  # a fit without work for one processor has no speed-up over it
        largest_speedup, processors = extrapolation.largest_speedup()
        if measured_rows.agrees_on_speedup(largest_speedup):
            value_by_name |= {
                "largest_speedup": Value(largest_speedup, "1"),
                "largest_speedup_processors": Value(processors, "1"),
            }
            if (first_level_processors := extrapolation.first_level_processors()) is not None:
                value_by_name["level_processors"] = Value(first_level_processors, "1")
        efficient_processors = extrapolation.largest_efficient_processors(measured_rows.efficiency)
        if measured_rows.agrees_on_efficiency(efficient_processors):
            value_by_name["efficient_processors"] = Value(efficient_processors, "1")
    value_by_name["most_processors"] = Value(float(extrapolation.p[-1]), "1")
    if extrapolation.base_processors > 1:
        value_by_name["base_processors"] = Value(extrapolation.base_processors, "1")
    return value_by_name


def _limits_with_intervals(
    limits: Mapping[str, Value],
    extrapolation: Extrapolation,
    comparison: FitComparison,
    level: float,
    interval_by_processors: Mapping[float, tuple[float, float]],
) -> dict[str, Value]:
    """Return the least time and the largest speed-up of a fit with their intervals.

    The ends are the extremes of the ends at the number of processors with the least time or the
    largest speed-up and at those of the predictions beyond it, so that no prediction in the report
    is outside of them.
    """

    def value_with_ends(name: str, place_name: str, is_speedup: bool) -> dict[str, Value]:
        value, place = (limits[key].value or 0.0 for key in (name, place_name))
        ends_by_number = {
            place: comparison.interval(place, level),
            **{count: ends for count, ends in interval_by_processors.items() if count >= place},
        }
        if not all(np.isfinite(high) for _, high in ends_by_number.values()):
            return {}
        if is_speedup:
            low, high = (
                max(
                    extrapolation.efficiency(processors, ends[end_index])
                    * processors
                    / extrapolation.base_processors
                    for processors, ends in ends_by_number.items()
                )
                for end_index in (1, 0)
            )
        else:
            low, high = (
                min(ends[end_index] for ends in ends_by_number.values()) for end_index in (0, 1)
            )
        return {name: replace(limits[name], low=min(low, value), high=max(high, value))}

    values: dict[str, Value] = {}
    if "largest_speedup" in limits:
        values |= value_with_ends("largest_speedup", "largest_speedup_processors", is_speedup=True)
    if "fastest_time" in limits:
        values |= value_with_ends("fastest_time", "fastest_processors", is_speedup=False)
    return values


def _with_ends_of_counts(
    answers: Sequence[Answer], comparison: FitComparison, efficiency: float, level: float
) -> list[Answer]:
    """Return answers of fits; each law that the data cannot distinguish from the best one has the
    intervals of the efficient processors and of those with the least time.
    """
    ends_by_name = {
        "efficient_processors": comparison.ends_of_efficient_processors(efficiency, level)
    }
    ends_of_fastest = comparison.ends_of_fastest_processors(level)
    ends_by_name["largest_speedup_processors"] = ends_of_fastest
    if not comparison.best.fitted_formula.timings.weak_scaling:
        ends_by_name["fastest_processors"] = ends_of_fastest
    reach = comparison.useful_reach(level)
    rival_names = [rival.name for rival in comparison.rivals]
    for name, ends in ends_by_name.items():
        answers = _with_ends_of_count(answers, rival_names, name, ends, reach)
    return [*answers]


def _with_ends_of_count(
    answers: Sequence[Answer],
    rival_names: Collection[str],
    name: str,
    ends: tuple[float, float | None],
    reach: float,
) -> list[Answer]:
    """Return answers of fits with the interval of a number of processors, which holds the numbers
    of all laws that the data cannot distinguish, and is open above if one of them is the reach.
    """
    count_by_law = {
        answer.model: answer[name] or 0.0
        for answer in answers
        if name in answer.values and answer.model in rival_names
    }
    if not count_by_law:
        return [*answers]
    low, high = ends
    largest_count = max(count_by_law.values())
    is_open = high is None or largest_count >= reach
    ends = min(low, *count_by_law.values()), None if is_open else max(high or 0.0, largest_count)
    return [
        replace(answer, values={**answer.values, name: Value(answer[name], "1", *ends)})
        if answer.model in count_by_law
        else answer
        for answer in answers
    ]

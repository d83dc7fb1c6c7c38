"""Distributions of times by name, each of mean 1, which a step multiplies by its own mean.

Every method knows the mean and the squared coefficient of variation (scv) of a time. A Markov chain
takes the phases of a time that is made of phases as they are, and of any other the phases of
`slipstick.phases.phase_type` with its mean and scv; the simulator draws the time itself
(`slipstick.sim.plan.distributions.DistributedTime`).

The scv of a time that is not exponential is never exactly 1, and that of one that is not constant
never 0: methods that recognize exponential and constant times by these numbers take no other time
for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from slipstick.errors import ModelError
from slipstick.late import Array, dataclass, np
from slipstick.phases import (
    MOST_PHASES,
    PhaseType,
)

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TimeDistribution:
    """A distribution of times, scaled to mean 1.

    Parameters
    ----------
    kind : erlang, hyperexponential, coxian, phase-type, uniform, lognormal, gamma, weibull, pareto
        or samples
    numbers : the numbers that describe a distribution of the kind, in the order of the kinds above:
        the number of phases; probabilities and means; means of phases and probabilities to
        continue; probabilities of the first phase and, row by row, rates; both ends; scv; scv;
        shape; shape; values
    scv : squared coefficient of variation, computed by the functions of this module

    >>> print(erlang(4).scv, round(lognormal(2.0).scv, 12))
    0.25 2.0
    """

    kind: str
    numbers: tuple[Numbers, ...]
    scv: float

    @property
    def phases(self) -> PhaseType | None:
        """The phases of a time that has phases, scaled to mean 1; None for other times."""
        build_phases = _PHASES_BY_KIND.get(self.kind)
        return build_phases(*map(np.array, self.numbers)) if build_phases else None


@dataclass(frozen=True, slots=True)
class MeanAndDistribution:
    """A distribution of times in seconds: its mean [s], and its distribution of mean 1."""

    mean: float
    distribution: TimeDistribution


def _distinct_scv(computed_scv: float, is_exponential: bool = False) -> float:
    """Return the scv of a time, moved away from 1 unless the time is exponential."""
    # Methods take an scv of exactly 1 for the sign of an exponential time.
    return math.nextafter(1.0, 2.0) if computed_scv == 1 and not is_exponential else computed_scv


def _distribution_of_phases(
    kind: str, describing_numbers: Sequence[Sequence[float]]
) -> TimeDistribution:
    """Return a distribution made of phases, with its scv."""
    distribution = TimeDistribution(
        kind, tuple(tuple(map(float, numbers_of_row)) for numbers_of_row in describing_numbers), 0.0
    )
    phases = distribution.phases
    assert phases is not None
    computed_scv = float(phases.scv)
    is_exponential = phases.phases == 1 or bool(
        # Rates that a user wrote as quotients agree but for rounding.
        np.allclose(phases.exits * phases.rates, (phases.exits * phases.rates)[0], rtol=1e-12)
    )
    # Phases that all end the time at one rate are an exponential time in parts.
    return TimeDistribution(
        kind, distribution.numbers, 1.0 if is_exponential else _distinct_scv(computed_scv)
    )


def _erlang_phases(count_column: Array) -> PhaseType:
    """Return the phases of an Erlang time: equal exponential phases in a row, with a total mean of
    1.
    """
    phase_count = int(count_column[0])
    start_probabilities = np.zeros(phase_count)
    start_probabilities[0] = 1.0
    return PhaseType(
        start_probabilities, np.full(phase_count, float(phase_count)), np.eye(phase_count, k=1)
    )


def _parallel_phases(probabilities: Array, means: Array) -> PhaseType:
    """Return the phases of a time that is one of several exponential phases, each with its
    probability and its mean.
    """
    phase_count = len(means)
    return PhaseType(probabilities, 1.0 / means, np.zeros((phase_count, phase_count)))


def _coxian_phases(means: Array, onward: Array) -> PhaseType:
    """Return successive phases; after each phase the next one begins with a probability, or the
    time ends.
    """
    phase_count = len(means)
    start_probabilities = np.zeros(phase_count)
    start_probabilities[0] = 1.0
    return PhaseType(
        start_probabilities,
        1.0 / means,
        np.diag(onward, k=1) if phase_count > 1 else np.zeros((1, 1)),
    )


def _general_phases(start_probabilities: Array, *generator_rows: Array) -> PhaseType:
    """Return the phases that a sub-generator describes, by the probabilities of the first phase and
    the rows of the matrix.
    """
    generator = np.array(generator_rows)
    rates = -np.diag(generator)
    jump_probabilities = generator / rates[:, None]
    np.fill_diagonal(jump_probabilities, 0.0)
    return PhaseType(start_probabilities, rates, jump_probabilities)


_PHASES_BY_KIND: dict[str, Callable[..., PhaseType]] = {
    "erlang": _erlang_phases,
    "hyperexponential": _parallel_phases,
    "coxian": _coxian_phases,
    "phase-type": _general_phases,
}


PHASE_KINDS = frozenset(_PHASES_BY_KIND)
"""The kinds of distributions that are made of phases."""


def erlang(phases: int) -> TimeDistribution:
    """Return an Erlang time, the sum of 1 to 100 equal exponential phases.

    >>> float(erlang(2).phases.scv)
    0.5
    """
    if not 1 <= phases <= MOST_PHASES:
        raise ModelError(f"an Erlang time has 1 to {MOST_PHASES} phases, got {phases}")
    return TimeDistribution("erlang", ((float(phases),),), 1.0 / phases)


def hyperexponential(probabilities: Sequence[float], means: Sequence[float]) -> MeanAndDistribution:
    """Return a hyperexponential time, which is one of several exponential phases.

    Parameters
    ----------
    probabilities : of each phase; they add up to 1
    means : of each phase [s]

    >>> time = hyperexponential([0.5, 0.5], [1.0, 3.0])
    >>> time.mean, time.distribution.scv
    (2.0, 1.5)
    """
    _check_probabilities("probabilities", probabilities, len(means))
    _check_positive("means of phases", means)
    mean = math.fsum(
        phase_probability * phase_mean
        for phase_probability, phase_mean in zip(probabilities, means, strict=True)
    )
    relative_means = [phase_mean / mean for phase_mean in means]
    return MeanAndDistribution(
        mean, _distribution_of_phases("hyperexponential", [probabilities, relative_means])
    )


def coxian(means: Sequence[float], onward: Sequence[float]) -> MeanAndDistribution:
    """Return a Coxian time, a chain of exponential phases that may end after each one.

    Parameters
    ----------
    means : of each phase [s]
    onward : probability to go on to the next, of each phase but the last

    >>> round(coxian([1.0, 2.0], [0.5]).mean, 12)
    2.0
    """
    if len(onward) != len(means) - 1 or not means:
        raise ModelError(
            f"{len(means)} phases need {max(len(means) - 1, 0)} probabilities of a next phase, got"
            f" {len(onward)}"
        )
    _check_positive("means of phases", means)
    for next_probability in onward:
        if not 0 <= next_probability <= 1:
            raise ModelError(
                "the probability of a next phase must lie between 0 and 1, got"
                f" {next_probability:g}"
            )
    mean = 0.0
    reach_probability = 1.0
    for phase_index, phase_mean in enumerate(means):
        mean += reach_probability * phase_mean
        reach_probability *= onward[phase_index] if phase_index < len(onward) else 0.0
    return MeanAndDistribution(
        mean,
        _distribution_of_phases("coxian", [[phase_mean / mean for phase_mean in means], onward]),
    )


def general_phases(alpha: Sequence[float], rates: Sequence[Sequence[float]]) -> MeanAndDistribution:
    """Return a phase-type time, the time until absorption of a small Markov chain.

    Parameters
    ----------
    alpha : probability of each phase to be the first; they add up to 1
    rates : the sub-generator T, row by row: rates from phase to phase, and on the diagonal minus
        the rate at which a phase ends [1/s]

    >>> general_phases([1.0, 0.0], [[-2.0, 2.0], [0.0, -2.0]]).distribution.scv
    0.5
    """
    phase_count = len(alpha)
    if len(rates) != phase_count or any(len(row) != phase_count for row in rates):
        raise ModelError(
            f"{phase_count} phases need a T of {phase_count} rows and {phase_count} columns"
        )
    _check_probabilities("alpha", alpha, phase_count)
    if phase_count > MOST_PHASES:
        raise ModelError(f"a time has at most {MOST_PHASES} phases, got {phase_count}")
    for row_index, row in enumerate(rates):
        other_rates = [rate for column_index, rate in enumerate(row) if column_index != row_index]
        # Rates read from decimals may add up to slightly above 0.
        if (
            row[row_index] >= 0
            or min(other_rates, default=0.0) < 0
            or math.fsum(row) > 1e-9 * -row[row_index]
        ):
            raise ModelError(
                f"row {row_index + 1} of T needs a diagonal below 0, other rates from 0 on, and a"
                " sum of at most 0"
            )
    try:
        mean = float(_general_phases(np.array(alpha), *map(np.array, rates)).mean)
    except np.linalg.LinAlgError:
        raise ModelError("the phases of T do not end: no row has a sum below 0") from None
    relative_rates = [[rate * mean for rate in row] for row in rates]
    return MeanAndDistribution(
        mean, _distribution_of_phases("phase-type", [alpha, *relative_rates])
    )


def uniform(low: float, high: float) -> MeanAndDistribution:
    """Return a time that is equally likely anywhere between two ends [s].

    >>> uniform(1.0, 3.0).mean
    2.0
    """
    if not 0 <= low <= high or not high > 0:
        raise ModelError(
            f"a uniform time needs 0 <= low <= high, above 0, got {low:g} and {high:g}"
        )
    mean = (low + high) / 2
    half_width = (high - low) / 2 / mean
    return MeanAndDistribution(
        mean, TimeDistribution("uniform", ((low / mean, high / mean),), half_width * half_width / 3)
    )


def lognormal(scv: float) -> TimeDistribution:
    """Return a lognormal time with an scv above 0."""
    return _distribution_by_scv("lognormal", scv)


def gamma(scv: float) -> TimeDistribution:
    """Return a gamma time with an scv above 0; scv 1 is exponential."""
    return _distribution_by_scv("gamma", scv)


def _distribution_by_scv(kind: str, scv: float) -> TimeDistribution:
    if not 0 < scv < math.inf:
        raise ModelError(f"a {kind} time has an scv above 0, got {scv:g}")
    return TimeDistribution(kind, ((float(scv),),), _distinct_scv(float(scv), kind == "gamma"))


def weibull(shape: float) -> TimeDistribution:
    """Return a Weibull time; shape 1 is exponential, smaller shapes vary more.

    >>> weibull(1.0).scv
    1.0
    """
    if not 0.1 <= shape <= 100:
        raise ModelError(f"the shape of a Weibull time lies between 0.1 and 100, got {shape:g}")
    log_mean, log_mean_square = (math.lgamma(1 + moment_order / shape) for moment_order in (1, 2))
    scv = 1.0 if shape == 1 else _distinct_scv(math.expm1(log_mean_square - 2 * log_mean))
    return TimeDistribution("weibull", ((float(shape),),), scv)


def pareto(shape: float) -> TimeDistribution:
    """Return a Pareto time above a smallest one; P(longer than x) falls as x^-shape.

    The shape must be above 2: up to there the variance is infinite, so that no method knows the
    mean wait, and the mean of a simulation does not settle.

    >>> round(pareto(3.0).scv, 12)
    0.333333333333
    """
    if not 2 < shape <= 1e6:
        raise ModelError(
            f"the shape of a Pareto time lies above 2, where its variance is finite; got {shape:g}"
        )
    return TimeDistribution("pareto", ((float(shape),),), _distinct_scv(1 / (shape * (shape - 2))))


def samples(values: Sequence[float]) -> MeanAndDistribution:
    """Return a time drawn from measured values with equal probability [s].

    >>> time = samples([1.0, 2.0, 3.0])
    >>> time.mean, round(time.distribution.scv, 6)
    (2.0, 0.166667)
    """
    if not values or min(values) < 0 or not 0 < math.fsum(values) < math.inf:
        raise ModelError("measured times are one number or more, none below 0, not all 0")
    mean = math.fsum(values) / len(values)
    relative_values = tuple(value / mean for value in values)
    variance = math.fsum((value - 1) ** 2 for value in relative_values) / len(values)
    # Rounding is no variation.
    scv = 0.0 if min(values) == max(values) else _distinct_scv(variance)
    return MeanAndDistribution(mean, TimeDistribution("samples", (relative_values,), scv))


def _check_probabilities(
    chances_in_words: str, probabilities: Sequence[float], phase_count: int
) -> None:
    """Raise if there are not as many probabilities as phases, or if they do not add up to 1."""
    if len(probabilities) != phase_count or not phase_count:
        raise ModelError(
            f"{phase_count} phases need as many {chances_in_words}, got {len(probabilities)}"
        )
    # Wider than for choices: phases are copied from fits, which are printed with about six digits.
    if min(probabilities) < 0 or not math.isclose(math.fsum(probabilities), 1.0, rel_tol=1e-6):
        raise ModelError(
            f"the {chances_in_words} of phases must add up to 1, got {math.fsum(probabilities):g}"
        )


def _check_positive(values_in_words: str, values: Sequence[float]) -> None:
    for value in values:
        if not 0 < value < math.inf:
            raise ModelError(f"the {values_in_words} are above 0, got {value:g}")

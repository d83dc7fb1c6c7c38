"""Random times of a given mean and squared coefficient of variation (scv): one meaning for all
methods, sums and maxima.

The distribution that such a time has:

    scv 0         constant; a Markov chain refuses it
    0 < scv < 1   a row of exponential phases of which the last may be missing
                  (`phases_below_one`); an Erlang time where 1/scv is whole. Below 0.01, which takes
                  more than 100 phases, a chain refuses and the simulator draws a gamma time
    scv 1         exponential
    scv > 1       one of two exponential phases that contribute half of the mean each
                  (`balanced_means`)

A Markov chain holds the phases (`PhaseType`), the simulator draws them
(`slipstick.sim.plan.distributions`), so both mean the same model.

Mean value describes a time by its mean and variance (`RandomTime`). For the maximum of independent
times, a time of scv up to 1 is fitted by a distribution whose cube root is normal, which is close
to a gamma distribution (Wilson and Hilferty, Proc. National Academy of Sciences 17, 1931, 684-688),
a time of a larger scv by the hyperexponential distribution above. Both distribution functions are
elementary, so that E max = integral of 1 - product of F_i(t) and its derivatives need no special
functions. Maxima of constants are exact, and so are those of up to `MOST_EXPONENTIAL` exponential
times and of any number of equal ones. Hyperexponential times are exact but for the integration
(`_integral_of_survival`). All others are fitted: against maxima of gamma variates, and of
exponential times with others, the mean errs by up to 0.6 % (tests/test_random_times.py).

Times that depend on each other, such as the ends of a pipeline's items, are the subject of
`slipstick_mean_value.dependent_times`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from typing import Any

from slipstick.late import NDArray, dataclass, np, replace
from slipstick.phases import balanced_means

Array = NDArray[Any]
"""Real or, for derivatives, complex numbers along the points of a sweep."""


@dataclass(frozen=True, slots=True)
class RandomTime:
    """A random time, described by its mean and its variance.

    Parameters
    ----------
    mean : [s]
    variance : [s^2]
    kind : constant or exponential where the distribution is known, so that maxima are exact; else
        general
    """

    mean: Array
    variance: Array
    kind: str = "general"

    @property
    def scv(self) -> Array:
        """Squared coefficient of variation [1]."""
        return self.variance / without_zeros(self.mean * self.mean)

    def scaled(self, factor: Array) -> RandomTime:
        """Return the time multiplied by a factor."""
        return RandomTime(self.mean * factor, self.variance * factor * factor, self.kind)


ZERO_TIME = RandomTime(np.zeros(1), np.zeros(1), "constant")
"""No time at all; sums leave this object out."""


def without_zeros(value: Array) -> Array:
    """Return a nonnegative divisor plus 1e-300, so that 0/0 gives 0."""
    # Added in place of a maximum: derivatives by complex steps pass through a sum.
    return value + 1e-300


def sum_of_columns(values: Iterable[Array]) -> Array:
    """Return the sum of several columns; 0 if there are none."""
    total: Array = sum(values, np.zeros(1))
    return total


def largest_at_points(values: Sequence[Array]) -> Array:
    """Return, at each point, the largest of several columns by its real part. Of equal ones it is
    the first, so that the derivative belongs to one operand.
    """
    largest_values = values[0]
    for value in values[1:]:
        largest_values = np.where(value.real > largest_values.real, value, largest_values)
    return largest_values


def smallest_at_points(values: Sequence[Array]) -> Array:
    """Return, at each point, the smallest of several columns by its real part; of equal ones the
    first.
    """
    return -largest_at_points([-value for value in values])


def limited_to_range(
    value: Array, low: Array | float = 0.0, high: Array | float = math.inf
) -> Array:
    """Limit a number to a range by its real part. At or beyond an end it has the derivative of that
    end; NaN stays NaN.
    """
    value = np.where(value.real <= np.real(low), low, value)
    return value if high is math.inf else np.where(value.real >= np.real(high), high, value)


def sum_of_times(times: Iterable[RandomTime]) -> RandomTime:
    """Return the sum of independent times."""
    varying_times = [time for time in times if time is not ZERO_TIME]
    if not varying_times:
        return ZERO_TIME
    if len(varying_times) == 1:
        return varying_times[0]
    kind = "constant" if all(time.kind == "constant" for time in varying_times) else "general"
    mean = varying_times[0].mean
    variance = varying_times[0].variance
    for time in varying_times[1:]:
        mean = mean + time.mean
        variance = variance + time.variance
    return RandomTime(mean, variance, kind)


def repeated_time(count: Array, time: RandomTime) -> RandomTime:
    """Return the sum of `count` independent copies of a time; the fraction of the count is the
    probability of one more copy.
    """
    if time is ZERO_TIME:
        return ZERO_TIME
    fraction = count - np.floor(count.real)
    # The last copy, done with probability f, varies by f (1 - f) m^2 beside its own variance.
    variance = count * time.variance + fraction * (1 - fraction) * time.mean * time.mean
    kind = "constant" if time.kind == "constant" and not np.any(fraction.real > 0) else "general"
    return RandomTime(count * time.mean, variance, kind)


def repeated_geometrically(count: Array, time: RandomTime) -> RandomTime:
    """Return the sum of a geometric number of independent copies of a time. The number begins at 0,
    has the mean `count` and the variance count (1 + count).
    """
    if time is ZERO_TIME:
        return ZERO_TIME
    variance_from_number = count * (1 + count) * time.mean * time.mean
    return RandomTime(count * time.mean, count * time.variance + variance_from_number, "general")


MOST_EXPONENTIAL = 8
"""The largest number of exponential times whose maximum is computed exactly, by 2^8 terms."""

_PANELS = 8
_MOST_EDGES = 32
"""Ends of panels at most in the integral of a maximum; 10 times that differ have as many."""

_REACH = 5.0
"""Standard deviations from the mean at which an interval of integration ends: what lies beyond
changes a mean by 1e-7 of it.
"""

_NEWTON_STEPS = 10
"""Steps to a quantile; up to an scv of 10,000 eight are enough."""

LEAST_VARIED = 1 + 1e-6
"""The squared coefficient of variation above which a time is hyperexponential; a smaller one above
1 is the rounding of an exponential time [1].
"""


# The nodes take an eigenvalue problem, which a model without maxima should not wait for.
@cache
def _gauss_legendre_rule() -> tuple[Array, Array]:
    """Return the nodes and weights of a panel on the interval from -1 to 1."""
    return np.polynomial.legendre.leggauss(12)


def normal_distribution(x: Array) -> Array:
    """Return the standard normal distribution function at x, by an elementary formula with an error
    below 8e-8.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 7.1.26, with its symbol
    t = 1 / (1 + 0.3275911 z) at z = abs(x) / sqrt(2).
    """
    # The formula gives the tail, which keeps its digits on the side where it is small.
    sign = np.where(x.real < 0, -1.0, 1.0)
    z = x * sign / np.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * z)
    series = 1.061405429 * t
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += coefficient
        series *= t
    tail = 0.5 * series * np.exp(-z * z)
    probability: Array = np.where(sign < 0, tail, 1.0 - tail)
    return probability


def remainder_after_gap(
    mean: Array, variance: Array, gap: Array, gap_variance: Array
) -> tuple[Array, Array]:
    """Return mean and variance of the work Y that remains after a gap: the positive part of work
    minus gap.

    Derived here: the gap is a constant plus an exponential part g with the gap's variance, and Y is
    a gamma variate after the constant part, so that E (Y - g)+ = E Y - g (1 - E exp(-Y / g)) with E
    exp(-Y / g) in closed form. Exact for a gamma variate and an exponential gap. The constant part
    is subtracted from a normal variate (`_after_constant`), so that against gamma variates the mean
    left errs by up to 2 % of the mean of Y at scv up to 0.25, 7 % at scv 1 and 9 % at scv 2 to 4,
    most where the gap is constant (gaps of 0.2 to 2 times the mean; tests/test_random_times.py).
    """
    constant_gap = limited_to_range(gap - np.sqrt(without_zeros(gap_variance)))
    exponential_gap = gap - constant_gap
    mean, variance = _after_constant(mean, variance, constant_gap)
    # The shape of the gamma variate; 1e-9 keeps that of a constant finite.
    gamma_shape = 1 / (variance / without_zeros(mean * mean) + 1e-9)
    transform_value = np.exp(
        -gamma_shape * np.log(1 + mean / without_zeros(exponential_gap) / gamma_shape)
    )
    # The transform divides by the gap; a gap of rounding size removes nothing.
    transform_value = np.where(exponential_gap.real > 1e-12 * mean.real, transform_value, 0)
    mean_left = limited_to_range(mean - exponential_gap * (1 - transform_value))
    variance_left = (
        variance
        + mean * mean
        - 2 * exponential_gap * mean
        + 2 * exponential_gap * exponential_gap * (1 - transform_value)
        - mean_left * mean_left
    )
    return mean_left, limited_to_range(variance_left)


def _after_constant(mean: Array, variance: Array, gap: Array) -> tuple[Array, Array]:
    """Return mean and variance of the work that remains after a constant gap, for normally
    distributed work.

    A normal variate has a part below 0, so even a gap of 0 would change it. That error at gap 0 is
    subtracted, times exp(-gap / mean); this factor is chosen here, to be 1 at gap 0 and 0 after
    long gaps. The error left is that of `remainder_after_gap`.
    """
    (mean_left, mean_at_zero), (square_left, square_at_zero) = _excess_moments(
        mean, variance, np.stack([gap, 0 * gap])
    )
    correction_factor = np.exp(-gap / without_zeros(mean))
    mean_left = mean_left - (mean_at_zero - mean) * correction_factor
    variance_left = (
        square_left
        - (square_at_zero - mean * mean - variance) * correction_factor
        - mean_left * mean_left
    )
    # Below that the gap is rounding, and a time without one is left as it is.
    has_gap = gap.real > 1e-12 * mean.real
    return np.where(has_gap, limited_to_range(mean_left), mean), np.where(
        has_gap, limited_to_range(variance_left), variance
    )


def _excess_moments(mean: Array, variance: Array, level: Array) -> tuple[Array, Array]:
    """Return mean and mean square of a normal variate's excess over a level."""
    margin = mean - level
    # The square of 1e-9 of the values: a smaller deviation is rounding, and the time is taken as
    # constant.
    least_variance = (mean + level) * (mean + level) * 1e-18
    is_constant = variance.real <= least_variance.real
    deviation = np.sqrt(without_zeros(np.where(is_constant, least_variance, variance)))
    # Beyond 30 standard deviations the distribution is 0 or 1 in double precision.
    standard_margin = limited_to_range(margin / deviation, -30, 30)
    above_probability = normal_distribution(standard_margin)
    density = np.exp(-standard_margin * standard_margin / 2) / np.sqrt(2 * np.pi)
    positive_margin = limited_to_range(margin)
    mean_excess = np.where(
        is_constant, positive_margin, margin * above_probability + deviation * density
    )
    square_excess = np.where(
        is_constant,
        positive_margin * positive_margin,
        (margin * margin + variance) * above_probability + margin * deviation * density,
    )
    return mean_excess, square_excess


def maximum_of(times: Sequence[RandomTime]) -> RandomTime:
    """Return mean and variance of the maximum of independent times."""
    if len(times) == 1:
        return times[0]
    largest_time = _maximum_of(times)
    # The mean of fitted distributions may come out below that of an operand.
    return replace(
        largest_time, mean=largest_at_points([largest_time.mean, *(time.mean for time in times)])
    )


def _maximum_of(times: Sequence[RandomTime]) -> RandomTime:
    """Return the maximum of independent times; constants and exponential times exactly."""
    constant_times = [time for time in times if time.kind == "constant"]
    varying_times = [time for time in times if time.kind != "constant"]
    if not varying_times:
        return RandomTime(
            largest_at_points([constant_time.mean for constant_time in constant_times]),
            np.zeros(1),
            "constant",
        )
    if (
        not constant_times
        and len(varying_times) <= MOST_EXPONENTIAL
        and all(time.kind == "exponential" for time in varying_times)
    ):
        return _maximum_of_exponentials([time.mean for time in varying_times])
    largest_constant = (
        largest_at_points([constant_time.mean for constant_time in constant_times])
        if constant_times
        else np.zeros(1)
    )
    # Equal times are one factor of the integrand, raised to their number.
    count_by_key: dict[tuple[bytes, bytes], int] = {}
    time_by_key: dict[tuple[bytes, bytes], RandomTime] = {}
    for time in varying_times:
        moments_key = time.mean.tobytes(), time.variance.tobytes()
        count_by_key[moments_key] = count_by_key.get(moments_key, 0) + 1
        time_by_key.setdefault(moments_key, time)
    return _integral_of_survival(
        list(time_by_key.values()),
        [np.full(1, float(count)) for count in count_by_key.values()],
        largest_constant,
    )


def maximum_of_identical(time: RandomTime, count: Array) -> RandomTime:
    """Return mean and variance of the maximum of `count` independent times of one distribution.

    Of exponential times the maximum is the sum of the gaps between successive ends, with means m/N,
    ..., m/2, m.
    """
    if time.kind == "constant" or np.all(count.real == 1):
        return time
    if time.kind == "exponential":
        rate_sums = 1.0 / np.arange(1, int(np.max(count.real)) + 1)
        count_index = np.rint(count.real).astype(int)
        harmonic_sum, square_sum = (
            np.append(0.0, np.cumsum(addends))[count_index] for addends in (rate_sums, rate_sums**2)
        )
        return RandomTime(time.mean * harmonic_sum, time.variance * square_sum)
    largest_time = _integral_of_survival([time], [count], np.zeros(1))
    return replace(largest_time, mean=largest_at_points([largest_time.mean, time.mean]))


def _maximum_of_exponentials(means: Sequence[Array]) -> RandomTime:
    """Return the maximum of exponential times by inclusion and exclusion: E max = sum over subsets
    of k times, (-1)^(k+1) / (sum of their rates).
    """
    expected_maximum = mean_square = np.zeros(1)
    rates = [1.0 / without_zeros(mean) for mean in means]
    for subset_size in range(1, len(rates) + 1):
        for subset_rates in combinations(rates, subset_size):
            minimum_mean = 1.0 / sum_of_columns(subset_rates)
            sign = 1.0 if subset_size % 2 else -1.0
            expected_maximum = expected_maximum + sign * minimum_mean
            mean_square = mean_square + sign * 2.0 * minimum_mean * minimum_mean
    return RandomTime(expected_maximum, mean_square - expected_maximum * expected_maximum)


def _integral_of_survival(
    times: Sequence[RandomTime], counts: Sequence[Array], lower_end: Array
) -> RandomTime:
    """Integrate P(maximum > t) from `lower_end` on, by Gauss's rule with 12 points per panel.

    Panels end where the distribution of one of the times begins, ends, or has its largest values.
    Of up to 30 times the mean errs by up to 3e-4 and the variance by up to 0.3 %, of 1000 by up to
    0.2 % and 5 %, all at scv 20 or 0.01 (compared with 48 points; tests/test_random_times.py).
    """
    distributions = [
        FittedDistribution(time, count) for time, count in zip(times, counts, strict=True)
    ]
    lower_limit = largest_at_points(
        [lower_end, *(distribution.low for distribution in distributions)]
    )
    upper_limit = largest_at_points(
        [lower_limit, *(distribution.high for distribution in distributions)]
    )
    edges = [
        lower_limit,
        upper_limit,
        *(
            edge
            for distribution in distributions
            for edge in (distribution.low, distribution.middle, distribution.high)
        ),
    ]
    panels = np.stack(
        np.broadcast_arrays(*[limited_to_range(edge, lower_limit, upper_limit) for edge in edges]),
        axis=-1,
    )
    edge_order = np.argsort(panels.real, axis=-1)
    if len(edges) > _MOST_EDGES:
        # Every so many of the sorted ends: the mean stays within 1e-5 and the variance within 1e-4
        # of those with all ends (40 times, tests/test_random_times.py).
        edge_order = edge_order[
            ..., np.linspace(0, len(edges) - 1, _MOST_EDGES).round().astype(int)
        ]
    panels = np.take_along_axis(panels, edge_order, axis=-1)
    nodes, weights = _gauss_points_and_weights(panels)
    # Distribution functions overflow inside their exponentials far out, where they are 0 or 1.
    with np.errstate(all="ignore"):
        probability_of_all = np.ones(1)
        for distribution in distributions:
            probability_of_all = probability_of_all * distribution.distribution(nodes)
    tail = 1.0 - probability_of_all
    # Moments are taken about the lower end, so that few digits cancel in the variance.
    mean_excess = np.sum(weights * tail, axis=(-1, -2))
    square_excess = np.sum(
        weights * tail * 2.0 * (nodes - lower_limit[..., None, None]), axis=(-1, -2)
    )
    mean = lower_limit + mean_excess
    # What the fit adds to a mean of 0 is no time.
    return RandomTime(
        np.where(mean.real > 1e-200, mean, 0 * mean), square_excess - mean_excess * mean_excess
    )


def _gauss_points_and_weights(panels: Array) -> tuple[Array, Array]:
    """Return the points and weights of Gauss's rule on panels [..., panels, points]."""
    panel_widths = (panels[..., 1:] - panels[..., :-1])[..., None]
    rule_points, rule_weights = _gauss_legendre_rule()
    points = panels[..., :-1, None] + panel_widths * (0.5 + 0.5 * rule_points)
    return points, 0.5 * rule_weights * panel_widths


class FittedDistribution:
    """The distribution of a time fitted to mean and variance, or of the maximum of `count` such
    times.

    Its cube root is normal, or where the scv is above 1 it is hyperexponential with balanced means.

    Source: Wilson and Hilferty, Proc. National Academy of Sciences 17, 1931, 684-688; Tijms, A
    First Course in Stochastic Models, Wiley 2003, appendix B.
    """

    def __init__(self, time: RandomTime, count: Array) -> None:
        self.count = count
        # Times that are 0 or constant at some points get a tiny mean and variance, so that nothing
        # divides by 0.
        self.mean = time.mean + 1e-290
        floored_scv = time.variance / without_zeros(self.mean * self.mean) + 1e-18
        self.is_hyperexponential = floored_scv.real > LEAST_VARIED
        self.variation = np.sqrt(floored_scv)
        self.short_probability = balanced_means(
            np.where(self.is_hyperexponential, floored_scv, 2.0)
        )
        self.low = np.where(self.is_hyperexponential, 0.0, self._root_quantile(-_REACH))
        self.middle = np.where(
            self.is_hyperexponential,
            4 * self.mean,
            self._root_quantile(np.sqrt(2.0 * np.log(count.real))),
        )
        self.high = self._upper_end(count.real)

    def quantile(self, z: Array) -> Array:
        """Return the time t with F(t) = Phi(z), where Phi is the standard normal distribution
        function.
        """
        root_quantile = self._root_quantile(z)
        if not np.any(self.is_hyperexponential):
            return root_quantile
        # Newton's method for -log P(time > t), which is concave: from 0 it comes to the quantile
        # from below.
        wanted_exponent = -np.log(normal_distribution(-z))
        relative_time = 0.0 * (self.mean + z)
        for _ in range(_NEWTON_STEPS):
            phase_tails = [
                (
                    phase_probability,
                    phase_probability * np.exp(-2.0 * phase_probability * relative_time),
                )
                for phase_probability in (self.short_probability, 1.0 - self.short_probability)
            ]
            tail = sum(phase_tail for _, phase_tail in phase_tails)
            time_density = sum(
                2.0 * phase_probability * phase_tail
                for phase_probability, phase_tail in phase_tails
            )
            relative_time = relative_time + (wanted_exponent + np.log(tail)) * tail / time_density
        return np.where(self.is_hyperexponential, self.mean * relative_time, root_quantile)

    def _root_quantile(self, z: Array | float) -> Array:
        """Return the time at a standard normal quantile z, for a time whose cube root is normal
        (Wilson and Hilferty).
        """
        cube_root = limited_to_range(
            1.0 - self.variation * self.variation / 9.0 + z * self.variation / 3.0
        )
        return self.mean * cube_root * cube_root * cube_root

    def _upper_end(self, count: Array | float) -> Array:
        """Return the upper limit of the integral for the longest of `count` times; see `_REACH`."""
        slow_mean = self.mean / (2.0 * (1.0 - self.short_probability))
        root_end = self._root_quantile(_REACH + np.sqrt(2.0 * np.log(count)))
        return np.where(
            self.is_hyperexponential, slow_mean * (3.0 * _REACH + np.log(count)), root_end
        )

    def distribution(self, t: Array) -> Array:
        """Return P(time <= t), or the probability that all `count` times are at most t."""
        new_axes = (..., *[None] * (t.ndim - self.mean.ndim))
        mean = self.mean[new_axes]
        variation = self.variation[new_axes]
        short_probability = self.short_probability[new_axes]
        is_hyperexponential = self.is_hyperexponential[new_axes]
        relative_time = t / mean
        # The cube root has no derivative at 0; values this close to 0 do not count.
        relative_time = np.where(relative_time.real > 1e-30, relative_time, 1e-30)
        normal_value = 3.0 * (relative_time ** (1.0 / 3.0) - 1.0) / variation + variation / 3.0
        probability = normal_distribution(normal_value)
        if np.any(is_hyperexponential):
            tail = sum(
                phase_probability * np.exp(-2.0 * phase_probability * relative_time)
                for phase_probability in (short_probability, 1.0 - short_probability)
            )
            probability = np.where(is_hyperexponential, 1.0 - tail, probability)
        return probability if np.all(self.count == 1) else probability ** self.count[new_axes]

    def probability_at_most(self, t: Array) -> Array:
        """Return P(time <= t), as `distribution` does, also where t is not above 0: there it
        is 0.
        """
        # Logarithms of t are evaluated for all elements; the result where t <= 0 is thrown away.
        return np.where(t.real > 0, self.distribution(np.where(t.real > 0, t, 1e-30 + 0 * t)), 0.0)

    def grid(self, starts: Array) -> tuple[Array, Array, Array]:
        """Return points and weights of integration over the time after each of several starts, and
        the first point.

        The panels are narrower near the first start, by a power of 1.5 chosen here. See
        `slipstick_mean_value.traversal` for the error of the order statistics that are
        integrated with them.
        """
        first_start = starts[..., 0]
        last_start = starts[..., -1]
        lower_limit = first_start + self.low
        upper_limit = last_start + self._upper_end(starts.shape[-1])
        edges = [
            lower_limit + (upper_limit - lower_limit) * width_fraction
            for width_fraction in np.linspace(0.0, 1.0, _PANELS + 1) ** 1.5
        ]
        nodes, weights = _gauss_points_and_weights(np.stack(np.broadcast_arrays(*edges), axis=-1))
        flat_shape = (*nodes.shape[:-2], -1)
        return (
            nodes.reshape(flat_shape),
            np.broadcast_to(weights, nodes.shape).reshape(flat_shape),
            lower_limit,
        )

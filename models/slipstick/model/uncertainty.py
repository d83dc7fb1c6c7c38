"""Distributions of quantities that are not known exactly, by their quantiles, and random points
drawn from them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import exp, sqrt
from typing import Any

from slipstick.late import Array, np


def _quantiles_of_normal(probability: Array, mean: float, deviation: float) -> Array:
    """Return quantiles of a normal distribution: mean + deviation x standard normal quantile."""
    # The quantile of probability 0 or 1 may be infinite; who asks for it says so.
    with np.errstate(all="ignore"):
        return mean + deviation * _standard_normal_quantiles(probability)


def _quantiles_of_lognormal(probability: Array, median: float, spread: float) -> Array:
    """Return quantiles of a lognormal distribution: median x exp(spread x standard normal
    quantile).
    """
    with np.errstate(all="ignore"):
        return np.asarray(median * np.exp(spread * _standard_normal_quantiles(probability)))


def _quantiles_of_triangular(probability: Array, low: float, mode: float, high: float) -> Array:
    """Return quantiles of a triangular distribution: low + sqrt(p (high - low) (mode - low)) below
    the mode, and its mirror image above it.
    """
    with np.errstate(all="ignore"):
        range_width = high - low
        value_below_mode = low + np.sqrt(probability * range_width * (mode - low))
        value_above_mode = high - np.sqrt((1 - probability) * range_width * (high - mode))
    # Each branch is NaN beyond the mode, where the other one is taken.
    return np.where(probability * range_width < mode - low, value_below_mode, value_above_mode)


def _quantiles_of_discrete(
    probability: Array, values: Sequence[float], weights: Sequence[float]
) -> Array:
    """Return quantiles of a discrete distribution: the first value, in the order given, at which
    the cumulative share of the weights reaches the probability.
    """
    cumulative_shares = np.cumsum(weights) / np.sum(weights)
    value_index = np.searchsorted(cumulative_shares, probability, side="left")
    # Rounding may leave the last sum below 1: the last value takes the rest.
    return np.asarray(values, dtype=float)[np.minimum(value_index, len(values) - 1)]


def _standard_normal_quantiles(probability: Array) -> Array:
    """Return quantiles of the standard normal distribution."""
    from scipy.special import ndtri

    return np.asarray(ndtri(probability))


_QUANTILE_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "fixed": lambda probability, value: np.full(np.shape(probability), value),
    "normal": _quantiles_of_normal,
    "lognormal": _quantiles_of_lognormal,
    "uniform": lambda probability, low, high: low + probability * (high - low),
    "triangular": _quantiles_of_triangular,
    "discrete": _quantiles_of_discrete,
}


_MOST_LOG = 709.0  # its power of e is nearly the largest number


class Uncertainty:
    """A distribution, given by its quantile function.

    Parameters
    ----------
    kind : fixed, one value known exactly; normal, by mean and standard deviation; lognormal, by
        median and standard deviation of the natural logarithm; uniform, by both ends; triangular,
        by both ends with the mode between them; discrete, by values and their weights
    parameters : of the kind, in this order

    >>> Uncertainty("normal", 5.0, 2.0).quantile(np.array([0.5, 0.8413447460685429])).round(9)
    array([5., 7.])
    >>> Uncertainty("lognormal", 5.0, 0.1).quantile(np.array([0.5])).round(9)
    array([5.])
    >>> Uncertainty("triangular", 0.0, 1.0, 2.0).quantile(np.array([0.125, 0.5])).tolist()
    [0.5, 1.0]
    >>> Uncertainty("discrete", (1.0, 2.0), (3.0, 1.0)).quantile(np.array([0.7, 0.8])).tolist()
    [1.0, 2.0]
    >>> Uncertainty("triangular", 0.0, 1.0, 2.0).value_at(0.875)
    1.5
    """

    def __init__(self, kind: str, *parameters: float | Sequence[float]) -> None:
        self.kind = kind
        self.parameters = parameters

    def quantile(self, probability: Array) -> Array:
        """Return the values below which the distribution lies with the given probabilities."""
        return _QUANTILE_FUNCTIONS[self.kind](probability, *self.parameters)

    def value_at(self, probability: float) -> float:
        """Return one quantile as a plain number, without importing NumPy, for the checks of
        files.
        """
        from statistics import NormalDist  # with a random generator, which most commands do not use

        normal_quantile = NormalDist().inv_cdf(probability)
        upper_probability = 1.0 - probability
        parameters: tuple[Any, ...] = self.parameters
        quantile = parameters[0]
        match self.kind, parameters:
            case "normal", (mean, deviation):
                quantile = mean + deviation * normal_quantile
            case "lognormal", (median, spread):
                quantile = median * exp(min(spread * normal_quantile, _MOST_LOG))
            case "uniform", (lowest, highest):
                quantile = lowest + probability * (highest - lowest)
            case "triangular", (lowest, mode, highest):
                is_below_mode = probability * (highest - lowest) < mode - lowest
                squared_distance = (
                    probability * (highest - lowest) * (mode - lowest)
                    if is_below_mode
                    else upper_probability * (highest - lowest) * (highest - mode)
                )
                quantile = (
                    lowest + sqrt(squared_distance)
                    if is_below_mode
                    else highest - sqrt(squared_distance)
                )
            case "discrete", (support_values, weights):
                cumulative_weights = list(accumulate(weights))
                quantile = support_values[
                    bisect_left(cumulative_weights, probability * cumulative_weights[-1])
                ]
        return float(quantile)


QUASI_RANDOM = "quasi-random"
RANDOM = "random"

_LEAST_PROBABILITY = 2.0**-53  # no part is 0 or 1, where a quantile may be infinite


def random_stream(seed: int, name: str, replication: int = 0) -> np.random.Generator:
    """Return a random number generator that depends only on seed, replication and name."""
    name_number = int.from_bytes(name.encode(), "big")
    # The length tells names apart whose bytes are the same number, and seeds are lists of numbers.
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([seed, replication, len(name), name_number]))
    )


def sample_points(
    distributions: Mapping[str, Uncertainty],
    count: int,
    rng: np.random.Generator,
    sequence: str = QUASI_RANDOM,
) -> dict[str, Array]:
    """Draw random values of several independent quantities at a number of points.

    Parameters
    ----------
    distributions : by name; the order of names does not matter, a further name changes the points
    count : how many points; a power of two for quasi-random ones
    rng : as `random_stream` gives it
    sequence : quasi-random is a scrambled Sobol sequence (SciPy), whose points fill space evenly

    >>> points = sample_points(
    ...     {"x": Uncertainty("uniform", 0.0, 1.0)}, 4, random_stream(1, "a test")
    ... )
    >>> sorted(np.floor(4 * points["x"]).tolist())  # one in each quarter
    [0.0, 1.0, 2.0, 3.0]
    """
    parameter_names = sorted(distributions)
    if not parameter_names:
        return {}
    probabilities = _unit_points(parameter_names, count, rng, sequence)
    return {
        name: distributions[name].quantile(probabilities[:, index])
        for index, name in enumerate(parameter_names)
    }


def _unit_points(
    names: Sequence[str], count: int, rng: np.random.Generator, sequence: str
) -> Array:
    """Draw points in the unit cube, with a coordinate for each name [points, names]."""
    if sequence == RANDOM:
        unit_points = rng.random((count, len(names)))
    else:
        from scipy.stats.qmc import Sobol

        unit_points = Sobol(len(names), scramble=True, rng=rng).random(count)
    return np.clip(unit_points, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)

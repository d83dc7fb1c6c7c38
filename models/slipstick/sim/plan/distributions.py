"""Distributions of times, and the named random streams that they are drawn from.

A stream is keyed by (seed, replication, name), so that a new station does not disturb the others
and two alternatives use common random numbers where they have parts in common. The bits come raw
from PCG64, whose sequence is fixed for good; everything after that is computed here, so results do
not depend on how a NumPy release samples.

Every distribution takes a fixed number of uniforms per value (but gamma and Coxian times of many
phases, which reject some), so that the sequence of values does not depend on the sizes of the
blocks in which they are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import ClassVar

from slipstick.errors import ModelError, NoAnswerError, did_you_mean
from slipstick.late import Array, NDArray, dataclass, np
from slipstick.phases import (
    LEAST_SCV,
    PhaseType,
    balanced_means,
    phases_below_one,
)
from slipstick.profiles import Profile, period_of
from slipstick.time_distributions import TimeDistribution

# Uniform numbers are multiples of 2^-52 and half of one: doubles hold them exactly, and none is 0
# or 1.
_SCALE = 2.0**-52


class Stream:
    """Uniform numbers strictly between 0 and 1.

    Parameters
    ----------
    seed : of the whole run, at least 0
    stream_name : of what is random
    replication : number of the run

    >>> bool((Stream(1, "bus").uniforms(3) == Stream(1, "bus").uniforms(3)).all())
    True
    >>> bool((Stream(1, "bus").uniforms(3) == Stream(1, "door").uniforms(3)).any())
    False
    """

    __slots__ = ("_bits",)

    def __init__(self, seed: int, stream_name: str, replication: int = 0) -> None:
        # The name is one whole number: a list of bytes costs a conversion each.
        name_number = int.from_bytes(stream_name.encode(), "big")
        # The length tells names apart that differ in leading zero bytes.
        self._bits = np.random.PCG64(
            np.random.SeedSequence([seed, replication, len(stream_name), name_number])
        )

    def uniforms(self, sample_count: int) -> Array:
        """Return the next numbers; half a step is added, so that none is 0 or 1."""
        random_bits: NDArray[np.uint64] = self._bits.random_raw(sample_count)
        return ((random_bits >> np.uint64(12)).astype(np.float64) + 0.5) * _SCALE


SHORTEST, LONGEST = 1e-140, 1e140
"""Mean times that are simulated, beside 0: squares of their sums neither vanish nor overflow
[s].
"""

RANGE = f"0 s, or from {SHORTEST:g} to {LONGEST:g} s"


def in_range(mean: float) -> bool:
    """Return whether times of this mean can be simulated."""
    return mean == 0 or SHORTEST <= mean <= LONGEST


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """A distribution of a time that is never negative.

    Parameters
    ----------
    kind : deterministic, exponential, erlang, coxian, hyperexponential, gamma or uniform
    mean : [s]
    scv : squared coefficient of variation: 0 for deterministic, 1 for exponential, 1/k for erlang
        with a whole k, from 0.01 to below 1 for coxian, above 1 for hyperexponential, at most 1/3
        for uniform

    >>> ServiceTime("erlang", 2.0, 0.25).sample(Stream(1, "disk"), 2).shape
    (2,)
    """

    kind: str
    mean: float
    scv: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ModelError(
                f"there is no distribution {self.kind!r}{did_you_mean(self.kind, _KINDS)}"
            )
        if not in_range(self.mean):
            raise ModelError(
                f"the mean of {self._kind_with_article} time must be {RANGE}, got {self.mean!r}"
            )
        allowed_values, is_allowed, _ = _KINDS[self.kind]
        if not is_allowed(self.scv):
            raise ModelError(
                f"{self._kind_with_article} time cannot have scv {self.scv!r}: it must be"
                f" {allowed_values}"
            )

    @property
    def _kind_with_article(self) -> str:
        return f"{'an' if self.kind[0] in 'aeio' else 'a'} {self.kind}"

    @property
    def is_constant(self) -> bool:
        """Return whether every value is the mean."""
        return self.mean == 0 or self.scv == 0

    def sample(self, stream: Stream, sample_count: int) -> Array:
        """Draw the next `sample_count` times [s]."""
        return self.mean * _KINDS[self.kind][2](self.scv, stream, sample_count)

    def blocks(self, stream: Stream, block_sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]."""
        return (self.sample(stream, block_size) for block_size in block_sizes)


@dataclass(frozen=True, slots=True)
class BurstyTimes:
    """Times between arrivals at one rate, and at another rate in bursts: a two-state
    Markov-modulated Poisson process.

    Parameters
    ----------
    rates : of arrivals between bursts and in them [1/s]
    changes : rates at which a burst begins, and ends [1/s]
    begins_quiet : time 0 lies between two bursts; else in a burst with the share of the time that
        bursts take in the long run

    Source: Fischer and Meier-Hellstern, Performance Evaluation 18(2), 1993, 149-171.

    >>> round(BurstyTimes((20.0, 150.0), (1 / 9, 1.0)).mean * 33, 9)
    1.0
    """

    rates: tuple[float, float]
    changes: tuple[float, float]
    begins_quiet: bool = False
    is_constant: ClassVar[bool] = False

    @property
    def mean(self) -> float:
        """The mean time between two arrivals [s]."""
        (quiet_rate, burst_rate), (begin_rate, end_rate) = self.rates, self.changes
        return (begin_rate + end_rate) / (quiet_rate * end_rate + burst_rate * begin_rate)

    @property
    def scv(self) -> float:
        """The variance of the number of arrivals in a long time, divided by the mean of that
        number; for independent times between arrivals it is their squared coefficient of variation
        [1].
        """
        begin_rate, end_rate = self.changes
        rate_difference = self.rates[1] - self.rates[0]
        return (
            1 + 2 * rate_difference**2 * begin_rate * end_rate * self.mean / sum(self.changes) ** 3
        )

    @property
    def customers_of_period(self) -> float:
        """The mean number of customers that arrive between the beginnings of two successive bursts
        [1].
        """
        return sum(1 / change_rate for change_rate in self.changes) / self.mean

    def blocks(self, stream: Stream, block_sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values from the process [s]; values beyond a block go into the next."""
        # In each state an arrival competes with the change of the state; both times are
        # exponential, so the next event comes at the sum of their rates.
        arrival_probability_by_state = [
            rate / (rate + change_rate)
            for rate, change_rate in zip(self.rates, self.changes, strict=True)
        ]
        mean_stay_by_state = [
            1 / (rate + change_rate)
            for rate, change_rate in zip(self.rates, self.changes, strict=True)
        ]
        is_in_burst = stream.uniforms(1)[0] * sum(self.changes) < self.changes[0]
        state = int(is_in_burst and not self.begins_quiet)
        time_since_arrival = 0.0
        ready_times = list[float]()
        for block_size in block_sizes:
            while len(ready_times) < block_size:
                uniform_draws, arrival_draws = stream.uniforms(2 * _DRAWN_AT_ONCE).reshape(
                    2, _DRAWN_AT_ONCE
                )
                for unit_time, arrival_draw in zip(
                    (-np.log(uniform_draws)).tolist(), arrival_draws.tolist(), strict=True
                ):
                    time_since_arrival += unit_time * mean_stay_by_state[state]
                    if arrival_draw < arrival_probability_by_state[state]:
                        ready_times.append(time_since_arrival)
                        time_since_arrival = 0.0
                    else:
                        state = 1 - state
            yield np.array(ready_times[:block_size])
            # Kept times are those that the next block begins with.
            del ready_times[:block_size]


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Times between successive customers who arrive in batches: 0 s between customers of one batch,
    else the time between two batches.

    Parameters
    ----------
    between : times between batches
    size : of each batch, from 1

    >>> BatchTimes(ServiceTime("deterministic", 2.0, 0.0), 4).mean
    0.5
    """

    between: ServiceTime | BurstyTimes | ProfiledTimes
    size: int
    is_constant: ClassVar[bool] = False

    @property
    def mean(self) -> float:
        """The mean time between two customers [s]."""
        return self.between.mean / self.size

    @property
    def customers_of_period(self) -> float:
        """The mean number of customers that arrive between the beginnings of two successive bursts;
        0 without bursts [1].
        """
        return float(getattr(self.between, "customers_of_period", 0.0)) * self.size

    @property
    def period(self) -> float:
        """The period of a profile; 0 without one [s]."""
        return float(getattr(self.between, "period", 0.0))

    def blocks(self, stream: Stream, block_sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]."""
        return _regrouped_in_blocks(self._drawn_values(stream), block_sizes)

    def _drawn_values(self, stream: Stream) -> Iterator[Array]:
        """Yield arrays of times between customers without end, whole batches in each [s]."""
        for times_between in self.between.blocks(stream, repeat(_DRAWN_AT_ONCE)):
            batches = np.zeros((_DRAWN_AT_ONCE, self.size))
            batches[:, 0] = times_between
            yield batches.ravel()


def _regrouped_in_blocks(
    drawn_values: Iterator[Array], block_sizes: Iterable[int]
) -> Iterator[Array]:
    """Yield drawn values regrouped into blocks of the given sizes."""
    ready_values = np.zeros(0)
    for block_size in block_sizes:
        while len(ready_values) < block_size:
            ready_values = np.concatenate([ready_values, next(drawn_values)])
        # A slice would keep the whole drawn block in memory.
        yield ready_values[:block_size].copy()
        ready_values = ready_values[block_size:]


@dataclass(frozen=True, slots=True)
class TracedTimes:
    """Times between arrivals that are given one by one; the sequence begins again at its end.

    Parameters
    ----------
    gaps : the times, up to a common factor [1]
    mean : [s]

    >>> next(TracedTimes((1.0, 3.0), 4.0).blocks(Stream(1, "web"), [5]))
    array([2., 6., 2., 6., 2.])
    """

    gaps: tuple[float, ...]
    mean: float
    is_constant: ClassVar[bool] = False

    def blocks(self, stream: Stream, block_sizes: Iterable[int]) -> Iterator[Array]:
        """Yield blocks of values [s]; nothing is drawn."""
        scaled_gaps = np.array(self.gaps)
        next_index = 0
        scaled_gaps *= self.mean / scaled_gaps.mean()
        for block_size in block_sizes:
            yield scaled_gaps[np.arange(next_index, next_index + block_size) % len(scaled_gaps)]
            next_index = (next_index + block_size) % len(scaled_gaps)


@dataclass(frozen=True, slots=True)
class ProfiledTimes:
    """Times between the arrivals of a Poisson stream whose rate follows a periodic profile: it is
    constant in each piece of the period.

    Arrivals are those of a Poisson stream of rate 1 on a scale of expected arrivals: the time t of
    one solves integral_0^t rate(s) ds = E_1 + ... + E_n with exponential E of mean 1 (inversion;
    Cinlar, Introduction to Stochastic Processes, 1975, section 4.7).

    Parameters
    ----------
    pieces : duration [s] of each piece, and its rate up to a common factor
    mean : [s]

    >>> ProfiledTimes(((10.0, 0.0), (10.0, 4.0)), 0.5).customers_of_period
    40.0
    """

    pieces: Profile
    mean: float
    is_constant: ClassVar[bool] = False

    @property
    def period(self) -> float:
        """The duration of a period [s]."""
        return period_of(self.pieces)

    @property
    def customers_of_period(self) -> float:
        """The mean number of customers that arrive in a period [1]."""
        return self.period / self.mean

    def blocks(self, stream: Stream, block_sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]; the first arrival is drawn from the beginning of a period."""
        return _regrouped_in_blocks(self._drawn_values(stream), block_sizes)

    def _drawn_values(self, stream: Stream) -> Iterator[Array]:
        """Yield arrays of times between arrivals, without end [s]."""
        durations, rates = np.array(self.pieces).T
        piece_ends = np.concatenate([[0.0], np.cumsum(durations)])
        expected_arrivals = np.concatenate([[0.0], np.cumsum(durations * rates)])
        expected_arrivals *= self.customers_of_period / expected_arrivals[-1]
        last_arrival_position, last_time = 0.0, 0.0
        # A generator without an end: a run draws as many blocks as it needs.
        while True:
            arrival_positions = last_arrival_position + np.cumsum(
                -np.log(stream.uniforms(_DRAWN_AT_ONCE))
            )
            whole_periods, arrivals_in_period = np.divmod(arrival_positions, expected_arrivals[-1])
            times = whole_periods * piece_ends[-1] + np.interp(
                arrivals_in_period, expected_arrivals, piece_ends
            )
            yield np.diff(times, prepend=last_time)
            # Positions and times begin anew in each period, so that long runs lose no digits.
            last_arrival_position = float(arrivals_in_period[-1])
            last_time = float(times[-1] - whole_periods[-1] * piece_ends[-1])


@dataclass(frozen=True, slots=True)
class DistributedTime:
    """A random time: a named distribution, scaled to a mean.

    Parameters
    ----------
    distribution : of mean 1
    mean : [s]

    >>> from slipstick.time_distributions import uniform
    >>> DistributedTime(uniform(1.0, 3.0).distribution, 2.0).sample(Stream(1, "disk"), 2).round(3)
    array([1.846, 1.669])
    """

    distribution: TimeDistribution
    mean: float

    def __post_init__(self) -> None:
        if not in_range(self.mean):
            raise ModelError(
                f"the mean of a {self.distribution.kind} time must be {RANGE}, got {self.mean!r}"
            )

    @property
    def is_constant(self) -> bool:
        """Return whether every value is the mean."""
        return self.mean == 0 or self.distribution.scv == 0

    def sample(self, stream: Stream, sample_count: int) -> Array:
        """Draw the next `sample_count` times [s]."""
        phases = self.distribution.phases
        if phases is not None:
            return self.mean * _phase_times(phases, stream, sample_count)
        return self.mean * _DRAWN_BY_KIND[self.distribution.kind](
            self.distribution.numbers[0], stream, sample_count
        )

    def blocks(self, stream: Stream, block_sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]."""
        return (self.sample(stream, block_size) for block_size in block_sizes)


def _phase_times(phases: PhaseType, stream: Stream, sample_count: int) -> Array:
    """Draw times from a phase-type distribution, in the unit of time of its rates. Each phase takes
    two uniform numbers: one for its time, and one for the phase that comes after it.
    """
    cumulative_onward = np.cumsum(phases.onward, axis=1)
    # Rounding may leave the sum of the probabilities slightly beside 1.
    phase_by_index = np.searchsorted(
        np.cumsum(phases.start), stream.uniforms(sample_count) * phases.start.sum()
    )
    drawn_times = np.zeros(sample_count)
    unfinished_indexes = np.arange(sample_count)
    while len(unfinished_indexes):
        time_draws, phase_draws = stream.uniforms(2 * len(unfinished_indexes)).reshape(
            2, len(unfinished_indexes)
        )
        drawn_times[unfinished_indexes] -= np.log(time_draws) / phases.rates[phase_by_index]
        # The number of cumulative probabilities passed is that of the next phase; behind the last
        # one, the time ends.
        phase_by_index = (phase_draws[:, None] >= cumulative_onward[phase_by_index]).sum(axis=1)
        has_next_phase = phase_by_index < phases.phases
        unfinished_indexes = unfinished_indexes[has_next_phase]
        phase_by_index = phase_by_index[has_next_phase]
    return drawn_times


def _log_normal(parameters: Sequence[float], stream: Stream, sample_count: int) -> Array:
    """Draw log-normal times of mean 1; the parameter is their scv."""
    (scv,) = parameters
    log_variance = math.log1p(scv)
    # A mean of the logarithm of minus half its variance gives a time of mean 1.
    deviations = math.sqrt(log_variance) * _normal(stream, sample_count)
    samples: Array = np.exp(deviations - log_variance / 2)
    return samples


def _weibull(parameters: Sequence[float], stream: Stream, sample_count: int) -> Array:
    """Draw Weibull times of mean 1; the first parameter is the shape."""
    exponent = 1 / parameters[0]
    # At scale 1 the mean is the gamma function of 1 + 1 / shape.
    samples: Array = _exponential(1.0, stream, sample_count) ** exponent / math.gamma(1 + exponent)
    return samples


def _pareto(parameters: Sequence[float], stream: Stream, sample_count: int) -> Array:
    """Draw Pareto times of mean 1; the first parameter is the shape."""
    shape = parameters[0]
    # The smallest value, 1 - 1 / shape, makes the mean 1.
    samples: Array = (1 - 1 / shape) * stream.uniforms(sample_count) ** (-1 / shape)
    return samples


def _uniform_between(parameters: Sequence[float], stream: Stream, sample_count: int) -> Array:
    """Draw times that are uniform between the two parameters."""
    shortest, longest = parameters
    return shortest + (longest - shortest) * stream.uniforms(sample_count)


def _draw_from_samples(parameters: Sequence[float], stream: Stream, sample_count: int) -> Array:
    """Draw times from a list of equally likely samples, which are the parameters."""
    sample_index = (stream.uniforms(sample_count) * len(parameters)).astype(np.intp)
    samples: Array = np.array(parameters)[sample_index]
    return samples


Times = ServiceTime | DistributedTime | BurstyTimes | BatchTimes | TracedTimes | ProfiledTimes
"""Distributions of times that can be drawn."""

_DRAWN_AT_ONCE = 512
"""Number of changes of state and arrivals of `BurstyTimes` that are drawn together."""


def service_time(mean: float, scv: float) -> ServiceTime:
    """Return the service time of a mean [s] and a squared coefficient of variation, as
    `slipstick.random_times` defines it.

    >>> [service_time(1.0, scv).kind for scv in (0, 0.5, 0.4, 1, 4)]
    ['deterministic', 'erlang', 'coxian', 'exponential', 'hyperexponential']
    """
    if scv == 0:
        return ServiceTime("deterministic", mean, 0.0)
    if scv == 1:
        return ServiceTime("exponential", mean, 1.0)
    if scv > 1:
        return ServiceTime("hyperexponential", mean, scv)
    # A row of more than 100 phases varies so little that a gamma time stands for it.
    if scv < LEAST_SCV:
        return ServiceTime("gamma", mean, scv)
    return ServiceTime("erlang" if _is_whole(1 / scv) else "coxian", mean, scv)


def open_time(breaker: str, mean: float, scv: float) -> ServiceTime:
    """Return the random time for which a circuit breaker stays open.

    Raises
    ------
    NoAnswerError : the mean is 0 s, or out of the range of simulated times
    """
    if not (in_range(mean) and mean > 0):
        raise NoAnswerError(
            f"the open time of circuit breaker {breaker} comes out as {mean!r} s; what is"
            f" simulated takes {RANGE}, above 0 s"
        )
    return service_time(mean, scv)


def time_of_distribution(
    mean: float, scv: float, distribution: TimeDistribution | None
) -> ServiceTime | DistributedTime:
    """Return a random time of a mean [s] with a distribution; without one, as `service_time`."""
    return service_time(mean, scv) if distribution is None else DistributedTime(distribution, mean)


def _is_whole(number: float) -> bool:
    # A number of phases such as 1 / scv is computed, and may miss a whole one by rounding.
    return abs(number - round(number)) < 1e-9


def _exponential(scv: float, stream: Stream, sample_count: int) -> Array:
    """Draw exponential times of mean 1."""
    times: Array = -np.log(stream.uniforms(sample_count))
    return times


def _erlang(scv: float, stream: Stream, sample_count: int) -> Array:
    """Draw Erlang times of mean 1, with 1 / scv phases."""
    phase_count = round(1 / scv)
    times: Array = (
        _exponential(1.0, stream, sample_count * phase_count)
        .reshape(sample_count, phase_count)
        .sum(axis=1)
        / phase_count
    )
    return times


def _hyperexponential(scv: float, stream: Stream, sample_count: int) -> Array:
    """Draw times of mean 1 from two exponential phases with balanced means."""
    short_probability = float(balanced_means(scv))
    uniform_pairs = stream.uniforms(2 * sample_count).reshape(sample_count, 2)
    return np.where(
        uniform_pairs[:, 0] < short_probability,
        0.5 / short_probability,
        0.5 / (1 - short_probability),
    ) * -np.log(uniform_pairs[:, 1])


MOST_MULTIPLIED = 4
"""Largest number of phases that are drawn as the logarithm of a product of uniform numbers; more
phases are drawn faster as a gamma time.
"""


def _coxian(scv: float, stream: Stream, sample_count: int) -> Array:
    """Draw Coxian times of mean 1: the sum of the phases that always occur and, with a probability,
    one more phase; see `phases_below_one`.
    """
    certain_phases, phase_mean, probability, last_mean = phases_below_one(scv)
    if certain_phases > MOST_MULTIPLIED:
        samples = certain_phases * _gamma(1 / certain_phases, stream, sample_count)
        uniforms = stream.uniforms(2 * sample_count).reshape(sample_count, 2)
    else:
        uniforms = stream.uniforms((certain_phases + 2) * sample_count).reshape(
            sample_count, certain_phases + 2
        )
        samples = -np.log(uniforms[:, 2:].prod(axis=1))
    samples_of_time: Array = phase_mean * samples + np.where(
        uniforms[:, 0] < probability, -last_mean * np.log(uniforms[:, 1]), 0.0
    )
    return samples_of_time


def _normal(stream: Stream, sample_count: int) -> Array:
    """Draw standard normal numbers by the transform of Box and Muller; one number of each pair is
    used.
    """
    uniform_pairs = stream.uniforms(2 * sample_count).reshape(sample_count, 2)
    samples: Array = np.sqrt(-2 * np.log(uniform_pairs[:, 0])) * np.cos(
        2 * math.pi * uniform_pairs[:, 1]
    )
    return samples


def _gamma(scv: float, stream: Stream, sample_count: int) -> Array:
    """Draw gamma times by the rejection of Marsaglia and Tsang, ACM TOMS 26(3), 2000; a shape below
    1 is drawn as one above 1, scaled.
    """
    shape = 1 / scv
    reduced_shape = (shape if shape >= 1 else shape + 1) - 1 / 3
    samples_kept: list[Array] = []
    missing_count = sample_count
    while missing_count > 0:
        normals = _normal(stream, missing_count)
        uniforms = stream.uniforms(missing_count)
        cubes = (1 + normals / math.sqrt(9 * reduced_shape)) ** 3
        # Cubes of 0 or below have no logarithm and are rejected; a uniform of 0 has -infinity.
        with np.errstate(invalid="ignore", divide="ignore"):
            is_accepted = (cubes > 0) & (
                np.log(uniforms)
                < 0.5 * normals * normals
                + reduced_shape
                - reduced_shape * cubes
                + reduced_shape * np.log(np.where(cubes > 0, cubes, 1))
            )
        samples_kept.append(reduced_shape * cubes[is_accepted])
        missing_count -= int(is_accepted.sum())
    samples = np.concatenate(samples_kept)
    if shape < 1:
        samples = samples * stream.uniforms(sample_count) ** (1 / shape)
    return samples / shape


def _uniform(scv: float, stream: Stream, sample_count: int) -> Array:
    """Draw uniform times of mean 1 and the given scv."""
    # A uniform time within 1 +- w has variance w^2 / 3.
    half_width = math.sqrt(3 * scv)
    return 1 + half_width * (2 * stream.uniforms(sample_count) - 1)


_MOST_VARIED = 1e12
"""The scv of two phases up to which doubles tell the probability of the rarer, 1 / (2 scv), from
0, within 1e-4.
"""

_KINDS: dict[str, tuple[str, Callable[[float], bool], Callable[[float, Stream, int], Array]]] = {
    "deterministic": ("0", lambda scv: scv == 0, lambda scv, stream, count: np.ones(count)),
    "exponential": ("1", lambda scv: scv == 1, _exponential),
    "erlang": (
        "one over a whole number up to 1000",
        # A sum of k exponential variates: more than 1000 of them would take most of a run.
        lambda scv: 1e-3 <= scv <= 1 and _is_whole(1 / scv),
        _erlang,
    ),
    "coxian": (f"at least {LEAST_SCV} and less than 1", lambda scv: LEAST_SCV <= scv < 1, _coxian),
    "hyperexponential": (
        "more than 1, at most 1e+12",
        lambda scv: 1 < scv <= _MOST_VARIED,
        _hyperexponential,
    ),
    "gamma": ("more than 0", lambda scv: 0 < scv < math.inf, _gamma),
    # 1/3 as a double, or computed from ends, may be above 1/3 by rounding.
    "uniform": ("from 0 to 1/3", lambda scv: 0 <= scv <= 1 / 3 + 1e-12, _uniform),
}
"""What the scv of each kind must be, in words and as a condition; and how values of mean 1 are
drawn.
"""

_DRAWN_BY_KIND: dict[str, Callable[[Sequence[float], Stream, int], Array]] = {
    "uniform": _uniform_between,
    "lognormal": _log_normal,
    "gamma": lambda numbers, stream, count: _gamma(numbers[0], stream, count),
    "weibull": _weibull,
    "pareto": _pareto,
    "samples": _draw_from_samples,
}
"""The functions that draw values of mean 1, by the name of the distribution, for distributions that
are not made of phases.
"""

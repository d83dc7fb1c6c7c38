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
from dataclasses import dataclass
from itertools import repeat
from typing import ClassVar

from slipstick.errors import ModelError, did_you_mean
from slipstick.late import Array, NDArray, np
from slipstick.phases import (
    LEAST_SCV,
    PhaseType,
    balanced_means,
    phases_below_one,
)
from slipstick.time_distributions import TimeDistribution

# Uniform numbers are multiples of 2^-52 and half of one: doubles hold them exactly, and none is 0
# or 1.
_SCALE = 2.0**-52


class Stream:
    """Uniform numbers strictly between 0 and 1.

    Parameters
    ----------
    seed : of the whole run, at least 0
    name : of what is random
    replication : number of the run

    >>> bool((Stream(1, "bus").uniforms(3) == Stream(1, "bus").uniforms(3)).all())
    True
    >>> bool((Stream(1, "bus").uniforms(3) == Stream(1, "door").uniforms(3)).any())
    False
    """

    __slots__ = ("_bits",)

    def __init__(self, seed: int, name: str, replication: int = 0) -> None:
        # The name is one whole number: a list of bytes costs a conversion each.
        key = int.from_bytes(name.encode(), "big")
        # The length tells names apart that differ in leading zero bytes.
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, replication, len(name), key]))

    def uniforms(self, count: int) -> Array:
        """Return the next numbers; half a step is added, so that none is 0 or 1."""
        raw: NDArray[np.uint64] = self._bits.random_raw(count)
        return ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * _SCALE


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
            raise ModelError(f"the mean of {self._a} time must be {RANGE}, got {self.mean!r}")
        words, suits, _ = _KINDS[self.kind]
        if not suits(self.scv):
            raise ModelError(f"{self._a} time cannot have scv {self.scv!r}: it must be {words}")

    @property
    def _a(self) -> str:
        return f"{'an' if self.kind[0] in 'aeio' else 'a'} {self.kind}"

    @property
    def constant(self) -> bool:
        """Return whether every value is the mean."""
        return self.mean == 0 or self.scv == 0

    def sample(self, stream: Stream, count: int) -> Array:
        """Draw the next values [s]."""
        return self.mean * _KINDS[self.kind][2](self.scv, stream, count)

    def blocks(self, stream: Stream, sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]."""
        return (self.sample(stream, size) for size in sizes)


@dataclass(frozen=True, slots=True)
class BurstyTimes:
    """Times between arrivals at one rate, and at another rate in bursts: a two-state
    Markov-modulated Poisson process.

    Parameters
    ----------
    rates : of arrivals between bursts and in them [1/s]
    changes : rates at which a burst begins, and ends [1/s]

    Source: Fischer and Meier-Hellstern, Performance Evaluation 18(2), 1993, 149-171.

    >>> round(BurstyTimes((20.0, 150.0), (1 / 9, 1.0)).mean * 33, 9)
    1.0
    """

    rates: tuple[float, float]
    changes: tuple[float, float]
    constant: ClassVar[bool] = False

    @property
    def mean(self) -> float:
        """The mean [s]."""
        (quiet, burst), (begins, ends) = self.rates, self.changes
        return (begins + ends) / (quiet * ends + burst * begins)

    @property
    def customers_of_period(self) -> float:
        """The mean number of customers that arrive from the beginning of one burst to that of the
        next [1].
        """
        return sum(1 / change for change in self.changes) / self.mean

    def blocks(self, stream: Stream, sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values from the stationary process [s]; values beyond a block go into
        the next.
        """
        # In each state an arrival competes with the change of the state; both times are
        # exponential, so the next event comes at the sum of their rates.
        chance = [
            rate / (rate + change) for rate, change in zip(self.rates, self.changes, strict=True)
        ]
        stay = [1 / (rate + change) for rate, change in zip(self.rates, self.changes, strict=True)]
        # It begins in a burst with the share of the time that bursts take in the long run.
        state = int(stream.uniforms(1)[0] * sum(self.changes) < self.changes[0])
        waited = 0.0
        ready = list[float]()
        for size in sizes:
            while len(ready) < size:
                uniform_draws, arrives = stream.uniforms(2 * _DRAWN).reshape(2, _DRAWN)
                for time, chosen in zip(
                    (-np.log(uniform_draws)).tolist(), arrives.tolist(), strict=True
                ):
                    waited += time * stay[state]
                    if chosen < chance[state]:
                        ready.append(waited)
                        waited = 0.0
                    else:
                        state = 1 - state
            yield np.array(ready[:size])
            del ready[:size]


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Times between customers that arrive in batches: one between two batches, and 0 within a
    batch.

    Parameters
    ----------
    between : times between batches
    size : of each batch, from 1

    >>> BatchTimes(ServiceTime("deterministic", 2.0, 0.0), 4).mean
    0.5
    """

    between: ServiceTime | BurstyTimes
    size: int
    constant: ClassVar[bool] = False

    @property
    def mean(self) -> float:
        """The mean [s]."""
        return self.between.mean / self.size

    @property
    def customers_of_period(self) -> float:
        """The mean number of customers that arrive from the beginning of one burst to that of the
        next; 0 without bursts [1].
        """
        if isinstance(self.between, ServiceTime):
            return 0.0
        return self.between.customers_of_period * self.size

    def blocks(self, stream: Stream, sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]."""
        blocks_drawn = self.between.blocks(stream, repeat(_DRAWN))
        ready = np.zeros(0)
        for size in sizes:
            while len(ready) < size:
                next_batches = np.zeros((_DRAWN, self.size))
                next_batches[:, 0] = next(blocks_drawn)
                ready = np.concatenate([ready, next_batches.ravel()])
            yield ready[:size].copy()
            ready = ready[size:]


@dataclass(frozen=True, slots=True)
class TracedTimes:
    """Times between arrivals that are given one by one; the sequence begins again at its end.

    Parameters
    ----------
    gaps : the times, in proportion [1]
    mean : [s]

    >>> next(TracedTimes((1.0, 3.0), 4.0).blocks(Stream(1, "web"), [5]))
    array([2., 6., 2., 6., 2.])
    """

    gaps: tuple[float, ...]
    mean: float
    constant: ClassVar[bool] = False

    def blocks(self, stream: Stream, sizes: Iterable[int]) -> Iterator[Array]:
        """Yield blocks of values [s]; nothing is drawn."""
        gaps = np.array(self.gaps)
        place = 0
        gaps *= self.mean / gaps.mean()
        for size in sizes:
            yield gaps[np.arange(place, place + size) % len(gaps)]
            place = (place + size) % len(gaps)


@dataclass(frozen=True, slots=True)
class DistributedTime:
    """A random time with a named distribution and a mean of its own.

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
    def constant(self) -> bool:
        """Return whether every value is the mean."""
        return self.mean == 0 or self.distribution.scv == 0

    def sample(self, stream: Stream, count: int) -> Array:
        """Draw the next values [s]."""
        phases = self.distribution.phases
        if phases is not None:
            return self.mean * _through_phases(phases, stream, count)
        return self.mean * _DRAWN_BY_KIND[self.distribution.kind](
            self.distribution.numbers[0], stream, count
        )

    def blocks(self, stream: Stream, sizes: Iterable[int]) -> Iterator[Array]:
        """Draw blocks of values [s]."""
        return (self.sample(stream, size) for size in sizes)


def _through_phases(phases: PhaseType, stream: Stream, count: int) -> Array:
    """Follow the phases of each value until it ends: with two uniforms for each phase, its time
    and what comes after it.
    """
    next_phase = np.cumsum(phases.onward, axis=1)
    # Rounding may leave the sum of the probabilities slightly beside 1.
    place = np.searchsorted(np.cumsum(phases.start), stream.uniforms(count) * phases.start.sum())
    values = np.zeros(count)
    unfinished = np.arange(count)
    while len(unfinished):
        times, chances = stream.uniforms(2 * len(unfinished)).reshape(2, len(unfinished))
        values[unfinished] -= np.log(times) / phases.rates[place]
        # The number of cumulative probabilities passed is that of the next phase; behind the last
        # one, the time ends.
        place = (chances[:, None] >= next_phase[place]).sum(axis=1)
        goes_on = place < phases.phases
        unfinished = unfinished[goes_on]
        place = place[goes_on]
    return values


def _log_normal(numbers: Sequence[float], stream: Stream, count: int) -> Array:
    variance = math.log1p(numbers[0])
    # Of the logarithm, a mean of minus half its variance gives a time of mean 1.
    samples: Array = np.exp(math.sqrt(variance) * _normal(stream, count) - variance / 2)
    return samples


def _weibull(numbers: Sequence[float], stream: Stream, count: int) -> Array:
    power = 1 / numbers[0]
    # At scale 1 the mean is the gamma function of 1 + 1 / shape.
    samples: Array = _exponential(1.0, stream, count) ** power / math.gamma(1 + power)
    return samples


def _pareto(numbers: Sequence[float], stream: Stream, count: int) -> Array:
    shape = numbers[0]
    # The smallest value, 1 - 1 / shape, makes the mean 1.
    samples: Array = (1 - 1 / shape) * stream.uniforms(count) ** (-1 / shape)
    return samples


def _between(numbers: Sequence[float], stream: Stream, count: int) -> Array:
    low, high = numbers
    return low + (high - low) * stream.uniforms(count)


def _one_of_samples(numbers: Sequence[float], stream: Stream, count: int) -> Array:
    place = (stream.uniforms(count) * len(numbers)).astype(np.intp)
    samples: Array = np.array(numbers)[place]
    return samples


Times = ServiceTime | DistributedTime | BurstyTimes | BatchTimes | TracedTimes
"""Distributions of times that can be drawn."""

_DRAWN = 512
"""Changes and arrivals of `BurstyTimes` that are drawn at a time."""


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


def time_of_distribution(
    mean: float, scv: float, distribution: TimeDistribution | None
) -> ServiceTime | DistributedTime:
    """Return a random time of a mean [s] with a distribution; without one, as `service_time`."""
    return service_time(mean, scv) if distribution is None else DistributedTime(distribution, mean)


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < 1e-9


def _exponential(scv: float, stream: Stream, count: int) -> Array:
    times: Array = -np.log(stream.uniforms(count))
    return times


def _erlang(scv: float, stream: Stream, count: int) -> Array:
    phases = round(1 / scv)
    times: Array = (
        _exponential(1.0, stream, count * phases).reshape(count, phases).sum(axis=1) / phases
    )
    return times


def _hyperexponential(scv: float, stream: Stream, count: int) -> Array:
    p = float(balanced_means(scv))
    pairs = stream.uniforms(2 * count).reshape(count, 2)
    return np.where(pairs[:, 0] < p, 0.5 / p, 0.5 / (1 - p)) * -np.log(pairs[:, 1])


MOST_MULTIPLIED = 4
"""Phases that are drawn as the logarithm of a product of uniforms; more are drawn faster as a
gamma time.
"""


def _coxian(scv: float, stream: Stream, count: int) -> Array:
    """Draw times of a Coxian distribution: the phases that always occur, then with a probability
    one more; see `phases_below_one`.
    """
    certain, phase_mean, probability, last = phases_below_one(scv)
    if certain > MOST_MULTIPLIED:
        samples = certain * _gamma(1 / certain, stream, count)
        uniforms = stream.uniforms(2 * count).reshape(count, 2)
    else:
        uniforms = stream.uniforms((certain + 2) * count).reshape(count, certain + 2)
        samples = -np.log(uniforms[:, 2:].prod(axis=1))
    values: Array = phase_mean * samples + np.where(
        uniforms[:, 0] < probability, -last * np.log(uniforms[:, 1]), 0.0
    )
    return values


def _normal(stream: Stream, count: int) -> Array:
    """Draw standard normal numbers by the transform of Box and Muller; one number of each pair is
    used.
    """
    pairs = stream.uniforms(2 * count).reshape(count, 2)
    samples: Array = np.sqrt(-2 * np.log(pairs[:, 0])) * np.cos(2 * math.pi * pairs[:, 1])
    return samples


def _gamma(scv: float, stream: Stream, count: int) -> Array:
    """Draw gamma times by the rejection of Marsaglia and Tsang, ACM TOMS 26(3), 2000; a shape below
    1 is drawn as one above 1, scaled.
    """
    shape = 1 / scv
    d = (shape if shape >= 1 else shape + 1) - 1 / 3
    samples_kept: list[Array] = []
    missing = count
    while missing > 0:
        z = _normal(stream, missing)
        u = stream.uniforms(missing)
        v = (1 + z / math.sqrt(9 * d)) ** 3
        with np.errstate(invalid="ignore", divide="ignore"):
            accepted = (v > 0) & (
                np.log(u) < 0.5 * z * z + d - d * v + d * np.log(np.where(v > 0, v, 1))
            )
        samples_kept.append(d * v[accepted])
        missing -= int(accepted.sum())
    samples = np.concatenate(samples_kept)
    if shape < 1:
        samples = samples * stream.uniforms(count) ** (1 / shape)
    return samples / shape


def _uniform(scv: float, stream: Stream, count: int) -> Array:
    # A uniform time within 1 +- w has variance w^2 / 3.
    width = math.sqrt(3 * scv)
    return 1 + width * (2 * stream.uniforms(count) - 1)


_MOST_VARIED = 1e12
"""The scv of two phases up to which doubles tell the probability of the rarer, 1 / (2 scv), from
0, within 1e-4.
"""

_KINDS: dict[str, tuple[str, Callable[[float], bool], Callable[[float, Stream, int], Array]]] = {
    "deterministic": ("0", lambda scv: scv == 0, lambda scv, stream, count: np.ones(count)),
    "exponential": ("1", lambda scv: scv == 1, _exponential),
    "erlang": (
        "one over a whole number up to 1000",
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
    "uniform": ("from 0 to 1/3", lambda scv: 0 <= scv <= 1 / 3 + 1e-12, _uniform),
}
"""What the scv of each kind must be, in words and as a condition; and how values of mean 1 are
drawn.
"""

_DRAWN_BY_KIND: dict[str, Callable[[Sequence[float], Stream, int], Array]] = {
    "uniform": _between,
    "lognormal": _log_normal,
    "gamma": lambda numbers, stream, count: _gamma(numbers[0], stream, count),
    "weibull": _weibull,
    "pareto": _pareto,
    "samples": _one_of_samples,
}
"""How values of mean 1 are drawn of the distributions that are not made of phases."""

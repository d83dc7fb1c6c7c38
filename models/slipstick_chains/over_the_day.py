"""Markov chains whose streams have a rate for each part of a period, such as a day.

Each part has its own rates between the same states. The generator is linear in the rates of the
streams, so that it follows from the chain at the mean rates and, for each stream, from the chain in
which the stream is twice as fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, gmres

from slipstick.errors import NoAnswerError
from slipstick.late import Array, NDArray
from slipstick.limits import check_cost
from slipstick.model.system import Group, Model, OpenPopulation, population_of_groups
from slipstick.profiles import Profile, mean_rate_of, period_of
from slipstick.queueing.markov_chain import MarkovChain
from slipstick.vocabulary import PROFILES
from slipstick_chains.uniformization import poisson_weights, probabilities_after

STREAM = ""
"""The name of the only stream of an open activity."""

LARGEST_RESIDUAL = 1e-10
"""Largest residual of the equations for the time in all periods together, as a fraction of their
right side.
"""


class NeverReachedError(NoAnswerError):
    """A number of customers is never present, or so seldom that no run would meet it."""


def message_of_empty_start(station: str) -> str:
    """Return the message that no time passes until a station is empty, because it is empty at time
    0.
    """
    return (
        f"{station} is empty at time 0; give the classes or groups that come there first a backlog,"
        " or ask for queue_length_at"
    )


class DayPart(NamedTuple):
    """A part of a period: how long it lasts [s], and the rates of the chain in it [1/s]."""

    duration: float
    generator: csr_array


def profile_by_stream(model: Model) -> dict[str, Profile]:
    """Return, by the name of the group, the profiles of those streams of a model that have one.

    Raises
    ------
    NoAnswerError : their periods differ
    """
    population = model.population
    pattern_by_stream = {group.name: group.pattern for group in population.groups}
    if isinstance(population, OpenPopulation):
        pattern_by_stream = {STREAM: population.pattern}
    profile_by_name = {
        name: pattern.profile for name, pattern in pattern_by_stream.items() if pattern.profile
    }
    period_by_name = {name: period_of(profile) for name, profile in profile_by_name.items()}
    if period_by_name and not math.isclose(
        min(period_by_name.values()), max(period_by_name.values()), rel_tol=1e-9
    ):
        lengths_text = ", ".join(
            f"that of {name} {period:g} s" for name, period in period_by_name.items()
        )
        raise NoAnswerError(
            f"values before the long run need profiles of one period, but {lengths_text}; write all"
            " for the same period"
        )
    return profile_by_name


def model_with_mean_rates(model: Model, faster_stream: str | None = None) -> Model:
    """Return a model whose streams arrive at the mean rates of their profiles; `faster_stream` at
    twice its mean rate.
    """
    population = model.population
    if PROFILES not in population.constructs:
        return model
    if isinstance(population, OpenPopulation):
        rate_factor = 2.0 if faster_stream == STREAM else 1.0
        pattern = replace(population.pattern, profile=())
        population = replace(population, rate=population.rate * rate_factor, pattern=pattern)
        return replace(model, population=population)

    def group_at_mean_rate(group: Group) -> Group:
        """Return a group without its profile, at its mean rate or at twice this rate."""
        if group.arrivals is None:
            return group
        rate_factor = 2.0 if group.name == faster_stream else 1.0
        pattern = replace(group.pattern, profile=())
        return replace(group, arrivals=group.arrivals * rate_factor, pattern=pattern)

    groups = list(map(group_at_mean_rate, population.groups))
    return replace(model, population=population_of_groups(groups))


def parts_of_period(
    chain: MarkovChain, faster_chains: Mapping[str, MarkovChain], profiles: Mapping[str, Profile]
) -> list[DayPart]:
    """Return the parts of a period, in each of which all streams have constant rates.

    Parameters
    ----------
    chain : at the mean rates of all streams
    faster_chains : by stream, the chain in which its rate is twice the mean
    profiles : by stream, all of one period
    """
    generator = chain.generator()
    change_by_stream = {
        name: faster_chain.generator() - generator for name, faster_chain in faster_chains.items()
    }
    start_times = sorted(
        {
            part_start
            for profile in profiles.values()
            for part_start, _, _ in _pieces_of_profile(profile)
        }
    )
    period = period_of(next(iter(profiles.values())))
    day_parts = []
    for part_start, part_end in zip(start_times, [*start_times[1:], period], strict=True):
        if part_end - part_start <= 1e-12 * period:  # two profiles whose sums differ by rounding
            continue
        part_generator = generator
        for name, profile in profiles.items():
            part_generator = (
                part_generator
                + (_relative_rate_at((part_start + part_end) / 2, profile) - 1)
                * change_by_stream[name]
            )
        day_parts.append(DayPart(part_end - part_start, csr_array(part_generator)))
    return day_parts


def _pieces_of_profile(profile: Profile) -> Iterator[tuple[float, float, float]]:
    """Yield the start [s], the end [s] and the rate [1/s] of each piece of a profile."""
    piece_end = 0.0
    for duration, rate in profile:
        piece_start, piece_end = piece_end, piece_end + duration
        yield piece_start, piece_end, rate


def _relative_rate_at(time: float, profile: Profile) -> float:
    """Return the rate of a profile at a time of the period, relative to its mean rate [1]."""
    rate = next(
        (rate for _, end, rate in _pieces_of_profile(profile) if time < end), profile[-1][1]
    )
    return rate / mean_rate_of(profile)


def probabilities_at(
    start_probabilities: Array,
    day_parts: Sequence[DayPart],
    times: Sequence[float],
    error: float = 1e-10,
) -> Array:
    """Return the probability of each state at some times after the start of a period [1] [times,
    states]; see `slipstick_chains.uniformization.transient`.

    Parameters
    ----------
    start_probabilities : probability of each state at time 0 [1] [states]
    day_parts : of the period, which repeats
    times : at which to look, in any order [s]
    error : bound on the error at each time, summed over the states [1]

    Raises
    ------
    NoAnswerError : the sum needs too many ticks
    """
    times_asked = np.asarray(times, dtype=np.float64)
    last_time = float(times_asked.max(initial=0.0))
    _check_ticks(day_parts, last_time / math.fsum(day_part.duration for day_part in day_parts))
    step_count = len(times_asked) + last_time / min(day_part.duration for day_part in day_parts)
    rates_of_parts = [_transposed_rates_and_tick_rate(day_part) for day_part in day_parts]
    probabilities, clock, part_index, time_left_in_part = (
        start_probabilities,
        0.0,
        0,
        day_parts[0].duration,
    )
    probabilities_by_time = {}
    for time in np.unique(times_asked).tolist():
        time_left = time - clock
        while time_left > 0:
            span = min(time_left, time_left_in_part)
            transposed_rates, tick_rate = rates_of_parts[part_index]
            probabilities = probabilities_after(
                transposed_rates, tick_rate, probabilities, span, error / step_count
            )
            time_left, time_left_in_part = time_left - span, time_left_in_part - span
            if time_left_in_part <= 0:
                part_index = (part_index + 1) % len(day_parts)
                time_left_in_part = day_parts[part_index].duration
        clock = time
        probabilities_by_time[time] = probabilities
    return np.array([probabilities_by_time[time] for time in times_asked.tolist()])


def _check_ticks(day_parts: Sequence[DayPart], period_count: float) -> None:
    """Raise NoAnswerError if uniformization over some periods costs too much."""
    tick_count = period_count * sum(
        day_part.duration * _transposed_rates_and_tick_rate(day_part)[1] for day_part in day_parts
    )
    step_count = tick_count * (2000 + max(day_part.generator.nnz for day_part in day_parts))
    check_cost(
        "ticks",
        step_count,
        f"the chain's clock ticks {tick_count:.3g} times, which is {step_count:.3g} steps with its"
        " rates",
        "ask for an earlier time, for the steady state",
    )


def _transposed_rates_and_tick_rate(day_part: DayPart) -> tuple[csr_array, float]:
    """Return the transposed rates of the chain in a part of the period, and the rate at which the
    clock of the uniformization ticks [1/s].
    """
    tick_rate = float(-day_part.generator.diagonal().real.min(initial=0.0))
    return sparse.csr_array(day_part.generator.T), tick_rate


def passage_time(
    start_probabilities: Array, day_parts: Sequence[DayPart], end_states: NDArray[np.int64]
) -> float:
    """Return the mean time from the start of a period until a chain first reaches one of some
    states [s].

    With M the probabilities of going from state to state in a period without an end, x = p(0) +
    p(0) M + p(0) M^2 + ... solves x = p(0) + x M. The mean time is that of a period which begins
    with x.

    Parameters
    ----------
    start_probabilities : probability of each state at time 0 [1] [states]
    day_parts : of the period, which repeats
    end_states : numbers of the states to end in

    Raises
    ------
    NoAnswerError : an end is not reached with certainty, or only after very many periods; or a
        period has too many ticks
    """
    transient_states = np.delete(np.arange(len(start_probabilities)), end_states)
    if not len(transient_states) or not start_probabilities[transient_states].any():
        return 0.0
    transient_parts = [
        day_part._replace(generator=day_part.generator[transient_states][:, transient_states])
        for day_part in day_parts
    ]
    _check_ticks(transient_parts, 1.0)
    rates_of_parts = [
        (*_transposed_rates_and_tick_rate(day_part), day_part.duration)
        for day_part in transient_parts
    ]

    def probabilities_and_time_after_period(probabilities: Array) -> tuple[Array, float]:
        """Return the probabilities of the states after a period, and the mean time that was spent
        in them during the period [s].
        """
        time_spent = 0.0
        for transposed_rates, tick_rate, duration in rates_of_parts:
            time_spent += _time_spent(transposed_rates, tick_rate, probabilities, duration)
            # The solver subtracts two states a period apart, so that the error of one must be far
            # below its residual.
            probabilities = probabilities_after(
                transposed_rates, tick_rate, probabilities, duration, 1e-13
            )
        return probabilities, time_spent

    def probabilities_lost_in_period(probabilities: Array) -> Array:
        """Return the probabilities before a period less those after it, p - p M."""
        return probabilities - probabilities_and_time_after_period(probabilities)[0]

    # The matrix of a whole period is dense; its product with a vector needs only the chain's sparse
    # rates.
    operator = LinearOperator(
        (len(transient_states), len(transient_states)),
        matvec=probabilities_lost_in_period,
        dtype=np.float64,
    )
    start_probability_sums, has_failed = gmres(
        operator, start_probabilities[transient_states], rtol=LARGEST_RESIDUAL, maxiter=20
    )
    mean_time = probabilities_and_time_after_period(start_probability_sums)[1]
    if has_failed or not 0 <= mean_time < math.inf:
        raise NeverReachedError(
            "the number asked for is reached after very many periods of the profile, or never; ask"
            " for a smaller one, or for probability_at"
        )
    return mean_time


def _time_spent(
    transposed_rates: csr_array, tick_rate: float, start_probabilities: Array, duration: float
) -> float:
    """Return the mean time that the chain spends in some states during a part of a period [s]: the
    sum over k of P(more than k ticks) / L times the probability of these states after k ticks.
    """
    if tick_rate * duration == 0:
        return float(start_probabilities.sum()) * duration
    first_tick, tick_probabilities = poisson_weights(tick_rate * duration, 1e-13)
    more_ticks_probabilities = np.concatenate(
        [np.ones(first_tick), 1 - np.cumsum(tick_probabilities)]
    )
    probabilities, time_spent = start_probabilities, 0.0
    for more_ticks_probability in more_ticks_probabilities:
        time_spent += float(more_ticks_probability) * float(probabilities.sum()) / tick_rate
        probabilities = probabilities + transposed_rates @ probabilities / tick_rate
    return time_spent

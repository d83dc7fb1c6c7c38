"""Times of a unit of second phases of Poisson streams, with quantiles.

How the mean numbers and the first phases that come differ from one second phase to another gives
the quantiles. Those of short second phases differ more: a short one meets the number of customers
and the first phases as they happen to be, and its own rest of first phases is spread over fewer
units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slipstick.late import Array, np
from slipstick_rounds.accounts import PhaseTimes
from slipstick_rounds.capacity import MeanRounds
from slipstick_rounds.groups import group_size
from slipstick_rounds.model import QUANTILES

UNIT_PARTS = 12
"""Number of equally probable times of a unit, for each length of a second phase."""


class FirstPhasesBehind(NamedTuple):
    """The first phases that wait behind a customer's own first phase when it ends, see
    `FirstPhases`.

    Attributes
    ----------
    number_worked_off : mean number that a second phase works off of them [points, 1; 1]
    variance : of the number when the second phase begins [points, 1; 1]
    part_left : of its change that is still to come, over the second phase [points, 1; 1]
    """

    number_worked_off: Array
    variance: Array
    part_left: Array


def times_of_a_unit(
    rounds: MeanRounds,
    fullness: Array,
    times: PhaseTimes[Array],
    first_phases_behind: FirstPhasesBehind,
) -> Array:
    """Return the mean time of a unit of second phases and the quantiles of this time over all
    second phases, each multiplied by the mean number of units [points, 1 and quantiles; s].

    A second phase takes the mean of the number present while it lasts, and the first phases that
    arrive meanwhile (`variance_and_correlation_of_means`); the number has the birth-death
    distribution, wider as second phases begin in groups. The first phases make of U = v D + (L -
    L_v) P, see `capacity`, a busy period of M/G/1 that begins with as much work, with the mean U /
    (1 - X P) and the variance U X E P^2 / (1 - X P)^3 + Var L P^2 / (1 - X P)^2; what is in it
    beyond v D is taken as a gamma variable. Second phases of different lengths v have the same L,
    so that units of short ones take longer.

    Parameters
    ----------
    rounds : their times
    fullness : see `PresentNumbers`
    times : means of both phases
    first_phases_behind : L - L_v, and what goes with it
    """
    lengths = rounds.second_lengths
    mean_present = fullness[:, -1:]
    plain_time = rounds.second_phase_rounds * rounds.round_time(mean_present, 0.0)
    extra_time = rounds.time_added_by_first_phase(mean_present)
    share_left = 1 - rounds.share_of_first_phases(mean_present)
    work_behind = first_phases_behind.number_worked_off * extra_time
    mean_time = times.second_phase[:, None]
    unit_means = mean_time * (plain_time + work_behind / lengths) / (plain_time + work_behind)
    probabilities = np.array(QUANTILES)
    if lengths.shape[1] > 1:
        probabilities = (np.arange(UNIT_PARTS) + 0.5) / UNIT_PARTS
    variance_of_mean, arrival_correlation = variance_and_correlation_of_means(lengths)
    deviation_by_number = _deviation_by_number(
        rounds, fullness, first_phases_behind, probabilities
    )[:, None, :]
    deviation_by_number = deviation_by_number * np.sqrt(variance_of_mean)[:, :, None]
    phase_work = plain_time * lengths + work_behind
    mean_excess = phase_work / share_left - plain_time * lengths
    mean_square = 1 + rounds.variation_of_added(mean_present)
    variance_of_excess = (
        phase_work * rounds.rate / share_left * mean_square + first_phases_behind.variance
    )
    variance_of_excess = variance_of_excess * (extra_time / share_left) ** 2
    deviation_by_arrivals = (
        _gamma_deviation(mean_excess, variance_of_excess, probabilities) / lengths[:, :, None]
    )
    deviation = _sum_of_deviations(
        deviation_by_number, deviation_by_arrivals, arrival_correlation[:, :, None]
    )
    # Where the server is full, as many first phases begin as customers leave.
    most_present = rounds.largest_mean_number
    longest_time = rounds.second_phase_rounds * rounds.round_time(
        most_present, 0.0
    ) + most_present * rounds.time_added_by_first_phase(most_present)
    unit_times = unit_means[:, :, None] + deviation
    unit_times = np.minimum(unit_times, np.maximum(longest_time, unit_means)[:, :, None])
    if lengths.shape[1] == 1:
        quantiles = unit_times[:, 0]
    else:
        ordered_times = np.sort(unit_times.reshape(len(unit_times), -1), axis=1)
        quantiles = ordered_times[
            :, [int(probability * ordered_times.shape[1]) for probability in QUANTILES]
        ]
    return np.hstack([unit_means.mean(axis=1, keepdims=True), quantiles])


def _sum_of_deviations(
    first_deviation: Array, second_deviation: Array, correlation: Array
) -> Array:
    """Return the deviation of a sum of two variables from its mean, given the deviation of each.
    Deviations of the same sign combine as those of correlated normal variables; others are added.
    """
    deviation_product = first_deviation * second_deviation
    same_sign_deviation = np.sqrt(
        first_deviation**2 + second_deviation**2 + 2 * correlation * abs(deviation_product)
    )
    return np.asarray(
        np.where(
            deviation_product > 0,
            np.copysign(same_sign_deviation, first_deviation),
            first_deviation + second_deviation,
        )
    )


def variance_and_correlation_of_means(
    lengths: Array, length_indices: Sequence[int] | slice = slice(None)
) -> tuple[Array, Array]:
    """Return the variance of the mean number present during a second phase, relative to the
    variance of the number, and the correlation of this mean with the number of arrivals meanwhile
    [points, lengths; 1].

    In M/G/infinity the numbers at two times that are t apart have the correlation E (S - t)+ / E S,
    where S is the time of a second phase. Their mean over a time s has the variance 2 / s^2 times
    the integral of (s - t) E (S - t)+ / E S over t from 0 to s. A customer that arrives u before
    the end of s counts in that mean for the part min(S, u) / s. Where all take the same time these
    are 2/3 and 0.61, 1/2 over the root of 2/3. Short second phases meet the number as it happens to
    be, long ones its mean.

    Parameters
    ----------
    lengths : equally probable ones, as parts of their mean [points, lengths; 1]
    length_indices : indices of the lengths that are asked for
    """
    chosen_lengths = lengths[:, length_indices]
    own_length, other_length = chosen_lengths[:, :, None], lengths[:, None, :]
    shorter_length = np.minimum(own_length, other_length)
    covariance_integral = (
        own_length * other_length * shorter_length
        - (own_length + other_length) * shorter_length**2 / 2
        + shorter_length**3 / 3
    )
    variance_of_mean = 2 * covariance_integral.mean(axis=2) / chosen_lengths**2
    mean_time_counted = (shorter_length**2 / 2 + other_length * (own_length - shorter_length)).mean(
        axis=2
    )
    return variance_of_mean, mean_time_counted / (
        chosen_lengths * np.sqrt(chosen_lengths * variance_of_mean)
    )


def _deviation_by_number(
    rounds: MeanRounds,
    fullness: Array,
    first_phases_behind: FirstPhasesBehind,
    probabilities: Array,
) -> Array:
    """Return by how much second phases are longer than in the mean because of the number present,
    at some probabilities [points, probabilities; s]. Between the known quantiles the deviation is
    interpolated like a normal variable.
    """
    from scipy.special import ndtri

    visit_times = rounds.second_phase_time(fullness, first_phases_behind.number_worked_off)
    deviation_factor = np.sqrt(group_size(rounds, fullness[:, -1:], first_phases_behind.part_left))
    deviation = deviation_factor * (visit_times[:, :-1] - visit_times[:, -1:])
    if len(probabilities) == len(QUANTILES):
        return deviation
    normal_quantiles = ndtri(np.array(QUANTILES))
    normal_scores = ndtri(probabilities)
    slopes = deviation[:, 2:3] / normal_quantiles[2]
    interpolated_deviation = np.stack(
        [
            np.interp(normal_scores, normal_quantiles, deviations_of_point)
            for deviations_of_point in deviation
        ]
    )
    return np.asarray(
        np.where(probabilities < QUANTILES[0], slopes * normal_scores, interpolated_deviation)
    )


def _gamma_deviation(mean: Array, variance: Array, probabilities: Array) -> Array:
    """Return the quantiles of gamma variables less their means, at some probabilities [points,
    lengths, probabilities].
    """
    from scipy.special import gammaincinv

    gamma_scale = (variance / np.maximum(mean, 1e-300))[:, :, None]
    gamma_shape = (mean / np.maximum(gamma_scale[:, :, 0], 1e-300))[:, :, None]
    return np.asarray((gammaincinv(gamma_shape, probabilities) - gamma_shape) * gamma_scale)

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
"""Times of a unit of each length of a second phase, of equal probability."""


class FirstPhasesBehind(NamedTuple):
    """The first phases behind those of customers, see `FirstPhases`.

    Attributes
    ----------
    worked_off : mean number that a second phase works off of them [points, 1; 1]
    variance : of the number when the second phase begins [points, 1; 1]
    part_left : of its change that is still to come, over the second phase [points, 1; 1]
    """

    worked_off: Array
    variance: Array
    part_left: Array


def times_of_a_unit(
    rounds: MeanRounds,
    fullness: Array,
    times: PhaseTimes[Array],
    behind: FirstPhasesBehind,
) -> Array:
    """Return the mean time of a unit of second phases, and the times that parts of all second
    phases do not exceed [points, 1 and quantiles; in units of a second phase of mean length; s].

    A second phase takes the mean of the number present while it lasts, and the first phases that
    arrive meanwhile (`means_of_windows`); the number has the birth-death distribution, wider as
    second phases begin in groups. The first phases make of U = v D + (L - L_v) P, see `capacity`, a
    busy period of M/G/1 that begins with as much work, with the mean U / (1 - X P) and the variance
    U X E P^2 / (1 - X P)^3 + Var L P^2 / (1 - X P)^2; what is in it beyond v D is taken as a gamma
    variable. Second phases of different lengths v have the same L, so that units of short ones take
    longer.

    Parameters
    ----------
    rounds : their times
    fullness : see `PresentNumbers`
    times : means of both phases
    behind : L - L_v, and what goes with it
    """
    lengths = rounds.second_lengths()
    present = fullness[:, -1:]
    plain_time = rounds.steps * rounds.time(present, 0.0)
    extra_time = rounds.added_by_first_phase(present)
    share_left = 1 - rounds.share_of_first(present)
    work_behind = behind.worked_off * extra_time
    mean_time = times.second_phase[:, None]
    unit_means = mean_time * (plain_time + work_behind / lengths) / (plain_time + work_behind)
    parts = np.array(QUANTILES)
    if lengths.shape[1] > 1:
        parts = (np.arange(UNIT_PARTS) + 0.5) / UNIT_PARTS
    variance_of_mean, same_arrivals = means_of_windows(lengths)
    by_number = _deviation_by_number(rounds, fullness, behind, parts)[:, None, :]
    by_number = by_number * np.sqrt(variance_of_mean)[:, :, None]
    work = plain_time * lengths + work_behind
    excess = work / share_left - plain_time * lengths
    mean_square = 1 + rounds.variation_of_added(present)
    variance = work * rounds.rate / share_left * mean_square + behind.variance
    variance = variance * (extra_time / share_left) ** 2
    by_arrivals = _gamma_deviation(excess, variance, parts) / lengths[:, :, None]
    deviation = _sum_of_deviations(by_number, by_arrivals, same_arrivals[:, :, None])
    # Where the server is full, as many first phases begin as customers leave.
    most_present = rounds.highest
    longest_time = rounds.steps * rounds.time(
        most_present, 0.0
    ) + most_present * rounds.added_by_first_phase(most_present)
    unit_times = unit_means[:, :, None] + deviation
    unit_times = np.minimum(unit_times, np.maximum(longest_time, unit_means)[:, :, None])
    if lengths.shape[1] == 1:
        quantiles = unit_times[:, 0]
    else:
        ordered = np.sort(unit_times.reshape(len(unit_times), -1), axis=1)
        quantiles = ordered[:, [int(part * ordered.shape[1]) for part in QUANTILES]]
    return np.hstack([unit_means.mean(axis=1, keepdims=True), quantiles])


def _sum_of_deviations(first: Array, second: Array, correlation: Array) -> Array:
    """Return the deviation from the mean of a sum of two variables, as that of normal ones where
    both deviate to the same side.
    """
    product = first * second
    root = np.sqrt(first**2 + second**2 + 2 * correlation * abs(product))
    return np.asarray(np.where(product > 0, np.copysign(root, first), first + second))


def means_of_windows(
    lengths: Array, chosen: Sequence[int] | slice = slice(None)
) -> tuple[Array, Array]:
    """Return the variance of the mean number present while a second phase lasts, as a part of that
    of the number, and the correlation of that mean with the arrivals meanwhile [points, lengths;
    1].

    In M/G/infinity the numbers at two times that are t apart have the correlation E (S - t)+ / E S,
    where S is the time of a second phase. Their mean over a time s has the variance 2 / s^2 times
    the integral of (s - t) E (S - t)+ / E S over t from 0 to s. A customer that arrives u before
    the end of s counts in that mean for the part min(S, u) / s. Where all take the same time these
    are 2/3 and 0.61, 1/2 over the root of 2/3. Short second phases meet the number as it happens to
    be, long ones its mean.

    Parameters
    ----------
    lengths : equally probable ones, as parts of their mean [points, lengths; 1]
    chosen : indices of those that are asked for
    """
    asked = lengths[:, chosen]
    own, other = asked[:, :, None], lengths[:, None, :]
    both = np.minimum(own, other)
    together = own * other * both - (own + other) * both**2 / 2 + both**3 / 3
    variance = 2 * together.mean(axis=2) / asked**2
    counted = (both**2 / 2 + other * (own - both)).mean(axis=2)
    return variance, counted / (asked * np.sqrt(asked * variance))


def _deviation_by_number(
    rounds: MeanRounds, fullness: Array, behind: FirstPhasesBehind, parts: Array
) -> Array:
    """Return by how much second phases are longer than in the mean for the number present, in
    parts of all [points, parts; s]; between known parts as a normal variable is.
    """
    from scipy.special import ndtri

    visit_times = rounds.second(fullness, behind.worked_off)
    size = np.sqrt(group_size(rounds, fullness[:, -1:], behind.part_left))
    deviation = size * (visit_times[:, :-1] - visit_times[:, -1:])
    if len(parts) == len(QUANTILES):
        return deviation
    known = ndtri(np.array(QUANTILES))
    places = ndtri(parts)
    slopes = deviation[:, 2:3] / known[2]
    upper = np.stack([np.interp(places, known, row) for row in deviation])
    return np.asarray(np.where(parts < QUANTILES[0], slopes * places, upper))


def _gamma_deviation(mean: Array, variance: Array, parts: Array) -> Array:
    """Return by how much gamma variables exceed their mean, in parts of all [points, lengths,
    parts].
    """
    from scipy.special import gammaincinv

    scale = (variance / np.maximum(mean, 1e-300))[:, :, None]
    shape = (mean / np.maximum(scale[:, :, 0], 1e-300))[:, :, None]
    return np.asarray((gammaincinv(shape, parts) - shape) * scale)

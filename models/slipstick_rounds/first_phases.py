"""Times from admission to the end of the first phase, of Poisson streams.

They are those of `backlog`, with those of customers that find no other. Where n, the number in the
second phase, differs so much that the room of a round for first phases does, or the rounds that one
takes, times of first phases are a mixture over n, which changes in many rounds
(`first_phases_over_numbers`).
"""

from __future__ import annotations

from typing import NamedTuple

from slipstick.late import Array, np
from slipstick_rounds.backlog import Backlog
from slipstick_rounds.capacity import LEAST_ROOM, MeanRounds
from slipstick_rounds.model import QUANTILES
from slipstick_rounds.waits import Waits, quantiles_with_waits

LEAST_CHANGE, NORMAL_QUANTILE, NODES = 0.02, 1.2815515655446004, (-1.363, -0.377, 0.377, 1.363)
"""Standard deviation of the units of second phases in a round, as a part of the room that they
leave, from which on first phases are computed over the numbers in the second phase; the quantile of
0.9 of a normal variable in standard deviations; and the means of the four quarters of its
probability, widened to its variance.
"""


class FirstPhases(NamedTuple):
    """The times of the first phases of streams from admission, and the numbers of first phases
    behind one that ends.

    Attributes
    ----------
    means : of the time [points; s]
    quantiles : of the time [points, quantiles; s]
    number_behind, behind_variance : mean and variance of the number of first phases that one leaves
        behind when it ends [points; 1]
    round_times : mean time of a round [points; s]
    round_share, time_share : parts of the rounds and of the time that have first phases [points; 1]
    number_queued : first phases that wait in such rounds behind the one under way [points; 1]
    number_behind_later, part_left : see `Backlog.number_after_second_phase` [points; 1]
    """

    means: Array
    quantiles: Array
    number_behind: Array
    behind_variance: Array
    round_times: Array
    round_share: Array
    time_share: Array
    number_queued: Array
    number_behind_later: Array
    part_left: Array

    @property
    def number_worked_off(self) -> Array:
        """The mean number of first phases that wait or are under way when a second phase begins,
        minus the mean number when it ends, L - L_v [points; 1].
        """
        return self.number_behind - self.number_behind_later


def first_phases_open(
    rounds: MeanRounds,
    customers_present: Array,
    waits: Waits,
    mean_queued: Array,
    with_quantiles: bool = True,
) -> FirstPhases:
    """Compute the times from admission to the end of the first phase of Poisson streams; a customer
    that finds the server without customers begins at once.

    Parameters
    ----------
    rounds : their times
    customers_present : customers in the second phase of rounds without and with first phases [2,
        points, 1; 1]
    waits : for a place, and the probability that no customer is there
    mean_queued : first phases that wait behind the one under way, in the mean [points, 1; 1]
    with_quantiles : compute them as well
    """
    backlog = Backlog(rounds, customers_present, mean_queued)
    times, weights, left_behind, left_squared = backlog.first_phase_times_and_weights()
    all_times, all_weights, probability_alone, times_alone = _with_first_phases_alone(
        rounds, times, weights, waits.idle_probability
    )
    mean_times = (all_times * all_weights).sum(axis=1)
    quantiles = np.zeros((len(mean_times), len(QUANTILES)))
    if with_quantiles:
        quantiles = quantiles_with_waits(all_times, all_weights, waits)
    number_after_alone = rounds.rate[:, 0] * times_alone
    number_behind = (1 - probability_alone) * left_behind + probability_alone * number_after_alone
    # The number given the time is taken as Poisson, with works that differ.
    mean_square = (1 - probability_alone) * left_squared + probability_alone * number_after_alone**2
    poisson_variance = number_behind * (1 + rounds.first_variation[:, 0])
    variance_behind = mean_square - number_behind**2 + poisson_variance
    return FirstPhases(
        mean_times,
        quantiles,
        number_behind,
        variance_behind,
        *backlog.shares(),
        *backlog.number_after_second_phase(number_behind),
    )


def _with_first_phases_alone(
    rounds: MeanRounds, times: Array, weights: Array, idle_probability: Array
) -> tuple[Array, Array, Array, Array]:
    """Return possible times of first phases and their probabilities, including first phases that
    find the server without customers [points, times]; and the probability of these first phases and
    their mean time [points].
    """
    room = rounds.room(0.0)
    work_of_groups = rounds.first_work
    times_alone = rounds.round_time(0.0, np.minimum(work_of_groups, room)) * np.maximum(
        1.0, work_of_groups / room
    )
    # Where no first phase is under way, the server may have no customer at all.
    probability_alone = idle_probability * weights[:, :, 0].sum(axis=(1, 2, 3))
    weights[:, :, 0] *= (1 - idle_probability)[:, None, None, None]
    point_count = len(times)
    all_times = np.hstack([times.reshape(point_count, -1), times_alone])
    weights_alone = np.broadcast_to(
        probability_alone[:, None] / work_of_groups.shape[1], work_of_groups.shape
    )
    all_weights = np.hstack([weights.reshape(point_count, -1), weights_alone])
    return all_times, all_weights, probability_alone, times_alone.mean(axis=1)


def first_phases_over_numbers(
    rounds: MeanRounds,
    customers_present: Array,
    deviation: Array,
    waits: Waits,
    mean_queued: Array,
) -> tuple[Array, Array]:
    """Compute the means and the quantiles of first phases as mixtures over the number in the second
    phase, on which the room of a round for first phases depends [points; points, quantiles; s].

    The number is normal, by equally probable nodes with its variance. A node at which first phases
    would take all rounds lasts too short for that, and is moved to where they nearly do.

    Parameters
    ----------
    rounds, customers_present, waits, mean_queued : see `first_phases_open`
    deviation : standard deviation of the number in the second phase [points, 1; 1]
    """
    load = Backlog.load(rounds, customers_present[1])
    times_by_node, weights_by_node = [], []
    for node in NODES:
        number_change = node * deviation
        load_at_node = Backlog.load(rounds, np.maximum(customers_present[1] + number_change, 1.0))
        largest_fraction = (1 - LEAST_ROOM - load) / np.maximum(load_at_node - load, 1e-9)
        number_change = np.where(
            load_at_node > 1 - LEAST_ROOM,
            number_change * np.clip(largest_fraction, 0.0, 1.0),
            number_change,
        )
        backlog = Backlog(rounds, np.maximum(customers_present + number_change, 1.0), mean_queued)
        times_of_node, weights_of_node, _, _ = backlog.first_phase_times_and_weights()
        all_times, all_weights, _, _ = _with_first_phases_alone(
            rounds, times_of_node, weights_of_node, waits.idle_probability
        )
        times_by_node.append(all_times)
        weights_by_node.append(all_weights / len(NODES))
    mixed_times, mixed_weights = np.hstack(times_by_node), np.hstack(weights_by_node)
    return (mixed_times * mixed_weights).sum(axis=1), quantiles_with_waits(
        mixed_times, mixed_weights, waits
    )

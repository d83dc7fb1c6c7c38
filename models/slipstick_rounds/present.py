"""Numbers of customers at a server that works in rounds, of a Poisson stream.

The number n in the second phase is a birth-death process with births X and deaths n / W(n); see
`capacity` for W. Its mean gives the time of the second phase by Little's law. Second phases begin
in groups (see `groups`), and are longer by what these add to the time of a round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slipstick.late import Array, NDArray, np
from slipstick_rounds.birth_death import birth_death_weights_with_tail
from slipstick_rounds.capacity import MOST_PRESENT, MeanRounds, PartsOfVisits, limited_mean
from slipstick_rounds.groups import group_size
from slipstick_rounds.model import QUANTILES
from slipstick_rounds.waits import waits_for_places

if TYPE_CHECKING:
    Indices = NDArray[np.intp]


class PresentNumbers(NamedTuple):
    """The numbers of customers of streams that are present at the server.

    Attributes
    ----------
    in_second_phase : customers in the second phase [points; 1]
    number_beside : customers in the second phase beside one of them, itself included [points; 1]
    idle_probability : probability that there is none [points]
    probability_full, mean_wait : probability that a customer waits for a place, and the mean wait
        of those that do [points; 1, s]
    place_load : rate times the time for which a visit holds a place of a full server, over the
        places; 1 or more where they are saturated [points; 1]
    fullness : of rounds beside a customer: largest number of customers that a part of all have, of
        the parts of `QUANTILES`, and their mean [points, quantiles and 1; 1]
    """

    in_second_phase: Array
    number_beside: Array
    idle_probability: Array
    probability_full: Array
    mean_wait: Array
    place_load: Array
    fullness: Array


def numbers_of_customers(rounds: MeanRounds) -> tuple[Array, Indices]:
    """Return the numbers of customers that the birth-death process distinguishes, none above the
    number of places [points, numbers], and the index of the last one of each point [points, 1].
    """
    most_customers = np.minimum(rounds.most_customers, MOST_PRESENT)
    last_index = np.ceil(most_customers).astype(int)
    return np.minimum(np.arange(1.0, last_index.max() + 1), most_customers), last_index


def solve_present(
    rounds: MeanRounds,
    worked_off: Array,
    part_left: Array,
    times: PartsOfVisits | None = None,
) -> PresentNumbers:
    """Solve the birth-death process of the number of customers of streams; beyond the largest
    number that the server takes, the process is geometric.

    Parameters
    ----------
    rounds : their times
    worked_off, part_left : see `FirstPhases` [points, 1; 1]
    times : of visits beside `numbers_of_customers`, where they are computed already
    """
    most_customers = np.minimum(rounds.most_customers, MOST_PRESENT)
    customers_on_server, last_index = numbers_of_customers(rounds)
    times = times or rounds.parts_of_visits(customers_on_server)
    visit_times = rounds.visit_time_of_stream(times, customers_on_server, rounds.rate, worked_off)
    weights, weight_beyond, _ = birth_death_weights_with_tail(rounds.rate * visit_times, last_index)
    total_weight = weights.sum(axis=1, keepdims=True) + weight_beyond
    weighted_sum = (weights[:, 1:] * customers_on_server).sum(
        axis=1, keepdims=True
    ) + weight_beyond * most_customers
    sum_of_squares = (weights[:, 1:] * customers_on_server**2).sum(
        axis=1, keepdims=True
    ) + weight_beyond * most_customers**2
    number_beside = sum_of_squares / weighted_sum
    mean_number = weighted_sum / total_weight
    # Second phases begin in groups, as first phases prolong rounds in which more customers come.
    added_by_groups = limited_mean(
        group_size(rounds, number_beside, part_left) * (number_beside - mean_number),
        np.maximum(rounds.largest_mean_number, number_beside) - mean_number,
    )
    # But over rounds fewer are present than over time: longer rounds have more, and count once.
    beside_in_groups = np.maximum(
        mean_number
        + added_by_groups
        - mean_number * share_behind(rounds, number_beside, worked_off),
        1.0,
    )
    prolongation_factor = rounds.second_phase_time(
        beside_in_groups, worked_off
    ) / rounds.second_phase_time(number_beside, worked_off)
    distribution = np.cumsum(weights, axis=1) / total_weight
    quantile_numbers = np.stack(
        [(distribution < quantile).sum(axis=1) for quantile in QUANTILES], axis=1
    )
    fullness = np.hstack(
        [
            np.clip(quantile_numbers, 1.0, np.maximum(most_customers, 1.0)),
            mean_number,
        ]
    )
    wait_columns = waits_for_places(
        rounds, customers_on_server, visit_times, last_index, mean_number
    )
    number_columns = (
        mean_number * prolongation_factor,
        beside_in_groups,
        weights[:, :1] / total_weight,
        *wait_columns,
    )
    return PresentNumbers._make([*(column.ravel() for column in number_columns), fullness])


def share_behind(rounds: MeanRounds, number_present: Array, worked_off: Array) -> Array:
    """Return the part of a second phase that is spent on first phases: on those that wait when it
    begins and on those that arrive meanwhile. With w that are worked off it is w P / (v D + w P)
    [points, 1; 1].
    """
    work_behind = worked_off * rounds.time_added_by_first_phase(number_present)
    return np.asarray(
        work_behind
        / (rounds.second_phase_rounds * rounds.round_time(number_present, 0.0) + work_behind)
    )

"""Groups in which second phases of Poisson streams begin.

Customers come in a Poisson stream, but first phases prolong rounds, in which more customers come:
v rounds of v D + P_1 + ... + P_N bring N, whose mean grows with N itself. N is the total progeny of
a branching process, whose variance over its mean is

    z = (1 + c^2 (X P)^2) / (1 - X P)^2,

with c^2 the squared coefficient of variation of P over first phases of different work. The number
in the second phase varies as that of M/G/infinity whose customers come in groups with as much.
"""

from __future__ import annotations

from slipstick.late import Array, np
from slipstick_rounds.capacity import MeanRounds


def group_size(rounds: MeanRounds, number_present: Array, part_left: Array | float = 0.0) -> Array:
    """Return z, the variance over the mean of the number of second phases that begin during many
    rounds [points, 1; 1].

    Parameters
    ----------
    rounds : their times
    number_present : customers in the second phase [points, 1; 1]
    part_left : of the customers of a group beyond the first those that come only after as many
        rounds as a second phase has, so that they do not meet (`Backlog.number_after_second_phase`)
    """
    time_share = rounds.share_of_first_phases(number_present)
    variation = rounds.variation_of_added(number_present)
    size_of_all = (1 + variation * time_share**2) / (1 - time_share) ** 2
    return np.asarray(1 + (size_of_all - 1) * (1 - part_left))

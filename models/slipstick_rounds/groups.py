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


def group_size(rounds: MeanRounds, present: Array) -> Array:
    """Return the variance over the mean of the number of second phases that begin in many rounds, z
    [points, 1; 1]. A customer finds as many more beside it as the variance of the number exceeds
    its mean.
    """
    share = rounds.share_of_first(present)
    variation = rounds.variation_of_added(present)
    return np.asarray((1 + variation * share**2) / (1 - share) ** 2)

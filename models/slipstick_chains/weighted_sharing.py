"""Servers that several customers share by weights, of which each customer uses one at most."""

from __future__ import annotations

from slipstick.late import Array, np


def weighted_speeds(weights: Array, counts: Array, servers: int) -> Array:
    r"""Compute the speed at which each customer is served when customers share servers by weights,
    and each uses one server at most.

    With n_k customers of weight w_k at c servers::

        s_k = min(1, L w_k),   sum of n_k s_k = min(c, sum of n_k)

    L is raised until the customers whose part would exceed a server have one each, and the others
    share the remaining servers by their weights. At one server L = 1 / (sum of n_k w_k).

    Parameters
    ----------
    weights : of each kind of customer, above 0; complex ones carry derivatives [1] [kinds, ...]
    counts : customers of each kind [1] [kinds, ...]
    servers : how many there are [1]

    Returns
    -------
    speeds of a customer of each kind, in the shape of both together [1]

    Source: Parekh and Gallager, IEEE/ACM Trans. Networking 1(3), 1993, 344-357 (generalized
    processor sharing), with the limit of one server for each customer: weighted max-min fairness,
    Bertsekas and Gallager, Data Networks, 2nd ed., 1992, section 6.5.2.

    >>> weighted_speeds(np.array([8.0, 1.0, 1.0]), np.ones(3), 2)
    array([1. , 0.5, 0.5])
    """
    weights, counts = np.broadcast_arrays(weights, counts)
    has_server = np.zeros(weights.shape, dtype=bool)
    server_shares: Array = np.ones(weights.shape, dtype=weights.dtype)
    # Each pass gives servers of their own to all whose part has come to one: never fewer.
    for _ in range(len(weights) + 1):
        servers_left = servers - (counts * has_server).sum(axis=0)
        weight_left = (counts * weights * ~has_server).sum(axis=0)
        server_shares = servers_left * weights / np.where(weight_left == 0, 1.0, weight_left)
        reaches_one = ~has_server & (server_shares.real >= 1)
        if not reaches_one.any():
            break
        has_server |= reaches_one
    return np.where(has_server, 1.0, server_shares)

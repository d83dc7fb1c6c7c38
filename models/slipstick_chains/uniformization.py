"""Probabilities of the states of a Markov chain at a time, by uniformization."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from slipstick.errors import ModelError
from slipstick.late import Array, NDArray
from slipstick.limits import check_cost
from slipstick.queueing.markov_chain import MarkovChain


def transient(chain: MarkovChain, times: Sequence[float], error: float = 1e-10) -> Array:
    """Return the probability of each state at some times [1] [times, states].

    A clock ticks at rate L, at least as fast as any state is left; P = I + Q / L::

        p(t) = sum_k Poisson(k; L t) p(0) P^k

    The sum is cut where the Poisson weights left out are below the error asked for; the weights
    that are kept add up to 1, so the error of p(t), summed over the states, is at most twice what
    is left out.

    Parameters
    ----------
    chain : the chain; it starts at `chain.start`
    times : at which to look, in any order [s]
    error : bound on the error of p at each time, summed over the states [1]

    Raises
    ------
    ModelError : a time is negative or not finite, or the error not between 0 and 1
    NoAnswerError : the sum needs too many ticks

    Source: Jensen, Skandinavisk Aktuarietidskrift 36, 1953, 87-91; Fox and Glynn, Communications of
    the ACM 31(4), 1988, 440-445.

    >>> from slipstick.queueing.markov_chain import explore_rows
    >>> def up_and_down(rows):
    ...     yield np.arange(len(rows)), 1 - rows, np.where(rows[:, 0] == 0, 1.0, 9.0), 0
    >>> transient(explore_rows(np.zeros((1, 1), dtype=np.int16), up_and_down), [0.0, 0.1])
    array([[1.    , 0.    ],
           [0.9368, 0.0632]])
    """
    times_asked = np.asarray(times, dtype=np.float64)
    if not ((times_asked >= 0) & (times_asked < math.inf)).all():
        raise ModelError(f"times must be finite and at least 0 s, got {list(times)}")
    if not 0 < error < 1:
        raise ModelError(f"the error of a transient answer must lie between 0 and 1, got {error}")
    generator = chain.generator()
    tick_rate = float(-generator.diagonal().real.min())
    tick_count = tick_rate * float(times_asked.max(initial=0.0))
    # Each tick is a product with the rates: about 3 ns for each of them, and as much as 2,000 to
    # begin with.
    step_count = tick_count * (2000 + generator.nnz)
    cost_words = (
        f"the chain's clock ticks {tick_count:.3g} times until the last time asked for, which is"
        f" {step_count:.3g} steps with its rates"
    )
    check_cost("ticks", step_count, cost_words, "ask for an earlier time, for the steady state")
    transposed_rates = sparse.csr_array(generator.T)
    probabilities: Array = chain.start.astype(transposed_rates.dtype)
    clock = 0.0
    probabilities_by_time = {}
    for time in np.unique(times_asked).tolist():
        probabilities = probabilities_after(
            transposed_rates,
            tick_rate,
            probabilities,
            time - clock,
            error / max(1, len(times_asked)),
        )
        clock = time
        probabilities_by_time[time] = probabilities
    return np.array([probabilities_by_time[time] for time in times_asked.tolist()])


def probabilities_after(
    transposed_rates: csr_array,
    tick_rate: float,
    start_probabilities: Array,
    duration: float,
    error: float,
) -> Array:
    """Return the probability of each state after some time [states; 1], from the probabilities at
    its start; `transposed_rates` is the transposed generator and `tick_rate` the rate of the
    clock's ticks.
    """
    if tick_rate * duration == 0:
        return start_probabilities
    first_tick, weights = poisson_weights(tick_rate * duration, error / 2)
    probabilities_after_ticks = start_probabilities
    probabilities = np.zeros_like(start_probabilities)
    for tick in range(first_tick + len(weights)):
        if tick >= first_tick:
            probabilities = probabilities + weights[tick - first_tick] * probabilities_after_ticks
        probabilities_after_ticks = (
            probabilities_after_ticks + transposed_rates @ probabilities_after_ticks / tick_rate
        )
    return probabilities


def poisson_weights(mean_ticks: float, error: float) -> tuple[int, NDArray[np.float64]]:
    """Return the first number of ticks whose probability counts, and the Poisson weights from there
    on, which add up to 1.

    Both tails beyond m -+ x lie below exp(-x^2 / (2 (m + x / 3))) by the Chernoff bound, here half
    of the error.
    """
    log_of_bound = math.log(2 / error)
    largest_deviation = log_of_bound / 3 + math.sqrt(
        log_of_bound**2 / 9 + 2 * mean_ticks * log_of_bound
    )
    ticks = np.arange(
        max(0, math.floor(mean_ticks - largest_deviation)),
        math.ceil(mean_ticks + largest_deviation) + 1,
    )
    log_weights = np.concatenate([[0.0], np.cumsum(np.log(mean_ticks / ticks[1:]))])
    weights = np.exp(log_weights - log_weights.max())
    return int(ticks[0]), weights / weights.sum()

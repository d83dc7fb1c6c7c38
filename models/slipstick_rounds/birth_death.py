"""Birth-death processes: weights of numbers of customers from ratios of successive ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slipstick.late import Array, NDArray, np

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

LARGEST_PLACE_LOAD = 1 - 1e-9
"""Part of the places that is taken from which they are saturated."""


def weights_with_tail(successive_ratios: Array, last_number: Indices) -> tuple[Array, Array, Array]:
    """Solve a birth-death process whose ratio of successive weights is constant beyond a number.
    Return the weight of each number up to it [points, numbers], the weight of all numbers beyond
    it together, and the ratio there [points, 1].
    """
    weights = birth_death(successive_ratios, last_number)
    ratio = np.take_along_axis(successive_ratios, last_number - 1, axis=1)
    decay = np.minimum(ratio, LARGEST_PLACE_LOAD)
    weight_beyond = np.take_along_axis(weights, last_number, axis=1) * decay / (1 - decay)
    return weights, weight_beyond, ratio


def birth_death(successive_ratios: Array, last_number: Indices | None = None) -> Array:
    """Compute the probabilities of the numbers 0, 1, ... up to a constant factor, from the ratio of
    each probability to the previous one; each row ends at its last number [rows, numbers].
    """
    logs = np.hstack(
        [np.zeros((len(successive_ratios), 1)), np.cumsum(np.log(successive_ratios), axis=1)]
    )
    if last_number is not None:
        logs = np.where(np.arange(logs.shape[1]) <= last_number, logs, -math.inf)
    weights: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights

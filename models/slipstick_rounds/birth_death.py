"""Birth-death processes: weights of numbers of customers from ratios of successive ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slipstick.late import Array, NDArray, np

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

LARGEST_PLACE_LOAD = 1 - 1e-9
"""Part of the places that is taken from which on the places are saturated."""


def birth_death_weights_with_tail(
    successive_ratios: Array, last_number: Indices
) -> tuple[Array, Array, Array]:
    """Return the weights of the numbers of a birth-death process up to a last number [points,
    numbers], the weight of all larger numbers together, and the ratio of successive weights beyond
    the last number, where it is constant [points, 1].
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
    log_weights = np.hstack(
        [np.zeros((len(successive_ratios), 1)), np.cumsum(np.log(successive_ratios), axis=1)]
    )
    if last_number is not None:
        log_weights = np.where(
            np.arange(log_weights.shape[1]) <= last_number, log_weights, -math.inf
        )
    weights: Array = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights

"""Random numbers: named independent streams from one seed.

A stream is keyed by (seed, replication, name), so that a new station does not disturb the others and two
alternatives share what they have in common. Bits come raw from PCG64, whose sequence is fixed for good;
everything after that is ours, so results do not depend on how a NumPy release samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SCALE = 2.0**-52


class Stream:
    """Uniform numbers strictly between 0 and 1.

    Parameters
    ----------
    seed : of the whole run, at least 0
    name : of what is random
    replication : number of the run

    >>> bool((Stream(1, "bus").uniforms(3) == Stream(1, "bus").uniforms(3)).all())
    True
    >>> bool((Stream(1, "bus").uniforms(3) == Stream(1, "door").uniforms(3)).any())
    False
    """

    __slots__ = ("_bits",)

    def __init__(self, seed: int, name: str, replication: int = 0) -> None:
        # The name is one whole number: a list of bytes costs a conversion each.
        key = int.from_bytes(name.encode(), "big")
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, replication, len(name), key]))

    def uniforms(self, count: int) -> Array:
        """Give the next numbers; halves are added so that neither 0 nor 1 comes out."""
        raw: NDArray[np.uint64] = self._bits.random_raw(count)
        return ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * _SCALE

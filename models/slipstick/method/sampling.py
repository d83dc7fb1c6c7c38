"""Points drawn for uncertain quantities: quasi-random or random, in named streams from one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.late import Array, np
from slipstick.model.uncertainty import Uncertainty

QUASI_RANDOM, RANDOM = "quasi-random", "random"

_EDGE = 2.0**-53  # no part is 0 or 1, where a quantile may be infinite


def random_stream(seed: int, name: str, replication: int = 0) -> np.random.Generator:
    """Give the random numbers of one use, keyed by seed, replication and name."""
    key = int.from_bytes(name.encode(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, replication, len(name), key])))


def sample_points(
    distributions: Mapping[str, Uncertainty], count: int, rng: np.random.Generator, how: str = QUASI_RANDOM
) -> dict[str, Array]:
    """Draw points of several independent quantities.

    Parameters
    ----------
    distributions : by name; the order of names does not matter, a further name changes the points
    count : how many points; a power of two for quasi-random ones
    rng : as `random_stream` gives it
    how : quasi-random is a scrambled Sobol sequence (SciPy), whose points fill space evenly

    >>> points = sample_points({"x": Uncertainty("uniform", 0.0, 1.0)}, 4, random_stream(1, "a test"))
    >>> sorted(np.floor(4 * points["x"]).tolist())  # one in each quarter
    [0.0, 1.0, 2.0, 3.0]
    """
    names = sorted(distributions)
    if not names:
        return {}
    parts = _parts(names, count, rng, how)
    return {name: distributions[name].quantile(parts[:, index]) for index, name in enumerate(names)}


def _parts(names: Sequence[str], count: int, rng: np.random.Generator, how: str) -> Array:
    if how == RANDOM:
        found = rng.random((count, len(names)))
    else:
        from scipy.stats.qmc import Sobol

        found = Sobol(len(names), scramble=True, rng=rng).random(count)
    return np.clip(found, _EDGE, 1 - _EDGE)

"""Plummer's sphere: bodies as in a globular cluster, dense in the middle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]
MOST_MASS = 0.999
"""Bodies further out than this part of the mass are drawn again, as is usual."""


def plummer(bodies: int, seed: int) -> tuple[Vectors, Vectors]:
    r"""Draw places and velocities of bodies in Plummer's sphere, in units where G = M = 1 and E = -1/4.

    The mass within radius r is m = r^3 (1 + r^2)^(-3/2), so r = (m^(-2/3) - 1)^(-1/2); the speed is q times that
    of escape, with the density of q proportional to q^2 (1 - q^2)^(7/2). Lengths are then scaled by 3 pi/16.

    Parameters
    ----------
    bodies : how many
    seed : of the draw

    Source: Aarseth, Henon, Wielen, Astronomy and Astrophysics 37, 1974, 183-187.

    >>> places, velocities = plummer(2000, seed=1)
    >>> kinetic = 0.5 * (velocities**2).sum(axis=1).mean()
    >>> print(f"{kinetic:.1f}")  # 1/4 in the mean
    0.2
    """
    draw = np.random.default_rng([seed])
    radius = (draw.uniform(0, MOST_MASS, bodies) ** (-2 / 3) - 1) ** -0.5
    speed = _escape_parts(draw, bodies) * np.sqrt(2.0) * (1 + radius**2) ** -0.25
    scale = 3 * np.pi / 16
    places = _directions(draw, bodies) * (radius * scale)[:, None]
    velocities = _directions(draw, bodies) * (speed / np.sqrt(scale))[:, None]
    return places - places.mean(axis=0), velocities - velocities.mean(axis=0)


def _escape_parts(draw: np.random.Generator, bodies: int) -> Vectors:
    """Draw speeds as parts of the speed of escape, by rejection under a maximum of 0.1."""
    found = np.empty(0)
    while len(found) < bodies:
        tried, height = draw.uniform(0, 1, 4 * bodies), draw.uniform(0, 0.1, 4 * bodies)
        found = np.append(found, tried[height < tried**2 * (1 - tried**2) ** 3.5])
    return found[:bodies]


def _directions(draw: np.random.Generator, bodies: int) -> Vectors:
    along = draw.uniform(-1, 1, bodies)
    around = draw.uniform(0, 2 * np.pi, bodies)
    flat = np.sqrt(1 - along**2)
    return np.stack((flat * np.cos(around), flat * np.sin(around), along), axis=1)

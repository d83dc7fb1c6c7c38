"""The walk through the hierarchy of balls against a test of every ball."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slipstick_workloads.sharing.raytrace import (
    BOUNDING_RADIUS,
    CHILDREN_PER_BALL,
    EYE_PLACE,
    Balls,
    pixels,
)


def nearest(scene: Balls, direction: NDArray[np.float64]) -> tuple[float, int]:
    towards = scene.centres - EYE_PLACE
    along = towards @ direction
    beside = (towards**2).sum(axis=1) - along**2
    half = np.sqrt(np.where(beside < scene.radii**2, scene.radii**2 - beside, np.nan))
    distance = np.where(along - half > 1e-6, along - half, np.inf)
    return float(np.nanmin(distance)), int(np.nanargmin(distance))


def test_the_walk_finds_what_a_test_of_every_ball_finds() -> None:
    scene, rays = Balls(3), pixels(20, 20)
    found, ball = scene._nearest_hit(
        np.arange(400), np.broadcast_to(EYE_PLACE, rays.shape), rays, []
    )
    everywhere = [nearest(scene, each) for each in rays]
    assert np.allclose(found, [each for each, _ in everywhere])
    hit = np.isfinite(found)
    assert ball[hit].tolist() == [
        number for distance, number in everywhere if np.isfinite(distance)
    ]
    assert 0.1 < hit.mean() < 0.9


def test_children_lie_on_their_parent_and_within_the_sphere_around_it() -> None:
    scene = Balls(3)
    assert len(scene.radii) == 1 + 9 + 81 + 729
    child = np.arange(1, len(scene.radii))
    parent = (child - 1) // CHILDREN_PER_BALL
    apart = np.linalg.norm(scene.centres[child] - scene.centres[parent], axis=1)
    assert np.allclose(apart, scene.radii[child] + scene.radii[parent])
    assert np.all(
        apart + BOUNDING_RADIUS * scene.radii[child]
        <= BOUNDING_RADIUS * scene.radii[parent] * (1 + 1e-12)
    )


def test_rays_that_meet_balls_cost_more_than_rays_that_meet_the_sky() -> None:
    traced = Balls(2).trace(pixels(32, 32))
    assert traced.test_counts.sum() == len(traced.ray_indices) == len(traced.ball_indices)
    assert traced.test_counts.min() == 5, (
        "the eye looks down: floor, three lamps, mirror, and the largest ball for each"
    )
    assert traced.test_counts.max() > 20 * traced.test_counts.min()

"""Raytrace: a read-only scene, an image in parts, and queues of jobs from which idle processors
steal.

Each processor has a rectangle of the image, cut into jobs of some pixels, in a queue of its own
with a lock. When its queue is empty, it searches the others' queues in turn and takes a job where
there is one. A job reads the balls that its rays are tested against, takes numbers for its primary
rays from a shared counter under a lock, and writes its pixels. The rows of an image are contiguous,
so rectangles side by side share pages.

The scene is a ball with nine smaller ones on it, each of which has nine, and so on, over a floor.
The cost of a ray is found by tracing it: it walks the hierarchy of balls from the largest down,
into those whose surrounding sphere it crosses; the point that it hits is lit by three lamps and
reflects once.

Chosen here, for the paper prints the scene alone: 256 x 256 pixels, jobs of 16 x 2 pixels, 8 rays
numbered at a time; 192 B for a ball, 256 B for a queue. The counts that ship number 16 rays at a
time, fitted to a printed time.

Source of the scene: Haines, A proposal for standard graphics environments, IEEE Computer Graphics
and Applications 7(11), 1987; the paper's Raytrace has four generations below the first ball, 7,381
balls.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.late import dataclass
from slipstick_workloads import START
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Read,
    Release,
    SharedProgram,
)
from slipstick_workloads.sharing.layout import Items, MemoryLayout, SharedArray, items_of_processor

Vectors = NDArray[np.float64]
Numbers = NDArray[np.int64]
CHILDREN_PER_BALL = 9
BOUNDING_RADIUS = 2.0
"""Radius of the sphere around a ball and all balls on it, in radii of the ball: a = 4/3 + a/3."""

FLOOR_HEIGHT = -0.5
LAMP_PLACES = np.array([[4.0, 3.0, 2.0], [1.0, -4.0, 4.0], [-3.0, 1.0, 5.0]])
EYE_PLACE = np.array([2.1, 1.3, 1.7])
VIEW_ANGLE = 45.0
SMALLEST_DISTANCE = 1e-6


@dataclass(frozen=True, slots=True)
class RayTests:
    """Tests of a bundle of rays with balls.

    Parameters
    ----------
    test_counts : balls tested, for each primary ray with its shadow and reflected rays
    ray_indices, ball_indices : pairs of a primary ray and a ball tested for it, some more than once
    """

    test_counts: Numbers
    ray_indices: Numbers
    ball_indices: Numbers


class Balls:
    """All balls of the scene, generation after generation: the children of ball k are the balls 9 k
    + 1 to 9 k + 9.
    """

    def __init__(self, generations: int = 4) -> None:
        centres = np.zeros((1, 3))
        radii = np.array([0.5])
        axes = np.array([[0.0, 0.0, 1.0]])
        centres_and_radii = [(centres, radii)]
        for _ in range(generations):
            centres, radii, axes = _next_generation(centres, radii, axes)
            centres_and_radii.append((centres, radii))
        self.centres = np.concatenate(
            [
                centres_and_radii_of_generation[0]
                for centres_and_radii_of_generation in centres_and_radii
            ]
        )
        self.radii = np.concatenate(
            [
                centres_and_radii_of_generation[1]
                for centres_and_radii_of_generation in centres_and_radii
            ]
        )
        self.parent_count = len(self.radii) - len(radii)

    def trace(self, directions: Vectors) -> RayTests:
        """Trace rays from the eye. Return the balls that each is tested against."""
        ray_count = len(directions)
        active_rays = np.arange(ray_count)
        tested_pairs: list[tuple[Numbers, Numbers]] = []
        origins = np.broadcast_to(EYE_PLACE, directions.shape)
        for _ in range(2):
            distances, balls = self._nearest_hit(active_rays, origins, directions, tested_pairs)
            points, normals, is_hit = self._surface_points(origins, directions, distances, balls)
            active_rays = active_rays[is_hit]
            points = points[is_hit]
            normals = normals[is_hit]
            if not len(active_rays):
                break
            for lamp in LAMP_PLACES:
                self._nearest_hit(active_rays, points, _unit_vectors(lamp - points), tested_pairs)
            hit_directions = directions[is_hit]
            origins = points
            directions = (
                hit_directions
                - 2 * np.einsum("ij,ij->i", hit_directions, normals)[:, None] * normals
            )
        ray_indices, tested_balls = (
            np.concatenate(columns) for columns in zip(*tested_pairs, strict=True)
        )
        return RayTests(np.bincount(ray_indices, minlength=ray_count), ray_indices, tested_balls)

    def _nearest_hit(
        self,
        rays: Numbers,
        origins: Vectors,
        directions: Vectors,
        tested_pairs: list[tuple[Numbers, Numbers]],
    ) -> tuple[Vectors, Numbers]:
        """Walk the hierarchy of balls. Return the distance to the nearest hit of each ray, infinite
        if there is none, and the ball hit; add the pairs tested to `tested_pairs`.
        """
        nearest_distances = np.full(len(rays), np.inf)
        hit_balls = np.full(len(rays), -1)
        ray_indices = np.arange(len(rays))
        balls = np.zeros(len(rays), np.int64)
        while len(ray_indices):
            tested_pairs.append((rays[ray_indices], balls))
            towards_ball = self.centres[balls] - origins[ray_indices]
            distance_along = np.einsum("ij,ij->i", towards_ball, directions[ray_indices])
            squared_distances = (
                np.einsum("ij,ij->i", towards_ball, towards_ball) - distance_along**2
            )
            radii = self.radii[balls]
            half_chords = np.sqrt(np.maximum(radii**2 - squared_distances, 0))
            distances = np.where(
                (squared_distances < radii**2) & (distance_along - half_chords > SMALLEST_DISTANCE),
                distance_along - half_chords,
                np.inf,
            )
            np.minimum.at(nearest_distances, ray_indices, distances)
            is_nearest = np.isfinite(distances) & (distances == nearest_distances[ray_indices])
            hit_balls[ray_indices[is_nearest]] = balls[is_nearest]
            is_inside = (
                (squared_distances < (BOUNDING_RADIUS * radii) ** 2)
                & (distance_along > -BOUNDING_RADIUS * radii)
                & (balls < self.parent_count)
            )
            ray_indices = np.repeat(ray_indices[is_inside], CHILDREN_PER_BALL)
            balls = (
                balls[is_inside][:, None] * CHILDREN_PER_BALL + np.arange(1, CHILDREN_PER_BALL + 1)
            ).ravel()
        return nearest_distances, hit_balls

    def _surface_points(
        self, origins: Vectors, directions: Vectors, distances: Vectors, balls: Numbers
    ) -> tuple[Vectors, Vectors, NDArray[np.bool_]]:
        """Return the end points of rays, the surface normals there, and whether each ray ends, at a
        ball or the floor.
        """
        is_falling = directions[:, 2] < -SMALLEST_DISTANCE
        floor_distances = np.where(
            is_falling,
            (FLOOR_HEIGHT - origins[:, 2]) / np.where(is_falling, directions[:, 2], -1.0),
            np.inf,
        )
        floor_distances = np.where(floor_distances > SMALLEST_DISTANCE, floor_distances, np.inf)
        end_distances = np.minimum(distances, floor_distances)
        is_hit = np.isfinite(end_distances)
        points = origins + np.where(is_hit, end_distances, 0.0)[:, None] * directions
        floor_normals = np.broadcast_to(np.array([0.0, 0.0, 1.0]), points.shape)
        normals = np.where(
            (distances < floor_distances)[:, None],
            _unit_vectors(points - self.centres[balls] + SMALLEST_DISTANCE),
            floor_normals,
        )
        return points, normals, is_hit


def pixels(column_count: int, row_count: int) -> Vectors:
    """Return the directions from the eye through the pixels of an image, row by row."""
    view_direction = _unit_vectors(-EYE_PLACE)
    right = _unit_vectors(np.cross(view_direction, np.array([0.0, 0.0, 1.0])))
    up = np.cross(right, view_direction)
    half_view = np.tan(np.radians(VIEW_ANGLE / 2))
    x = (np.arange(column_count) + 0.5) / column_count * 2 - 1
    y = 1 - (np.arange(row_count) + 0.5) / row_count * 2
    ray_vectors = view_direction + half_view * (y[:, None, None] * up + x[None, :, None] * right)
    return _unit_vectors(ray_vectors.reshape(-1, 3))


def _next_generation(
    centres: Vectors, radii: Vectors, axes: Vectors
) -> tuple[Vectors, Vectors, Vectors]:
    """Return centres, radii and axes of nine balls on each ball, a third its radius: six around
    its equator, three near the top of its axis.
    """
    tangents = _unit_vectors(
        np.cross(axes, np.where(np.abs(axes[:, 2:]) < 0.9, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]))
    )
    second_tangents = np.cross(axes, tangents)
    azimuth = np.radians(np.concatenate((np.arange(6) * 60.0, 30.0 + np.arange(3) * 120.0)))
    tilt = np.radians(np.array([90.0] * 6 + [30.0] * 3))
    horizontal_directions = (
        np.cos(azimuth)[:, None] * tangents[:, None]
        + np.sin(azimuth)[:, None] * second_tangents[:, None]
    )
    outward_directions = (
        np.sin(tilt)[:, None] * horizontal_directions + np.cos(tilt)[:, None] * axes[:, None]
    )
    child_centres = centres[:, None] + outward_directions * (radii * 4 / 3)[:, None, None]
    return (
        child_centres.reshape(-1, 3),
        np.repeat(radii / 3, CHILDREN_PER_BALL),
        outward_directions.reshape(-1, 3),
    )


def _unit_vectors(vectors: Vectors) -> Vectors:
    """Return vectors scaled to the length 1."""
    unit_vectors: Vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit_vectors


BALL_BYTES = 192
QUEUE_BYTES = 256
PIXEL_BYTES = 4
HEAD_FIELD = (0, 4)
"""Field that changes in a record: the number of the next item."""

COUNTER_ITEM = 0
"""The item that holds the number of the next ray; queue k is item k + 1. Their locks have the
same numbers.
"""


def raytrace(
    processors: int = 8,
    image: int = 256,
    generations: int = 4,
    job_across: int = 16,
    job_down: int = 2,
    numbered_at_once: int = 8,
    page: int = 4096,
    message: float = 50,
) -> SharedProgram:
    """Return a program that renders the scene of balls.

    Parameters
    ----------
    processors : each with a rectangle of the image
    image : pixels on each side
    generations : of balls on balls
    job_across, job_down : pixels of a job
    numbered_at_once : primary rays that get their numbers together
    page : its size [B]
    message : balls tested in the time of a message, for the clock that orders requests for locks

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (balls4); Singh,
    Gupta, Levoy, IEEE Computer 27(7), 1994, for queues and stealing.

    >>> from slipstick_workloads.release_consistency.run import run
    >>> counts = run(raytrace(processors=2, image=32, generations=1)).without("start-up")
    >>> counts.phases[0].name, counts.total("acquisitions")
    ('render', 164)
    """
    layout = MemoryLayout(page)
    scene = Balls(generations)
    ball_array = layout.array(len(scene.radii), BALL_BYTES)
    frame_array = layout.array(image * image, PIXEL_BYTES)
    queue_records = layout.array(processors + 1, QUEUE_BYTES)
    jobs_by_processor = [
        _trace_jobs(scene, area, image, ball_array, numbered_at_once)
        for area in _cut_image(image, processors, job_across, job_down)
    ]
    queues: list[deque[_Job]] = []

    def accesses_of_processor(processor: int) -> Iterator[Access]:
        """Yield the accesses of one processor."""
        if processor == 0:
            queues[:] = [deque(processor_jobs) for processor_jobs in jobs_by_processor]
            yield ball_array.write_span(0, len(scene.radii))
            yield queue_records.write_span(0, processors + 1)
        yield Arrive(START)
        for offset in range(processors):
            yield from _empty_queues(
                queues, (processor + offset) % processors, queue_records, frame_array
            )
        yield Arrive("render")

    return SharedProgram(
        "Raytrace",
        processors,
        layout.pages,
        accesses_of_processor,
        "balls tested",
        layout.words_per_page,
        message,
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """Some pixels, the balls that their rays are tested against, and the tests of each batch of
    rays.
    """

    pixels: Items
    balls: Read
    test_counts: tuple[int, ...]


def _empty_queues(
    queues: list[deque[_Job]], queue_number: int, records: SharedArray, frame: SharedArray
) -> Iterator[Access]:
    """Yield the accesses of taking jobs from a queue and executing them, until the queue is
    empty.
    """
    queue_record = np.array([queue_number + 1])
    while True:
        yield Acquire(queue_number + 1)
        yield records.read(queue_record)
        job = queues[queue_number].popleft() if queues[queue_number] else None
        if job is not None:
            yield records.write(queue_record, HEAD_FIELD)
        yield Release(queue_number + 1)
        if job is None:
            return
        yield from _execute_job(job, records, frame)


def _execute_job(job: _Job, records: SharedArray, frame: SharedArray) -> Iterator[Access]:
    """Yield the accesses of executing a job."""
    counter_item = np.array([COUNTER_ITEM])
    yield job.balls
    for test_count in job.test_counts:
        yield Acquire(COUNTER_ITEM)
        yield records.read(counter_item)
        yield records.write(counter_item, HEAD_FIELD)
        yield Release(COUNTER_ITEM)
        yield Compute(test_count)
    yield frame.write(job.pixels)


def _cut_image(image: int, processors: int, job_across: int, job_down: int) -> list[list[Items]]:
    """Return for each processor the jobs of its rectangle of the image, each as the numbers of its
    pixels.
    """
    processors_down = max(
        divisor for divisor in range(1, math.isqrt(processors) + 1) if processors % divisor == 0
    )
    processors_across = processors // processors_down
    if image < processors_across or min(job_across, job_down) < 1:
        raise ModelError(
            f"an image of {image} x {image} pixels has too few pixels for jobs of {job_across} x"
            f" {job_down} on {processors_across}"
            f" x {processors_down} processors"
        )
    column_bounds, row_bounds = (
        _part_bounds(image, count) for count in (processors_across, processors_down)
    )
    return [
        [
            (
                np.arange(y, min(y + job_down, end_row))[:, None] * image
                + np.arange(x, min(x + job_across, right))
            ).ravel()
            for y in range(top_row, end_row, job_down)
            for x in range(left_edge, right, job_across)
        ]
        for top_row, end_row in row_bounds
        for left_edge, right in column_bounds
    ]


def _part_bounds(count: int, part_count: int) -> list[tuple[int, int]]:
    """Return the first item of each part, and the item after its last one, if items are divided
    into parts of nearly equal size.
    """
    return [items_of_processor(count, part_count, index) for index in range(part_count)]


def _trace_jobs(
    scene: Balls, jobs: list[Items], image: int, ball_array: SharedArray, rays_at_once: int
) -> list[_Job]:
    """Return the jobs of a processor with their costs and the balls that they test; all their rays
    are traced together.
    """
    end_rays = np.cumsum([len(job) for job in jobs])
    job_of_ray = np.repeat(np.arange(len(jobs)), np.diff(end_rays, prepend=0))
    ray_tests = scene.trace(pixels(image, image)[np.concatenate(jobs)])
    job_ball_keys = np.unique(
        job_of_ray[ray_tests.ray_indices] * ball_array.count + ray_tests.ball_indices
    )
    balls_by_job = np.split(
        job_ball_keys % ball_array.count,
        np.searchsorted(job_ball_keys, np.arange(1, len(jobs)) * ball_array.count),
    )
    tests_by_job = np.split(ray_tests.test_counts, end_rays[:-1])
    return [
        _Job(
            job,
            ball_array.read(balls_by_job[index]),
            _test_counts_of_batches(tests_by_job[index], rays_at_once),
        )
        for index, job in enumerate(jobs)
    ]


def _test_counts_of_batches(test_counts: Items, rays_at_once: int) -> tuple[int, ...]:
    """Return the number of tests of each batch; a batch has the rays that get their numbers
    together.
    """
    return tuple(
        np.add.reduceat(test_counts, np.arange(0, len(test_counts), rays_at_once)).tolist()
    )

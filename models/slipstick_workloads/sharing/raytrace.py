"""Raytrace: a read-only scene, an image in parts, and queues of jobs from which idle processors steal.

Each processor has a rectangle of the image, cut into jobs of some pixels, in a queue of its own with a lock. When its
queue is empty it looks into the others', one after the other, and takes a job where there is one. A job reads the
balls that its rays are tested against, draws numbers for its primary rays from a shared counter under a lock, and
writes its pixels; rows of an image lie one after the other, so rectangles side by side share pages.

What a ray costs is found by tracing it (`balls`). Chosen here, for the paper prints the scene alone: 256 x 256 pixels, jobs of
16 x 2, 8 rays numbered at a time; 192 B a ball, 256 B a queue.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from slipstick.errors import ModelError
from slipstick_workloads.lrc.accesses import Access, Acquire, Barrier, Read, Release, SharedProgram, Work
from slipstick_workloads.sharing.balls import Balls, pixels
from slipstick_workloads.sharing.layout import Items, Layout, SharedArray
from slipstick_workloads.sharing.partition import START, share

BALL, QUEUE, PIXEL = 192, 256, 4
HEAD = (0, 4)
"""What changes in a record: the number of what comes next."""
COUNTER = 0
"""The item that holds the number of the next ray; queue k is item k + 1. Their locks have the same numbers."""


def raytrace(
    processors: int = 8,
    image: int = 256,
    generations: int = 4,
    job: tuple[int, int] = (16, 2),
    numbered_at_once: int = 8,
    page: int = 4096,
) -> SharedProgram:
    """Render the scene of balls.

    Parameters
    ----------
    processors : each with a rectangle of the image
    image : pixels on each side
    generations : of balls on balls
    job : pixels across and down
    numbered_at_once : primary rays that get their numbers together
    page : its size [B]

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (balls4); Singh, Gupta, Levoy,
    IEEE Computer 27(7), 1994, for queues and stealing.

    >>> from slipstick_workloads.lrc.run import run
    >>> counts = run(raytrace(processors=2, image=32, generations=1)).without("start-up")
    >>> counts.phases[0].name, counts.total("acquisitions")
    ('render', 164)
    """
    layout, scene = Layout(page), Balls(generations)
    balls = layout.array(len(scene.radii), BALL)
    frame, records = layout.array(image * image, PIXEL), layout.array(processors + 1, QUEUE)
    jobs = [_traced(scene, each, image, balls, numbered_at_once) for each in _cut(image, processors, job)]
    queues: list[deque[_Job]] = []

    def body(me: int) -> Iterator[Access]:
        if me == 0:
            queues[:] = [deque(each) for each in jobs]
            yield balls.write_span(0, len(scene.radii))
            yield records.write_span(0, processors + 1)
        yield Barrier(START)
        for turn in range(processors):
            yield from _empty(queues, (me + turn) % processors, records, frame)
        yield Barrier("render")

    return SharedProgram("Raytrace", processors, layout.pages, body, "balls tested", layout.word_count)


@dataclass(frozen=True, slots=True)
class _Job:
    """Some pixels, the balls that their rays are tested against, and the tests of each batch of rays."""

    pixels: Items
    balls: Read
    tests: tuple[int, ...]


def _empty(queues: list[deque[_Job]], number: int, records: SharedArray, frame: SharedArray) -> Iterator[Access]:
    """Take jobs from a queue and do them until there are none."""
    record = np.array([number + 1])
    while True:
        yield Acquire(number + 1)
        yield records.read(record)
        taken = queues[number].popleft() if queues[number] else None
        if taken is not None:
            yield records.write(record, HEAD)
        yield Release(number + 1)
        if taken is None:
            return
        yield from _do(taken, records, frame)


def _do(job: _Job, records: SharedArray, frame: SharedArray) -> Iterator[Access]:
    counter = np.array([COUNTER])
    yield job.balls
    for tests in job.tests:
        yield Acquire(COUNTER)
        yield records.read(counter)
        yield records.write(counter, HEAD)
        yield Release(COUNTER)
        yield Work(tests)
    yield frame.write(job.pixels)


def _cut(image: int, processors: int, job: tuple[int, int]) -> list[list[Items]]:
    """Cut the image into a rectangle for each processor, and each rectangle into jobs."""
    down = max(each for each in range(1, math.isqrt(processors) + 1) if processors % each == 0)
    across = processors // down
    if image < across or min(job) < 1:
        raise ModelError(f"an image of {image} x {image} pixels gives no jobs of {job} to {across} x {down} processors")
    columns, rows = (_bounds(image, parts) for parts in (across, down))
    return [
        [
            (np.arange(y, min(y + job[1], bottom))[:, None] * image + np.arange(x, min(x + job[0], right))).ravel()
            for y in range(top, bottom, job[1])
            for x in range(left, right, job[0])
        ]
        for top, bottom in rows
        for left, right in columns
    ]


def _bounds(count: int, parts: int) -> list[tuple[int, int]]:
    return [share(count, parts, each) for each in range(parts)]


def _traced(scene: Balls, jobs: list[Items], image: int, balls: SharedArray, at_once: int) -> list[_Job]:
    """Find what a processor's jobs cost and look at, tracing all their rays side by side."""
    ends = np.cumsum([len(each) for each in jobs])
    job_of_ray = np.repeat(np.arange(len(jobs)), np.diff(ends, prepend=0))
    traced = scene.trace(pixels(image, image)[np.concatenate(jobs)])
    seen = np.unique(job_of_ray[traced.ray] * balls.count + traced.ball)
    seen_by = np.split(seen % balls.count, np.searchsorted(seen, np.arange(1, len(jobs)) * balls.count))
    tests = np.split(traced.tests, ends[:-1])
    return [_Job(each, balls.read(seen_by[index]), _batches(tests[index], at_once)) for index, each in enumerate(jobs)]


def _batches(tests: Items, at_once: int) -> tuple[int, ...]:
    """Add up the tests of rays that get their numbers together."""
    return tuple(np.add.reduceat(tests, np.arange(0, len(tests), at_once)).tolist())

"""Pipelines of random stages: a recursion over maxima that keeps track of how they depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slipstick.method.mean_value.longest import first_largest, normal
from slipstick.method.mean_value.spans import Array, Span
from slipstick.method.mean_value.tree import Leaf, Line, Node

if TYPE_CHECKING:
    from slipstick.method.mean_value.passes import Pass

__all__ = ["MOST_ITEMS", "line_time"]

MOST_ITEMS = 64
"""Items followed one by one; each further one takes as long as the last of these."""


def line_time(made: Pass, line: Line) -> Span:
    items = made.numbers[line.pipeline.items]
    stages = [[made.span(body) for body in bodies] for bodies in line.stages]
    places = [_places(made, line, index) for index in range(len(stages))]
    most = min(int(np.ceil(np.max(items.real))), MOST_ITEMS)
    table = _Ends()
    slots: list[list[int]] = [[] for _ in stages]
    last: int | None = None
    kept: list[tuple[Array, Array]] = []
    for item in range(most):
        end: int | None = None
        for index, bodies in enumerate(stages):
            body = bodies[item % len(bodies)]
            before = end
            if places[index] is not None and len(slots[index]) >= places[index]:
                gone = slots[index].pop(0)
                before = gone if before is None else table.later(gone, before)
            end = table.after(before, body)
            if places[index] is not None:
                slots[index].append(end)
        last = end if last is None or places[-1] == 1 else table.later(last, end)
        table.keep({last, *(each for slot in slots for each in slot)})
        kept.append((table.mean[last], table.cov[last, last]))
    means = np.stack(np.broadcast_arrays(*[m for m, _ in kept]), axis=-1)
    variances = np.stack(np.broadcast_arrays(*[v for _, v in kept]), axis=-1)
    at = np.minimum(np.rint(items.real).astype(int), most) - 1
    more = np.rint(items.real) - 1 - at
    pick = np.broadcast_to(at[..., None], (*means.shape[:-1], 1))
    mean = np.take_along_axis(means, pick, axis=-1)[..., 0]
    variance = np.take_along_axis(variances, pick, axis=-1)[..., 0]
    if most > 1:
        mean = mean + more * (means[..., -1] - means[..., -2])
        variance = variance + more * (variances[..., -1] - variances[..., -2])
    constant = all(body.kind == "constant" for bodies in stages for body in bodies)
    return Span(mean, variance, "constant" if constant else "general")


def _places(made: Pass, line: Line, index: int) -> int | None:
    """Say how many items a stage takes at once; None for as many as there are."""
    if line.pipeline.stages[index].kind == "serial":
        return 1
    (node, *_) = line.stages[index]
    if isinstance(node, Leaf) and node.visit is not None:
        return getattr(made.model.resources.get(node.visit.queue), "servers", 1)
    return None


class _Ends:
    """Times of ends, jointly normal: means and covariances by number.

    Source: Clark, Operations Research 9(2), 1961, 145-162: the maximum of two normal variates, and its
    covariance with a third.
    """

    def __init__(self) -> None:
        self.mean: dict[int, Array] = {}
        self.cov: dict[tuple[int, int], Array] = {}
        self._next = 0

    def _new(self, mean: Array, variance: Array, with_others: dict[int, Array]) -> int:
        made = self._next
        self._next += 1
        self.mean[made] = mean
        self.cov[made, made] = variance
        for other, each in with_others.items():
            self.cov[made, other] = self.cov[other, made] = each
        return made

    def after(self, before: int | None, span: Span) -> int:
        if before is None:
            return self._new(span.mean, span.variance, {other: np.zeros(1) for other in self.mean})
        with_others = {other: self.cov[before, other] for other in self.mean}
        return self._new(self.mean[before] + span.mean, self.cov[before, before] + span.variance, with_others)

    def later(self, a: int, b: int) -> int:
        ma, mb = self.mean[a], self.mean[b]
        va, vb, cab = self.cov[a, a], self.cov[b, b], self.cov[a, b]
        square = va + vb - 2 * cab
        scale = (ma + mb) * (ma + mb) * 1e-20 + 1e-300
        theta = np.sqrt(np.where(square.real > scale.real, square, scale))
        alpha = (ma - mb) / theta
        first, second = normal(alpha), normal(-alpha)
        density = np.exp(-alpha * alpha / 2) / np.sqrt(2 * np.pi)
        mean = ma * first + mb * second + theta * density
        # About the larger mean, so that nothing cancels.
        da, db = ma - mean, mb - mean
        variance = (da * da + va) * first + (db * db + vb) * second + (da + db) * theta * density
        sure = square.real <= scale.real
        mean = np.where(sure, first_largest([ma, mb]), mean)
        variance = np.where(sure, np.where(ma.real >= mb.real, va, vb), variance)
        first = np.where(sure, np.where(ma.real >= mb.real, 1.0, 0.0), first)
        with_others = {o: self.cov[a, o] * first + self.cov[b, o] * (1 - first) for o in self.mean}
        return self._new(mean, variance, with_others)

    def keep(self, wanted: set[int]) -> None:
        self.mean = {key: each for key, each in self.mean.items() if key in wanted}
        self.cov = {(a, b): each for (a, b), each in self.cov.items() if a in wanted and b in wanted}

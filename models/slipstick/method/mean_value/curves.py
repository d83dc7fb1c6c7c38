"""Points that differ only in how many processors there are: one recursion passes them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.quantities import Numbers, only
from slipstick.method.mean_value.recursion import Recursion, State
from slipstick.method.mean_value.spans import Array

__all__ = ["Stop", "booked", "distinct", "none_negative", "stops"]

STEP = 1e-20
"""Imaginary step that an account is read from; its square vanishes beside 1."""

MOST_AT_ONCE = 4096
"""Labels times rows that an account is read off together."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A population that some points ask about.

    Parameters
    ----------
    state : of it, along the rows
    numbers : of the rows
    points : which ask
    rows : where each finds its own
    """

    state: State
    numbers: Numbers
    points: Array
    rows: Array


def stops(recursion: Recursion, numbers: Numbers, sizes: Array, points: Array, apart: Expr) -> Iterator[Stop]:
    """Run the recursion, and stop at each population that is asked about.

    Parameters
    ----------
    recursion : of the cycle
    numbers : at all points
    sizes : whole numbers of processors [points]
    points : which points are to be answered
    apart : the expression of the population
    """
    if not len(points):
        return
    here = only(numbers, points)
    used = {expr: column for expr, column in here.items() if expr != apart or recursion.reads(apart)}
    first, rows = distinct(used, len(points))
    each = only(here, first)
    asked = sizes[points]
    wanted = set(asked.tolist())
    for state in recursion.states(each, int(max(wanted))):
        if state.processors in wanted:
            chosen = np.flatnonzero(asked == state.processors)
            yield Stop(state, each, points[chosen], rows[chosen])


def distinct(columns: Mapping[Expr, Array], count: int) -> tuple[Array, Array]:
    """Number the points that are alike: where each kind comes first, and the kind of each point."""
    if not columns:
        return np.zeros(1, dtype=int), np.zeros(count, dtype=int)
    table = np.stack(list(columns.values()), axis=1)
    _, first, rows = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, rows.reshape(-1)


def booked(recursion: Recursion, stop: Stop, labels: list[str]) -> dict[str, Array]:
    """Read the account off: by how much the time grows when all that is booked to a label does.

    A maximum of random times is so split by R dE/dR, and the parts add up to the time (Euler's theorem).
    """
    rows = len(next(iter(stop.numbers.values())))
    found: dict[str, Array] = {}
    at_once = max(1, MOST_AT_ONCE // rows)
    for start in range(0, len(labels), at_once):
        some = labels[start : start + at_once]
        unit = 1j * STEP * np.eye(len(some))
        scale = {label: (1 + unit[:, index])[:, None] for index, label in enumerate(some)}
        time = recursion.account(stop.state, stop.numbers, scale).mean
        table = np.broadcast_to(np.imag(time) / STEP, (len(some), rows))
        found.update(zip(some, table, strict=True))
    return none_negative(found)


def none_negative(found: dict[str, Array]) -> dict[str, Array]:
    """Take nothing for what is below nothing: a longer time may make a mixture less spread, and so its maximum shorter."""
    whole = sum(found.values(), np.zeros(1))
    kept = {label: np.where(each > 0, each, 0.0) for label, each in found.items()}
    more = sum(kept.values(), np.zeros(1))
    factor = np.where(more > whole, whole / np.where(more > 0, more, 1.0), 1.0)
    return {label: each * factor for label, each in kept.items()}

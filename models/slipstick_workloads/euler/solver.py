"""A one-dimensional adaptive solver of the Euler equations: Sod's shock tube on a tree of
intervals.

The interval [0, 1] is halved again and again where the density bends; the leaves of the tree are
the cells of a finite-volume scheme of first order with the flux of Harten, Lax and van Leer. After
each time step a leaf is halved where the second difference of the density is large, together with
its neighbours, and two leaves of one node are joined where it is small. The workload uses the tree
of every time step.

Sources: Sod, J. Computational Physics 27, 1978 (the problem); Harten, Lax and van Leer, SIAM Review
25(1), 1983 (the flux). The criteria of refinement are ours; those of the paper's program are in a
reference that was not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from slipstick.late import Array, NDArray, np

Ints: TypeAlias = "NDArray[np.int64]"

GAMMA = 1.4
LEFT_STATE, RIGHT_STATE = (1.0, 0.0, 1.0), (0.125, 0.0, 0.1)
"""Density, speed and pressure on the two sides of the membrane at 1/2."""

END_TIME = 0.2
"""Time at which a run ends [1]."""

COURANT_NUMBER = 0.8
JOIN_RATIO = 0.25
"""Second difference below which two leaves are joined, relative to that from which leaves are
halved.
"""

LEAST_HALVINGS = 3
"""Halvings of the interval that all cells have at least."""


@dataclass(frozen=True)
class Cells:
    """The leaves of the tree, from left to right.

    Parameters
    ----------
    level : halvings of each [1]
    place : its number among the intervals of its level [1]
    state : density, momentum and energy [1]
    """

    level: Ints
    place: Ints
    state: Array

    @property
    def width(self) -> Array:
        """The width of each cell."""
        return np.ldexp(1.0, -self.level)


def initial_cells(deepest: int) -> Cells:
    """Return the cells at the start: halved `deepest` times beside the membrane, and
    `LEAST_HALVINGS` times elsewhere.
    """
    level = np.full(2**LEAST_HALVINGS, LEAST_HALVINGS)
    place = np.arange(2**LEAST_HALVINGS)
    for _ in range(deepest - LEAST_HALVINGS):
        is_near_membrane = (level == level.max()) & (
            np.abs((place + 0.5) * 0.5**level - 0.5) < 0.5**level
        )
        level, place, _ = _halve_cells(level, place, np.zeros((3, len(level))), is_near_membrane)
    is_left = (place + 0.5) * 0.5**level < 0.5
    rho, speed, pressure = (
        np.where(is_left, left_value, right_value)
        for left_value, right_value in zip(LEFT_STATE, RIGHT_STATE, strict=True)
    )
    return Cells(
        level, place, np.array([rho, rho * speed, pressure / (GAMMA - 1) + rho * speed**2 / 2])
    )


def primitive(state: Array) -> tuple[Array, Array, Array]:
    """Return density, speed and pressure of cells, from their density, momentum and energy."""
    rho, momentum, energy = state
    return rho, momentum / rho, (GAMMA - 1) * (energy - momentum**2 / rho / 2)


def advance(cells: Cells, longest_step: float) -> tuple[Cells, float]:
    """Return the cells after a time step of at most `longest_step`, and the length of the step."""
    padded = cells.state[:, [0, *range(cells.state.shape[1]), -1]]
    rho, speed, pressure = primitive(padded)
    acoustic_speed = np.sqrt(GAMMA * pressure / rho)
    step = min(
        COURANT_NUMBER * float(np.min(cells.width / (np.abs(speed) + acoustic_speed)[1:-1])),
        longest_step,
    )
    flux = np.array([padded[1], padded[1] * speed + pressure, (padded[2] + pressure) * speed])
    slowest_wave = np.minimum(
        np.minimum(speed[:-1] - acoustic_speed[:-1], speed[1:] - acoustic_speed[1:]), 0.0
    )
    fastest_wave = np.maximum(
        np.maximum(speed[:-1] + acoustic_speed[:-1], speed[1:] + acoustic_speed[1:]), 0.0
    )
    jump = padded[:, 1:] - padded[:, :-1]
    middle_flux = (
        fastest_wave * flux[:, :-1]
        - slowest_wave * flux[:, 1:]
        + slowest_wave * fastest_wave * jump
    ) / (fastest_wave - slowest_wave)
    return (
        Cells(cells.level, cells.place, cells.state - step / cells.width * np.diff(middle_flux)),
        step,
    )


def adapt(cells: Cells, tolerance: float, deepest: int) -> Cells:
    """Return cells halved where the second difference of the density exceeds the tolerance, and
    joined where it is far below.
    """
    second_difference = np.abs(np.diff(cells.state[0][[0, *range(len(cells.level)), -1]], 2))
    is_rough = second_difference > tolerance
    is_rough = is_rough | np.append(is_rough[1:], False) | np.append(False, is_rough[:-1])
    level = cells.level
    place = cells.place
    state = cells.state
    is_pair = (
        (level[:-1] == level[1:])
        & (place[:-1] % 2 == 0)
        & (place[1:] == place[:-1] + 1)
        & (level[:-1] > LEAST_HALVINGS)
    )
    is_joined = (
        is_pair
        & (np.maximum(second_difference[:-1], second_difference[1:]) < JOIN_RATIO * tolerance)
        & ~(is_rough[:-1] | is_rough[1:])
    )
    is_first_joined = np.append(is_joined, False)
    joined_state = state.copy()
    joined_state[:, :-1][:, is_joined] = ((state[:, :-1] + state[:, 1:]) / 2)[:, is_joined]
    is_kept = ~np.append(False, is_joined)
    level = np.where(is_first_joined, level - 1, level)[is_kept]
    place = np.where(is_first_joined, place // 2, place)[is_kept]
    return Cells(
        *_halve_cells(
            level,
            place,
            joined_state[:, is_kept],
            is_rough[is_kept] & ~is_first_joined[is_kept] & (level < deepest),
        )
    )


def _halve_cells(
    level: Ints, place: Ints, state: Array, is_halved: NDArray[np.bool_]
) -> tuple[Ints, Ints, Array]:
    """Return levels, places and states with some cells halved. Both halves have the state of the
    cell, which keeps mass, momentum and energy.
    """
    copies = 1 + is_halved.astype(np.int64)
    source_indices = np.repeat(np.arange(len(level)), copies)
    is_second_half = np.append(False, source_indices[1:] == source_indices[:-1])
    return (
        (level + is_halved)[source_indices],
        np.where(is_halved, 2 * place, place)[source_indices] + is_second_half,
        state[:, source_indices],
    )


def subtree_counts(cells: Cells) -> tuple[int, ...]:
    """Return the number of subtrees of each node of the tree, in an order in which a node precedes
    its subtrees.

    >>> subtree_counts(Cells(np.array([1, 2, 2]), np.array([0, 2, 3]), np.zeros((3, 3))))
    (2, 0, 2, 0, 0)
    """
    leaves = set(zip(cells.level.tolist(), cells.place.tolist(), strict=True))
    return tuple(0 if node in leaves else 2 for node in nodes(cells))


def nodes(cells: Cells) -> list[tuple[int, int]]:
    """Return the level and the place of each node of the tree, in an order in which a node precedes
    its subtrees.

    >>> nodes(Cells(np.array([1, 1]), np.array([0, 1]), np.zeros((3, 2))))
    [(0, 0), (1, 0), (1, 1)]
    """
    listed_nodes = list[tuple[int, int]]()
    level = 0
    place = 0
    for leaf_level, leaf_place in zip(cells.level.tolist(), cells.place.tolist(), strict=True):
        # From the node where the last leaf left off down to this leaf, always to the left.
        while place != leaf_place >> (leaf_level - level):
            level -= 1
            place = place >> 1
        listed_nodes += [
            (depth, leaf_place >> (leaf_level - depth)) for depth in range(level, leaf_level + 1)
        ]
        level = leaf_level
        place = leaf_place + 1
        while level and place % 2 == 0:
            level -= 1
            place = place >> 1
    return listed_nodes


LOCK_CALLS_OF_KEPT_NODE, LOCK_CALLS_OF_NEW_NODE, LOCK_CALLS_OF_REMOVED_NODE = 1, 3, 2
"""Calls of locks for a node that stays: its own lock; for a node that is made also the lock of the
free list and that of new nodes; for a node that is removed its own and that of the free list.
"""


def update_work(cells_before: Cells, cells_after: Cells) -> tuple[int, ...]:
    """Return the work of an update at each node of the new tree [calls of locks].

    A node that stays calls one lock, nodes that are made or removed call more; the time of the
    paper's program is proportional to its calls of locks. The work to remove a node is counted at
    the nearest ancestor that stays.

    >>> one = Cells(np.array([1, 1]), np.array([0, 1]), np.zeros((3, 2)))
    >>> two = Cells(np.array([2, 2, 1]), np.array([0, 1, 1]), np.zeros((3, 3)))
    >>> update_work(one, two), update_work(two, one)
    ((1, 1, 3, 3, 1), (1, 5, 1))
    """
    nodes_before = nodes(cells_before)
    nodes_after = nodes(cells_after)
    node_set_before = set(nodes_before)
    work = {
        node: LOCK_CALLS_OF_KEPT_NODE if node in node_set_before else LOCK_CALLS_OF_NEW_NODE
        for node in nodes_after
    }
    for level, place in nodes_before:
        depth = level
        while (depth, place >> (level - depth)) not in work:
            depth -= 1
        if depth < level:
            work[depth, place >> (level - depth)] += LOCK_CALLS_OF_REMOVED_NODE
    return tuple(work[node] for node in nodes_after)


@lru_cache(maxsize=8)
def cells_by_step(tolerance: float, deepest: int) -> tuple[Cells, ...]:
    """Return the cells of every time step of a run.

    Parameters
    ----------
    tolerance : second difference of the density from which on cells are halved [1]
    deepest : halvings at most [1]
    """
    cells = initial_cells(deepest)
    cells_of_steps = []
    time = 0.0
    while time < END_TIME * (1 - 1e-12):
        cells, step = advance(cells, END_TIME - time)
        time += step
        cells = adapt(cells, tolerance, deepest)
        cells_of_steps.append(cells)
    return tuple(cells_of_steps)

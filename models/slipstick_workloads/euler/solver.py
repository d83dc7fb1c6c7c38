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

from functools import lru_cache
from typing import TypeAlias

from slipstick.late import Array, NDArray, dataclass, np

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
    levels : halvings of each [1]
    places : its number among the intervals of its level [1]
    states : density, momentum and energy [1]
    """

    levels: Ints
    places: Ints
    states: Array

    @property
    def widths(self) -> Array:
        """The width of each cell."""
        return np.ldexp(1.0, -self.levels)


def initial_cells(most_halvings: int) -> Cells:
    """Return the cells at the start: halved `most_halvings` times beside the membrane, and
    `LEAST_HALVINGS` times elsewhere.
    """
    levels = np.full(2**LEAST_HALVINGS, LEAST_HALVINGS)
    places = np.arange(2**LEAST_HALVINGS)
    for _ in range(most_halvings - LEAST_HALVINGS):
        is_near_membrane = (levels == levels.max()) & (
            np.abs((places + 0.5) * 0.5**levels - 0.5) < 0.5**levels
        )
        levels, places, _ = _cells_with_halves(
            levels, places, np.zeros((3, len(levels))), is_near_membrane
        )
    is_left = (places + 0.5) * 0.5**levels < 0.5
    density, speed, pressure = (
        np.where(is_left, left_value, right_value)
        for left_value, right_value in zip(LEFT_STATE, RIGHT_STATE, strict=True)
    )
    return Cells(
        levels,
        places,
        np.array([density, density * speed, pressure / (GAMMA - 1) + density * speed**2 / 2]),
    )


def density_speed_and_pressure(states: Array) -> tuple[Array, Array, Array]:
    """Return density, speed and pressure of cells, from their density, momentum and energy."""
    density, momentum, energy = states
    return density, momentum / density, (GAMMA - 1) * (energy - momentum**2 / density / 2)


def advance(cells: Cells, longest_time_step: float) -> tuple[Cells, float]:
    """Return the cells after a time step of at most `longest_time_step`, and the length of the
    step.
    """
    padded_states = cells.states[:, [0, *range(cells.states.shape[1]), -1]]
    density, speed, pressure = density_speed_and_pressure(padded_states)
    acoustic_speed = np.sqrt(GAMMA * pressure / density)
    time_step = min(
        COURANT_NUMBER * float(np.min(cells.widths / (np.abs(speed) + acoustic_speed)[1:-1])),
        longest_time_step,
    )
    fluxes = np.array(
        [
            padded_states[1],
            padded_states[1] * speed + pressure,
            (padded_states[2] + pressure) * speed,
        ]
    )
    slowest_wave = np.minimum(
        np.minimum(speed[:-1] - acoustic_speed[:-1], speed[1:] - acoustic_speed[1:]), 0.0
    )
    fastest_wave = np.maximum(
        np.maximum(speed[:-1] + acoustic_speed[:-1], speed[1:] + acoustic_speed[1:]), 0.0
    )
    state_jumps = padded_states[:, 1:] - padded_states[:, :-1]
    middle_flux = (
        fastest_wave * fluxes[:, :-1]
        - slowest_wave * fluxes[:, 1:]
        + slowest_wave * fastest_wave * state_jumps
    ) / (fastest_wave - slowest_wave)
    return (
        Cells(
            cells.levels,
            cells.places,
            cells.states - time_step / cells.widths * np.diff(middle_flux),
        ),
        time_step,
    )


def adapt(cells: Cells, tolerance: float, most_halvings: int) -> Cells:
    """Return cells halved where the second difference of the density exceeds the tolerance, and
    joined where it is far below.
    """
    second_difference = np.abs(np.diff(cells.states[0][[0, *range(len(cells.levels)), -1]], 2))
    must_be_halved = second_difference > tolerance
    must_be_halved = (
        must_be_halved
        | np.append(must_be_halved[1:], False)
        | np.append(False, must_be_halved[:-1])
    )
    levels = cells.levels
    places = cells.places
    states = cells.states
    is_pair = (
        (levels[:-1] == levels[1:])
        & (places[:-1] % 2 == 0)
        & (places[1:] == places[:-1] + 1)
        & (levels[:-1] > LEAST_HALVINGS)
    )
    is_joined = (
        is_pair
        & (np.maximum(second_difference[:-1], second_difference[1:]) < JOIN_RATIO * tolerance)
        & ~(must_be_halved[:-1] | must_be_halved[1:])
    )
    is_first_joined = np.append(is_joined, False)
    joined_states = states.copy()
    joined_states[:, :-1][:, is_joined] = ((states[:, :-1] + states[:, 1:]) / 2)[:, is_joined]
    is_kept = ~np.append(False, is_joined)
    levels = np.where(is_first_joined, levels - 1, levels)[is_kept]
    places = np.where(is_first_joined, places // 2, places)[is_kept]
    return Cells(
        *_cells_with_halves(
            levels,
            places,
            joined_states[:, is_kept],
            must_be_halved[is_kept] & ~is_first_joined[is_kept] & (levels < most_halvings),
        )
    )


def _cells_with_halves(
    levels: Ints, places: Ints, states: Array, is_halved: NDArray[np.bool_]
) -> tuple[Ints, Ints, Array]:
    """Return levels, places and states with some cells halved. Both halves have the state of the
    cell, which keeps mass, momentum and energy.
    """
    copy_counts = 1 + is_halved.astype(np.int64)
    source_indices = np.repeat(np.arange(len(levels)), copy_counts)
    is_second_half = np.append(False, source_indices[1:] == source_indices[:-1])
    return (
        (levels + is_halved)[source_indices],
        np.where(is_halved, 2 * places, places)[source_indices] + is_second_half,
        states[:, source_indices],
    )


def subtree_count_by_node(cells: Cells) -> tuple[int, ...]:
    """Return the number of subtrees of each node of the tree, in an order in which a node precedes
    its subtrees.

    >>> subtree_count_by_node(Cells(np.array([1, 2, 2]), np.array([0, 2, 3]), np.zeros((3, 3))))
    (2, 0, 2, 0, 0)
    """
    leaves = set(zip(cells.levels.tolist(), cells.places.tolist(), strict=True))
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
    for leaf_level, leaf_place in zip(cells.levels.tolist(), cells.places.tolist(), strict=True):
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


def work_by_updated_node(cells_before: Cells, cells_after: Cells) -> tuple[int, ...]:
    """Return the work of an update at each node of the new tree [calls of locks].

    A node that stays calls one lock, nodes that are made or removed call more; the time of the
    paper's program is proportional to its calls of locks. The work to remove a node is counted at
    the nearest ancestor that stays.

    >>> one = Cells(np.array([1, 1]), np.array([0, 1]), np.zeros((3, 2)))
    >>> two = Cells(np.array([2, 2, 1]), np.array([0, 1, 1]), np.zeros((3, 3)))
    >>> work_by_updated_node(one, two), work_by_updated_node(two, one)
    ((1, 1, 3, 3, 1), (1, 5, 1))
    """
    nodes_before = nodes(cells_before)
    nodes_after = nodes(cells_after)
    node_set_before = set(nodes_before)
    work_by_node = {
        node: LOCK_CALLS_OF_KEPT_NODE if node in node_set_before else LOCK_CALLS_OF_NEW_NODE
        for node in nodes_after
    }
    for level, place in nodes_before:
        depth = level
        while (depth, place >> (level - depth)) not in work_by_node:
            depth -= 1
        if depth < level:
            work_by_node[depth, place >> (level - depth)] += LOCK_CALLS_OF_REMOVED_NODE
    return tuple(work_by_node[node] for node in nodes_after)


@lru_cache(maxsize=8)
def cells_by_step(tolerance: float, most_halvings: int) -> tuple[Cells, ...]:
    """Return the cells of every time step of a run.

    Parameters
    ----------
    tolerance : second difference of the density from which on cells are halved [1]
    most_halvings : halvings at most [1]
    """
    cells = initial_cells(most_halvings)
    cells_of_steps = []
    time = 0.0
    while time < END_TIME * (1 - 1e-12):
        cells, time_step = advance(cells, END_TIME - time)
        time += time_step
        cells = adapt(cells, tolerance, most_halvings)
        cells_of_steps.append(cells)
    return tuple(cells_of_steps)

"""The octree of Barnes and Hut: cells of bodies, and the cells that the force on a body needs.

A cell with more than one body is divided in eight; a body by itself is a leaf. Cells are numbered
as a program that inserts one body after the other makes them: a cell is made when its second body
is inserted, so cells are in the order of these bodies.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.late import dataclass

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float64]
MOST_LEVELS = 21
BODIES_AT_ONCE = 512
"""Bodies whose walks through the tree are computed together."""
SOFTENING_LENGTH = 0.05


@dataclass(frozen=True, slots=True)
class Octree:
    """A tree of cells over bodies of equal mass.

    Nodes are cells, then bodies: node c + i is body i, if there are c cells.

    Parameters
    ----------
    cell_count : how many
    body_order : bodies in the tree's order, depth first
    depth_by_body : cells on the way to each body
    cell_sides : side of each cell
    node_centres : of mass, of each node
    node_masses : of each node
    first_child_indices, children : the children of cell k are
        children[first_child_indices[k]:first_child_indices[k + 1]]
    """

    cell_count: int
    body_order: Numbers
    depth_by_body: Numbers
    cell_sides: Vectors
    node_centres: Vectors
    node_masses: Vectors
    first_child_indices: Numbers
    children: Numbers

    @classmethod
    def from_places(cls, places: Vectors) -> Octree:
        """Return the tree over bodies at some places.

        Raises
        ------
        ModelError : two bodies are in one place
        """
        corner = places.min(axis=0)
        cube_side = float(np.ptp(places, axis=0).max()) * 1.001
        keys = _morton_keys((places - corner) / cube_side)
        body_order = np.argsort(keys, kind="stable")
        if (np.diff(keys[body_order]) == 0).any():
            raise ModelError("two bodies are in one place, as far as an octree can tell")
        levels = list(_cells_by_level(keys[body_order], body_order))
        return _assemble(places, cube_side, body_order, levels)

    def forces(self, bodies: Numbers, tolerance: float) -> Iterator[Forces]:
        """Yield the forces on bodies, `BODIES_AT_ONCE` at a time. A cell is opened unless its side
        over its distance is below the tolerance.
        """
        for chunk_start in range(0, len(bodies), BODIES_AT_ONCE):
            yield self._walk(bodies[chunk_start : chunk_start + BODIES_AT_ONCE], tolerance)

    def _walk(self, bodies: Numbers, tolerance: float) -> Forces:
        """Return the forces on some bodies, by a walk through the tree for each."""
        body_count = len(bodies)
        places = self.node_centres[self.cell_count + bodies]
        accelerations = np.zeros((body_count, 3))
        interaction_counts = np.zeros(body_count, np.int64)
        is_visited = np.zeros(len(self.node_masses), np.bool_)
        walkers = np.arange(body_count)
        nodes = np.zeros(body_count, np.int64)
        while len(nodes):
            is_visited[nodes] = True
            vectors_to_nodes = self.node_centres[nodes] - places[walkers]
            squared_distances = np.einsum("ij,ij->i", vectors_to_nodes, vectors_to_nodes)
            side_lengths = np.where(
                nodes < self.cell_count,
                self.cell_sides[np.minimum(nodes, self.cell_count - 1)],
                0.0,
            )
            is_opened = side_lengths**2 >= tolerance**2 * squared_distances
            is_opened &= nodes < self.cell_count
            is_used = ~is_opened & (nodes != self.cell_count + bodies[walkers])
            pulls = (
                self.node_masses[nodes[is_used]]
                * (squared_distances[is_used] + SOFTENING_LENGTH**2) ** -1.5
            )
            for axis in range(3):
                accelerations[:, axis] += np.bincount(
                    walkers[is_used], pulls * vectors_to_nodes[is_used, axis], body_count
                )
            interaction_counts += np.bincount(walkers[is_used], minlength=body_count)
            walkers, nodes = self._children_of_opened(walkers[is_opened], nodes[is_opened])
        return Forces(bodies, accelerations, interaction_counts, is_visited)

    def _children_of_opened(
        self, walkers: Numbers, opened_cells: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the children of opened cells, each with the walker that opened its parent."""
        first_children = self.first_child_indices[opened_cells]
        child_counts = (
            self.first_child_indices[opened_cells + 1] - self.first_child_indices[opened_cells]
        )
        end_indices = np.cumsum(child_counts)
        child_indices = np.arange(end_indices[-1] if len(end_indices) else 0) - np.repeat(
            end_indices - child_counts, child_counts
        )
        return np.repeat(walkers, child_counts), self.children[
            np.repeat(first_children, child_counts) + child_indices
        ]


@dataclass(frozen=True, slots=True)
class Forces:
    """Results of walks through the tree.

    Parameters
    ----------
    bodies : whose forces were computed
    acceleration : of each
    interactions : with cells and bodies, of each
    is_visited : whether any of them read a node
    """

    bodies: Numbers
    acceleration: Vectors
    interactions: Numbers
    is_visited: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Level:
    """The cells of one level: consecutive bodies in the tree's order, and the second body inserted
    in each cell.
    """

    starts: Numbers
    ends: Numbers
    second_bodies: Numbers


def _morton_keys(coordinates: Vectors) -> Numbers:
    """Return Morton keys: the interleaved bits of three coordinates in [0, 1)."""
    grid_coordinates = (coordinates * (1 << MOST_LEVELS)).astype(np.int64)
    keys = np.zeros(len(coordinates), np.int64)
    for bit_index in range(MOST_LEVELS):
        for axis in range(3):
            keys |= (grid_coordinates[:, axis] >> bit_index & 1) << (3 * bit_index + axis)
    return keys


def _cells_by_level(keys: Numbers, body_order: Numbers) -> Iterator[_Level]:
    """Yield the cells of each level, from the root down, until every body is alone."""
    for level_number in range(MOST_LEVELS):
        box_numbers = keys >> 3 * (MOST_LEVELS - level_number)
        starts = np.flatnonzero(np.diff(box_numbers, prepend=-1))
        ends = np.append(starts[1:], len(keys))
        has_several_bodies = ends - starts > 1
        if not has_several_bodies.any():
            return
        yield _Level(
            starts[has_several_bodies],
            ends[has_several_bodies],
            _second_bodies(body_order, starts, ends)[has_several_bodies],
        )


def _second_bodies(body_order: Numbers, starts: Numbers, ends: Numbers) -> Numbers:
    """Return for each cell the number of the body that was inserted second."""
    first_bodies = np.minimum.reduceat(body_order, starts)
    later_bodies = np.where(
        body_order == np.repeat(first_bodies, ends - starts), len(body_order), body_order
    )
    second_bodies: Numbers = np.minimum.reduceat(later_bodies, starts)
    return second_bodies


def _assemble(
    places: Vectors, cube_side: float, body_order: Numbers, levels: list[_Level]
) -> Octree:
    """Return the tree from its levels."""
    body_count = len(body_order)
    depths = np.repeat(np.arange(len(levels)), [len(level.starts) for level in levels])
    starts, ends, second_bodies = (
        np.concatenate([getattr(level, name) for level in levels])
        for name in ("starts", "ends", "second_bodies")
    )
    order_of_nodes = np.lexsort((depths, second_bodies))
    parents, deepest_cells = _parents_and_deepest_cells(
        body_count, body_order, levels, np.argsort(order_of_nodes)
    )
    children = np.argsort(parents, kind="stable")[1:]
    first_child_indices = np.searchsorted(parents[children], np.arange(len(starts) + 1))
    position_sums = np.concatenate((np.zeros((1, 3)), np.cumsum(places[body_order], axis=0)))
    mean_positions = ((position_sums[ends] - position_sums[starts]) / (ends - starts)[:, None])[
        order_of_nodes
    ]
    node_masses = (
        np.concatenate(((ends - starts)[order_of_nodes], np.ones(body_count))) / body_count
    )
    cell_sides = np.ldexp(cube_side, -depths[order_of_nodes])
    depth_by_body = depths[order_of_nodes][deepest_cells] + 1
    return Octree(
        len(starts),
        body_order,
        depth_by_body,
        cell_sides,
        np.concatenate((mean_positions, places)),
        node_masses,
        first_child_indices,
        children,
    )


def _parents_and_deepest_cells(
    body_count: int, body_order: Numbers, levels: list[_Level], cell_numbers: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the parent of each node, -1 for the root, and the deepest cell around each body."""
    innermost_cells = np.full(body_count, -1)
    parents = np.full(len(cell_numbers) + body_count, -1)
    first_cell_index = 0
    for level in levels:
        children = cell_numbers[first_cell_index : first_cell_index + len(level.starts)]
        parents[children] = innermost_cells[level.starts]
        innermost_cells[_indices_of_runs(level.starts, level.ends)] = np.repeat(
            children, level.ends - level.starts
        )
        first_cell_index += len(level.starts)
    parents[len(cell_numbers) + body_order] = innermost_cells
    return parents, parents[len(cell_numbers) :]


def _indices_of_runs(starts: Numbers, ends: Numbers) -> Numbers:
    """Return the indices of all runs one after the other; a run has the indices from its start up
    to, but without, its end.
    """
    lengths = ends - starts
    indices: Numbers = np.arange(int(lengths.sum())) + np.repeat(
        starts + lengths - np.cumsum(lengths), lengths
    )
    return indices

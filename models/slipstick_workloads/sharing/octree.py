"""The octree of Barnes and Hut: cells of bodies, and the cells that the force on a body needs.

A cell with more than one body is divided in eight; a body by itself is a leaf. Cells are numbered
as a program that inserts one body after the other makes them: a cell is made when its second body
is inserted, so cells are in the order of these bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError

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
    cells : how many
    order : bodies in the tree's order, depth first
    depth : cells on the way to each body
    size : side of each cell
    centre : of mass, of each node
    mass : of each node
    first_child, children : the children of cell k are children[first_child[k]:first_child[k + 1]]
    """

    cells: int
    order: Numbers
    depth: Numbers
    size: Vectors
    centre: Vectors
    mass: Vectors
    first_child: Numbers
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
        order = np.argsort(keys, kind="stable")
        if (np.diff(keys[order]) == 0).any():
            raise ModelError("two bodies are in one place, as far as an octree can tell")
        levels = list(_cells_by_level(keys[order], order))
        return _assemble(places, cube_side, order, levels)

    def forces(self, bodies: Numbers, tolerance: float) -> Iterator[Forces]:
        """Yield the forces on bodies, `BODIES_AT_ONCE` at a time. A cell is opened unless its side
        over its distance is below the tolerance.
        """
        for chunk_start in range(0, len(bodies), BODIES_AT_ONCE):
            yield self._walk(bodies[chunk_start : chunk_start + BODIES_AT_ONCE], tolerance)

    def _walk(self, bodies: Numbers, tolerance: float) -> Forces:
        """Return the forces on some bodies, by a walk through the tree for each."""
        body_count = len(bodies)
        places = self.centre[self.cells + bodies]
        acceleration = np.zeros((body_count, 3))
        interactions = np.zeros(body_count, np.int64)
        is_visited = np.zeros(len(self.mass), np.bool_)
        walker = np.arange(body_count)
        node = np.zeros(body_count, np.int64)
        while len(node):
            is_visited[node] = True
            distance_vectors = self.centre[node] - places[walker]
            squared_distance = np.einsum("ij,ij->i", distance_vectors, distance_vectors)
            cell_side = np.where(
                node < self.cells, self.size[np.minimum(node, self.cells - 1)], 0.0
            )
            is_opened = cell_side**2 >= tolerance**2 * squared_distance
            is_opened &= node < self.cells
            is_used = ~is_opened & (node != self.cells + bodies[walker])
            pull = (
                self.mass[node[is_used]] * (squared_distance[is_used] + SOFTENING_LENGTH**2) ** -1.5
            )
            for axis in range(3):
                acceleration[:, axis] += np.bincount(
                    walker[is_used], pull * distance_vectors[is_used, axis], body_count
                )
            interactions += np.bincount(walker[is_used], minlength=body_count)
            walker, node = self._children_of_opened(walker[is_opened], node[is_opened])
        return Forces(bodies, acceleration, interactions, is_visited)

    def _children_of_opened(self, walker: Numbers, node: Numbers) -> tuple[Numbers, Numbers]:
        """Return the children of opened cells, each with the walker that opened its parent."""
        first_children = self.first_child[node]
        child_counts = self.first_child[node + 1] - self.first_child[node]
        last_walks = np.cumsum(child_counts)
        child_indices = np.arange(last_walks[-1] if len(last_walks) else 0) - np.repeat(
            last_walks - child_counts, child_counts
        )
        return np.repeat(walker, child_counts), self.children[
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
    grid = (coordinates * (1 << MOST_LEVELS)).astype(np.int64)
    key = np.zeros(len(coordinates), np.int64)
    for bit_index in range(MOST_LEVELS):
        for axis in range(3):
            key |= (grid[:, axis] >> bit_index & 1) << (3 * bit_index + axis)
    return key


def _cells_by_level(keys: Numbers, order: Numbers) -> Iterator[_Level]:
    """Yield the cells of each level, from the root down, until every body is alone."""
    for level in range(MOST_LEVELS):
        box = keys >> 3 * (MOST_LEVELS - level)
        starts = np.flatnonzero(np.diff(box, prepend=-1))
        ends = np.append(starts[1:], len(keys))
        has_several = ends - starts > 1
        if not has_several.any():
            return
        yield _Level(
            starts[has_several], ends[has_several], _second_bodies(order, starts, ends)[has_several]
        )


def _second_bodies(order: Numbers, starts: Numbers, ends: Numbers) -> Numbers:
    """Return for each cell the number of the body that was inserted second."""
    smallest = np.minimum.reduceat(order, starts)
    without_smallest = np.where(order == np.repeat(smallest, ends - starts), len(order), order)
    second: Numbers = np.minimum.reduceat(without_smallest, starts)
    return second


def _assemble(places: Vectors, cube_side: float, order: Numbers, levels: list[_Level]) -> Octree:
    """Return the tree from its levels."""
    bodies = len(order)
    depths = np.repeat(np.arange(len(levels)), [len(level.starts) for level in levels])
    starts, ends, second_bodies = (
        np.concatenate([getattr(level, name) for level in levels])
        for name in ("starts", "ends", "second_bodies")
    )
    order_of_nodes = np.lexsort((depths, second_bodies))
    parents, deepest = _parent_of_nodes(bodies, order, levels, np.argsort(order_of_nodes))
    children = np.argsort(parents, kind="stable")[1:]
    first_child = np.searchsorted(parents[children], np.arange(len(starts) + 1))
    position_sums = np.concatenate((np.zeros((1, 3)), np.cumsum(places[order], axis=0)))
    mean_positions = ((position_sums[ends] - position_sums[starts]) / (ends - starts)[:, None])[
        order_of_nodes
    ]
    mass = np.concatenate(((ends - starts)[order_of_nodes], np.ones(bodies))) / bodies
    size = np.ldexp(cube_side, -depths[order_of_nodes])
    depth = depths[order_of_nodes][deepest] + 1
    return Octree(
        len(starts),
        order,
        depth,
        size,
        np.concatenate((mean_positions, places)),
        mass,
        first_child,
        children,
    )


def _parent_of_nodes(
    bodies: int, order: Numbers, levels: list[_Level], cell_numbers: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the parent of each node, -1 for the root, and the deepest cell around each body."""
    innermost_cell = np.full(bodies, -1)
    parents = np.full(len(cell_numbers) + bodies, -1)
    offset = 0
    for level in levels:
        children = cell_numbers[offset : offset + len(level.starts)]
        parents[children] = innermost_cell[level.starts]
        innermost_cell[_indices_of_runs(level.starts, level.ends)] = np.repeat(
            children, level.ends - level.starts
        )
        offset += len(level.starts)
    parents[len(cell_numbers) + order] = innermost_cell
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

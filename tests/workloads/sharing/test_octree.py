"""The octree against one that inserts bodies one by one; its forces against the sum over all
pairs.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick_workloads.sharing.barnes import plummer
from slipstick_workloads.sharing.octree import SOFTENING_LENGTH, Octree


class Inserted:
    """The tree as a program makes it: cells get numbers as they come to be."""

    def __init__(self, places: NDArray[np.float64]) -> None:
        corner, side = places.min(axis=0), float(np.ptp(places, axis=0).max()) * 1.001
        self.unit = (places - corner) / side
        self.cells: list[list[tuple[str, int] | None]] = [[None] * 8]
        self.depth = [0] * len(places)
        for body in range(len(places)):
            self.insert(body)

    def octant(self, body: int, level: int) -> int:
        bits = [int(each * 2 ** (level + 1)) & 1 for each in self.unit[body]]
        return bits[0] + 2 * bits[1] + 4 * bits[2]

    def insert(self, body: int) -> None:
        cell, level = 0, 0
        while True:
            octant = self.octant(body, level)
            there = self.cells[cell][octant]
            if there is None:
                self.cells[cell][octant] = ("body", body)
                return
            kind, number = there
            if kind == "body":
                self.cells.append([None] * 8)
                self.cells[cell][octant] = ("cell", len(self.cells) - 1)
                self.cells[-1][self.octant(number, level + 1)] = ("body", number)
                number = len(self.cells) - 1
            cell, level = number, level + 1


def sets(tree: Octree) -> list[set[tuple[str, int]]]:
    nodes = [
        tree.children[tree.first_child_indices[k] : tree.first_child_indices[k + 1]].tolist()
        for k in range(tree.cell_count)
    ]
    return [
        {("cell", n) if n < tree.cell_count else ("body", n - tree.cell_count) for n in each}
        for each in nodes
    ]


@given(st.integers(2, 120), st.integers(0, 1000))
def test_cells_are_numbered_as_bodies_are_inserted(bodies: int, seed: int) -> None:
    places, _ = plummer(bodies, seed)
    tree, other = Octree.from_places(places), Inserted(places)
    assert sets(tree) == [{child for child in cell if child} for cell in other.cells]
    assert tree.node_masses[0] == pytest.approx(1)
    assert tree.node_centres[0] == pytest.approx(places.mean(axis=0))
    assert sorted(tree.body_order.tolist()) == list(range(bodies))
    below = {child: cell for cell, children in enumerate(sets(tree)) for child in children}
    for body in range(bodies):
        node, depth = ("body", body), 0
        while node in below:
            node, depth = ("cell", below[node]), depth + 1
        assert depth == tree.depth_by_body[body]


def direct(places: NDArray[np.float64]) -> NDArray[np.float64]:
    apart = places[None] - places[:, None]
    square = (apart**2).sum(axis=2) + SOFTENING_LENGTH**2
    pulls: NDArray[np.float64] = (apart * square[:, :, None] ** -1.5).sum(axis=1) / len(places)
    return pulls


def walked(tree: Octree, bodies: int, tolerance: float) -> tuple[NDArray[np.float64], int]:
    parts = list(tree.forces(np.arange(bodies), tolerance))
    return np.concatenate([each.acceleration for each in parts]), sum(
        int(each.interactions.sum()) for each in parts
    )


@pytest.mark.turns(4)
def test_forces_approach_the_sum_over_all_pairs() -> None:
    places, _ = plummer(600, seed=3)
    tree, exact = Octree.from_places(places), direct(places)
    none, pairs = walked(tree, 600, 1e-9)
    assert none == pytest.approx(exact, rel=1e-9, abs=1e-12)
    assert pairs == 600 * 599
    misses, numbers = [], []
    for tolerance in (1.0, 0.57, 0.3):
        found, number = walked(tree, 600, tolerance)
        misses.append(float(np.linalg.norm(found - exact) / np.linalg.norm(exact)))
        numbers.append(number)
    assert misses[0] < 0.05
    assert misses == sorted(misses, reverse=True)
    assert numbers == sorted(numbers)


def test_half_of_plummer_s_mass_is_within_its_radius() -> None:
    places, velocities = plummer(20_000, seed=5)
    radius = np.linalg.norm(places, axis=1) / (3 * np.pi / 16)
    for within in (0.5, 1.0, 2.0):
        share = within**3 * (1 + within**2) ** -1.5 / 0.999
        assert (radius < within).mean() == pytest.approx(share, abs=0.015)
    assert 0.5 * (velocities**2).sum(axis=1).mean() == pytest.approx(0.25, rel=0.03)


def test_two_bodies_in_one_place_are_refused() -> None:
    with pytest.raises(
        ModelError, match="two bodies are in one place, as far as an octree can tell"
    ):
        Octree.from_places(np.array([[0.0, 0, 0], [1, 1, 1], [1, 1, 1]]))

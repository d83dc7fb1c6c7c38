"""Barnes: bodies under gravity; one processor builds the tree, all read it, each writes its own
bodies.

A time step has two phases. In `tree`, processor 0 reads the places of all bodies and writes the
cells of a new octree. In `forces`, each processor takes the next zone of bodies in the tree's order
that cost an equal part of the last step's interactions, walks the tree for each, writes its
acceleration, potential and cost, and moves its bodies without a barrier in between, as the program
of SPLASH-2 does. So one diff has the places, velocities and results of a step: with a barrier, a
page of two writers becomes invalid between the two, and a fault moves half as many bytes. Faults
alternate between processor 0 and all others. If bodies lie in the order in which they were drawn,
those of every processor are spread over all pages: false sharing, and a fault sends requests to all
processors. If they lie in the order of the first tree, most pages have one writer.

The bodies start in Plummer's sphere and move. A body has 104 B, a cell 80 B, as 32-bit addresses
give them. Chosen here: 4 time steps, where the counts that ship have more, fitted to a printed
time; bodies in the tree's order, since the paper has diffs of over 3 KB in the mean and few parts,
where scattered bodies give 300 B and seven parts. As bodies move they leave the order of the first
tree; with `sorted_again` processor 0 moves them into that of each tree. One unit of work is a cell
or body that a force counts, or one level that a body descends while the tree is built.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slipstick.late import dataclass
from slipstick_workloads import START
from slipstick_workloads.release_consistency.accesses import Access, Arrive, Compute, SharedProgram
from slipstick_workloads.sharing.layout import Items, MemoryLayout, SharedArray
from slipstick_workloads.sharing.octree import Octree, Vectors

DRAWN_MASS_SHARE = 0.999
"""Part of the mass inside which bodies are drawn; the tail beyond is cut off, as is usual."""


def plummer(bodies: int, seed: int) -> tuple[Vectors, Vectors]:
    r"""Draw the places and the velocities of bodies in Plummer's sphere, in units in which G = M =
    1 and E = -1/4.

    The mass within radius r is m = r^3 (1 + r^2)^(-3/2), so r = (m^(-2/3) - 1)^(-1/2); the speed is
    q times that of escape, with the density of q proportional to q^2 (1 - q^2)^(7/2). Lengths are
    then scaled by 3 pi/16.

    Parameters
    ----------
    bodies : how many
    seed : of the draw

    Source: Aarseth, Henon, Wielen, Astronomy and Astrophysics 37, 1974, 183-187.

    >>> places, velocities = plummer(2000, seed=1)
    >>> kinetic = 0.5 * (velocities**2).sum(axis=1).mean()
    >>> print(f"{kinetic:.1f}")  # 1/4 in the mean
    0.2
    """
    generator = np.random.default_rng([seed])
    radii = (generator.uniform(0, DRAWN_MASS_SHARE, bodies) ** (-2 / 3) - 1) ** -0.5
    speeds = _escape_speed_shares(generator, bodies) * np.sqrt(2.0) * (1 + radii**2) ** -0.25
    length_scale = 3 * np.pi / 16
    places = _directions(generator, bodies) * (radii * length_scale)[:, None]
    velocities = _directions(generator, bodies) * (speeds / np.sqrt(length_scale))[:, None]
    return places - places.mean(axis=0), velocities - velocities.mean(axis=0)


def _escape_speed_shares(generator: np.random.Generator, bodies: int) -> Vectors:
    """Draw speeds as shares of the speed of escape, by rejection under a maximum of 0.1."""
    shares = np.empty(0)
    while len(shares) < bodies:
        candidates = generator.uniform(0, 1, 4 * bodies)
        heights = generator.uniform(0, 0.1, 4 * bodies)
        shares = np.append(shares, candidates[heights < candidates**2 * (1 - candidates**2) ** 3.5])
    return shares[:bodies]


def _directions(generator: np.random.Generator, bodies: int) -> Vectors:
    """Draw random unit vectors for bodies."""
    axial_components = generator.uniform(-1, 1, bodies)
    angles = generator.uniform(0, 2 * np.pi, bodies)
    radial_components = np.sqrt(1 - axial_components**2)
    return np.stack(
        (radial_components * np.cos(angles), radial_components * np.sin(angles), axial_components),
        axis=1,
    )


BODY_BYTES = 104
CELL_BYTES = 80
PLACE_FIELD = (16, 24)
VELOCITY_FIELD = (40, 24)
RESULT_FIELD = (64, 40)
TIME_STEP = 0.025
CELLS_PER_BODY = 2


def barnes(
    processors: int = 8,
    bodies: int = 16384,
    tolerance: float = 0.57,
    steps: int = 4,
    scattered: bool = False,
    sorted_again: bool = False,
    page: int = 4096,
    seed: int = 1,
) -> SharedProgram:
    """Return a program that simulates bodies under gravity by the method of Barnes and Hut.

    Parameters
    ----------
    processors : each with a zone of bodies of equal cost
    bodies : in Plummer's sphere
    tolerance : a cell is opened unless its side is less than this part of its distance
    steps : of time
    scattered : bodies lie in shared memory in the order drawn, not that of the first tree
    sorted_again : processor 0 moves the bodies into the order of each tree that it builds
    page : its size [B]
    seed : of the bodies

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (16,384 particles
    with 0.57, 32,768 with 0.67); Singh, Hennessy, Gupta, ACM Trans. Computer Systems 13(2), 1995,
    for zones of cost; Woo and others, The SPLASH-2 programs, ISCA 1995, for the order of work.

    >>> from slipstick_workloads.release_consistency.run import run
    >>> counts = run(barnes(processors=4, bodies=256, steps=1)).without("start-up")
    >>> [phase.name for phase in counts.phases]
    ['tree', 'forces']
    """
    layout = MemoryLayout(page)
    body_records = layout.array(bodies, BODY_BYTES)
    cell_records = layout.array(CELLS_PER_BODY * bodies, CELL_BYTES)
    initial_bodies = _initial_bodies(bodies, scattered, seed)
    movement = _Movement(initial_bodies, tolerance, processors, sorted_again)

    def accesses_of_processor(processor: int) -> Iterator[Access]:
        """Yield the accesses of one processor."""
        if processor == 0:
            yield body_records.write_span(0, bodies)
        yield Arrive(START)
        for step_index in range(steps):
            step = movement.step(step_index)
            if processor == 0:
                yield body_records.read_span(0, bodies)
                if len(step.moved_bodies):
                    yield body_records.write(step.moved_bodies)
                yield cell_records.write_span(0, step.cell_count)
                yield Compute(step.level_count)
            yield Arrive("tree")
            yield from _force_phase(body_records, cell_records, step.zones[processor])
            yield Arrive("forces")

    return SharedProgram(
        "Barnes",
        processors,
        layout.pages,
        accesses_of_processor,
        "interactions",
        layout.words_per_page,
    )


def _initial_bodies(bodies: int, scattered: bool, seed: int) -> tuple[Vectors, Vectors]:
    """Return the places and the velocities of the bodies at the start; unless `scattered`, in the
    order of the first tree.
    """
    places, velocities = plummer(bodies, seed)
    if scattered:
        return places, velocities
    body_order = Octree.from_places(places).body_order
    return places[body_order], velocities[body_order]


def _force_phase(records: SharedArray, cells: SharedArray, zone: _Zone) -> Iterator[Access]:
    """Yield the accesses of a processor in the force phase."""
    yield cells.read(zone.cells)
    yield records.read(np.union1d(zone.bodies_read, zone.bodies))
    yield Compute(zone.interactions)
    yield records.write(zone.bodies, PLACE_FIELD, VELOCITY_FIELD, RESULT_FIELD)


@dataclass(frozen=True, slots=True)
class _Zone:
    """Work of one processor in the force phase.

    Parameters
    ----------
    bodies : its own
    bodies_read : in this phase
    cells : that it reads
    interactions : that it computes
    """

    bodies: Items
    bodies_read: Items
    cells: Items
    interactions: int


@dataclass(frozen=True, slots=True)
class _TimeStep:
    """One time step: the bodies that get another place in shared memory, the number of cells, the
    levels descended while they were built, and the work of each processor.
    """

    moved_bodies: Items
    cell_count: int
    level_count: int
    zones: list[_Zone]


class _Movement:
    """The movement of the bodies; each step is computed once, when a processor first needs it."""

    def __init__(
        self,
        bodies: tuple[Vectors, Vectors],
        tolerance: float,
        processors: int,
        sorted_again: bool = False,
    ) -> None:
        self.places, self.velocities = bodies
        self.sorted_again = sorted_again
        self.tolerance = tolerance
        self.processors = processors
        self.steps: list[_TimeStep] = []
        self.cost_by_body = np.ones(len(self.places), np.int64)

    def step(self, index: int) -> _TimeStep:
        """Return the time step with an index, after computing all steps up to it."""
        while len(self.steps) <= index:
            self.steps.append(self._next_step())
        return self.steps[index]

    def _next_step(self) -> _TimeStep:
        """Compute the next time step, and move the bodies."""
        tree = Octree.from_places(self.places)
        moved_bodies = np.empty(0, np.int64)
        if self.sorted_again:
            moved_bodies = np.flatnonzero(tree.body_order != np.arange(len(tree.body_order)))
            self.places = self.places[tree.body_order]
            self.velocities = self.velocities[tree.body_order]
            self.cost_by_body = self.cost_by_body[tree.body_order]
            tree = Octree.from_places(self.places)
        accelerations = np.zeros_like(self.places)
        zones = [
            self._zone_work(tree, own_bodies, accelerations)
            for own_bodies in self._zone_bodies(tree)
        ]
        self.velocities += accelerations * TIME_STEP
        self.places = self.places + self.velocities * TIME_STEP
        return _TimeStep(moved_bodies, tree.cell_count, int(tree.depth_by_body.sum()), zones)

    def _zone_bodies(self, tree: Octree) -> list[Items]:
        """Return the bodies of each processor: consecutive bodies in the tree's order with an equal
        cost.
        """
        cost_before = (
            np.cumsum(self.cost_by_body[tree.body_order]) - self.cost_by_body[tree.body_order]
        )
        zone_of_position = cost_before * self.processors // self.cost_by_body.sum()
        return [
            tree.body_order[zone_of_position == zone_number]
            for zone_number in range(self.processors)
        ]

    def _zone_work(self, tree: Octree, own_bodies: Items, accelerations: Vectors) -> _Zone:
        """Return the work of a processor in the force phase, and store the acceleration of its
        bodies.
        """
        is_visited = np.zeros(len(tree.node_masses), np.bool_)
        interaction_count = 0
        for force in tree.forces(own_bodies, self.tolerance):
            accelerations[force.bodies] = force.acceleration
            self.cost_by_body[force.bodies] = force.interactions
            is_visited |= force.is_visited
            interaction_count += int(force.interactions.sum())
        bodies_read = np.flatnonzero(is_visited[tree.cell_count :])
        return _Zone(
            np.sort(own_bodies),
            bodies_read,
            np.flatnonzero(is_visited[: tree.cell_count]),
            interaction_count,
        )

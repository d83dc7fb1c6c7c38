"""Water: molecules in a liquid; forces between pairs are added to both molecules, each under its
own lock.

A processor owns a run of molecules. For each it computes the pairs with the half of all others that
follow, as far as they are within the cut-off (half the box, periodic), and sums the forces
privately; then it adds them to every molecule concerned, own or not, under that molecule's lock:
records of 600 B migrate, and several share a page. Sums over all molecules (virial, kinetic and
potential energy) have locks of their own.

A record holds 8 derivatives of the positions of 3 atoms in 3 directions, and the molecule's centre.
Each time step: predict (own molecules), forces, correct (own molecules), potential (read all within
the cut-off). The molecules start on a jittered lattice and diffuse at random.

Not printed in the paper and chosen here: 3 steps, where the counts that ship have 11, fitted to a
printed time; forces summed privately first, as TreadMarks's version has it; the record's size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from slipstick.late import dataclass
from slipstick_workloads import START
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Release,
    SharedProgram,
)
from slipstick_workloads.sharing.layout import Items, MemoryLayout, SharedArray, items_of_processor

DOUBLE_BYTES = 8
DERIVATIVES = 8
ATOMS = 3
DIRECTIONS = 3
DERIVATIVE_BYTES = ATOMS * DIRECTIONS * DOUBLE_BYTES
RECORD_BYTES = DERIVATIVES * DERIVATIVE_BYTES + DIRECTIONS * DOUBLE_BYTES
MOTION_FIELD = (0, 7 * DERIVATIVE_BYTES)
FORCE_FIELD = (7 * DERIVATIVE_BYTES, DERIVATIVE_BYTES)
CENTRE_FIELD = (8 * DERIVATIVE_BYTES, DIRECTIONS * DOUBLE_BYTES)
LOCK_OF_SUM = {"virial": 0, "kinetic": 1, "potential": 2}
LATTICE_JITTER = 0.2
STEP_DEVIATION = 0.02


def water(
    processors: int = 8,
    molecules: int = 1000,
    steps: int = 3,
    cut_off: float = 0.5,
    page: int = 4096,
    seed: int = 1,
    message: float = 36,
) -> SharedProgram:
    """Return a program that simulates water molecules.

    Parameters
    ----------
    processors : each with a run of molecules
    molecules : in a periodic cube
    steps : of time
    cut_off : distance within which pairs interact, as a part of the cube's side
    page : its size [B]
    seed : of the molecules' places
    message : pairs computed in the time of a message, for the clock that orders requests for locks

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (1000 molecules);
    Singh, Weber, Gupta, SPLASH, Computer Architecture News 20(1), 1992, for the program.

    >>> from slipstick_workloads.release_consistency.run import run
    >>> counts = run(water(processors=4, molecules=27, steps=1))
    >>> [phase.name for phase in counts.phases]
    ['start-up', 'predict', 'forces', 'correct', 'potential']
    """
    layout = MemoryLayout(page)
    records = layout.array(molecules, RECORD_BYTES)
    sum_array = layout.array(len(LOCK_OF_SUM), DOUBLE_BYTES)
    places_by_step = _places_by_step(molecules, steps, seed)
    pairs_by_step = [_Pairs(places_of_step, cut_off) for places_of_step in places_by_step]

    def accesses_of_processor(processor: int) -> Iterator[Access]:
        """Yield the accesses of one processor."""
        first_molecule, end_molecule = items_of_processor(molecules, processors, processor)
        own_items = np.arange(first_molecule, end_molecule)
        if processor == 0:
            yield records.write_span(0, molecules)
            yield sum_array.write_span(0, len(LOCK_OF_SUM))
        yield Arrive(START)
        for step in range(steps):
            yield from _move_own_molecules(records, own_items)
            yield Arrive("predict")
            yield from _force_phase(records, own_items, pairs_by_step[step])
            yield from _add_to_sum("virial", sum_array, molecules)
            yield Arrive("forces")
            yield from _move_own_molecules(records, own_items)
            yield from _add_to_sum("kinetic", sum_array, molecules)
            yield Arrive("correct")
            yield records.read(pairs_by_step[step].molecules_in_pairs(own_items))
            yield Compute(pairs_by_step[step].pair_count(own_items))
            yield from _add_to_sum("potential", sum_array, molecules)
            yield Arrive("potential")

    return SharedProgram(
        "Water",
        processors,
        layout.pages,
        accesses_of_processor,
        "pairs of molecules",
        layout.words_per_page,
        message,
    )


def _move_own_molecules(records: SharedArray, own_items: Items) -> Iterator[Access]:
    """Yield the accesses that move a processor's molecules by their derivatives, and clear or use
    their forces.
    """
    yield records.read(own_items)
    yield records.write(own_items, MOTION_FIELD, FORCE_FIELD, CENTRE_FIELD)
    yield Compute(len(own_items))


def _force_phase(records: SharedArray, own_items: Items, pairs: _Pairs) -> Iterator[Access]:
    """Yield the accesses of a processor in the force phase."""
    molecules_in_pairs = pairs.molecules_in_pairs(own_items)
    yield records.read(molecules_in_pairs)
    yield Compute(pairs.pair_count(own_items))
    molecules_in_order = molecules_in_pairs[
        np.argsort((molecules_in_pairs - own_items[0]) % pairs.molecule_count)
    ]
    for molecule in molecules_in_order.tolist():
        molecule_item = np.array([molecule])
        yield Acquire(molecule)
        yield records.read(molecule_item)
        yield records.write(molecule_item, FORCE_FIELD)
        yield Release(molecule)
        yield Compute(0)


def _add_to_sum(name: str, sum_array: SharedArray, molecules: int) -> Iterator[Access]:
    """Yield the accesses that add to a sum over all molecules, under its lock."""
    sum_item = np.array([LOCK_OF_SUM[name]])
    yield Acquire(molecules + LOCK_OF_SUM[name])
    yield sum_array.read(sum_item)
    yield sum_array.write(sum_item)
    yield Release(molecules + LOCK_OF_SUM[name])


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The interacting pairs of molecules: each molecule with the molecules near enough among the
    following half of all others.
    """

    places: NDArray[np.float64]
    cut_off: float

    @property
    def molecule_count(self) -> int:
        """The number of molecules."""
        return len(self.places)

    def pair_count(self, own_items: Items) -> int:
        """Return the number of pairs that the given molecules compute."""
        return int(self._is_near(own_items).sum())

    def molecules_in_pairs(self, own_items: Items) -> Items:
        """Return all molecules in the pairs that the given molecules compute."""
        is_near = self._is_near(own_items)
        partners = self._partners(own_items)[is_near]
        return np.unique(np.concatenate((own_items[is_near.any(axis=1)], partners)))

    def _partners(self, own_items: Items) -> Items:
        """Return, for each given molecule, the next molecules by number: half of all others."""
        return (
            own_items[:, None] + np.arange(1, self.molecule_count // 2 + 1)
        ) % self.molecule_count

    def _is_near(self, own_items: Items) -> NDArray[np.bool_]:
        """Return which partners of the given molecules are within the cut-off."""
        partners = self._partners(own_items)
        distances = np.abs(self.places[own_items][:, None, :] - self.places[partners])
        distances = np.minimum(distances, 1 - distances)
        is_near: NDArray[np.bool_] = (distances**2).sum(axis=2) < self.cut_off**2
        if (
            self.molecule_count % 2 == 0
        ):  # the molecule exactly opposite is counted from one side only
            is_near[own_items >= self.molecule_count // 2, -1] = False
        return is_near


def _places_by_step(molecules: int, steps: int, seed: int) -> list[NDArray[np.float64]]:
    """Return the places of the molecules in each step, in a cube of side 1."""
    generator = np.random.default_rng([seed])
    lattice_side = round(molecules ** (1 / 3) + 0.4999)
    lattice = (
        np.stack(
            np.unravel_index(np.arange(molecules), (lattice_side, lattice_side, lattice_side)),
            axis=1,
        )
        + 0.5
    )
    initial_places = lattice + generator.uniform(-LATTICE_JITTER, LATTICE_JITTER, (molecules, 3))
    drifts = np.cumsum(generator.normal(0, STEP_DEVIATION, (steps, molecules, 3)), axis=0)
    return [((initial_places + drift) / lattice_side) % 1.0 for drift in drifts]

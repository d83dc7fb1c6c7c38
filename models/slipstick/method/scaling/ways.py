"""Ways to scale: the size at each number of processors, solved through whatever form a method gives a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.kernels import Array
from slipstick.law.account import AVERAGE_LATENCY
from slipstick.law.scalability import LATENCY_SCALABILITY
from slipstick.method.answers import Answers, CompiledModel
from slipstick.method.scaling.isoefficiency import reached
from slipstick.method.scaling.overhead import ONE
from slipstick.results.study import Provenance

FIXED_SIZE, MEMORY_BOUND = "fixed-size", "memory-bound"
TIME_BOUND, EFFICIENCY_CONSERVED = "time-bound", "efficiency-conserved"
WAYS = (FIXED_SIZE, TIME_BOUND, EFFICIENCY_CONSERVED, MEMORY_BOUND)
"""How the size goes with the number of processors: not at all, or so that time, efficiency or memory is kept."""

_ROUGH = 1e-3
"""To which the logarithm of a factor is found where each point takes a simulation."""

_EXACT = 1e-12
_DOUBLINGS = 64.0

Columns = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Runs:
    """One model at any size on the numbers of processors that its forms were compiled for.

    Parameters
    ----------
    forms : (form, numbers of processors it stands for); a form that can vary N stands for all
    processors : the parameter that stands for N
    size : base value and power of each size parameter: it is base x factor^power
    against : what the work is, see `slipstick.method.scaling.overhead`
    """

    forms: Sequence[tuple[CompiledModel, Array]]
    processors: str
    size: Mapping[str, tuple[float, float]]
    against: str

    @property
    def any_number(self) -> bool:
        """Say whether N can be anything, without building the model anew."""
        return self.processors in self.forms[0][0].parameters

    @property
    def tolerance(self) -> float:
        """How closely a factor is to be solved for."""
        return _ROUGH if self.forms[0][0].block == 1 else _EXACT

    def sizes(self, factor: Array) -> dict[str, Array]:
        """Give each size parameter at a factor, in base units."""
        return {path: base * factor**power for path, (base, power) in self.size.items()}

    def columns(self, factor: Array, count: Array) -> dict[str, Array]:
        """Answer at aligned factors and numbers of processors; time and efficiency are always there.

        Columns are those of the form. Against one processor, the efficiency is T(1) / (N T(N)) at the same size.
        """
        return self._answered(factor, count)[0]

    def solved(self, factor: Array, count: Array) -> tuple[dict[str, Array], Provenance]:
        """Give the same columns, and how each point was computed."""
        found, pieces = self._answered(factor, count)
        return found, Provenance.joined(len(count), ((rows, points.provenance(len(rows))) for rows, points in pieces))

    def _answered(self, factor: Array, count: Array) -> tuple[dict[str, Array], list[tuple[NDArray[np.intp], Answers]]]:
        found, pieces = self._solved(factor, count)
        first = self.forms[0][0].quantity
        sides = [("", ""), ("low", "high"), ("high", "low")] if f"low[{first}]" in found else [("", "")]
        one = self._solved(factor, np.ones(len(count)))[0] if self.against == ONE else {}
        for end, other in sides:
            found[_end(end, "time")] = found[_end(end, first)]
            if self.against == ONE:
                # Divided by the other end: the widest that the interval of the ratio can be.
                with np.errstate(all="ignore"):
                    alone = one.get(_end(end, first), one[first])
                    found[_end(end, "efficiency")] = alone / (count * found[_end(other, first)])
        found.setdefault("efficiency", np.full(len(count), np.nan))
        return found, pieces

    def _solved(self, factor: Array, count: Array) -> tuple[dict[str, Array], list[tuple[NDArray[np.intp], Answers]]]:
        pieces: list[tuple[NDArray[np.intp], Answers]] = []
        for form, numbers in self.forms:
            mine = np.arange(len(count)) if self.any_number else np.flatnonzero(np.isin(count, numbers))
            values = {path: each for path, each in self.sizes(factor[mine]).items() if path in form.parameters}
            if self.any_number:
                values[self.processors] = count[mine]
            for cut in form.blocks(values, len(mine)):
                here = {path: each[cut] for path, each in values.items()}
                pieces.append((mine[cut], form.points(here)))
        blocks = [(rows, points.columns()) for rows, points in pieces]
        found = {name: np.full(len(count), np.nan) for _, columns in blocks for name in columns}
        for rows, columns in blocks:
            for name, column in columns.items():
                found[name][rows] = column
        return found, pieces


def _end(end: str, name: str) -> str:
    return f"{end}[{name}]" if end else name


def factors(
    runs: Runs, way: str, count: Array, goal: float = 0.0, memory: Callable[[Array, Array], Array] | None = None
) -> Array:
    """Solve for the factor on the size at each number of processors.

    Parameters
    ----------
    runs : the model
    way : how the size goes with N
    count : numbers of processors
    goal : what is kept: the time [s], the efficiency [1], or the memory of a processor [B]
    memory : memory of a processor, of the factor and N [B]

    Returns
    -------
    the factor nearest to 1; not a number where none between 2^-64 and 2^64 keeps what is to be kept
    """
    if way == FIXED_SIZE:
        return np.ones(len(count))

    def missing(x: Array, each: Array) -> Array:
        with np.errstate(all="ignore"):
            if way == MEMORY_BOUND:
                assert memory is not None
                return memory(2.0**x, each) / goal - 1.0
            columns = runs.columns(2.0**x, each)
            return columns["time"] / goal - 1.0 if way == TIME_BOUND else columns["efficiency"] / goal - 1.0

    tolerance = _EXACT if way == MEMORY_BOUND else runs.tolerance
    return np.asarray(2.0 ** reached(missing, count, tolerance=tolerance, furthest=_DOUBLINGS))


def scalability(time: Array, efficiency: Array) -> Array:
    """Give the latency metric L(N) / L(N') for each pair of runs with N' > N, an upper triangle; the rest is not a number.

    Parameters
    ----------
    time, efficiency : of each run, by rising number of processors

    Notes
    -----
    With L = T (1 - E) it is (4) of Scale-Graph, IEEE TSE 1997, where E is kept, and (12) where T is. A run without
    latency, such as one on one processor, has nothing to compare.

    >>> scalability(np.array([100.0, 100.0]), np.array([0.5, 0.39])).round(2)
    array([[ nan, 0.82],
           [ nan,  nan]])
    """
    latency = AVERAGE_LATENCY.equation(time, efficiency)
    table = np.full((len(time), len(time)), np.nan)
    with np.errstate(all="ignore"):
        ratio = np.where(latency > 0, latency, np.nan)
        rows, columns = np.triu_indices(len(time), 1)
        table[rows, columns] = LATENCY_SCALABILITY.equation(ratio[rows], ratio[columns])
    return table

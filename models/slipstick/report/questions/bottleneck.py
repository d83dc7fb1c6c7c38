"""Bottlenecks: the resource that limits the throughput along an axis, and how far the system is from saturation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slipstick.report.formatting import NOTHING, code, escape, finite, markdown_table, percent, prose, quantity
from slipstick.results.study import Array, Provenance, QuestionResult
from slipstick.vocabulary import CLOSED_FORM

_READING = (
    "The resource with the largest service demand per server, D, is the bottleneck: with N customers, and T_0 the time of a "
    "cycle without waiting, the throughput X is at most N / T_0 and at most 1 / D. The two bounds meet at the saturation "
    "population N* = T_0 / D: below it the bottleneck has time to spare, above it customers queue. The utilization is X D, with the bound as X where the throughput "
    "of the method is above it."
)
_MOST_RESOURCES = 8


@dataclass(frozen=True, slots=True)
class CaseBottlenecks:
    """The bottleneck of one case along one axis; arrays run along the axis.

    Parameters
    ----------
    case : what was solved
    provenance : how each point was solved
    path, unit : what is varied, and its base unit
    values : of the axis, in base units
    population : customers N
    throughput : cycles of all customers [1/s]
    cycle : time of a cycle without waiting, T_0 [s]
    demands : service demand per server of each resource, D [s]
    failed : why a point has no answer, by its index

    >>> import numpy as np
    >>> one, two, both = np.array([1.0, 20.0]), np.array([0.1, 1.0]), np.array([10.0, 10.0])
    >>> found = CaseBottlenecks("base", Provenance(["exact"] * 2, [True] * 2), "n", "1", one, one, two, both, {"bus": np.array([1.0, 1.0])})
    >>> found.bound.tolist(), found.saturation.tolist(), found.bottlenecks
    ([0.1, 1.0], [10.0, 10.0], ('bus', 'bus'))
    """

    case: str
    provenance: Provenance
    path: str
    unit: str
    values: Array
    population: Array
    throughput: Array
    cycle: Array
    demands: Mapping[str, Array]
    failed: Mapping[int, str] = field(default_factory=dict)

    @property
    def largest(self) -> Array:
        """The largest service demand per server [s]."""
        return np.asarray(np.max(list(self.demands.values()), axis=0))

    @property
    def bottlenecks(self) -> tuple[str, ...]:
        """The resource with the largest demand at each point."""
        names = list(self.demands)
        return tuple(names[int(place)] for place in np.argmax(list(self.demands.values()), axis=0))

    @property
    def bound(self) -> Array:
        """Asymptotic upper bound on the throughput [1/s]."""
        return np.minimum(self.population / self.cycle, 1.0 / self.largest)

    @property
    def saturation(self) -> Array:
        """Saturation population N* [1]."""
        return self.cycle / self.largest

    def utilization(self, resource: str) -> Array:
        """Utilization of a resource by the utilization law, U = X D [1]; X is at most the bound."""
        return np.minimum(self.throughput, self.bound) * self.demands[resource]

    @property
    def above(self) -> Array:
        """Whether the throughput is above the bound: the method leaves waiting out, or is inexact."""
        return np.asarray(self.throughput > self.bound * (1 + 1e-9))


@dataclass(frozen=True, slots=True)
class BottleneckResult(QuestionResult):
    """The bottleneck of each case."""

    cases: tuple[CaseBottlenecks, ...]

    def section(self) -> str:
        return "\n\n".join(["## Bottlenecks", prose(_READING), *map(_part, self.cases)])

    def text(self) -> str:
        return "\n".join(f"{each.case}: {line}" for each in self.cases for line in _sentences(each))

    def document(self) -> dict[str, Any]:
        return {"bottleneck": [_document(each) for each in self.cases]}

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(each) for each in self.cases]


def _sentences(found: CaseBottlenecks) -> list[str]:
    names = found.bottlenecks
    first, last = (_value(found, index) for index in (0, -1))
    lines = [f"{names[0]} is the bottleneck for {found.path} from {first} to {last}"]
    changes = [index for index in range(1, len(names)) if names[index] != names[index - 1]]
    if changes:
        lines = [f"{names[0]} is the bottleneck for {found.path} from {first} on"]
        lines += [
            f"{names[index]} is the bottleneck from {_value(found, index)} on, "
            f"{names[index - 1]} up to {_value(found, index - 1)}"
            for index in changes
        ]
    saturated = found.population > found.saturation
    if saturated.any():
        index = int(np.argmax(saturated))
        place = f"N = {found.population[index]:g} is above N* = {found.saturation[index]:.4g}"
        lines.append(f"saturated from {found.path} = {_value(found, index)} on, where {place}")
    else:
        index = int(np.argmax(found.population / found.saturation))
        place = f"N = {found.population[index]:g}, and N* = {found.saturation[index]:.4g}"
        lines.append(f"not saturated anywhere; nearest at {found.path} = {_value(found, index)} with {place}")
    if found.above.any():
        index = int(np.argmax(found.above))
        excess = float(np.max(found.throughput[found.above] / found.bound[found.above])) - 1
        method = found.provenance.methods[index]
        advice = "; it leaves waiting out, mean-value and simulation do not" if method == CLOSED_FORM else ""
        first = f"{found.path} = {_value(found, index)}"
        lines.append(
            f"the throughput by {method} is above the bound from {first} on, by up to {percent(excess)}{advice}"
        )
    return lines


def _value(found: CaseBottlenecks, index: int) -> str:
    return quantity(float(found.values[index]), found.unit)


def _part(found: CaseBottlenecks) -> str:
    names = found.bottlenecks
    rows = [
        [
            _value(found, index),
            f"{found.population[index]:g}",
            quantity(finite(float(found.throughput[index])), "1/s") + (" (above)" if found.above[index] else ""),
            quantity(float(found.bound[index]), "1/s"),
            escape(name),
            percent(float(found.utilization(name)[index])),
            f"{found.saturation[index]:.4g}",
        ]
        for index, name in enumerate(names)
    ]
    how = found.provenance.shown(found.failed)
    rows = [[*row, *(escape(cells[index] or NOTHING) for cells in how.values())] for index, row in enumerate(rows)]
    head = [code(found.path), "N", "throughput", "at most", "bottleneck", "its utilization", "N*", *how]
    lines = "\n".join(f"- {escape(line)}" for line in _sentences(found))
    failed = "\n".join(f"- {_value(found, index)}: {escape(why)}" for index, why in found.failed.items())
    parts = [f"### {escape(found.case)} {escape(found.provenance.common)}".rstrip(), lines]
    parts += [markdown_table(head, rows, [0, 1, 2, 3, 5, 6]), failed, _resources(found)]
    return "\n\n".join(part for part in parts if part)


def _resources(found: CaseBottlenecks) -> str:
    """Compare the resources at the first and the last point, those with the largest demands first."""
    ranked = sorted(found.demands, key=lambda name: -float(np.max(found.demands[name])))[:_MOST_RESOURCES]
    rows = [[escape(name), *(_of_resource(found, name, index) for index in (0, -1))] for name in ranked]
    ends = [f"D and utilization at {_value(found, index)}" for index in (0, -1)]
    return markdown_table(["resource", *ends], rows) if rows else NOTHING


def _of_resource(found: CaseBottlenecks, name: str, index: int) -> str:
    demand, used = found.demands[name][index], found.utilization(name)[index]
    return f"{quantity(float(demand), 's')}, {percent(float(used))}"


def _document(found: CaseBottlenecks) -> dict[str, Any]:
    return {
        "case": found.case,
        "methods": list(found.provenance.methods),
        "exact": list(map(bool, found.provenance.exact)),
        "axis": {"path": found.path, "unit": found.unit, "values": found.values.tolist()},
        "population": found.population.tolist(),
        "throughput": list(map(finite, found.throughput.tolist())),
        "throughput_bound": found.bound.tolist(),
        "above_bound": found.above.tolist(),
        "bottleneck": list(found.bottlenecks),
        "demand": {name: each.tolist() for name, each in found.demands.items()},
        "utilization": {name: list(map(finite, found.utilization(name).tolist())) for name in found.demands},
        "saturation_population": found.saturation.tolist(),
        "failed": [found.failed.get(index) for index in range(len(found.values))],
    }


def _columns(found: CaseBottlenecks) -> dict[str, Any]:
    count = len(found.values)
    return {
        "sweep": ["bottleneck"] * count,
        "case": [found.case] * count,
        f"{found.path} [{found.unit}]": found.values,
        "population [1]": found.population,
        "throughput [1/s]": found.throughput,
        "throughput_bound [1/s]": found.bound,
        "above_bound": [str(bool(each)).lower() for each in found.above],
        "bottleneck": list(found.bottlenecks),
        **{f"utilization[{name}] [1]": found.utilization(name) for name in found.demands},
        "saturation_population [1]": found.saturation,
        **found.provenance.columns(found.failed),
        "failed": [found.failed.get(index) for index in range(count)],
    }

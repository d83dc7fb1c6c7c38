"""Bounds of queueing networks: one answer for each kind of bound that applies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from slipstick.answer import Answer, Value
from slipstick.errors import ModelError
from slipstick.method.closed_form.form import BLOCK
from slipstick.method.networks.arrays import Arrays, Compiled, Values
from slipstick.method.networks.measures import unit_of
from slipstick.method.networks.solvers import outside
from slipstick.model.network import QueueingNetwork
from slipstick.queueing.bounds import Bounds, asymptotic, balanced_job, geometric, proportional, saturation_population
from slipstick.queueing.network import NetworkArrays

METHOD = "bounds"

Floats = NDArray[np.float64]

KINDS: dict[str, tuple[Callable[[NetworkArrays], Bounds], str]] = {
    "asymptotic": (
        asymptotic,
        "at best one customer alone, or the slowest station always busy; at worst everybody waits for all others",
    ),
    "balanced-job": (balanced_job, "networks whose stations are all alike, slower and faster; holds in product form"),
    "proportional": (proportional, "queues in proportion to the demands, or to their powers; holds in product form"),
    "geometric": (geometric, "queues as geometric series of the demands; holds in product form"),
}
"""Each kind of bound, and what it says."""


def network_bounds(model: QueueingNetwork) -> tuple[Answer, ...]:
    """Enclose throughput and response time of every class, by every kind of bound that applies.

    From bounds of the throughput X of N customers who think for Z follow those of the response time,
    N / X - Z. Of an arriving class the throughput is known, and the response time is at least its demand.

    Parameters
    ----------
    model : the network

    Where a station has a capacity there are none, and the answer says so.

    Source: Lazowska, Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, chapter 5.
    """
    compiled = Compiled(model)
    arrays = compiled.arrays(compiled.columns({}))
    wrong = _refused(arrays)
    if wrong:
        return (Answer(model.name, f"{METHOD}/asymptotic", failed=wrong[0]),)
    found, missing = _by_kind(arrays)
    return tuple(
        Answer(
            model.name,
            f"{METHOD}/{kind}",
            values=_values(arrays, 0, low[0], high[0]),
            notes=(KINDS[kind][1], *(missing if not index else ())),
        )
        for index, (kind, (low, high)) in enumerate(found.items())
    )


def _refused(arrays: Arrays) -> dict[int, str]:
    """Say of each point without bounds why it has none."""
    network, wrong = arrays.network, outside(arrays)
    for k in np.flatnonzero(arrays.capacity):
        why = f"{network.stations[k]} has a capacity, and bounds know nobody who is lost or blocked"
        wrong.update(dict.fromkeys(range(network.points), f"{why}; ask for markov-chain or simulation"))
    closed = np.flatnonzero(network.closed)
    cycle = (network.think + network.demand.sum(axis=2))[:, closed]
    for point, c in np.argwhere((cycle == 0) & (network.population[:, closed] > 0)):
        name = network.classes[closed[c]]
        wrong[int(point)] = f"a cycle of {name} takes no time: all its demands and its think time are 0"
    return wrong


def _by_kind(arrays: Arrays) -> tuple[dict[str, Bounds], list[str]]:
    """Bound throughputs by each kind that applies (points, classes); say why others do not."""
    found, missing = {}, []
    for kind, (bounds, _) in KINDS.items():
        try:
            with np.errstate(all="ignore"):
                low, high = bounds(arrays.network)
        except ModelError as error:
            missing.append(f"no {kind} bounds: {error}")
        else:
            found[kind] = (low.real, high.real)
    return found, missing


class NetworkBoundsForm:
    """The bounds of a network compiled for many points: of all kinds that apply, the tightest.

    Parameters
    ----------
    model : the network

    >>> from slipstick.model.network import closed_class, network, station
    >>> form = NetworkBoundsForm(network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 3.0})}))
    >>> form.times({"classes.jobs.population": np.array([1.0, 2.0])})
    array([0.333, 0.333])
    """

    block = BLOCK

    def __init__(self, model: QueueingNetwork) -> None:
        self.model = model
        self.compiled = Compiled(model)
        self.quantity = f"low[throughput[{next(iter(self.compiled.chains))}]]"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied without building the network anew."""
        return tuple(self.compiled.tape.parameters)

    def unit(self, column: str) -> str:
        """Give the base unit of an end, or of a value."""
        ends = column.startswith(("low[", "high["))
        return unit_of(column.partition("[")[2][:-1] if ends else column)

    def times(self, values: Values) -> Floats:
        """Evaluate the first quantity alone."""
        return self.points(values).columns()[self.quantity]

    def points(self, values: Values) -> NetworkBoundsPoints:
        """Evaluate the bounds at aligned points."""
        return NetworkBoundsPoints(self, self.compiled.arrays(self.compiled.columns(values)))


class NetworkBoundsPoints:
    """The tightest bounds of a network at aligned points."""

    interrupted = False

    def __init__(self, form: NetworkBoundsForm, arrays: Arrays) -> None:
        self._form, self._arrays = form, arrays
        self._wrong = _refused(arrays)
        found, _ = _by_kind(arrays)
        self._kinds = tuple(found)
        self._low = np.max([low for low, _ in found.values()], axis=0)
        self._high = np.min([high for _, high in found.values()], axis=0)

    def __len__(self) -> int:
        return self._arrays.network.points

    def columns(self) -> dict[str, Floats]:
        """Give both ends of each value as columns, in base units; NaN where there is none."""
        points = [self._values(index) for index in range(len(self))]
        found = {self._form.quantity: np.full(len(self), np.nan)}
        for name in dict.fromkeys(name for each in points for name in each):
            for end in ("value", "low", "high"):
                column = np.array([_or_nan(getattr(each.get(name), end, None)) for each in points])
                if end != "value" or np.isfinite(column).any():
                    found[name if end == "value" else f"{end}[{name}]"] = column
        return found

    def limits(self) -> dict[str, list[str]]:
        """Give nothing: a network has no pipelines."""
        return {}

    def answer(
        self, index: int, point: Mapping[str, float | str] | None = None, given: Mapping[str, float | str] | None = None
    ) -> Answer:
        """Give the whole answer at one point."""
        return Answer(
            self._form.model.name,
            METHOD,
            values=self._values(index),
            notes=() if index in self._wrong else (f"the tightest of these bounds: {', '.join(self._kinds)}",),
            failed=self._wrong.get(index),
            point=point or {},
            given=given or {},
        )

    def _values(self, index: int) -> dict[str, Value]:
        return {} if index in self._wrong else _values(self._arrays, index, self._low[index], self._high[index])


def _values(arrays: Arrays, point: int, low: Floats, high: Floats) -> dict[str, Value]:
    """Say what bounds of the throughputs of all classes mean at one point."""
    network = arrays.network
    crossings = saturation_population(network)[point].real
    values = {}
    for c, name in enumerate(network.classes):
        if not network.closed[c]:
            rate, least = float(network.arrivals[point, c].real), float(network.demand[point, c].real.sum())
            values[f"throughput[{name}]"] = Value(None, "1/s", rate, rate)
            values[f"response_time[{name}]"] = Value(None, "s", least)
            continue
        size, think = float(network.population[point, c]), float(network.think[point, c].real)
        slowest, fastest = float(low[c]), float(high[c])
        values[f"throughput[{name}]"] = Value(None, "1/s", slowest, _finite(fastest))
        if size and fastest:
            least = max(0.0, size / fastest - think)
            values[f"response_time[{name}]"] = Value(None, "s", least, size / slowest - think if slowest else None)
        crossing = _finite(float(crossings[c]))
        if crossing is not None:
            values[f"saturation_population[{name}]"] = Value(crossing, "1")
    return values


def _or_nan(number: float | None) -> float:
    return math.nan if number is None else number


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None

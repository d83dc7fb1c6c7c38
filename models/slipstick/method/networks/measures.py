"""What answers say of a queueing network, as columns over points, read off arrays and a solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.model.network import Chain, OpenClass
from slipstick.queueing.network import NetworkSolution, SolutionWithLosses
from slipstick.vocabulary import DISCIPLINES

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ClassMeasures:
    """Solutions at aligned points; NaN where there is none.

    Parameters
    ----------
    throughput : cycles of each chain [1/s, points, chains]
    residence, queue : of each class at each station, residence in a cycle of its chain [s and 1; points, classes, stations]
    utilization : busy servers / servers by class [points, classes, stations]
    made : part of the visits told that is made, where some are lost on the way; else 1 [points, classes, stations]
    loss : share of a class's arrivals at a station that are lost, or None [points, classes, stations]
    probability : for each station P(n present), or None [points, n]
    """

    throughput: Array
    residence: Array
    queue: Array
    utilization: Array
    made: Array
    loss: Array | None
    probability: tuple[Array | None, ...]


def _of_classes(arrays: NetworkPoints, solution: SolutionWithLosses) -> ClassMeasures:
    flow = solution.throughput
    first = [int(np.flatnonzero(arrays.chain_of == c)[0]) for c in range(len(arrays.network.classes))]
    made = np.ones(solution.queue.shape)
    if arrays.capacity.any():
        visits = arrays.visits if arrays.ways is not None else arrays.network.visits
        made = _ratio(solution.ended, flow[:, :, None] * visits, 1.0)
    return ClassMeasures(
        throughput=flow[:, first],
        residence=solution.residence,
        queue=solution.queue,
        utilization=solution.utilization,
        made=made,
        loss=solution.loss if arrays.capacity.any() else None,
        probability=solution.probability,
    )


def _of_chains(arrays: NetworkPoints, solution: NetworkSolution) -> ClassMeasures:
    residence = _shared(arrays, solution.residence)
    queue = solution.throughput[:, arrays.chain_of, None] * residence
    alone = np.bincount(arrays.chain_of)[arrays.chain_of] == 1
    queue[:, alone] = solution.queue[:, arrays.chain_of][:, alone]
    part = _ratio(arrays.visits * arrays.service, arrays.network.demand[:, arrays.chain_of])
    return ClassMeasures(
        throughput=solution.throughput,
        residence=residence,
        queue=queue,
        utilization=solution.utilization[:, arrays.chain_of] * part,
        made=np.ones(queue.shape),
        loss=None,
        probability=solution.probability,
    )


def _shared(arrays: NetworkPoints, residence: Array) -> Array:
    """Share the time of a chain at each station among its classes [s, points, classes, stations]."""
    network = arrays.network
    time = residence[:, arrays.chain_of]
    alone = np.bincount(arrays.chain_of)[arrays.chain_of] == 1
    visits, service = network.visits[:, arrays.chain_of], network.service[:, arrays.chain_of]
    # An empty station has no waiting time.
    wait = np.where(time != 0, _ratio(time, visits) - service, 0.0)
    in_order = arrays.visits * (arrays.service + wait)
    shared = np.asarray(time) * _ratio(arrays.visits * arrays.service, visits * service)
    for k, kind in enumerate(network.discipline):
        if DISCIPLINES[kind].queued and network.rates[k] is None:
            shared[:, :, k] = in_order[:, :, k]
    shared[:, alone] = time[:, alone]
    return shared


class Measures:
    """The measures of classes and chains.

    Parameters
    ----------
    compiled : the network
    arrays : its numbers
    solution : of its chains; of its classes, and with losses, where it is a Markov chain's
    """

    def __init__(self, compiled: NetworkLayout, arrays: NetworkPoints, solution: NetworkSolution) -> None:
        self._compiled, self._arrays = compiled, arrays
        with np.errstate(all="ignore"):
            if isinstance(solution, SolutionWithLosses):
                self._found = _of_classes(arrays, solution)
            else:
                self._found = _of_chains(arrays, solution)
        self._classes, self._stations = compiled.classes, compiled.stations

    def columns(self) -> dict[str, Array]:
        """Give every measure by name; NaN where it has no meaning."""
        with np.errstate(all="ignore"):
            return {**self.chains(), **self._by_class(), **self._totals(), **self._probabilities()}

    def chains(self) -> dict[str, Array]:
        """Give throughput and response time of every class and every chain."""
        residence = self._found.residence
        columns: dict[str, Array] = {}
        for c, (name, chain) in enumerate(self._compiled.chains.items()):
            members = [self._classes.index(label) for label in chain.classes]
            columns[f"throughput[{name}]"] = self._found.throughput[:, c]
            columns[f"response_time[{name}]"] = residence[:, members].sum(axis=(1, 2))
            for r in members if chain.classes != (name,) else ():
                columns[f"throughput[{self._classes[r]}]"] = self._found.throughput[:, c] * self._passing(chain, r)
                columns[f"response_time[{self._classes[r]}]"] = residence[:, r].sum(axis=1)
        return columns

    def _passing(self, chain: Chain, r: int) -> Array | float:
        """Give the visits of one class to the reference station in a cycle; all classes together have one."""
        label, station = chain.reference
        if isinstance(chain.members, OpenClass):
            return float(self._classes[r] == label)
        return self._arrays.visits[:, r, self._stations.index(station)]

    def _by_class(self) -> dict[str, Array]:
        arrays, found = self._arrays, self._found
        visit = _ratio(found.residence, arrays.visits * found.made, np.nan)
        columns: dict[str, Array] = {}
        for k, (name, station) in enumerate(self._compiled.model.stations.items()):
            for label in station.visitors():
                r, key = self._classes.index(label), f"[{label},{name}]"
                columns[f"queue_length{key}"] = found.queue[:, r, k]
                columns[f"residence_time{key}"] = found.residence[:, r, k]
                columns[f"time_per_visit{key}"] = visit[:, r, k]
                if arrays.network.rates[k] is None:
                    wait = visit[:, r, k] - arrays.service[:, r, k]
                    columns[f"waiting_time{key}"] = np.where(found.residence[:, r, k] != 0, wait, 0.0)
                if not DISCIPLINES[station.discipline].delay:
                    columns[f"utilization{key}"] = found.utilization[:, r, k]
                if found.loss is not None and station.capacity:
                    columns[f"loss_probability{key}"] = found.loss[:, r, k]
        return columns

    def _totals(self) -> dict[str, Array]:
        columns = {}
        for k, (name, station) in enumerate(self._compiled.model.stations.items()):
            columns[f"queue_length[{name}]"] = self._found.queue[:, :, k].sum(axis=1)
            if not DISCIPLINES[station.discipline].delay:
                columns[f"utilization[{name}]"] = self._found.utilization[:, :, k].sum(axis=1)
        return columns

    def _probabilities(self) -> dict[str, Array]:
        tables = zip(self._stations, self._found.probability, strict=True)
        return {
            f"probability[{name},{n}]": table[:, n]
            for name, table in tables
            if table is not None
            for n in range(table.shape[1])
        }


def _ratio(above: Array, below: Array, otherwise: float = 0.0) -> Array:
    """Divide where there is something to divide by."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.full(above.shape, otherwise, np.result_type(above, below)), where=below != 0)

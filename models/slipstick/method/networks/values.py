"""What answers say of a queueing network, as columns over points, read off arrays and a solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.method.networks.arrays import Arrays, Compiled
from slipstick.model.network import Chain, Stream

__all__ = ["Found", "Measures", "unit_of"]

Array = NDArray[Any]

_SECONDS = ("response_time", "residence_time", "time_per_visit", "waiting_time", "response_time_quantile", "account")
_UNITS = {"throughput": "1/s", **dict.fromkeys(_SECONDS, "s")}

_IN_ORDER = ("fcfs", "priority", "priority-preemptive")
"""Disciplines at which every class of a chain waits equally long, whatever its own service."""


def unit_of(name: str) -> str:
    """Give the unit of a value by what stands before its bracket; most are plain numbers."""
    return _UNITS.get(name.partition("[")[0], "1")


@dataclass(frozen=True, slots=True)
class Found:
    """Solutions at aligned points; NaN where there is none.

    Parameters
    ----------
    throughput : cycles of each chain [1/s, points, chains]
    residence, queue : of each chain at each station [s and 1; points, chains, stations]
    utilization : busy servers / servers by chain [points, chains, stations]
    probability : for each station P(n present), or None [points, n]
    loss : share of a chain's arrivals at a station that are lost, or None [points, chains, stations]
    """

    throughput: Array
    residence: Array
    queue: Array
    utilization: Array
    probability: tuple[Array | None, ...]
    loss: Array | None = None

    def only(self, point: int) -> Found:
        """Cut out one point."""
        here = slice(point, point + 1)
        return Found(
            self.throughput[here],
            self.residence[here],
            self.queue[here],
            self.utilization[here],
            tuple(None if each is None else each[here] for each in self.probability),
            None if self.loss is None else self.loss[here],
        )


class Measures:
    """The measures of classes, from the solution of their chains.

    Parameters
    ----------
    compiled : the network
    arrays : its numbers
    found : its solution
    """

    def __init__(self, compiled: Compiled, arrays: Arrays, found: Found) -> None:
        self._compiled, self._arrays, self._found = compiled, arrays, found
        self._classes, self._stations = compiled.classes, compiled.stations

    def columns(self) -> dict[str, Array]:
        """Give every measure by name; NaN where it has no meaning."""
        with np.errstate(all="ignore"):
            residence = self._residence()
            return {
                **self.chains(residence),
                **self._by_class(residence),
                **self._totals(),
                **self._probabilities(),
            }

    def chains(self, residence: Array | None = None) -> dict[str, Array]:
        """Give throughput and response time of every class and every chain."""
        residence = self._residence() if residence is None else residence
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
        if isinstance(chain.members, Stream):
            return float(self._classes[r] == label)
        return self._arrays.visits[:, r, self._stations.index(station)]

    def _residence(self) -> Array:
        """Share the time of a chain at each station among its classes [s, points, classes, stations]."""
        arrays, network = self._arrays, self._arrays.network
        time = self._found.residence[:, arrays.chain_of]
        alone = np.bincount(arrays.chain_of)[arrays.chain_of] == 1
        visits, service = network.visits[:, arrays.chain_of], network.service[:, arrays.chain_of]
        # Where there is nobody, nobody waits.
        wait = np.where(time != 0, _ratio(time, visits) - service, 0.0)
        in_order = arrays.visits * (arrays.service + wait)
        shared = np.asarray(time) * _ratio(arrays.visits * arrays.service, visits * service)
        for k, kind in enumerate(network.discipline):
            if kind in _IN_ORDER and network.rates[k] is None:
                shared[:, :, k] = in_order[:, :, k]
        shared[:, alone] = time[:, alone]
        return shared

    def _by_class(self, residence: Array) -> dict[str, Array]:
        arrays, network = self._arrays, self._arrays.network
        throughput = self._found.throughput[:, arrays.chain_of, None]
        queue = throughput * residence
        alone = np.bincount(arrays.chain_of)[arrays.chain_of] == 1
        queue[:, alone] = self._found.queue[:, arrays.chain_of][:, alone]
        visit = _ratio(residence, arrays.visits * self._made(), np.nan)
        part = _ratio(arrays.visits * arrays.service, network.demand[:, arrays.chain_of])
        busy = self._found.utilization[:, arrays.chain_of] * part
        columns: dict[str, Array] = {}
        for k, (name, station) in enumerate(self._compiled.model.stations.items()):
            for label in station.visitors():
                r, key = self._classes.index(label), f"[{label},{name}]"
                columns[f"queue_length{key}"] = queue[:, r, k]
                columns[f"residence_time{key}"] = residence[:, r, k]
                columns[f"time_per_visit{key}"] = visit[:, r, k]
                if network.rates[k] is None:
                    wait = visit[:, r, k] - arrays.service[:, r, k]
                    columns[f"waiting_time{key}"] = np.where(residence[:, r, k] != 0, wait, 0.0)
                if station.discipline != "is":
                    columns[f"utilization{key}"] = busy[:, r, k]
                if self._found.loss is not None and station.capacity:
                    columns[f"loss_probability{key}"] = self._found.loss[:, arrays.chain_of[r], k]
        return columns

    def _made(self) -> Array | float:
        """Give the part of the visits that is made where customers are lost on the way: work done / work brought."""
        if self._found.loss is None:
            return 1.0
        arrays, network = self._arrays, self._arrays.network
        brought = self._found.throughput[:, :, None] * network.demand
        part = _ratio(self._found.utilization * network.servers, brought, 1.0)
        visited = network.demand.real > 0
        first = visited & (np.cumsum(visited, axis=2) == 1)
        for k, rates in enumerate(network.rates):
            if rates is not None:
                # How much work is done there is not known, but at the first station all who are counted are served.
                part[:, :, k] = np.where(first[:, :, k], 1.0, np.nan)
        return part[:, arrays.chain_of]

    def _totals(self) -> dict[str, Array]:
        columns = {}
        for k, (name, station) in enumerate(self._compiled.model.stations.items()):
            columns[f"queue_length[{name}]"] = self._found.queue[:, :, k].sum(axis=1)
            if station.discipline != "is":
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

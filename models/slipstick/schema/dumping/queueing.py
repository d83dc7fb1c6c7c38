"""Queueing networks to files: what `bind_queueing` reads, written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Expr, zero
from slipstick.model.network import OUT, Chain, Members, Queue, QueueingNetwork, Route, Stream
from slipstick.schema.dumping.values import WrittenValues

__all__ = ["network_data"]


def network_data(network: QueueingNetwork) -> dict[str, Any]:
    """Lay a network out as the plain data of a queueing-network file, which reads as an equal network.

    Parameters
    ----------
    network : the model

    Raises
    ------
    ModelError : a parameter has no value

    >>> from slipstick.model.network import customers, network, queue
    >>> network_data(network({"jobs": customers(2)}, {"cpu": queue(demand={"jobs": 0.005})}))["stations"]
    {'cpu': {'discipline': 'fcfs', 'demand': {'jobs': '0.005 s'}}}
    """
    return _Writer().data(network)


class _Writer:
    def __init__(self) -> None:
        self._values = WrittenValues()

    def data(self, network: QueueingNetwork) -> dict[str, Any]:
        body = {
            "classes": {name: self._members(each) for name, each in network.classes.items()},
            "chains": {name: self._chain(each) for name, each in network.chains.items()},
            "stations": {name: self._station(each) for name, each in network.stations.items()},
            "routing": [self._route(each) for each in network.routing],
        }
        head = {"queueing-network": 1, "parameters": self._values.parameters}
        return {key: each for key, each in {**head, **body}.items() if each or key == "stations"}

    def _members(self, members: Members) -> dict[str, Any]:
        if isinstance(members, Stream):
            return {"arrivals": self._values.written(members.arrivals)}
        think = {} if members.think_time == zero(TIME) else {"think_time": self._values.written(members.think_time)}
        return {"population": self._values.written(members.population), **think}

    def _chain(self, chain: Chain) -> dict[str, Any]:
        return {"classes": list(chain.classes), **self._members(chain.members), "reference": list(chain.reference)}

    def _station(self, station: Queue) -> dict[str, Any]:
        data: dict[str, Any] = {"discipline": station.discipline}
        if station.servers != 1:
            data["servers"] = station.servers
        if station.rates:
            data["rates"] = [self._values.written(each) for each in station.rates]
        for key in ("demand", "service", "visits", "scv"):
            by_class: Mapping[str, Expr] = getattr(station, key)
            if by_class:
                data[key] = {name: self._values.written(each) for name, each in by_class.items()}
        if station.capacity is not None:
            data["capacity"] = station.capacity
        if station.blocking != "loss":
            data["blocking"] = station.blocking
        return data | ({"priority": dict(station.priority)} if station.priority else {})

    def _route(self, route: Route) -> dict[str, Any]:
        target = OUT if route.target is None else list(route.target)
        return {"from": list(route.source), "to": target, "probability": self._values.written(route.probability)}

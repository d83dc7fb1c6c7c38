"""Queueing-network files to models: what is wrong with the network is told at its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from slipstick.errors import ModelFaultsError, SpecError
from slipstick.expression.dimension import COUNT, RATE, TIME, Dimension
from slipstick.expression.nodes import Expr, Parameter, zero
from slipstick.model.network import (
    Chain,
    ClosedClass,
    CustomerClass,
    NetworkStation,
    OpenClass,
    Place,
    QueueingNetwork,
    Route,
)
from slipstick.schema.build_activity import Loc, Values
from slipstick.schema.kinds.quantity import Formula, Given
from slipstick.schema.kinds.queueing import ChainSpec, ClassSpec, QueueingNetworkSpec, QueueSpec, RouteSpec
from slipstick.schema.text.nodes import Node


class NetworkReader:
    """Reads one checked queueing-network file.

    Parameters
    ----------
    name : of the model
    tree : where everything is written
    spec : the checked file
    parameters : every quantity of the file, by path (``stations.cpu.demand.jobs``)
    """

    def __init__(self, name: str, tree: Node, spec: QueueingNetworkSpec, parameters: Mapping[str, Parameter]) -> None:
        self._name, self._spec = name, spec
        self._values = Values(tree, spec.parameters, parameters)

    def model(self) -> QueueingNetwork:
        """Build the network; raises SpecError with everything that is wrong."""
        spec = self._spec
        chained = {label for each in spec.chains.values() for label in each.classes}
        silent = {label for label, each in spec.classes.items() if each.population is None and each.arrivals is None}
        classes = {
            label: self._members(each, ("classes", label))
            for label, each in spec.classes.items()
            if label not in chained & silent
        }
        stations = {label: self._station(each, ("stations", label)) for label, each in spec.stations.items()}
        chains = {label: self._chain(each, ("chains", label)) for label, each in spec.chains.items()}
        routing = tuple(self._route(each, ("routing", index)) for index, each in enumerate(spec.routing))
        made = None
        try:
            made = QueueingNetwork(self._name, classes, stations, chains, routing)
        except ModelFaultsError as error:
            for each in error.faults:
                self._values.refuse(each.path, each.message, each.key)
        if self._values.problems or made is None:
            raise SpecError(self._values.problems)
        return made

    def _members(self, spec: ClassSpec | ChainSpec, loc: Loc) -> CustomerClass:
        if spec.arrivals is not None:
            return OpenClass(self._values.expr(spec.arrivals, (*loc, "arrivals"), RATE))
        think = spec.think_time
        return ClosedClass(
            self._values.expr(spec.population, (*loc, "population"), COUNT),
            zero(TIME) if think is None else self._values.expr(think, (*loc, "think_time"), TIME),
        )

    def _station(self, spec: QueueSpec, loc: Loc) -> NetworkStation:
        rates = enumerate(spec.rates or ())
        return NetworkStation(
            discipline=spec.discipline,
            servers=int(spec.servers.value),
            demand=self._by_class(spec.demand, (*loc, "demand"), TIME),
            service=self._by_class(spec.service, (*loc, "service"), TIME),
            visits=self._by_class(spec.visits, (*loc, "visits"), COUNT),
            rates=tuple(self._values.expr(each, (*loc, "rates", index), COUNT) for index, each in rates),
            scv=self._by_class(spec.scv, (*loc, "scv"), COUNT),
            capacity=None if spec.capacity is None else int(spec.capacity.value),
            priority=spec.priority,
            blocking=spec.blocking,
        )

    def _by_class(self, given: Mapping[str, Given | Formula], loc: Loc, dimension: Dimension) -> dict[str, Expr]:
        return {label: self._values.expr(each, (*loc, label), dimension) for label, each in given.items()}

    def _chain(self, spec: ChainSpec, loc: Loc) -> Chain:
        return Chain(tuple(spec.classes), self._members(spec, loc), _place(spec.reference))

    def _route(self, spec: RouteSpec, loc: Loc) -> Route:
        target = None if isinstance(spec.to, str) else _place(spec.to)
        return Route(_place(spec.source), target, self._values.expr(spec.probability, (*loc, "probability"), COUNT))


def _place(pair: list[str]) -> Place:
    return cast(Place, tuple(pair))

"""Queueing networks as arrays over points: chains become the classes of solvers, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from slipstick.expression.nodes import parameters
from slipstick.expression.tape import Tape
from slipstick.late import NDArray, dataclass, field, np, replace
from slipstick.method.answers import perturbed_values
from slipstick.model.network import (
    Chain,
    ClosedClass,
    CustomerClass,
    OpenClass,
    Place,
    QueueingNetwork,
)
from slipstick.queueing.network import (
    Array,
    NetworkArrays,
    quotient,
    random_times,
)
from slipstick.queueing.routes import OUTSIDE, Routes, joined_chains, traffic_equations
from slipstick.vocabulary import DISCIPLINES, SAME_EXPONENTIAL

Values = Mapping[str, Array | float]
Columns = Mapping[str, Array]

MOST_CUSTOMERS = 2.0**53
"""The largest number of customers of a class: up to it every whole number is a double [1]."""


@dataclass(frozen=True, slots=True)
class NetworkPoints:
    """The arrays of a network at many points, by class and by chain.

    Parameters
    ----------
    network : the arrays that solvers take, in which each chain is one class
    service, visits, scv : of each class at each station [points, classes, stations]
    chain_of_class : the chain of each class, by number [classes]
    ranks : of each class at each station [classes, stations]
    routes : where the classes of chains go, or None if all classes keep their class
    references : of each chain the class and the station where its cycles begin, by number
    classes : their names
    reason_by_point : why a point has no answer, by its number
    patience : the arrays `patience` and `timeouts` of a network of classes; empty where no customer
        abandons a queue
    weights : of each class at each station; None without [points, classes, stations]
    balking : as `NetworkArrays.balking`, of a network of classes
    """

    network: NetworkArrays
    service: Array
    visits: Array
    scv: Array
    chain_of_class: NDArray[np.intp]
    ranks: NDArray[np.int64]
    routes: Routes | None
    references: Sequence[tuple[int, int]]
    classes: tuple[str, ...]
    reason_by_point: Mapping[int, str] = field(default_factory=dict)
    patience: Mapping[str, Any] = field(default_factory=dict)
    weights: Array | None = None
    balking: Mapping[Place, Array] = field(default_factory=dict)

    def changes(self, visits: Array) -> Array:
        """Return how often customers become members of each class by a change of class, from the
        visits of each class to each station that end with a move [points, classes].
        """
        change_counts = np.zeros(visits.shape[:2], dtype=visits.dtype)
        if self.routes is None:
            return change_counts
        sources_and_targets = zip(self.routes.source, self.routes.target, strict=True)
        for route_index, ((class_before, station_index), (class_after, _)) in enumerate(
            sources_and_targets
        ):
            # A move within a class is no change: the customer is a member already.
            if class_after not in (OUTSIDE, class_before):
                change_counts[:, class_after] += (
                    visits[:, class_before, station_index] * self.routes.probability[:, route_index]
                )
        return change_counts

    def select(self, points: Any) -> NetworkPoints:
        """Select some of the points by slice, mask or indices; the reasons for points without an
        answer are not kept.
        """
        selected_arrays = {
            array_name: getattr(self, array_name)[points]
            for array_name in ("service", "visits", "scv")
        }
        routes = None if self.routes is None else self.routes.select(points)
        patience = (
            {**self.patience, "patience": self.patience["patience"][points]}
            if self.patience
            else {}
        )
        return replace(
            self,
            network=self.network.select(points),
            routes=routes,
            reason_by_point={},
            patience=patience,
            weights=None if self.weights is None else self.weights[points],
            balking={
                place: balking_probabilities[points]
                for place, balking_probabilities in self.balking.items()
            },
            **selected_arrays,
        )


_FACTORS_OF_DEMAND = ("service", "demand", "visits")
"""The numbers of a class at a station whose product is its demand, where they are given."""

SMALLEST, LARGEST = 1e-150, 1e150
"""The range of the numbers of a network: the product of two that lie outside it may be rounded to
0, or overflow.
"""


class NetworkLayout:
    """A network compiled to evaluate its numbers, and to build the arrays that solvers take, at
    many points together.

    Parameters
    ----------
    model : the network

    Attributes
    ----------
    chains : every population by name, classes that keep their class among them
    classes, stations : names in order
    tape : every number of the network, compiled together
    """

    def __init__(self, model: QueueingNetwork) -> None:
        self.model = model
        chains_of_one_class = {
            class_name: Chain((class_name,), own_class, (class_name, ""))
            for class_name, own_class in model.classes.items()
        }
        chains = {**chains_of_one_class, **model.chains}
        self.chains: dict[str, Chain] = {name: chains[name] for name in model.members_by_chain}
        self.classes = model.class_names
        self.stations = tuple(model.stations)
        self._expressions = model.quantities
        self.tape = Tape(list(self._expressions.values()))

    def columns(self, values: Values) -> dict[str, Array]:
        """Evaluate every number of the network, by its path [points]."""
        return self.tape.columns(self._expressions, values)

    def perturbed_columns(
        self, point_values: Mapping[str, float], moved_parameters: Sequence[str]
    ) -> dict[str, Array]:
        """Evaluate every number at one point, and again with each of some parameters moved by a
        complex step; see `slipstick.method.answers.perturbed_values`.
        """
        return dict(
            perturbed_values(
                self._expressions, self._parameter_values(point_values), moved_parameters
            )
        )

    def _parameter_values(self, point_values: Mapping[str, float]) -> dict[str, float]:
        return {
            parameter_name: point_values.get(parameter_name, parameter.value or 0.0)
            for parameter_name, parameter in self.tape.parameters.items()
        }

    def moved_demands(
        self, point_values: Mapping[str, float], moved_parameters: Sequence[str]
    ) -> Iterator[tuple[list[int], Array]]:
        """Yield the think time of the only class and its demand at each station, each at one point
        and with each of its own parameters moved by a complex step, after the numbers of these
        parameters from 1.
        """
        parameter_values = self._parameter_values(point_values)
        index_by_parameter = {
            name: parameter_index for parameter_index, name in enumerate(moved_parameters, 1)
        }
        for paths in (
            [f"classes.{self.classes[0]}.think_time"],
            *(
                [f"stations.{station_name}.{key}.{self.classes[0]}" for key in _FACTORS_OF_DEMAND]
                for station_name in self.stations
            ),
        ):
            expressions = [self._expressions[path] for path in paths if path in self._expressions]
            own_parameters = [
                parameter.name
                for parameter in parameters(*expressions)
                if parameter.name in index_by_parameter
            ]
            factors = perturbed_values(
                dict(enumerate(expressions)), parameter_values, own_parameters
            )
            yield (
                [index_by_parameter[name] for name in own_parameters],
                prod(factors.values(), start=np.ones(1)),
            )

    def network_points(self, columns: Columns) -> NetworkPoints:
        """Build the arrays of a network at many points, as solvers take them.

        Parameters
        ----------
        columns : as `columns` or `perturbed_columns` give them
        """
        point_count = max(map(len, columns.values()), default=1)
        service, visits, scv = self._arrays_by_class(columns, point_count)
        chain_index_by_class = {
            class_name: chain_index
            for chain_index, chain in enumerate(self.chains.values())
            for class_name in chain.classes
        }
        chain_of_class = np.array(
            [chain_index_by_class[class_name] for class_name in self.classes], dtype=np.intp
        )
        routes = self._routes_at_points(columns)
        reason_by_point = {
            **self._reasons_against_numbers(columns),
            **({} if routes is None else self._write_visits(routes, chain_of_class, visits)),
        }
        common_service, common_visits = self._with_common_service(service, visits)
        # Solvers take one class for each chain; the network's own classes stay beside.
        service_visits_and_scv = common_service, common_visits, scv
        if routes is not None:
            service_visits_and_scv = joined_chains(*service_visits_and_scv, chain_of_class)
        single_classes = [(class_name,) for class_name in self.classes]
        reference_class_and_station = [
            (
                self.classes.index(class_name),
                self.stations.index(station_name) if station_name else 0,
            )
            for class_name, station_name in (chain.reference for chain in self.chains.values())
        ]
        network = self._network_arrays(columns, point_count, *service_visits_and_scv)
        # The joined times of a chain vary also where each of its classes takes a constant time.
        is_random = random_times(service, visits, scv)
        has_random_time = np.stack(
            [
                is_random[:, chain_of_class == chain_index].any(axis=1)
                for chain_index in range(len(self.chains))
            ],
            axis=1,
        )
        return NetworkPoints(
            replace(network, has_random_time=has_random_time),
            service,
            visits,
            scv,
            chain_of_class=chain_of_class,
            ranks=self._rank_by_class(single_classes),
            routes=routes,
            references=reference_class_and_station,
            classes=self.classes,
            reason_by_point=reason_by_point,
            patience=self._patience_arrays(columns, single_classes),
            weights=self._weights(columns, single_classes),
            balking=self._balking(columns, dict(zip(self.classes, single_classes, strict=True))),
        )

    def _arrays_by_class(self, columns: Columns, point_count: int) -> tuple[Array, Array, Array]:
        """Return service, visits and scv of each class at each station; a demand counts as one
        visit.
        """
        shape = (point_count, len(self.classes), len(self.stations))
        number_type = np.result_type(float, *columns.values())
        service = np.zeros(shape, number_type)
        visits = np.zeros(shape, number_type)
        scv = np.ones(shape, number_type)
        for station_index, (station_name, station) in enumerate(self.model.stations.items()):
            for class_index, class_name in enumerate(self.classes):
                path_prefix = f"stations.{station_name}"
                if class_name in station.visitors():
                    demand_key = "demand" if class_name in station.demand else "service"
                    service[:, class_index, station_index] = columns[
                        f"{path_prefix}.{demand_key}.{class_name}"
                    ]
                    visits[:, class_index, station_index] = columns.get(
                        f"{path_prefix}.visits.{class_name}", 1.0
                    )
                    scv[:, class_index, station_index] = columns.get(
                        f"{path_prefix}.scv.{class_name}", 1.0
                    )
        return service, visits, scv

    def _routes_at_points(self, columns: Columns) -> Routes | None:
        """Return the routes of the classes of chains at all points; None without routes."""
        if not self.model.routing:
            return None
        sources_and_targets = [[route.source, route.target] for route in self.model.routing]
        place_indices = np.array(
            [
                [
                    (OUTSIDE, OUTSIDE) if place is None else self._indices_of_place(place)
                    for place in source_and_target
                ]
                for source_and_target in sources_and_targets
            ]
        )
        state_route_count_by_source = Counter(
            route.source for route in self.model.routing if route.by
        )
        # How often the state selects each route, only a run finds: equal shares tell which places
        # can be reached.
        point_count = max(map(len, columns.values()))
        probabilities = [
            np.full(point_count, 1 / state_route_count_by_source[route.source])
            if route.by
            else columns[f"routing.{route_index}.probability"]
            for route_index, route in enumerate(self.model.routing)
        ]
        return Routes(place_indices[:, 0], place_indices[:, 1], np.stack(probabilities, axis=1))

    def _indices_of_place(self, place: Place) -> tuple[int, int]:
        return self.classes.index(place[0]), self.stations.index(place[1])

    def _write_visits(
        self, routes: Routes, chain_of_class: NDArray[np.intp], visits: Array
    ) -> dict[int, str]:
        """Write the visits that follow from the routes into `visits`; return, by point, the reason
        where none follow.
        """
        reason_by_point = self._reasons_against_probabilities(routes.probability.real)
        for chain_index, (chain_name, chain) in enumerate(self.chains.items()):
            if chain_name in self.model.chains:
                class_indices = np.flatnonzero(chain_of_class == chain_index)
                is_closed = isinstance(chain.members, ClosedClass)
                chain_visits = traffic_equations(
                    routes,
                    class_indices.tolist(),
                    self._indices_of_place(chain.reference),
                    is_closed,
                    visits.shape[1:],
                )
                visits[:, class_indices] = chain_visits[:, class_indices]
        never_returns = ~np.isfinite(visits).all(axis=(1, 2))
        reason_by_point |= {
            int(point_index): "the routes of some chain never come back"
            for point_index in np.flatnonzero(never_returns)
        }
        # Zeros keep the other points in one call of the solver; the reason replaces their answer.
        visits[list(reason_by_point)] = 0.0
        return reason_by_point

    def _reasons_against_numbers(self, columns: Columns) -> dict[int, str]:
        """Return, by point, the first number that is negative, infinite or out of range, or a
        fractional number of customers.
        """
        reason_by_point: dict[int, str] = {}
        populations_by_group = {
            "classes": self.model.classes,
            "chains": {
                chain_name: chain.members for chain_name, chain in self.model.chains.items()
            },
        }
        duration_paths = {
            f"{group_key}.{population_name}.{time_key}"
            for group_key, population_by_name in populations_by_group.items()
            for population_name, population in population_by_name.items()
            if isinstance(population, OpenClass) and population.bursty
            for time_key in ("burst_time", "quiet_time")
        } | {
            f"stations.{station_name}.{limit_key}.{class_name}"
            for station_name, station in self.model.stations.items()
            for limit_key in ("patience", "timeout")
            for class_name in getattr(station, limit_key)
        }
        for path, column in columns.items():
            real_column = column.real
            # Most numbers are of a usual size, and are looked at no further.
            if path.endswith(".population") or not (
                SMALLEST <= real_column.min() <= real_column.max() <= LARGEST
            ):
                for point_index, reason in _unsound_numbers(
                    path, real_column, path in duration_paths
                ):
                    reason_by_point.setdefault(point_index, reason)
        for (class_name, station_name), balking_probabilities in self._balking(
            columns, {name: [name] for name in self.classes}
        ).items():
            is_ascending = (np.diff(balking_probabilities.real, axis=1) >= 0).all(axis=1) & (
                balking_probabilities.real[:, -1] <= 1
            )
            for point_index in np.flatnonzero(~is_ascending).tolist():
                reason_by_point.setdefault(
                    point_index,
                    f"the probabilities that {class_name} balk at {station_name} fall with the"
                    " queue, or are above 1",
                )
        return reason_by_point

    def _reasons_against_probabilities(self, probabilities: Array) -> dict[int, str]:
        """Return, by point, the first place that customers leave with probabilities that do not add
        up to 1.
        """
        reason_by_point: dict[int, str] = {}
        # Checked at each point, because probabilities of routes may be parameters.
        route_sources = dict.fromkeys(route.source for route in self.model.routing)
        for class_name, station_name in route_sources:
            route_indices = [
                route_index
                for route_index, route in enumerate(self.model.routing)
                if route.source == (class_name, station_name)
            ]
            probability_sums = probabilities[:, route_indices].sum(axis=1)
            # The slack is for sums of decimals, which miss 1 by a few units of the last digit.
            for point_index in np.flatnonzero(~np.isclose(probability_sums, 1.0, rtol=1e-9)):
                reason_by_point.setdefault(
                    int(point_index),
                    f"the probabilities of leaving {station_name} as {class_name} add up to"
                    f" {probability_sums[point_index]:g}, not to 1",
                )
        return reason_by_point

    def _with_common_service(self, service: Array, visits: Array) -> tuple[Array, Array]:
        """Return service and visits in which the demands of several classes at a first-come station
        are visits of one common service time.

        A demand does not say how it is split into visits; with one service time the station has
        product form.
        """
        # The arrays are shared with other points and methods.
        service = service.copy()
        visits = visits.copy()
        for station_index, station in enumerate(self.model.stations.values()):
            classes_with_demand = [
                class_index
                for class_index, class_name in enumerate(self.classes)
                if class_name in station.demand
            ]
            if (
                DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL
                and len(classes_with_demand) > 1
            ):
                classes_with_service = [
                    class_index
                    for class_index, class_name in enumerate(self.classes)
                    if class_name in station.service
                ]
                # A service time that the station states wins; else the longest demand is one visit.
                longest_service = service[
                    :, classes_with_service or classes_with_demand, station_index
                ].real.max(axis=1)
                for class_index in classes_with_demand:
                    visits[:, class_index, station_index] = quotient(
                        service[:, class_index, station_index], longest_service
                    )
                    service[:, class_index, station_index] = np.where(
                        visits[:, class_index, station_index] != 0, longest_service, 0.0
                    )
        return service, visits

    def _network_arrays(
        self, columns: Columns, point_count: int, service: Array, visits: Array, scv: Array
    ) -> NetworkArrays:
        """Build the arrays that solvers take, in which each chain is a class."""
        stations = self.model.stations.values()
        think_times, arrival_rates, population_sizes, burst_rates = self._rates_and_populations(
            columns, point_count, service.dtype
        )
        populations = [chain.members for chain in self.chains.values()]
        batch_sizes = tuple(
            chain_population.batch if isinstance(chain_population, OpenClass) else 1
            for chain_population in populations
        )
        arrival_words = tuple(map(_arrival_words, populations))
        is_closed = np.array(
            [isinstance(chain.members, ClosedClass) for chain in self.chains.values()]
        )
        server_counts = np.array([station.servers for station in stations], dtype=np.int64)
        station_rates = tuple(
            self._station_rates(columns, station_name) for station_name in self.stations
        )
        ranks = self._rank_by_class([chain.classes for chain in self.chains.values()])
        return NetworkArrays(
            service=service,
            visits=visits,
            think=think_times,
            population=population_sizes,
            arrivals=arrival_rates,
            closed=is_closed,
            discipline=tuple(station.discipline for station in stations),
            servers=server_counts,
            rates=station_rates,
            scv=scv,
            priority=ranks,
            stations=self.stations,
            classes=tuple(self.chains),
            capacity=tuple(station.capacity for station in stations),
            blocking=tuple(station.blocking for station in stations),
            bursts=burst_rates if burst_rates.any() else None,
            batch=batch_sizes if max(batch_sizes, default=1) > 1 else (),
            arrival_words=arrival_words if any(arrival_words) else (),
            phases={
                (class_name, station_name): phases
                for station_name, station in self.model.stations.items()
                for class_name, distribution in station.distribution.items()
                if (phases := distribution.phases) is not None
            },
            **self._patience_arrays(columns, [chain.classes for chain in self.chains.values()]),
            weights=self._weights(columns, [chain.classes for chain in self.chains.values()]),
            is_absence=np.array([name in self.model.absences for name in self.chains])
            if self.model.absences
            else None,
            balking=self._balking(
                columns, {name: chain.classes for name, chain in self.chains.items()}
            ),
        )

    def _rates_and_populations(
        self, columns: Columns, point_count: int, number_type: np.dtype[Any]
    ) -> tuple[Array, Array, NDArray[np.int64], Array]:
        """Return think times [s], rates of arrivals [1/s] and populations of the chains [points,
        chains], and the rates of bursts, see `_burst_rates` [points, chains, 4].
        """
        chain_count = len(self.chains)
        think_times = np.zeros((point_count, chain_count), number_type)
        arrival_rates = np.zeros((point_count, chain_count), number_type)
        population_sizes = np.zeros((point_count, chain_count), dtype=np.int64)
        burst_rates = np.zeros((point_count, chain_count, 4), number_type)
        for chain_index, (chain_name, chain) in enumerate(self.chains.items()):
            path_prefix = (
                f"{'chains' if chain_name in self.model.chains else 'classes'}.{chain_name}"
            )
            if isinstance(chain.members, OpenClass) and chain.members.bursty:
                burst_rates[:, chain_index] = self._burst_rates(columns, path_prefix)
                quiet_rate, burst_rate, begin_rate, end_rate = burst_rates[:, chain_index].T
                arrival_rates[:, chain_index] = (
                    quiet_rate * end_rate + burst_rate * begin_rate
                ) / (begin_rate + end_rate)
            elif isinstance(chain.members, OpenClass):
                arrival_rates[:, chain_index] = columns[f"{path_prefix}.arrivals"]
            if isinstance(chain.members, OpenClass):
                with np.errstate(over="ignore"):  # beyond all numbers is saturated as well
                    arrival_rates[:, chain_index] *= chain.members.batch
            else:
                think_times[:, chain_index] = columns[f"{path_prefix}.think_time"]
                customer_count = np.nan_to_num(columns[f"{path_prefix}.population"].real)
                # What is clipped here is refused by `_reasons_against_numbers`; the array of counts
                # needs some whole number.
                population_sizes[:, chain_index] = np.round(
                    np.clip(customer_count, 0, MOST_CUSTOMERS)
                )
        return think_times, arrival_rates, population_sizes, burst_rates

    def _patience_arrays(
        self, columns: Columns, classes_of_chains: Sequence[Sequence[str]]
    ) -> dict[str, Any]:
        """Return the patience of each class at each station, and whether it is constant (a
        timeout); a chain has the patience of its class that has one.
        """
        patience_times = [
            (
                chain_index,
                station_index,
                limit_key,
                columns[f"stations.{station_name}.{limit_key}.{class_name}"],
            )
            for chain_index, class_names in enumerate(classes_of_chains)
            for station_index, (station_name, station) in enumerate(self.model.stations.items())
            for limit_key in ("patience", "timeout")
            for class_name in class_names
            if class_name in getattr(station, limit_key)
        ]
        if not patience_times:
            return {}
        shape = (len(patience_times[0][3]), len(classes_of_chains), len(self.stations))
        patience = np.zeros(shape, np.result_type(float, *columns.values()))
        is_constant = np.zeros(shape[1:], dtype=bool)
        for chain_index, station_index, limit_key, patience_column in patience_times:
            patience[:, chain_index, station_index], is_constant[chain_index, station_index] = (
                patience_column,
                limit_key == "timeout",
            )
        return {"patience": patience, "timeouts": is_constant}

    def _balking(
        self, columns: Columns, classes_by_name: Mapping[str, Sequence[str]]
    ) -> dict[Place, Array]:
        """Return the probabilities with which the customers of each chain balk at each station, by
        the number of customers waiting. Where several classes of a chain balk at a station, the
        last class determines the probabilities [points, numbers].
        """
        return {
            (chain_name, station_name): np.stack(
                [
                    columns[f"stations.{station_name}.balking.{class_name}.{waiting_count}"]
                    for waiting_count in range(len(balking_probabilities))
                ],
                axis=1,
            )
            for chain_name, class_names in classes_by_name.items()
            for station_name, station in self.model.stations.items()
            for class_name, balking_probabilities in station.balking.items()
            if class_name in class_names
        }

    def _weights(
        self, columns: Columns, classes_of_chains: Sequence[Sequence[str]]
    ) -> Array | None:
        """Return the weight of each class at each station, or of the first class of each chain that
        has one.
        """
        names_and_stations = self.model.stations.items()
        if not any(station.weight for _, station in names_and_stations):
            return None
        point_count = max(map(len, columns.values()))
        shape = (point_count, len(classes_of_chains), len(self.stations))
        weights = np.ones(shape, np.result_type(float, *columns.values()))
        for chain_index, class_names in enumerate(classes_of_chains):
            for station_index, (station_name, station) in enumerate(names_and_stations):
                class_name = next(
                    (class_name for class_name in class_names if class_name in station.weight), ""
                )
                if class_name:
                    weights[:, chain_index, station_index] = columns[
                        f"stations.{station_name}.weight.{class_name}"
                    ]
        return weights

    def _burst_rates(self, columns: Columns, path_prefix: str) -> Array:
        """Return the arrival rates between and within bursts, and the rates at which bursts begin
        and end [points, 4].
        """
        quiet_rate = columns[f"{path_prefix}.arrivals"]
        burst_rate = columns[f"{path_prefix}.burst_arrivals"]
        # A time of 0 is refused beside; here it must not divide.
        durations = (
            columns[f"{path_prefix}.{time_key}"] for time_key in ("quiet_time", "burst_time")
        )
        return np.stack(
            [
                quiet_rate,
                burst_rate,
                *(1 / np.where(duration == 0, 1.0, duration) for duration in durations),
            ],
            axis=1,
        )

    def _station_rates(self, columns: Columns, station_name: str) -> Array | None:
        """Return the rates of a station with 1, 2, ... customers present [points, rates]; None
        without rates.
        """
        rate_count = len(self.model.stations[station_name].rates)
        if not rate_count:
            return None
        return np.stack(
            [
                columns[f"stations.{station_name}.rates.{rate_index}"]
                for rate_index in range(rate_count)
            ],
            axis=1,
        )

    def _rank_by_class(self, classes_of_chains: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Return the rank of each class, or of the first class of each chain that has one, at each
        station.
        """
        stations = self.model.stations.values()
        ranks = [
            [
                next(
                    (
                        station.priority[class_name]
                        for class_name in class_names
                        if class_name in station.priority
                    ),
                    0,
                )
                for station in stations
            ]
            for class_names in classes_of_chains
        ]
        return np.array(ranks, dtype=np.int64).reshape(len(classes_of_chains), len(self.stations))


def _arrival_words(members: CustomerClass) -> str:
    """Return the pattern of a class's arrivals in words, if only a simulation can follow it; else
    an empty text.
    """
    if not isinstance(members, OpenClass):
        return ""
    profile_in_words = "by a profile over the day" if members.profile else ""
    return "at the times of a trace" if members.trace else profile_in_words


def _unsound_numbers(
    path: str, number_column: NDArray[np.float64], is_duration: bool
) -> Iterator[tuple[int, str]]:
    """Yield each point at which a number is out of its range, with the reason.

    Parameters
    ----------
    path, number_column : of the number, and its value at each point, in base units
    is_duration : it is a duration that must be above 0
    """
    is_count = path.endswith(".population")
    is_valid = np.isfinite(number_column) & (number_column >= 0)
    if is_count:
        is_valid &= number_column == np.floor(number_column)
    for point_index in np.flatnonzero(~is_valid).tolist():
        noun = "a whole number" if is_count else "a finite number"
        yield (
            point_index,
            f"{path} must be {noun} that is not negative, got {number_column[point_index]:g}",
        )
    for point_index in np.flatnonzero(number_column > MOST_CUSTOMERS).tolist() if is_count else ():
        limit_text = (
            f"{path} must be at most {MOST_CUSTOMERS:.4g}, above which doubles are no counts"
        )
        yield point_index, f"{limit_text}, got {number_column[point_index]:g}"
    for point_index in np.flatnonzero(number_column == 0).tolist() if ".weight." in path else ():
        yield point_index, f"{path} must be above 0: without weight no customer is served"
    for point_index in np.flatnonzero(number_column == 0).tolist() if is_duration else ():
        ending = (
            "patience a capacity says which customers do not wait"
            if "patience" in path or "timeout" in path
            else "bursts leave it out"
        )
        yield point_index, f"{path} must be above 0 s: without {ending}"
    is_out_of_range = (number_column != 0) & (
        (number_column < SMALLEST) | (number_column > LARGEST)
    )
    for point_index in np.flatnonzero(is_out_of_range).tolist():
        range_text = (
            f"{path} must be 0 or from {SMALLEST:g} to {LARGEST:g} in base units, got"
            f" {number_column[point_index]:g}"
        )
        yield (
            point_index,
            f"{range_text}; beyond that products of numbers leave the range of doubles",
        )

"""Queueing networks as arrays over points: chains become the classes of solvers, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slipstick.expression.tape import Tape
from slipstick.late import NDArray, np
from slipstick.method.answers import perturbed
from slipstick.model.network import Chain, ClosedClass, OpenClass, Place, QueueingNetwork
from slipstick.queueing.network import Array, NetworkArrays, quotient
from slipstick.queueing.routes import OUTSIDE, Routes, joined_chains, traffic_equations
from slipstick.vocabulary import DISCIPLINES, SAME_EXPONENTIAL

Values = Mapping[str, Array | float]
Columns = Mapping[str, Array]

MOST_CUSTOMERS = 2.0**53
"""The largest number of customers of a class: up to it every whole number is a double [1]."""


@dataclass(frozen=True, slots=True)
class NetworkPoints:
    """The arrays of a network at aligned points, by class and by chain.

    Parameters
    ----------
    network : what a solver takes; its classes are the chains
    service, visits, scv : of each class at each station [points, classes, stations]
    chain_of : the chain of each class, by number [classes]
    ranks : of each class at each station [classes, stations]
    routes : where the classes of chains go, or None if all classes keep their class
    references : of each chain the class and the station where its cycles begin, by number
    classes : their names
    wrong : why a point has no answer, by its number
    patience : the arrays `patience` and `timeouts` of a network of classes; empty where no customer
        abandons a queue
    weights : of each class at each station; None without [points, classes, stations]
    """

    network: NetworkArrays
    service: Array
    visits: Array
    scv: Array
    chain_of: NDArray[np.intp]
    ranks: NDArray[np.int64]
    routes: Routes | None
    references: Sequence[tuple[int, int]]
    classes: tuple[str, ...]
    wrong: Mapping[int, str] = field(default_factory=dict)
    patience: Mapping[str, Any] = field(default_factory=dict)
    weights: Array | None = None

    def entries(self) -> Array:
        """Return how often a customer of an open chain becomes a member of each class, by its
        arrival or by a change of class [points, classes].
        """
        entries = np.zeros(self.visits.shape[:2], dtype=self.visits.dtype)
        for class_index, _ in self.references:
            entries[:, class_index] += 1
        if self.routes is None:
            return entries
        pairs = zip(self.routes.source, self.routes.target, strict=True)
        for route, ((class_before, station), (class_after, _)) in enumerate(pairs):
            # A move within a class is no entry: the customer is a member already.
            if class_after not in (OUTSIDE, class_before):
                passing = self.visits[:, class_before, station] * self.routes.probability[:, route]
                entries[:, class_after] += passing
        return entries

    def select(self, points: Any) -> NetworkPoints:
        """Select some of the points by slice, mask or indices; the reasons for points without an
        answer are not kept.
        """
        cubes = {name: getattr(self, name)[points] for name in ("service", "visits", "scv")}
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
            wrong={},
            patience=patience,
            weights=None if self.weights is None else self.weights[points],
            **cubes,
        )


SMALLEST, LARGEST = 1e-150, 1e150
"""Numbers of a network beyond which the product of two may be nothing, or have no end."""


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
            name: Chain((name,), class_, (name, "")) for name, class_ in model.classes.items()
        }
        self.chains: dict[str, Chain] = {**chains_of_one_class, **model.chains}
        self.classes = model.class_names
        self.stations = tuple(model.stations)
        self._exprs = dict(model.quantities())
        self.tape = Tape(list(self._exprs.values()))

    def columns(self, values: Values) -> dict[str, Array]:
        """Evaluate every number of the network, by its path [points]."""
        results = self.tape.run(values)
        points = max([1, *(np.size(value) for value in values.values()), *map(len, results)])
        return {
            path: np.broadcast_to(column, (points,))
            for path, column in zip(self._exprs, results, strict=True)
        }

    def perturbed(
        self, values_at_point: Mapping[str, float], names: Sequence[str]
    ) -> dict[str, Array]:
        """Evaluate every number at one point, and again with each of some parameters moved by a
        complex step; see `slipstick.method.answers.perturbed`.
        """
        values_of_names = {
            name: values_at_point.get(name, parameter.value or 0.0)
            for name, parameter in self.tape.parameters.items()
        }
        return dict(perturbed(self._exprs, values_of_names, names))

    def arrays(self, columns: Columns) -> NetworkPoints:
        """Build the arrays of a network at aligned points, as solvers take them.

        Parameters
        ----------
        columns : as `columns` or `perturbed` give them
        """
        points = max((len(column) for column in columns.values()), default=1)
        cubes = self._by_class(columns, points)
        number = {
            label: chain_number
            for chain_number, chain in enumerate(self.chains.values())
            for label in chain.classes
        }
        chain_of = np.array([number[label] for label in self.classes], dtype=np.intp)
        routes = self._routes(columns)
        wrong = {
            **self._unsound(columns),
            **({} if routes is None else self._route(routes, chain_of, cubes[1])),
        }
        service, visited = self._alike(*cubes[:2])
        # Solvers take one class for each chain; the network's own classes stay beside.
        merged = service, visited, cubes[2]
        if routes is not None:
            merged = joined_chains(*merged, chain_of)
        ranks = self._ranks([(label,) for label in self.classes])
        references = [
            (self.classes.index(label), self.stations.index(name) if name else 0)
            for label, name in (chain.reference for chain in self.chains.values())
        ]
        patience = self._patience(columns, [(label,) for label in self.classes])
        weights = self._weights(columns, [(label,) for label in self.classes])
        return NetworkPoints(
            self._network(columns, points, *merged),
            *cubes,
            chain_of=chain_of,
            ranks=ranks,
            routes=routes,
            references=references,
            classes=self.classes,
            wrong=wrong,
            patience=patience,
            weights=weights,
        )

    def _by_class(self, columns: Columns, points: int) -> tuple[Array, Array, Array]:
        """Return service, visits and scv of each class at each station; a demand counts as one
        visit.
        """
        shape = (points, len(self.classes), len(self.stations))
        kind = np.result_type(float, *columns.values())
        service = np.zeros(shape, kind)
        visits = np.zeros(shape, kind)
        scv = np.ones(shape, kind)
        for k, (name, station) in enumerate(self.model.stations.items()):
            for r, label in enumerate(self.classes):
                prefix = f"stations.{name}"
                if label in station.visitors():
                    key = "demand" if label in station.demand else "service"
                    service[:, r, k] = columns[f"{prefix}.{key}.{label}"]
                    visits[:, r, k] = columns.get(f"{prefix}.visits.{label}", 1.0)
                    scv[:, r, k] = columns.get(f"{prefix}.scv.{label}", 1.0)
        return service, visits, scv

    def _routes(self, columns: Columns) -> Routes | None:
        """Return the routes of the classes of chains at all points; None without routes."""
        if not self.model.routing:
            return None
        ends = [[route.source, route.target] for route in self.model.routing]
        numbers = np.array(
            [
                [(OUTSIDE, OUTSIDE) if place is None else self._place(place) for place in pair]
                for pair in ends
            ]
        )
        chances = [columns[f"routing.{index}.probability"] for index in range(len(ends))]
        return Routes(numbers[:, 0], numbers[:, 1], np.stack(chances, axis=1))

    def _place(self, place: Place) -> tuple[int, int]:
        return self.classes.index(place[0]), self.stations.index(place[1])

    def _route(self, routes: Routes, chain_of: NDArray[np.intp], visited: Array) -> dict[int, str]:
        """Write the visits that follow from the routes into `visited`; return, by point, why they
        do not follow.
        """
        wrong = self._sums(routes.probability.real)
        for c, (name, chain) in enumerate(self.chains.items()):
            if name in self.model.chains:
                members = np.flatnonzero(chain_of == c)
                closed = isinstance(chain.members, ClosedClass)
                solution = traffic_equations(
                    routes,
                    members.tolist(),
                    self._place(chain.reference),
                    closed,
                    visited.shape[1:],
                )
                visited[:, members] = solution[:, members]
        lost = ~np.isfinite(visited).all(axis=(1, 2))
        wrong |= {
            int(point): "the routes of some chain never come back" for point in np.flatnonzero(lost)
        }
        # Zeros keep the other points in one call of the solver; the reason replaces their answer.
        visited[list(wrong)] = 0.0
        return wrong

    def _unsound(self, columns: Columns) -> dict[int, str]:
        """Return, by point, the first number that is negative, infinite or out of range, or a
        fractional number of customers.
        """
        wrong: dict[int, str] = {}
        groups = {
            "classes": self.model.classes,
            "chains": {name: chain.members for name, chain in self.model.chains.items()},
        }
        lasting = {
            f"{group}.{name}.{key}"
            for group, members_by_name in groups.items()
            for name, class_member in members_by_name.items()
            if isinstance(class_member, OpenClass) and class_member.bursty
            for key in ("burst_time", "quiet_time")
        } | {
            f"stations.{name}.{key}.{label}"
            for name, station in self.model.stations.items()
            for key in ("patience", "timeout")
            for label in getattr(station, key)
        }
        for path, column in columns.items():
            for point, text in _unsound_numbers(path, column.real, path in lasting):
                wrong.setdefault(point, text)
        return wrong

    def _sums(self, probabilities: Array) -> dict[int, str]:
        wrong: dict[int, str] = {}
        sources = dict.fromkeys(route.source for route in self.model.routing)
        for label, station in sources:
            out = [
                index
                for index, route in enumerate(self.model.routing)
                if route.source == (label, station)
            ]
            sums = probabilities[:, out].sum(axis=1)
            for point in np.flatnonzero(~np.isclose(sums, 1.0, rtol=1e-9)):
                wrong.setdefault(
                    int(point),
                    f"the probabilities of leaving {station} as {label} add up to {sums[point]:g},"
                    " not to 1",
                )
        return wrong

    def _alike(self, service: Array, visits: Array) -> tuple[Array, Array]:
        """Return service and visits in which the demands of several classes at a first-come station
        are visits of one common service time.

        A demand does not say how it is split into visits; with one service time the station has
        product form.
        """
        service = service.copy()
        visits = visits.copy()
        for k, station in enumerate(self.model.stations.values()):
            members = [r for r, label in enumerate(self.classes) if label in station.demand]
            if (
                DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL
                and len(members) > 1
            ):
                labels_served = [
                    r for r, label in enumerate(self.classes) if label in station.service
                ]
                # A service time that the station states wins; else the longest demand is one visit.
                longest_service = service[:, labels_served or members, k].real.max(axis=1)
                for r in members:
                    visits[:, r, k] = quotient(service[:, r, k], longest_service)
                    service[:, r, k] = np.where(visits[:, r, k] != 0, longest_service, 0.0)
        return service, visits

    def _network(
        self, columns: Columns, points: int, service: Array, visits: Array, scv: Array
    ) -> NetworkArrays:
        stations = self.model.stations.values()
        think, arrivals, population, bursts = self._customers(columns, points, service.dtype)
        members = [chain.members for chain in self.chains.values()]
        batch = tuple(
            class_member.batch if isinstance(class_member, OpenClass) else 1
            for class_member in members
        )
        traced = tuple(
            isinstance(class_member, OpenClass) and bool(class_member.trace)
            for class_member in members
        )
        closed = np.array(
            [isinstance(chain.members, ClosedClass) for chain in self.chains.values()]
        )
        servers = np.array([station.servers for station in stations], dtype=np.int64)
        rates = tuple(self._rates(columns, name) for name in self.stations)
        priority = self._ranks([chain.classes for chain in self.chains.values()])
        return NetworkArrays(
            service=service,
            visits=visits,
            think=think,
            population=population,
            arrivals=arrivals,
            closed=closed,
            discipline=tuple(station.discipline for station in stations),
            servers=servers,
            rates=rates,
            scv=scv,
            priority=priority,
            stations=self.stations,
            classes=tuple(self.chains),
            capacity=tuple(station.capacity for station in stations),
            blocking=tuple(station.blocking for station in stations),
            bursts=bursts if bursts.any() else None,
            batch=batch if max(batch, default=1) > 1 else (),
            traced=traced if any(traced) else (),
            phases={
                (label, name): phases
                for name, station in self.model.stations.items()
                for label, distribution in station.distribution.items()
                if (phases := distribution.phases) is not None
            },
            **self._patience(columns, [chain.classes for chain in self.chains.values()]),
            weights=self._weights(columns, [chain.classes for chain in self.chains.values()]),
        )

    def _customers(
        self, columns: Columns, points: int, kind: np.dtype[Any]
    ) -> tuple[Array, Array, NDArray[np.int64], Array]:
        """Return think times [s], rates of arrivals [1/s] and populations of the chains [points,
        chains], and the rates of bursts, see `_bursts` [points, chains, 4].
        """
        count = len(self.chains)
        think = np.zeros((points, count), kind)
        arrivals = np.zeros((points, count), kind)
        population = np.zeros((points, count), dtype=np.int64)
        bursts = np.zeros((points, count, 4), kind)
        for c, (name, chain) in enumerate(self.chains.items()):
            prefix = f"{'chains' if name in self.model.chains else 'classes'}.{name}"
            if isinstance(chain.members, OpenClass) and chain.members.bursty:
                bursts[:, c] = self._bursts(columns, prefix)
                quiet, burst, begins, ends = bursts[:, c].T
                arrivals[:, c] = (quiet * ends + burst * begins) / (begins + ends)
            elif isinstance(chain.members, OpenClass):
                arrivals[:, c] = columns[f"{prefix}.arrivals"]
            if isinstance(chain.members, OpenClass):
                with np.errstate(over="ignore"):  # beyond all numbers is saturated as well
                    arrivals[:, c] *= chain.members.batch
            else:
                think[:, c] = columns[f"{prefix}.think_time"]
                customers = np.nan_to_num(columns[f"{prefix}.population"].real)
                # What is clipped here is refused by `_unsound`; the array of counts needs some
                # whole number.
                population[:, c] = np.round(np.clip(customers, 0, MOST_CUSTOMERS))
        return think, arrivals, population, bursts

    def _patience(self, columns: Columns, members: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return the patience of each class at each station, and whether it is constant (a
        timeout); a chain has the patience of its class that has one.
        """
        patience_times = [
            (c, k, key, columns[f"stations.{name}.{key}.{label}"])
            for c, labels in enumerate(members)
            for k, (name, station) in enumerate(self.model.stations.items())
            for key in ("patience", "timeout")
            for label in labels
            if label in getattr(station, key)
        ]
        if not patience_times:
            return {}
        shape = (len(patience_times[0][3]), len(members), len(self.stations))
        patience = np.zeros(shape, np.result_type(float, *columns.values()))
        constant = np.zeros(shape[1:], dtype=bool)
        for c, k, key, times in patience_times:
            patience[:, c, k], constant[c, k] = times, key == "timeout"
        return {"patience": patience, "timeouts": constant}

    def _weights(self, columns: Columns, members: Sequence[Sequence[str]]) -> Array | None:
        """Return the weight of each class at each station, or of the first class of each chain that
        has one.
        """
        stations = self.model.stations.items()
        if not any(station.weight for _, station in stations):
            return None
        points = max(len(column) for column in columns.values())
        shape = (points, len(members), len(self.stations))
        weights = np.ones(shape, np.result_type(float, *columns.values()))
        for c, labels in enumerate(members):
            for k, (name, station) in enumerate(stations):
                label = next((label for label in labels if label in station.weight), "")
                if label:
                    weights[:, c, k] = columns[f"stations.{name}.weight.{label}"]
        return weights

    def _bursts(self, columns: Columns, prefix: str) -> Array:
        """Return the arrival rates between and within bursts, and the rates at which bursts begin
        and end [points, 4].
        """
        quiet = columns[f"{prefix}.arrivals"]
        burst = columns[f"{prefix}.burst_arrivals"]
        # A time of 0 is refused beside; here it must not divide.
        times = (columns[f"{prefix}.{key}"] for key in ("quiet_time", "burst_time"))
        return np.stack(
            [quiet, burst, *(1 / np.where(time == 0, 1.0, time) for time in times)], axis=1
        )

    def _rates(self, columns: Columns, name: str) -> Array | None:
        count = len(self.model.stations[name].rates)
        if not count:
            return None
        return np.stack(
            [columns[f"stations.{name}.rates.{index}"] for index in range(count)], axis=1
        )

    def _ranks(self, members: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Return the rank of each class, or of the first class of each chain that has one, at each
        station.
        """
        stations = self.model.stations.values()
        ranks = [
            [
                next((station.priority[label] for label in labels if label in station.priority), 0)
                for station in stations
            ]
            for labels in members
        ]
        return np.array(ranks, dtype=np.int64).reshape(len(members), len(self.stations))


def _unsound_numbers(
    path: str, values: NDArray[np.float64], is_lasting: bool
) -> Iterator[tuple[int, str]]:
    """Yield each point at which a number is out of its range, with the reason.

    Parameters
    ----------
    path, values : of the number, and its value at each point, in base units
    is_lasting : it is a duration that must be above 0
    """
    is_count = path.endswith(".population")
    fits = np.isfinite(values) & (values >= 0)
    if is_count:
        fits &= values == np.floor(values)
    for point in np.flatnonzero(~fits).tolist():
        kind = "a whole number" if is_count else "a finite number"
        yield point, f"{path} must be {kind} that is not negative, got {values[point]:g}"
    for point in np.flatnonzero(values > MOST_CUSTOMERS).tolist() if is_count else ():
        limit_text = (
            f"{path} must be at most {MOST_CUSTOMERS:.4g}, above which doubles are no counts"
        )
        yield point, f"{limit_text}, got {values[point]:g}"
    for point in np.flatnonzero(values == 0).tolist() if ".weight." in path else ():
        yield point, f"{path} must be above 0: without weight no customer is served"
    for point in np.flatnonzero(values == 0).tolist() if is_lasting else ():
        remedy = (
            "patience a capacity says which customers do not wait"
            if "patience" in path or "timeout" in path
            else "bursts leave it out"
        )
        yield point, f"{path} must be above 0 s: without {remedy}"
    out_of_range = (values != 0) & ((values < SMALLEST) | (values > LARGEST))
    for point in np.flatnonzero(out_of_range).tolist():
        range_text = (
            f"{path} must be 0 or from {SMALLEST:g} to {LARGEST:g} in base units, got"
            f" {values[point]:g}"
        )
        yield point, f"{range_text}; beyond that products of numbers leave the range of doubles"

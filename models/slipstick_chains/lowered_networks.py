"""Queueing networks with regions, retries or circuit breakers, solved by the Markov chain of the
activity of the same meaning; its sums over a cycle become the values that networks have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, zero
from slipstick.expression.tape import (
    Flags,
    Values,
    count_of_points,
    entries_at_rows,
    selected_values,
)
from slipstick.late import Array, np
from slipstick.limits import with_lower_limits
from slipstick.method.activity_form import ActivityTable
from slipstick.method.answers import CompiledModel, Remarks, Solution
from slipstick.method.names import THINK
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.model.network import QueueingNetwork
from slipstick.queueing.checks import EXACT as ROUNDING
from slipstick.queueing.network import ABANDONMENT, NetworkArrays
from slipstick.random_times import without_zeros
from slipstick.vocabulary import BACK_OFF_TIME, DISCIPLINES, MARKOV_CHAIN
from slipstick_chains.activity_chain import MOST_BY_DEFAULT, REFUSED, ActivityChain
from slipstick_chains.lowering import lower_network

NamedValues = Iterator[tuple[str, Array]]

AS_ACTIVITY = "solved as the activity of the same meaning"
"""The note on an answer for a network that is solved as an activity."""


def values_of_activity(
    network_name: str,
    values: Values,
    parameters: Collection[str],
    own_values: Mapping[str, float | None],
) -> Values:
    """Return the values of the parameters of the activity that has the meaning of a network.

    Parameters
    ----------
    network_name : in messages
    values : of parameters of the network, at a point
    parameters : of the activity
    own_values : of the parameters of the network

    Raises
    ------
    NoAnswerError : the activity is written at the own value of another parameter
    """
    for name, value in values.items():
        if name not in parameters and np.any(value != own_values[name]):
            raise NoAnswerError(
                f"markov-chain solves {network_name} at its own value of {name},"
                f" {own_values[name]:g}; ask for simulation, or write the value in the model"
            )
    return selected_values(values, parameters)


class LoweredNetwork(CompiledModel):
    """A queueing network with regions, retries or circuit breakers, compiled as the Markov chain of
    an activity.

    Parameters
    ----------
    network : with classes that visit the stations in the order written

    Raises
    ------
    NoAnswerError : an activity or its chain cannot express a part of the network

    >>> from slipstick.expression.nodes import TIME, Number
    >>> from slipstick.model.network import closed_class, guard, network, station
    >>> from slipstick.model.system import Breaker
    >>> desk = station(service={"calls": 1.0}, patience={"calls": 2.0})
    >>> breakers = {"guard": guard(["desk"], Breaker(1, Number(1.0, TIME), scv=1.0))}
    >>> calls = {"calls": closed_class(1, think_time=1.0)}
    >>> form = LoweredNetwork(network(calls, {"desk": desk}, breakers=breakers))
    >>> round(form.points({}).answer(0)["throughput[calls]"], 9)
    0.5
    """

    def __init__(self, network: QueueingNetwork) -> None:
        self.network = network
        stations_with_rates = [
            f"the rates of {name}" for name, station in network.stations.items() if station.rates
        ]
        absence_words = ["servers that are away"] if network.absences else []
        for refused_part in (
            (["customers that change class"] if network.chains else [])
            + absence_words
            + stations_with_rates
        ):
            raise NoAnswerError(
                f"markov-chain takes no regions, retries or breakers beside {refused_part}; ask for"
                " simulation"
            )
        try:
            activity = lower_network(network)
        except NoAnswerError as error:
            raise NoAnswerError(f"{error}; ask for simulation") from error
        self._chain = ActivityChain(activity)
        self._layout = NetworkLayout(network)
        own_parameters = self._layout.tape.parameters | self._chain.tape.parameters
        self._own_values = {name: parameter.value for name, parameter in own_parameters.items()}
        self.parameters = tuple(self._own_values)
        # A single class has no name in the activity; of several, closed ones come first.
        self._classes = self._chain.model.population.group_names or list(network.classes)
        self.quantity = f"response_time[{next(iter(network.classes))}]"

    def takes(self, values: Values) -> Flags:
        """Return a mask of the points at which the chain answers by default: those at which it is
        small; none where classes have target times.
        """
        if any(members.target_time != zero(TIME) for members in self.network.classes.values()):
            return np.zeros(1, dtype=bool)  # a simulation has the share within the target
        with with_lower_limits({"states": MOST_BY_DEFAULT}):
            return np.isfinite(self.solution(values).values[self.quantity])

    def solution(self, values: Values) -> Solution:
        """Solve the chain at each point; return the values of the network, and the reason at points
        without an answer.
        """
        point_count = count_of_points(values)
        columns: dict[str, Array] = {self.quantity: np.full(point_count, np.nan)}
        account_columns: dict[str, Array] = {}
        reason_by_point: dict[int, str] = {}
        for point in range(point_count):
            point_values = {
                name: entries_at_rows(value, np.array([point])) for name, value in values.items()
            }
            network_points = self._layout.network_points(self._layout.columns(point_values))
            try:
                for reason in network_points.reason_by_point.values():
                    raise NoAnswerError(reason)
                values_of_chain = values_of_activity(
                    self.network.name, point_values, self._chain.parameters, self._own_values
                )
                sums = self._chain.sums(self._chain.numbers(values_of_chain))
            except NoAnswerError as error:
                reason_by_point[point] = str(error)
                continue
            network_reading = _NetworkReading(
                self.network, self._classes, sums, network_points.network
            )
            for table, names_and_values in (
                (columns, network_reading.values()),
                (account_columns, network_reading.account()),
            ):
                for name, value in names_and_values:
                    table.setdefault(name, np.full(point_count, np.nan))[point] = np.ravel(value)[
                        0
                    ].real
        has_patience = any(station.patience for station in self.network.stations.values())
        notes = (AS_ACTIVITY, *([ABANDONMENT] if has_patience else []))
        return Solution(
            model=self.network.name,
            method=MARKOV_CHAIN,
            count=point_count,
            exact=self._chain.exact(values, ActivityTable(np.ones(point_count), {})),
            values=columns,
            account={name: times for name, times in account_columns.items() if np.nansum(times)},
            refused_points=frozenset(reason_by_point),
            remarks=lambda index: Remarks(failed=reason_by_point.get(index), notes=notes),
        )


class _NetworkReading:
    """Computes the values of a network at one point from the sums over a cycle of its activity.

    Parameters
    ----------
    network, classes : the network, and its classes in the order of the groups of the activity
    sums : see `slipstick_chains.activity_chain.sums_over_cycles`
    arrays : the numbers of the network
    """

    def __init__(
        self,
        network: QueueingNetwork,
        class_names: Sequence[str],
        sum_by_key: Mapping[tuple[str, Any], Array],
        arrays: NetworkArrays,
    ) -> None:
        self._network = network
        self._sums = sum_by_key
        self._arrays = arrays
        self._cycle_rates = {
            name: self._mean("calls", index) for index, name in enumerate(class_names)
        }
        self._member_count_by_class = {
            name: self._mean("members", index) for index, name in enumerate(class_names)
        }

    def _mean(self, sum_kind: str, sum_name: object) -> Array:
        """Return a sum over a cycle divided by the time of the cycle: a mean number present, or a
        rate [1/s].
        """
        return np.asarray(self._sums[sum_kind, sum_name] / self._sums["time", ""])

    def _visits_and_service_time(self, class_name: str, station_name: str) -> tuple[float, float]:
        """Return the visits of a class to a station in a cycle [1], and the service time of one
        visit [s].
        """
        class_key = (0, self._arrays.classes.index(class_name))
        station_index = self._arrays.stations.index(station_name)
        visit_count, service_time = (
            self._arrays.visits[*class_key, station_index],
            self._arrays.service[*class_key, station_index],
        )
        return float(visit_count.real), float(service_time.real)

    def _stations_of_class(self, class_name: str) -> list[str]:
        """List the stations at which a class spends time, in the order of its visits."""
        visits_and_time_by_station = {
            name: self._visits_and_service_time(class_name, name) for name in self._network.stations
        }
        return [
            name
            for name, (visit_count, service_time) in visits_and_time_by_station.items()
            if visit_count * service_time > 0
        ]

    def _may_fail(self, class_name: str, station_name: str) -> bool:
        """Return whether the station may lose customers of the class."""
        return self._network.stations[station_name].loses(class_name)

    def _present_count(self, class_name: str, station_name: str) -> Array:
        """Return the mean number of customers of a class that are present at a station [1]."""
        step_name = f"{class_name}.{station_name}"
        return self._mean("here", step_name) + self._mean("waits", step_name)

    def _completion_rate(self, class_name: str, station_name: str) -> Array:
        """Return how many services of a class end at a station in a second [1/s]."""
        visit_count, service_time = self._visits_and_service_time(class_name, station_name)
        if not self._may_fail(class_name, station_name):
            return self._cycle_rates[class_name] * visit_count
        return self._mean("here", f"{class_name}.{station_name}") / service_time

    def _abandonment_rate(self, class_name: str, station_name: str) -> Array:
        """Return how many customers of a class abandon the queue of a station in a second [1/s]."""
        if class_name not in self._network.stations[station_name].patience:
            return np.zeros(1)
        assert self._arrays.patience is not None
        class_index = self._arrays.classes.index(class_name)
        station_index = self._arrays.stations.index(station_name)
        patience = self._arrays.patience[0, class_index, station_index]
        return np.asarray(self._mean("waits", f"{class_name}.{station_name}") / patience)

    def _visit_rate(self, class_name: str, station_name: str) -> Array:
        """Return how many visits a class makes to a station in a second: visits of customers that
        are let in, or that try again until they are [1/s].
        """
        visit_count, _ = self._visits_and_service_time(class_name, station_name)
        tries_again = class_name in self._network.stations[station_name].retries
        if tries_again or not self._may_fail(class_name, station_name):
            return self._cycle_rates[class_name] * visit_count
        return self._completion_rate(class_name, station_name) + self._abandonment_rate(
            class_name, station_name
        )

    def _cycle_rate(self, class_name: str, visit_or_completion_rate: Any) -> Array:
        """Return how many cycles of a class are counted at its first station in a second [1/s].

        Parameters
        ----------
        class_name : of the class
        visit_or_completion_rate : `_visit_rate`, or `_completion_rate` for those that end there
        """
        for station_name in self._stations_of_class(class_name)[:1]:
            if self._may_fail(class_name, station_name):
                visit_count, _ = self._visits_and_service_time(class_name, station_name)
                return np.asarray(visit_or_completion_rate(class_name, station_name) / visit_count)
        return self._cycle_rates[class_name]

    def values(self) -> NamedValues:
        """Yield the values of the network, its classes and its stations, by name."""
        for class_name, member_count in self._member_count_by_class.items():
            thinking_count = self._mean("here", f"{class_name}.{THINK}")
            cycle_rate = self._cycle_rate(class_name, self._visit_rate)
            yield f"throughput[{class_name}]", self._cycle_rate(class_name, self._completion_rate)
            yield (
                f"response_time[{class_name}]",
                (member_count - thinking_count) / without_zeros(cycle_rate),
            )
            for station_name in self._stations_of_class(class_name):
                yield from self._values_at_station(class_name, station_name, cycle_rate)
        for station_name in self._network.stations:
            yield from self._values_of_station(station_name)
        for name in self._network.regions:
            present_count, busy_count = self._mean("present", name), self._mean("busy", name)
            yield f"queue_length[{name}]", present_count
            yield f"utilization[{name}]", busy_count / self._network.regions[name].capacity
            grant_rate = without_zeros(self._mean("calls", name))
            yield (
                f"waiting_time[{name}]",
                _difference_beyond_rounding(present_count, busy_count) / grant_rate,
            )
        for name in self._network.breakers:
            refused_share = self._mean("calls", REFUSED + name) / without_zeros(
                self._mean("calls", name)
            )
            yield f"open_share[{name}]", self._mean("open", name)
            yield f"refused_share[{name}]", refused_share

    def _values_at_station(
        self, class_name: str, station_name: str, cycle_rate: Array
    ) -> NamedValues:
        """Yield the values of a class at a station, by name."""
        station = self._network.stations[station_name]
        label = f"[{class_name},{station_name}]"
        visit_rate, present_count = (
            self._visit_rate(class_name, station_name),
            self._present_count(class_name, station_name),
        )
        completion_rate = self._completion_rate(class_name, station_name)
        _, service_time = self._visits_and_service_time(class_name, station_name)
        yield f"queue_length{label}", present_count
        yield f"residence_time{label}", present_count / without_zeros(cycle_rate)
        yield f"time_per_visit{label}", present_count / without_zeros(visit_rate)
        yield (
            f"waiting_time{label}",
            _difference_beyond_rounding(present_count, completion_rate * service_time)
            / without_zeros(visit_rate),
        )
        if not DISCIPLINES[station.discipline].delay:
            yield f"utilization{label}", completion_rate * service_time / station.servers
        tries_again = class_name in station.retries
        may_turn_away = station.capacity is not None or class_name in station.balking
        is_guarded = bool(self._network.breaker_of(station_name))
        # Of customers that give up after several tries the chain does not count why.
        has_one_cause = not is_guarded and not (may_turn_away and class_name in station.patience)
        if class_name in station.patience and (has_one_cause or not tries_again):
            loss_rate = (
                _difference_beyond_rounding(visit_rate, completion_rate)
                if tries_again
                else self._abandonment_rate(class_name, station_name)
            )
            yield f"abandonment{label}", loss_rate / without_zeros(visit_rate)
        if may_turn_away and has_one_cause:
            arrival_rate = (
                self._cycle_rates[class_name]
                * self._visits_and_service_time(class_name, station_name)[0]
            )
            admission_rate = completion_rate if tries_again else visit_rate
            yield (
                f"loss_probability{label}",
                _difference_beyond_rounding(arrival_rate, admission_rate)
                / without_zeros(arrival_rate),
            )

    def _values_of_station(self, station_name: str) -> NamedValues:
        """Yield the values of a station over all classes, by name."""
        station = self._network.stations[station_name]
        visitors = [
            name
            for name in self._member_count_by_class
            if station_name in self._stations_of_class(name)
        ]
        yield (
            f"queue_length[{station_name}]",
            sum((self._present_count(name, station_name) for name in visitors), np.zeros(1)),
        )
        if not DISCIPLINES[station.discipline].delay:
            work_rates = (
                self._completion_rate(name, station_name)
                * self._visits_and_service_time(name, station_name)[1]
                for name in visitors
            )
            yield f"utilization[{station_name}]", sum(work_rates, np.zeros(1)) / station.servers

    def account(self) -> NamedValues:
        """Yield the time of a cycle by component, for a network with one class [s]."""
        if len(self._member_count_by_class) > 1:
            return
        (class_name,) = self._member_count_by_class
        cycle_rate = without_zeros(self._cycle_rate(class_name, self._visit_rate))
        yield THINK, self._mean("here", f"{class_name}.{THINK}") / cycle_rate
        for name in self._stations_of_class(class_name):
            _, service_time = self._visits_and_service_time(class_name, name)
            busy_count = self._completion_rate(class_name, name) * service_time
            yield name, busy_count / cycle_rate
            yield (
                f"wait:{name}",
                _difference_beyond_rounding(self._present_count(class_name, name), busy_count)
                / cycle_rate,
            )
            if class_name in self._network.stations[name].retries:
                pause_label = f"{BACK_OFF_TIME}:{name}"
                yield pause_label, self._mean("label", pause_label) / cycle_rate
        for name in self._network.regions:
            waiting_count = _difference_beyond_rounding(
                self._mean("present", name), self._mean("busy", name)
            )
            yield f"wait:{name}", waiting_count / cycle_rate


def _difference_beyond_rounding(larger: Array, smaller: Array) -> Array:
    """Return the difference of two values, and 0 if it is so small that it is rounding."""
    difference = larger - smaller
    return np.where(np.abs(difference) <= ROUNDING * np.abs(larger), 0.0, difference)

"""Simulation of queueing networks: estimates of their measures from a run. The statistics of a run
are one row of sums for each batch. A vector of weights selects and adds columns of them, and an
estimate is the ratio of two such weighted sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from slipstick.answer import Value, unit_of
from slipstick.errors import Doubt, NoAnswerError
from slipstick.late import Array, np
from slipstick.method.answers import ROUNDING, Gradient, Remarks, Solution
from slipstick.method.names import QUANTILES, THINK
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.method.networks.flatten import (
    FlatNetwork,
    abandonment_tally,
    again_label,
    back_off_label,
    entrance_mark_at,
    entrance_of_network,
    failure_mark,
    loss_tally,
    region_wait_label,
    service_label,
    thinking_label,
    wait_label,
)
from slipstick.method.networks.form import CompiledNetwork, assumption_notes
from slipstick.method.simulation.form import (
    CompiledSimulation,
    Differences,
    check_departures,
    least_gap,
    notes_of,
    one_point_solution,
    surplus_of_stream,
    value_of_estimate,
)
from slipstick.model.network import OpenClass, Place, QueueingNetwork
from slipstick.queueing.network import ABANDONMENT
from slipstick.sim.estimate import Estimate, Layout, Result, weights_of_unbooked_time
from slipstick.sim.plan.builder import CONSULTED
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import BACK_OFF_TIME, DISCIPLINES, LINEARIZER, LOSS

ZERO_ESTIMATE = Estimate(0.0, 0.0, 0.0)
"""The estimate of rates and numbers of a chain without customers."""

NO_CUSTOMERS = "the network has no customers and no arrivals"


def simulation_of(model: QueueingNetwork, simulation: Simulation) -> CompiledSimulation:
    """Compile a network for simulation; every value has its 95 % interval.

    A customer that comes to a station that is full is lost: one that arrived from outside leaves,
    one that goes round begins a new cycle. The response time is counted from the end of thinking. A
    station with rates is one server whose speed depends on how many are there.

    Parameters
    ----------
    model : the network
    simulation : seed, precision and budget

    >>> from slipstick.model.network import closed_class, network, station
    >>> three = network(
    ...     {"jobs": closed_class(3)}, {"cpu": station(demand={"jobs": 2.0}, scv={"jobs": 0})}
    ... )
    >>> answer = simulation_of(three, Simulation()).points({}).answer(0)
    >>> answer["throughput[jobs]"], answer["response_time[jobs]"], answer["waiting_time[jobs,cpu]"]
    (0.5, 6.0, 4.0)
    """
    network_layout = NetworkLayout(model)
    return CompiledSimulation(
        model.name,
        f"response_time[{next(iter(network_layout.chains))}]",
        tuple(network_layout.tape.parameters),
        lambda values: _simulated_solution(network_layout, values, simulation),
    )


def _simulated_solution(
    network_layout: NetworkLayout, values: Mapping[str, float], simulation: Simulation
) -> Solution:
    """Simulate a network at one point, and return the values estimated from the run."""
    planned_network = flat_network(network_layout, values)
    result = (
        simulate(planned_network.plan, simulation) if planned_network.group_index_by_chain else None
    )
    estimates = _NetworkEstimates(network_layout, planned_network, result)
    estimated_values = estimates.values()
    if result is not None:
        check_departures(result, planned_network.lossy_chains)
        estimates.check_queues()
    remarks = estimates.remarks()
    gradient = None
    first_time = estimated_values.get(f"response_time[{next(iter(network_layout.chains))}]")
    if result and simulation.shares and first_time:
        gradient, shares, note = _shares(
            network_layout, values, first_time.value or 0.0, result, simulation
        )
        estimated_values = {**estimated_values, **shares}
        remarks = replace(remarks, notes=(*remarks.notes, note))
    is_exact = estimates.is_exact and not (result and result.plan.is_random)
    account = {"account": estimates.account()}
    return replace(
        one_point_solution(network_layout.model.name, estimated_values, remarks, gradient, account),
        exact=np.array([is_exact]),
        events={0: result.events} if result else {},
    )


class _NetworkEstimates:
    """Estimates from one run of a network; without a run, the estimates of an empty network."""

    def __init__(
        self, network_layout: NetworkLayout, planned_network: FlatNetwork, result: Result | None
    ) -> None:
        self.network_layout = network_layout
        self.planned_network = planned_network
        self.result = result
        self.stations = network_layout.model.stations
        self.layout = Layout(planned_network.plan)
        self.elapsed_weights = self.layout.column_weights(self.layout.time_column)
        self.chain_by_class = {
            class_name: chain_name
            for chain_name, chain in network_layout.chains.items()
            for class_name in chain.classes
        }

    def check_queues(self) -> None:
        """Raise if fewer customers leave a station, or enter a region, than come to it, in a run
        that has not reached its precision. Behind places that lose customers, only a run shows how
        many come to them.

        Raises
        ------
        NoAnswerError : a queue grows without end
        """
        result = self.result
        lossy_chains = self.planned_network.lossy_chains
        if result is None or result.converged or not len(result.batches) or not lossy_chains:
            return
        column_sums = result.batches.sum(axis=0)
        elapsed = float(column_sums[self.layout.time_column])
        surplus = sum(
            surplus_of_stream(result.plan.draws[group.arrivals].distribution)
            for group in result.plan.groups
            if group.kind == "open"
        )
        for resource_index, station_name in enumerate(self.planned_network.plan.resources):
            places = [place for place in self.planned_network.visits if place[1] == station_name]
            visitors = {self.chain_by_class[class_name] for class_name, _ in places}
            if not visitors & lossy_chains:
                continue
            arrival_count = float(
                column_sums @ self.sum_of_weights(map(self._weights_of_entries, places))
            )
            departure_count = float(column_sums[self.layout.ended_visit_columns[resource_index]])
            least_arrivals = max(0.0, arrival_count - surplus)
            if 0 < departure_count < least_arrivals * (1 - least_gap(departure_count)):
                raise NoAnswerError(
                    f"more customers come to {station_name} than leave it:"
                    f" {arrival_count / elapsed:.4g} and {departure_count / elapsed:.4g} in a"
                    f" second, in the {elapsed:.4g} s that were simulated; lower the arrivals,"
                    " shorten the service, or add servers"
                )
        for region_name in self.network_layout.model.regions:
            resource_index = self.planned_network.plan.resources.index(region_name)
            lock_index = resource_index - len(self.planned_network.plan.stations)
            waiting_times = result.batches @ (
                self.layout.column_weights(self.layout.present_time_columns[resource_index])
                - self.layout.column_weights(self.layout.busy_time_columns[resource_index])
            )
            waiting_by_batch = waiting_times / result.batches[:, self.layout.time_column]
            further_waiting = float(waiting_by_batch[-1] - waiting_by_batch[0])
            unexpected_waiting = further_waiting - surplus
            entry_count = float(column_sums[self.layout.grant_columns[lock_index]])
            # Those that come and do not enter wait outside at the end.
            if unexpected_waiting > least_gap(entry_count) * (entry_count + further_waiting):
                raise NoAnswerError(
                    f"more customers come to region {region_name} than enter it:"
                    f" {entry_count / elapsed:.4g} enter in a second, and {further_waiting:.4g}"
                    f" more wait outside after the {elapsed:.4g} s that were simulated than before;"
                    " lower the arrivals, or give it more places"
                )

    def values(self) -> dict[str, Value]:
        """Compute the value of every estimate."""
        return {
            value_name: value_of_estimate(estimate, unit_of(value_name))
            for value_name, estimate in self._named_estimates()
            if estimate is not None
        }

    def _notes_on_visits(self) -> Iterator[str]:
        """Yield a note on the stated numbers of visits above 1, the largest first: means do not
        depend on how they vary, but quantiles do.
        """
        stated_places = {
            (class_name, station_name)
            for station_name, station in self.network_layout.model.stations.items()
            for class_name in station.visits
        }
        visits_by_place = self.planned_network.stated_visits
        # A number below 1 is a probability, which leaves no choice.
        places = [
            place
            for place in sorted(stated_places & visits_by_place.keys())
            if visits_by_place[place] > 1
        ]
        places.sort(key=lambda place: -visits_by_place[place])
        means_text = ", ".join(
            f"of {place[0]} to {place[1]} about {visits_by_place[place]:.4g}" for place in places
        )
        if places:
            yield Doubt(
                f"numbers of visits vary: {means_text}; the probability of one more does not depend"
                " on those made; with fixed numbers, high quantiles are shorter"
            )

    def remarks(self) -> Remarks:
        """Return the notes on the run."""
        result = self.result
        notes = (
            *(notes_of(result) if result else (NO_CUSTOMERS,)),
            *assumption_notes(self.network_layout),
            *self._notes_on_visits(),
        )
        notes = (*notes, ABANDONMENT) if self.planned_network.network_points.patience else notes
        traces = {
            chain_name: getattr(chain.members, "trace", ())
            for chain_name, chain in self.network_layout.chains.items()
            if chain_name not in self.network_layout.model.absences
        }
        notes += tuple(
            f"{chain_name} arrive as the {len(times_between)} times between arrivals of their trace"
            " say, again and again: intervals do not cover that another trace would differ"
            for chain_name, times_between in traces.items()
            if times_between
        )
        if result is None:
            return Remarks(notes=notes)
        return Remarks(
            notes=notes,
            seed=result.settings.seed,
            converged=result.converged,
            interrupted=result.stop_cause == "interrupted",
        )

    @property
    def is_exact(self) -> bool:
        """Whether every mean is known up to rounding."""
        estimates = (
            estimate
            for value_name, estimate in self.values().items()
            if "quantile" not in value_name
        )
        return all(
            estimate.low is not None
            and estimate.value is not None
            and estimate.value - estimate.low <= ROUNDING * estimate.value
            for estimate in estimates
        )

    def _named_estimates(self) -> Iterator[tuple[str, Estimate | None]]:
        """Yield every estimate with its name; None where the run is too short for an estimate."""
        for chain_name in self.network_layout.chains:
            yield from self._estimates_of_chain(chain_name)
        for region_name in self.network_layout.model.regions:
            yield from self._estimates_of_region(region_name)
        for breaker_name in self.network_layout.model.breakers:
            yield from self._estimates_of_breaker(breaker_name)
        for station_name, station in self.stations.items():
            for class_name in station.visitors():
                yield from self._estimates_of_place((class_name, station_name))
        for station_name in self.stations:
            yield from self._estimates_of_station(station_name)
        for chain_name in self.planned_network.group_index_by_chain:
            for level in QUANTILES:
                quantile = (
                    None
                    if self.result is None
                    else self.result.time_quantile(
                        level, self.planned_network.group_index_by_chain[chain_name]
                    )
                )
                yield f"response_time_quantile[{chain_name},{level:g}]", quantile
            if target := self.planned_network.targets.get(chain_name):
                share = None
                if self.result is not None:
                    share = self.result.share_within(
                        target, self.planned_network.group_index_by_chain[chain_name]
                    )
                yield f"within_target[{chain_name}]", share

    def _estimates_of_chain(self, chain_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield throughput and response time of a chain and of its classes."""
        chain = self.network_layout.chains[chain_name]
        places = self.places(chain_name)
        served_weights = self.weights_of_served_cycles(chain_name)
        if served_weights is not None:
            yield (
                f"throughput[{chain_name}]",
                self._ratio_estimate(
                    chain_name, served_weights, self.elapsed_weights, ZERO_ESTIMATE
                ),
            )
        yield (
            f"response_time[{chain_name}]",
            self._response_estimate(chain_name, places, chain.classes),
        )
        for class_name in chain.classes if chain.classes != (chain_name,) else ():
            served_weights, begun_weights = self._weights_of_memberships(chain_name, class_name)
            time_weights = self._weights_of_response_time(
                [place for place in places if place[0] == class_name], [class_name]
            )
            if served_weights is not None:
                yield (
                    f"throughput[{class_name}]",
                    self._ratio_estimate(
                        chain_name, served_weights, self.elapsed_weights, ZERO_ESTIMATE
                    ),
                )
            if begun_weights is not None:
                yield (
                    f"response_time[{class_name}]",
                    self._ratio_estimate(chain_name, time_weights, begun_weights),
                )

    def _weights_of_memberships(
        self, chain_name: str, class_name: str
    ) -> tuple[Array | None, Array | None]:
        """Return two vectors of weights of the run's statistics, None where the run does not count
        memberships. The weighted sums are how often customers become members of a class: customers
        who are served, and all. See `Measures._class_rates` for when one becomes a member.
        """
        chain = self.network_layout.chains[chain_name]
        reference_class, reference_station = chain.reference
        place = class_name, reference_station
        is_closed = not isinstance(chain.members, OpenClass)
        if is_closed and place in self.planned_network.visits:
            return self._weights_of_served_visits(place), self.weights_of_visits(place)
        change_weights = self._weights_of_changes(class_name)
        if change_weights is None or is_closed or class_name != reference_class:
            return change_weights, change_weights
        cycle_weights = self.weights_of_served_cycles(chain_name)
        return (
            None if cycle_weights is None else cycle_weights + change_weights,
            self.weights_of_cycles(chain_name) + change_weights,
        )

    def _weights_of_served_visits(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the number of visits to a
        place that end with a service.
        """
        return self.weights_of_visits(place) - self.sum_of_weights(
            self._tally_weights(self.layout.try_columns, place, name_tally)
            for name_tally in (abandonment_tally, loss_tally, failure_mark)
        )

    def _weights_of_changes(self, class_name: str) -> Array | None:
        """Return weights of the run's statistics, whose weighted sum is how often customers change
        to a class; None where customers that stay in it come to the same place by a rule.
        """
        model, points = self.network_layout.model, self.planned_network.network_points
        if points.routes is None:
            return np.zeros(self.layout.column_count)
        if points.network.draws_again:
            return None
        change_weights = np.zeros(self.layout.column_count)
        weights_by_target: dict[Place, Array] = {}
        places_by_rule: set[Place] = set()
        for route, probability in zip(
            model.routing, points.routes.probability[0].real.tolist(), strict=True
        ):
            if route.target is None or route.target[0] != class_name:
                continue
            if route.by and route.source[0] == class_name:
                return None
            if route.by:
                places_by_rule.add(route.target)
                continue
            move_weights = self._weights_of_served_visits(route.source) * probability
            weights_by_target[route.target] = move_weights + weights_by_target.get(
                route.target, 0.0
            )
            change_weights += move_weights if route.source[0] != class_name else 0.0
        chain = self.network_layout.chains[self.chain_by_class[class_name]]
        for place in places_by_rule:
            if place == chain.reference or model.region_of(place[1]):
                return None
            arrival_weights = self._tally_weights(self.layout.try_columns, place)
            change_weights += arrival_weights - weights_by_target.get(place, 0.0)
        return change_weights

    def _estimates_of_place(self, place: Place) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the estimates of one class at one station."""
        chain_name = self.chain_by_class[place[0]]
        station = self.stations[place[1]]
        name_in_brackets = f"[{place[0]},{place[1]}]"
        presence_weights = self.weights_of_time(place)
        visit_weights = self.weights_of_cycles(chain_name)
        if place in self.planned_network.visits:
            visit_weights = self.weights_of_visits(place) * (
                self.planned_network.stated_visits[place] / self.planned_network.visits[place]
            )
        yield (
            f"queue_length{name_in_brackets}",
            self._ratio_estimate(chain_name, presence_weights, self.elapsed_weights, ZERO_ESTIMATE),
        )
        yield f"residence_time{name_in_brackets}", self._response_estimate(chain_name, [place])
        yield (
            f"time_per_visit{name_in_brackets}",
            self._ratio_estimate(chain_name, presence_weights, visit_weights),
        )
        if not station.rates:
            yield (
                f"waiting_time{name_in_brackets}",
                self._ratio_estimate(chain_name, self.weights_of_waiting(place), visit_weights),
            )
        if not DISCIPLINES[station.discipline].delay:
            yield (
                f"utilization{name_in_brackets}",
                self._ratio_estimate(
                    chain_name,
                    self._weights_of_busy_time(place),
                    self.elapsed_weights * station.servers,
                    ZERO_ESTIMATE,
                ),
            )
        if station.capacity or place[0] in station.balking:
            refusal_weights, attempt_weights = (
                self._tally_weights(tally_columns, place)
                for tally_columns in (self.layout.refusal_columns, self.layout.try_columns)
            )
            if place[0] in station.retries:
                refusal_weights = self._tally_weights(self.layout.try_columns, place, loss_tally)
            if station.blocking != LOSS:
                # Only those from outside are lost; the visits are those that were let in.
                refusal_weights = self._weights_of_losses_from_outside(place)
                attempt_weights = attempt_weights + refusal_weights
            yield (
                f"loss_probability{name_in_brackets}",
                self._ratio_estimate(chain_name, refusal_weights, attempt_weights, ZERO_ESTIMATE),
            )
        if place[0] in (*station.patience, *station.timeout):
            abandonment_weights = self._tally_weights(
                self.layout.try_columns, place, abandonment_tally
            )
            yield (
                f"abandonment{name_in_brackets}",
                self._ratio_estimate(
                    chain_name, abandonment_weights, self.weights_of_visits(place), ZERO_ESTIMATE
                ),
            )

    def _estimates_of_station(self, station_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the number of customers present at a station and its utilization by customers."""
        absences = self.network_layout.model.absences
        visits_of_customers = [
            place
            for place in self.planned_network.visits
            if place[1] == station_name and place[0] not in absences
        ]
        has_absences = any(absence.station == station_name for absence in absences.values())
        is_delay = DISCIPLINES[self.stations[station_name].discipline].delay
        if is_delay or has_absences:
            presence_weights = self.sum_of_weights(map(self.weights_of_time, visits_of_customers))
            yield (
                f"queue_length[{station_name}]",
                self._ratio_estimate(None, presence_weights, self.elapsed_weights),
            )
            if is_delay:
                return
        resource_index = self.planned_network.plan.resources.index(station_name)
        if not has_absences:
            yield (
                f"queue_length[{station_name}]",
                self._ratio_estimate(
                    None,
                    self.layout.column_weights(self.layout.present_time_columns[resource_index]),
                    self.elapsed_weights,
                ),
            )
        busy_weights = (
            # Who is blocked keeps a server that does nothing.
            self.sum_of_weights(map(self._weights_of_busy_time, visits_of_customers))
            if has_absences or station_name in self.planned_network.held_stations
            else self.layout.column_weights(self.layout.busy_time_columns[resource_index])
        )
        yield (
            f"utilization[{station_name}]",
            self._ratio_estimate(
                None, busy_weights, self.elapsed_weights * self.stations[station_name].servers
            ),
        )

    def _estimates_of_region(self, region_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the number present, the utilization, the wait and the losses of a region."""
        region = self.network_layout.model.regions[region_name]
        layout = self.layout
        resource_index = self.planned_network.plan.resources.index(region_name)
        presence_weights = layout.column_weights(layout.present_time_columns[resource_index])
        holding_weights = layout.column_weights(layout.busy_time_columns[resource_index])
        lock_index = resource_index - len(self.planned_network.plan.stations)
        yield (
            f"queue_length[{region_name}]",
            self._ratio_estimate(None, presence_weights, self.elapsed_weights),
        )
        yield (
            f"utilization[{region_name}]",
            self._ratio_estimate(None, holding_weights, self.elapsed_weights * region.capacity),
        )
        grant_weights = layout.column_weights(layout.grant_columns[lock_index])
        # Present are those that hold a place and those that wait for one.
        yield (
            f"waiting_time[{region_name}]",
            self._ratio_estimate(None, presence_weights - holding_weights, grant_weights),
        )
        if region.loses_customers:
            tallies = self.planned_network.plan.tallies
            entrance_marks = [
                entrance_mark_at(place, region_name) for place in self.planned_network.visits
            ]
            tally_indices = [tallies.index(tally) for tally in entrance_marks if tally in tallies]
            refusal_weights, attempt_weights = (
                self.sum_of_weights(
                    layout.column_weights(columns_of_tallies[tally_index])
                    for tally_index in tally_indices
                )
                for columns_of_tallies in (layout.refusal_columns, layout.try_columns)
            )
            yield (
                f"loss_probability[{region_name}]",
                self._ratio_estimate(None, refusal_weights, attempt_weights),
            )

    def _estimates_of_breaker(self, breaker_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the share of time in which a circuit breaker is open, and of visits it refuses."""
        open_weights = self.layout.column_weights(
            self.layout.busy_time_columns[self.planned_network.plan.resources.index(breaker_name)]
        )
        refusal_weights, visit_weights = (
            self._weights_of_tally(tally_columns, f"{CONSULTED}:{breaker_name}")
            for tally_columns in (self.layout.refusal_columns, self.layout.try_columns)
        )
        yield (
            f"open_share[{breaker_name}]",
            self._ratio_estimate(None, open_weights, self.elapsed_weights),
        )
        yield (
            f"refused_share[{breaker_name}]",
            self._ratio_estimate(None, refusal_weights, visit_weights),
        )

    def places(self, chain_name: str) -> list[Place]:
        """List the places at which a chain has service."""
        return [
            place
            for place in self.planned_network.visits
            if self.chain_by_class[place[0]] == chain_name
        ]

    def sum_of_weights(self, weights: Iterable[Array]) -> Array:
        """Add up several vectors of weights; return zeros if there are none."""
        total: Array = sum(weights, np.zeros(self.layout.column_count))
        return total

    def _response_estimate(
        self, chain_name: str, places: list[Place], waiting_classes: Sequence[str] = ()
    ) -> Estimate | None:
        """Estimate the time that a cycle spends at some places, and that some classes wait before
        regions [s].
        """
        time_weights = self._weights_of_response_time(places, waiting_classes)
        return self._ratio_estimate(chain_name, time_weights, self.weights_of_cycles(chain_name))

    def weights_of_response_time(self, chain_name: str) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the total response time of
        a chain.
        """
        class_names = self.network_layout.chains[chain_name].classes
        return self._weights_of_response_time(self.places(chain_name), class_names)

    def _weights_of_response_time(
        self, places: Iterable[Place], waiting_classes: Iterable[str]
    ) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the time that customers
        spend at some places, and that some classes wait before regions [s].
        """
        return self.sum_of_weights(map(self.weights_of_time, places)) + self.sum_of_weights(
            map(self._weights_of_time_outside, waiting_classes)
        )

    def _weights_of_time_outside(self, class_name: str) -> Array:
        """Return weights of the statistics of a run whose weighted sum is the time that customers
        of a class wait before regions, or pause before they try again.
        """
        regions = self.network_layout.model.regions
        labels = [region_wait_label(class_name, region_name) for region_name in regions]
        labels += [back_off_label((class_name, station_name)) for station_name in self.stations]
        return self.sum_of_weights(map(self._weights_of_label, labels))

    def weights_of_cycles(self, chain_name: str) -> Array:
        """Return weights of the statistics of a run whose weighted sum is the number of cycles of a
        chain. Where customers are lost, it is the number of the chain's visits to its first
        station.
        """
        if chain_name in self.planned_network.counting_places:
            if chain_name in self.planned_network.entrance_tallies:
                return self.sum_of_weights(
                    sign * self._weights_of_tally(tally_columns, tally)
                    for tally in self.planned_network.entrance_tallies[chain_name]
                    for sign, tally_columns in (
                        (1, self.layout.try_columns),
                        (-1, self.layout.refusal_columns),
                    )
                )
            return self.sum_of_weights(
                self.weights_of_visits(place) / visits_of_cycle
                for place, visits_of_cycle in self.planned_network.counting_places[
                    chain_name
                ].items()
            )
        return self.sum_of_weights(
            self.layout.column_weights(
                self.layout.cycle_columns[self.planned_network.group_index_by_chain[group_name]]
            )
            for group_name in self.planned_network.group_index_by_chain
            if group_name == chain_name
        )

    def weights_of_served_cycles(self, chain_name: str) -> Array | None:
        """Return weights of the run's statistics, whose weighted sum is the number of cycles that
        are not abandoned in the queue of the chain's first station; None where customers come back
        to that queue, so that some who abandon it were served before.
        """
        first_places = self.planned_network.counting_places.get(chain_name, {})
        if chain_name in self.planned_network.returning_chains:
            may_leave = any(
                name_tally(place) in self.planned_network.plan.tallies
                for place in first_places
                for name_tally in (abandonment_tally, loss_tally, failure_mark)
            )
            return None if may_leave else self.weights_of_cycles(chain_name)
        departure_weights = (
            self._tally_weights(self.layout.try_columns, place, name_tally) / visits_of_cycle
            for place, visits_of_cycle in first_places.items()
            for name_tally in (abandonment_tally, loss_tally, failure_mark)
        )
        return self.weights_of_cycles(chain_name) - self.sum_of_weights(departure_weights)

    def weights_of_visits(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the number of visits of a
        class to a station.
        """
        chain_name = self.chain_by_class[place[0]]
        if service_label(place) in self.planned_network.plan.tallies:
            return self._tally_weights(self.layout.try_columns, place) - self._tally_weights(
                self.layout.refusal_columns, place
            )
        return self.weights_of_cycles(chain_name) * self.planned_network.visits.get(place, 0.0)

    def _weights_of_entries(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the number of visits that
        begin a service or a wait: tries that are refused are left out.
        """
        return self.weights_of_visits(place) - self.sum_of_weights(
            self._tally_weights(self.layout.try_columns, place, name_tally)
            for name_tally in (loss_tally, failure_mark)
        )

    def weights_of_time(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the time of a class at a
        station, waiting included.
        """
        return self._weights_of_label(service_label(place)) + self.weights_of_waiting(place)

    def _weights_of_losses_from_outside(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the number of customers
        from outside that find a blocking station full.
        """
        chain_name = self.chain_by_class[place[0]]
        if not isinstance(self.network_layout.chains[chain_name].members, OpenClass):
            return np.zeros(self.layout.column_count)
        return self._tally_weights(self.layout.refusal_columns, place, entrance_of_network)

    def weights_of_waiting(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the waiting time of a class
        at a station, including the waits in cycles that had not ended when the run stopped.
        """
        booked_weights = self._weights_of_label(wait_label(place)) + self._weights_of_label(
            again_label(place)
        )
        unbooked_share = self._unbooked_share_by_place.get(place, 0.0)
        if not unbooked_share or self.result is None:
            return booked_weights
        group_index = self.planned_network.group_index_by_chain[self.chain_by_class[place[0]]]
        return booked_weights + unbooked_share * weights_of_unbooked_time(
            self.planned_network.plan, group_index
        )

    @cached_property
    def _unbooked_share_by_place(self) -> dict[Place, float]:
        """Divide the time of unfinished cycles of starving chains among the places: in proportion
        to the visits to a place, and to the time present at its station that no finished cycle
        accounts for.
        """
        share_by_place: dict[Place, float] = {}
        result = self.result
        if result is None or not any(
            map(result.counts_unended, self.planned_network.group_index_by_chain.values())
        ):
            return share_by_place
        column_sums = result.batches.sum(axis=0)
        unbooked_by_station: dict[str, float] = {}
        for resource_index, resource_name in enumerate(self.planned_network.plan.resources):
            places = [place for place in self.planned_network.visits if place[1] == resource_name]
            station_labels = [
                label_of(place) for place in places for label_of in (service_label, wait_label)
            ]
            booked_time = sum(
                float(column_sums @ self._weights_of_label(label)) for label in station_labels
            )
            unbooked_by_station[resource_name] = max(
                float(column_sums[self.layout.present_time_columns[resource_index]]) - booked_time,
                0.0,
            )
        for chain_name, group_index in self.planned_network.group_index_by_chain.items():
            if not result.counts_unended(group_index):
                continue
            weight_by_place = {
                place: unbooked_by_station.get(place[1], 0.0) * self.planned_network.visits[place]
                for place in self.places(chain_name)
            }
            total_weight = sum(weight_by_place.values())
            share_by_place |= {
                place: place_weight / total_weight
                for place, place_weight in weight_by_place.items()
                if total_weight
            }
        return share_by_place

    def _tally_weights(
        self,
        columns_of_tallies: Sequence[int],
        place: Place,
        name_tally: Callable[[Place], str] = service_label,
    ) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the count of a place's
        tally; zeros if it has none.
        """
        return self._weights_of_tally(columns_of_tallies, name_tally(place))

    def _weights_of_tally(self, columns_of_tallies: Sequence[int], tally: str) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the count of a tally; zeros
        if there is no such tally.
        """
        tallies = self.planned_network.plan.tallies
        if tally not in tallies:
            return np.zeros(self.layout.column_count)
        return self.layout.column_weights(columns_of_tallies[tallies.index(tally)])

    def _weights_of_busy_time(self, place: Place) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the time that a class keeps
        servers busy; at a load-dependent station, its part of the work done.
        """
        station_name = place[1]
        if not self.stations[station_name].rates or self.result is None:
            return self._weights_of_label(service_label(place)) + self._weights_of_label(
                again_label(place)
            )
        work_weights_by_place = {
            worked_place: self.weights_of_visits(worked_place) * service_time
            for worked_place, service_time in self.planned_network.service_time_by_place.items()
            if worked_place[1] == station_name
        }
        all_work_weights = self.sum_of_weights(work_weights_by_place.values())
        class_work_weights = work_weights_by_place.get(place, np.zeros_like(all_work_weights))
        busy_weights = self.layout.column_weights(
            self.layout.busy_time_columns[self.planned_network.plan.resources.index(station_name)]
        )
        column_sums = self.result.batches.sum(axis=0)
        total_work = float(column_sums @ all_work_weights) or 1.0
        work_share = float(column_sums @ class_work_weights) / total_work
        # The share varies from batch to batch, too: the second term, which adds up to 0 over all
        # batches, carries its variance into the interval (the delta method).
        return work_share * busy_weights + float(column_sums @ busy_weights) / total_work * (
            class_work_weights - work_share * all_work_weights
        )

    def _weights_of_label(self, label: str) -> Array:
        """Return weights of the run's statistics, whose weighted sum is the time that all chains
        book to a label.
        """
        weights = np.zeros(self.layout.column_count)
        if label in self.planned_network.plan.labels:
            weights[
                np.array(self.layout.first_label_columns)
                + self.planned_network.plan.labels.index(label)
            ] = 1.0
        return weights

    def _ratio_estimate(
        self,
        chain_name: str | None,
        numerator_weights: Array,
        denominator_weights: Array,
        empty_estimate: Estimate | None = None,
    ) -> Estimate | None:
        """Estimate a ratio of two statistics; for a chain without customers, its known value."""
        if self.result is None or (
            chain_name is not None and chain_name not in self.planned_network.group_index_by_chain
        ):
            is_open = chain_name is not None and isinstance(
                self.network_layout.chains[chain_name].members, OpenClass
            )
            return empty_estimate if is_open else ZERO_ESTIMATE
        return self.result.estimated_ratio(numerator_weights, denominator_weights)

    def account(self) -> dict[str, Estimate]:
        """Estimate the time of one customer in a cycle, by component; empty where there are several
        chains.
        """
        customer_chains = self.network_layout.model.customer_chains
        if len(customer_chains) != 1 or self.result is None:
            return {}
        (chain_name,) = customer_chains
        weights_by_component = {THINK: self._weights_of_label(thinking_label(chain_name))}
        for station_name, station in self.stations.items():
            places = [place for place in self.places(chain_name) if place[1] == station_name]
            if station.rates:
                weights_by_component[station_name] = self.sum_of_weights(
                    map(self.weights_of_time, places)
                )
            else:
                weights_by_component[station_name] = self.sum_of_weights(
                    self._weights_of_label(service_label(place)) for place in places
                )
                weights_by_component[f"wait:{station_name}"] = self.sum_of_weights(
                    map(self.weights_of_waiting, places)
                )
        for region_name in self.network_layout.model.regions:
            weights_by_component[f"wait:{region_name}"] = self.sum_of_weights(
                self._weights_of_label(region_wait_label(class_name, region_name))
                for class_name in self.network_layout.classes
            )
        for class_name, station_name in self.places(chain_name):
            label = back_off_label((class_name, station_name))
            component = f"{BACK_OFF_TIME}:{station_name}"
            weights_by_component[component] = self._weights_of_label(
                label
            ) + weights_by_component.get(component, np.zeros(self.layout.column_count))
        estimates = {
            component: self.result.estimated_ratio(
                component_weights, self.weights_of_cycles(chain_name)
            )
            for component, component_weights in weights_by_component.items()
        }
        return {component: estimate for component, estimate in estimates.items() if estimate.mean}


def _approximate_shares(
    model: QueueingNetwork, values: Mapping[str, float]
) -> Mapping[str, Mapping[str, float]]:
    """Return approximate shares, which only rank the parameters: each parameter that is chosen by
    them costs two simulations. Regions and breakers are left out; other constructs have no shares.
    """
    try:
        form = CompiledNetwork(replace(model, regions={}, breakers={}), LINEARIZER)
    except NoAnswerError:
        return {}
    return form.points(values).answer(0).share


def _shares(
    network_layout: NetworkLayout,
    values: Mapping[str, float],
    mean_time: float,
    base_result: Result,
    simulation: Simulation,
) -> tuple[Gradient, dict[str, Value], str]:
    """Estimate the shares of the first response time by differences of simulations, for the
    parameters with the largest approximate shares.
    """
    chain_name = next(iter(network_layout.chains))
    value_name = f"response_time[{chain_name}]"
    approximate_shares = _approximate_shares(network_layout.model, values).get(value_name, {})
    parameters = network_layout.tape.parameters
    names_with_time = (
        parameter_name
        for parameter_name in parameters
        if parameters[parameter_name].dimension.time_power
    )
    ranked_names = sorted(names_with_time, key=lambda name: -abs(approximate_shares.get(name, 0.0)))

    def rerun(changed_values: Mapping[str, float], rerun_simulation: Simulation) -> Array:
        """Simulate again with some values changed, and return the mean response time of each batch
        [s].
        """
        planned_network = flat_network(network_layout, {**values, **changed_values})
        changed_result = simulate(planned_network.plan, rerun_simulation)
        estimates = _NetworkEstimates(network_layout, planned_network, changed_result)
        time_weights = estimates.weights_of_response_time(chain_name)
        batch_means: Array = (changed_result.batches @ time_weights) / (
            changed_result.batches @ estimates.weights_of_cycles(chain_name)
        )
        return batch_means

    own_values = {
        parameter_name: values.get(parameter_name, parameter.value or 0.0)
        for parameter_name, parameter in parameters.items()
    }
    return Differences(value_name, rerun, base_result).shares(
        mean_time, ranked_names[: simulation.shares], own_values, parameters
    )

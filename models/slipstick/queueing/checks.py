"""Laws that hold for every network, against which every solution is checked."""

from __future__ import annotations

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick.queueing.bounds import asymptotic_bounds
from slipstick.queueing.network import Array, NetworkArrays, NetworkSolution, sum_over_stations

EXACT = 1e-9
"""Largest relative difference between the two sides of a law that is taken as rounding."""


def checked_solution(
    network: NetworkArrays, solution: NetworkSolution, tolerance: float = EXACT
) -> NetworkSolution:
    """Check a solution against the laws of networks, and return it; the first law that it breaks is
    raised as an error.

    - every number is finite and none is negative;
    - population: customers at the stations and away add up to those there are;
    - Little's law at every station, Q = X R, and in all, N = X (Z + R);
    - utilization: at most 1, and work done is work offered, U c = X D, which is flow balance;
    - probabilities are between 0 and 1, add up to 1, and give the queue;
    - asymptotic bounds enclose the throughput of every closed class.

    Parameters
    ----------
    network : what was solved
    solution : what was found
    tolerance : relative; for an iterated solution, that of its stopping rule

    Raises
    ------
    NoAnswerError : naming the law, the station or class, and both numbers

    >>> from slipstick.queueing.exact import exact
    >>> from slipstick.queueing.network import network_arrays
    >>> two = network_arrays([0.6, 0.4], population=2)
    >>> checked_solution(two, exact(two)).throughput
    array([[1.31578947]])
    """
    check = _SolutionCheck(network, solution, tolerance)
    check.check_numbers()
    check.check_littles_law()
    check.check_population()
    check.check_utilization()
    check.check_probabilities()
    check.check_bounds()
    return solution


class _SolutionCheck:
    """The arrays of a network and of its solution, with one method for each law that they must
    satisfy.
    """

    def __init__(self, network: NetworkArrays, solution: NetworkSolution, tolerance: float) -> None:
        self.network = network
        self.method = solution.method
        self.tolerance = tolerance
        field_names = ("throughput", "residence", "queue", "utilization")
        self.throughputs, self.residences, self.queues, self.utilizations = (
            getattr(solution, name).real for name in field_names
        )
        self.probability_by_station = [
            None if probabilities is None else probabilities.real
            for probabilities in solution.probability
        ]
        self.demands = network.demand.real
        self.think_times = network.think.real
        self.populations = network.population

    def check_numbers(self) -> None:
        """Check that every number is finite and none is negative."""
        all_values = np.concatenate(
            [
                values.reshape(-1)
                for values in (self.throughputs, self.residences, self.queues, self.utilizations)
            ]
        )
        if np.isfinite(all_values.sum()) and all_values.min(initial=0.0) >= -self.tolerance:
            return
        for quantity_name, values in (
            ("throughput", self.throughputs),
            ("residence", self.residences),
            ("queue", self.queues),
            ("utilization", self.utilizations),
        ):
            if not (np.isfinite(values.sum()) and values.min(initial=0.0) >= -self.tolerance):
                value_index = tuple(
                    np.argwhere(~np.isfinite(values) | (values < -self.tolerance))[0]
                )
                raise NoAnswerError(
                    f"{self.method}: {quantity_name} of {self._class_and_station(value_index)} is"
                    f" {values[value_index]:g}"
                )

    def check_littles_law(self) -> None:
        """Check Q = X R at every station."""
        self._check_equal(
            "Little's law at a station, Q = X R",
            self.queues,
            self.throughputs[:, :, None] * self.residences,
        )

    def check_population(self) -> None:
        """Check that customers at the stations and away add up to the population, and that a class
        without customers is nowhere.
        """
        thinking = self.throughputs * self.think_times
        is_closed = self.network.closed
        populations = self._closed_columns(self.populations)
        customer_count = sum_over_stations(self.queues) + thinking
        customers_by_cycles = thinking + self.throughputs * sum_over_stations(self.residences)
        for law, counted_population in (
            ("population, sum of Q + X Z = N", customer_count),
            ("Little's law in all, X (Z + R) = N", customers_by_cycles),
        ):
            self._check_equal(law, self._closed_columns(counted_population), populations, is_closed)

    def check_utilization(self) -> None:
        """Check the utilization law: busy servers do the work that the throughput brings, and are
        at most all of them.
        """
        network = self.network
        busy_servers = self.utilizations
        work_rate = self.throughputs[:, :, None] * self.demands
        if not network.all_single:
            # At stations with rates the utilization is the part of the time that they are not
            # empty, and at delays a number present: neither is work over servers.
            has_servers = network.without_rates & ~network.is_delay
            busy_servers = busy_servers * has_servers
            work_rate = work_rate / network.servers * has_servers
        self._check_equal("flow balance, U c = X D", busy_servers, work_rate)
        busy_part = (
            self.utilizations[:, 0]
            if self.utilizations.shape[1] == 1
            else np.einsum("prk->pk", self.utilizations)
        )
        busy_part = busy_part if network.all_single else busy_part * ~network.is_delay
        if busy_part.max(initial=0.0) > 1 + self.tolerance:
            point_index, station = np.argwhere(busy_part > 1 + self.tolerance)[0]
            raise NoAnswerError(
                f"{self.method}: {network.stations[station]} is busy for"
                f" {busy_part[point_index, station]:.12g} of the time, above 1"
            )

    def check_probabilities(self) -> None:
        """Check that the probabilities at each station lie between 0 and 1; without open classes
        they must also add up to 1 and have the queue length as their mean.
        """
        network = self.network
        for station, number_probabilities in enumerate(self.probability_by_station):
            if number_probabilities is None:
                continue
            station_name = network.stations[station]
            is_out_of_range = (number_probabilities < -self.tolerance) | (
                number_probabilities > 1 + self.tolerance
            )
            if is_out_of_range.any():
                point_index, number_present = np.argwhere(is_out_of_range)[0]
                raise NoAnswerError(
                    f"{self.method}: P({number_present} present at {station_name}) is"
                    f" {number_probabilities[point_index, number_present]:g}"
                )
            # With open classes only the first numbers present are shown, and do not add up to 1.
            if network.all_closed or not (~network.closed & (network.arrivals != 0)).any():
                mean_number = number_probabilities @ np.arange(number_probabilities.shape[1])
                self._check_equal(
                    f"probabilities at {station_name} add up to 1",
                    number_probabilities.sum(axis=1),
                    np.ones(len(number_probabilities)),
                )
                self._check_equal(
                    f"probabilities at {station_name} give its queue",
                    mean_number,
                    self.queues[:, network.is_customer, station].sum(axis=1),
                )

    def check_bounds(self) -> None:
        """Check that asymptotic bounds enclose the throughput."""
        is_closed = self.network.closed
        lower_bound, upper_bound = (
            self._closed_columns(bound.real) for bound in asymptotic_bounds(self.network)
        )
        throughput = self._closed_columns(self.throughputs)
        is_outside = (throughput > upper_bound * (1 + self.tolerance)) | (
            throughput < lower_bound * (1 - self.tolerance)
        )
        if is_outside.any():
            value_index = tuple(np.argwhere(is_outside)[0])
            raise NoAnswerError(
                f"{self.method}: throughput of {self._class_names(is_closed)[value_index[1]]} is"
                f" {throughput[value_index]:.12g}, outside its asymptotic bounds"
                f" {lower_bound[value_index]:.12g} and {upper_bound[value_index]:.12g}"
            )

    def _closed_columns(self, values: Array) -> Array:
        """Return the columns of the closed classes of an array (P, R)."""
        return values if self.network.all_closed else values[:, self.network.closed]

    def _check_equal(
        self,
        law_text: str,
        left_side: Array,
        right_side: Array,
        chosen_classes: Array | None = None,
    ) -> None:
        """Raise for the first value whose two sides of a law differ by more than the tolerance."""
        if (np.abs(left_side - right_side) <= self.tolerance * np.abs(right_side)).all():
            return
        # Two sides that are both 0 agree; the floor keeps their quotient from being NaN.
        compared_sizes = np.maximum(np.maximum(np.abs(left_side), np.abs(right_side)), 1e-300)
        # A number that is tiny beside the population is as good as zero.
        difference_limit = self.tolerance * np.maximum(
            compared_sizes,
            1e-3 * (compared_sizes.max(initial=0.0) if compared_sizes.ndim > 2 else compared_sizes),
        )
        are_different = np.abs(left_side - right_side) > difference_limit
        if are_different.any():
            value_index = tuple(np.argwhere(are_different)[0])
            subject_in_words = (
                f" for {self._class_and_station(value_index, chosen_classes)}"
                if len(value_index) > 1
                else ""
            )
            raise NoAnswerError(
                f"{self.method} breaks {law_text}{subject_in_words}:"
                f" {left_side[value_index]:.12g} and"
                f" {right_side[value_index]:.12g}"
            )

    def _class_names(self, chosen_classes: Array | None) -> list[str]:
        """Return the names of the classes chosen by a mask; without one, of all."""
        all_classes = np.ones(len(self.network.classes), dtype=bool)
        return [
            self.network.classes[class_index]
            for class_index in np.flatnonzero(
                all_classes if chosen_classes is None else chosen_classes
            )
        ]

    def _class_and_station(
        self, value_index: tuple[int, ...], chosen_classes: Array | None = None
    ) -> str:
        """Return the names of the class and, if it has one, the station of a value with the index
        (point, class) or (point, class, station).
        """
        class_name = self._class_names(chosen_classes)[value_index[1]]
        return (
            f"{class_name} at {self.network.stations[value_index[2]]}"
            if len(value_index) > 2
            else class_name
        )

"""Answers for customers alone where groups or classes of a model stand for servers that are away.

Every method treats servers that are away as customers. Here their own values are taken out of the
solutions of all methods, and the values of resources of activities, which methods give for all
groups together, become those of customers. Methods of networks leave the classes of such servers
out of the values of stations.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TypeVar

from slipstick.answer import DeferredShares
from slipstick.expression.tape import Columns, Tape, Values, entries_at_rows, selected_values
from slipstick.late import Array, dataclass, np, replace
from slipstick.method.answers import Gradient, Solution
from slipstick.method.names import is_of_absence, labels_of_absences
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model, Station
from slipstick.random_times import sum_of_columns
from slipstick_chains.breakdowns import BREAKDOWN, FINISHED

T = TypeVar("T")


@dataclass(frozen=True)
class Absences:
    """The absences of a model's servers. Methods solve these as customers, which are then removed
    from the solution.

    Parameters
    ----------
    model : with groups or classes that stand for servers that are away

    >>> from slipstick.model.network import network, open_class, station
    >>> from slipstick_chains.schedules import network_with_schedules
    >>> desk = network({"calls": open_class(0.5)}, {"desk": station(service={"calls": 1.0})})
    >>> of_customers = Absences(network_with_schedules(desk, {"desk": [(8.0, 1), (16.0, 0)]}))
    >>> values = {"queue_length[desk]": np.array([0.5]), "throughput[off_desk_1]": np.ones(1)}
    >>> list(of_customers(Solution(model="desk", method="exact", values=values), {}).values)
    ['queue_length[desk]']
    """

    model: Model | QueueingNetwork

    @cached_property
    def _labels(self) -> frozenset[str]:
        """The names of the groups or classes that stand for servers that are away."""
        return labels_of_absences(self.model)

    def __call__(self, solution: Solution, values: Values) -> Solution:
        """Return a solution with the values of customers alone.

        Parameters
        ----------
        solution : of a method
        values : of the parameters at its points
        """
        detail_function, gradient_function = solution.detail, solution.gradient

        def detail_of_customers(point_index: int) -> tuple[Solution, int]:
            """Return the solution of a single point with the values of customers alone, and the
            index of the point in it.
            """
            assert detail_function is not None
            solution_of_point, inner_index = detail_function(point_index)
            point_values = {
                name: entries_at_rows(values[name], np.array([point_index])) for name in values
            }
            return self(solution_of_point, point_values), inner_index

        def gradient_of_customers(point_index: int) -> Gradient:
            """Return the gradient at a point without the slopes of the customers that stand for
            absent servers.
            """
            assert gradient_function is not None
            gradient = gradient_function(point_index)
            if not isinstance(gradient.slopes, DeferredShares):
                return replace(gradient, slopes=self._without_absences(gradient.slopes))
            deferred_slopes = gradient.slopes
            slopes_of_customers = DeferredShares(
                lambda: self._without_absences(deferred_slopes), deferred_slopes.seconds
            )
            return replace(gradient, slopes=slopes_of_customers)

        return replace(
            self._with_stations_of_customers(solution, values),
            account=self._without_absences(solution.account, "account"),
            technology=self._without_absences(solution.technology, "technology"),
            steps=self._without_absences(solution.steps, "step"),
            once=self._without_absences(solution.once, "once"),
            detail=None if detail_function is None else detail_of_customers,
            gradient=None if gradient_function is None else gradient_of_customers,
        )

    def _with_stations_of_customers(self, solution: Solution, values: Values) -> Solution:
        """Return a solution with the queue length, utilization and wait of customers alone at the
        stations whose servers are away.
        """
        changes_by_station = (
            self._changes_by_station(solution, values) if isinstance(self.model, Model) else {}
        )

        def columns_of_customers(columns: Columns) -> dict[str, Array]:
            """Return columns with the values of customers alone at the stations whose servers are
            away.
            """
            visible_columns = self._without_absences(columns)
            for station, (away_count, busy_share_away, wait_factor) in changes_by_station.items():
                for name, value_away in (
                    (f"queue_length[{station}]", away_count),
                    (f"utilization[{station}]", busy_share_away),
                ):
                    if name in columns:
                        visible_columns[name] = np.maximum(columns[name] - value_away, 0.0)
                if (name := f"wait[{station}]") in columns:
                    visible_columns[name] = columns[name] * wait_factor
            return visible_columns

        return replace(
            solution,
            values=columns_of_customers(solution.values),
            low=columns_of_customers(solution.low),
            high=columns_of_customers(solution.high),
        )

    def _changes_by_station(
        self, solution: Solution, values: Values
    ) -> dict[str, tuple[Array, Array, Array]]:
        """Return for each station by how much servers that are away and counted as customers change
        its queue length and its utilization, and the factor that turns the mean wait of all visits
        into the mean wait of customers' visits [1, 1, 1].
        """
        assert isinstance(self.model, Model)
        absences = self.model.absences
        tape = Tape(
            [
                expression
                for absence in absences.values()
                for expression in (absence.servers, absence.rate, absence.start, absence.length)
            ]
        )
        columns = iter(tape.run(selected_values(values, tape.parameters)))
        columns_by_station: dict[str, list[tuple[Array, Array, Array]]] = {}
        for label, absence in absences.items():
            away_count, absence_rate, time_before, repair_time = (next(columns) for _ in range(4))
            waiting_count: Array = np.zeros(1)
            station = self.model.resources[absence.station]
            assert isinstance(station, Station)
            # Servers that finish a service before they go may wait, and so go less often.
            if absence.by == BREAKDOWN and station.discipline == FINISHED:
                absence_rate = solution.values[f"throughput[{label}]"]
                away_count = absence_rate * repair_time
                waiting_count = (
                    absence_rate * (solution.values[f"time[{label}]"] - time_before) - away_count
                )
            columns_by_station.setdefault(absence.station, []).append(
                (away_count, waiting_count, absence_rate)
            )
        return {
            name: self._change_of_station(
                solution,
                name,
                *(
                    sum_of_columns(columns_of_number)
                    for columns_of_number in zip(*columns_of_absences, strict=True)
                ),
            )
            for name, columns_of_absences in columns_by_station.items()
        }

    def _change_of_station(
        self,
        solution: Solution,
        station_name: str,
        away_count: Array,
        waiting_count: Array,
        absence_rate: Array,
    ) -> tuple[Array, Array, Array]:
        """Return by how much servers that are away change the queue length and the utilization of
        one station, and the factor of its mean wait; see `_changes_by_station`.

        Parameters
        ----------
        solution, station_name : whose values are changed
        away_count : mean number of servers that are away [1]
        waiting_count : mean number of those that wait to go [1]
        absence_rate : how often one goes away [1/s]
        """
        assert isinstance(self.model, Model)
        station = self.model.resources[station_name]
        assert isinstance(station, Station)
        busy_share = away_count / station.servers
        mean_wait = solution.values.get(f"wait[{station_name}]")
        if mean_wait is None:
            return away_count + waiting_count, busy_share, np.ones(1)
        # By Little's law visits come at the rate of the queue over the wait of all visits.
        waiting_with_absences = (
            solution.values[f"queue_length[{station_name}]"]
            - solution.values[f"utilization[{station_name}]"] * station.servers
        )
        with np.errstate(all="ignore"):
            throughput_factor = (waiting_with_absences - waiting_count) / (
                waiting_with_absences - absence_rate * mean_wait
            )
        return (
            away_count + waiting_count,
            busy_share,
            np.where(mean_wait > 0, throughput_factor, 1.0),
        )

    def _without_absences(self, columns: Mapping[str, T], table: str = "") -> dict[str, T]:
        """Return the columns of a table without the groups or classes that stand for servers that
        are away.
        """
        return {
            name: column
            for name, column in columns.items()
            if not is_of_absence(f"{table}[{name}]" if table else name, self._labels)
        }

"""Load tests: throughput and response times against users or a rate, and what follows from them by
operational laws.

The demand of a tier is its utilization times its servers over the throughput, ``D = U c / X``
(utilization law); of several measurements the one of least squares is taken, ``D = sum(U c X) /
sum(X^2)``, and each measurement's own is its residual. The think time of users is ``Z = N / X - R``
(Little's law for the whole loop).

Source: Denning and Buzen, The Operational Analysis of Queueing Network Models, Computing Surveys
10(3), 1978.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.errors import Problem, SpecError
from slipstick.late import dataclass, field

_ROUNDING = 1e-12
"""Relative differences below this come from the last digits of floating-point numbers."""


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One measurement under load.

    Parameters
    ----------
    line : of the file
    users : number of users; None if requests arrive at a rate
    rate : offered rate [1/s]; None if users send the requests
    throughput : completed requests [1/s]; None if it was not measured
    response : mean response time [s]; None where it was not measured
    quantiles : of the response time, by fraction [s]
    utilization : by tier, of all its servers
    unsteady : why Little's law gives no think time: the users changed in the run, or the throughput
        leaves out requests that users waited for; empty where it gives one
    workload : what its requests do, where the file says it; rows of different work are no curve
    """

    line: int
    users: float | None = None
    rate: float | None = None
    throughput: float | None = None
    response: float | None = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    utilization: Mapping[str, float] = field(default_factory=dict)
    unsteady: str = ""
    workload: str = ""

    @property
    def completed_rate(self) -> float | None:
        """The throughput of the row; the offered rate if no throughput was measured [1/s]."""
        return self.rate if self.throughput is None else self.throughput

    @property
    def think_time(self) -> float | None:
        """The think time by Little's law [s]; None without users, throughput or response time, and
        where the law does not hold for the row.
        """
        if self.unsteady or self.users is None or not self.throughput or self.response is None:
            return None
        cycle_time = self.users / self.throughput
        difference = cycle_time - self.response
        return difference if abs(difference) > _ROUNDING * cycle_time else 0.0


@dataclass(frozen=True, slots=True)
class LoadTest:
    """A load test.

    Parameters
    ----------
    file : it is from
    rows : by users or rate
    servers : of each tier
    notes : how it was read
    """

    file: str
    rows: tuple[LoadRow, ...]
    servers: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()

    @property
    def tiers(self) -> list[str]:
        """The tiers whose utilization was measured."""
        return list(dict.fromkeys(tier for row in self.rows for tier in row.utilization))

    @property
    def workloads(self) -> list[str]:
        """The kinds of work of the rows; several are no curve over the load."""
        return list(dict.fromkeys(row.workload for row in self.rows))

    def check_workload(self) -> None:
        """Raise if the rows are of different work.

        Raises
        ------
        SpecError : the kinds of work
        """
        if len(self.workloads) > 1:
            message = (
                f"the rows are of different work ({', '.join(self.workloads[:6])}), which has no"
                " common curve over the load; keep the jobs of one kind in the file"
            )
            raise SpecError([Problem(self.file, self.rows[0].line, 1, "", message)])

    @property
    def quantiles(self) -> list[float]:
        """The quantiles of the response time that were measured."""
        return sorted({quantile for row in self.rows for quantile in row.quantiles})


@dataclass(frozen=True, slots=True)
class Demand:
    """The service demand of a tier.

    Parameters
    ----------
    tier : its name
    servers : of it
    value : seconds of one server for a request, by least squares [s]
    demand_by_row : of each row; None where it was not measured [s]
    """

    tier: str
    servers: int
    value: float
    demand_by_row: tuple[float | None, ...]

    @property
    def largest_residual(self) -> float:
        """The largest relative difference between a row's own demand and the common one; 0 if there
        is none but for rounding.
        """
        row_demands = [row_demand for row_demand in self.demand_by_row if row_demand is not None]
        largest_difference = max(
            (abs(row_demand / self.value - 1) for row_demand in row_demands), default=0.0
        )
        return largest_difference if largest_difference > _ROUNDING else 0.0

    @property
    def saturation_rate(self) -> float:
        """The throughput at which the tier saturates [1/s]."""
        return self.servers / self.value


def demands(load_test: LoadTest) -> list[Demand]:
    """Compute the demand of each tier by the utilization law; tiers that were never busy are left
    out.

    >>> rows = [
    ...     LoadRow(1, rate=10.0, utilization={"db": 0.2}),
    ...     LoadRow(2, rate=20.0, utilization={"db": 0.4}),
    ... ]
    >>> [
    ...     (demand.tier, demand.value, demand.saturation_rate)
    ...     for demand in demands(LoadTest("f", tuple(rows)))
    ... ]
    [('db', 0.02, 50.0)]
    """
    tier_demands = []
    for tier in load_test.tiers:
        server_count = load_test.servers.get(tier, 1)
        busy_servers_and_rates: list[tuple[float, float]] = []
        demand_by_row: list[float | None] = []
        for row in load_test.rows:
            completed_rate = row.completed_rate
            utilization = row.utilization.get(tier)
            if not completed_rate or utilization is None:
                demand_by_row.append(None)
                continue
            busy_servers_and_rates.append((utilization * server_count, completed_rate))
            demand_by_row.append(utilization * server_count / completed_rate)
        sum_of_squares = sum(rate * rate for _, rate in busy_servers_and_rates)
        tier_demand = (
            sum(busy_servers * rate for busy_servers, rate in busy_servers_and_rates)
            / sum_of_squares
            if sum_of_squares
            else 0.0
        )
        if tier_demand > 0:
            tier_demands.append(Demand(tier, server_count, tier_demand, tuple(demand_by_row)))
    return tier_demands


def think_time(load_test: LoadTest) -> float | None:
    """Return the mean of the think times of all rows [s]; None without users."""
    think_times = [time for row in load_test.rows if (time := row.think_time) is not None]
    return sum(think_times) / len(think_times) if think_times else None


def response_time_beside_tiers(load_test: LoadTest, tier_demands: Sequence[Demand]) -> float | None:
    """Return the part of the response time at the least load that no tier explains [s], such as
    network and other services; None without a measured response time.

    A tier of one server takes D / (1 - U) there, of which an arriving request sees the share (N -
    1) / N with N users; that of several servers is taken without waiting.
    """
    timed_rows = [row for row in load_test.rows if row.response is not None and row.completed_rate]
    if not timed_rows:
        return None
    lowest_row = min(timed_rows, key=lambda row: row.completed_rate or 0.0)
    assert lowest_row.response is not None
    time_at_tiers = 0.0
    for demand in tier_demands:
        utilization = lowest_row.utilization.get(demand.tier, 0.0) if demand.servers == 1 else 0.0
        if lowest_row.users is not None and lowest_row.users >= 1:
            utilization *= (lowest_row.users - 1) / lowest_row.users
        time_at_tiers += demand.value / (1 - min(utilization, 0.99))
    return max(0.0, lowest_row.response - time_at_tiers)

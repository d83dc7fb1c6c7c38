"""Laws that hold for every network, against which every solution is checked."""

from __future__ import annotations

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick.queueing.bounds import asymptotic
from slipstick.queueing.network import Array, NetworkArrays, NetworkSolution, sum_over_stations

EXACT = 1e-9
"""How far, relatively, rounding may take an answer from a law."""


def checked(
    network: NetworkArrays, solution: NetworkSolution, within: float = EXACT
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
    within : relative; for an iterated solution, that of its stopping rule

    Raises
    ------
    NoAnswerError : naming the law, the station or class, and both numbers

    >>> from slipstick.queueing.exact import exact
    >>> from slipstick.queueing.network import network_arrays
    >>> two = network_arrays([0.6, 0.4], population=2)
    >>> checked(two, exact(two)).throughput
    array([[1.31578947]])
    """
    check = _SolutionCheck(network, solution, within)
    check.numbers()
    check.little()
    check.population()
    check.utilization()
    check.probabilities()
    check.bounds()
    return solution


class _SolutionCheck:
    def __init__(self, network: NetworkArrays, solution: NetworkSolution, within: float) -> None:
        self.network = network
        self.method = solution.method
        self.within = within
        names = ("throughput", "residence", "queue", "utilization")
        self.x, self.r, self.q, self.u = (getattr(solution, name).real for name in names)
        self.chance = [None if chance is None else chance.real for chance in solution.probability]
        self.d = network.demand.real
        self.z = network.think.real
        self.n = network.population

    def numbers(self) -> None:
        """Check that every number is finite and none is negative."""
        all_values = np.concatenate(
            [values.reshape(-1) for values in (self.x, self.r, self.q, self.u)]
        )
        if np.isfinite(all_values.sum()) and all_values.min(initial=0.0) >= -self.within:
            return
        for name, values in (
            ("throughput", self.x),
            ("residence", self.r),
            ("queue", self.q),
            ("utilization", self.u),
        ):
            if not (np.isfinite(values.sum()) and values.min(initial=0.0) >= -self.within):
                place = tuple(np.argwhere(~np.isfinite(values) | (values < -self.within))[0])
                raise NoAnswerError(
                    f"{self.method}: {name} of {self._where(place)} is {values[place]:g}"
                )

    def little(self) -> None:
        """Check Q = X R at every station."""
        self._equal("Little's law at a station, Q = X R", self.q, self.x[:, :, None] * self.r)

    def population(self) -> None:
        """Check that customers at the stations and away add up to the population, and that a class
        without customers is nowhere.
        """
        away = self.x * self.z
        closed = self.network.closed
        count = self._closed(self.n)
        customers = sum_over_stations(self.q) + away
        customers_by_cycles = away + self.x * sum_over_stations(self.r)
        for law, sums in (
            ("population, sum of Q + X Z = N", customers),
            ("Little's law in all, X (Z + R) = N", customers_by_cycles),
        ):
            self._equal(law, self._closed(sums), count, closed)

    def utilization(self) -> None:
        """Check the utilization law: busy servers do the work that the throughput brings, and are
        at most all of them.
        """
        network = self.network
        busy_servers = self.u
        work = self.x[:, :, None] * self.d
        if not network.plain:
            # At stations with rates the utilization is the part of the time that they are not
            # empty, and at delays a number present: neither is work over servers.
            counted = network.without_rates & ~network.delays
            busy_servers = busy_servers * counted
            work = work / network.servers * counted
        self._equal("flow balance, U c = X D", busy_servers, work)
        busy = self.u[:, 0] if self.u.shape[1] == 1 else np.einsum("prk->pk", self.u)
        busy = busy if network.plain else busy * ~network.delays
        if busy.max(initial=0.0) > 1 + self.within:
            point, station = np.argwhere(busy > 1 + self.within)[0]
            raise NoAnswerError(
                f"{self.method}: {network.stations[station]} is busy for"
                f" {busy[point, station]:.12g} of the time, above 1"
            )

    def probabilities(self) -> None:
        """Check that the probabilities at each station lie between 0 and 1; without open classes
        they must also add up to 1 and have the queue length as their mean.
        """
        network = self.network
        for station, chance in enumerate(self.chance):
            if chance is None:
                continue
            name = network.stations[station]
            wrong = (chance < -self.within) | (chance > 1 + self.within)
            if wrong.any():
                point, n = np.argwhere(wrong)[0]
                raise NoAnswerError(
                    f"{self.method}: P({n} present at {name}) is {chance[point, n]:g}"
                )
            # With open classes only the first numbers present are shown, and do not add up to 1.
            if network.all_closed or not (~network.closed & (network.arrivals != 0)).any():
                mean = chance @ np.arange(chance.shape[1])
                self._equal(
                    f"probabilities at {name} add up to 1", chance.sum(axis=1), np.ones(len(chance))
                )
                self._equal(
                    f"probabilities at {name} give its queue",
                    mean,
                    self.q[:, :, station].sum(axis=1),
                )

    def bounds(self) -> None:
        """Check that asymptotic bounds enclose the throughput."""
        closed = self.network.closed
        low, high = (self._closed(bound.real) for bound in asymptotic(self.network))
        flow = self._closed(self.x)
        wrong = (flow > high * (1 + self.within)) | (flow < low * (1 - self.within))
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0])
            raise NoAnswerError(
                f"{self.method}: throughput of {self._names(closed)[place[1]]} is"
                f" {flow[place]:.12g}, outside its asymptotic bounds {low[place]:.12g} and"
                f" {high[place]:.12g}"
            )

    def _closed(self, values: Array) -> Array:
        """Return the columns of the closed classes of an array (P, R)."""
        return values if self.network.all_closed else values[:, self.network.closed]

    def _equal(
        self, law: str, left_side: Array, right_side: Array, chosen: Array | None = None
    ) -> None:
        if (np.abs(left_side - right_side) <= self.within * np.abs(right_side)).all():
            return
        scale = np.maximum(np.maximum(np.abs(left_side), np.abs(right_side)), 1e-300)
        # A number that is tiny beside the population is as good as zero.
        slack = self.within * np.maximum(
            scale, 1e-3 * (scale.max(initial=0.0) if scale.ndim > 2 else scale)
        )
        wrong = np.abs(left_side - right_side) > slack
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0])
            where = f" for {self._where(place, chosen)}" if len(place) > 1 else ""
            raise NoAnswerError(
                f"{self.method} breaks {law}{where}: {left_side[place]:.12g} and {right_side[place]:.12g}"
            )

    def _names(self, chosen: Array | None) -> list[str]:
        all_classes = np.ones(len(self.network.classes), dtype=bool)
        return [
            self.network.classes[r]
            for r in np.flatnonzero(all_classes if chosen is None else chosen)
        ]

    def _where(self, place: tuple[int, ...], chosen: Array | None = None) -> str:
        name = self._names(chosen)[place[1]]
        return f"{name} at {self.network.stations[place[2]]}" if len(place) > 2 else name
